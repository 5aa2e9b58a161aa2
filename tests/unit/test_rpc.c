/* JSON-RPC between two peers. Every conversation is fed whole, byte by byte and cut at every
 * offset; the log of what came out must not differ. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "rpc/rpc.h"
#include "suite.h"

enum { MAX_LINE = 4096 };

static void *ctx;
static ik_buffer_t events;
static ik_rpc_t *rpc;
static ik_rpc_request_t *kept; /* of the method "later" */

static void set_up(void)
{
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void on_write(void *data, const char *line, size_t len)
{
    (void)data;
    ck_assert_int_eq(line[len - 1], '\n');
    ck_assert_ptr_null(memchr(line, '\n', len - 1));
    ik_buffer_append_text(&events, "> ");
    ik_buffer_append(&events, line, len);
}

static bool on_request(void *data, ik_rpc_request_t *request)
{
    (void)data;
    ik_buffer_append_format(&events, "request %s %s %.*s\n", request->id, request->method,
                            (int)request->params.len, request->params.text);
    if (strcmp(request->method, "echo") == 0) {
        ik_rpc_respond(request, request->params.text, request->params.len);
    } else if (strcmp(request->method, "refuse") == 0) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, "No \"x\"", "{\"n\":\n1}");
    } else if (strcmp(request->method, "later") == 0) {
        kept = request;
    } else if (strcmp(request->method, "free") == 0) {
        talloc_free(rpc);
    } else {
        return false;
    }
    return true;
}

static void on_notification(void *data, const char *method, ik_json_span_t params)
{
    (void)data;
    ik_buffer_append_format(&events, "notification %s %.*s\n", method, (int)params.len,
                            params.text);
}

static void on_junk(void *data, const char *line, size_t len)
{
    (void)data;
    ik_buffer_append_format(&events, "junk %s%.*s\n", line == NULL ? "(too long)" : "", (int)len,
                            line == NULL ? "" : line);
}

static void begin(bool answers_junk)
{
    ik_buffer_init(&events, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&events, "");
    kept = NULL;
    rpc = ik_rpc_create(ctx, &(ik_rpc_options_t){.max_line = MAX_LINE,
                                                 .answers_junk = answers_junk,
                                                 .write = on_write,
                                                 .on_request = on_request,
                                                 .on_notification = on_notification,
                                                 .on_junk = on_junk});
}

/* A separate allocation, so that a read beyond its end is detected. */
static void feed(const char *bytes, size_t len)
{
    char *piece = malloc(len == 0 ? 1 : len);
    memcpy(piece, bytes, len);
    ik_rpc_feed(rpc, piece, len);
    free(piece);
}

static void check(bool answers_junk, const char *bytes, const char *expected)
{
    size_t len = strlen(bytes);
    for (size_t cut = 0; cut <= len + 1; cut++) {
        begin(answers_junk);
        for (size_t i = 0; cut > len && i < len; i++) {
            feed(bytes + i, 1);
        }
        if (cut <= len) {
            feed(bytes, cut);
            feed(bytes + cut, len - cut);
        }
        ck_assert_msg(strcmp(events.data, expected) == 0, "cut at %zu: got\n%swanted\n%s", cut,
                      events.data, expected);
        talloc_free(rpc);
    }
}

START_TEST(requests_are_answered_with_their_own_id)
{
    check(true,
          "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"echo\",\"params\":{\"a\":1}}\n"
          "\n \r\n"
          "{\"params\":{},\"method\":\"echo\",\"id\":\"a\\u00e9\",\"jsonrpc\":\"2.0\"}\r\n"
          "{\"jsonrpc\":\"2.0\",\"id\":-7,\"method\":\"refuse\"}\n"
          "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"no\\u0022pe\"}\n"
          "{\"jsonrpc\":\"2.0\",\"method\":\"note\",\"params\":{\"b\":2}}\n"
          "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n",
          "request 0 echo {\"a\":1}\n"
          "> {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"a\":1}}\n"
          "request \"a\\u00e9\" echo {}\n"
          "> {\"jsonrpc\":\"2.0\",\"id\":\"a\\u00e9\",\"result\":{}}\n"
          "request -7 refuse \n"
          "> {\"jsonrpc\":\"2.0\",\"id\":-7,\"error\":{\"code\":-32602,\"message\":\"No "
          "\\\"x\\\"\",\"data\":{\"n\": 1}}}\n"
          "request 8 no\"pe \n"
          "> {\"jsonrpc\":\"2.0\",\"id\":8,\"error\":{\"code\":-32601,\"message\":\"Unknown method "
          "no\\\"pe\"}}\n"
          "notification note {\"b\":2}\n"
          "notification note \n");
}
END_TEST

