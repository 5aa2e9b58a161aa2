#include "terminal/code_rows.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "base/utf8.h"

/* --- code -------------------------------------------------------------------------------- */

void ik_code_rows_init(ik_code_rows_t *rows, const ik_theme_t *theme,
                       const ik_code_language_t *language)
{
    *rows = (ik_code_rows_t){.theme = theme, .language = language};
}

ik_code_rows_t *ik_code_rows_create(const void *ctx, const ik_theme_t *theme,
                                    const ik_code_language_t *language)
{
    ik_code_rows_t *rows = ik_new(ctx, ik_code_rows_t);
    ik_code_rows_init(rows, theme, language);
    return rows;
}

static ik_style_t style_of(const ik_theme_t *theme, ik_code_class_t kind)
{
    static const ik_role_t roles[] = {
        [IK_CODE_PLAIN] = IK_ROLE_TEXT,      [IK_CODE_COMMENT] = IK_ROLE_COMMENT,
        [IK_CODE_STRING] = IK_ROLE_STRING,   [IK_CODE_NUMBER] = IK_ROLE_NUMBER,
        [IK_CODE_KEYWORD] = IK_ROLE_KEYWORD, [IK_CODE_NAME] = IK_ROLE_NAME,
    };
    return ik_theme_style(theme, roles[kind]);
}

static void on_piece(void *data, ik_code_class_t kind, const char *text, size_t len)
{
    ik_row_t *row = data;
    ik_row_add(row, style_of(row->theme, kind), text, len);
}

void ik_code_rows_add(ik_code_rows_t *rows, ik_row_t *row, const char *line, size_t len)
{
    if (ik_sanitise_is_clean(line, len)) {
        ik_code_colour_line(rows->language, &rows->state, line, len, on_piece, row);
        return;
    }
    ik_buffer_t clean;
    ik_buffer_init(&clean, NULL, IK_BUFFER_UNLIMITED); /* bounded by the line */
    ik_sanitise_append(&clean, line, len);
    ik_code_colour_line(rows->language, &rows->state, clean.data, clean.len, on_piece, row);
    ik_buffer_reset(&clean);
}

/* --- diffs ------------------------------------------------------------------------------- */

static void emit(ik_row_t *row, ik_code_rows_fn on_row, void *data)
{
    ik_row_end(row);
    on_row(data, row->bytes.data == NULL ? "" : row->bytes.data, row->bytes.len);
    ik_row_clear(row);
}

/* Adds the pieces of a line. */
typedef struct {
    ik_row_t *row;
    ik_style_t style; /* of the change */
} painter_t;

bool ik_code_rows_is_diff_name(const char *name, size_t len)
{
    return (len == 4 && strncasecmp(name, "diff", 4) == 0) ||
           (len == 5 && (strncasecmp(name, "patch", 5) == 0 || strncasecmp(name, "udiff", 5) == 0));
}

static void add_piece(void *data, ik_code_class_t kind, bool changed, const char *text, size_t len)
{
    const painter_t *painter = data;
    ik_style_t style = kind == IK_CODE_PLAIN ? painter->style : style_of(painter->row->theme, kind);
    style.fg = style.fg == 0 ? painter->style.fg : style.fg; /* comments are only dim */
    ik_style_t marked = painter->style;
    marked.bits |= IK_STYLE_REVERSE;
    ik_row_add(painter->row, changed ? marked : style, text, len);
}

/* Adds a line of clean text. */
static void add_line(ik_row_t *row, const ik_patch_line_t *line)
{
    static const ik_role_t roles[] = {
        [IK_PATCH_KEPT] = IK_ROLE_TEXT,   [IK_PATCH_REMOVED] = IK_ROLE_REMOVED,
        [IK_PATCH_ADDED] = IK_ROLE_ADDED, [IK_PATCH_HUNK] = IK_ROLE_HUNK,
        [IK_PATCH_NAME] = IK_ROLE_STRONG, [IK_PATCH_OTHER] = IK_ROLE_DIM,
    };
    painter_t painter = {.row = row, .style = ik_theme_style(row->theme, roles[line->kind])};
    if (line->kind <= IK_PATCH_ADDED) {
        ik_row_add(row, painter.style, &" -+"[line->kind], 1);
        ik_patch_lines_split(line, add_piece, &painter);
    } else {
        ik_row_add(row, painter.style, line->text, line->len);
    }
}

void ik_code_rows_add_diff(ik_patch_place_t *place, ik_row_t *row, const char *line, size_t len)
{
    ik_buffer_t clean;
    ik_buffer_init(&clean, NULL, IK_BUFFER_UNLIMITED); /* bounded by the line */
    ik_buffer_append_text(&clean, "");
    ik_sanitise_append(&clean, line, len);
    ik_patch_line_t read = ik_patch_lines_next(place, clean.data, clean.len);
    add_line(row, &read);
    ik_buffer_reset(&clean);
}

