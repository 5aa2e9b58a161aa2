/*
 * Listing a folder with as few system calls as the kernel allows: the raw records go into a buffer
 * the caller keeps, and entries are handed out of it without copying. The buffer is used like a
 * stack by recursive callers (remember len, read, walk, put len back).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* A folder whose records take more than this is cut, with the error EFBIG. */
#define IK_DIR_LIST_MAX ((size_t)1 << 30)

typedef struct {
    const char *name; /* NUL-terminated, points into the records */
    size_t len;
    unsigned char type; /* DT_DIR, DT_REG, …, DT_UNKNOWN where the file system does not say */
} ik_dir_entry_t;

/* Appends the records of the open folder, "." and ".." included. Returns 0 or an errno value; what
 * could be read before an error stays. */
int ik_dir_list_read(int fd, ik_buffer_t *records);

/* The entry at *position, which moves on; false at end. Records stay valid until the next read
 * into the same buffer. */
bool ik_dir_list_next(const ik_buffer_t *records, size_t *position, size_t end,
                      ik_dir_entry_t *entry);

/* "." or ".." */
bool ik_dir_list_is_dots(const ik_dir_entry_t *entry);
