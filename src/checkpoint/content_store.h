/*
 * The contents that states refer to by their BLAKE2b hash, in BLOBS/files: each once, compressed
 * with zstd. A content has a file of its own (files/ab/cdef…), or it is in a pack when many were
 * stored at once (files/pack-NAME). A content is checked against its hash when it is read, so
 * a file that a crash left incomplete counts as missing.
 *
 * Functions return 0 or an errno value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "checkpoint/blake2b.h"

typedef struct ik_contents ik_contents_t;

/* Creates the folders when the first content is stored. */
ik_contents_t *ik_contents_create(const void *ctx, const char *blobs);

/* Until end_batch, contents go into one pack; for callers that store hundreds. */
int ik_contents_begin_batch(ik_contents_t *contents);
/* durable: the pack is on disk when this returns. */
int ik_contents_end_batch(ik_contents_t *contents, bool durable);
/* Forgets what was stored since begin_batch. */
void ik_contents_drop_batch(ik_contents_t *contents);

int ik_contents_put(ik_contents_t *contents, const unsigned char name[IK_BLAKE2B_SIZE],
                    const char *bytes, size_t len);
/* Copies from an open file while its hash is computed. The file must have exactly size bytes;
 * EAGAIN when it has not. */
int ik_contents_put_file(ik_contents_t *contents, int fd, uint64_t size,
                         unsigned char name[IK_BLAKE2B_SIZE]);
/* The bytes that a content takes on disk; 0 when it is missing. */
uint64_t ik_contents_size(ik_contents_t *contents, const unsigned char name[IK_BLAKE2B_SIZE]);
/* Appends the content; ENOENT when it is missing, damaged or not of this size. */
int ik_contents_get(ik_contents_t *contents, const unsigned char name[IK_BLAKE2B_SIZE],
                    uint64_t size, ik_buffer_t *out);
/* Bytes on disk that the put functions of this object have added. */
uint64_t ik_contents_added(const ik_contents_t *contents);

/* Removes contents for which keep returns false. Packs are written again without them. *bytes is
 * increased by the room that became free, *removed by the number of contents. */
typedef bool (*ik_contents_keep_fn)(void *data, const unsigned char name[IK_BLAKE2B_SIZE]);
void ik_contents_sweep(ik_contents_t *contents, ik_contents_keep_fn keep, void *data,
                       uint64_t *removed, uint64_t *bytes);
/* The size of all contents on disk. */
uint64_t ik_contents_total(ik_contents_t *contents);
