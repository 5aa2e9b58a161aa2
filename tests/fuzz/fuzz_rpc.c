/*
 * JSON-RPC: any bytes, cut anywhere, give the same messages as in one piece, and whatever is
 * written is one line of valid JSON. The first two bytes seed the places of the cuts. Calls with
 * the ids 1 to 4 wait for an answer; a request "later" stays open until "now" answers all of them.
 */
#include <stdint.h>

#include "base/alloc.h"
#include "pieces.h"
#include "rpc/rpc.h"

enum { MAX_LINE = 300, CALLS = 4 };

typedef struct {
    ik_rpc_t *rpc;
    ik_buffer_t log;
    ik_rpc_request_t *open[IK_RPC_OPEN_MAX];
    size_t open_count;
} peer_t;

static void log_bytes(peer_t *peer, const char *what, const char *bytes, size_t len)
{
    ik_buffer_append_format(&peer->log, "%s %zu ", what, len);
    ik_buffer_append(&peer->log, bytes, len);
    ik_buffer_append_byte(&peer->log, '\n');
}

static void on_write(void *data, const char *line, size_t len)
{
    REQUIRE(len > 0 && memchr(line, '\n', len) == line + len - 1);
    pieces_require_json(line, len - 1);
    log_bytes(data, "write", line, len);
}

static bool on_request(void *data, ik_rpc_request_t *request)
{
    peer_t *peer = data;
    log_bytes(peer, request->method, request->params.text, request->params.len);
    if (strcmp(request->method, "later") == 0) {
        peer->open[peer->open_count++] = request;
        return true;
    }
    while (strcmp(request->method, "now") == 0 && peer->open_count > 0) {
        ik_rpc_respond(peer->open[--peer->open_count], "[\r\n1]", 5);
    }
    return false;
}

static void on_notification(void *data, const char *method, ik_json_span_t params)
{
    log_bytes(data, method, params.text, params.len);
}

static void on_junk(void *data, const char *line, size_t len)
{
    log_bytes(data, "junk", line, len);
}

static void on_answer(void *data, const ik_rpc_answer_t *answer)
{
    log_bytes(data, "result", answer->result.text, answer->result.len);
    log_bytes(data, "text", answer->text.text, answer->text.len);
    ik_buffer_append_format(&((peer_t *)data)->log, "%d %d %lld\n", answer->closed, answer->failed,
                            (long long)answer->code);
}

static peer_t *begin(void *ctx)
{
    peer_t *peer = ik_new(ctx, peer_t);
    ik_buffer_init(&peer->log, ctx, IK_BUFFER_UNLIMITED);
    peer->rpc = ik_rpc_create(ctx, &(ik_rpc_options_t){.max_line = MAX_LINE,
                                                       .answers_junk = true,
                                                       .write = on_write,
                                                       .on_request = on_request,
                                                       .on_notification = on_notification,
                                                       .on_junk = on_junk,
                                                       .data = peer});
    for (int i = 0; i < CALLS; i++) {
        ik_rpc_call(peer->rpc, "call", "{}", on_answer, peer);
    }
    return peer;
}

static void take(void *rpc, const char *piece, size_t len)
{
    ik_rpc_feed(rpc, piece, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    uint32_t seed = (uint32_t)bytes[0] << 8 | bytes[1];
    peer_t *whole = begin(ctx);
    peer_t *cut = begin(ctx);
    pieces_feed(take, whole->rpc, bytes + 2, len - 2);
    pieces_feed_cut(take, cut->rpc, bytes + 2, len - 2, seed);
    ik_rpc_close(whole->rpc);
    ik_rpc_close(cut->rpc);
    REQUIRE(pieces_same(&whole->log, &cut->log));
    talloc_free(ctx);
    return 0;
}
