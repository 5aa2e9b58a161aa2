#include "conversation/tool_display.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/sanitiser.h"
#include "base/utf8.h"

enum { COLUMNS_MAX = 32, CELL_MAX = 2000 };

/* --- shapes ------------------------------------------------------------------------------ */

static bool read_item(ik_json_span_t value, ik_tool_item_t *item)
{
    enum { CONTENT, STATUS, COUNT };
    static const char *const names[COUNT] = {"content", "status"};
    static const char *const states[] = {[IK_TOOL_ITEM_PENDING] = "pending",
                                         [IK_TOOL_ITEM_IN_PROGRESS] = "in_progress",
                                         [IK_TOOL_ITEM_COMPLETED] = "completed"};
    ik_json_span_t values[COUNT];
    ik_json_find_members(value, names, COUNT, values);
    item->content = values[CONTENT];
    for (size_t i = 0; ik_json_is(values[CONTENT], IK_JSON_STRING) && i < IK_LENGTH(states); i++) {
        if (ik_json_is_text(values[STATUS], states[i])) {
            item->state = (ik_tool_item_state_t)i;
            return true;
        }
    }
    return false;
}

static bool is_checklist(ik_json_span_t value)
{
    ik_tool_item_t item;
    ik_json_span_t element;
    size_t count = 0;
    for (size_t at = 0;
         ik_json_is(value, IK_JSON_ARRAY) && ik_json_next_element(value, &at, &element); count++) {
        if (!read_item(element, &item)) {
            return false;
        }
    }
    return count > 0;
}

static bool is_table(ik_json_span_t value)
{
    ik_json_span_t element;
    ik_json_kind_t kind = IK_JSON_NULL;
    size_t count = 0;
    for (size_t at = 0;
         ik_json_is(value, IK_JSON_ARRAY) && ik_json_next_element(value, &at, &element); count++) {
        kind = count == 0 ? ik_json_kind(element) : kind;
        if (ik_json_kind(element) != kind || (kind != IK_JSON_OBJECT && kind != IK_JSON_ARRAY)) {
            return false;
        }
    }
    return count > 0;
}

/* Finds the whole result, or its first member, that has the shape. */
static bool find_list(ik_json_span_t result, bool (*has_shape)(ik_json_span_t value),
                      ik_tool_display_t *out)
{
    if (has_shape(result)) {
        out->part = result;
        return true;
    }
    for (size_t at = 0; ik_json_is(result, IK_JSON_OBJECT) &&
                        ik_json_next_member(result, &at, &out->name, &out->part);) {
        if (has_shape(out->part)) {
            return true;
        }
    }
    return false;
}

static bool find_text(ik_json_span_t result, ik_tool_display_t *out)
{
    ik_json_span_t key;
    ik_json_span_t value;
    if (ik_json_is(result, IK_JSON_STRING)) {
        out->part = result;
        return true;
    }
    for (size_t at = 0;
         ik_json_is(result, IK_JSON_OBJECT) && ik_json_next_member(result, &at, &key, &value);) {
        bool output = ik_json_key_is(key, "output");
        if ((output || (out->part.len == 0 && ik_json_key_is(key, "text"))) &&
            ik_json_has_text(value)) {
            out->name = key;
            out->part = value;
        }
    }
    return out->part.len > 0;
}

static bool find_part(ik_json_span_t result, ik_tool_display_t *out)
{
    ik_json_span_t value;
    switch (out->display) {
    case IK_DISPLAY_CHECKLIST:
        return find_list(result, is_checklist, out);
    case IK_DISPLAY_TABLE:
        if (ik_json_find_kind(result, "columns", IK_JSON_ARRAY, &value)) {
            out->columns = value;
        }
        return find_list(result, is_table, out);
    case IK_DISPLAY_IMAGE:
        return ik_json_find_kind(result, "images", IK_JSON_ARRAY, &out->part) && out->part.len > 2;
    case IK_DISPLAY_CODE:
        if (ik_json_find_kind(result, "language", IK_JSON_STRING, &value)) {
            out->language = value;
        }
        return find_text(result, out);
    default:
        return find_text(result, out);
    }
}

bool ik_tool_display_find(const char *envelope, size_t len, ik_display_t display,
                          ik_tool_display_t *out)
{
    ik_json_span_t root;
    ik_json_span_t result;
    ik_json_span_t error;
    *out = (ik_tool_display_t){.display = display};
    if (display == IK_DISPLAY_USUAL || !ik_json_scan(envelope, len, &root, NULL) ||
        !ik_json_is(root, IK_JSON_OBJECT) || !ik_json_find(root, "result", &result) ||
        ik_json_find_kind(result, "error", IK_JSON_STRING, &error) || !find_part(result, out)) {
        *out = (ik_tool_display_t){.display = IK_DISPLAY_USUAL};
    }
    return out->display != IK_DISPLAY_USUAL;
}

/* --- checklists -------------------------------------------------------------------------- */

bool ik_tool_display_next_item(const ik_tool_display_t *shown, size_t *position,
                               ik_tool_item_t *item)
{
    ik_json_span_t element;
    return ik_json_next_element(shown->part, position, &element) && read_item(element, item);
}

