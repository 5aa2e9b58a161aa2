/* The MCP servers that an editor names for a session: the user's own, as far as ikigai knows. */
#include <string.h>

#include "acp/acp_state.h"
#include "base/alloc.h"
#include "base/config_server.h"

enum {
    NAME_MAX_BYTES = 64,
    SERVERS_MAX = 100,
    START_SECONDS = 30,
};

/* The name as ikigai can use it, on ctx: editors show any text. */
static char *clean_name(const void *ctx, const char *name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    char *clean = ik_strndup(ctx, name, strnlen(name, NAME_MAX_BYTES));
    for (char *c = clean; *c != '\0'; c++) {
        *c = strchr(allowed, *c) == NULL ? '_' : *c;
    }
    return clean;
}

static bool has_name(const ik_config_servers_t *servers, const char *name)
{
    for (size_t i = 0; i < servers->count; i++) {
        if (strcmp(servers->list[i]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Different texts may become one name, which gets a number then. */
static char *choose_name(const void *ctx, const ik_config_servers_t *servers, const char *text)
{
    enum { NUMBER_MAX_BYTES = 4 }; /* "_100" */
    char *clean = clean_name(ctx, text);
    char *name = clean;
    for (size_t number = 2; has_name(servers, name); number++) {
        name = ik_sprintf(ctx, "%.*s_%zu", NAME_MAX_BYTES - NUMBER_MAX_BYTES, clean, number);
    }
    return name;
}

/* A list of strings, NULL-terminated, on ctx; pairs: of [{"name", "value"}], one after the other.
 * false: it is none. */
static bool read_list(const void *ctx, ik_json_span_t entry, const char *member, bool pairs,
                      const char ***out)
{
    ik_json_span_t list, item;
    size_t position = 0;
    size_t count = 0;
    *out = ik_new_array(ctx, const char *, 1);
    if (!ik_json_find(entry, member, &list) || ik_json_kind(list) == IK_JSON_NULL) {
        return true;
    }
    if (ik_json_kind(list) != IK_JSON_ARRAY) {
        return false;
    }
    while (ik_json_next_element(list, &position, &item)) {
        char *first = NULL;
        char *second = NULL;
        if (pairs) {
            first = ik_acp_text(ctx, item, "name");
            second = ik_acp_text(ctx, item, "value");
        } else if (ik_json_kind(item) == IK_JSON_STRING) {
            first = ik_json_decode(ctx, item, NULL);
        }
        if (first == NULL || (pairs && second == NULL)) {
            return false;
        }
        *out = ik_resize_array(ctx, *out, const char *, count + 3);
        (*out)[count++] = first;
        if (pairs) {
            (*out)[count++] = second;
        }
        (*out)[count] = NULL;
    }
    return true;
}

/* On servers, which it will belong to. NULL: the entry is not as the protocol says. */
static ik_config_server_t *read_server(const ik_config_servers_t *servers, ik_json_span_t entry)
{
    ik_config_server_t *server = ik_new(servers, ik_config_server_t);
    if (ik_json_kind(entry) != IK_JSON_OBJECT) {
        return NULL;
    }
    char *name = ik_acp_text(server, entry, "name");
    char *type = ik_acp_text(server, entry, "type");
    bool remote = type != NULL && strcmp(type, "stdio") != 0;
    server->type = !remote                     ? IK_CONFIG_SERVER_STDIO
                   : strcmp(type, "http") == 0 ? IK_CONFIG_SERVER_HTTP
                                               : IK_CONFIG_SERVER_SSE;
    server->name = name == NULL || *name == '\0' ? NULL : choose_name(server, servers, name);
    server->source = IK_CONFIG_USER;
    server->literal = true; /* the editor has expanded what it wants to be expanded */
    server->definition = ik_strndup(server, entry.text, entry.len);
    server->enabled = true;
    server->start_timeout_seconds = START_SECONDS;
    server->command = remote ? NULL : ik_acp_text(server, entry, "command");
    server->url = remote ? ik_acp_text(server, entry, "url") : NULL;
    bool valid = server->name != NULL && (remote ? server->url : server->command) != NULL &&
                 read_list(server, entry, "args", false, &server->args) &&
                 read_list(server, entry, "env", true, &server->env) &&
                 read_list(server, entry, "headers", true, &server->headers);
    return valid ? server : NULL;
}

bool ik_acp_servers_read(const void *ctx, ik_json_span_t params, ik_config_servers_t **out)
{
    ik_json_span_t list, entry;
    size_t position = 0;
    ik_config_servers_t *servers = ik_new(ctx, ik_config_servers_t);
    *out = servers;
    if (!ik_json_is(params, IK_JSON_OBJECT) || !ik_json_find(params, "mcpServers", &list) ||
        ik_json_kind(list) == IK_JSON_NULL) {
        return true;
    }
    if (ik_json_kind(list) != IK_JSON_ARRAY) {
        return false;
    }
    while (ik_json_next_element(list, &position, &entry)) {
        ik_config_server_t *server = read_server(servers, entry);
        if (server == NULL || servers->count == SERVERS_MAX) {
            return false;
        }
        ik_config_server_add(servers, server);
    }
    return true;
}

void ik_acp_servers_adopt(ik_config_t *config, ik_config_servers_t *servers)
{
    talloc_steal(config, servers); /* the entries that are added are its children */
    if (config->servers == NULL && servers->count > 0) {
        config->servers = ik_new(config, ik_config_servers_t);
    }
    for (size_t i = 0; i < servers->count; i++) {
        ik_config_server_add(config->servers, servers->list[i]);
    }
}
