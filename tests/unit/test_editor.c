#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/width.h"
#include "key_names.h"
#include "suite.h"
#include "terminal/editor.h"

static void *ctx;
static ik_editor_t *editor;
static ik_theme_t theme;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    editor = ik_editor_create(ctx);
    ik_theme_init(&theme, IK_BACKGROUND_UNKNOWN, false, false);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* --- doing ------------------------------------------------------------------------------- */

static ik_editor_effect_t press(const char *names)
{
    ik_editor_effect_t effect = IK_EDITOR_UNKNOWN;
    while (*names != '\0') {
        ik_key_t key = key_names_next(&names);
        effect = ik_editor_key(editor, &key);
    }
    return effect;
}

static void type_at_once(const char *text)
{
    ik_key_t key = key_names_text(IK_KEY_TEXT, text);
    ck_assert_int_eq(ik_editor_key(editor, &key), IK_EDITOR_DONE);
}

/* Types letter by letter; a newline is Ctrl-J. */
static void type(const char *text)
{
    size_t len = strlen(text);
    while (len > 0) {
        size_t step = ik_width_grapheme(text, len).len;
        if (text[0] == '\n') {
            press("C-j");
        } else {
            ik_key_t key = {.kind = IK_KEY_TEXT, .text = text, .len = step};
            ik_editor_key(editor, &key);
        }
        text += step;
        len -= step;
    }
}

static void paste(const char *text)
{
    ik_key_t key = key_names_text(IK_KEY_PASTE, text);
    ck_assert_int_eq(ik_editor_key(editor, &key), IK_EDITOR_DONE);
}

static size_t cursor_place(void)
{
    size_t len;
    size_t cursor;
    ik_editor_raw(editor, &len, &cursor);
    return cursor;
}

static void go_to(size_t place)
{
    press("C-Home");
    while (cursor_place() < place) {
        press("Right");
    }
    ck_assert_uint_eq(cursor_place(), place);
}

/* Sets a draft; the bar marks the cursor. */
static void begin(const char *text)
{
    size_t before = strcspn(text, "|");
    ik_editor_reset(editor);
    ik_editor_set_text(editor, ik_sprintf(ctx, "%.*s%s", (int)before, text, text + before + 1));
    ik_editor_layout(editor, 80, 10);
    go_to(before);
}

/* --- looking ----------------------------------------------------------------------------- */

/* The draft with a bar at the cursor. */
static const char *draft(void)
{
    size_t len;
    size_t cursor;
    const char *text = ik_editor_raw(editor, &len, &cursor);
    return ik_sprintf(ctx, "%.*s|%s", (int)cursor, text, text + cursor);
}

static const char *whole_text(void)
{
    return ik_editor_text(ctx, editor);
}

#define expect(text) ck_assert_str_eq(draft(), text)
#define expect_text(text) ck_assert_str_eq(whole_text(), text)

/* The visible rows, each in brackets, and the cursor. */
static const char *rows(int columns, int max_rows)
{
    ik_editor_layout_t layout = ik_editor_layout(editor, columns, max_rows);
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&out, layout.above ? "^" : "");
    for (int i = 0; i < layout.rows; i++) {
        ik_row_t row;
        ik_row_init(&row, ctx, &theme);
        ik_editor_draw(editor, i, &row);
        ck_assert_int_le(row.width, columns < 1 ? 1 : columns);
        ik_buffer_append_format(&out, "[%.*s]", (int)row.bytes.len,
                                row.bytes.len == 0 ? "" : row.bytes.data);
    }
    ik_buffer_append_text(&out, layout.below ? "v" : "");
    ik_buffer_append_format(&out, " %d,%d", layout.cursor_row, layout.cursor_column);
    return ik_buffer_finish(&out);
}

/* --- typing and moving ------------------------------------------------------------------- */

START_TEST(typing)
{
    ck_assert(ik_editor_is_empty(editor));
    uint64_t version = ik_editor_version(editor);
    type("Hällo\nWelt");
    expect("Hällo\nWelt|");
    ck_assert(!ik_editor_is_empty(editor));
    ck_assert_uint_ne(ik_editor_version(editor), version);
    press("Home");
    type("schöne ");
    expect("Hällo\nschöne |Welt");
}
END_TEST

