/*
 * Server-sent events: any bytes, cut anywhere, give the same events as in one piece. The first two
 * bytes seed the places of the cuts.
 */
#include <stdint.h>

#include "base/alloc.h"
#include "pieces.h"
#include "provider/sse.h"

/* Every event one after the other, with lengths, so that two logs are equal when the events are. */
static bool on_event(void *user, const char *event, const char *data, size_t len)
{
    ik_buffer_t *log = user;
    REQUIRE(data[len] == '\0');
    ik_buffer_append_format(log, "%s\n%zu\n", event, len);
    ik_buffer_append(log, data, len);
    return true;
}

static void take(void *sse, const char *piece, size_t len)
{
    REQUIRE(ik_sse_feed(sse, piece, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    uint32_t seed = (uint32_t)bytes[0] << 8 | bytes[1];
    ik_buffer_t whole;
    ik_buffer_t cut;
    ik_buffer_init(&whole, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&cut, ctx, IK_BUFFER_UNLIMITED);
    ik_sse_t *in_one = ik_sse_create(ctx, on_event, &whole);
    ik_sse_t *in_pieces = ik_sse_create(ctx, on_event, &cut);
    pieces_feed(take, in_one, bytes + 2, len - 2);
    pieces_feed_cut(take, in_pieces, bytes + 2, len - 2, seed);
    REQUIRE(ik_sse_finish(in_one) && ik_sse_finish(in_pieces));
    REQUIRE(pieces_same(&whole, &cut));
    talloc_free(ctx);
    return 0;
}
