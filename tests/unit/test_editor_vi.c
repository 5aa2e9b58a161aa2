/* Vi keys: what is pressed in normal mode, the draft and the cursor after it. */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/width.h"
#include "key_names.h"
#include "suite.h"
#include "terminal/editor.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void *ctx;
static ik_editor_t *editor;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    editor = ik_editor_create(ctx);
    ik_editor_use_vi(editor);
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

/* Types character by character; \033 is Esc, \n a new line. */
static ik_editor_effect_t type(const char *text)
{
    ik_editor_effect_t effect = IK_EDITOR_UNKNOWN;
    for (size_t len = strlen(text), step; len > 0; text += step, len -= step) {
        step = *text == '\033' || *text == '\n' ? 1 : ik_width_grapheme(text, len).len;
        if (*text == '\033') {
            effect = press("Esc");
        } else if (*text == '\n') {
            effect = press("C-j");
        } else {
            ik_key_t key = {.kind = IK_KEY_TEXT, .text = text, .len = step};
            effect = ik_editor_key(editor, &key);
        }
    }
    return effect;
}

static size_t cursor_place(void)
{
    size_t len;
    size_t cursor;
    ik_editor_raw(editor, &len, &cursor);
    return cursor;
}

/* Sets a draft in normal mode; the bar is before the character at the cursor. */
static void begin(const char *text)
{
    size_t before = strcspn(text, "|");
    ik_editor_reset(editor);
    ik_editor_set_text(editor, ik_sprintf(ctx, "%.*s%s", (int)before, text, text + before + 1));
    ik_editor_layout(editor, 80, 10);
    press("C-Home");
    while (cursor_place() < before) {
        press("Right");
    }
    ck_assert_uint_eq(cursor_place(), before);
    if (text[before + 1] != '\0' && text[before + 1] != '\n') {
        press("Right"); /* Esc moves back */
    }
    press("Esc");
    ck_assert(ik_editor_is_normal(editor));
    ck_assert_uint_eq(cursor_place(), before);
}

static const char *draft(void)
{
    size_t len;
    size_t cursor;
    const char *text = ik_editor_raw(editor, &len, &cursor);
    return ik_sprintf(ctx, "%.*s|%s", (int)cursor, text, text + cursor);
}

#define expect(text) ck_assert_str_eq(draft(), text)

/* --- commands ---------------------------------------------------------------------------- */

