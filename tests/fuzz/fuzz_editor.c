/*
 * Random keys. Whatever is pressed: the text is valid UTF-8, the cursor stands between graphemes
 * and on the screen, rows that were found step by step are those found at once, and undo leads back
 * to the empty draft, redo to where one was. With vi keys, the cursor of normal mode stands on a
 * character unless its line is empty.
 */
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "pieces.h"
#include "terminal/editor_state.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const char *const texts[] = {
    "a",
    " ",
    "word",
    "two words",
    "\\",
    "\xc3\xa4",                 /* a letter of two bytes */
    "\xcc\x81",                 /* an accent without a letter */
    "\xe4\xb8\xad",             /* wide */
    "\xf0\x9f\x91\xa9",         /* a woman */
    "\xe2\x80\x8d",             /* a joiner */
    "\xf0\x9f\x9a\x80",         /* a rocket: together an astronaut */
    "\xf0\x9f\x87\xa9",         /* half a flag */
    "\xe0\xa4\x95\xe0\xa5\x8d", /* Devanagari that waits for a joiner */
    "\xe0\xa4\xb7",
    "\xd8\x80",         /* a sign that takes what follows into its grapheme */
    "\xf4\x8f\xbc\x80", /* what a mark looks like */
    "\xe2\x80\xae",     /* written out */
    "abcdefghijklmnopqrstuvwxyz",
};

static const ik_key_t keys[] = {
    {.kind = IK_KEY_LEFT},
    {.kind = IK_KEY_RIGHT},
    {.kind = IK_KEY_UP},
    {.kind = IK_KEY_DOWN},
    {.kind = IK_KEY_HOME},
    {.kind = IK_KEY_END},
    {.kind = IK_KEY_HOME, .modifiers = IK_KEY_CTRL},
    {.kind = IK_KEY_END, .modifiers = IK_KEY_CTRL},
    {.kind = IK_KEY_ENTER},
    {.kind = IK_KEY_ENTER, .modifiers = IK_KEY_ALT},
    {.kind = IK_KEY_BACKSPACE},
    {.kind = IK_KEY_DELETE},
    {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_ALT, .code = 'b'},
    {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_ALT, .code = 'f'},
    {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL, .code = 'w'},
    {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL, .code = 'k'},
    {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL, .code = 'u'},
    {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_ALT, .code = 'd'},
    {.kind = IK_KEY_BACKSPACE, .modifiers = IK_KEY_ALT},
    {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL, .code = 'y'},
    {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_ALT, .code = 'y'},
    {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL, .code = 't'},
    {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_ALT, .code = 'u'},
    {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_ALT, .code = 'c'},
    {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_CTRL, .code = '_'},
    {.kind = IK_KEY_CHAR, .modifiers = IK_KEY_ALT, .code = '_'},
    {.kind = IK_KEY_CHAR, .code = 'x'},
    {.kind = IK_KEY_FUNCTION, .code = 5},
    {.kind = IK_KEY_FOCUS_IN},
    {.kind = IK_KEY_ESCAPE},
};

static const char vi_keys[] = "hl0^$wbeWBEkjfFtTrg;,GiaIAoOxXsdcySDCpPuU123456789 zZ";

static ik_theme_t theme;

/* --- what must be ------------------------------------------------------------------------ */

static void check_cursor(const ik_editor_t *editor)
{
    size_t at = 0;
    while (at < editor->cursor) {
        at += ik_editor_text_piece(editor, at).len;
    }
    REQUIRE(at == editor->cursor && at <= editor->text.len);
    bool end = at == editor->text.len || editor->text.data[at] == '\n';
    bool start = at == 0 || editor->text.data[at - 1] == '\n';
    REQUIRE(!ik_editor_is_normal(editor) || !end || start);
}

/* All that is known of rows, found out again from nothing. */
static void check_rows(ik_editor_t *editor, int columns, int max_rows)
{
    ik_editor_rows_t *rows = &editor->rows;
    size_t count = rows->count;
    size_t top = rows->top;
    size_t *starts = ik_new_array(NULL, size_t, count);
    memcpy(starts, rows->starts, count * sizeof(size_t));
    rows->count = 0;
    rows->complete = false;
    ik_editor_layout(editor, columns, max_rows);
    REQUIRE(rows->top == top);
    size_t both = count < rows->count ? count : rows->count;
    REQUIRE(memcmp(starts, rows->starts, both * sizeof(size_t)) == 0);
    talloc_free(starts);
}

