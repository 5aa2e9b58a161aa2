/* The protocol of the host channel, with operations made for the test. */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "suite.h"
#include "tool/host_channel.h"

enum { MIB = 1024 * 1024, BIG = 2 * MIB };

static void *ctx;
static ik_loop_t *loop;
static ik_host_channel_t *channel;
static int tool;   /* the tool's end; -1: closed */
static int opened; /* +1 for each on_open(true), -1 for each on_open(false) */
static int ended;  /* requests of "wait" that were freed */
static ik_host_request_t *waiting[IK_HOST_OPEN_MAX + 1];
static size_t waiting_count;
static ik_buffer_t got; /* what the tool has read */

/* --- operations: "ask" echoes, "complete" waits --------------------------------------------- */

static void start_ask(void *data, ik_host_request_t *request)
{
    const char *text = NULL;
    const char *const *list = NULL;
    int64_t number = 7;
    ck_assert_ptr_eq(data, &loop);
    ck_assert_str_eq(request->caller->tool, "probe");
    ck_assert_str_eq(request->caller->call_id, "call-1");
    ck_assert_int_eq(request->caller->agent, 3);
    if (!ik_host_request_text(request, "question", true, &text) ||
        !ik_host_request_texts(request, "choices", 3, &list) ||
        !ik_host_request_number(request, "max_tokens", 1, 100, &number)) {
        return;
    }
    if (strcmp(text, "huge") == 0) {
        char *huge = talloc_array(ctx, char, BIG);
        memset(huge, ' ', BIG);
        huge[0] = '{';
        huge[BIG - 1] = '}';
        ik_host_request_succeed(request, huge, BIG);
        return;
    }
    ik_host_request_progress(request, "soon");
    char *result = ik_sprintf(ctx, "{\"answer\":\"%s\",\"first\":\"%s\",\"number\":%d}", text,
                              list == NULL || list[0] == NULL ? "" : list[0], (int)number);
    ik_host_request_succeed(request, result, strlen(result));
}

static int count_end(int *token)
{
    (void)token;
    ended++;
    return 0;
}

static void start_complete(void *data, ik_host_request_t *request)
{
    (void)data;
    int *token = ik_new(request, int);
    talloc_set_destructor(token, count_end);
    ck_assert_uint_lt(waiting_count, IK_HOST_OPEN_MAX);
    waiting[waiting_count++] = request;
}

static const ik_host_operation_t table[] = {{"ask", start_ask}, {"complete", start_complete}, {0}};
static const ik_host_operations_t operations = {.operations = table, .data = &loop};

static void on_open(void *data, bool open)
{
    (void)data;
    opened += open ? 1 : -1;
}

static void set_up(void)
{
    ctx = talloc_new(NULL);
    ck_assert_int_eq(ik_loop_create(ctx, &loop).code, IK_ERR_NONE);
    opened = ended = 0;
    waiting_count = 0;
    ik_buffer_init(&got, ctx, IK_BUFFER_UNLIMITED);
    ik_host_channel_options_t options = {.loop = loop,
                                         .operations = &operations,
                                         .declared = IK_HOST_ASK | IK_HOST_COMPLETE,
                                         .caller = {3, "probe", "call-1"},
                                         .on_open = on_open};
    res_t created = ik_host_channel_create(ctx, &options, &tool, &channel);
    ck_assert(is_ok(&created));
    fcntl(tool, F_SETFL, O_NONBLOCK);
}

static void tear_down(void)
{
    talloc_free(channel);
    if (tool >= 0) {
        close(tool);
    }
    talloc_free(loop);
    talloc_free(ctx);
}

/* --- the tool's side ------------------------------------------------------------------------ */

static void on_tick(void *data)
{
    *(bool *)data = true;
}

/* Lets the channel do what it can do now. */
static void turn(void)
{
    for (int i = 0; i < 3; i++) {
        bool done = false;
        ik_timer_t *timer = ik_timer_create(ctx, loop, on_tick, &done);
        ik_timer_start(timer, 1);
        ck_assert(ik_loop_run_until(loop, &done));
        talloc_free(timer);
    }
}