/* A draft, a key, and the draft after it. */
static const struct {
    const char *before;
    const char *keys;
    const char *after;
} key_rows[] = {
    /* by graphemes */
    {"ab|", "Left", "a|b"},
    {"ab|", "C-b", "a|b"},
    {"|ab", "Left", "|ab"},
    {"|ab", "Right", "a|b"},
    {"|ab", "C-f", "a|b"},
    {"ab|", "Right", "ab|"},
    {"a👩‍🚀|b", "Left", "a|👩‍🚀b"},
    {"a|👩‍🚀b", "Right", "a👩‍🚀|b"},
    {"e\xcc\x81|", "Left", "|e\xcc\x81"},
    {"🇩🇪🇫🇷|", "Left", "🇩🇪|🇫🇷"},
    {"a\n|b", "Left", "a|\nb"},
    /* by words */
    {"one two_three|", "M-b", "one two_|three"},
    {"one two_|three", "M-b", "one |two_three"},
    {"one, two|", "C-Left", "one, |two"},
    {"one, two|", "M-Left", "one, |two"},
    {"|one, two", "M-f", "one|, two"},
    {"one|, two", "C-Right", "one, two|"},
    {"one|, two", "M-Right", "one, two|"},
    {"|größer als", "M-f", "größer| als"},
    {"größer|", "M-b", "|größer"},
    {"|one", "M-F", "one|"},
    /* lines and the draft */
    {"one\ntwo thr|ee\nfour", "C-a", "one\n|two three\nfour"},
    {"one\ntwo thr|ee\nfour", "Home", "one\n|two three\nfour"},
    {"one\ntwo thr|ee\nfour", "C-e", "one\ntwo three|\nfour"},
    {"one\ntwo thr|ee\nfour", "End", "one\ntwo three|\nfour"},
    {"one\nt|wo", "C-Home", "|one\ntwo"},
    {"one\nt|wo", "M-<", "|one\ntwo"},
    {"one\nt|wo", "M-S-,", "|one\ntwo"},
    {"o|ne\ntwo", "C-End", "one\ntwo|"},
    {"o|ne\ntwo", "M->", "one\ntwo|"},
    /* rows, with the column kept */
    {"long line\nx\nanother one|", "Up Up", "long line|\nx\nanother one"},
    {"long line\nx\nanother on|e", "C-p C-p Down Down", "long line\nx\nanother on|e"},
    {"long li|ne\nx\nanother one", "C-n", "long line\nx|\nanother one"},
    {"long li|ne\nx\nanother one", "Down Down", "long line\nx\nanother| one"},
    {"long li|ne\nx\nanother one", "Down Left Down", "long line\nx\n|another one"},
    /* newlines */
    {"a|b", "S-Enter", "a\n|b"},
    {"a|b", "C-j", "a\n|b"},
    {"a\\|b", "Enter", "a\n|b"},
    /* erasing */
    {"ab|c", "Backspace", "a|c"},
    {"ab|c", "C-h", "a|c"},
    {"|ab", "Backspace", "|ab"},
    {"👩‍🚀|", "Backspace", "|"},
    {"a|bc", "Delete", "a|c"},
    {"a|bc", "C-d", "a|c"},
    {"ab|", "Delete", "ab|"},
    {"a|\nb", "C-d", "a|b"},
    /* killing and yanking */
    {"git commit --amend|", "C-w", "git commit |"},
    {"git commit   |", "C-w", "git |"},
    {"git commit --amend|", "M-Backspace", "git commit --|"},
    {"git commit --amend|", "C-Backspace", "git commit --|"},
    {"|one, two", "M-d", "|, two"},
    {"|one, two", "C-Delete", "|, two"},
    {"on|e\ntwo", "C-k", "on|\ntwo"},
    {"on|e\ntwo", "C-k C-k", "on|two"},
    {"one\ntw|o", "C-u", "one\n|o"},
    {"one\ntw|o", "C-u C-u", "one|o"},
    {"one two|", "C-w C-y C-y", "one twotwo|"},
    {"one two three|", "C-w C-w C-a C-y", "two three|one "},
    {"|one two three", "M-d M-d End C-y", " threeone two|"},
    {"one two|", "C-w Left Right C-w C-y", "one |"},
    {"one two|", "C-w Left Right C-w C-y M-y", "two|"},
    {"one two|", "C-w Left Right C-w C-y M-y M-y", "one |"},
    {"one two|", "C-w Focus C-w C-y", "one two|"},
    {"one|", "M-y", "one|"},
    /* rewriting */
    {"|grün two", "M-u", "GRÜN| two"},
    {"|GRÜN two", "M-l", "grün| two"},
    {"x| hELLO two", "M-c", "x Hello| two"},
    {"done|", "M-u", "done|"},
};

