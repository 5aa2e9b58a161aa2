/*
 * Lists a folder with as few system calls as the kernel allows: getdents64 fills a buffer that the
 * caller owns, and entries point into it. Recursive callers use the buffer as a stack: they
 * remember len, read, walk, and restore len.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Reading stops with EFBIG when the buffer holds more than this. */
#define IK_DIR_LIST_MAX ((size_t)1 << 30)

typedef struct {
    const char *name; /* NUL-terminated, points into the records */
    size_t len;
    unsigned char type; /* DT_DIR, DT_REG, …, DT_UNKNOWN where the file system does not say */
} ik_dir_entry_t;

/* Appends the records of the open folder, including "." and "..". Returns 0 or an errno value;
 * records read before the error stay in the buffer. */
int ik_dir_list_read(int fd, ik_buffer_t *records);

/* Fills *entry from the record at *position and advances *position; false at end. The entry is
 * valid until the next read into the same buffer. */
bool ik_dir_list_next(const ik_buffer_t *records, size_t *position, size_t end,
                      ik_dir_entry_t *entry);

/* "." or ".." */
bool ik_dir_list_is_dots(const ik_dir_entry_t *entry);
