/* What frames cost, how many there are, and what is in them, byte by byte. What terminals make of
 * them is tested in tests/e2e/test_screen.py. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "suite.h"
#include "terminal/screen.h"

enum { COLUMNS = 80, ROWS = 24, BUDGET = 64, PIECE = 64 * 1024 };

static void *ctx;
static ik_screen_t *screen;
static ik_buffer_t last; /* frame */
static size_t frames;
static size_t bytes;
static size_t largest;
static bool drained;

static void on_write(void *data, const char *frame, size_t len)
{
    (void)data;
    last.len = 0;
    ik_buffer_append(&last, frame, len);
    frames++;
    bytes += len;
    largest = len > largest ? len : largest;
}

static bool is_drained(void *data)
{
    (void)data;
    return drained;
}

static void open_screen(bool plain)
{
    ik_screen_options_t options = {on_write, is_drained, NULL, plain};
    talloc_free(screen);
    screen = ik_screen_create(ctx, &options, COLUMNS, ROWS);
    frames = bytes = largest = 0;
    drained = true;
}

static void set_up(void)
{
    ctx = talloc_new(NULL);
    screen = NULL;
    ik_buffer_init(&last, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&last, "");
    open_screen(false);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void commit(const char *text)
{
    ik_screen_commit(screen, text, strlen(text));
}

/* The last row is the draft, with the cursor at its end. */
static void live(const char *const *rows, size_t count)
{
    ik_screen_begin_live(screen);
    for (size_t i = 0; i < count; i++) {
        ik_screen_add_live(screen, rows[i], strlen(rows[i]));
    }
    ik_screen_place_cursor(screen, (int)count - 1, (int)strlen(rows[count - 1]));
}

#define LIVE(...)                                                                                  \
    live((const char *const[]){__VA_ARGS__},                                                       \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void expect_frame(const char *frame)
{
    last.len = 0;
    last.data[0] = '\0';
    ck_assert(ik_screen_flush(screen));
    ck_assert_str_eq(last.data, frame);
}

/* ---- frames */

START_TEST(an_append_is_little_more_than_its_bytes)
{
    LIVE("The answer", "status", "> ");
    expect_frame("\033[?25lThe answer\r\nstatus\r\n> \033[?25h");
    LIVE("The answer is", "status", "> ");
    expect_frame("\033[2A\033[8C is\033[2B\033[11D");
    LIVE("The answer is", "status", "> x");
    expect_frame("x");
}
END_TEST

START_TEST(only_the_cells_of_a_spinner_are_written)
{
    LIVE("\033[2m| working, esc to interrupt\033[m", "> ");
    ik_screen_flush(screen);
    LIVE("\033[2m/ working, esc to interrupt\033[m", "> ");
    expect_frame("\033[A\r\033[2m/\033[m\033[B\033[C");
}
END_TEST

START_TEST(the_cursor_alone_moves)
{
    LIVE("> one", "two");
    ik_screen_flush(screen);
    ik_screen_place_cursor(screen, 0, 3);
    expect_frame("\033[A");
    ik_screen_place_cursor(screen, 0, 5);
    expect_frame("\033[2C");
}
END_TEST

/* A row below the cursor may be wrapped, so it is not passed but printed again. */
START_TEST(the_cursor_goes_down_by_printing)
{
    LIVE("first", "> one", "two");
    ik_screen_place_cursor(screen, 1, 0);
    ik_screen_flush(screen);
    ik_screen_place_cursor(screen, 2, 0);
    expect_frame("\033[?25l\033[J> one\r\ntwo\r\033[?25h");
}
END_TEST

/* A row that was changed in place may differ on a terminal of another width, so it is printed again
 * when it is finished; one that was printed stays. */
START_TEST(a_finished_row_was_printed_whole)
{
    LIVE("one", "> ");
    ik_screen_flush(screen);
    LIVE("one two", "> ");
    ik_screen_flush(screen);
    LIVE("one two", "three", "> ");
    expect_frame("\033[?25l\033[A\r\033[K\033[C\033[J\rone two\r\nthree\r\n> \033[?25h");
    commit("one two");
    LIVE("three", "> ");
    expect_frame("");
    LIVE("three four", "> ");
    ik_screen_flush(screen);
    commit("three four");
    LIVE("> ");
    expect_frame("\033[?25l\033[A\r\033[K\033[C\033[J\rthree four\r\n> \033[?25h");
}
END_TEST

START_TEST(nothing_changed_nothing_written)
{
    ck_assert(ik_screen_flush(screen));
    LIVE("status", "> ");
    ck_assert(ik_screen_flush(screen));
    ck_assert_uint_eq(frames, 1);
    LIVE("status", "> ");
    ck_assert(ik_screen_flush(screen));
    ck_assert(ik_screen_flush(screen));
    ck_assert_uint_eq(frames, 1);
}
END_TEST

START_TEST(one_frame_is_one_write)
{
    LIVE("status", "> ");
    ik_screen_send(screen, "\a", 1);
    commit("one");
    commit("two");
    ck_assert(ik_screen_flush(screen));
    ck_assert_uint_eq(frames, 1);
    ck_assert_str_eq(last.data, "\a\033[?25lone\r\ntwo\r\nstatus\r\n> \033[?25h");
}
END_TEST

START_TEST(the_cursor_is_hidden_and_shown_once)
{
    LIVE("> ");
    ik_screen_flush(screen);
    ik_screen_place_cursor(screen, -1, 0);
    expect_frame("\033[?25l");
    LIVE("> a");
    ik_screen_place_cursor(screen, -1, 0);
    expect_frame("a");
    LIVE("> ab");
    expect_frame("b\033[?25h");
}
END_TEST

START_TEST(a_window_of_another_size_is_drawn_anew)
{
    LIVE("status", "> draft");
    ik_screen_flush(screen);
    ik_screen_resize(screen, 40, 10);
    ck_assert_int_eq(ik_screen_columns(screen), 40);
    ck_assert_int_eq(ik_screen_rows(screen), 10);
    ck_assert_int_eq(ik_screen_live_max(screen), 5);
    expect_frame("\033[?25l\033[A\r\033[K\033[C\033[J\rstatus\r\n> draft\033[?25h");
}
END_TEST

START_TEST(a_terminal_that_reflows_has_wrapped_the_live_rows)
{
    LIVE("a row of forty characters, more or less:", "> ");
    ik_screen_flush(screen);
    ik_screen_resize(screen, 15, 10);
    LIVE("short", "> ");
    ik_screen_flush(screen);
    ck_assert_ptr_nonnull(strstr(last.data, "\033[?25l\033[A\r"));
    LIVE("fourteen wide:", "> ");
    ik_screen_flush(screen);
    ik_screen_set_reflow(screen, IK_SCREEN_REFLOW);
    ik_screen_resize(screen, 5, 10);
    LIVE("a", "> ");
    ik_screen_flush(screen);
    ck_assert_ptr_nonnull(strstr(last.data, "\033[?25l\033[3A\r"));
}
END_TEST

/* Wrapped where the window is narrower than we know, it would be joined with the row below. */
START_TEST(a_change_above_the_cursor_is_cut_at_the_edge)
{
    ik_screen_set_reflow(screen, IK_SCREEN_REFLOW);
    LIVE("The answer", "> ", "status");
    ik_screen_place_cursor(screen, 1, 2);
    ik_screen_flush(screen);
    LIVE("The answer is", "> ", "status");
    ik_screen_place_cursor(screen, 1, 2);
    expect_frame("\033[?7l\033[A\033[8C is\033[?7h\033[B\033[11D");
    LIVE("The answer is", "> x", "status!");
    ik_screen_place_cursor(screen, 1, 3);
    ik_screen_flush(screen);
    ck_assert_ptr_null(strstr(last.data, "\033[?7"));
}
END_TEST

/* tmux goes back over wrapped rows only, whatever its width is. */
START_TEST(wrapped_rows_are_found_by_backspaces)
{
    ik_screen_set_reflow(screen, IK_SCREEN_REFLOW_TRACEABLE);
    LIVE("a row of forty characters, more or less:", "> ");
    ik_screen_flush(screen);
    ik_screen_resize(screen, 60, 10);
    LIVE("short", "> ");
    expect_frame("\033[?25l\r\033[A\b\r\b\r\033[K\033[C\033[J\rshort\r\n> \033[?25h");
    ik_screen_hold(screen);
    ik_screen_resize(screen, 59, 10);
    expect_frame("\033[?25l\r\033[A\033[K\033[C\033[J\rshort\r\n> \033[?25h");
}
END_TEST

START_TEST(a_narrow_window_cuts_what_was_wanted_before)
{
    LIVE("a row of forty characters, more or less:", "> a long draft");
    ik_screen_resize(screen, 10, 10);
    expect_frame("\033[?25l\r\033[K\033[C\033[J\ra row of…\r\n> a long…\r\033[9C\033[?25h");
}
END_TEST

START_TEST(the_live_area_has_half_the_screen)
{
    static const int heights[][2] = {{24, 12}, {25, 12}, {3, 1}, {2, 1}, {1, 1}};
    for (size_t i = 0; i < sizeof(heights) / sizeof(heights[0]); i++) {
        ik_screen_resize(screen, 80, heights[i][0]);
        ck_assert_int_eq(ik_screen_live_max(screen), heights[i][1]);
    }
}
END_TEST

/* ---- a terminal that is slow, or not there */

START_TEST(a_slow_terminal_gets_fewer_frames)
{
    LIVE("> ");
    ik_screen_flush(screen);
    drained = false;
    LIVE("> a");
    ck_assert(!ik_screen_flush(screen));
    commit("one");
    LIVE("> ab");
    ck_assert(!ik_screen_flush(screen));
    ck_assert_uint_eq(frames, 1);
    ck_assert_uint_eq(ik_screen_waiting(screen), 4);
    drained = true;
    expect_frame("\033[?25l\r\033[K\033[C\033[J\rone\r\n> ab\033[?25h");
    ck_assert_uint_eq(ik_screen_waiting(screen), 0);
}
END_TEST

START_TEST(much_comes_in_pieces)
{
    char row[100];
    size_t rows = 0;
    LIVE("> ");
    for (; ik_screen_waiting(screen) < 5 * PIECE; rows++) {
        snprintf(row, sizeof(row), "row %zu", rows);
        commit(row);
    }
    while (!ik_screen_flush(screen)) {
        ck_assert_uint_lt(frames, 100);
    }
    ck_assert_uint_ge(frames, 5);
    ck_assert_uint_lt(largest, PIECE * 5 / 4);
    ck_assert_uint_gt(bytes, 5 * PIECE + rows);
}
END_TEST

START_TEST(plain_output_is_rows_and_nothing_else)
{
    open_screen(true);
    LIVE("status", "> ");
    ck_assert(ik_screen_flush(screen));
    ik_screen_send(screen, "\a", 1);
    ik_screen_resize(screen, 20, 10);
    ck_assert(ik_screen_flush(screen));
    ck_assert_uint_eq(frames, 0);
    commit("\033[1mone\033[m");
    commit("two");
    expect_frame("\033[1mone\033[m\ntwo\n");
    ik_screen_pause(screen);
    commit("three");
    expect_frame("");
    ik_screen_resume(screen);
    expect_frame("three\n");
}
END_TEST

/* ---- what a stream costs */

/* An answer of ordinary words, wrapped to the width. The live area: its last rows, a status that
 * changes now and then, the draft. Rows leave it at the top as it grows, all at the end of a
 * paragraph. */
typedef struct {
    char rows[16][COLUMNS + 1];
    size_t count;
    size_t most; /* rows of the answer in the live area */
    size_t tokens;
} stream_t;

static void commit_first(stream_t *stream)
{
    commit(stream->rows[0]);
    stream->count--;
    memmove(stream->rows[0], stream->rows[1], sizeof(stream->rows[0]) * stream->count);
}

static void add_token(stream_t *stream, const char *token)
{
    char *row = stream->rows[stream->count - 1];
    if (strlen(row) + strlen(token) > COLUMNS - 1) {
        token += *token == ' ';
        row = stream->rows[stream->count++];
        row[0] = '\0';
    }
    memcpy(row + strlen(row), token, strlen(token) + 1);
    while (stream->count > stream->most) {
        commit_first(stream);
    }
}

static void show(stream_t *stream)
{
    char status[80];
    const char *rows[20];
    size_t count = 0;
    snprintf(status, sizeof(status), "\033[2mmodel-name - 12%% of context - %zu tokens\033[m",
             stream->tokens / 50 * 50);
    for (; count < stream->count; count++) {
        rows[count] = stream->rows[count];
    }
    rows[count++] = status;
    rows[count++] = "> the next question";
    live(rows, count);
    ck_assert(ik_screen_flush(screen));
}

static void end_paragraph(stream_t *stream)
{
    while (stream->count > 0) {
        commit_first(stream);
    }
    commit("");
    stream->rows[0][0] = '\0';
    stream->count = 1;
}

START_TEST(a_token_costs_at_most_64_bytes)
{
    static const char *const words[] = {" the",   " answer", " is", " not", " in",   " any", " of",
                                        " those", " places", ",",   " but", " here", "."};
    static const size_t heights[] = {1, 3,
                                     9}; /* rows of the paragraph that stay in the live area */
    for (size_t i = 0; i < sizeof(heights) / sizeof(heights[0]); i++) {
        stream_t stream = {.count = 1, .most = heights[i]};
        open_screen(false);
        for (; stream.tokens < 5000; stream.tokens++) {
            add_token(&stream, words[stream.tokens * 7 % 13]);
            if (stream.tokens % 150 == 149) {
                end_paragraph(&stream);
            }
            show(&stream);
        }
        size_t each = bytes / stream.tokens;
        ck_assert_msg(each <= BUDGET, "%zu bytes per token with %zu rows", each, heights[i]);
        ck_assert_uint_gt(bytes, 5000);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("screen");
    TCase *all = tcase_create("screen");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, an_append_is_little_more_than_its_bytes);
    tcase_add_test(all, only_the_cells_of_a_spinner_are_written);
    tcase_add_test(all, the_cursor_alone_moves);
    tcase_add_test(all, the_cursor_goes_down_by_printing);
    tcase_add_test(all, a_finished_row_was_printed_whole);
    tcase_add_test(all, nothing_changed_nothing_written);
    tcase_add_test(all, one_frame_is_one_write);
    tcase_add_test(all, the_cursor_is_hidden_and_shown_once);
    tcase_add_test(all, a_window_of_another_size_is_drawn_anew);
    tcase_add_test(all, a_terminal_that_reflows_has_wrapped_the_live_rows);
    tcase_add_test(all, a_change_above_the_cursor_is_cut_at_the_edge);
    tcase_add_test(all, wrapped_rows_are_found_by_backspaces);
    tcase_add_test(all, a_narrow_window_cuts_what_was_wanted_before);
    tcase_add_test(all, the_live_area_has_half_the_screen);
    tcase_add_test(all, a_slow_terminal_gets_fewer_frames);
    tcase_add_test(all, much_comes_in_pieces);
    tcase_add_test(all, plain_output_is_rows_and_nothing_else);
    tcase_add_test(all, a_token_costs_at_most_64_bytes);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