/* A draft, what is typed in normal mode, and the draft after it. */
static const struct {
    const char *before;
    const char *typed;
    const char *after;
} cases[] = {
    /* moving */
    {"one t|wo", "h", "one |two"},
    {"|one", "h", "|one"},
    {"a\n|b", "h", "a\n|b"},
    {"o|ne", "l", "on|e"},
    {"on|e", "l", "on|e"},
    {"|a\nb", "l", "|a\nb"},
    {"one t|wo", "0", "|one two"},
    {"  one t|wo", "0", "|  one two"},
    {"  one t|wo", "^", "  |one two"},
    {"a\n  b| c", "^", "a\n  |b c"},
    {"|one two", "$", "one tw|o"},
    {"|one\ntwo", "$", "on|e\ntwo"},
    {"|one two", "w", "one |two"},
    {"on|e two", "w", "one |two"},
    {"one| two", "w", "one |two"},
    {"one |two", "w", "one tw|o"},
    {"|one, two", "w", "one|, two"},
    {"one|, two", "w", "one, |two"},
    {"|a_b1.c", "w", "a_b1|.c"},
    {"|one\n  two", "w", "one\n  |two"},
    {"|one\n\ntwo", "w", "one\n|\ntwo"},
    {"one\n|\ntwo", "w", "one\n\n|two"},
    {"|a,b c", "W", "a,b |c"},
    {"one t|wo", "b", "one |two"},
    {"one |two", "b", "|one two"},
    {"one,| two", "b", "one|, two"},
    {"|one", "b", "|one"},
    {"one\n\n|two", "b", "one\n|\ntwo"},
    {"a,b |c", "B", "|a,b c"},
    {"|one two", "e", "on|e two"},
    {"on|e two", "e", "one tw|o"},
    {"one tw|o", "e", "one tw|o"},
    {"|one, two", "ee", "one|, two"},
    {"|a,b c", "E", "a,|b c"},
    {"|a b c d", "3w", "a b c |d"},
    {"a b c |d", "2b", "a |b c d"},
    {"|a b c d", "12l", "a b c |d"},
    {"|abcdefghijklm", "10l", "abcdefghij|klm"},
    {"|one two", "ft", "one |two"},
    {"|one two", "tt", "one| two"},
    {"one tw|o", "Fn", "o|ne two"},
    {"one tw|o", "Tn", "on|e two"},
    {"|abab", "fb;", "aba|b"},
    {"|abab", "tb;", "ab|ab"},
    {"|abab", "fb;,", "a|bab"},
    {"|abab", "2fb", "aba|b"},
    {"|abab", "3fb", "|abab"},
    {"|one\nx", "fx", "|one\nx"},
    {"|naïve", "fï", "na|ïve"},
    {"one\ntwo\n|three", "gg", "|one\ntwo\nthree"},
    {"|one\ntwo\n  three", "G", "one\ntwo\n  |three"},
    {"|one\ntwo\nthree", "2G", "one\n|two\nthree"},
    {"one\ntwo\n|three", "2gg", "one\n|two\nthree"},
    {"|one\ntwo", "gx", "|one\ntwo"},

    /* graphemes and characters of several bytes */
    {"|äöü", "ll", "äö|ü"},
    {"äö|ü", "h", "ä|öü"},
    {"|👩‍👩‍👧 e\u0301t", "wx", "👩‍👩‍👧 |t"},
    {"|👩‍👩‍👧 x", "x", "| x"},
    {"|日本 語", "w", "日本 |語"},

    /* inserting */
    {"a|b", "iX", "aX|b"},
    {"a|b", "aX", "abX|"},
    {"|", "aX", "X|"},
    {"  a|b", "IX", "  X|ab"},
    {"|ab\nc", "AX", "abX|\nc"},
    {"a|b\nc", "oX", "ab\nX|\nc"},
    {"a|b", "OX", "X|\nab"},
    {"a|b", "iX\033", "a|Xb"},
    {"|ab", "iX\033", "|Xab"},
    {"a\n|b", "i\033", "a\n|b"},

    /* cutting */
    {"a|bc", "x", "a|c"},
    {"ab|c", "x", "a|b"},
    {"|a", "x", "|"},
    {"|", "x", "|"},
    {"a\n|\nb", "x", "a\n|\nb"},
    {"|abcd", "3x", "|d"},
    {"ab|c", "X", "a|c"},
    {"a|bc\nd", "D", "|a\nd"},
    {"a|bc", "CX", "aX|"},
    {"|abc", "sX", "X|bc"},
    {"one\nt|wo\nthree", "dd", "one\n|three"},
    {"one\nt|wo", "dd", "|one"},
    {"o|ne", "dd", "|"},
    {"|one\n  two", "dd", "  |two"},
    {"|one\ntwo\nthree", "2dd", "|three"},
    {"|one\ntwo\nthree", "d2d", "|three"},
    {"|one\ntwo\nthree", "9dd", "|"},
    {"one\n|two\nthree", "ccX", "one\nX|\nthree"},
    {"|one", "SX", "X|"},
    {"|one two", "dw", "|two"},
    {"o|ne two", "dw", "o|two"},
    {"one |two", "dw", "one| "},
    {"one |two\nthree", "dw", "one| \nthree"},
    {"|one  \n  two", "dw", "|\n  two"},
    {"|a b c d", "d2w", "|c d"},
    {"|a b c d", "2dw", "|c d"},
    {"|a b c d", "2d2w", "|"},
    {"one\n|\ntwo", "dw", "one\n|\ntwo"},
    {"one t|wo", "db", "one |wo"},
    {"one |two", "db", "|two"},
    {"|one two", "de", "| two"},
    {"o|ne two", "d$", "|o"},
    {"on|e two", "d0", "|e two"},
    {"  on|e", "d^", "  |e"},
    {"|a,b c", "dW", "|c"},
    {"|one two", "dfw", "|o"},
    {"|one two", "dtw", "|wo"},
    {"|one two", "dfx", "|one two"},
    {"one tw|o", "dFn", "o|o"},
    {"|one two", "cwX", "X| two"},
    {"o|ne two", "cwX", "oX| two"},
    {"on|e two", "cwX", "onX| two"},
    {"one| two", "cwX", "oneX|two"},
    {"|one two three", "2cwX", "X| three"},
    {"|one,", "cwX", "X|,"},
    {"one |two", "cwX", "one X|"},
    {"|", "cwX", "X|"},
    {"one t|wo three", "diw", "one | three"},
    {"one t|wo three", "ciwX", "one X| three"},
    {"one t|wo three", "daw", "one |three"},
    {"one\nt|wo\nthree", "dj", "|one"},
    {"one\nt|wo\nthree", "dk", "|three"},
    {"o|ne", "dj", "o|ne"},
    {"one\nt|wo\nthree", "dG", "|one"},
    {"one\nt|wo\nthree", "dgg", "|three"},
    {"a|bc", "rX", "a|Xc"},
    {"|abc", "2rX", "X|Xc"},
    {"ab|c", "2rX", "ab|c"},
    {"a|bc", "rä", "a|äc"},

    /* putting and copying */
    {"|ab", "xp", "b|a"},
    {"|ab", "xP", "|ab"},
    {"|one two", "dwP", "one| two"},
    {"|one two", "dw$p", "twoone| "},
    {"|one\ntwo", "ddp", "two\n|one"},
    {"one\n|two", "ddP", "|two\none"},
    {"one t|wo", "ddp", "|one two"},
    {"|ab", "x3p", "baa|a"},
    {"|one two", "ywP", "one| one two"},
    {"one\nt|wo", "yyp", "one\ntwo\n|two"},
    {"one t|wo", "yb", "one |two"},
    {"|x", "p", "|x"},

    /* undo */
    {"|abc", "xu", "|abc"},
    {"|abc", "xxuu", "|abc"},
    {"|abc", "xx2u", "|abc"},
    {"|abc", "xxuuU", "|bc"},
    {"|one two", "cwX\033uu", "|one two"},
    {"one |two", "ddu", "one |two"},

    /* cancelled, unknown and unfinished */
    {"a|bc", "d\033x", "a|c"},
    {"a|bc", "3\033x", "a|c"},
    {"a|bc", "f\033x", "a|c"},
    {"a|bc", "dix", "a|bc"},
    {"a|bc", "dzx", "a|c"},
    {"a|bc", "dpx", "a|c"},
    {"a|bc", "d", "a|bc"},
    {"a|bc", "Zqä", "a|bc"},
    {"ab|c", "99999999999999h", "|abc"},
};

