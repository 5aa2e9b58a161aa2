#include "base/config_server.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/config_secret.h"
#include "base/utf8.h"

enum {
    NAME_MAX_LENGTH = 64,
    TEXT_MAX = 64 * 1024,
    LIST_MAX = 1000,
    SECONDS_MAX = 24 * 60 * 60,
    EXPANDED_MAX = 1024 * 1024,
};

static const char name_characters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-0123456789";

bool ik_config_server_is_name(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len <= NAME_MAX_LENGTH && strspn(name, name_characters) == len;
}

/* --- the members of an entry ------------------------------------------------------------- */

typedef struct {
    ik_config_loader_t *loader;
    ik_config_server_t *server;
    const char *label; /* mcpServers.NAME */
    bool failed;
} reading_t;

static void fail(reading_t *reading, ik_json_span_t at, const char *member, const char *what)
{
    reading->failed = true;
    ik_config_loader_fail(reading->loader, IK_ERR_INVALID, at.text, "%s%s %s", reading->label,
                          member, what);
}

/* A string without NUL that is not too long; NULL after a fault was reported. */
static const char *read_text(reading_t *reading, const char *member, ik_json_span_t value)
{
    size_t len = 0;
    char *text =
        ik_json_kind(value) == IK_JSON_STRING ? ik_json_decode(reading->server, value, &len) : NULL;
    const char *fault = text == NULL                ? "must be a string"
                        : strlen(text) != len       ? "must not contain \\u0000"
                        : len > TEXT_MAX            ? "is too long"
                        : !ik_utf8_valid(text, len) ? "is not UTF-8"
                                                    : NULL;
    if (fault != NULL) {
        fail(reading, value, member, fault);
        return NULL;
    }
    return text;
}

/* Appends to a list that ends with NULL. */
static void append(reading_t *reading, const char ***list, size_t *count, const char *text)
{
    *list = ik_resize_array(reading->server, *list, const char *, *count + 2);
    (*list)[(*count)++] = text;
    (*list)[*count] = NULL;
}

static const char **read_list(reading_t *reading, const char *member, ik_json_span_t value)
{
    if (ik_json_kind(value) != IK_JSON_ARRAY) {
        fail(reading, value, member, "must be an array of strings");
        return NULL;
    }
    const char **list = ik_new_array(reading->server, const char *, 1);
    size_t count = 0;
    size_t position = 0;
    ik_json_span_t element;
    while (ik_json_next_element(value, &position, &element)) {
        const char *text = read_text(reading, member, element);
        if (text != NULL && count == LIST_MAX) {
            fail(reading, element, member, "has more than 1000 elements");
        }
        if (text == NULL || count == LIST_MAX) {
            return NULL;
        }
        append(reading, &list, &count, text);
    }
    return list;
}

static bool is_variable(const char *name)
{
    return *name != '\0' && strchr(name, '-') == NULL && strchr("0123456789", *name) == NULL &&
           name[strspn(name, name_characters)] == '\0';
}

/* A name of a header by RFC 9110. */
static bool is_header(const char *name)
{
    static const char marks[] = "!#$%&'*+-.^_`|~0123456789";
    size_t len = 0;
    for (; name[len] != '\0'; len++) {
        char letter = (char)(name[len] | 0x20);
        if (strchr(marks, name[len]) == NULL && (letter < 'a' || letter > 'z')) {
            return false;
        }
    }
    return len > 0;
}

/* Pairs of name and value. */
static const char **read_pairs(reading_t *reading, const char *member, ik_json_span_t value,
                               bool (*is_valid)(const char *name), const char *what)
{
    if (ik_json_kind(value) != IK_JSON_OBJECT) {
        fail(reading, value, member, "must be an object of names and values");
        return NULL;
    }
    const char **list = ik_new_array(reading->server, const char *, 1);
    size_t count = 0;
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t each;
    while (ik_json_next_member(value, &position, &key, &each)) {
        size_t len;
        const char *name = ik_json_decode(reading->server, key, &len);
        if (strlen(name) != len || !is_valid(name) || count >= (size_t)2 * LIST_MAX) {
            fail(reading, key, member, what);
            return NULL;
        }
        const char *text = read_text(reading, member, each);
        if (text == NULL) {
            return NULL;
        }
        append(reading, &list, &count, name);
        append(reading, &list, &count, text);
    }
    return list;
}

