/*
 * The part of a tool result that is shown in the way its tool declares (base/display.h). Each way
 * expects a shape:
 *
 *   diff, markdown, code  a string: the member output or text, or the whole result
 *   checklist             the first array of {content, status}: a member, or the whole result
 *   table                 the first array of objects, or of arrays: likewise
 *   image                 the images of the result
 *
 * A failure, and a result of another shape, is shown as usual.
 */
#pragma once

#include "base/display.h"
#include "base/json.h"

typedef struct {
    ik_display_t display;
    ik_json_span_t name;     /* of the member, with quotes; length 0: it is the whole result */
    ik_json_span_t part;     /* what is shown */
    ik_json_span_t language; /* of code: a string; length 0: not given */
    ik_json_span_t columns;  /* of a table: an array of headings; length 0: not given */
} ik_tool_display_t;

/* False, with out->display IK_DISPLAY_USUAL, when the envelope does not have the shape. The spans
 * point into the text. */
bool ik_tool_display_find(const char *envelope, size_t len, ik_display_t display,
                          ik_tool_display_t *out);

typedef enum {
    IK_TOOL_ITEM_PENDING,
    IK_TOOL_ITEM_IN_PROGRESS,
    IK_TOOL_ITEM_COMPLETED
} ik_tool_item_state_t;

typedef struct {
    ik_json_span_t content; /* a string */
    ik_tool_item_state_t state;
} ik_tool_item_t;

/* Iterates over the items of a checklist. Start with position 0; false at the end. */
bool ik_tool_display_next_item(const ik_tool_display_t *shown, size_t *position,
                               ik_tool_item_t *item);
/* "[ ]", "[>]" or "[x]" */
const char *ik_tool_display_mark(ik_tool_item_state_t state);

/* The first max_rows rows of a table as Markdown in which the cells are plain text, on ctx.
 * *left_out is the number of further rows. */
char *ik_tool_display_format_table(const void *ctx, const ik_tool_display_t *shown, size_t max_rows,
                                   size_t *left_out);