START_TEST(every_command)
{
    for (size_t i = 0; i < LENGTH(cases); i++) {
        tear_down();
        set_up(); /* nothing to put or undo */
        begin(cases[i].before);
        type(cases[i].typed);
        ck_assert_msg(strcmp(draft(), cases[i].after) == 0, "%s, %s: %s instead of %s",
                      cases[i].before, cases[i].typed, draft(), cases[i].after);
    }
}
END_TEST

START_TEST(modes)
{
    ck_assert(!ik_editor_is_normal(editor));
    type("hjkl");
    expect("hjkl|");
    ck_assert_int_eq(press("Esc"), IK_EDITOR_DONE);
    ck_assert(ik_editor_is_normal(editor));
    expect("hjk|l");
    ck_assert_int_eq(press("Esc"), IK_EDITOR_UNKNOWN); /* the caller's key */
    ck_assert_int_eq(type("d"), IK_EDITOR_DONE);
    ck_assert_int_eq(press("Esc"), IK_EDITOR_DONE); /* cancels */
    ck_assert_int_eq(press("Esc"), IK_EDITOR_UNKNOWN);
    type("A!");
    ck_assert(!ik_editor_is_normal(editor));
    expect("hjkl!|");
    press("Esc");
    ik_editor_reset(editor);
    ck_assert(!ik_editor_is_normal(editor));
}
END_TEST