const char *ik_tool_display_mark(ik_tool_item_state_t state)
{
    static const char *const marks[] = {[IK_TOOL_ITEM_PENDING] = "[ ]",
                                        [IK_TOOL_ITEM_IN_PROGRESS] = "[>]",
                                        [IK_TOOL_ITEM_COMPLETED] = "[x]"};
    return marks[state];
}

/* --- tables ------------------------------------------------------------------------------ */

typedef struct {
    ik_json_span_t names[COLUMNS_MAX]; /* literals; length 0: no heading */
    size_t count;
} columns_t;

static void add_column(columns_t *columns, ik_json_span_t name)
{
    if (columns->count < COLUMNS_MAX) {
        columns->names[columns->count++] = name;
    }
}

/* The names of the members of a row that are not known yet. */
static void add_members(columns_t *columns, ik_json_span_t row)
{
    ik_json_span_t key;
    ik_json_span_t value;
    for (size_t at = 0; ik_json_next_member(row, &at, &key, &value);) {
        char *name = ik_json_decode(NULL, key, NULL);
        size_t i = 0;
        while (i < columns->count && !ik_json_key_is(columns->names[i], name)) {
            i++;
        }
        if (i == columns->count) {
            add_column(columns, key);
        }
        talloc_free(name);
    }
}

static columns_t find_columns(const ik_tool_display_t *shown, size_t max_rows)
{
    columns_t columns = {.count = 0};
    ik_json_span_t value;
    ik_json_span_t row;
    for (size_t at = 0;
         shown->columns.len > 0 && ik_json_next_element(shown->columns, &at, &value);) {
        add_column(&columns, ik_json_is(value, IK_JSON_STRING) ? value : (ik_json_span_t){0});
    }
    bool given = columns.count > 0;
    size_t at = 0;
    for (size_t i = 0; i < max_rows && ik_json_next_element(shown->part, &at, &row); i++) {
        if (ik_json_is(row, IK_JSON_OBJECT) && !given) {
            add_members(&columns, row);
        } else if (ik_json_is(row, IK_JSON_ARRAY)) {
            size_t cells = 0;
            for (size_t in = 0; ik_json_next_element(row, &in, &value);) {
                if (++cells > columns.count) {
                    add_column(&columns, (ik_json_span_t){0});
                }
            }
        }
    }
    return columns;
}

/* Plain text on one line: every sign that Markdown could understand is escaped. */
static void append_cell(ik_buffer_t *out, ik_json_span_t value)
{
    void *scratch = talloc_new(NULL);
    const char *text = value.len == 0 || ik_json_is(value, IK_JSON_NULL) ? ""
                       : ik_json_is(value, IK_JSON_STRING)
                           ? ik_json_decode(scratch, value, NULL)
                           : ik_strndup(scratch, value.text, value.len);
    text = ik_sanitise_line(scratch, text);
    size_t len = strlen(text);
    size_t shown = ik_utf8_cut(text, len, CELL_MAX);
    ik_buffer_append_byte(out, ' ');
    for (size_t i = 0; i < shown; i++) {
        ik_buffer_append_text(out, ispunct((unsigned char)text[i]) ? "\\" : "");
        ik_buffer_append_byte(out, text[i]);
    }
    ik_buffer_append_text(out, shown < len ? "… |" : " |");
    talloc_free(scratch);
}

static void append_row(ik_buffer_t *out, const columns_t *columns, ik_json_span_t row)
{
    bool ordered = ik_json_is(row, IK_JSON_ARRAY);
    ik_json_span_t value;
    ik_buffer_append_byte(out, '|');
    size_t at = 0;
    for (size_t i = 0; i < columns->count; i++) {
        bool found = ordered && ik_json_next_element(row, &at, &value);
        if (!ordered && columns->names[i].len > 0) {
            char *name = ik_json_decode(NULL, columns->names[i], NULL);
            found = ik_json_find(row, name, &value);
            talloc_free(name);
        }
        append_cell(out, found ? value : (ik_json_span_t){0});
    }
    ik_buffer_append_byte(out, '\n');
}

char *ik_tool_display_format_table(const void *ctx, const ik_tool_display_t *shown, size_t max_rows,
                                   size_t *left_out)
{
    columns_t columns = find_columns(shown, max_rows);
    ik_json_span_t row;
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the result */
    ik_buffer_append_byte(&out, '|');
    for (size_t i = 0; i < columns.count; i++) {
        append_cell(&out, columns.names[i]);
    }
    ik_buffer_append_text(&out, "\n|");
    for (size_t i = 0; i < columns.count; i++) {
        ik_buffer_append_text(&out, "---|");
    }
    ik_buffer_append_byte(&out, '\n');
    *left_out = 0;
    size_t at = 0;
    for (size_t i = 0; ik_json_next_element(shown->part, &at, &row); i++) {
        if (i < max_rows) {
            append_row(&out, &columns, row);
        } else {
            ++*left_out;
        }
    }
    return ik_buffer_finish(&out);
}