static void check_layout(ik_editor_t *editor, int columns, int max_rows)
{
    ik_editor_layout_t layout = ik_editor_layout(editor, columns, max_rows);
    REQUIRE(layout.rows >= 1 && layout.rows <= max_rows);
    REQUIRE(layout.cursor_row >= 0 && layout.cursor_row < layout.rows);
    REQUIRE(layout.cursor_column >= 0 && layout.cursor_column <= columns);
    ik_row_t row;
    ik_row_init(&row, editor, &theme);
    for (int i = 0; i < layout.rows; i++) {
        ik_editor_draw(editor, i, &row);
        REQUIRE(row.width <= columns);
        ik_row_clear(&row);
    }
    ik_buffer_reset(&row.bytes);
    check_rows(editor, columns, max_rows);
}

static void check_text(const ik_editor_t *editor)
{
    REQUIRE(ik_utf8_valid(editor->text.data, editor->text.len));
    REQUIRE(memchr(editor->text.data, '\0', editor->text.len) == NULL);
    REQUIRE(editor->pasted ==
            ik_pastes_count_bytes(editor->pastes, editor->text.data, editor->text.len));
    char *text = ik_editor_text(NULL, editor);
    REQUIRE(strlen(text) >= editor->pasted);
    REQUIRE(ik_pastes_find_mark(text, strlen(text)) == strlen(text));
    talloc_free(text);
}

static void run_to_end(ik_editor_t *editor, void (*step)(ik_editor_t *))
{
    uint64_t version;
    do {
        version = ik_editor_version(editor);
        step(editor);
        ik_editor_vi_settle(editor);
        check_cursor(editor);
    } while (ik_editor_version(editor) != version);
}

static void check_undo(ik_editor_t *editor)
{
    char *text = ik_strdup(NULL, editor->text.data);
    ik_editor_begin(editor);
    run_to_end(editor, ik_editor_change_redo);
    char *newest = ik_strdup(text, editor->text.data);
    run_to_end(editor, ik_editor_change_undo);
    REQUIRE(ik_editor_is_empty(editor) && editor->pasted == 0);
    run_to_end(editor, ik_editor_change_redo);
    REQUIRE(strcmp(editor->text.data, newest) == 0);
    talloc_free(text);
}

/* --- what is done ------------------------------------------------------------------------ */

static void paste(ik_editor_t *editor, size_t lines)
{
    ik_buffer_t text;
    ik_buffer_init(&text, editor, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < lines; i++) {
        ik_buffer_append_text(&text, i % 2 == 0 ? "line\r\n" : "\tnext\n");
    }
    ik_editor_key(editor, &(ik_key_t){.kind = IK_KEY_PASTE, .text = text.data, .len = text.len});
    ik_buffer_reset(&text);
}

static void replace_word(ik_editor_t *editor, const char *text)
{
    size_t from = ik_editor_text_chunk_start(editor, editor->cursor);
    ik_editor_replace(editor, from, editor->cursor, text, strlen(text));
}

static void run(ik_editor_t *editor, uint8_t op, uint8_t argument)
{
    const char *text = texts[argument % LENGTH(texts)];
    if (op < LENGTH(keys)) {
        ik_editor_key(editor, &keys[op]);
    } else if (op == 200) {
        paste(editor, argument % 32);
    } else if (op == 201) {
        replace_word(editor, text);
    } else if (op == 202) {
        ik_editor_set_text(editor, text);
    } else if (op == 203) {
        ik_editor_browse(editor, argument % 3 == 0 ? NULL : text);
    } else if (op == 204) {
        ik_editor_reset(editor);
    } else if (ik_editor_is_normal(editor) && op < 200) {
        const char *typed = &vi_keys[argument % (LENGTH(vi_keys) - 1)];
        ik_editor_key(editor, &(ik_key_t){.kind = IK_KEY_TEXT, .text = typed, .len = 1});
    } else if (ik_editor_is_normal(editor)) {
        size_t len = ik_width_grapheme(text, strlen(text)).len;
        ik_editor_key(editor, &(ik_key_t){.kind = IK_KEY_TEXT, .text = text, .len = len});
    } else {
        ik_editor_key(editor, &(ik_key_t){.kind = IK_KEY_TEXT, .text = text, .len = strlen(text)});
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2 || len > 2000) {
        return 0;
    }
    int columns = 1 + bytes[0] % 40;
    int max_rows = 1 + bytes[1] % 10;
    bool vi = bytes[1] >= 128;
    ik_theme_init(&theme, IK_BACKGROUND_UNKNOWN, true, true);
    ik_editor_t *editor = ik_editor_create(NULL);
    if (vi) {
        ik_editor_use_vi(editor);
    }
    for (size_t i = 2; i + 1 < len; i += 2) {
        run(editor, bytes[i], bytes[i + 1]);
        check_text(editor);
        check_cursor(editor);
        check_layout(editor, columns, max_rows);
    }
    check_undo(editor);
    talloc_free(editor);
    return 0;
}
