/* FNV-1a, a quick hash for sets and short names. It does not resist deliberate collisions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline uint64_t ik_hash_bytes(const char *bytes, size_t len)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
    }
    return hash;
}
