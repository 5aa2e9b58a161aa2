#include "tools/file_read/line_range.h"

#include <errno.h>
#include <unistd.h>

#include "tools/common/newline.h"

/* Large enough that the calls do not count, small enough to stay in the processor's cache. */
enum { BLOCK = 128 * 1024 };

static ssize_t read_block(int fd, char *block, size_t size)
{
    ssize_t got;
    do {
        got = read(fd, block, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* To the end of the file the length needs no reading: it is what the size leaves. */
static bool length_is_known(const ik_line_range_t *range, const ik_buffer_t *kept)
{
    return range->lines == IK_LINE_RANGE_ALL && range->size > 0 && kept->dropped > 0;
}

bool ik_line_range_read(int fd, const ik_line_range_t *range, ik_buffer_t *kept, uint64_t *total)
{
    static char block[BLOCK];
    uint64_t skip = range->skip;
    uint64_t lines = range->lines;
    uint64_t start = 0; /* where the range begins in the file */
    *total = 0;
    while (lines > 0) {
        if (length_is_known(range, kept)) {
            uint64_t rest = range->size > start ? range->size - start : 0;
            *total = rest > *total ? rest : *total;
            return true;
        }
        ssize_t got = read_block(fd, block, sizeof(block));
        if (got <= 0) {
            return got == 0;
        }
        size_t begin = ik_newline_skip(block, (size_t)got, &skip);
        start += begin;
        if (skip > 0) {
            continue;
        }
        size_t rest = (size_t)got - begin;
        size_t wanted = rest;
        if (lines != IK_LINE_RANGE_ALL) {
            wanted = ik_newline_skip(block + begin, rest, &lines);
        }
        ik_buffer_append(kept, block + begin, wanted);
        *total += wanted;
    }
    return true;
}
