/*
 * Colours are the first sixteen of the terminal's palette, which users have adjusted to be
 * readable. Secondary text is dim rather than grey, because bright black is the background colour
 * of some palettes. Light backgrounds get no yellow or cyan, dark ones no blue, and an unknown
 * background gets only colours that are readable on both.
 */
#include "terminal/theme.h"

#include <string.h>

enum { RED = 1, GREEN, YELLOW, BLUE, MAGENTA, CYAN, BRIGHT_BLUE = 12 };

#define FG(n) IK_COLOUR_INDEX(n)

typedef struct {
    uint32_t bits;
    ik_colour_t fg[3]; /* by ik_background_t */
} look_t;

static const look_t looks[IK_ROLE_COUNT] = {
    [IK_ROLE_TEXT] = {0},
    [IK_ROLE_DIM] = {.bits = IK_STYLE_DIM},
    [IK_ROLE_STRONG] = {.bits = IK_STYLE_BOLD},
    [IK_ROLE_EMPHASIS] = {.bits = IK_STYLE_ITALIC},
    [IK_ROLE_STRIKE] = {.bits = IK_STYLE_STRIKE},
    [IK_ROLE_HEADING] = {IK_STYLE_BOLD, {FG(MAGENTA), FG(BRIGHT_BLUE), FG(BLUE)}},
    [IK_ROLE_CODE] = {0, {FG(MAGENTA), FG(CYAN), FG(MAGENTA)}},
    [IK_ROLE_LINK] = {IK_STYLE_UNDERLINE, {0, FG(BRIGHT_BLUE), FG(BLUE)}},
    [IK_ROLE_QUOTE] = {.bits = IK_STYLE_ITALIC},
    [IK_ROLE_RULE] = {.bits = IK_STYLE_DIM},
    [IK_ROLE_USER] = {.bits = IK_STYLE_BOLD},
    [IK_ROLE_MARK] = {IK_STYLE_BOLD, {FG(MAGENTA), FG(CYAN), FG(BLUE)}},
    [IK_ROLE_TOOL] = {IK_STYLE_BOLD, {FG(GREEN), FG(GREEN), FG(GREEN)}},
    [IK_ROLE_NAME] = {0, {FG(MAGENTA), FG(CYAN), FG(BLUE)}},
    [IK_ROLE_GOOD] = {0, {FG(GREEN), FG(GREEN), FG(GREEN)}},
    [IK_ROLE_WARNING] = {IK_STYLE_BOLD, {FG(MAGENTA), FG(YELLOW), FG(MAGENTA)}},
    [IK_ROLE_ERROR] = {IK_STYLE_BOLD, {FG(RED), FG(RED), FG(RED)}},
    [IK_ROLE_ADDED] = {0, {FG(GREEN), FG(GREEN), FG(GREEN)}},
    [IK_ROLE_REMOVED] = {0, {FG(RED), FG(RED), FG(RED)}},
    [IK_ROLE_HUNK] = {IK_STYLE_DIM, {FG(MAGENTA), FG(CYAN), FG(BLUE)}},
    [IK_ROLE_KEYWORD] = {0, {FG(MAGENTA), FG(MAGENTA), FG(MAGENTA)}},
    [IK_ROLE_STRING] = {0, {FG(GREEN), FG(GREEN), FG(GREEN)}},
    [IK_ROLE_NUMBER] = {0, {FG(RED), FG(CYAN), FG(BLUE)}},
    [IK_ROLE_COMMENT] = {.bits = IK_STYLE_DIM},
    [IK_ROLE_CHOSEN] = {.bits = IK_STYLE_REVERSE},
    [IK_ROLE_MATCH] = {.bits = IK_STYLE_REVERSE | IK_STYLE_BOLD},
    [IK_ROLE_STATUS] = {.bits = IK_STYLE_DIM},
};

void ik_theme_init(ik_theme_t *theme, ik_background_t background, bool colours, bool escapes)
{
    memset(theme, 0, sizeof(*theme));
    theme->escapes = escapes;
    theme->colours = escapes && colours;
    for (int role = 0; escapes && role < IK_ROLE_COUNT; role++) {
        ik_colour_t fg = theme->colours ? looks[role].fg[background] : 0;
        theme->styles[role] = (ik_style_t){.bits = looks[role].bits, .fg = fg};
    }
}
