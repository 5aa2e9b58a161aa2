/*
 * Reads git's object files: packs with their indexes (versions 1 and 2, deltas by offset and by
 * name) and single compressed objects. The bytes may come from anywhere: every offset and length is
 * checked, and memory is bounded by the size of the object that the caller expects.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

typedef struct ik_git_pack ik_git_pack_t;

/* Opens PATH.pack and PATH.idx, relative to the open folder; NULL when they cannot be used.
 * object_size is 20 or 32. */
ik_git_pack_t *ik_git_pack_open(const void *ctx, int folder, const char *path, size_t object_size);

/* Finds an object; false when it is not in this pack. */
bool ik_git_pack_find(const ik_git_pack_t *pack, const unsigned char *name, uint64_t *offset);
/* The size of the blob at that offset; false when it is damaged or no blob. */
bool ik_git_pack_measure(ik_git_pack_t *pack, uint64_t offset, uint64_t *size);
/* Appends the blob, which must have exactly this size. */
bool ik_git_pack_read(ik_git_pack_t *pack, uint64_t offset, uint64_t size, ik_buffer_t *out);

/* The size of the blob in an open file with a single object. */
bool ik_git_pack_measure_single(int fd, uint64_t *size);
bool ik_git_pack_read_single(int fd, uint64_t size, ik_buffer_t *out);

/* Whether the bytes are the blob of that name. */
bool ik_git_pack_check(const char *bytes, size_t len, const unsigned char *name,
                       size_t object_size);
