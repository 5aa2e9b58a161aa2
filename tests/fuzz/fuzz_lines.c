/*
 * Lines of a file, against the plainest way to count them. Input: how many lines to skip, how many
 * to read (0: all), how many bytes to keep, the file.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "pieces.h"
#include "tools/common/newline.h"
#include "tools/file_read/line_range.h"

/* Behind so many newlines. */
static size_t skip_slowly(const char *text, size_t len, uint64_t lines)
{
    size_t at = 0;
    while (at < len && lines > 0) {
        lines -= text[at++] == '\n';
    }
    return at;
}

static void check_newlines(const char *text, size_t len, uint64_t skip)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++) {
        count += text[i] == '\n';
    }
    REQUIRE(ik_newline_count(text, len) == count);
    uint64_t left = skip;
    REQUIRE(ik_newline_skip(text, len, &left) == skip_slowly(text, len, skip));
    REQUIRE(left == (skip > count ? skip - count : 0));
}

static void check_range(const void *ctx, int fd, const char *text, size_t len,
                        const ik_line_range_t *range, size_t most)
{
    ik_buffer_t kept;
    uint64_t total;
    ik_buffer_init(&kept, ctx, most);
    REQUIRE(lseek(fd, 0, SEEK_SET) == 0 && ik_line_range_read(fd, range, &kept, &total));
    size_t start = skip_slowly(text, len, range->skip);
    size_t wanted = range->lines == IK_LINE_RANGE_ALL
                        ? len - start
                        : skip_slowly(text + start, len - start, range->lines);
    REQUIRE(total == wanted && kept.len == (wanted < most ? wanted : most));
    REQUIRE(kept.len == 0 || memcmp(kept.data, text + start, kept.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    enum { HEAD = 3 };
    if (len < HEAD) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    char *text = pieces_copy(bytes + HEAD, len - HEAD);
    int fd = memfd_create("lines", MFD_CLOEXEC);
    ik_line_range_t range = {.skip = bytes[0],
                             .lines = bytes[1] == 0 ? IK_LINE_RANGE_ALL : bytes[1]};
    size_t most = bytes[2] == 0 ? IK_BUFFER_UNLIMITED : bytes[2];
    len -= HEAD;
    REQUIRE(fd >= 0 && write(fd, text, len) == (ssize_t)len);
    check_newlines(text, len, range.skip);
    check_range(ctx, fd, text, len, &range, most);
    range.size = len;
    check_range(ctx, fd, text, len, &range, most);
    close(fd);
    free(text);
    talloc_free(ctx);
    return 0;
}
