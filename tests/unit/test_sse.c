/* Each stream is fed whole, byte by byte and cut at every offset; the events must not differ. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "provider/sse.h"
#include "suite.h"

/* The events, each as "name|data" and a line feed after it; a line feed in the data is a slash. */
typedef struct {
    ik_buffer_t log;
    size_t events;
    size_t stop_at; /* the callback returns false at this event; 0: never */
} listener_t;

static void *ctx;

static void set_up(void)
{
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static bool on_event(void *user, const char *event, const char *data, size_t len)
{
    listener_t *listener = user;
    ck_assert_int_eq(data[len], '\0');
    ik_buffer_append_text(&listener->log, event);
    ik_buffer_append_byte(&listener->log, '|');
    for (size_t i = 0; i < len; i++) {
        ik_buffer_append_byte(&listener->log, data[i] == '\n' ? '/' : data[i]);
    }
    ik_buffer_append_byte(&listener->log, '\n');
    listener->events++;
    return listener->events != listener->stop_at;
}

static ik_sse_t *begin(listener_t *listener)
{
    *listener = (listener_t){.stop_at = listener->stop_at};
    ik_buffer_init(&listener->log, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append(&listener->log, "", 0);
    return ik_sse_create(ctx, on_event, listener);
}

/* Each piece is a separate allocation, so that a read beyond its end is detected. */
static bool feed(ik_sse_t *sse, const char *bytes, size_t len)
{
    char *piece = malloc(len == 0 ? 1 : len);
    memcpy(piece, bytes, len);
    bool more = ik_sse_feed(sse, piece, len);
    free(piece);
    return more;
}

static void expect(const listener_t *listener, const char *expected, size_t len, const char *how,
                   size_t place)
{
    if (listener->log.len != len || memcmp(listener->log.data, expected, len) != 0) {
        ck_abort_msg("%s %zu: got\n%swanted\n%s", how, place, listener->log.data, expected);
    }
}

static void check_cut(const char *stream, size_t len, const char *expected, size_t expected_len,
                      size_t cut)
{
    listener_t listener = {0};
    ik_sse_t *sse = begin(&listener);
    ck_assert(feed(sse, stream, cut));
    ck_assert(feed(sse, stream + cut, len - cut));
    ck_assert(ik_sse_finish(sse));
    expect(&listener, expected, expected_len, "cut at", cut);
    talloc_free(sse);
    ik_buffer_reset(&listener.log);
}

static void check_bytewise(const char *stream, size_t len, const char *expected,
                           size_t expected_len)
{
    listener_t listener = {0};
    ik_sse_t *sse = begin(&listener);
    for (size_t i = 0; i < len; i++) {
        ck_assert(feed(sse, stream + i, 1));
        ck_assert(feed(sse, "", 0));
    }
    ck_assert(ik_sse_finish(sse));
    expect(&listener, expected, expected_len, "byte by byte", len);
}

static void check(const char *stream, size_t len, const char *expected, size_t expected_len)
{
    for (size_t cut = 0; cut <= len; cut++) {
        check_cut(stream, len, expected, expected_len, cut);
    }
    check_bytewise(stream, len, expected, expected_len);
}

/* With the length, for the NUL bytes. */
#define ROW(stream, expected) stream, sizeof(stream) - 1, expected, sizeof(expected) - 1

static const struct {
    const char *stream;
    size_t len;
    const char *expected;
    size_t expected_len;
} rows[] = {
    {ROW("", "")},
    {ROW("\n\n\r\n\r\r", "")},
    {ROW("data: a\n\n", "|a\n")},
    {ROW("data: a\n\ndata: b\n\n", "|a\n|b\n")},
    {ROW("data:a\n\n", "|a\n")},
    {ROW("data:  a \n\n", "| a \n")},
    {ROW("data:\ta\n\n", "|\ta\n")},
    {ROW("data: a:b: c\n\n", "|a:b: c\n")},
    /* line ends */
    {ROW("data: a\r\n\r\ndata: b\r\n\r\n", "|a\n|b\n")},
    {ROW("data: a\r\rdata: b\r\r", "|a\n|b\n")},
    {ROW("data: a\r\n\ndata: b\n\r\n", "|a\n|b\n")},
    {ROW("data: a\r\n\rdata: b\r\r\n", "|a\n|b\n")},
    {ROW("data: a\n\rdata: b\n\r", "|a\n|b\n")},
    {ROW("data: a\rdata: b\ndata: c\r\n\n", "|a/b/c\n")},
    /* several data lines, and empty ones */
    {ROW("data: a\ndata: b\n\n", "|a/b\n")},
    {ROW("data\n\n", "|\n")},
    {ROW("data:\n\n", "|\n")},
    {ROW("data: \n\n", "|\n")},
    {ROW("data\ndata\n\n", "|/\n")},
    {ROW("data:\ndata: a\ndata\n\n", "|/a/\n")},
    /* a name belongs to one event, the last one is used, and without data there is no event */
    {ROW("event: x\ndata: a\n\ndata: b\n\n", "x|a\n|b\n")},
    {ROW("data: a\nevent: x\n\n", "x|a\n")},
    {ROW("event: x\nevent: yy\ndata: a\n\n", "yy|a\n")},
    {ROW("event: long\nevent: s\ndata: a\n\n", "s|a\n")},
    {ROW("event: x\nevent\ndata: a\n\n", "|a\n")},
    {ROW("event: x\n\ndata: b\n\n", "|b\n")},
    {ROW("event:x\ndata\n\n", "x|\n")},
    /* comments and other fields */
    {ROW(": ping\n\n:\n\ndata: a\n\n", "|a\n")},
    {ROW("data: a\n: ping\ndata: b\n\n", "|a/b\n")},
    {ROW("id: 7\nretry: 10\nfoo: bar\nfoo\ndata: a\n\n", "|a\n")},
    {ROW("Data: a\ndat: b\ndataa: c\n data: d\ndata : e\n\n", "")},
    {ROW("\xef\xbb\xbf: c\ndata: a\n\n", "|a\n")},
    /* one BOM at the beginning, and bytes that only begin like one */
    {ROW("\xef\xbb\xbf"
         "data: a\n\n",
         "|a\n")},
    {ROW("\xef\xbb\xbf\n"
         "data: a\n\n",
         "|a\n")},
    {ROW("\xef\xbb\xbf\xef\xbb\xbf"
         "data: a\n\n"
         "data: b\n\n",
         "|b\n")},
    {ROW("\n\xef\xbb\xbf"
         "data: a\n\n"
         "data: b\n\n",
         "|b\n")},
    {ROW("\xef\xbb"
         "data: a\n\n"
         "data: b\n\n",
         "|b\n")},
    {ROW("\xef"
         "data: a\n\n"
         "data: b\n\n",
         "|b\n")},
    {ROW("\xef\xbb\xbf", "")},
    {ROW("\xef\xbb", "")},
    {ROW("data: \xef\xbb\xbf\n\n", "|\xef\xbb\xbf\n")},
    /* any bytes */
    {ROW("data: a\0b\n\n", "|a\0b\n")},
    {ROW("\0data: a\n\ndata: \0\n\n", "|\0\n")},
    {ROW("data: \xff\xfe\n\n", "|\xff\xfe\n")},
    {ROW("data: \xe2\x82\xac\n\n", "|\xe2\x82\xac\n")},
    /* the end of the stream without the blank line, or even the end of the line */
    {ROW("data: a\n\ndata: b\n", "|a\n|b\n")},
    {ROW("data: a", "|a\n")},
    {ROW("data: a\r", "|a\n")},
    {ROW("event: x\r\ndata: a\r\n", "x|a\n")},
    {ROW("data: a\ndat", "|a\n")},
    {ROW("event: x\n", "")},
    {ROW("data: a\n\n: ping", "|a\n")},
    {ROW("event: x\ndata: {\"a\":1}\n\nevent: y\ndata: [DONE]\n\n", "x|{\"a\":1}\ny|[DONE]\n")},
};

START_TEST(events_do_not_depend_on_the_cuts)
{
    check(rows[_i].stream, rows[_i].len, rows[_i].expected, rows[_i].expected_len);
}
END_TEST

/* Several events, cut at every pair of offsets. */
START_TEST(three_pieces)
{
    static const char stream[] = "\xef\xbb\xbf"
                                 "event: x\r\ndata: a\r\ndata: b\r\n\r\n"
                                 ": ping\rdata: c\r\rdata: d\n\ndata: e";
    static const char expected[] = "x|a/b\n|c\n|d\n|e\n";
    size_t len = sizeof(stream) - 1;
    for (size_t first = 0; first <= len; first++) {
        for (size_t second = first; second <= len; second++) {
            listener_t listener = {0};
            ik_sse_t *sse = begin(&listener);
            ck_assert(feed(sse, stream, first));
            ck_assert(feed(sse, stream + first, second - first));
            ck_assert(feed(sse, stream + second, len - second));
            ck_assert(ik_sse_finish(sse));
            expect(&listener, expected, sizeof(expected) - 1, "cut at", first * 1000 + second);
            talloc_free(sse);
            ik_buffer_reset(&listener.log);
        }
    }
}
END_TEST

/* An event is dispatched at once, without waiting for a byte that it does not need. */
START_TEST(events_come_at_once)
{
    static const char *const streams[] = {"data: a\n\n", "data: a\r\n\r", "data: a\r\r"};
    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        listener_t listener = {0};
        ik_sse_t *sse = begin(&listener);
        ck_assert(feed(sse, streams[i], strlen(streams[i])));
        ck_assert_uint_eq(listener.events, 1);
    }
}
END_TEST

START_TEST(nothing_comes_after_a_no)
{
    listener_t listener = {.stop_at = 2};
    ik_sse_t *sse = begin(&listener);
    ck_assert(feed(sse, "data: a\n\n", 9));
    ck_assert(!feed(sse, "data: b\n\ndata: c\n\n", 18));
    ck_assert(!feed(sse, "data: d\n\n", 9));
    ck_assert(!feed(sse, "", 0));
    ck_assert(!ik_sse_finish(sse));
    expect(&listener, "|a\n|b\n", 6, "stopped at", 2);

    listener.stop_at = 1;
    sse = begin(&listener);
    ck_assert(feed(sse, "data: a", 7));
    ck_assert(!ik_sse_finish(sse));
    ck_assert_uint_eq(listener.events, 1);
}
END_TEST

START_TEST(finishing_twice_is_finishing_once)
{
    listener_t listener = {0};
    ik_sse_t *sse = begin(&listener);
    ck_assert(feed(sse, "data: a\n", 8));
    ck_assert(ik_sse_finish(sse));
    ck_assert(ik_sse_finish(sse));
    ck_assert_uint_eq(listener.events, 1);
}
END_TEST

/* A stream that breaks off inside of an event is resumed before that event. */
START_TEST(an_id_counts_from_the_end_of_its_event_on)
{
    static const struct {
        const char *stream;
        const char *id; /* NULL: none */
    } cases[] = {
        {"data: a\n\n", NULL},
        {"id: 1\n\n", "1"},
        {"id: 1\ndata:\n\n", "1"},
        {"id: 1\n", NULL},
        {"id: 1\ndata: a\n", NULL},
        {"id: 1\ndata: a\n\nid: 2\ndata: b", "1"},
        {"id: 1\ndata: a\n\nid: 2\ndata: b\n", "1"},
        {"id: 1\r\ndata: a\r\n\r\nid: 2", "1"},
        {"id: 1\ndata: a\n\nid: 2\rdata: b\r\r", "2"},
        {"id: 1\ndata: a\n\ndata: b\n\n", "1"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        listener_t listener = {0};
        ik_sse_t *sse = begin(&listener);
        for (const char *at = cases[i].stream; *at != '\0'; at++) {
            ck_assert(feed(sse, at, 1));
        }
        ck_assert(ik_sse_finish(sse));
        ck_assert_pstr_eq(ik_sse_last_id(sse), cases[i].id);
    }
}
END_TEST

static bool count_bytes(void *user, const char *event, const char *data, size_t len)
{
    (void)event;
    (void)data;
    *(size_t *)user += len;
    return true;
}

/* Feeds the bytes count times, in pieces of the given size; true when all were accepted. */
static bool feed_many(ik_sse_t *sse, const char *bytes, size_t count, size_t per_piece)
{
    size_t len = strlen(bytes);
    ik_buffer_t piece;
    ik_buffer_init(&piece, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < per_piece; i++) {
        ik_buffer_append(&piece, bytes, len);
    }
    bool more = true;
    for (size_t i = 0; i < count && more; i += per_piece) {
        more = ik_sse_feed(sse, piece.data, piece.len);
    }
    ik_buffer_reset(&piece);
    return more;
}

enum { MEBI = 1024 * 1024 };

/* One line as long as an event may be, in small pieces and large ones. */
START_TEST(a_large_event_is_accepted)
{
    static const size_t pieces[] = {1, 1000, 16 * MEBI};
    for (size_t i = 0; i < 3; i++) {
        size_t got = 0;
        ik_sse_t *sse = ik_sse_create(ctx, count_bytes, &got);
        ck_assert(feed(sse, "data: ", 6));
        ck_assert(feed_many(sse, "x", 16 * MEBI, pieces[i]));
        ck_assert(feed(sse, "\n\n", 2));
        ck_assert_uint_ge(got, 16 * MEBI);
        ck_assert_uint_le(got, 16 * MEBI + 1000);
        talloc_free(sse);
    }
}
END_TEST

/* The limit holds whatever makes the event large and wherever it is cut; the next stream works. */
START_TEST(an_event_over_the_maximum_is_refused)
{
    static const struct {
        const char *first;
        const char *bytes;
    } ways[] = {{"data: ", "x"},
                {"", "x"},
                {": ", "x"},
                {"event: ", "x"},
                {"", "data: 12345678901234567890\n"}};
    static const size_t pieces[] = {1000, IK_SSE_EVENT_MAX + 1};
    for (size_t i = 0; i < 10; i++) {
        size_t got = 0;
        const char *bytes = ways[i / 2].bytes;
        size_t len = strlen(bytes);
        ik_sse_t *sse = ik_sse_create(ctx, count_bytes, &got);
        feed(sse, ways[i / 2].first, strlen(ways[i / 2].first));
        ck_assert(feed_many(sse, bytes, IK_SSE_EVENT_MAX / 2 / len, 100));
        ck_assert(!feed_many(sse, bytes, IK_SSE_EVENT_MAX * 2 / len, pieces[i % 2] / len));
        ck_assert(!feed(sse, "\n\n", 2));
        ck_assert(!ik_sse_finish(sse));
        ck_assert_uint_eq(got, 0);
        talloc_free(sse);
    }
}
END_TEST

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Parsing takes linear time, in one piece and byte by byte: quadratic time would take minutes here
 * instead of milliseconds. */
START_TEST(time_is_linear)
{
    static const char *const lines[] = {"x",      "data: x\n\n", "data: x\r\r", "data: x\r\n\r\n",
                                        "data\r", ":\n"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        size_t got = 0;
        double begin_at = cpu_seconds();
        ik_sse_t *sse = ik_sse_create(ctx, count_bytes, &got);
        size_t count = 8 * MEBI / strlen(lines[i]);
        ck_assert(feed_many(sse, lines[i], count, count));
        talloc_free(sse);
        sse = ik_sse_create(ctx, count_bytes, &got);
        ck_assert(feed_many(sse, lines[i], count / 8, 1));
        talloc_free(sse);
        ck_assert_double_lt(cpu_seconds() - begin_at, 30);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sse");
    TCase *tests = tcase_create("sse");
    tcase_set_timeout(tests, 300);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, events_do_not_depend_on_the_cuts, 0,
                        (int)(sizeof(rows) / sizeof(rows[0])));
    tcase_add_test(tests, three_pieces);
    tcase_add_test(tests, events_come_at_once);
    tcase_add_test(tests, nothing_comes_after_a_no);
    tcase_add_test(tests, finishing_twice_is_finishing_once);
    tcase_add_test(tests, an_id_counts_from_the_end_of_its_event_on);
    tcase_add_test(tests, a_large_event_is_accepted);
    tcase_add_test(tests, an_event_over_the_maximum_is_refused);
    tcase_add_test(tests, time_is_linear);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