START_TEST(keys)
{
    begin(key_rows[_i].before);
    press(key_rows[_i].keys);
    ck_assert_msg(strcmp(draft(), key_rows[_i].after) == 0, "%s, %s: %s instead of %s",
                  key_rows[_i].before, key_rows[_i].keys, draft(), key_rows[_i].after);
}
END_TEST

START_TEST(what_a_key_is_to_the_caller)
{
    ck_assert_int_eq(press("Enter"), IK_EDITOR_UNKNOWN);
    ck_assert_int_eq(press("Tab"), IK_EDITOR_UNKNOWN);
    ck_assert_int_eq(press("C-r"), IK_EDITOR_UNKNOWN);
    ck_assert_int_eq(press("M-x"), IK_EDITOR_UNKNOWN);
    ck_assert_int_eq(press("F5"), IK_EDITOR_UNKNOWN);
    ck_assert_int_eq(press("Focus"), IK_EDITOR_UNKNOWN);
    ck_assert_int_eq(press("Up"), IK_EDITOR_FIRST);
    ck_assert_int_eq(press("Down"), IK_EDITOR_LAST);
    ck_assert_int_eq(press("Left"), IK_EDITOR_DONE);
    begin("a\nb|");
    ck_assert_int_eq(press("Up"), IK_EDITOR_DONE);
    ck_assert_int_eq(press("C-p"), IK_EDITOR_FIRST);
    expect("a|\nb");
    ck_assert_int_eq(press("C-n"), IK_EDITOR_DONE);
    ck_assert_int_eq(press("Down"), IK_EDITOR_LAST);
    ck_assert_int_eq(press("x"), IK_EDITOR_DONE); /* a letter reported by its code is text */
    expect("a\nbx|");
}
END_TEST

/* A grapheme may arrive in several keys; sequences and invisible characters do not get in. */
START_TEST(typed_text_is_clean)
{
    type_at_once("👩");
    type_at_once("\xe2\x80\x8d");
    press("Focus");
    type_at_once("🚀");
    press("Left");
    expect("|👩‍🚀");
    press("C-End");
    type_at_once("\xe2\x80\xae");
    expect_text("👩‍🚀<U+202E>");
    ik_editor_set_text(editor, "a\x1b[31mb\r\nc\xff");
    expect_text("ab\nc\xef\xbf\xbd");
    ik_editor_replace(editor, 1, 2, "\x1b]0;x\a!", 7);
    expect_text("a!\nc\xef\xbf\xbd");
    expect("a!|\nc\xef\xbf\xbd");
}
END_TEST

/* A deletion may merge graphemes, so that the cursor is no longer at a boundary. */
START_TEST(the_cursor_never_stands_in_a_grapheme)
{
    type("e\n");
    type_at_once("\xcc\x81x");
    begin("e\n|\xcc\x81x");
    press("Backspace");
    expect("e\xcc\x81|x");
    begin("|🇪");
    type_at_once("🇩");
    expect("🇩🇪|");
}
END_TEST

/* --- undo -------------------------------------------------------------------------------- */

START_TEST(undo_goes_by_words)
{
    type("one two  three");
    press("C-_");
    expect("one two  |");
    press("C-/");
    expect("one |");
    press("C-S--");
    expect("|");
    press("C-_");
    expect("|");
    press("M-_ C-S-z");
    expect("one two  |");
    press("M-S--");
    expect("one two  three|");
    press("M-_");
    expect("one two  three|");
}
END_TEST

