/* What waits to be printed: its order, and that it is laid out for the width it is printed at. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "repl/repl_rows.h"
#include "suite.h"

enum { MAX_OPEN = 4 };

static const char *const prose = "An answer of several words that is wrapped where the window "
                                 "ends.\n\n- and\n- a list\n\nThe end.";

static void *ctx;
static ik_theme_t bare;
static ik_buffer_t given; /* rows, each with a '\n' behind it */
static ik_backlog_t *backlog;
static size_t waits;

static void on_row(void *data, const char *bytes, size_t len)
{
    (void)data;
    ik_buffer_append(&given, bytes, len);
    ik_buffer_append_byte(&given, '\n');
}

static void on_waiting(void *data)
{
    (void)data;
    waits++;
}

static int picture_state; /* 0: not known yet, 1: cannot be shown, 2: three rows, 3: the last of
                           * them is empty */

static bool on_picture(void *data, const char *png, size_t len, ik_backlog_picture_t *out)
{
    (void)data;
    ck_assert_uint_eq(len, 4);
    ck_assert_int_eq(memcmp(png, "P\0NG", 4), 0);
    if (picture_state >= 2) {
        out->row = ik_strdup(out->ctx, "(picture)");
        out->above = 2;
        out->ends_empty = picture_state == 3;
    }
    return picture_state > 0;
}

