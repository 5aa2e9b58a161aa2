/* A tool call and its result as rows: what the tool was given and what it answered, nothing hidden.
 */
#include <string.h>

#include "base/alloc.h"
#include "repl/repl_rows.h"
#include "store/export/export_facts.h"
#include "store/export/tool_fields.h"
#include "terminal/code_rows.h"

/* A text in lines, and what to say when there are more of them than are shown. */
typedef struct {
    const char *bytes;
    size_t len;
    const char *language; /* "": none */
    const char *rest;     /* how to see the rest */
} block_t;

/* --- texts ------------------------------------------------------------------------------- */

/* Code of a known language; returns how many lines were left out. */
static size_t add_code(const ik_repl_rows_t *rows, const block_t *block,
                       const ik_code_language_t *language)
{
    void *scratch = talloc_new(NULL);
    ik_code_rows_t *code = ik_code_rows_create(scratch, rows->theme, language);
    const char *at = block->bytes;
    const char *end = at + block->len;
    ik_row_t row;
    ik_row_init(&row, scratch, rows->theme);
    for (size_t shown = 0; at < end; shown++) {
        if (!rows->full && (shown == IK_REPL_ROWS_MAX || at - block->bytes > IK_REPL_BYTES_MAX)) {
            break;
        }
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = newline == NULL ? (size_t)(end - at) : (size_t)(newline - at);
        ik_code_rows_add(code, &row, at, len);
        ik_repl_rows_put(rows, &row);
        at += newline == NULL ? len : len + 1;
    }
    talloc_free(scratch);
    return ik_repl_rows_count_lines(at, (size_t)(end - at));
}

static void add_block(const ik_repl_rows_t *rows, const block_t *block)
{
    const ik_code_language_t *language =
        ik_code_colour_find(block->language, strlen(block->language));
    size_t left_out = language != NULL ? add_code(rows, block, language)
                                       : ik_code_rows_output(rows->theme, block->bytes, block->len,
                                                             rows->full ? 0 : IK_REPL_ROWS_MAX,
                                                             rows->full ? 0 : IK_REPL_BYTES_MAX,
                                                             rows->on_row, rows->data);
    if (left_out > 0) {
        void *scratch = talloc_new(NULL);
        char *count = ik_export_facts_number(scratch, (int64_t)left_out);
        ik_repl_rows_say(rows, IK_ROLE_DIM,
                         ik_sprintf(scratch, "… %s more line%s, %s", count,
                                    left_out == 1 ? "" : "s", block->rest));
        talloc_free(scratch);
    }
}

/* --- what it was given ------------------------------------------------------------------- */

void ik_repl_rows_fill_call(const void *ctx, const ik_msg_t *message, ik_repl_call_t *call)
{
    ik_json_span_t literal;
    if (ik_msg_call_field(message, "name", &literal)) {
        call->name = ik_json_decode(ctx, literal, NULL);
    }
    if (ik_msg_call_field(message, "arguments", &literal)) {
        call->arguments = ik_json_decode(ctx, literal, &call->arguments_len);
    }
}

static void add_name(ik_row_t *row, const ik_repl_call_t *call)
{
    ik_row_add_role(row, IK_ROLE_DIM, "● ");
    ik_row_add_role(row, IK_ROLE_TOOL, call->name == NULL ? "?" : call->name);
    if (call->source != NULL) {
        ik_row_add_format(row, IK_ROLE_WARNING, " [%s]", call->source);
    }
}

/* Our own tools call it so; where it leads, the terminal may open it. */
static char *format_link(const void *ctx, const char *folder, const ik_tool_field_t *field,
                         const char *path)
{
    if (folder == NULL || !ik_json_key_is(field->key, "file_path")) {
        return NULL;
    }
    return *path == '/' ? ik_sprintf(ctx, "file://%s", path)
                        : ik_sprintf(ctx, "file://%s/%s", folder, path);
}

static void add_field(ik_row_t *row, const char *folder, ik_role_t role,
                      const ik_tool_field_t *field)
{
    void *scratch = talloc_new(NULL);
    size_t len;
    const char *value = ik_tool_fields_format_value(scratch, field, &len);
    if (field->key.len > 0) {
        ik_row_add_role(row, IK_ROLE_NAME, ik_tool_fields_format_name(scratch, field));
        ik_row_add_role(row, IK_ROLE_DIM, ": ");
    }
    char *link = format_link(scratch, folder, field, value);
    if (link != NULL) {
        ik_row_add_link(row, ik_theme_style(row->theme, role), value, len, link);
    } else {
        ik_row_add(row, ik_theme_style(row->theme, role), value, len);
    }
    talloc_free(scratch);
}