START_TEST(undo_brings_back_what_was_erased)
{
    type("one two");
    press("Backspace Backspace Backspace Backspace");
    expect("one|");
    press("C-_");
    expect("one two|");
    press("C-a Delete Delete C-d");
    expect("| two");
    press("C-_");
    expect("|one two");
    press("End C-w C-w C-y C-_");
    expect("|");
    press("C-_ C-_");
    expect("one two|");
}
END_TEST

START_TEST(another_change_ends_what_could_be_redone)
{
    type("one two");
    press("C-_");
    type("x");
    press("M-_");
    expect("one x|");
    press("C-_");
    expect("one |");
    press("C-_");
    expect("|");
    press("M-_ M-_");
    expect("one x|");
}
END_TEST

START_TEST(motions_end_a_step)
{
    type("abc");
    press("Left");
    type("d");
    press("C-_");
    expect("ab|c");
}
END_TEST

START_TEST(undo_covers_texts_that_were_set)
{
    type("typed");
    press("Left");
    ik_editor_set_text(editor, "set");
    expect("set|");
    ik_editor_set_text(editor, "");
    ik_editor_replace(editor, 0, 0, "replaced", 8);
    press("C-_ C-_");
    expect("set|");
    press("C-_");
    expect("type|d");
}
END_TEST

START_TEST(browsing_is_one_step)
{
    type("typed");
    press("Left");
    ik_editor_browse(editor, "first");
    ik_editor_browse(editor, "second");
    press("Left");
    ik_editor_browse(editor, "third");
    expect("third|");
    press("C-_");
    expect("type|d");
    press("M-_");
    expect("third|");
    ik_editor_browse(editor, NULL);
    expect("type|d");
    press("M-_");
    expect("type|d");
}
END_TEST

/* Only browsing is undone. */
START_TEST(nothing_to_browse_back_to)
{
    type("typed");
    ik_editor_browse(editor, NULL);
    expect("typed|");
    ik_editor_browse(editor, "first");
    type("x");
    ik_editor_browse(editor, NULL);
    expect("firstx|");
}
END_TEST

START_TEST(a_sent_draft_is_forgotten)
{
    type("one two");
    press("C-w");
    ik_editor_reset(editor);
    expect("|");
    press("C-_ M-_");
    expect("|");
    press("C-y");
    expect("two|");
}
END_TEST

/* --- pastes ------------------------------------------------------------------------------ */

static char *lines(int count)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (int i = 1; i <= count; i++) {
        ik_buffer_append_format(&text, "%d\n", i);
    }
    return ik_buffer_finish(&text);
}

static char *letters(size_t count)
{
    char *text = ik_new_array(ctx, char, count + 1);
    memset(text, 'x', count);
    return text;
}

START_TEST(short_pastes_are_text)
{
    paste(lines(10));
    expect_text(lines(10));
    ik_editor_reset(editor);
    paste(letters(1000));
    ck_assert_str_eq(ik_editor_text(ctx, editor), letters(1000));
    ik_editor_reset(editor);
    paste("a\tb\r\nc\rd\x1b[2J");
    ck_assert_str_eq(rows(20, 5), "[a   b][c][d] 2,1");
    expect_text("a\tb\nc\nd");
}
END_TEST

/* Terminals send CR for the line ends of a paste. */
START_TEST(empty_lines_of_a_paste_stay)
{
    paste("a\r\rb\r\r\rc\r");
    expect_text("a\n\nb\n\n\nc\n");
    ik_editor_reset(editor);
    paste("\r\r\na\r\n\r\nb\n\nc");
    expect_text("\n\na\n\nb\n\nc");
    ik_editor_reset(editor);
    paste("1\r\r3\r\r5\r\r7\r\r9\r\r11");
    ck_assert_str_eq(rows(80, 5), "[[pasted 11 lines #1]] 0,20");
}
END_TEST

