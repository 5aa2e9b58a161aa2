/* A quick hash of bytes (FNV-1a) for sets and short names; not for anything an attacker gains by.
 */
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
