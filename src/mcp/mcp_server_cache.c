/* What is remembered of a server between runs: what it said about itself, its tools and its log. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "mcp/mcp_server_state.h"

enum {
    CACHE_MAX = 16 * 1024 * 1024,
    CACHE_FORMAT = 1,
};

static char *cache_file(const void *ctx, const ik_paths_t *paths, const ik_config_server_t *config)
{
    if (config->source != IK_CONFIG_PROJECT) {
        return ik_sprintf(ctx, "%s/servers/%s.json", paths->cache, config->name);
    }
    uint64_t project = ik_hash_bytes(paths->cwd, strlen(paths->cwd));
    return ik_sprintf(ctx, "%s/servers/%s@%016" PRIx64 ".json", paths->cache, config->name,
                      project);
}

/* Another definition is another server. */
static char *cache_key(const void *ctx, const ik_config_server_t *config)
{
    return ik_sprintf(ctx, "%016" PRIx64,
                      ik_hash_bytes(config->definition, strlen(config->definition)));
}

static const char *const status_names[] = {"new", "ready", "failed", "login"};

const char *ik_mcp_server_keep_text(ik_mcp_server_t *server, json_t *text)
{
    const char *value = json_string_value(text);
    return value == NULL ? NULL : ik_strdup(server->texts, value);
}

void ik_mcp_server_load(ik_mcp_server_t *server)
{
    char *text;
    size_t len;
    server->file = cache_file(server, server->options->paths, server->config);
    res_t read = ik_file_read(NULL, server->file, CACHE_MAX, &text, &len);
    if (is_err(&read)) {
        return;
    }
    json_t *root = ik_json_parse(text, len, NULL);
    talloc_free(text);
    char *key = cache_key(server, server->config);
    const char *kept = json_string_value(json_object_get(root, "key"));
    bool same = json_integer_value(json_object_get(root, "format")) == CACHE_FORMAT &&
                kept != NULL && strcmp(kept, key) == 0;
    talloc_free(key);
    if (same) {
        ik_mcp_facts_t *facts = &server->facts;
        const char *status = json_string_value(json_object_get(root, "status"));
        for (size_t i = 0; status != NULL && i < IK_LENGTH(status_names); i++) {
            facts->status =
                strcmp(status, status_names[i]) == 0 ? (ik_mcp_status_t)i : facts->status;
        }
        facts->error = ik_mcp_server_keep_text(server, json_object_get(root, "error"));
        facts->modern = json_is_true(json_object_get(root, "modern"));
        facts->version = ik_mcp_server_keep_text(server, json_object_get(root, "version"));
        facts->name = ik_mcp_server_keep_text(server, json_object_get(root, "name"));
        facts->server_version =
            ik_mcp_server_keep_text(server, json_object_get(root, "server_version"));
        facts->instructions =
            ik_mcp_server_keep_text(server, json_object_get(root, "instructions"));
        json_t *tools = json_object_get(root, "tools");
        facts->tools = json_is_array(tools) ? ik_mcp_tools_from_json(server->texts, tools) : NULL;
    }
    ik_mcp_log_load(server->log, json_object_get(root, "log"));
    json_decref(root);
}

static void set_text(json_t *object, const char *name, const char *text)
{
    if (text != NULL) {
        json_object_set_new(object, name, json_string(text));
    }
}

/* A failure to save costs only the next start. */
void ik_mcp_server_save(ik_mcp_server_t *server)
{
    const ik_mcp_facts_t *facts = &server->facts;
    void *scratch = talloc_new(NULL);
    json_t *root =
        json_pack("{s:i, s:s, s:s, s:b, s:o}", "format", CACHE_FORMAT, "key",
                  cache_key(scratch, server->config), "status", status_names[facts->status],
                  "modern", facts->modern, "log", ik_mcp_log_to_json(server->log));
    set_text(root, "error", facts->error);
    set_text(root, "version", facts->version);
    set_text(root, "name", facts->name);
    set_text(root, "server_version", facts->server_version);
    set_text(root, "instructions", facts->instructions);
    if (facts->tools != NULL) {
        json_object_set_new(root, "tools", ik_mcp_tools_to_json(facts->tools));
    }
    char *text = ik_json_format(scratch, root);
    char *folder = ik_file_folder(scratch, server->file);
    res_t saved = ik_file_make_private_folder(server->options->paths->home);
    saved = is_ok(&saved) ? ik_file_make_private_folder(server->options->paths->cache) : saved;
    saved = is_ok(&saved) ? ik_file_make_private_folder(folder) : saved;
    if (is_ok(&saved)) {
        ik_file_write_private_fast(server->file, text, strlen(text));
    }
    json_decref(root);
    talloc_free(scratch);
}

void ik_mcp_server_forget(const ik_paths_t *paths, const ik_config_server_t *config)
{
    char *file = cache_file(NULL, paths, config);
    unlink(file);
    talloc_free(file);
}

void ik_mcp_server_set_status(ik_mcp_server_t *server, ik_mcp_status_t status, const char *error)
{
    server->facts.status = status;
    server->facts.error = error == NULL ? NULL : ik_strdup(server->texts, error);
}
