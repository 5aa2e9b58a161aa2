/*
 * A cache of tool schemas, so that a warm start runs no tool. An entry is valid for one path and
 * one state of its file (ik_file_format_identity); a file that may still change unnoticed
 * (ik_file_is_settled) is not cached. A cache that cannot be read counts as empty, and one that
 * cannot be written is not saved; neither is an error.
 */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

typedef struct ik_tool_cache ik_tool_cache_t;

/* Reads folder/schemas.json if it exists. */
ik_tool_cache_t *ik_tool_cache_create(const void *ctx, const char *folder);

/* The schema text of the file in the given state, or NULL. It is valid until the next put. */
const char *ik_tool_cache_lookup(const ik_tool_cache_t *cache, const char *path,
                                 const struct stat *status, size_t *len);

void ik_tool_cache_put(ik_tool_cache_t *cache, const char *path, const struct stat *status,
                       const char *schema, size_t len);

/* Writes the file if anything was added. Entries of deleted files are dropped. */
void ik_tool_cache_save(ik_tool_cache_t *cache);