typedef struct {
    ik_row_t row;
    ik_code_rows_fn on_row;
    void *data;
} patch_t;

static void on_patch_line(void *data, const ik_patch_line_t *line)
{
    patch_t *patch = data;
    add_line(&patch->row, line);
    emit(&patch->row, patch->on_row, patch->data);
}

void ik_code_rows_patch(const ik_theme_t *theme, ik_patch_place_t *place, const char *text,
                        size_t len, ik_code_rows_fn on_row, void *data)
{
    void *scratch = talloc_new(NULL);
    patch_t patch = {.on_row = on_row, .data = data};
    ik_buffer_t clean;
    ik_row_init(&patch.row, scratch, theme);
    ik_buffer_init(&clean, scratch, IK_BUFFER_UNLIMITED); /* bounded by the text */
    if (!ik_sanitise_is_clean(text, len)) {
        ik_buffer_append_text(&clean, "");
        ik_sanitise_append(&clean, text, len);
        text = clean.data;
        len = clean.len;
    }
    ik_patch_lines_read(place, text, len, on_patch_line, &patch);
    talloc_free(scratch);
}

/* --- differences of two texts ------------------------------------------------------------ */

enum { CONTEXT = 3 };

/* The header of a hunk counts its lines, so the lines are collected until enough unchanged ones
 * follow the last change. Without a change, only the last lines are kept, as context. */
typedef struct {
    ik_row_t row;
    const ik_code_language_t *language;
    ik_code_state_t old;   /* at the end of the old text so far */
    ik_code_state_t fresh; /* and of the new one */
    ik_patch_line_t *lines;
    size_t count;
    size_t capacity;
    size_t kept; /* unchanged lines at the end */
    bool has_change;
    size_t before; /* lines of the old text so far */
    size_t after;  /* lines of the new text so far */
    ik_patch_effort_t effort;
    ik_code_rows_fn on_row;
    void *data;
} hunk_t;

static void emit_header(hunk_t *hunk)
{
    size_t before = 0;
    size_t after = 0;
    for (size_t i = 0; i < hunk->count; i++) {
        before += hunk->lines[i].kind != IK_PATCH_ADDED;
        after += hunk->lines[i].kind != IK_PATCH_REMOVED;
    }
    /* An empty side is numbered by the line before it. */
    size_t from = hunk->before - before + (before > 0);
    size_t to = hunk->after - after + (after > 0);
    ik_row_add_format(&hunk->row, IK_ROLE_HUNK, "@@ -%zu,%zu +%zu,%zu @@", from, before, to, after);
    emit(&hunk->row, hunk->on_row, hunk->data);
}

static size_t count_run(const hunk_t *hunk, size_t from, ik_patch_kind_t kind)
{
    size_t end = from;
    while (end < hunk->count && hunk->lines[end].kind == kind) {
        end++;
    }
    return end - from;
}

static void emit_line(hunk_t *hunk, const ik_patch_line_t *line)
{
    add_line(&hunk->row, line);
    emit(&hunk->row, hunk->on_row, hunk->data);
    if (!line->ended) {
        ik_row_add_role(&hunk->row, IK_ROLE_DIM, "\\ No newline at end of file");
        emit(&hunk->row, hunk->on_row, hunk->data);
    }
}

/* Emits the hunk without the unchanged lines at its end that are beyond the context. */
static void emit_hunk(hunk_t *hunk)
{
    size_t spare = hunk->kept > CONTEXT ? hunk->kept - CONTEXT : 0;
    hunk->count -= spare;
    hunk->before -= spare;
    hunk->after -= spare;
    emit_header(hunk);
    for (size_t i = 0; i < hunk->count;) {
        size_t removed = count_run(hunk, i, IK_PATCH_REMOVED);
        size_t added = count_run(hunk, i + removed, IK_PATCH_ADDED);
        ik_patch_lines_mark(hunk->row.bytes.ctx, &hunk->effort, &hunk->lines[i], removed,
                            &hunk->lines[i + removed], added);
        size_t end = i + removed + added > i ? i + removed + added : i + 1;
        for (; i < end; i++) {
            emit_line(hunk, &hunk->lines[i]);
        }
    }
    size_t context = spare < CONTEXT ? spare : CONTEXT;
    memmove(hunk->lines, hunk->lines + hunk->count + spare - context,
            context * sizeof(hunk->lines[0]));
    hunk->before += spare;
    hunk->after += spare;
    hunk->count = hunk->kept = context;
    hunk->has_change = false;
}