START_TEST(without_vi_nothing_changes)
{
    editor = ik_editor_create(ctx);
    ck_assert_int_eq(press("Esc"), IK_EDITOR_UNKNOWN);
    ck_assert(!ik_editor_is_normal(editor));
    type("x");
    expect("x|");
}
END_TEST

/* k and j are the caller's: they may leave the draft for earlier messages. */
START_TEST(up_and_down)
{
    begin("one\n|two");
    ck_assert_int_eq(type("k"), IK_EDITOR_UP);
    ck_assert_int_eq(ik_editor_times(editor), 1);
    ck_assert_int_eq(type("12j"), IK_EDITOR_DOWN);
    ck_assert_int_eq(ik_editor_times(editor), 12);
    expect("one\n|two");
    press("Up");
    expect("|one\ntwo");
}
END_TEST

START_TEST(other_keys_in_normal_mode)
{
    begin("one t|wo");
    press("C-a");
    expect("|one two");
    press("End");
    expect("one tw|o");
    press("Backspace");
    expect("one t|wo");
    press("C-w");
    expect("one |wo");
    press("C-_");
    expect("one t|wo");
    type("d");
    press("C-e"); /* ends the unfinished command */
    type("x");
    expect("one t|w");
    ck_assert_int_eq(press("Enter"), IK_EDITOR_UNKNOWN);
    ck_assert_int_eq(press("Focus"), IK_EDITOR_UNKNOWN);
}
END_TEST

START_TEST(enter_after_a_backslash_in_normal_mode)
{
    begin("a\\|b");
    ck_assert_int_eq(press("Enter"), IK_EDITOR_UNKNOWN);
    expect("a\\|b");
}
END_TEST

START_TEST(a_report_of_the_terminal_between_two_keys)
{
    begin("|one two");
    type("d");
    press("Focus");
    type("w");
    expect("|two");
}
END_TEST

START_TEST(pastes)
{
    begin("a|b");
    ik_key_t key = key_names_text(IK_KEY_PASTE, "xyz");
    ck_assert_int_eq(ik_editor_key(editor, &key), IK_EDITOR_DONE);
    expect("abxy|z");
    ck_assert(ik_editor_is_normal(editor));

    char *lines = talloc_zero_size(ctx, 201);
    memset(lines, '\n', 200);
    key = key_names_text(IK_KEY_PASTE, lines);
    ik_editor_key(editor, &key);
    type("0fzlxp0"); /* its label is one character */
    ck_assert_uint_eq(strlen(ik_editor_text(ctx, editor)), 5 + 200);
    type("f");
    press("Esc");
    type("$x");
    ck_assert_str_eq(ik_editor_text(ctx, editor), "abxyz");
}
END_TEST

/* The draft is replaced from outside: the cursor stands on its last character. */
START_TEST(texts_from_outside)
{
    begin("a|b");
    ik_editor_set_text(editor, "message");
    expect("messag|e");
    ik_editor_browse(editor, "older");
    expect("olde|r");
    ik_editor_browse(editor, NULL);
    expect("messag|e");
    ik_editor_set_text(editor, "");
    expect("|");
    ck_assert(ik_editor_is_normal(editor));
    ik_editor_begin_insert(editor);
    ck_assert(!ik_editor_is_normal(editor));
}
END_TEST

/* What x cuts is in the kill ring, which Ctrl-Y inserts. */
START_TEST(the_kill_ring_is_shared)
{
    begin("|one two");
    type("dwA");
    press("C-y");
    expect("twoone |");
    press("C-u Esc");
    type("p");
    expect("twoone| ");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("vi");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, every_command);
    tcase_add_test(tests, modes);
    tcase_add_test(tests, without_vi_nothing_changes);
    tcase_add_test(tests, up_and_down);
    tcase_add_test(tests, other_keys_in_normal_mode);
    tcase_add_test(tests, enter_after_a_backslash_in_normal_mode);
    tcase_add_test(tests, a_report_of_the_terminal_between_two_keys);
    tcase_add_test(tests, pastes);
    tcase_add_test(tests, texts_from_outside);
    tcase_add_test(tests, the_kill_ring_is_shared);
    Suite *suite = suite_create("editor_vi");
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
