/* Renders a tool call and its result as rows. */
#include <string.h>

#include "base/alloc.h"
#include "conversation/figure.h"
#include "conversation/tool_fields.h"
#include "repl/repl_rows.h"
#include "terminal/code_rows.h"

/* A text of several lines, of which the first ones may be shown. */
typedef struct {
    const char *bytes;
    size_t len;
    const char *language; /* "": none */
    const char *rest;     /* the key or command that shows the rest */
} block_t;

/* --- texts ------------------------------------------------------------------------------- */

/* Adds code with syntax colours; returns how many lines were left out. */
static size_t add_code(const ik_rows_t *rows, const block_t *block,
                       const ik_code_language_t *language)
{
    void *scratch = talloc_new(NULL);
    ik_code_rows_t *code = ik_code_rows_create(scratch, rows->theme, language);
    const char *at = block->bytes;
    const char *end = at + block->len;
    ik_row_t row;
    ik_row_init(&row, scratch, rows->theme);
    for (size_t shown = 0; at < end; shown++) {
        if (!rows->full && (shown == IK_ROWS_MAX || at - block->bytes > IK_REPL_BYTES_MAX)) {
            break;
        }
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = newline == NULL ? (size_t)(end - at) : (size_t)(newline - at);
        ik_code_rows_add(code, &row, at, len);
        ik_rows_put(rows, &row);
        at += newline == NULL ? len : len + 1;
    }
    talloc_free(scratch);
    return ik_rows_count_lines(at, (size_t)(end - at));
}

static void add_block(const ik_rows_t *rows, const block_t *block)
{
    const ik_code_language_t *language =
        ik_code_colour_find(block->language, strlen(block->language));
    size_t left_out = language != NULL ? add_code(rows, block, language)
                                       : ik_code_rows_output(rows->theme, block->bytes, block->len,
                                                             rows->full ? 0 : IK_ROWS_MAX,
                                                             rows->full ? 0 : IK_REPL_BYTES_MAX,
                                                             rows->on_row, rows->data);
    if (left_out > 0) {
        void *scratch = talloc_new(NULL);
        ik_figure_t count = ik_figure_of_count((int64_t)left_out);
        ik_rows_say(rows, IK_ROLE_DIM,
                    ik_sprintf(scratch, "… %s more line%s, %s", count.text,
                               left_out == 1 ? "" : "s", block->rest));
        talloc_free(scratch);
    }
}

/* --- calls ------------------------------------------------------------------------------- */

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

/* A link that lets the terminal open the file; the shipped tools call this argument file_path. */
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