/* Without its line end, sanitised. */
static ik_patch_line_t read_line(const hunk_t *hunk, ik_line_change_t change, const char *text,
                                 size_t len)
{
    ik_patch_line_t line = {.kind = (ik_patch_kind_t)change, .text = text, .len = len};
    line.ended = len > 0 && text[len - 1] == '\n';
    line.len -= line.ended;
    line.len -= line.ended && line.len > 0 && text[line.len - 1] == '\r';
    if (!ik_sanitise_is_clean(text, line.len)) {
        ik_buffer_t clean;
        ik_buffer_init(&clean, hunk->row.bytes.ctx, IK_BUFFER_UNLIMITED); /* bounded by the line */
        ik_buffer_append_text(&clean, "");
        ik_sanitise_append(&clean, text, line.len);
        line.text = clean.data;
        line.len = clean.len;
    }
    return line;
}

static void on_line(void *data, ik_line_change_t change, const char *text, size_t len)
{
    hunk_t *hunk = data;
    ik_patch_line_t line = read_line(hunk, change, text, len);
    ik_patch_lines_follow(hunk->language, &hunk->old, &hunk->fresh, &line);
    if (change == IK_LINE_KEPT && !hunk->has_change && hunk->count == CONTEXT) {
        memmove(hunk->lines, hunk->lines + 1, --hunk->count * sizeof(hunk->lines[0]));
    }
    if (hunk->count == hunk->capacity) {
        hunk->capacity = hunk->capacity == 0 ? 64 : hunk->capacity * 2;
        hunk->lines =
            ik_resize_array(hunk->row.bytes.ctx, hunk->lines, ik_patch_line_t, hunk->capacity);
    }
    hunk->lines[hunk->count++] = line;
    hunk->before += change != IK_LINE_ADDED;
    hunk->after += change != IK_LINE_REMOVED;
    hunk->kept = change == IK_LINE_KEPT ? hunk->kept + 1 : 0;
    hunk->has_change = hunk->has_change || change != IK_LINE_KEPT;
    if (hunk->has_change && hunk->kept > 2 * CONTEXT) {
        emit_hunk(hunk);
    }
}

void ik_code_rows_change(const ik_theme_t *theme, const ik_code_language_t *language,
                         const char *before, size_t before_len, const char *after, size_t after_len,
                         ik_code_rows_fn on_row, void *data)
{
    void *scratch = talloc_new(NULL);
    hunk_t hunk = {
        .language = language, .effort = ik_patch_lines_effort(), .on_row = on_row, .data = data};
    ik_row_init(&hunk.row, scratch, theme);
    ik_line_diff_run(before, before_len, after, after_len, on_line, &hunk);
    if (hunk.has_change) {
        emit_hunk(&hunk);
    }
    talloc_free(scratch);
}

/* --- output of programs ------------------------------------------------------------------ */

typedef struct {
    ik_row_t row;
    size_t rows; /* emitted */
    size_t max_rows;
    size_t left_out;
    bool is_open; /* the current row has text */
    ik_code_rows_fn on_row;
    void *data;
} output_t;

static void end_row(output_t *output)
{
    if (output->rows < output->max_rows) {
        emit(&output->row, output->on_row, output->data);
        output->rows++;
    } else {
        output->left_out++;
    }
    ik_row_clear(&output->row);
    output->is_open = false;
}

static void on_text(void *data, ik_style_t style, const char *text, size_t len)
{
    output_t *output = data;
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t part = end == NULL ? len : (size_t)(end - text);
        ik_row_add(&output->row, style, text, part);
        output->is_open = true;
        if (end == NULL) {
            return;
        }
        end_row(output);
        text += part + 1;
        len -= part + 1;
    }
}

static size_t count_lines(const char *text, size_t len)
{
    size_t count = 0;
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t line = end == NULL ? len : (size_t)(end - text) + 1;
        count++;
        text += line;
        len -= line;
    }
    return count;
}

/* Feeds line by line, so that it can stop. Returns the number of bytes consumed. */
static size_t take_lines(output_t *output, const char *text, size_t len)
{
    ik_sanitiser_t sanitiser;
    size_t at = 0;
    ik_sanitiser_init(&sanitiser);
    while (at < len && output->rows < output->max_rows) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t line = end == NULL ? len - at : (size_t)(end - text) + 1 - at;
        ik_sanitiser_feed(&sanitiser, text + at, line, on_text, output);
        at += line;
    }
    ik_sanitiser_end(&sanitiser, on_text, output);
    if (output->is_open) {
        end_row(output);
    }
    return at;
}

size_t ik_code_rows_output(const ik_theme_t *theme, const char *text, size_t len, size_t max_rows,
                           size_t max_bytes, ik_code_rows_fn on_row, void *data)
{
    void *scratch = talloc_new(NULL);
    output_t output = {
        .max_rows = max_rows == 0 ? SIZE_MAX : max_rows, .on_row = on_row, .data = data};
    ik_row_init(&output.row, scratch, theme);
    size_t fits = max_bytes == 0 || max_bytes >= len ? len : ik_utf8_cut(text, len, max_bytes);
    size_t taken = take_lines(&output, text, fits);
    talloc_free(scratch);
    return output.left_out + count_lines(text + taken, len - taken);
}
