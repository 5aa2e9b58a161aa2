/*
 * Reads a range of lines from an open file: everything before it is passed over in large blocks
 * without being kept, and no more of the range is kept than the caller wants. Memory is one block
 * plus what is kept, whatever the size of the file; the file may grow or shrink meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

#define IK_LINE_RANGE_ALL UINT64_MAX

typedef struct {
    uint64_t skip;  /* lines before the range */
    uint64_t lines; /* lines in it, or IK_LINE_RANGE_ALL */
    uint64_t size;  /* of the file, as far as known; 0: unknown */
} ik_line_range_t;

/* Appends the range to kept until that is full. *total becomes the length of the whole range in
 * bytes. False with errno set when reading fails. */
bool ik_line_range_read(int fd, const ik_line_range_t *range, ik_buffer_t *kept, uint64_t *total);
