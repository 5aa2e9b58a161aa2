#include "base/sgr.h"

#include "base/array.h"

enum { VALUES_MAX = 8, VALUE_LIMIT = 1000 };

/* A parameter with its subparameters, such as "38:5:208". */
typedef struct {
    int values[VALUES_MAX];
    size_t count;
} parameter_t;

typedef struct {
    const char *at;
    const char *end;
    bool done;
} cursor_t;

/* An empty parameter is 0. An empty list has one parameter. */
static bool next_parameter(cursor_t *cursor, parameter_t *parameter)
{
    *parameter = (parameter_t){.count = 1};
    if (cursor->done) {
        return false;
    }
    for (; cursor->at < cursor->end && *cursor->at != ';'; cursor->at++) {
        if (*cursor->at != ':') {
            int *value = &parameter->values[parameter->count - 1];
            *value = *value < VALUE_LIMIT ? *value * 10 + (*cursor->at - '0') : VALUE_LIMIT;
        } else if (parameter->count < VALUES_MAX) {
            parameter->count++;
        }
    }
    cursor->done = cursor->at == cursor->end;
    cursor->at += cursor->done ? 0 : 1;
    return true;
}

/* --- colours ----------------------------------------------------------------------------- */

/* Most programs write the values of a colour as separate parameters: 38;5;N or 38;2;R;G;B. */
static void gather_colour(cursor_t *cursor, parameter_t *colour)
{
    parameter_t part;
    size_t length = 2; /* until the second value tells */
    while (colour->count < length && next_parameter(cursor, &part)) {
        colour->values[colour->count++] = part.values[0];
        if (colour->count == 2) {
            length = part.values[0] == 5 ? 3 : part.values[0] == 2 ? 5 : 2;
        }
    }
}

static bool are_bytes(const int *values, size_t count)
{
    while (count > 0 && values[count - 1] <= 255) {
        count--;
    }
    return count == 0;
}

/* In subparameters a colour space may precede R, G and B. */
static void set_colour(ik_colour_t *colour, const parameter_t *from)
{
    const int *values = from->values;
    const int *rgb = values + (from->count > 5 ? 3 : 2);
    if (values[1] == 5 && from->count >= 3 && are_bytes(values + 2, 1)) {
        *colour = IK_COLOUR_INDEX(values[2]);
    } else if (values[1] == 2 && from->count >= 5 && are_bytes(rgb, 3)) {
        *colour = IK_COLOUR_RGB(rgb[0], rgb[1], rgb[2]);
    }
}

/* --- all parameters ---------------------------------------------------------------------- */

static const struct {
    int parameter;
    uint32_t set;
    uint32_t cleared;
} attributes[] = {
    {1, IK_STYLE_BOLD, 0},
    {2, IK_STYLE_DIM, 0},
    {3, IK_STYLE_ITALIC, 0},
    {4, IK_STYLE_UNDERLINE, 0},
    {7, IK_STYLE_REVERSE, 0},
    {9, IK_STYLE_STRIKE, 0},
    {21, IK_STYLE_UNDERLINE, 0}, /* doubly */
    {22, 0, IK_STYLE_BOLD | IK_STYLE_DIM},
    {23, 0, IK_STYLE_ITALIC},
    {24, 0, IK_STYLE_UNDERLINE},
    {27, 0, IK_STYLE_REVERSE},
    {29, 0, IK_STYLE_STRIKE},
};

static void apply_attribute(ik_style_t *style, int parameter)
{
    for (size_t i = 0; i < IK_LENGTH(attributes); i++) {
        if (attributes[i].parameter == parameter) {
            style->bits = (style->bits | attributes[i].set) & ~attributes[i].cleared;
        }
    }
}

static void apply_plain(ik_style_t *style, const parameter_t *parameter)
{
    int value = parameter->values[0];
    int digit = value % 10;
    int decade = value - digit;
    ik_colour_t *colour = decade == 30 || decade == 90 ? &style->fg : &style->bg;
    if (value == 0) {
        *style = (ik_style_t){0};
    } else if (value == 4 && parameter->count > 1 && parameter->values[1] == 0) {
        apply_attribute(style, 24); /* 4:0; 4:1 and so on are line styles */
    } else if (decade == 30 || decade == 40) {
        *colour = digit == 9 ? 0 : IK_COLOUR_INDEX(digit);
    } else if ((decade == 90 || decade == 100) && digit < 8) {
        *colour = IK_COLOUR_INDEX(8 + digit);
    } else {
        apply_attribute(style, value);
    }
}

void ik_sgr_apply(ik_style_t *style, const char *parameters, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (parameters[i] < '0' || parameters[i] > ';') {
            return;
        }
    }
    cursor_t cursor = {.at = parameters, .end = parameters + len};
    parameter_t parameter;
    while (next_parameter(&cursor, &parameter)) {
        int value = parameter.values[0];
        if (value != 38 && value != 48 && value != 58) {
            apply_plain(style, &parameter);
            continue;
        }
        ik_colour_t underline; /* not part of a style */
        if (parameter.count == 1) {
            gather_colour(&cursor, &parameter);
        }
        set_colour(value == 38 ? &style->fg : value == 48 ? &style->bg : &underline, &parameter);
    }
}
