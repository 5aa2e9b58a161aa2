#include "tools/file_read/line_range.h"

#include <errno.h>
#include <unistd.h>

#include "tools/common/newline.h"

/* Large enough that system calls cost little, small enough for the processor's cache. */
enum { BLOCK = 128 * 1024 };

bool ik_line_range_read(int fd, const ik_line_range_t *range, ik_buffer_t *kept, uint64_t *total)
{
    static char block[BLOCK];
    uint64_t skip = range->skip;
    uint64_t lines = range->lines;
    uint64_t start = 0; /* offset of the range in the file */
    *total = 0;
    while (lines > 0) {
        /* kept is full: the length of a range up to the end follows from the size of the file. */
        if (range->lines == IK_LINE_RANGE_ALL && range->size > 0 && kept->dropped > 0) {
            uint64_t rest = range->size > start ? range->size - start : 0;
            *total = rest > *total ? rest : *total;
            return true;
        }
        ssize_t got;
        do {
            got = read(fd, block, sizeof(block));
        } while (got < 0 && errno == EINTR);
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
