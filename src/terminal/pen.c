#include "terminal/pen.h"

#include <string.h>

#include "base/array.h"
#include "base/sgr.h"

static const struct {
    uint32_t bit;
    uint8_t on;
    uint8_t off;
} attributes[] = {
    {IK_STYLE_BOLD, 1, 22},      {IK_STYLE_DIM, 2, 22},     {IK_STYLE_ITALIC, 3, 23},
    {IK_STYLE_UNDERLINE, 4, 24}, {IK_STYLE_REVERSE, 7, 27}, {IK_STYLE_STRIKE, 9, 29},
};
enum {
    ATTRIBUTES = IK_LENGTH(attributes),
    WEIGHTS = IK_STYLE_BOLD | IK_STYLE_DIM,
    NORMAL_WEIGHT = 22, /* ends bold and dim */
    FG_BASE = 30,       /* plus 0 to 7, or one of the offsets below */
    BG_BASE = 40,
    EXTENDED = 8, /* an index or RGB value follows */
    DEFAULT = 9,
    BRIGHT = 60,    /* colours 8 to 15 */
    KIND_INDEX = 1, /* highest byte of an ik_colour_t */
};

/* Parameters of one sequence. Each attribute and colour occurs at most once, so they fit. */
typedef struct {
    char text[128];
    size_t len;
} parameters_t;

static void add(parameters_t *parameters, unsigned number)
{
    char digits[4];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    if (parameters->len > 0) {
        parameters->text[parameters->len++] = ';';
    }
    while (count > 0) {
        parameters->text[parameters->len++] = digits[--count];
    }
}

static void add_colour(parameters_t *parameters, unsigned base, ik_colour_t colour)
{
    unsigned index = colour & 0xff;
    if (colour == 0) {
        add(parameters, base + DEFAULT);
    } else if (colour >> 24 != KIND_INDEX) {
        add(parameters, base + EXTENDED);
        add(parameters, 2);
        add(parameters, colour >> 16 & 0xff);
        add(parameters, colour >> 8 & 0xff);
        add(parameters, index);
    } else if (index >= 16) {
        add(parameters, base + EXTENDED);
        add(parameters, 5);
        add(parameters, index);
    } else {
        add(parameters, index < 8 ? base + index : base + BRIGHT + index - 8);
    }
}

static void add_change(parameters_t *parameters, ik_style_t from, ik_style_t to)
{
    uint32_t ended = from.bits & ~to.bits;
    uint32_t begun = to.bits & ~from.bits;
    if ((ended & WEIGHTS) != 0) {
        add(parameters, NORMAL_WEIGHT);
        begun |= to.bits & WEIGHTS;
    }
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        if ((ended & attributes[i].bit & ~(uint32_t)WEIGHTS) != 0) {
            add(parameters, attributes[i].off);
        } else if ((begun & attributes[i].bit) != 0) {
            add(parameters, attributes[i].on);
        }
    }
    if (from.fg != to.fg) {
        add_colour(parameters, FG_BASE, to.fg);
    }
    if (from.bg != to.bg) {
        add_colour(parameters, BG_BASE, to.bg);
    }
}

void ik_pen_append_style(ik_buffer_t *out, ik_style_t from, ik_style_t to)
{
    if (ik_style_equal(from, to)) {
        return;
    }
    parameters_t changed = {.len = 0};
    parameters_t from_reset = {.len = 0};
    if (!ik_style_equal(to, (ik_style_t){0})) {
        add_change(&changed, from, to);
        add(&from_reset, 0);
        add_change(&from_reset, (ik_style_t){0}, to);
    }
    /* An empty list resets all. */
    const parameters_t *shorter = from_reset.len < changed.len ? &from_reset : &changed;
    ik_buffer_append(out, "\033[", 2);
    ik_buffer_append(out, shorter->text, shorter->len);
    ik_buffer_append_byte(out, 'm');
}

static bool is_same_link(const ik_pen_t *a, const ik_pen_t *b)
{
    return a->link_len == b->link_len &&
           (a->link_len == 0 || memcmp(a->link, b->link, a->link_len) == 0);
}

void ik_pen_append(ik_buffer_t *out, const ik_pen_t *from, const ik_pen_t *to)
{
    ik_pen_append_style(out, from->style, to->style);
    if (is_same_link(from, to)) {
        return;
    }
    if (to->link_len > 0) {
        ik_buffer_append(out, to->link, to->link_len);
    } else {
        ik_buffer_append_text(out, IK_PEN_LINK_END);
    }
}

bool ik_pen_equal(const ik_pen_t *a, const ik_pen_t *b)
{
    return ik_style_equal(a->style, b->style) && is_same_link(a, b);
}

void ik_pen_follow(ik_pen_t *pen, const char *sequence, size_t len)
{
    static const char start[] = IK_PEN_LINK_START;
    static const char end[] = IK_PEN_LINK_END;
    if (len >= 3 && sequence[1] == '[' && sequence[len - 1] == 'm') {
        ik_sgr_apply(&pen->style, sequence + 2, len - 3);
    } else if (len == sizeof(end) - 1 && memcmp(sequence, end, len) == 0) {
        pen->link = NULL;
        pen->link_len = 0;
    } else if (len >= sizeof(start) && memcmp(sequence, start, sizeof(start) - 1) == 0) {
        pen->link = sequence;
        pen->link_len = len;
    }
}