START_TEST(long_pastes_collapse)
{
    type("before ");
    paste(lines(120));
    paste(letters(1200));
    type(" after");
    ck_assert_str_eq(rows(80, 5),
                     "[before [pasted 120 lines #1][pasted 1,200 characters #2] after] 0,62");
    expect_text(ik_sprintf(ctx, "before %s%s after", lines(120), letters(1200)));
    ik_editor_reset(editor);
    paste(lines(11));
    ck_assert_str_eq(rows(80, 5), "[[pasted 11 lines #1]] 0,20");
    ik_editor_reset(editor);
    paste(ik_sprintf(ctx, "%s%s", letters(1234567), "ä"));
    ck_assert_str_eq(rows(80, 5), "[[pasted 1,234,568 characters #1]] 0,32");
}
END_TEST

START_TEST(a_collapsed_paste_is_one_character)
{
    type("ab");
    press("Left");
    paste(lines(20));
    press("Left Left Right");
    ck_assert_uint_eq(cursor_place(), 1);
    press("Delete");
    expect("a|b");
    press("C-_");
    expect_text(ik_sprintf(ctx, "a%sb", lines(20)));
    press("C-k C-y C-y");
    expect_text(ik_sprintf(ctx, "a%sb%sb", lines(20), lines(20)));
    paste(lines(30));
    ck_assert_str_eq(rows(80, 5),
                     "[a[pasted 20 lines #1]b[pasted 20 lines #1]b[pasted 30 lines #2]] 0,63");
}
END_TEST

/* An emptied draft numbers its pastes from 1 again; undo restores the earlier ones. */
START_TEST(pastes_are_numbered_in_the_draft)
{
    paste(lines(20));
    ik_editor_set_text(editor, "");
    paste(lines(30));
    ck_assert_str_eq(rows(80, 5), "[[pasted 30 lines #1]] 0,20");
    press("C-_ C-_");
    ck_assert_str_eq(rows(80, 5), "[[pasted 20 lines #1]] 0,20");
    expect_text(lines(20));
}
END_TEST

START_TEST(a_killed_paste_survives_the_draft)
{
    paste(lines(20));
    press("C-u");
    ik_editor_reset(editor);
    paste(lines(30)); /* replaces the first */
    press("C-y");
    expect_text(ik_sprintf(ctx, "%s%s", lines(30), lines(20)));
}
END_TEST

/* A mark in the input is written out. */
START_TEST(nobody_brings_a_mark)
{
    paste(lines(20));
    type_at_once("\xf4\x8f\xbc\x80");
    paste("\xf4\x8f\xbc\x80");
    ik_editor_replace(editor, 0, 0, "\xf4\x8f\xbc\x80", 4);
    expect_text(ik_sprintf(ctx, "<U+10FF00>%s<U+10FF00><U+10FF00>", lines(20)));
}
END_TEST

START_TEST(many_pastes)
{
    for (int i = 0; i < 300; i++) {
        paste(lines(11));
        type(" ");
    }
    char *text = ik_editor_text(ctx, editor);
    ck_assert_uint_eq(strlen(text), 300 * (strlen(lines(11)) + 1));
}
END_TEST

START_TEST(too_much_is_refused)
{
    size_t half = IK_EDITOR_MAX / 2 - 4; /* with its mark */
    char *text = letters(half);
    paste(text);
    paste(text);
    type("x");
    ck_assert_uint_eq(strlen(whole_text()), 2 * half);
    press("Backspace");
    type("x");
    ck_assert_uint_eq(strlen(whole_text()), half + 1);
    paste(text);
    ck_assert_uint_eq(strlen(whole_text()), half + 1);
    ik_editor_set_text(editor, letters(IK_EDITOR_MAX + 1));
    ck_assert_uint_eq(strlen(whole_text()), half + 1);
}
END_TEST

/* --- rows -------------------------------------------------------------------------------- */

