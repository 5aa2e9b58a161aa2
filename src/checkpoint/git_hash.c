#include "checkpoint/git_hash.h"

#include <inttypes.h>
#include <stdio.h>

void ik_git_hash_init(ik_git_hash_t *hash, size_t object_size, uint64_t size)
{
    char head[32];
    size_t len = (size_t)snprintf(head, sizeof(head), "blob %" PRIu64, size) + 1;
    hash->object_size = object_size;
    if (object_size == 20) {
        SHA1Init(&hash->sha1);
    } else {
        SHA256Init(&hash->sha256);
    }
    ik_git_hash_update(hash, head, len);
}

void ik_git_hash_update(ik_git_hash_t *hash, const void *bytes, size_t len)
{
    if (hash->object_size == 20) {
        SHA1Update(&hash->sha1, bytes, len);
    } else {
        SHA256Update(&hash->sha256, bytes, len);
    }
}

void ik_git_hash_finish(ik_git_hash_t *hash, unsigned char *out)
{
    if (hash->object_size == 20) {
        SHA1Final(out, &hash->sha1);
    } else {
        SHA256Final(out, &hash->sha256);
    }
}
