/*
 * Remembers what tools said about themselves, so that a warm start asks nobody. An entry holds for
 * exactly one state of the file of one path (ik_file_format_identity); a file that is not settled
 * (ik_file_is_settled) is not remembered. A cache that cannot be read or written is no cache, never
 * an error.
 */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

typedef struct ik_tool_cache ik_tool_cache_t;

/* Reads folder/schemas.json if it is there. */
ik_tool_cache_t *ik_tool_cache_create(const void *ctx, const char *folder);

/* The schema text of that file in that state, valid as long as the cache; NULL when unknown. */
const char *ik_tool_cache_lookup(const ik_tool_cache_t *cache, const char *path,
                                 const struct stat *status, size_t *len);

void ik_tool_cache_put(ik_tool_cache_t *cache, const char *path, const struct stat *status,
                       const char *schema, size_t len);

/* Writes the file if anything was put; entries of files that are gone are left out. */
void ik_tool_cache_save(ik_tool_cache_t *cache);