static const struct {
    const char *draft;
    int columns;
    int max_rows;
    const char *rows;
} layout_rows[] = {
    {"|", 10, 3, "[] 0,0"},
    {"abc|", 10, 3, "[abc] 0,3"},
    {"a\n|", 10, 3, "[a][] 1,0"},
    {"a\n\nb|", 10, 3, "[a][][b] 2,1"},
    /* at words; a blank may hang over the end of a row */
    {"hello brave world|", 11, 5, "[hello brave][world] 1,5"},
    {"hello brave| world", 11, 5, "[hello brave][world] 0,11"},
    {"hello brave |world", 11, 5, "[hello brave][world] 1,0"},
    {"hello brave |", 11, 5, "[hello brave][] 1,0"},
    {"hello brave \n|x", 11, 5, "[hello brave][x] 1,0"},
    {"hello brave|", 11, 5, "[hello brave] 0,11"},
    {"hello bravest|", 11, 5, "[hello ][bravest] 1,7"},
    {"a  bc|", 3, 5, "[a  ][bc] 1,2"},
    /* a word longer than a row is broken where the row is full */
    {"abcdefghij|", 4, 5, "[abcd][efgh][ij] 2,2"},
    {"ab cdefghij|", 4, 5, "[ab ][cdef][ghij] 2,4"},
    /* rows break between wide characters, never inside one */
    {"中文字|", 4, 5, "[中文][字] 1,2"},
    {"中文字|", 5, 5, "[中文][字] 1,2"},
    {"ab中文|", 5, 5, "[ab中][文] 1,2"},
    {"中|", 1, 5, "[…] 0,1"},
    {"e\xcc\x81"
     "e\xcc\x81"
     "e\xcc\x81|",
     2, 5,
     "[e\xcc\x81"
     "e\xcc\x81][e\xcc\x81] 1,1"},
    /* tabs */
    {"a\tb\t|c", 20, 5, "[a   b   c] 0,8"},
    {"abc\td|", 3, 5, "[abc][d] 1,1"},
    /* a long draft scrolls */
    {"1\n2\n3\n4\n5|", 10, 2, "^[4][5] 1,1"},
    {"1|\n2\n3\n4\n5", 10, 2, "[1][2]v 0,1"},
};

START_TEST(layout)
{
    begin(layout_rows[_i].draft);
    ck_assert_str_eq(rows(layout_rows[_i].columns, layout_rows[_i].max_rows), layout_rows[_i].rows);
}
END_TEST

START_TEST(a_label_wider_than_the_window)
{
    type("ab");
    paste(lines(120));
    type("c");
    ck_assert_str_eq(rows(10, 5), "[ab][[pasted 1…][c] 2,1");
}
END_TEST

START_TEST(the_window_moves_as_little_as_possible)
{
    ik_editor_set_text(editor, "1\n2\n3\n4\n5");
    ck_assert_str_eq(rows(10, 3), "^[3][4][5] 2,1");
    press("Up");
    ck_assert_str_eq(rows(10, 3), "^[3][4][5] 1,1");
    press("Up Up");
    ck_assert_str_eq(rows(10, 3), "^[2][3][4]v 0,1");
    press("Down");
    ck_assert_str_eq(rows(10, 3), "^[2][3][4]v 1,1");
    press("C-k C-End C-w Backspace Backspace");
    ck_assert_str_eq(rows(10, 3), "[1][2][3] 2,1");
    ck_assert_str_eq(rows(10, 5), "[1][2][3] 2,1");
}
END_TEST

START_TEST(rows_follow_the_width)
{
    ik_editor_set_text(editor, "one two three");
    ck_assert_str_eq(rows(20, 5), "[one two three] 0,13");
    ck_assert_str_eq(rows(8, 5), "[one two ][three] 1,5");
    press("Up");
    ck_assert_str_eq(rows(8, 5), "[one two ][three] 0,5");
    ck_assert_str_eq(rows(5, 5), "[one ][two ][three] 1,1");
    ck_assert_str_eq(rows(0, 0), "^[w]v 0,0");
}
END_TEST

START_TEST(up_and_down_in_a_line_of_several_rows)
{
    type("abcdefgh");
    ck_assert_str_eq(rows(4, 5), "[abcd][efgh] 1,4");
    press("Up");
    ck_assert_str_eq(rows(4, 5), "[abcd][efgh] 0,3");
    press("Down");
    ck_assert_str_eq(rows(4, 5), "[abcd][efgh] 1,4");
    ck_assert_int_eq(press("Down"), IK_EDITOR_LAST);
}
END_TEST

/* The same text in a fresh editor. */
static const char *fresh_rows(int columns, int max_rows)
{
    ik_editor_t *used = editor;
    size_t place = cursor_place();
    const char *text = whole_text();
    editor = ik_editor_create(ctx);
    ik_editor_set_text(editor, text);
    go_to(place);
    const char *found = rows(columns, max_rows);
    talloc_free(editor);
    editor = used;
    return found;
}