static long read_seconds(reading_t *reading, const char *member, ik_json_span_t value)
{
    bool whole = ik_json_kind(value) == IK_JSON_NUMBER && value.len <= 6 &&
                 strspn(value.text, "0123456789") >= value.len;
    long seconds = whole ? strtol(value.text, NULL, 10) : 0;
    if (seconds < 1 || seconds > SECONDS_MAX) {
        fail(reading, value, member, "must be a whole number of seconds from 1 to 86400");
    }
    return seconds;
}

static bool read_boolean(reading_t *reading, const char *member, ik_json_span_t value)
{
    if (ik_json_kind(value) != IK_JSON_BOOLEAN) {
        fail(reading, value, member, "must be true or false");
    }
    return value.text[0] == 't';
}

/* The index of the text in choices, which ends with NULL. */
static int read_choice(reading_t *reading, const char *member, ik_json_span_t value,
                       const char *const *choices, const char *what)
{
    for (int i = 0; choices[i] != NULL; i++) {
        if (ik_json_is_text(value, choices[i])) {
            return i;
        }
    }
    fail(reading, value, member, what);
    return 0;
}

static void read_effects(reading_t *reading, const char *member, ik_json_span_t value)
{
    ik_config_server_t *server = reading->server;
    static const char *const writes[] = {"none", "project", "anywhere", NULL};
    static const char what[] =
        "must be {\"write\": \"none\", \"project\" or \"anywhere\", \"network\": true or false}";
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t each;
    server->has_effects = true;
    if (ik_json_kind(value) != IK_JSON_OBJECT) {
        fail(reading, value, member, what);
        return;
    }
    while (ik_json_next_member(value, &position, &key, &each)) {
        if (ik_json_key_is(key, "write")) {
            server->effects.write = (ik_write_t)read_choice(reading, member, each, writes, what);
        } else if (ik_json_key_is(key, "network") && ik_json_kind(each) == IK_JSON_BOOLEAN) {
            server->effects.network = each.text[0] == 't';
        } else {
            fail(reading, key, member, what);
        }
    }
}

static void read_oauth(reading_t *reading, const char *member, ik_json_span_t value)
{
    ik_config_server_t *server = reading->server;
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t each;
    if (ik_json_kind(value) != IK_JSON_OBJECT) {
        fail(reading, value, member, "must be an object");
        return;
    }
    while (ik_json_next_member(value, &position, &key, &each)) {
        if (ik_json_key_is(key, "client_id")) {
            server->oauth_id = read_text(reading, ".oauth.client_id", each);
        } else if (ik_json_key_is(key, "client_secret")) {
            server->oauth_secret = read_text(reading, ".oauth.client_secret", each);
        } else if (ik_json_key_is(key, "scope")) {
            server->oauth_scope = read_text(reading, ".oauth.scope", each);
        } else {
            ik_config_loader_warn(reading->loader, key.text, "unknown key %s.oauth.%.*s",
                                  reading->label, (int)key.len - 2, key.text + 1);
        }
    }
}