#define ERROR_LINE(code_, text_)                                                                   \
    "> {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":" code_ ",\"message\":\"" text_ "\"}}" \
    "\n"

START_TEST(what_is_no_message_is_refused)
{
    check(
        true,
        "listening\n"
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}]\n"
        "5\n"
        "{\"id\":1,\"method\":\"echo\"}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"echo\"}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"echo\"}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000b\"}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":1}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":[1]}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}\n",
        ERROR_LINE("-32700", "The message is not JSON") //
        "junk listening\n"                              //
        ERROR_LINE(
            "-32600",
            "Batches are not supported") "junk "
                                         "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}]\n" //
        ERROR_LINE("-32600", "The message is not an object") "junk 5\n" ERROR_LINE(
            "-32600", "The message is not JSON-RPC 2.0") "junk "
                                                         "{\"id\":1,\"method\":\"echo\"}\n" //
        ERROR_LINE("-32600",
                   "id is neither a string nor an integer") "junk "
                                                            "{\"jsonrpc\":\"2.0\",\"id\":null,"
                                                            "\"method\":\"echo\"}\n" //
        ERROR_LINE("-32600",
                   "id is neither a string nor an integer") "junk "
                                                            "{\"jsonrpc\":\"2.0\",\"id\":1.5,"
                                                            "\"method\":\"echo\"}\n" //
        ERROR_LINE(
            "-32600",
            "Invalid method") "junk {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000b\"}\n" //
        ERROR_LINE("-32600",
                   "The message is not JSON-RPC 2.0") "junk {\"jsonrpc\":\"2.0\",\"id\":1}\n"
                                                      "> "
                                                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{"
                                                      "\"code\":-32602,\"message\":\"params is not "
                                                      "an object\"}}\n" //
        ERROR_LINE(
            "-32700",
            "The message is not UTF-8") "junk "
                                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}\n");
    check(false, "listening\n[]\n", "junk listening\njunk []\n");
}
END_TEST

START_TEST(a_line_that_is_too_long_is_dropped)
{
    char *line = ik_alloc_array(ctx, 1, MAX_LINE + 2, "line");
    for (int over = 0; over <= 1; over++) {
        memset(line, ' ', MAX_LINE + 1);
        line[0] = '5';
        line[MAX_LINE + over - 1] = '5';
        line[MAX_LINE + over] = '\n';
        begin(true);
        feed(line, (size_t)(MAX_LINE + over + 1));
        feed("{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n", 34);
        ck_assert_int_eq(strstr(events.data, "too long") != NULL, over);
        ck_assert_ptr_nonnull(strstr(events.data, "notification note"));
        talloc_free(rpc);
    }
    begin(true);
    for (size_t i = 0; i < 64; i++) { /* no newline: memory stays bounded */
        feed(line, MAX_LINE / 2);
        ck_assert_uint_le(talloc_total_size(rpc), 4 * MAX_LINE);
    }
    feed("\n", 1);
    ck_assert_ptr_nonnull(strstr(events.data, "junk (too long)"));
    talloc_free(rpc);
}
END_TEST

/* --- calls ------------------------------------------------------------------------------- */