/* After any change, cached row starts are right or discarded. */
START_TEST(rows_found_step_by_step)
{
    static const char *const texts[] = {"a", "b", " ", "cd", "中", "🇩", "e\xcc\x81", "\t"};
    static const char *const names[] = {"Backspace", "Delete", "Left", "Right", "C-Left",
                                        "C-Right",   "C-j",    "M-d",  "C-_",   "Up"};
    uint32_t random = 1;
    for (int i = 0; i < 1500; i++) {
        random = random * 1664525 + 1013904223;
        uint32_t choice = random >> 16;
        if (choice % 3 == 0) {
            press(names[choice / 3 % 10]);
        } else {
            ik_key_t key = key_names_text(IK_KEY_PASTE, texts[choice / 3 % 8]);
            ik_editor_key(editor, &key);
        }
        if (i % 60 == 59) {
            ik_editor_set_text(editor, "");
        }
        ck_assert_str_eq(rows(7, 100), fresh_rows(7, 100));
    }
}
END_TEST

/* Half a flag is narrow and stays with its word; a whole one may start a row. So a change can
 * affect neither its own row nor the one before, but a later one. */
START_TEST(a_change_two_rows_above)
{
    type("aa b🇩");
    paste(lines(20));
    press("Left");
    ck_assert_str_eq(rows(4, 5), "[aa ][b🇩][[pa…] 2,0");
    type("🇪");
    ck_assert_str_eq(rows(4, 5), "[aa b][🇩🇪][[pa…] 2,0");
}
END_TEST

/* An orphaned joiner takes no column and is not written out; the others still join. */
START_TEST(a_lonely_joiner)
{
    ik_editor_set_text(editor, "क्\xe2\x80\x8dष");
    press("Backspace");
    type("x👩\xe2\x80\x8d🚀");
    ck_assert_str_eq(rows(20, 2), "[क्x👩\xe2\x80\x8d🚀] 0,4");
}
END_TEST

/* --- suite ------------------------------------------------------------------------------- */

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("editor");
    TCase *tests = tcase_create("editor");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, typing);
    tcase_add_loop_test(tests, keys, 0, LENGTH(key_rows));
    tcase_add_test(tests, what_a_key_is_to_the_caller);
    tcase_add_test(tests, typed_text_is_clean);
    tcase_add_test(tests, the_cursor_never_stands_in_a_grapheme);
    tcase_add_test(tests, undo_goes_by_words);
    tcase_add_test(tests, undo_brings_back_what_was_erased);
    tcase_add_test(tests, another_change_ends_what_could_be_redone);
    tcase_add_test(tests, motions_end_a_step);
    tcase_add_test(tests, undo_covers_texts_that_were_set);
    tcase_add_test(tests, browsing_is_one_step);
    tcase_add_test(tests, nothing_to_browse_back_to);
    tcase_add_test(tests, a_sent_draft_is_forgotten);
    tcase_add_test(tests, short_pastes_are_text);
    tcase_add_test(tests, empty_lines_of_a_paste_stay);
    tcase_add_test(tests, long_pastes_collapse);
    tcase_add_test(tests, a_collapsed_paste_is_one_character);
    tcase_add_test(tests, pastes_are_numbered_in_the_draft);
    tcase_add_test(tests, a_killed_paste_survives_the_draft);
    tcase_add_test(tests, nobody_brings_a_mark);
    tcase_add_test(tests, many_pastes);
    tcase_add_test(tests, too_much_is_refused);
    tcase_add_loop_test(tests, layout, 0, LENGTH(layout_rows));
    tcase_add_test(tests, a_label_wider_than_the_window);
    tcase_add_test(tests, the_window_moves_as_little_as_possible);
    tcase_add_test(tests, rows_follow_the_width);
    tcase_add_test(tests, up_and_down_in_a_line_of_several_rows);
    tcase_add_test(tests, rows_found_step_by_step);
    tcase_add_test(tests, a_change_two_rows_above);
    tcase_add_test(tests, a_lonely_joiner);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
