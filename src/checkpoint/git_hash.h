/* Names of blobs: the hash of a head and the bytes, SHA-1 or SHA-256. */
#pragma once

#include <sha1.h>
#include <sha2.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t object_size; /* 20 or 32 */
    SHA1_CTX sha1;
    SHA2_CTX sha256;
} ik_git_hash_t;

/* size is the number of bytes that will follow. */
void ik_git_hash_init(ik_git_hash_t *hash, size_t object_size, uint64_t size);
void ik_git_hash_update(ik_git_hash_t *hash, const void *bytes, size_t len);
/* Writes object_size bytes. */
void ik_git_hash_finish(ik_git_hash_t *hash, unsigned char *out);
