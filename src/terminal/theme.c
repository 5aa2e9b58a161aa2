/*
 * On a background that is not known, colours are the first sixteen of the terminal's palette, which
 * users have adjusted to be readable, and only those that are readable on dark and light ones. On a
 * known background they are fixed, so that their contrast is known as well; all are among the 256
 * colours that terminals have in common. Secondary text is dim rather than grey, because bright
 * black is the background colour of some palettes.
 */
#include "terminal/theme.h"

#include <string.h>

#include "base/array.h"
#include "terminal/contrast.h"

#define INDEX(n) IK_COLOUR_INDEX(n)
#define RGB(n) IK_COLOUR_RGB((n) >> 16, (n) >> 8, n)

typedef enum { NONE, RED, GREEN, BLUE, CYAN, MAGENTA, YELLOW, ORANGE, LINKED } hue_t;

static const ik_colour_t hues[][3] = {
    /* on a background that is unknown, dark, light */
    [NONE] = {0},
    [RED] = {INDEX(1), RGB(0xff8787), RGB(0xaf0000)},
    [GREEN] = {INDEX(2), RGB(0x87d787), RGB(0x008700)},
    [BLUE] = {INDEX(5), RGB(0x87afff), RGB(0x005faf)},
    [CYAN] = {INDEX(5), RGB(0x5fd7d7), RGB(0x005f87)},
    [MAGENTA] = {INDEX(5), RGB(0xd787d7), RGB(0x870087)},
    [YELLOW] = {INDEX(5), RGB(0xffd75f), RGB(0x875f00)},
    [ORANGE] = {INDEX(1), RGB(0xffaf87), RGB(0xaf5f00)},
    [LINKED] = {0, RGB(0x87afff), RGB(0x005faf)},
};

typedef struct {
    uint32_t bits;
    hue_t hue;
} look_t;

static const look_t looks[IK_ROLE_COUNT] = {
    [IK_ROLE_TEXT] = {0},
    [IK_ROLE_DIM] = {.bits = IK_STYLE_DIM},
    [IK_ROLE_STRONG] = {.bits = IK_STYLE_BOLD},
    [IK_ROLE_EMPHASIS] = {.bits = IK_STYLE_ITALIC},
    [IK_ROLE_STRIKE] = {.bits = IK_STYLE_STRIKE},
    [IK_ROLE_HEADING] = {IK_STYLE_BOLD, BLUE},
    [IK_ROLE_CODE] = {0, CYAN},
    [IK_ROLE_LINK] = {IK_STYLE_UNDERLINE, LINKED},
    [IK_ROLE_QUOTE] = {.bits = IK_STYLE_ITALIC},
    [IK_ROLE_RULE] = {.bits = IK_STYLE_DIM},
    [IK_ROLE_USER] = {.bits = IK_STYLE_BOLD},
    [IK_ROLE_MARK] = {IK_STYLE_BOLD, CYAN},
    [IK_ROLE_TOOL] = {IK_STYLE_BOLD, GREEN},
    [IK_ROLE_NAME] = {0, CYAN},
    [IK_ROLE_GOOD] = {0, GREEN},
    [IK_ROLE_WARNING] = {IK_STYLE_BOLD, YELLOW},
    [IK_ROLE_ERROR] = {IK_STYLE_BOLD, RED},
    [IK_ROLE_ADDED] = {0, GREEN},
    [IK_ROLE_REMOVED] = {0, RED},
    [IK_ROLE_HUNK] = {IK_STYLE_DIM, CYAN},
    [IK_ROLE_KEYWORD] = {0, MAGENTA},
    [IK_ROLE_STRING] = {0, GREEN},
    [IK_ROLE_NUMBER] = {0, ORANGE},
    [IK_ROLE_COMMENT] = {.bits = IK_STYLE_DIM},
    [IK_ROLE_CHOSEN] = {.bits = IK_STYLE_REVERSE},
    [IK_ROLE_MATCH] = {.bits = IK_STYLE_REVERSE | IK_STYLE_BOLD},
    [IK_ROLE_STATUS] = {.bits = IK_STYLE_DIM},
};

/* The roles that take each colour of a theme file, besides those without a colour, which take that
 * of the text (ik_row_add). */
static const struct {
    ik_config_colour_t name;
    ik_role_t role;
} named_roles[] = {
    {IK_CONFIG_COLOUR_TEXT, IK_ROLE_TEXT},       {IK_CONFIG_COLOUR_DIM, IK_ROLE_DIM},
    {IK_CONFIG_COLOUR_DIM, IK_ROLE_RULE},        {IK_CONFIG_COLOUR_DIM, IK_ROLE_COMMENT},
    {IK_CONFIG_COLOUR_HEADING, IK_ROLE_HEADING}, {IK_CONFIG_COLOUR_HEADING, IK_ROLE_MARK},
    {IK_CONFIG_COLOUR_CODE, IK_ROLE_CODE},       {IK_CONFIG_COLOUR_CODE, IK_ROLE_NAME},
    {IK_CONFIG_COLOUR_LINK, IK_ROLE_LINK},       {IK_CONFIG_COLOUR_TOOL, IK_ROLE_TOOL},
    {IK_CONFIG_COLOUR_ADDED, IK_ROLE_ADDED},     {IK_CONFIG_COLOUR_ADDED, IK_ROLE_GOOD},
    {IK_CONFIG_COLOUR_REMOVED, IK_ROLE_REMOVED}, {IK_CONFIG_COLOUR_WARNING, IK_ROLE_WARNING},
    {IK_CONFIG_COLOUR_ERROR, IK_ROLE_ERROR},     {IK_CONFIG_COLOUR_STATUS, IK_ROLE_STATUS},
};

void ik_theme_init(ik_theme_t *theme, ik_background_t background, bool colours, bool escapes)
{
    memset(theme, 0, sizeof(*theme));
    theme->escapes = escapes;
    theme->colours = escapes && colours;
    for (int role = 0; escapes && role < IK_ROLE_COUNT; role++) {
        ik_colour_t fg = theme->colours ? hues[looks[role].hue][background] : 0;
        theme->styles[role] = (ik_style_t){.bits = looks[role].bits, .fg = fg};
    }
}

static bool is_rgb(ik_colour_t colour)
{
    return colour >> 24 == IK_COLOUR_RGB(0, 0, 0) >> 24;
}

void ik_theme_adapt(ik_theme_t *theme, const ik_config_theme_t *wanted, const uint32_t *background,
                    bool is_deep)
{
    if (!theme->colours) {
        return;
    }
    for (size_t i = 0; i < IK_LENGTH(named_roles); i++) {
        uint32_t colour = wanted->colours[named_roles[i].name];
        if (colour != IK_CONFIG_COLOUR_UNSET) {
            theme->styles[named_roles[i].role].fg = RGB(colour);
        }
    }
    for (int role = 0; role < IK_ROLE_COUNT; role++) {
        ik_style_t *style = &theme->styles[role];
        if (!is_rgb(style->fg)) {
            continue;
        }
        uint32_t colour = style->fg & 0xffffff;
        colour = background == NULL ? colour : ik_contrast_repair(colour, *background);
        style->fg =
            is_deep ? RGB(colour) : IK_COLOUR_INDEX(ik_contrast_find_index(colour, background));
        style->bits &= ~(uint32_t)IK_STYLE_DIM; /* would lower the contrast again */
    }
}
