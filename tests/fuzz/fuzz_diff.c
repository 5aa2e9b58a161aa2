/*
 * Two texts and how one became the other: what was kept and removed is the old one, what was kept
 * and added the new one. Input: the old text up to a NUL, the new one.
 */
#include <stdint.h>

#include "base/alloc.h"
#include "base/line_diff.h"
#include "pieces.h"

typedef struct {
    ik_buffer_t old;
    ik_buffer_t fresh;
} sides_t;

static void on_line(void *data, ik_line_change_t change, const char *line, size_t len)
{
    sides_t *sides = data;
    REQUIRE(len > 0 && memchr(line, '\n', len - 1) == NULL);
    if (change != IK_LINE_ADDED) {
        ik_buffer_append(&sides->old, line, len);
    }
    if (change != IK_LINE_REMOVED) {
        ik_buffer_append(&sides->fresh, line, len);
    }
}

static bool holds(const ik_buffer_t *side, const char *text, size_t len)
{
    return side->len == len && (len == 0 || memcmp(side->data, text, len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    void *ctx = talloc_new(NULL);
    size_t old_len = pieces_find(bytes, len, '\0');
    size_t fresh_len = old_len < len ? len - old_len - 1 : 0;
    char *old = pieces_copy(bytes, old_len);
    char *fresh = pieces_copy(bytes + len - fresh_len, fresh_len);
    sides_t sides;
    ik_buffer_init(&sides.old, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&sides.fresh, ctx, IK_BUFFER_UNLIMITED);
    ik_line_diff_run(old, old_len, fresh, fresh_len, on_line, &sides);
    REQUIRE(holds(&sides.old, old, old_len) && holds(&sides.fresh, fresh, fresh_len));
    free(old);
    free(fresh);
    talloc_free(ctx);
    return 0;
}