static void read_all(void)
{
    ssize_t n = 1;
    while (n > 0) {
        size_t room = ik_buffer_reserve(&got, 65536);
        n = recv(tool, got.data + got.len, room, 0);
        got.len += n > 0 ? (size_t)n : 0;
        got.data[got.len] = '\0';
    }
}

/* Writes all of it, while the channel reads. */
static void put(const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(tool, bytes, len, MSG_NOSIGNAL);
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
        turn();
        read_all();
    }
}

/* Sends a line and returns what the tool got since the last call. */
static const char *say(const char *line)
{
    got.len = 0;
    put(line, strlen(line));
    put("\n", 1);
    turn();
    read_all();
    return got.data;
}

#define ASSERT_SAYS(line, code, id) assert_says(line, code, id, __LINE__)
static void assert_says(const char *line, const char *code, const char *id, int at)
{
    char *begin = ik_sprintf(ctx, "{\"id\":%s,\"error\":\"", id);
    char *end = ik_sprintf(ctx, "\",\"error_code\":\"%s\"}\n", code);
    const char *answer = say(line);
    ck_assert_msg(strncmp(answer, begin, strlen(begin)) == 0 && strlen(answer) > strlen(end) &&
                      strcmp(answer + strlen(answer) - strlen(end), end) == 0,
                  "line %d: %s", at, answer);
}