static void add_long_field(const ik_repl_rows_t *rows, const ik_tool_fields_t *arguments,
                           const ik_tool_field_t *field, const char *rest)
{
    void *scratch = talloc_new(NULL);
    block_t block = {.rest = rest};
    block.bytes = ik_tool_fields_format_value(scratch, field, &block.len);
    block.language = ik_tool_fields_format_language(scratch, arguments, field);
    if (field->key.len > 0) {
        char *name = ik_tool_fields_format_name(scratch, field);
        ik_repl_rows_say(rows, IK_ROLE_NAME, ik_sprintf(scratch, "%s:", name));
    }
    add_block(rows, &block);
    talloc_free(scratch);
}

typedef struct {
    const char *bytes;
    size_t len;
} text_t;

static text_t text_of(const void *ctx, const ik_tool_fields_t *arguments, const char *name)
{
    text_t text;
    const ik_tool_field_t *field = ik_tool_fields_find(arguments, name);
    text.bytes = ik_tool_fields_format_value(ctx, field, &text.len);
    return text;
}

/* The file with every old text replaced by the new one. An edit that would have to choose fails, so
 * that what is shown then was not done anyway. */
static text_t apply_edit(const void *ctx, const ik_repl_call_t *call, text_t old, text_t new)
{
    const char *at = call->before;
    const char *end = at + call->before_len;
    ik_buffer_t file;
    ik_buffer_init(&file, ctx, IK_BUFFER_UNLIMITED);
    const char *found = NULL;
    while (old.len > 0 && (found = memmem(at, (size_t)(end - at), old.bytes, old.len)) != NULL) {
        ik_buffer_append(&file, at, (size_t)(found - at));
        ik_buffer_append(&file, new.bytes, new.len);
        at = found + old.len;
    }
    ik_buffer_append(&file, at, (size_t)(end - at));
    return (text_t){.bytes = file.data == NULL ? "" : file.data, .len = file.len};
}

/* As a line: what is replaced need not be a whole one. */
static text_t as_line(const void *ctx, text_t text)
{
    bool ended = text.len > 0 && text.bytes[text.len - 1] == '\n';
    return ended ? text : (text_t){ik_sprintf(ctx, "%s\n", text.bytes), text.len + 1};
}

/* What an edit does to the file where that is known, else what becomes of the text, as a diff. */
static void add_edit(const ik_repl_rows_t *rows, const ik_repl_call_t *call,
                     const ik_tool_fields_t *arguments)
{
    void *scratch = talloc_new(NULL);
    text_t old = text_of(scratch, arguments, "old_string");
    text_t new = text_of(scratch, arguments, "new_string");
    if (call->before != NULL && call->before_len > 0) {
        new = apply_edit(scratch, call, old, new);
        old = (text_t){call->before, call->before_len};
    } else {
        old = as_line(scratch, old);
        new = as_line(scratch, new);
    }
    ik_code_rows_change(rows->theme, old.bytes, old.len, new.bytes, new.len, rows->on_row,
                        rows->data);
    talloc_free(scratch);
}

/* What a whole file was and becomes. */
static bool add_rewrite(const ik_repl_rows_t *rows, const ik_repl_call_t *call,
                        const ik_tool_field_t *field)
{
    if (call->before == NULL || !ik_json_key_is(field->key, "content")) {
        return false;
    }
    void *scratch = talloc_new(NULL);
    size_t len;
    char *content = ik_tool_fields_format_value(scratch, field, &len);
    ik_code_rows_change(rows->theme, call->before, call->before_len, content, len, rows->on_row,
                        rows->data);
    talloc_free(scratch);
    return true;
}

static void add_long_arguments(const ik_repl_rows_t *rows, const ik_repl_call_t *call,
                               const ik_tool_fields_t *arguments)
{
    bool change = ik_tool_fields_are_change(arguments);
    for (size_t i = 0; i < arguments->count; i++) {
        const ik_tool_field_t *field = &arguments->fields[i];
        bool of_change = change && ik_tool_fields_is_of_change(arguments, field);
        if (of_change || add_rewrite(rows, call, field)) {
            continue;
        }
        if (ik_tool_fields_is_long(field)) {
            add_long_field(rows, arguments, field, "Ctrl-O");
        }
    }
    if (change) {
        add_edit(rows, call, arguments);
    }
}

/* Those that fit into a row stand beside the name. */
static void add_short_arguments(ik_row_t *row, const char *folder,
                                const ik_tool_fields_t *arguments, bool all)
{
    bool change = ik_tool_fields_are_change(arguments);
    for (size_t i = 0; i < arguments->count; i++) {
        const ik_tool_field_t *field = &arguments->fields[i];
        bool of_change = change && ik_tool_fields_is_of_change(arguments, field);
        if (!of_change && (all || !ik_tool_fields_is_long(field))) {
            ik_row_add_role(row, IK_ROLE_TEXT, "  ");
            add_field(row, folder, IK_ROLE_TEXT, field);
        }
    }
}

