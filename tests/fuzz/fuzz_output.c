/*
 * What a command prints: its head and tail do not depend on how it came, are UTF-8 and as short as
 * they must be; progress lines are JSON, and short enough for a pipe to take them whole.
 *
 * Input: two bytes for the limit that also seed the places of the cuts, the output.
 */
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/head_tail.h"
#include "pieces.h"
#include "tools/bash/progress_line.h"

/* --- head and tail ------------------------------------------------------------------------ */

static void take_output(void *kept, const char *piece, size_t len)
{
    ik_head_tail_add(kept, piece, len);
}

static bool format(const void *ctx, ik_head_tail_t *kept, size_t limit, ik_buffer_t *out)
{
    ik_buffer_init(out, ctx, IK_BUFFER_UNLIMITED);
    bool cut = ik_head_tail_format(kept, out);
    REQUIRE(out->len <= limit && (out->len == 0 || ik_utf8_valid(out->data, out->len)));
    return cut;
}

static void check_kept(const void *ctx, const uint8_t *bytes, size_t len, size_t limit)
{
    ik_head_tail_t whole;
    ik_head_tail_t pieces;
    ik_buffer_t out;
    ik_buffer_t other;
    ik_head_tail_init(&whole, ctx, limit);
    ik_head_tail_init(&pieces, ctx, limit);
    pieces_feed(take_output, &whole, bytes, len);
    pieces_feed_cut(take_output, &pieces, bytes, len, (uint32_t)limit);
    bool cut = format(ctx, &whole, limit, &out);
    REQUIRE(format(ctx, &pieces, limit, &other) == cut && pieces_same(&out, &other));
    if (len <= limit && ik_utf8_valid((const char *)bytes, len)) {
        bool newline = len > 0 && bytes[len - 1] == '\n';
        REQUIRE(!cut && out.len == len - newline &&
                (out.len == 0 || memcmp(out.data, bytes, out.len) == 0));
    }
}

/* --- progress ----------------------------------------------------------------------------- */

typedef struct {
    ik_progress_line_t line;
    int64_t now;
} progress_t;

static void take_progress(void *data, const char *piece, size_t len)
{
    progress_t *progress = data;
    ik_progress_line_add(&progress->line, piece, len);
    ik_progress_line_tick(&progress->line, progress->now);
    progress->now += 7;
}

static void check_lines(const void *ctx, int fd)
{
    size_t len = (size_t)lseek(fd, 0, SEEK_END);
    char *lines = ik_new_array(ctx, char, len + 1);
    REQUIRE(pread(fd, lines, len, 0) == (ssize_t)len);
    for (size_t at = 0; at < len;) {
        size_t line = pieces_find((uint8_t *)lines + at, len - at, '\n');
        ik_json_span_t text;
        REQUIRE(at + line < len && line < PIPE_BUF);
        REQUIRE(ik_json_find(pieces_require_json(lines + at, line), "text", &text));
        at += line + 1;
    }
}

static void check_progress(const void *ctx, const uint8_t *bytes, size_t len, uint32_t seed)
{
    int fd = memfd_create("progress", MFD_CLOEXEC);
    progress_t progress = {.line = {.fd = dup(fd)}, .now = 100};
    REQUIRE(fd >= 0 && progress.line.fd >= 0);
    pieces_feed_cut(take_progress, &progress, bytes, len, seed);
    ik_progress_line_finish(&progress.line);
    check_lines(ctx, fd);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    size_t limit = (size_t)bytes[0] << 2 | bytes[1] >> 6;
    check_kept(ctx, bytes + 2, len - 2, limit);
    check_progress(ctx, bytes + 2, len - 2, bytes[1]);
    talloc_free(ctx);
    return 0;
}