static void read_member(reading_t *reading, ik_json_span_t key, ik_json_span_t value)
{
    static const char *const types[] = {"stdio", "http", "streamable-http", "sse", NULL};
    static const char *const protocols[] = {"auto", "legacy", "modern", NULL};
    ik_config_server_t *server = reading->server;
    char *name = ik_json_decode(reading->loader->scratch, key, NULL);
    const char *member =
        ik_sprintf(reading->loader->scratch, ".%s", ik_config_loader_show(reading->loader, name));
    if (strcmp(name, "command") == 0) {
        server->command = read_text(reading, member, value);
    } else if (strcmp(name, "args") == 0) {
        server->args = read_list(reading, member, value);
    } else if (strcmp(name, "env") == 0) {
        server->env = read_pairs(reading, member, value, is_variable,
                                 "must have names of environment variables");
    } else if (strcmp(name, "cwd") == 0) {
        server->cwd = read_text(reading, member, value);
    } else if (strcmp(name, "url") == 0 || strcmp(name, "httpUrl") == 0) {
        server->url = read_text(reading, member, value);
    } else if (strcmp(name, "headers") == 0) {
        server->headers =
            read_pairs(reading, member, value, is_header, "must have names of HTTP headers");
    } else if (strcmp(name, "type") == 0) {
        int type = read_choice(reading, member, value, types,
                               "must be \"stdio\", \"http\", \"streamable-http\" or \"sse\"");
        server->type = type == 0   ? IK_CONFIG_SERVER_STDIO
                       : type == 3 ? IK_CONFIG_SERVER_SSE
                                   : IK_CONFIG_SERVER_HTTP;
    } else if (strcmp(name, "enabled") == 0) {
        server->enabled = read_boolean(reading, member, value);
    } else if (strcmp(name, "disabled") == 0) {
        server->enabled = !read_boolean(reading, member, value);
    } else if (strcmp(name, "allow_tools") == 0) {
        server->allow_tools = read_list(reading, member, value);
    } else if (strcmp(name, "deny_tools") == 0) {
        server->deny_tools = read_list(reading, member, value);
    } else if (strcmp(name, "effects") == 0) {
        read_effects(reading, member, value);
    } else if (strcmp(name, "timeout_seconds") == 0) {
        server->timeout_seconds = read_seconds(reading, member, value);
    } else if (strcmp(name, "start_timeout_seconds") == 0) {
        server->start_timeout_seconds = read_seconds(reading, member, value);
    } else if (strcmp(name, "protocol") == 0) {
        server->protocol = (ik_config_protocol_t)read_choice(
            reading, member, value, protocols, "must be \"auto\", \"legacy\" or \"modern\"");
    } else if (strcmp(name, "pass_env") == 0) {
        server->pass_env = read_list(reading, member, value);
    } else if (strcmp(name, "oauth") == 0) {
        read_oauth(reading, member, value);
    } else {
        ik_config_loader_warn(reading->loader, key.text, "unknown key %s%s", reading->label,
                              member);
    }
}

/* --- entries ----------------------------------------------------------------------------- */

void ik_config_server_add(ik_config_servers_t *servers, ik_config_server_t *server)
{
    for (size_t i = 0; i < servers->count; i++) {
        if (strcmp(servers->list[i]->name, server->name) == 0) {
            servers->list[i] = server;
            return;
        }
    }
    servers->list =
        ik_resize_array(servers, servers->list, ik_config_server_t *, servers->count + 1);
    servers->list[servers->count++] = server;
}

static void read_entry(ik_config_loader_t *loader, ik_config_servers_t *servers, const char *name,
                       ik_json_span_t name_span, ik_json_span_t entry)
{
    if (!ik_config_server_is_name(name)) {
        ik_config_loader_warn(loader, name_span.text,
                              "'%s' is not a valid name of a server: letters, digits, - and _, at "
                              "most 64",
                              ik_config_loader_show(loader, name));
        return;
    }
    if (servers->count == IK_CONFIG_ENTRY_MAX) {
        ik_config_loader_fail(loader, IK_ERR_LIMIT, name_span.text, "more than %d servers",
                              IK_CONFIG_ENTRY_MAX);
        return;
    }
    ik_config_server_t *server = ik_new(servers, ik_config_server_t);
    server->name = ik_strdup(server, name);
    server->source = loader->source;
    server->enabled = true;
    server->start_timeout_seconds = 30;
    server->definition = ik_strndup(server, entry.text, entry.len);
    reading_t reading = {.loader = loader,
                         .server = server,
                         .label = ik_sprintf(loader->scratch, "mcpServers.%s", name)};
    if (ik_json_kind(entry) != IK_JSON_OBJECT) {
        fail(&reading, entry, "", "must be an object");
    }
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    while (!reading.failed && ik_json_next_member(entry, &position, &key, &value)) {
        read_member(&reading, key, value);
    }
    if (server->type == IK_CONFIG_SERVER_UNSET) {
        server->type = server->url != NULL && server->command == NULL ? IK_CONFIG_SERVER_HTTP
                                                                      : IK_CONFIG_SERVER_STDIO;
    }
    if (reading.failed) {
        talloc_free(server);
    } else {
        ik_config_server_add(servers, server);
    }
}

