#include "tool/tool_cache.h"

#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"

enum { FORMAT = 1, MAX_CACHE_SIZE = 64 * 1024 * 1024 };

struct ik_tool_cache {
    char *folder;
    char *file;
    json_t *entries; /* path -> {identity, schema} */
    bool changed;
};

static json_t *load(const char *file)
{
    char *text;
    size_t len;
    res_t read = ik_file_read(NULL, file, MAX_CACHE_SIZE, &text, &len);
    if (is_err(&read)) {
        return NULL;
    }
    json_t *root = ik_json_parse(text, len, NULL);
    talloc_free(text);
    json_t *entries = json_object_get(root, "entries");
    bool usable =
        json_integer_value(json_object_get(root, "format")) == FORMAT && json_is_object(entries);
    json_t *kept = usable ? json_incref(entries) : NULL;
    json_decref(root);
    return kept;
}

ik_tool_cache_t *ik_tool_cache_create(const void *ctx, const char *folder)
{
    ik_tool_cache_t *cache = ik_new(ctx, ik_tool_cache_t);
    cache->folder = ik_strdup(cache, folder);
    cache->file = ik_sprintf(cache, "%s/schemas.json", folder);
    json_t *entries = load(cache->file);
    cache->entries = ik_json_adopt(cache, entries == NULL ? json_object() : entries);
    return cache;
}

const char *ik_tool_cache_lookup(const ik_tool_cache_t *cache, const char *path,
                                 const struct stat *status, size_t *len)
{
    json_t *entry = json_object_get(cache->entries, path);
    json_t *schema = json_object_get(entry, "schema");
    const char *known = json_string_value(json_object_get(entry, "identity"));
    char *identity = ik_file_format_identity(NULL, status);
    bool same = known != NULL && strcmp(known, identity) == 0 && json_is_string(schema);
    talloc_free(identity);
    *len = same ? json_string_length(schema) : 0;
    return same ? json_string_value(schema) : NULL;
}

void ik_tool_cache_put(ik_tool_cache_t *cache, const char *path, const struct stat *status,
                       const char *schema, size_t len)
{
    if (!ik_file_is_settled(status->st_mtim)) {
        return;
    }
    size_t known_len;
    const char *known = ik_tool_cache_lookup(cache, path, status, &known_len);
    if (known != NULL && known_len == len && memcmp(known, schema, len) == 0) {
        return;
    }
    char *identity = ik_file_format_identity(NULL, status);
    json_t *entry = json_pack("{s:s, s:s%}", "identity", identity, "schema", schema, len);
    talloc_free(identity);
    /* A path or schema that is not UTF-8 cannot be stored; the tool is asked again next time. */
    if (entry != NULL && json_object_set_new(cache->entries, path, entry) == 0) {
        cache->changed = true;
    }
}

void ik_tool_cache_save(ik_tool_cache_t *cache)
{
    void *next;
    const char *path;
    json_t *entry;
    if (!cache->changed) {
        return;
    }
    json_object_foreach_safe(cache->entries, next, path, entry)
    {
        struct stat status;
        if (stat(path, &status) != 0) {
            json_object_del(cache->entries, path);
        }
    }
    json_t *root = json_pack("{s:i, s:O}", "format", FORMAT, "entries", cache->entries);
    char *text = ik_json_format(cache, root);
    json_decref(root);
    res_t made = ik_file_make_private_folder(cache->folder);
    if (is_ok(&made)) {
        ik_file_write_private(cache->file, text, strlen(text));
    }
    talloc_free(text);
    cache->changed = false;
}
