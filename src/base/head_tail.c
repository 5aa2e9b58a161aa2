#include "base/head_tail.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

/* Below the first limit the marker has no number, and below the second there is none and no tail:
 * it would take too much of the room, and head and tail must not be read as one piece. */
enum { NUMBER_WORTH = 128, MARKER_WORTH = 16 };

void ik_head_tail_init(ik_head_tail_t *kept, const void *ctx, size_t limit)
{
    *kept = (ik_head_tail_t){.limit = limit};
    ik_buffer_init(&kept->head, ctx, limit / 2);
    ik_buffer_append(&kept->head, "", 0);
    /* + 1 for the final newline, which is stripped. */
    kept->ring_size = limit - limit / 2 + 1;
    ik_buffer_init(&kept->ring_space, ctx, kept->ring_size);
}

static void add_to_ring(ik_head_tail_t *kept, const char *bytes, size_t len)
{
    if (kept->ring == NULL) {
        ik_buffer_reserve(&kept->ring_space, kept->ring_size);
        kept->ring = kept->ring_space.data;
    }
    kept->ring_total += len;
    if (len > kept->ring_size) {
        bytes += len - kept->ring_size;
        len = kept->ring_size;
    }
    size_t at = (size_t)((kept->ring_total - len) % kept->ring_size);
    size_t to_end = kept->ring_size - at;
    size_t first = len < to_end ? len : to_end;
    memcpy(kept->ring + at, bytes, first);
    memcpy(kept->ring, bytes + first, len - first);
}

void ik_head_tail_add(ik_head_tail_t *kept, const char *bytes, size_t len)
{
    kept->total += len;
    size_t room = kept->head.max - kept->head.len;
    size_t fits = len < room ? len : room;
    ik_buffer_append(&kept->head, bytes, fits);
    if (fits < len) {
        add_to_ring(kept, bytes + fits, len - fits);
    }
}

/* Appends the bytes of the ring, oldest first. */
static void unroll(const ik_head_tail_t *kept, ik_buffer_t *tail)
{
    size_t used = kept->ring_total < kept->ring_size ? (size_t)kept->ring_total : kept->ring_size;
    if (used == 0) {
        return;
    }
    size_t start = (size_t)((kept->ring_total - used) % kept->ring_size);
    size_t to_end = kept->ring_size - start;
    size_t first = used < to_end ? used : to_end;
    ik_buffer_append(tail, kept->ring + start, first);
    ik_buffer_append(tail, kept->ring, used - first);
}

/* The length in valid UTF-8 of the character, or invalid sequence, at bytes. */
static size_t clean_step(const char *bytes, size_t len, size_t *step, bool *valid)
{
    *step = ik_utf8_step(bytes, len, valid);
    return *valid ? *step : strlen(IK_UTF8_REPLACEMENT);
}

/* The length of the longest prefix that makes at most max bytes of valid UTF-8. An invalid sequence
 * at the very end may be half a character and is left out. */
static size_t fitting_prefix(const char *bytes, size_t len, size_t max)
{
    size_t at = 0;
    size_t clean = 0;
    while (at < len) {
        size_t step;
        bool valid;
        clean += clean_step(bytes + at, len - at, &step, &valid);
        bool half = !valid && at + step == len;
        if (clean > max || half) {
            break;
        }
        at += step;
    }
    return at;
}

static size_t clean_length(const char *bytes, size_t len)
{
    if (ik_utf8_valid(bytes, len)) {
        return len;
    }
    size_t clean = 0;
    bool valid;
    for (size_t at = 0, step; at < len; at += step) {
        clean += clean_step(bytes + at, len - at, &step, &valid);
    }
    return clean;
}

/* The start of the longest suffix that makes at most max bytes of valid UTF-8. */
static size_t fitting_suffix(const char *bytes, size_t len, size_t max)
{
    size_t at = ik_utf8_cut_front(bytes, len, len > 0 ? len - 1 : 0);
    if (((unsigned char)bytes[0] & 0xc0) != 0x80) {
        at = 0; /* bytes does not begin in the middle of a character */
    }
    size_t clean = clean_length(bytes + at, len - at);
    while (clean > max) {
        size_t step;
        bool valid;
        clean -= clean_step(bytes + at, len - at, &step, &valid);
        at += step;
    }
    return at;
}

static const char *format_marker(const ik_head_tail_t *kept, uint64_t omitted)
{
    if (kept->limit < NUMBER_WORTH) {
        return kept->limit < MARKER_WORTH ? "" : "\n[...]\n";
    }
    return ik_sprintf(kept->head.ctx, "\n[... %" PRIu64 " bytes omitted ...]\n", omitted);
}

/* Cuts head and tail so that they and the marker fit. */
static void format_cut(const ik_head_tail_t *kept, ik_buffer_t *out, const ik_buffer_t *head,
                       const ik_buffer_t *tail, uint64_t total)
{
    /* The real marker has a smaller number, so it is not longer than this one. */
    size_t budget = kept->limit - strlen(format_marker(kept, total));
    size_t tail_max = kept->limit < MARKER_WORTH ? 0 : budget - budget / 2;
    size_t head_len = fitting_prefix(head->data, head->len, budget - tail_max);
    size_t tail_from = fitting_suffix(tail->data, tail->len, tail_max);
    uint64_t shown = head_len + (tail->len - tail_from);
    ik_utf8_append_clean(out, head->data, head_len);
    ik_buffer_append_text(out, format_marker(kept, total - shown));
    ik_utf8_append_clean(out, tail->data + tail_from, tail->len - tail_from);
}

bool ik_head_tail_format(ik_head_tail_t *kept, ik_buffer_t *out)
{
    ik_buffer_t tail;
    ik_buffer_init(&tail, kept->head.ctx, kept->ring_size);
    ik_buffer_append(&tail, "", 0);
    unroll(kept, &tail);
    uint64_t total = kept->total;
    ik_buffer_t *end = tail.len > 0 ? &tail : &kept->head;
    if (end->len > 0 && end->data[end->len - 1] == '\n') {
        end->len--;
        total--;
    }
    bool whole = total == kept->head.len + tail.len;
    if (whole) {
        /* Joined first, because a character may be split between the two. */
        kept->head.max = kept->head.len + tail.len;
        ik_buffer_append(&kept->head, tail.data, tail.len);
        if (clean_length(kept->head.data, kept->head.len) <= kept->limit) {
            ik_utf8_append_clean(out, kept->head.data, kept->head.len);
            return false;
        }
        /* Replacing invalid bytes made it too long. */
        format_cut(kept, out, &kept->head, &kept->head, total);
        return true;
    }
    format_cut(kept, out, &kept->head, &tail, total);
    return true;
}
