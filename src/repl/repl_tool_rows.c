/* Renders a tool call and its result as rows. */
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/utf8.h"
#include "base/width.h"
#include "conversation/figure.h"
#include "conversation/summary.h"
#include "conversation/tool_fields.h"
#include "repl/repl_rows.h"
#include "terminal/code_rows.h"

enum {
    BRIEF_COLUMNS = 1000, /* of one line of a brief result */
    SUBJECT_COLUMNS = 12, /* that the row of a read or search has at least for its argument */
};

typedef enum {
    SHOW_USUAL, /* as much as usual, from the start */
    SHOW_FIRST, /* IK_REPL_BRIEF_ROWS */
    SHOW_LAST,
} extent_t;

/* A text of several lines, of which some may be shown. */
typedef struct {
    const char *bytes;
    size_t len;
    const char *language; /* "": none */
    const char *rest;     /* the key or command that shows the rest */
    extent_t extent;      /* unless the rows are full */
} block_t;

static bool is_brief(const ik_rows_t *rows)
{
    return rows->brief && !rows->full;
}

/* --- texts ------------------------------------------------------------------------------- */

/* Adds code with syntax colours; returns how many lines were left out. */
static size_t add_code(const ik_rows_t *rows, const block_t *block,
                       const ik_code_language_t *language)
{
    size_t max_rows = block->extent == SHOW_FIRST ? IK_REPL_BRIEF_ROWS : IK_ROWS_MAX;
    void *scratch = talloc_new(NULL);
    ik_code_rows_t *code = ik_code_rows_create(scratch, rows->theme, language);
    const char *at = block->bytes;
    const char *end = at + block->len;
    ik_row_t row;
    ik_row_init(&row, scratch, rows->theme);
    for (size_t shown = 0; at < end; shown++) {
        if (!rows->full && (shown == max_rows || at - block->bytes > IK_REPL_BYTES_MAX)) {
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

/* Adds lines from the start; returns how many were left out. */
static size_t add_start(const ik_rows_t *rows, const block_t *block)
{
    const ik_code_language_t *language =
        ik_code_colour_find(block->language, strlen(block->language));
    if (language != NULL) {
        return add_code(rows, block, language);
    }
    size_t max_rows = block->extent == SHOW_FIRST ? IK_REPL_BRIEF_ROWS : IK_ROWS_MAX;
    return ik_code_rows_output(rows->theme, block->bytes, block->len, rows->full ? 0 : max_rows,
                               rows->full ? 0 : IK_REPL_BYTES_MAX, rows->on_row, rows->data);
}

static void say_left_out(const ik_rows_t *rows, size_t count, const char *rest)
{
    if (count > 0) {
        char *line =
            ik_sprintf(NULL, "… %s more line%s, %s", ik_figure_of_count((int64_t)count).text,
                       count == 1 ? "" : "s", rest);
        ik_rows_say(rows, IK_ROLE_DIM, line);
        talloc_free(line);
    }
}

/* The last rows that were passed to keep_row. */
typedef struct {
    ik_buffer_t rows[IK_REPL_BRIEF_ROWS];
    size_t count; /* of all rows */
} tail_t;

static void keep_row(void *data, const char *bytes, size_t len)
{
    tail_t *tail = data;
    ik_buffer_t *row = &tail->rows[tail->count++ % IK_REPL_BRIEF_ROWS];
    row->len = 0;
    ik_buffer_append(row, bytes, len);
}

/* Cuts a row that would fill the screen; returns whether it did. */
static bool cut_row(ik_buffer_t *row)
{
    ik_buffer_t cut;
    if (ik_row_width(row->data, row->len) <= BRIEF_COLUMNS) {
        return false;
    }
    ik_buffer_init(&cut, row->ctx, IK_BUFFER_UNLIMITED); /* bounded by BRIEF_COLUMNS */
    ik_row_fit(&cut, row->data, row->len, BRIEF_COLUMNS);
    ik_buffer_reset(row);
    *row = cut;
    return true;
}

/* Adds the last lines. The styles of program output and code depend on what comes before, so more
 * is rendered than shown, up to IK_REPL_BYTES_MAX bytes. */
static void add_end(const ik_rows_t *rows, const block_t *block)
{
    tail_t *tail = ik_new(NULL, tail_t);
    ik_rows_t kept = {.theme = rows->theme, .full = true, .on_row = keep_row, .data = tail};
    block_t end = *block;
    if (end.len > IK_REPL_BYTES_MAX) {
        size_t begin = ik_utf8_cut_front(end.bytes, end.len, IK_REPL_BYTES_MAX);
        const char *newline = memchr(end.bytes + begin, '\n', end.len - begin - 1);
        end.bytes = newline == NULL ? end.bytes + begin : newline + 1;
        end.len -= (size_t)(end.bytes - block->bytes);
    }
    for (size_t i = 0; i < IK_LENGTH(tail->rows); i++) {
        ik_buffer_init(&tail->rows[i], tail, IK_BUFFER_UNLIMITED); /* bounded by the text */
        ik_buffer_append_text(&tail->rows[i], "");
    }
    add_start(&kept, &end);
    size_t shown = tail->count < IK_REPL_BRIEF_ROWS ? tail->count : IK_REPL_BRIEF_ROWS;
    size_t left_out = ik_rows_count_lines(block->bytes, block->len - end.len) + tail->count - shown;
    for (size_t i = 0; i < shown; i++) {
        left_out += cut_row(&tail->rows[i]);
    }
    say_left_out(rows, left_out, block->rest);
    for (size_t i = tail->count - shown; i < tail->count; i++) {
        const ik_buffer_t *row = &tail->rows[i % IK_REPL_BRIEF_ROWS];
        rows->on_row(rows->data, row->data, row->len);
    }
    talloc_free(tail);
}

static void add_block(const ik_rows_t *rows, const block_t *block)
{
    if (block->extent == SHOW_LAST && !rows->full) {
        add_end(rows, block);
    } else {
        say_left_out(rows, add_start(rows, block), block->rest);
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
                           const ik_tool_field_t *field, extent_t extent, const char *rest)
{
    void *scratch = talloc_new(NULL);
    block_t block = {.rest = rest, .extent = extent};
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

/* Adds the final newline that a diff of whole lines needs. The text may contain NUL. */
static text_t as_line(const void *ctx, text_t text)
{
    if (text.len > 0 && text.bytes[text.len - 1] == '\n') {
        return text;
    }
    ik_buffer_t line;
    ik_buffer_init(&line, ctx, IK_BUFFER_UNLIMITED); /* bounded by the edit */
    ik_buffer_append(&line, text.bytes, text.len);
    ik_buffer_append_byte(&line, '\n');
    return (text_t){line.data, line.len};
}

static void add_change(const ik_rows_t *rows, const ik_tool_fields_t *arguments, text_t before,
                       text_t after)
{
    char *suffix = ik_tool_fields_format_suffix(NULL, arguments);
    ik_code_rows_change(rows->theme, ik_code_colour_find(suffix, strlen(suffix)), before.bytes,
                        before.len, after.bytes, after.len, rows->on_row, rows->data);
    talloc_free(suffix);
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
    add_change(rows, arguments, old, new);
    talloc_free(scratch);
}

/* Adds a written file as a diff; false if the field is not its content, or the old file unknown. */
static bool add_rewrite(const ik_rows_t *rows, const ik_repl_call_t *call,
                        const ik_tool_fields_t *arguments, const ik_tool_field_t *field)
{
    if (call->before == NULL || !ik_json_key_is(field->key, "content")) {
        return false;
    }
    void *scratch = talloc_new(NULL);
    text_t content;
    content.bytes = ik_tool_fields_format_value(scratch, field, &content.len);
    add_change(rows, arguments, (text_t){call->before, call->before_len}, content);
    talloc_free(scratch);
    return true;
}

static bool is_call_of(const ik_repl_call_t *call, const char *name)
{
    return call != NULL && call->name != NULL && strcmp(call->name, name) == 0;
}

/* Whether an argument is shown elsewhere: it is called as the part of the result that is shown in a
 * declared way, as the list of todo. */
static bool is_repeated(const ik_tool_field_t *field, ik_json_span_t repeated)
{
    return repeated.len > 0 && field->key.len == repeated.len &&
           memcmp(field->key.text, repeated.text, repeated.len) == 0;
}

static void add_long_arguments(const ik_rows_t *rows, const ik_repl_call_t *call,
                               const ik_tool_fields_t *arguments, ik_json_span_t repeated,
                               const char *rest)
{
    bool change = ik_tool_fields_are_change(arguments);
    bool whole = !is_brief(rows) || is_call_of(call, "file_write");
    for (size_t i = 0; i < arguments->count; i++) {
        const ik_tool_field_t *field = &arguments->fields[i];
        bool of_change = change && ik_tool_fields_is_of_change(arguments, field);
        if (of_change || is_repeated(field, repeated) ||
            add_rewrite(rows, call, arguments, field)) {
            continue;
        }
        if (ik_tool_fields_is_long(field)) {
            add_long_field(rows, arguments, field, whole ? SHOW_USUAL : SHOW_FIRST, rest);
        }
    }
    if (change) {
        add_edit(rows, call, arguments);
    }
}

/* Adds the arguments that fit into the row of the name. */
static void add_short_arguments(ik_row_t *row, const char *folder,
                                const ik_tool_fields_t *arguments, ik_json_span_t repeated,
                                bool all)
{
    bool change = ik_tool_fields_are_change(arguments);
    for (size_t i = 0; i < arguments->count; i++) {
        const ik_tool_field_t *field = &arguments->fields[i];
        bool of_change = change && ik_tool_fields_is_of_change(arguments, field);
        if (!of_change && !is_repeated(field, repeated) &&
            (all || !ik_tool_fields_is_long(field))) {
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
        add_short_arguments(row, NULL, &arguments, (ik_json_span_t){0}, true);
    }
}

/* repeated: the name of an argument that is shown elsewhere. rest: the key or command that shows
 * what is left out. */
static void add_call(const ik_rows_t *rows, const ik_repl_call_t *call, ik_json_span_t repeated,
                     const char *rest)
{
    void *scratch = talloc_new(NULL);
    ik_tool_fields_t arguments;
    ik_row_t row;
    bool readable = call->arguments != NULL &&
                    ik_tool_fields_of_arguments(call->arguments, call->arguments_len, &arguments);
    ik_row_init(&row, scratch, rows->theme);
    add_name(&row, call);
    if (readable) {
        add_short_arguments(&row, rows->folder, &arguments, repeated, false);
    }
    ik_rows_put(rows, &row);
    if (readable) {
        add_long_arguments(rows, call, &arguments, repeated, rest);
    } else if (call->arguments != NULL) {
        add_block(rows, &(block_t){.bytes = call->arguments,
                                   .len = call->arguments_len,
                                   .language = "",
                                   .rest = rest,
                                   .extent = is_brief(rows) ? SHOW_FIRST : SHOW_USUAL});
    }
    talloc_free(scratch);
}

/* --- results ----------------------------------------------------------------------------- */

/* A parsed result, and what decides which of its fields are shown. */
typedef struct {
    const ik_repl_result_t *result;
    ik_tool_fields_t fields;
    bool failed;
    bool interrupted;        /* by the user: not shown as a failure */
    bool known;              /* the call already shows the change to the file */
    bool reads;              /* it is the result of file_read */
    ik_tool_display_t shown; /* the part that is shown in a declared way */
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
    bool shipped = call != NULL && call->source == NULL && call->arguments != NULL;
    return shipped && (is_call_of(call, "file_edit") || is_call_of(call, "file_write"));
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
    answer->reads = call != NULL && is_call_of(call, "file_read");
    if (!answer->failed &&
        ik_tool_display_find(result->output, result->output_len, result->display, &answer->shown)) {
        ik_tool_fields_remove(&answer->fields, answer->shown.part);
    }
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
               has_name(field, "confined") || /* not why it ended */
               (empty && is_output(field));
    }
    if (rows->full) {
        return false;
    }
    if (answer->shown.display == IK_DISPLAY_IMAGE && ik_tool_fields_is_long(field)) {
        return true;
    }
    if (answer->failed && empty && (of_end || is_output(field))) {
        return true;
    }
    if (answer->known && (field->key.len == 0 || has_name(field, "bytes") ||
                          (has_name(field, "replacements") && is_value(field, "1")))) {
        return true;
    }
    if (answer->reads && has_name(field, "instructions")) {
        return true; /* a notice names the files */
    }
    return has_name(field, "limit_reached") || has_name(field, "limit_message");
}

/* Whether a field gets rows of its own: long ones, and any output of an interrupted tool. */
static bool is_block(const answer_t *answer, const ik_tool_field_t *field)
{
    return ik_tool_fields_is_long(field) || (answer->interrupted && is_output(field));
}

/* The limits of a confined call have a row of their own, so that the row of the error stays short.
 */
static bool is_limits(const answer_t *answer, const ik_tool_field_t *field)
{
    return answer->failed && has_name(field, "confined") && !is_block(answer, field);
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
        if (!is_left_out(rows, answer, field) && !is_block(answer, field) &&
            !is_limits(answer, field)) {
            ik_row_add_role(&row, IK_ROLE_TEXT, "  ");
            add_field(&row, NULL, answer->failed ? IK_ROLE_ERROR : IK_ROLE_TEXT, field);
        }
    }
    ik_rows_put(rows, &row);
    for (size_t i = 0; i < answer->fields.count; i++) {
        const ik_tool_field_t *field = &answer->fields.fields[i];
        size_t len;
        if (is_limits(answer, field) && !is_left_out(rows, answer, field)) {
            ik_rows_say(rows, IK_ROLE_DIM,
                        ik_sprintf(scratch, "  confined: %s",
                                   ik_tool_fields_format_value(scratch, field, &len)));
        }
    }
    talloc_free(scratch);
}

static void add_long_results(const ik_rows_t *rows, const ik_repl_call_t *call,
                             const answer_t *answer, const char *rest)
{
    ik_tool_fields_t arguments = {.count = 0};
    if (call != NULL && call->arguments != NULL) {
        ik_tool_fields_of_arguments(call->arguments, call->arguments_len, &arguments);
    }
    char *suffix = ik_tool_fields_format_suffix(NULL, &arguments);
    say_left_out(rows, ik_repl_rows_shown(rows, &answer->shown, suffix), rest);
    talloc_free(suffix);
    for (size_t i = 0; i < answer->fields.count; i++) {
        ik_tool_field_t field = answer->fields.fields[i];
        if (is_left_out(rows, answer, &field) || !is_block(answer, &field)) {
            continue;
        }
        if (answer->interrupted && has_name(&field, "stdout")) {
            field.key =
                (ik_json_span_t){0}; /* without a heading, as for a tool that ends normally */
        }
        add_long_field(rows, &arguments, &field, is_brief(rows) ? SHOW_LAST : SHOW_USUAL, rest);
    }
}

/* --- reads and searches in one row ------------------------------------------------------- */

static bool is_lookup(const char *name)
{
    return strcmp(name, "file_read") == 0 || strcmp(name, "glob") == 0 || strcmp(name, "grep") == 0;
}

bool ik_repl_rows_is_one_row(const ik_rows_t *rows, const ik_msg_t *result)
{
    ik_json_span_t output;
    ik_tool_fields_t fields;
    size_t len;
    if (!is_brief(rows) || !ik_msg_is(result, IK_MSG_TOOL_RESULT) ||
        ik_msg_field(result, "images", &output)) {
        return false;
    }
    void *scratch = talloc_new(NULL);
    const char *name = ik_msg_field_text(scratch, result, "name");
    bool one = name != NULL && is_lookup(name) && ik_msg_field(result, "output", &output) &&
               ik_json_is(output, IK_JSON_STRING);
    const char *envelope = one ? ik_json_decode(scratch, output, &len) : NULL;
    one = one && !(ik_tool_fields_of_envelope(envelope, len, &fields) &&
                   ik_tool_fields_is_failure(&fields));
    talloc_free(scratch);
    return one;
}

/* What a read or search was about: the file, or the pattern and where it was looked for. */
typedef struct {
    const char *text;
    ik_width_keep_t keep; /* when it is cut */
    const char *link;     /* NULL: none */
} subject_t;

static subject_t find_subject(const void *ctx, const ik_rows_t *rows, const ik_repl_call_t *call)
{
    ik_tool_fields_t arguments;
    size_t len;
    if (call->arguments == NULL ||
        !ik_tool_fields_of_arguments(call->arguments, call->arguments_len, &arguments)) {
        return (subject_t){.text = ""};
    }
    const ik_tool_field_t *file = ik_tool_fields_find(&arguments, "file_path");
    const ik_tool_field_t *pattern = ik_tool_fields_find(&arguments, "pattern");
    const ik_tool_field_t *path = ik_tool_fields_find(&arguments, "path");
    if (file != NULL) {
        const char *name = ik_tool_fields_format_value(ctx, file, &len);
        return (subject_t){.text = name,
                           .keep = IK_WIDTH_KEEP_END,
                           .link = format_link(ctx, rows->folder, file, name)};
    }
    if (pattern == NULL) {
        return (subject_t){.text = ""};
    }
    return (subject_t){
        .text = ik_sprintf(ctx, "%s%s%s", ik_tool_fields_format_value(ctx, pattern, &len),
                           path == NULL ? "" : " in ",
                           path == NULL ? "" : ik_tool_fields_format_value(ctx, path, &len))};
}

static const ik_tool_field_t *find_field(const answer_t *answer, const char *name)
{
    for (size_t i = 0; i < answer->fields.count; i++) {
        const ik_tool_field_t *field = &answer->fields.fields[i];
        if (*name == '\0' ? field->key.len == 0 : has_name(field, name)) {
            return field;
        }
    }
    return NULL;
}

/* How much was found: "12 matches found", "120 lines, truncated". */
static char *format_amount(const void *ctx, const ik_repl_call_t *call, const answer_t *answer)
{
    const ik_tool_field_t *count = find_field(answer, "count");
    const ik_tool_field_t *output = find_field(answer, "");
    const char *amount;
    if (count != NULL && ik_json_is(count->value, IK_JSON_NUMBER)) {
        amount = ik_summary_of_result(ctx, call->name, answer->result->output);
    } else {
        size_t len = answer->result->output_len;
        const char *text = output == NULL ? answer->result->output
                                          : ik_tool_fields_format_value(ctx, output, &len);
        size_t lines = ik_rows_count_lines(text, len);
        amount = ik_sprintf(ctx, "%s line%s", ik_figure_of_count((int64_t)lines).text,
                            lines == 1 ? "" : "s");
    }
    bool warned = find_field(answer, "warnings") != NULL || find_field(answer, "note") != NULL;
    return ik_sprintf(ctx, "%s%s%s", amount,
                      find_field(answer, "truncated") != NULL ? ", truncated" : "",
                      warned ? ", warnings" : "");
}

/* Fits into the width: with the subject cut and, if need be, without the duration or the amount. */
static void add_lookup(const ik_rows_t *rows, const ik_repl_call_t *call, const answer_t *answer,
                       const char *rest)
{
    void *scratch = talloc_new(NULL);
    subject_t subject = find_subject(scratch, rows, call);
    const char *amount = format_amount(scratch, call, answer);
    int64_t wall_ms = answer->result->wall_ms;
    ik_figure_t time = wall_ms < 0 ? (ik_figure_t){""} : ik_figure_of_duration(wall_ms);
    ik_row_t row;
    ik_buffer_t cut;
    ik_row_init(&row, scratch, rows->theme);
    add_name(&row, call);
    ik_row_add_role(&row, IK_ROLE_TEXT, "  ");

    int room = rows->columns - 1 - row.width - 2 - (int)strlen(rest);
    size_t width = ik_width(subject.text, strlen(subject.text));
    int least = width < SUBJECT_COLUMNS ? (int)width : SUBJECT_COLUMNS;
    bool has_amount = room - 2 - (int)strlen(amount) >= least;
    room -= has_amount ? 2 + (int)strlen(amount) : 0;
    bool has_time = *time.text != '\0' && room - 2 - (int)strlen(time.text) >= least;
    room -= has_time ? 2 + (int)strlen(time.text) : 0;

    ik_buffer_init(&cut, scratch, IK_BUFFER_UNLIMITED); /* bounded by the subject */
    ik_buffer_append_text(&cut, "");
    ik_width_append(&cut, subject.text, (size_t)(room < least ? least : room), subject.keep);
    ik_style_t style = ik_theme_style(rows->theme, IK_ROLE_TEXT);
    if (subject.link != NULL) {
        ik_row_add_link(&row, style, cut.data, cut.len, subject.link);
    } else {
        ik_row_add(&row, style, cut.data, cut.len);
    }
    if (has_amount) {
        ik_row_add_format(&row, IK_ROLE_DIM, "  %s", amount);
    }
    if (has_time) {
        ik_row_add_format(&row, IK_ROLE_DIM, "  %s", time.text);
    }
    ik_row_add_format(&row, IK_ROLE_DIM, "  %s", rest);
    ik_rows_put(rows, &row);
    talloc_free(scratch);
}

/* --- calls with their results ------------------------------------------------------------ */

void ik_repl_rows_tool(const ik_rows_t *rows, const ik_repl_call_t *call,
                       const ik_repl_result_t *result)
{
    answer_t answer;
    if (result == NULL) {
        add_call(rows, call, (ik_json_span_t){0}, "Ctrl-O");
        return;
    }
    char *rest = ik_sprintf(NULL, "/show %zu", result->number);
    bool readable = read_answer(rows, call, result, &answer);
    if (is_brief(rows) && !answer.failed && call->name != NULL && is_lookup(call->name)) {
        add_lookup(rows, call, &answer, rest);
        talloc_free(rest);
        return;
    }
    bool repeats = answer.shown.display == IK_DISPLAY_CHECKLIST && !rows->full;
    add_call(rows, call, repeats ? answer.shown.name : (ik_json_span_t){0},
             is_brief(rows) ? rest : "Ctrl-O");
    add_result_head(rows, &answer);
    if (readable) {
        add_long_results(rows, call, &answer, rest);
    } else {
        add_block(rows, &(block_t){.bytes = result->output,
                                   .len = result->output_len,
                                   .language = "",
                                   .rest = rest,
                                   .extent = is_brief(rows) ? SHOW_LAST : SHOW_USUAL});
    }
    talloc_free(rest);
}

/* Not shortened in brief rows: /show has no number for it. */
void ik_repl_rows_command(const ik_rows_t *rows, const char *envelope)
{
    ik_repl_result_t result = {.output = envelope, .output_len = strlen(envelope), .wall_ms = -1};
    ik_rows_t usual = *rows;
    answer_t answer;
    usual.brief = false;
    if (read_answer(&usual, NULL, &result, &answer)) {
        add_result_head(&usual, &answer);
        add_long_results(&usual, NULL, &answer, "Ctrl-O");
    }
}
