/*
 * The small files that ikigai reads by itself, with any content: what was typed before, the trust
 * in projects, the cache of schemas, AGENTS.md. The first byte chooses which one it is.
 */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_prompt.h"
#include "folder.h"
#include "terminal/recall.h"
#include "tool/tool_cache.h"
#include "trust/trust.h"

/* --- what was typed before ---------------------------------------------------------------- */

static void check_entries(ik_recall_t *recall)
{
    REQUIRE(ik_recall_count(recall) <= IK_RECALL_MAX);
    for (size_t i = 0; i < ik_recall_count(recall); i++) {
        const char *text = ik_recall_entry(recall, i);
        REQUIRE(strlen(text) <= IK_RECALL_ENTRY_MAX);
        REQUIRE(strspn(text, " \t\r\n") < strlen(text));
        REQUIRE(ik_recall_find_prefix(recall, 0, true, text, "") <= i);
    }
}

static void check_recall(const void *ctx, const uint8_t *bytes, size_t len)
{
    char *path = folder_path(ctx, "history");
    folder_write(path, bytes, len);
    ik_recall_t *recall = ik_recall_create(ctx, path);
    check_entries(recall);
    size_t count = ik_recall_count(recall);
    bool known = ik_recall_find_prefix(recall, 0, true, "new words", "") < count;
    ik_recall_add(recall, "new words");
    ik_recall_t *again = ik_recall_create(ctx, path);
    check_entries(again);
    REQUIRE(strcmp(ik_recall_entry(again, 0), "new words") == 0);
    REQUIRE(known || count == IK_RECALL_MAX || ik_recall_count(again) == count + 1);
}

/* --- trust -------------------------------------------------------------------------------- */

static void check_trust(const void *ctx, const uint8_t *bytes, size_t len)
{
    ik_paths_t paths = {.home = folder_path(ctx, "home"),
                        .trusted = folder_path(ctx, "home/trusted"),
                        .trust_file = folder_path(ctx, "home/trust.json")};
    char *project = folder_path(ctx, "tools");
    char *tool = folder_path(ctx, "tools/tool");
    if (access(tool, F_OK) != 0) {
        REQUIRE(mkdir(paths.home, 0700) == 0 && mkdir(project, 0700) == 0);
        folder_write(tool, "#!/bin/sh\n", 10);
        REQUIRE(chmod(tool, 0700) == 0);
    }
    folder_write(paths.trust_file, bytes, len);
    ik_trust_status_t *status = ik_trust_check(ctx, &paths, project);
    switch (status->state) {
    case IK_TRUST_REFUSED:
        REQUIRE(status->reason != NULL);
        break;
    case IK_TRUST_CHANGED:
        REQUIRE(status->changed != NULL);
        break;
    case IK_TRUST_GIVEN:
        REQUIRE(memmem(bytes, len, status->snapshot->hash, IK_TRUST_SNAPSHOT_HASH_LENGTH) != NULL);
        break;
    default:
        REQUIRE(status->state == IK_TRUST_NEVER);
    }
    bool known;
    res_t revoked = ik_trust_revoke(&paths, project, &known);
    REQUIRE(is_ok(&revoked) == (status->state != IK_TRUST_REFUSED));
}

/* --- the cache ---------------------------------------------------------------------------- */

static void check_cache(const void *ctx, const uint8_t *bytes, size_t len)
{
    char *folder = folder_path(ctx, "cache");
    struct stat status = {.st_ino = 7, .st_size = 100};
    size_t schema_len;
    mkdir(folder, 0700);
    folder_write(folder_path(ctx, "cache/schemas.json"), bytes, len);
    ik_tool_cache_t *cache = ik_tool_cache_create(ctx, folder);
    const char *schema = ik_tool_cache_lookup(cache, "/tool", &status, &schema_len);
    REQUIRE(schema == NULL || strlen(schema) <= schema_len);
    ik_tool_cache_put(cache, "/", &status, "{}", 2);
    ik_tool_cache_save(cache);
    cache = ik_tool_cache_create(ctx, folder);
    schema = ik_tool_cache_lookup(cache, "/", &status, &schema_len);
    REQUIRE(schema != NULL && strcmp(schema, "{}") == 0);
}

/* --- AGENTS.md ---------------------------------------------------------------------------- */

static void check_instructions(const void *ctx, const uint8_t *bytes, size_t len)
{
    char *cwd = folder_path(ctx, "project");
    ik_instructions_t *found;
    mkdir(cwd, 0700);
    folder_write(folder_path(ctx, "project/AGENTS.md"), bytes, len);
    res_t result = ik_instructions_find(ctx, NULL, cwd, &found);
    REQUIRE(is_ok(&result) && found->count <= 1);
    for (size_t i = 0; i < found->count; i++) {
        const ik_instruction_t *file = &found->files[i];
        REQUIRE(file->size == len);
        REQUIRE(ik_utf8_valid(file->text, strlen(file->text)));
        pieces_require_line(ik_instructions_format(ctx, file));
    }
    char *prompt =
        ik_agent_prompt_create(ctx, &(ik_agent_prompt_facts_t){.cwd = cwd, .instructions = found});
    REQUIRE(ik_utf8_valid(prompt, strlen(prompt)));
    REQUIRE(strlen(prompt) <= 2 * IK_INSTRUCTIONS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static void (*const checks[])(const void *, const uint8_t *, size_t) = {
        check_recall, check_trust, check_cache, check_instructions};
    if (len < 1) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    checks[bytes[0] % (sizeof(checks) / sizeof(checks[0]))](ctx, bytes + 1, len - 1);
    talloc_free(ctx);
    return 0;
}