static void set_up(void)
{
    ctx = talloc_new(NULL);
    ik_theme_init(&bare, IK_BACKGROUND_DARK, false, false);
    ik_buffer_init(&given, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&given, "");
    ik_backlog_options_t options = {
        .theme = &bare, .on_row = on_row, .on_picture = on_picture, .on_waiting = on_waiting};
    backlog = ik_backlog_create(ctx, &options);
    waits = 0;
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void print(int columns)
{
    ck_assert(ik_backlog_print(backlog, columns, MAX_OPEN, SIZE_MAX));
}

static void expect(const char *rows)
{
    ck_assert_str_eq(given.data, rows);
    given.len = 0;
    given.data[0] = '\0';
}

static void feed(ik_backlog_answer_t *answer, const char *text)
{
    ik_backlog_feed_answer(answer, text, strlen(text));
}

START_TEST(a_picture_holds_up_what_follows)
{
    picture_state = 0;
    ik_backlog_add_row(backlog, "above", 5);
    ik_backlog_add_picture(backlog, "P\0NG", 4);
    ik_backlog_add_row(backlog, "below", 5);
    for (int i = 0; i < 2; i++) {
        ck_assert(!ik_backlog_print(backlog, 80, MAX_OPEN, SIZE_MAX));
        expect(i == 0 ? "above\n" : "");
    }
    picture_state = 2;
    print(80);
    expect("\n\n(picture)\nbelow\n");
    picture_state = 1;
    ik_backlog_add_picture(backlog, "P\0NG", 4);
    ik_backlog_add_gap(backlog);
    ik_backlog_add_row(backlog, "next", 4);
    print(80);
    expect("\nnext\n");
    for (picture_state = 2; picture_state <= 3; picture_state++) {
        ik_backlog_add_picture(backlog, "P\0NG", 4);
        ik_backlog_add_gap(backlog);
        ik_backlog_add_row(backlog, "next", 4);
        print(80);
        expect(picture_state == 2 ? "\n\n(picture)\n\nnext\n" : "\n\n(picture)\nnext\n");
    }
}
END_TEST

START_TEST(nothing_is_given_before_it_is_printed)
{
    ik_backlog_add_row(backlog, "a row", 5);
    ik_backlog_add_gap(backlog);
    ik_backlog_add_sentence(backlog, IK_ROLE_TEXT, "a sentence");
    ck_assert_uint_eq(waits, 3);
    expect("");
    print(80);
    expect("a row\n\na sentence\n");
    print(80);
    expect("");
}
END_TEST

START_TEST(blocks_of_one_row_are_a_list)
{
    ik_backlog_add_row(backlog, "text", 4);
    for (int i = 0; i < 4; i++) {
        ik_backlog_add_item_gap(backlog);
        ik_backlog_add_row(backlog, "item", 4);
        if (i == 1) {
            print(80); /* what is printed still counts */
        } else if (i == 2) {
            ik_backlog_add_sentence(backlog, IK_ROLE_TEXT, "between");
        }
    }
    ik_backlog_add_gap(backlog);
    ik_backlog_add_row(backlog, "text", 4);
    print(80);
    expect("text\n\nitem\nitem\nitem\nbetween\n\nitem\n\ntext\n");
}
END_TEST

START_TEST(a_gap_is_one_empty_row_and_none_at_the_top)
{
    ik_backlog_add_gap(backlog);
    ik_backlog_add_row(backlog, "a", 1);
    ik_backlog_add_gap(backlog);
    ik_backlog_add_gap(backlog);
    print(80);
    ck_assert(ik_backlog_ends_empty(backlog));
    ik_backlog_add_gap(backlog);
    ik_backlog_add_row(backlog, "b", 1);
    print(80);
    ck_assert(!ik_backlog_ends_empty(backlog));
    expect("a\n\nb\n");
}
END_TEST

START_TEST(a_sentence_is_wrapped_for_the_width_of_the_moment)
{
    ik_backlog_add_sentence(backlog, IK_ROLE_TEXT, "one two three four five");
    print(10);
    expect("one two\nthree\nfour five\n");
    ik_backlog_add_sentence(backlog, IK_ROLE_TEXT, "  one two three");
    print(12);
    expect("  one two\n  three\n");
    ik_backlog_add_sentence(backlog, IK_ROLE_TEXT, "  one  two three");
    print(80);
    expect("  one  two three\n");
    ik_backlog_add_sentence(backlog, IK_ROLE_TEXT, "");
    print(80);
    expect("\n");
    ik_backlog_add_sentence(backlog, IK_ROLE_TEXT, "ab");
    print(1);
    expect("a\nb\n");
}
END_TEST

START_TEST(an_answer_is_wrapped_for_the_width_of_the_moment)
{
    ik_backlog_answer_t *answer = ik_backlog_begin_answer(backlog, false);
    feed(answer, "one two three\n\n");
    print(80);
    feed(answer, "four five six\n\n");
    print(1);
    feed(answer, "seven eight nine");
    ik_backlog_end_answer(answer);
    ik_backlog_add_row(backlog, "after it", 8);
    print(12);
    expect("one two three\n\nf\no\nu\nr\nf\ni\nv\ne\ns\ni\nx\n\nseven eight\nnine\nafter it\n");
}
END_TEST

START_TEST(the_open_block_is_that_of_what_was_printed)
{
    ik_backlog_answer_t *answer = ik_backlog_begin_answer(backlog, false);
    feed(answer, "one two");
    print(80);
    feed(answer, " three");
    ik_backlog_draw_open(answer, on_row, NULL);
    expect("one two\n");
    print(80);
    ik_backlog_draw_open(answer, on_row, NULL);
    expect("one two three\n");
    ik_backlog_drop_answer(answer);
    print(80);
    expect("");
}
END_TEST

/* As if it were laid out at once. */
static char *lay_out(int columns, const char *text)
{
    ik_rows_t rows = {.theme = &bare, .columns = columns, .on_row = on_row};
    ik_repl_rows_answer(&rows, text);
    char *all = ik_strdup(ctx, given.data);
    given.len = 0;
    given.data[0] = '\0';
    return all;
}

START_TEST(pieces_of_text_and_of_printing_change_nothing)
{
    for (int columns = 1; columns < 90; columns += 4) {
        char *wanted = lay_out(columns, prose);
        for (size_t piece = 1; piece < 40; piece += 6) {
            ik_backlog_answer_t *answer = ik_backlog_begin_answer(backlog, true);
            for (size_t at = 0; at < strlen(prose); at += piece) {
                size_t left = strlen(prose) - at;
                ik_backlog_feed_answer(answer, prose + at, left < piece ? left : piece);
                if (at % 3 == 0) {
                    ik_backlog_print(backlog, columns, MAX_OPEN, 1);
                }
            }
            ik_backlog_end_answer(answer);
            while (!ik_backlog_print(backlog, columns, MAX_OPEN, 1)) {
            }
            expect(wanted);
        }
    }
}
END_TEST

START_TEST(much_is_printed_in_parts_and_takes_no_memory_afterwards)
{
    enum { ROWS = 100000 };
    char row[32];
    size_t parts = 1;
    size_t before = talloc_total_size(backlog);
    for (int i = 0; i < ROWS; i++) {
        int len = snprintf(row, sizeof(row), "row %d", i);
        ik_backlog_add_row(backlog, row, (size_t)len);
    }
    for (; !ik_backlog_print(backlog, 80, MAX_OPEN, 1000); parts++) {
        ik_backlog_add_row(backlog, "x", 1);
    }
    ck_assert_uint_gt(parts, 900);
    ck_assert_uint_lt(talloc_total_size(backlog), before + 300 * 1024);
    const char *at = given.data;
    for (int i = 0; i < ROWS; i++) {
        int len = snprintf(row, sizeof(row), "row %d\n", i);
        ck_assert_int_eq(strncmp(at, row, (size_t)len), 0);
        at += len;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("repl_backlog");
    TCase *all = tcase_create("backlog");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, nothing_is_given_before_it_is_printed);
    tcase_add_test(all, a_picture_holds_up_what_follows);
    tcase_add_test(all, a_gap_is_one_empty_row_and_none_at_the_top);
    tcase_add_test(all, blocks_of_one_row_are_a_list);
    tcase_add_test(all, a_sentence_is_wrapped_for_the_width_of_the_moment);
    tcase_add_test(all, an_answer_is_wrapped_for_the_width_of_the_moment);
    tcase_add_test(all, the_open_block_is_that_of_what_was_printed);
    tcase_add_test(all, pieces_of_text_and_of_printing_change_nothing);
    tcase_add_test(all, much_is_printed_in_parts_and_takes_no_memory_afterwards);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