static void on_answer(void *data, const ik_rpc_answer_t *answer)
{
    ik_buffer_append_format(&events, "answer %s:", (const char *)data);
    if (answer->closed) {
        ik_buffer_append_text(&events, " closed\n");
    } else if (answer->failed) {
        ik_buffer_append_format(&events, " error %lld %.*s %.*s\n", (long long)answer->code,
                                (int)answer->text.len, answer->text.text, (int)answer->detail.len,
                                answer->detail.text);
    } else {
        ik_buffer_append_format(&events, " %.*s\n", (int)answer->result.len, answer->result.text);
    }
}

static void call(const char *name)
{
    int64_t id = ik_rpc_next_id(rpc);
    ik_rpc_call_t *made = ik_rpc_call(rpc, "do", NULL, on_answer, (void *)name);
    ck_assert_int_eq(ik_rpc_call_id(made), id);
}

static void say(const char *text)
{
    feed(text, strlen(text));
}

START_TEST(answers_find_their_call)
{
    begin(false);
    call("a");
    ik_rpc_call_t *dropped = ik_rpc_call(rpc, "do", "{\"n\":\n2}", on_answer, "b");
    call("c");
    call("d");
    call("e");
    call("g");
    ik_rpc_notify(rpc, "note", "{}");
    ik_buffer_reset(&events);
    say("{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32022,\"message\":\"x\",\"data\":[1]}}"
        "\n"
        "{\"id\":1,\"result\":{\"ok\":true},\"jsonrpc\":\"2.0\"}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":2}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":\"2\",\"result\":2}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":2}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":null}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":6}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":6}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700}}\n");
    talloc_free(dropped);
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"late\"}\n");
    ik_rpc_close(rpc);
    ck_assert_ptr_null(ik_rpc_call(rpc, "do", NULL, on_answer, "f"));
    ik_rpc_notify(rpc, "note", NULL);
    say("{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n");
    ck_assert_str_eq(events.data, "answer c: error -32022 \"x\" [1]\n"
                                  "answer a: {\"ok\":true}\n"
                                  "answer d: null\n"
                                  "answer g: null\n"
                                  "junk {\"jsonrpc\":\"2.0\",\"id\":6}\n"
                                  "answer e: closed\n");
    talloc_free(rpc);
}
END_TEST

START_TEST(a_request_can_be_cancelled)
{
    begin(true);
    say("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"later\"}\n");
    say("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"echo\"}\n");
    ck_assert_ptr_nonnull(strstr(events.data, "A request with this id is open"));
    ck_assert_ptr_eq(ik_rpc_find_request(rpc, (ik_json_span_t){"\"x\"", 3}), kept);
    ck_assert_ptr_null(ik_rpc_find_request(rpc, (ik_json_span_t){"\"y\"", 3}));
    talloc_free(kept);
    ck_assert_ptr_null(ik_rpc_find_request(rpc, (ik_json_span_t){"\"x\"", 3}));
    for (int i = 0; i <= IK_RPC_OPEN_MAX; i++) {
        char *line = ik_sprintf(
            ctx, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"later\",\"params\":{}}\n", i);
        ck_assert_ptr_null(strstr(events.data, "Too many open requests"));
        say(line);
    }
    ck_assert_ptr_nonnull(strstr(events.data, "\"id\":256,\"error\":{\"code\":-32600"));
    talloc_free(rpc);
}
END_TEST

START_TEST(freed_inside_a_callback)
{
    begin(false);
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"free\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"n\"}"
        "\n");
    ck_assert_str_eq(events.data, "request 1 free \n");
    begin(false);
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":");
    say("\"free\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n");
    ck_assert_str_eq(events.data, "request 1 free \n");
    begin(false);
    const char *spread = "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"method\":\"free\"}";
    ik_rpc_take(rpc, spread, strlen(spread));
    ck_assert_str_eq(events.data, "request 1 free \n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rpc");
    TCase *tests = tcase_create("rpc");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, requests_are_answered_with_their_own_id);
    tcase_add_test(tests, what_is_no_message_is_refused);
    tcase_add_test(tests, a_line_that_is_too_long_is_dropped);
    tcase_add_test(tests, answers_find_their_call);
    tcase_add_test(tests, a_request_can_be_cancelled);
    tcase_add_test(tests, freed_inside_a_callback);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
