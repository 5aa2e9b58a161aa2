/*
 * The host channel: any bytes from a tool, cut anywhere, give the same answers as in one piece, and
 * every answer is one line of valid JSON. The first two bytes seed the places of the cuts. "ask"
 * answers at once, "complete" stays open until "agent" answers all that are open.
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "pieces.h"
#include "tool/host_channel.h"

typedef struct {
    ik_loop_t *loop;
    ik_host_channel_t *channel;
    ik_host_request_t *open[IK_HOST_OPEN_MAX];
    size_t open_count;
    bool is_open;
    int tool;
    ik_buffer_t answers;
} peer_t;

typedef struct {
    peer_t *peer;
    ik_host_request_t *request;
} token_t;

static int forget(token_t *token)
{
    peer_t *peer = token->peer;
    for (size_t i = 0; i < peer->open_count; i++) {
        if (peer->open[i] == token->request) {
            peer->open[i] = peer->open[--peer->open_count];
            return 0;
        }
    }
    return 0;
}

static void start_ask(void *data, ik_host_request_t *request)
{
    const char *text = "";
    const char *const *list = NULL;
    int64_t number = 0;
    const char *object = NULL;
    (void)data;
    if (!ik_host_request_text(request, "question", true, &text) ||
        !ik_host_request_texts(request, "choices", 3, &list) ||
        !ik_host_request_object(request, "schema", &object) ||
        !ik_host_request_number(request, "max_tokens", -5, 5, &number)) {
        return;
    }
    ik_buffer_t result;
    ik_buffer_init(&result, NULL, IK_BUFFER_UNLIMITED);
    ik_json_add_text(&result, "text", text);
    ik_json_add_text(&result, "choice", list == NULL ? NULL : list[0]);
    ik_json_add_text(&result, "object", object);
    ik_json_add_number(&result, "number", number);
    ik_buffer_append_byte(&result, '}');
    ik_host_request_progress(request, text);
    ik_host_request_succeed(request, result.data, result.len);
    ik_buffer_reset(&result);
}

static void start_complete(void *data, ik_host_request_t *request)
{
    peer_t *peer = *(peer_t **)data;
    token_t *token = ik_new(request, token_t);
    *token = (token_t){peer, request};
    talloc_set_destructor(token, forget);
    REQUIRE(peer->is_open && peer->open_count < IK_HOST_OPEN_MAX);
    peer->open[peer->open_count++] = request;
}

static void start_agent(void *data, ik_host_request_t *request)
{
    peer_t *peer = *(peer_t **)data;
    ik_host_request_fail(request, IK_HOST_LIMIT, "open: %zu", peer->open_count);
    while (peer->open_count > 0) {
        ik_host_request_succeed(peer->open[peer->open_count - 1], "{}", 2);
    }
}

static const ik_host_operation_t table[] = {
    {"ask", start_ask}, {"complete", start_complete}, {"agent", start_agent}, {0}};

static void on_open(void *data, bool open)
{
    peer_t *peer = data;
    REQUIRE(peer->is_open != open);
    peer->is_open = open;
}

static void on_charge(void *data, const char *model, const ik_usage_t *usage, double cost)
{
    (void)data;
    (void)model;
    (void)usage;
    (void)cost;
}

static void on_tick(void *data)
{
    *(bool *)data = true;
}

static void take(void *data, const char *piece, size_t len)
{
    peer_t *peer = data;
    bool done = false;
    REQUIRE(len == 0 || send(peer->tool, piece, len, MSG_NOSIGNAL) == (ssize_t)len);
    for (int i = 0; i < 2; i++) {
        ik_timer_t *timer = ik_timer_create(peer, peer->loop, on_tick, &done);
        ik_timer_start(timer, 0);
        done = false;
        ik_loop_run_until(peer->loop, &done);
        talloc_free(timer);
    }
    for (ssize_t got = 1; got > 0;) {
        size_t room = ik_buffer_reserve(&peer->answers, 65536);
        got = recv(peer->tool, peer->answers.data + peer->answers.len, room, MSG_DONTWAIT);
        peer->answers.len += got > 0 ? (size_t)got : 0;
    }
}

static void run(peer_t *peer, const uint8_t *bytes, size_t len, uint32_t seed)
{
    static peer_t *current;
    static const ik_host_operations_t operations = {.operations = table, .data = &current};
    ik_host_channel_options_t options = {.loop = peer->loop,
                                         .operations = &operations,
                                         .declared = IK_HOST_ASK | IK_HOST_COMPLETE | IK_HOST_AGENT,
                                         .caller = {.agent = 1, .tool = "fuzz", .call_id = "call"},
                                         .on_open = on_open,
                                         .on_charge = on_charge,
                                         .data = peer};
    current = peer;
    res_t created = ik_host_channel_create(peer, &options, &peer->tool, &peer->channel);
    REQUIRE(is_ok(&created));
    if (seed == 0) {
        pieces_feed(take, peer, bytes, len);
    } else {
        pieces_feed_cut(take, peer, bytes, len, seed);
    }
    shutdown(peer->tool, SHUT_WR);
    take(peer, "", 0);
    talloc_free(peer->channel);
    REQUIRE(peer->open_count == 0);
    close(peer->tool);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2 || len > 65536) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    ik_loop_t *loop;
    res_t created = ik_loop_create(ctx, &loop);
    REQUIRE(is_ok(&created));
    peer_t *peers[2];
    for (size_t i = 0; i < 2; i++) {
        peers[i] = ik_new(ctx, peer_t);
        peers[i]->loop = loop;
        ik_buffer_init(&peers[i]->answers, ctx, IK_BUFFER_UNLIMITED);
        run(peers[i], bytes + 2, len - 2, i == 0 ? 0 : 1 + ((uint32_t)bytes[0] << 8 | bytes[1]));
    }
    REQUIRE(pieces_same(&peers[0]->answers, &peers[1]->answers));
    const char *at = peers[0]->answers.data;
    const char *end = at + peers[0]->answers.len;
    while (peers[0]->answers.len > 0 && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        REQUIRE(newline != NULL);
        pieces_require_json(at, (size_t)(newline - at));
        at = newline + 1;
    }
    talloc_free(loop);
    talloc_free(ctx);
    return 0;
}