START_TEST(a_request_is_answered_with_its_id)
{
    static const struct {
        const char *request;
        const char *answer;
    } cases[] = {
        {"{\"id\":1,\"op\":\"ask\",\"question\":\"q\"}",
         "{\"id\":1,\"progress\":{\"text\":\"soon\"}}\n"
         "{\"id\":1,\"result\":{\"answer\":\"q\",\"first\":\"\",\"number\":7}}\n"},
        {" { \"op\" : \"ask\", \"id\" : \"a\\\"b\", \"question\" : \"q\", \"choices\": "
         "[\"x\",\"y\"],"
         " \"max_tokens\": 100, \"other\": {} } ",
         "{\"id\":\"a\\\"b\",\"progress\":{\"text\":\"soon\"}}\n"
         "{\"id\":\"a\\\"b\",\"result\":{\"answer\":\"q\",\"first\":\"x\",\"number\":100}}\n"},
        {"{\"id\":-12345678901234567890,\"op\":\"ask\",\"question\":\"q\",\"choices\":null}\r",
         "{\"id\":-12345678901234567890,\"progress\":{\"text\":\"soon\"}}\n"
         "{\"id\":-12345678901234567890,\"result\":{\"answer\":\"q\",\"first\":\"\",\"number\":7}}"
         "\n"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ck_assert_str_eq(say(cases[i].request), cases[i].answer);
        ck_assert_int_eq(opened, 0);
    }
}
END_TEST

START_TEST(bad_lines_are_answered_and_close_nothing)
{
    ASSERT_SAYS("nonsense", "INVALID_REQUEST", "null");
    ASSERT_SAYS("[1]", "INVALID_REQUEST", "null");
    ASSERT_SAYS("{\"id\":1,\"op\":\"ask\"", "INVALID_REQUEST", "null");
    ASSERT_SAYS("{\"id\":1,\"op\":\"\xff\"}", "INVALID_REQUEST", "null");
    ASSERT_SAYS("{\"op\":\"ask\",\"question\":\"q\"}", "INVALID_REQUEST", "null");
    ASSERT_SAYS("{\"id\":1.0,\"op\":\"ask\"}", "INVALID_REQUEST", "null");
    ASSERT_SAYS("{\"id\":1e3,\"op\":\"ask\"}", "INVALID_REQUEST", "null");
    ASSERT_SAYS("{\"id\":null,\"op\":\"ask\"}", "INVALID_REQUEST", "null");
    ASSERT_SAYS("{\"id\":true,\"op\":\"ask\"}", "INVALID_REQUEST", "null");
    ASSERT_SAYS("{\"id\":{},\"op\":\"cancel\"}", "INVALID_REQUEST", "null");
    ASSERT_SAYS("{\"op\":\"cancel\"}", "INVALID_REQUEST", "null");
    ASSERT_SAYS("{\"id\":1}", "INVALID_REQUEST", "1");
    ASSERT_SAYS("{\"id\":1,\"op\":7}", "INVALID_REQUEST", "1");
    ASSERT_SAYS("{\"id\":1,\"op\":\"ask\\u0000\"}", "INVALID_REQUEST", "1");
    ASSERT_SAYS("{\"id\":1,\"op\":\"dance\"}", "UNKNOWN_OP", "1");
    ASSERT_SAYS("{\"id\":1,\"op\":\"\"}", "UNKNOWN_OP", "1");
    ASSERT_SAYS("{\"id\":1,\"op\":\"agent\",\"prompt\":\"p\"}", "NOT_DECLARED", "1");
    ASSERT_SAYS("{\"id\":1,\"op\":\"ask\"}", "INVALID_REQUEST", "1");
    ASSERT_SAYS("{\"id\":1,\"op\":\"ask\",\"question\":\"\"}", "INVALID_REQUEST", "1");
    ASSERT_SAYS("{\"id\":1,\"op\":\"ask\",\"question\":[\"q\"]}", "INVALID_REQUEST", "1");
    ASSERT_SAYS("{\"id\":1,\"op\":\"ask\",\"question\":\"a\\u0000b\"}", "INVALID_REQUEST", "1");
    ASSERT_SAYS("{\"id\":1,\"op\":\"ask\",\"question\":\"q\",\"choices\":\"x\"}", "INVALID_REQUEST",
                "1");
    ASSERT_SAYS("{\"id\":1,\"op\":\"ask\",\"question\":\"q\",\"choices\":[\"x\",\"\"]}",
                "INVALID_REQUEST", "1");
    ASSERT_SAYS(
        "{\"id\":1,\"op\":\"ask\",\"question\":\"q\",\"choices\":[\"a\",\"b\",\"c\",\"d\"]}",
        "INVALID_REQUEST", "1");
    ASSERT_SAYS("{\"id\":1,\"op\":\"ask\",\"question\":\"q\",\"max_tokens\":0}", "INVALID_REQUEST",
                "1");
    ASSERT_SAYS("{\"id\":1,\"op\":\"ask\",\"question\":\"q\",\"max_tokens\":1.5}",
                "INVALID_REQUEST", "1");
    ASSERT_SAYS("{\"id\":1,\"op\":\"ask\",\"question\":\"huge\"}", "TOO_LARGE", "1");
    char *id = talloc_array(ctx, char, 400);
    memset(id, 'x', 300);
    id[300] = '\0';
    ASSERT_SAYS(ik_sprintf(ctx, "{\"id\":\"%s\",\"op\":\"ask\",\"question\":\"q\"}", id),
                "INVALID_REQUEST", "null");
    ck_assert_ptr_nonnull(
        strstr(say("{\"id\":2,\"op\":\"ask\",\"question\":\"q\"}"), "\"result\""));
    ck_assert_int_eq(opened, 0);
}
END_TEST

START_TEST(requests_are_open_until_they_are_answered_in_any_order)
{
    say("{\"id\":1,\"op\":\"complete\"}");
    say("{\"id\":\"1\",\"op\":\"complete\"}");
    ck_assert_int_eq(opened, 1);
    ASSERT_SAYS("{\"id\":1,\"op\":\"complete\"}", "INVALID_REQUEST", "1");
    ASSERT_SAYS("{\"id\":\"\\u0031\",\"op\":\"ask\",\"question\":\"q\"}", "INVALID_REQUEST",
                "\"\\u0031\"");
    got.len = 0;
    ik_host_request_fail(waiting[1], "MODEL_ERROR", "no %s", "luck");
    ck_assert_int_eq(opened, 1);
    ik_host_request_succeed(waiting[0], "{}", 2);
    ck_assert_int_eq(opened, 0);
    read_all();
    ck_assert_str_eq(got.data,
                     "{\"id\":\"1\",\"error\":\"no luck\",\"error_code\":\"MODEL_ERROR\"}\n"
                     "{\"id\":1,\"result\":{}}\n");
    ck_assert_int_eq(ended, 2);
}
END_TEST

START_TEST(a_request_can_be_cancelled)
{
    say("{\"id\":1,\"op\":\"complete\"}");
    ASSERT_SAYS("{\"op\":\"cancel\",\"id\":1}", "CANCELLED", "1");
    ck_assert_int_eq(ended, 1);
    ck_assert_int_eq(opened, 0);
    ck_assert_str_eq(say("{\"op\":\"cancel\",\"id\":1}"), ""); /* it was answered before */
    say("{\"id\":1,\"op\":\"complete\"}");                     /* its id is free again */
    ck_assert_int_eq(opened, 1);
}
END_TEST

START_TEST(sixteen_requests_can_be_open)
{
    for (int i = 0; i < IK_HOST_OPEN_MAX; i++) {
        ck_assert_str_eq(say(ik_sprintf(ctx, "{\"id\":%d,\"op\":\"complete\"}", i)), "");
    }
    ASSERT_SAYS("{\"id\":16,\"op\":\"complete\"}", "LIMIT", "16");
    ASSERT_SAYS("{\"id\":17,\"op\":\"ask\",\"question\":\"q\"}", "LIMIT", "17");
    ASSERT_SAYS("{\"id\":5,\"op\":\"cancel\"}", "CANCELLED", "5");
    ck_assert_ptr_nonnull(
        strstr(say("{\"id\":17,\"op\":\"ask\",\"question\":\"q\"}"), "\"result\""));
}
END_TEST

START_TEST(a_line_has_at_most_a_mebibyte)
{
    static char line[2 * MIB];
    int fixed =
        snprintf(line, sizeof(line), "{\"id\":1,\"op\":\"ask\",\"question\":\"q\",\"x\":\"");
    memset(line + fixed, 'x', sizeof(line) - (size_t)fixed);
    line[MIB - 2] = '"';
    line[MIB - 1] = '}';
    line[MIB] = '\0';
    ck_assert_ptr_nonnull(strstr(say(line), "\"result\""));
    line[MIB - 2] = 'x';
    line[MIB - 1] = '"';
    line[MIB] = '}';
    line[MIB + 1] = '\0';
    ASSERT_SAYS(line, "TOO_LARGE", "null");
    memset(line + fixed, 'x', sizeof(line) - (size_t)fixed);
    line[sizeof(line) - 1] = '\0';
    ASSERT_SAYS(line, "TOO_LARGE", "null"); /* once, however long it is */
    got.len = 0;
    put(line, sizeof(line) - 1); /* answered before the line ends */
    ck_assert_ptr_nonnull(strstr(got.data, "TOO_LARGE"));
    got.len = 0;
    put(line, sizeof(line) - 1);
    ck_assert_uint_eq(got.len, 0);
    ck_assert_str_eq(say(""), "");
    ck_assert_ptr_nonnull(
        strstr(say("{\"id\":2,\"op\":\"ask\",\"question\":\"q\"}"), "\"result\""));
}
END_TEST

START_TEST(a_line_may_come_in_pieces)
{
    const char *line =
        "{\"id\":1,\"op\":\"ask\",\"question\":\"q\"}\n{\"id\":2,\"op\":\"dance\"}\n";
    got.len = 0;
    for (const char *at = line; *at != '\0'; at++) {
        ck_assert_int_eq(send(tool, at, 1, 0), 1);
        turn();
    }
    read_all();
    ck_assert_ptr_nonnull(strstr(got.data, "{\"id\":1,\"result\":"));
    ck_assert_ptr_nonnull(strstr(got.data, "{\"id\":2,\"error\":"));
}
END_TEST

START_TEST(nothing_is_read_while_the_tool_does_not_read)
{
    static const char line[] = "?\n";
    size_t sent = 0;
    for (int idle = 0; idle < 50;) {
        ssize_t n = send(tool, line, sizeof(line) - 1, MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
        if (n < 0) {
            turn();
            idle++;
        } else {
            idle = 0;
        }
        ck_assert_uint_lt(sent, 4 * MIB);
    }
    /* what waits for the tool is bounded */
    ck_assert_uint_lt(talloc_total_size(channel), 4 * MIB);
    size_t answered = 0;
    for (int idle = 0; idle < 50;) {
        got.len = 0;
        read_all();
        for (size_t i = 0; i < got.len; i++) {
            answered += got.data[i] == '\n';
        }
        idle = got.len == 0 ? idle + 1 : 0;
        turn();
    }
    ck_assert_uint_eq(answered, sent / (sizeof(line) - 1));
    ck_assert_ptr_nonnull(
        strstr(say("{\"id\":2,\"op\":\"ask\",\"question\":\"q\"}"), "\"result\""));
}
END_TEST

START_TEST(progress_is_left_out_while_the_tool_does_not_read)
{
    char *text = talloc_array(ctx, char, 4096);
    memset(text, 'x', 4095);
    text[4095] = '\0';
    say("{\"id\":1,\"op\":\"complete\"}");
    for (int i = 0; i < 10000; i++) {
        ik_host_request_progress(waiting[0], text);
    }
    ck_assert_uint_lt(talloc_total_size(channel), 4 * MIB);
    ik_host_request_succeed(waiting[0], "{}", 2);
    got.len = 0;
    for (int i = 0; i < 100 && (got.len == 0 || strstr(got.data, "\"result\"") == NULL); i++) {
        turn();
        read_all();
    }
    ck_assert_ptr_nonnull(strstr(got.data, "\n{\"id\":1,\"result\":{}}\n"));
}
END_TEST

START_TEST(a_tool_that_closes_its_end_has_no_open_requests)
{
    say("{\"id\":1,\"op\":\"complete\"}");
    close(tool);
    tool = -1;
    turn();
    ck_assert_int_eq(ended, 1);
    ck_assert_int_eq(opened, 0);
}
END_TEST

START_TEST(a_tool_may_end_its_requests_and_wait_for_answers)
{
    got.len = 0;
    ck_assert_int_gt(send(tool, "{\"id\":1,\"op\":\"complete\"}", 24, 0), 0); /* no newline */
    shutdown(tool, SHUT_WR);
    turn();
    ck_assert_int_eq(opened, 1);
    ik_host_request_succeed(waiting[0], "{}", 2);
    read_all();
    ck_assert_str_eq(got.data, "{\"id\":1,\"result\":{}}\n");
    ck_assert_int_eq(recv(tool, (char[1]){0}, 1, 0), 0); /* it is told that this was all */
}
END_TEST

START_TEST(the_end_of_the_call_cancels_what_is_open)
{
    say("{\"id\":1,\"op\":\"complete\"}");
    say("{\"id\":2,\"op\":\"complete\"}");
    TALLOC_FREE(channel);
    ck_assert_int_eq(ended, 2);
    ck_assert_int_eq(recv(tool, (char[1]){0}, 1, 0), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_channel");
    TCase *cases = tcase_create("host_channel");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, a_request_is_answered_with_its_id);
    tcase_add_test(cases, bad_lines_are_answered_and_close_nothing);
    tcase_add_test(cases, requests_are_open_until_they_are_answered_in_any_order);
    tcase_add_test(cases, a_request_can_be_cancelled);
    tcase_add_test(cases, sixteen_requests_can_be_open);
    tcase_add_test(cases, a_line_has_at_most_a_mebibyte);
    tcase_add_test(cases, a_line_may_come_in_pieces);
    tcase_add_test(cases, nothing_is_read_while_the_tool_does_not_read);
    tcase_add_test(cases, progress_is_left_out_while_the_tool_does_not_read);
    tcase_add_test(cases, a_tool_that_closes_its_end_has_no_open_requests);
    tcase_add_test(cases, a_tool_may_end_its_requests_and_wait_for_answers);
    tcase_add_test(cases, the_end_of_the_call_cancels_what_is_open);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