void ik_repl_rows_call_line(ik_row_t *row, const ik_repl_call_t *call)
{
    ik_tool_fields_t arguments;
    add_name(row, call);
    if (call->arguments != NULL &&
        ik_tool_fields_of_arguments(call->arguments, call->arguments_len, &arguments)) {
        add_short_arguments(row, NULL, &arguments, true);
    }
}

void ik_repl_rows_call(const ik_repl_rows_t *rows, const ik_repl_call_t *call)
{
    void *scratch = talloc_new(NULL);
    ik_tool_fields_t arguments;
    ik_row_t row;
    bool readable = call->arguments != NULL &&
                    ik_tool_fields_of_arguments(call->arguments, call->arguments_len, &arguments);
    ik_row_init(&row, scratch, rows->theme);
    add_name(&row, call);
    if (readable) {
        add_short_arguments(&row, rows->folder, &arguments, false);
    }
    ik_repl_rows_put(rows, &row);
    if (readable) {
        add_long_arguments(rows, call, &arguments);
    } else if (call->arguments != NULL) {
        add_block(rows, &(block_t){call->arguments, call->arguments_len, "", "Ctrl-O"});
    }
    talloc_free(scratch);
}

/* --- what it answered -------------------------------------------------------------------- */

/* Everybody expects success; it is not said. */
static bool is_plain_success(const ik_tool_field_t *field)
{
    return ik_json_key_is(field->key, "tool_success") && field->value.text[0] == 't';
}

static void add_result_head(const ik_repl_rows_t *rows, const ik_repl_result_t *result,
                            const ik_tool_fields_t *fields)
{
    void *scratch = talloc_new(NULL);
    bool failed = fields != NULL && ik_tool_fields_tell_failure(fields);
    ik_row_t row;
    ik_row_init(&row, scratch, rows->theme);
    ik_row_add_role(&row, IK_ROLE_DIM, "└ ");
    if (result->number > 0) {
        ik_row_add_format(&row, IK_ROLE_TOOL, "#%zu ", result->number);
    }
    ik_row_add_role(&row, failed ? IK_ROLE_ERROR : IK_ROLE_GOOD, failed ? "failed" : "ok");
    if (result->wall_ms >= 0) {
        ik_row_add_format(&row, IK_ROLE_DIM, "  %s",
                          ik_export_facts_duration(scratch, result->wall_ms));
    }
    for (size_t i = 0; fields != NULL && i < fields->count; i++) {
        const ik_tool_field_t *field = &fields->fields[i];
        if (!ik_tool_fields_is_long(field) && !is_plain_success(field)) {
            ik_row_add_role(&row, IK_ROLE_TEXT, "  ");
            add_field(&row, NULL, failed ? IK_ROLE_ERROR : IK_ROLE_TEXT, field);
        }
    }
    ik_repl_rows_put(rows, &row);
    talloc_free(scratch);
}

static void add_long_results(const ik_repl_rows_t *rows, const ik_repl_call_t *call,
                             const ik_tool_fields_t *fields, const char *rest)
{
    ik_tool_fields_t arguments = {.count = 0};
    if (call != NULL && call->arguments != NULL) {
        ik_tool_fields_of_arguments(call->arguments, call->arguments_len, &arguments);
    }
    for (size_t i = 0; i < fields->count; i++) {
        if (ik_tool_fields_is_long(&fields->fields[i])) {
            add_long_field(rows, &arguments, &fields->fields[i], rest);
        }
    }
}

void ik_repl_rows_result(const ik_repl_rows_t *rows, const ik_repl_call_t *call,
                         const ik_repl_result_t *result)
{
    ik_tool_fields_t fields;
    char *rest = ik_sprintf(NULL, "/show %zu", result->number);
    if (ik_tool_fields_of_envelope(result->output, result->output_len, &fields)) {
        add_result_head(rows, result, &fields);
        add_long_results(rows, call, &fields, rest);
    } else {
        add_result_head(rows, result, NULL);
        add_block(rows, &(block_t){result->output, result->output_len, "", rest});
    }
    talloc_free(rest);
}

void ik_repl_rows_command(const ik_repl_rows_t *rows, const char *envelope)
{
    ik_tool_fields_t fields;
    if (ik_tool_fields_of_envelope(envelope, strlen(envelope), &fields)) {
        add_result_head(rows, &(ik_repl_result_t){.wall_ms = -1}, &fields);
        add_long_results(rows, NULL, &fields, "Ctrl-O");
    }
}