void ik_config_server_read(ik_config_loader_t *loader, const char *name, ik_json_span_t name_span,
                           ik_json_span_t entry)
{
    ik_config_t *config = loader->config;
    if (config->servers == NULL) {
        config->servers = ik_new(config, ik_config_servers_t);
    }
    read_entry(loader, config->servers, name, name_span, entry);
}

static void read_project(ik_config_loader_t *loader, ik_config_servers_t *servers,
                         ik_json_span_t root)
{
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    if (ik_json_kind(root) != IK_JSON_OBJECT) {
        ik_config_loader_warn(loader, NULL, "it is not a JSON object");
        return;
    }
    while (ik_json_next_member(root, &position, &key, &value)) {
        size_t inner = 0;
        ik_json_span_t name;
        ik_json_span_t entry;
        if (!ik_json_key_is(key, "mcpServers")) {
            char *text = ik_json_decode(loader->scratch, key, NULL);
            ik_config_loader_warn(loader, key.text, "unknown key %s",
                                  ik_config_loader_show(loader, text));
        } else if (ik_json_kind(value) != IK_JSON_OBJECT) {
            ik_config_loader_warn(loader, value.text, "mcpServers must be an object");
        } else {
            while (ik_json_next_member(value, &inner, &name, &entry)) {
                read_entry(loader, servers, ik_json_decode(loader->scratch, name, NULL), name,
                           entry);
            }
        }
    }
}

ik_config_servers_t *ik_config_server_parse_project(const void *ctx, const char *path,
                                                    const char *text, size_t len)
{
    ik_config_servers_t *servers = ik_new(ctx, ik_config_servers_t);
    ik_config_loader_t loader = {.config = ik_new(servers, ik_config_t),
                                 .scratch = talloc_new(NULL),
                                 .error = OK,
                                 .source = IK_CONFIG_PROJECT,
                                 .origin = path,
                                 .text = text};
    ik_json_span_t root;
    ik_json_fault_t fault;
    if (!ik_json_scan(text, len, &root, &fault)) {
        ik_config_loader_warn(&loader, text + fault.offset, "invalid JSON: %s", fault.reason);
    } else {
        read_project(&loader, servers, root);
    }
    servers->warnings = loader.config->warnings;
    servers->warning_count = loader.config->warning_count;
    talloc_free(loader.scratch);
    return servers;
}

/* --- variables --------------------------------------------------------------------------- */

/* NULL when the variable is not set. */
static const char *look_up(const ik_config_t *config, bool of_project, const char *name)
{
    for (size_t i = 0; i < config->secret_count; i++) {
        if (strcmp(config->secrets[i].name, name) == 0) {
            return of_project ? NULL : config->secrets[i].value;
        }
    }
    return getenv(name);
}

char *ik_config_server_expand(const void *ctx, const ik_config_t *config, bool of_project,
                              const char *text, char **missing)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, EXPANDED_MAX);
    ik_buffer_append_text(&out, "");
    *missing = NULL;
    while (*text != '\0' && *missing == NULL) {
        const char *dollar = strstr(text, "${");
        const char *end = dollar == NULL ? NULL : strchr(dollar, '}');
        if (end == NULL) {
            ik_buffer_append_text(&out, text);
            break;
        }
        ik_buffer_append(&out, text, (size_t)(dollar - text));
        char *inside = ik_strndup(ctx, dollar + 2, (size_t)(end - dollar - 2));
        char *fallback = strstr(inside, ":-");
        if (fallback != NULL) {
            *fallback = '\0';
            fallback += 2;
        }
        const char *value = look_up(config, of_project, inside);
        bool empty = value == NULL || (*value == '\0' && fallback != NULL);
        if (!is_variable(inside)) { /* something else that looks like it */
            ik_buffer_append(&out, dollar, (size_t)(end + 1 - dollar));
        } else if (!empty) {
            ik_buffer_append_text(&out, value);
        } else if (fallback != NULL) {
            ik_buffer_append_text(&out, fallback);
        } else {
            *missing = ik_strdup(ctx, inside);
        }
        talloc_free(inside);
        text = end + 1;
    }
    char *expanded = ik_buffer_finish(&out);
    if (*missing != NULL) {
        TALLOC_FREE(expanded);
    }
    return expanded;
}