static void add_long_field(const ik_rows_t *rows, const ik_tool_fields_t *arguments,
                           const ik_tool_field_t *field, const char *rest)
{
    void *scratch = talloc_new(NULL);
    block_t block = {.rest = rest};
    block.bytes = ik_tool_fields_format_value(scratch, field, &block.len);
    block.language = ik_tool_fields_format_language(scratch, arguments, field);
    if (field->key.len > 0) {
        char *name = ik_tool_fields_format_name(scratch, field);
        ik_rows_say(rows, IK_ROLE_NAME, ik_sprintf(scratch, "%s:", name));
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

/* The file with every occurrence of old replaced by new. The tool rejects an ambiguous edit, so the
 * result is shown only for one that it applies. */
static text_t apply_edit(const void *ctx, const ik_repl_call_t *call, text_t old, text_t new)
{
    const char *at = call->before;
    const char *end = at + call->before_len;
    ik_buffer_t file;
    ik_buffer_init(&file, ctx, IK_BUFFER_UNLIMITED); /* bounded by the file and the edit */
    const char *found = NULL;
    while (old.len > 0 && (found = memmem(at, (size_t)(end - at), old.bytes, old.len)) != NULL) {
        ik_buffer_append(&file, at, (size_t)(found - at));
        ik_buffer_append(&file, new.bytes, new.len);
        at = found + old.len;
    }
    ik_buffer_append(&file, at, (size_t)(end - at));
    return (text_t){.bytes = file.data == NULL ? "" : file.data, .len = file.len};
}

/* Adds the final newline that a diff of whole lines needs. */
static text_t as_line(const void *ctx, text_t text)
{
    bool ended = text.len > 0 && text.bytes[text.len - 1] == '\n';
    return ended ? text : (text_t){ik_sprintf(ctx, "%s\n", text.bytes), text.len + 1};
}

/* Adds an edit as a diff of the file or, if its content is not known, of the replaced text. */
static void add_edit(const ik_rows_t *rows, const ik_repl_call_t *call,
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

/* Adds a written file as a diff; false if the field is not its content, or the old file unknown. */
static bool add_rewrite(const ik_rows_t *rows, const ik_repl_call_t *call,
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

static void add_long_arguments(const ik_rows_t *rows, const ik_repl_call_t *call,
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

/* Adds the arguments that fit into the row of the name. */
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

void ik_repl_rows_call(const ik_rows_t *rows, const ik_repl_call_t *call)
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
    ik_rows_put(rows, &row);
    if (readable) {
        add_long_arguments(rows, call, &arguments);
    } else if (call->arguments != NULL) {
        add_block(rows, &(block_t){call->arguments, call->arguments_len, "", "Ctrl-O"});
    }
    talloc_free(scratch);
}

/* --- results ----------------------------------------------------------------------------- */

/* A parsed result, and what decides which of its fields are shown. */
typedef struct {
    const ik_repl_result_t *result;
    ik_tool_fields_t fields;
    bool failed;
    bool interrupted; /* by the user: not shown as a failure */
    bool known;       /* the call already shows the change to the file */
} answer_t;

static bool has_error_code(const ik_tool_fields_t *fields, const char *code)
{
    const ik_tool_field_t *field = ik_tool_fields_find(fields, "error_code");
    char *value = field == NULL ? NULL : ik_json_decode(NULL, field->value, NULL);
    bool equal = value != NULL && strcmp(value, code) == 0;
    talloc_free(value);
    return equal;
}

/* The rows of a call to file_edit or file_write show the path and the change. */
static bool shows_change(const ik_repl_call_t *call)
{
    bool shipped =
        call != NULL && call->source == NULL && call->name != NULL && call->arguments != NULL;
    return shipped &&
           (strcmp(call->name, "file_edit") == 0 || strcmp(call->name, "file_write") == 0);
}

static bool read_answer(const ik_rows_t *rows, const ik_repl_call_t *call,
                        const ik_repl_result_t *result, answer_t *answer)
{
    *answer = (answer_t){.result = result};
    if (!ik_tool_fields_of_envelope(result->output, result->output_len, &answer->fields)) {
        return false;
    }
    answer->failed = ik_tool_fields_is_failure(&answer->fields);
    answer->interrupted = answer->failed && has_error_code(&answer->fields, "INTERRUPTED");
    answer->known = !answer->failed && !rows->full && shows_change(call);
    return true;
}

static bool is_value(const ik_tool_field_t *field, const char *json)
{
    return field->value.len == strlen(json) &&
           memcmp(field->value.text, json, field->value.len) == 0;
}

static bool has_name(const ik_tool_field_t *field, const char *name)
{
    return field->key.len > 0 && ik_json_key_is(field->key, name);
}

/* The output fields of a failed program. */
static bool is_output(const ik_tool_field_t *field)
{
    return has_name(field, "stdout") || has_name(field, "stderr");
}

/* Whether a field is shown elsewhere or carries no information. */
static bool is_left_out(const ik_rows_t *rows, const answer_t *answer, const ik_tool_field_t *field)
{
    bool empty = is_value(field, "null") || is_value(field, "\"\"");
    bool of_end = has_name(field, "exit_code"); /* of an interrupted tool it is our own signal */
    if (answer->interrupted) {
        return of_end || has_name(field, "error") || has_name(field, "error_code") ||
               (empty && is_output(field));
    }
    if (rows->full) {
        return false;
    }
    if (answer->failed && empty && (of_end || is_output(field))) {
        return true;
    }
    if (answer->known && (field->key.len == 0 || has_name(field, "bytes") ||
                          (has_name(field, "replacements") && is_value(field, "1")))) {
        return true;
    }
    return has_name(field, "limit_reached") || has_name(field, "limit_message");
}

/* Whether a field gets rows of its own: long ones, and any output of an interrupted tool. */
static bool is_block(const answer_t *answer, const ik_tool_field_t *field)
{
    return ik_tool_fields_is_long(field) || (answer->interrupted && is_output(field));
}

static void add_verdict(ik_row_t *row, const answer_t *answer, const void *ctx)
{
    if (answer->interrupted) {
        const ik_tool_field_t *error = ik_tool_fields_find(&answer->fields, "error");
        size_t len;
        ik_row_add_role(row, IK_ROLE_WARNING, "interrupted");
        bool has_run = answer->result->wall_ms >= 0 || answer->result->number == 0;
        if (!has_run && error != NULL) { /* the error says why it did not start */
            ik_row_add_role(row, IK_ROLE_DIM, "  ");
            ik_row_add_role(row, IK_ROLE_DIM, ik_tool_fields_format_value(ctx, error, &len));
        }
    } else {
        ik_row_add_role(row, answer->failed ? IK_ROLE_ERROR : IK_ROLE_GOOD,
                        answer->failed ? "failed" : "ok");
    }
}

static void add_result_head(const ik_rows_t *rows, const answer_t *answer)
{
    void *scratch = talloc_new(NULL);
    const ik_repl_result_t *result = answer->result;
    ik_row_t row;
    ik_row_init(&row, scratch, rows->theme);
    ik_row_add_role(&row, IK_ROLE_DIM, "└ ");
    if (result->number > 0) {
        ik_row_add_format(&row, IK_ROLE_TOOL, "#%zu ", result->number);
    }
    add_verdict(&row, answer, scratch);
    if (result->wall_ms >= 0) {
        ik_row_add_format(&row, IK_ROLE_DIM, "  %s", ik_figure_of_duration(result->wall_ms).text);
    }
    for (size_t i = 0; i < answer->fields.count; i++) {
        const ik_tool_field_t *field = &answer->fields.fields[i];
        if (!is_left_out(rows, answer, field) && !is_block(answer, field)) {
            ik_row_add_role(&row, IK_ROLE_TEXT, "  ");
            add_field(&row, NULL, answer->failed ? IK_ROLE_ERROR : IK_ROLE_TEXT, field);
        }
    }
    ik_rows_put(rows, &row);
    talloc_free(scratch);
}

static void add_long_results(const ik_rows_t *rows, const ik_repl_call_t *call,
                             const answer_t *answer, const char *rest)
{
    ik_tool_fields_t arguments = {.count = 0};
    if (call != NULL && call->arguments != NULL) {
        ik_tool_fields_of_arguments(call->arguments, call->arguments_len, &arguments);
    }
    for (size_t i = 0; i < answer->fields.count; i++) {
        ik_tool_field_t field = answer->fields.fields[i];
        if (is_left_out(rows, answer, &field) || !is_block(answer, &field)) {
            continue;
        }
        if (answer->interrupted && has_name(&field, "stdout")) {
            field.key =
                (ik_json_span_t){0}; /* without a heading, as for a tool that ends normally */
        }
        add_long_field(rows, &arguments, &field, rest);
    }
}

void ik_repl_rows_result(const ik_rows_t *rows, const ik_repl_call_t *call,
                         const ik_repl_result_t *result)
{
    answer_t answer;
    char *rest = ik_sprintf(NULL, "/show %zu", result->number);
    bool readable = read_answer(rows, call, result, &answer);
    add_result_head(rows, &answer);
    if (readable) {
        add_long_results(rows, call, &answer, rest);
    } else {
        add_block(rows, &(block_t){result->output, result->output_len, "", rest});
    }
    talloc_free(rest);
}

void ik_repl_rows_command(const ik_rows_t *rows, const char *envelope)
{
    ik_repl_result_t result = {.output = envelope, .output_len = strlen(envelope), .wall_ms = -1};
    answer_t answer;
    if (read_answer(rows, NULL, &result, &answer)) {
        add_result_head(rows, &answer);
        add_long_results(rows, NULL, &answer, "Ctrl-O");
    }
}
