/*
 * The index of a git repository, and its configuration. Input: a byte whose lowest bit chooses
 * SHA-256, then the bytes of the index without its checksum; the same bytes as configuration and as
 * attributes.
 */
#include <stdint.h>

#include "base/alloc.h"
#include "checkpoint/git_config.h"
#include "checkpoint/git_index.h"
#include "checkpoint/git_repository.h"
#include "pieces.h"

static void on_value(void *data, const char *name, const char *value)
{
    size_t *total = data;
    *total += strlen(name) + strlen(value);
    REQUIRE(strchr(name, '\n') == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0) {
        return 0;
    }
    size_t object_size = (bytes[0] & 1) != 0 ? 32 : 20;
    size_t index_len = len - 1 + object_size;
    char *index_bytes = calloc(1, index_len);
    memcpy(index_bytes, bytes + 1, len - 1);
    void *ctx = talloc_new(NULL);
    const char *shared;
    ik_git_index_t *index = ik_git_index_parse(ctx, index_bytes, index_len, object_size, &shared);
    for (size_t i = 0; index != NULL && i < index->count; i++) {
        const ik_git_index_entry_t *entry = &index->entries[i];
        REQUIRE(strlen(entry->path) == entry->len && entry->len > 0);
        REQUIRE(i == 0 || strcmp(entry[-1].path, entry->path) <= 0);
        REQUIRE(ik_git_index_tracks(index, entry->path, entry->len));
        REQUIRE((const char *)entry->object >= index_bytes &&
                (const char *)entry->object + object_size <= index_bytes + index_len);
    }
    REQUIRE(index == NULL || ik_git_index_is_whole(index)); /* zeros stand for no checksum */
    REQUIRE(shared == NULL || strlen(shared) == 2 * object_size);
    char *text = pieces_copy(bytes, len);
    size_t total = 0;
    ik_git_config_parse(text, len, on_value, &total);
    ik_ignore_t *rules = ik_git_repository_add_attributes(ctx, text, len, 0, NULL);
    ik_ignore_decide(rules, "sub/file.c", 10, 4, false);
    free(text);
    talloc_free(ctx);
    free(index_bytes);
    return 0;
}
