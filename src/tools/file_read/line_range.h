/*
 * Reads a range of lines from an open file, block by block. Memory is one block plus the kept part
 * of the range, whatever the size of the file. The file may grow or shrink in the meantime.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

#define IK_LINE_RANGE_ALL UINT64_MAX

typedef struct {
    uint64_t skip;  /* lines before the range */
    uint64_t lines; /* in the range, or IK_LINE_RANGE_ALL */
    uint64_t size;  /* of the file; 0: unknown */
} ik_line_range_t;

/* Appends the range to kept, up to its maximum. Sets *total to the length of the whole range in
 * bytes. Returns false with errno set if reading fails. */
bool ik_line_range_read(int fd, const ik_line_range_t *range, ik_buffer_t *kept, uint64_t *total);
