/* `ikigai mcp add`, `list`, `show` and `remove`: the servers that provide tools. */
#include <string.h>

#include "base/alloc.h"
#include "base/config_server.h"
#include "base/json_file.h"
#include "base/print.h"
#include "base/url_host.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "mcp/mcp_oauth.h"

/* --- describing -------------------------------------------------------------------------- */

static const char *status_name(const ik_mcp_item_t *item)
{
    static const char *const names[] = {"new", "ready", "failed", "login"};
    return !item->config->enabled ? "disabled"
           : item->untrusted      ? "untrusted"
                                  : names[ik_mcp_server_facts(item->server)->status];
}

static json_t *text_or_null(const char *text)
{
    json_t *value = text == NULL ? NULL : json_string(text);
    return value == NULL ? json_null() : value;
}

static json_t *list_json(const char *const *list)
{
    json_t *array = json_array();
    for (; list != NULL && *list != NULL; list++) {
        json_array_append_new(array, json_string(*list));
    }
    return array;
}

/* Values of variables and headers are secrets. */
static json_t *names_json(const char *const *pairs)
{
    json_t *object = json_object();
    for (size_t i = 0; pairs != NULL && pairs[i] != NULL; i += 2) {
        json_object_set_new(object, pairs[i], json_string("***"));
    }
    return object;
}

static json_t *describe(const ik_mcp_item_t *item)
{
    const ik_config_server_t *config = item->config;
    const ik_mcp_facts_t *facts = item->server == NULL ? NULL : ik_mcp_server_facts(item->server);
    bool http = config->type != IK_CONFIG_SERVER_STDIO;
    json_t *described =
        json_pack("{s:s, s:s, s:s}", "name", config->name, "source",
                  ik_config_source_name(config->source), "type", http ? "http" : "stdio");
    if (http) {
        char *shown = config->url == NULL ? NULL : ik_config_hide_password(NULL, config->url);
        json_object_set_new(described, "url", text_or_null(shown));
        talloc_free(shown);
    } else {
        json_object_set_new(described, "command", text_or_null(config->command));
        json_object_set_new(described, "args", list_json(config->args));
    }
    json_object_set_new(described, "env", names_json(config->env));
    json_object_set_new(described, "headers", names_json(config->headers));
    json_object_set_new(described, "enabled", json_boolean(config->enabled));
    json_object_set_new(described, "status", json_string(status_name(item)));
    json_object_set_new(described, "error", text_or_null(facts == NULL ? NULL : facts->error));
    json_object_set_new(described, "tools",
                        facts == NULL || facts->tools == NULL
                            ? json_null()
                            : json_integer((json_int_t)facts->tools->count));
    return described;
}

static void print_lines(const ik_mcp_t *mcp)
{
    const char *const *lines;
    size_t count = ik_mcp_lines(mcp, &lines);
    for (size_t i = 0; i < count; i++) {
        ik_print_line(stderr, lines[i]);
    }
    char *line = ik_mcp_trust_line(NULL, mcp);
    if (line != NULL) {
        ik_print_line(stderr, line);
    }
    talloc_free(line);
}

static int run_list(ik_cli_t *cli, const ik_cli_args_t *args)
{
    ik_mcp_t *mcp = ik_cli_servers(cli, ik_cli_args_has(args, "--trust"));
    bool as_json = ik_cli_args_has(args, "--json");
    json_t *list = json_array();
    ik_mcp_load(mcp);
    print_lines(mcp);
    for (size_t i = 0; i < ik_mcp_count(mcp); i++) {
        const ik_mcp_item_t *item = ik_mcp_item(mcp, i);
        json_t *described = describe(item);
        json_array_append_new(list, described);
        if (as_json) {
            continue;
        }
        json_t *tools = json_object_get(described, "tools");
        const char *error = json_string_value(json_object_get(described, "error"));
        char *target = ik_mcp_describe_target(cli->ctx, item->config);
        char *count = json_is_null(tools) ? ik_strdup(cli->ctx, "")
                                          : ik_sprintf(cli->ctx, "  %lld tool%s",
                                                       (long long)json_integer_value(tools),
                                                       json_integer_value(tools) == 1 ? "" : "s");
        ik_print_line(stdout, ik_sprintf(cli->ctx, "%-16s %-9s %s%s%s%s", item->config->name,
                                         status_name(item), target, count,
                                         error == NULL ? "" : "  ", error == NULL ? "" : error));
    }
    if (as_json) {
        ik_cli_print_json(list);
    } else if (ik_mcp_count(mcp) == 0) {
        puts("No servers. Add one with: ikigai mcp add NAME -- COMMAND");
    }
    json_decref(list);
    return IK_CLI_DONE;
}

/* --- show -------------------------------------------------------------------------------- */

typedef struct {
    bool done;
    bool failed;
} opening_t;

static void on_open(void *data, const char *why)
{
    *(opening_t *)data = (opening_t){.done = true, .failed = why != NULL};
}

static int fail_unknown(const char *name)
{
    char *line =
        ik_sprintf(NULL, "There is no server '%s'. Run ikigai mcp list to see them.", name);
    int status = ik_cli_fail(line);
    talloc_free(line);
    return status;
}

/* Prints why a tool is not used if the line begins as data, so that it is about this server. */
static void print_problem(void *data, const char *line)
{
    if (strncmp(line, data, strlen(data)) == 0) {
        ik_print_line(stderr, line);
    }
}

/* The name under which the registry has the tool; NULL: the tool is not used, because it is
 * switched off or its schema was refused. */
static const char *find_name(const ik_tool_registry_t *registry, const ik_mcp_item_t *item,
                             const char *tool)
{
    for (size_t i = 0; i < registry->count; i++) {
        const ik_tool_registry_entry_t *entry = registry->entries[i];
        if (entry->peer == item->server && strcmp(entry->tool, tool) == 0) {
            return entry->name;
        }
    }
    return NULL;
}

static json_t *describe_tools(ik_cli_t *cli, const ik_mcp_item_t *item)
{
    const ik_tool_supplier_t *supplier = ik_mcp_supplier(cli->mcp);
    char *prefix = ik_mcp_tool_name(cli->ctx, item->config->name, "");
    ik_tool_supply_t supply = {.registry = ik_tool_registry_create(cli->ctx),
                               .problem = print_problem,
                               .data = ik_sprintf(cli->ctx, "Tool '%s", prefix)};
    supplier->supply(supplier->supplier, &supply);
    json_t *list = json_array();
    const ik_mcp_tools_t *tools =
        item->server == NULL ? NULL : ik_mcp_server_facts(item->server)->tools;
    for (size_t i = 0; tools != NULL && i < tools->count; i++) {
        const char *tool = tools->list[i].tool;
        json_t *schema = ik_json_parse(tools->list[i].schema, strlen(tools->list[i].schema), NULL);
        json_t *description = json_object_get(schema, "description");
        const char *used = find_name(supply.registry, item, tool);
        const char *name = used != NULL ? used : json_string_value(json_object_get(schema, "name"));
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:o, s:b}", "name", name, "tool", tool, "description",
                            description == NULL ? json_null() : json_incref(description), "enabled",
                            used != NULL));
        json_decref(schema);
    }
    return list;
}

static json_t *describe_whole(ik_cli_t *cli, const ik_mcp_item_t *item)
{
    json_t *described = describe(item);
    const ik_mcp_facts_t *facts = item->server == NULL ? NULL : ik_mcp_server_facts(item->server);
    bool known = facts != NULL && facts->version != NULL;
    json_object_set_new(described, "era",
                        known ? json_string(facts->modern ? "modern" : "legacy") : json_null());
    json_object_set_new(described, "protocol_version", text_or_null(known ? facts->version : NULL));
    json_object_set_new(described, "server",
                        known ? json_pack("{s:o, s:o}", "name", text_or_null(facts->name),
                                          "version", text_or_null(facts->server_version))
                              : json_null());
    json_object_set_new(described, "instructions",
                        text_or_null(known ? facts->instructions : NULL));
    json_object_set_new(described, "tools", describe_tools(cli, item));
    json_object_set_new(described, "log",
                        item->server == NULL ? json_array()
                                             : ik_mcp_log_to_json(ik_mcp_server_log(item->server)));
    return described;
}

static void print_field(const char *label, json_t *value)
{
    if (json_is_string(value)) {
        char *line = ik_sprintf(NULL, "%-10s %s", label, json_string_value(value));
        ik_print_line(stdout, line);
        talloc_free(line);
    }
}

static void print_whole(ik_cli_t *cli, const ik_mcp_item_t *item, json_t *described)
{
    json_t *server = json_object_get(described, "server");
    const char *version = json_string_value(json_object_get(server, "version"));
    json_t *each;
    size_t i;
    ik_print_line(stdout, ik_sprintf(cli->ctx, "%s (%s): %s", item->config->name,
                                     ik_config_source_name(item->config->source),
                                     ik_mcp_describe_target(cli->ctx, item->config)));
    print_field("Status", json_object_get(described, "status"));
    print_field("Error", json_object_get(described, "error"));
    print_field("Server", json_object_get(server, "name"));
    if (version != NULL) {
        ik_print_line(stdout, ik_sprintf(cli->ctx, "%-10s %s", "Version", version));
    }
    print_field("Protocol", json_object_get(described, "protocol_version"));
    print_field("Says", json_object_get(described, "instructions"));
    json_array_foreach(json_object_get(described, "tools"), i, each)
    {
        if (i == 0) {
            puts("Tools:");
        }
        const char *text = json_string_value(json_object_get(each, "description"));
        ik_print_line(stdout,
                      ik_sprintf(cli->ctx, "  %s%s  %s",
                                 json_string_value(json_object_get(each, "name")),
                                 json_is_true(json_object_get(each, "enabled")) ? "" : " (off)",
                                 text == NULL ? "" : text));
    }
    json_array_foreach(json_object_get(described, "log"), i, each)
    {
        if (i == 0) {
            puts("Log:");
        }
        ik_print_line(stdout, ik_sprintf(cli->ctx, "  %s: %s",
                                         json_string_value(json_object_get(each, "level")),
                                         json_string_value(json_object_get(each, "text"))));
    }
}

static int run_show(ik_cli_t *cli, const ik_cli_args_t *args)
{
    ik_mcp_t *mcp = ik_cli_servers(cli, ik_cli_args_has(args, "--trust"));
    ik_mcp_load(mcp);
    const ik_mcp_item_t *item = ik_mcp_find(mcp, args->args[0]);
    if (item == NULL) {
        return fail_unknown(args->args[0]);
    }
    if (item->config->source == IK_CONFIG_PROJECT) {
        print_lines(mcp);
    }
    opening_t opening = {0};
    if (item->server != NULL) {
        ik_mcp_server_open(cli->ctx, item->server, true, on_open, &opening);
        ik_loop_run_until(cli->loop, &opening.done);
    }
    json_t *described = describe_whole(cli, item);
    if (ik_cli_args_has(args, "--json")) {
        ik_cli_print_json(described);
    } else {
        print_whole(cli, item, described);
    }
    json_decref(described);
    return opening.failed ? IK_CLI_FAILED : IK_CLI_DONE;
}

/* --- add and remove ---------------------------------------------------------------------- */

/* Splits "NAME=VALUE" or "NAME: VALUE". */
static bool add_pair(json_t *object, const char *text, char separator)
{
    const char *at = strchr(text, separator);
    if (at == NULL || at == text) {
        return false;
    }
    const char *value = at + 1;
    value += separator == ':' ? strspn(value, " \t") : 0;
    if (separator == ':' && strpbrk(value, "\r\n") != NULL) {
        return false;
    }
    char *name = ik_strndup(NULL, text, (size_t)(at - text));
    json_object_set_new(object, name, json_string(value));
    talloc_free(name);
    return true;
}

static bool are_utf8(const ik_cli_args_t *args)
{
    bool valid = true;
    for (int i = 0; i < args->count; i++) {
        valid = valid && ik_utf8_valid(args->args[i], strlen(args->args[i]));
    }
    for (int i = 0; i < args->given_count; i++) {
        const char *value = args->given[i].value;
        valid = valid && (value == NULL || ik_utf8_valid(value, strlen(value)));
    }
    return valid;
}

/* The entry that the words describe, a new reference; NULL: *fault says what is wrong. */
static json_t *make_entry(ik_cli_t *cli, const ik_cli_args_t *args, const char **fault)
{
    const char **env = ik_cli_args_values(cli->ctx, args, "--env");
    const char **headers = ik_cli_args_values(cli->ctx, args, "--header");
    const char *cwd = ik_cli_args_value(args, "--cwd");
    bool is_command = args->dashes_at == 1 && args->count > 1;
    const char *target = args->count > 1 ? args->args[1] : NULL;
    json_t *entry = json_object();
    json_t *pairs = json_object();
    *fault = NULL;
    if (!are_utf8(args)) {
        *fault = "A server's words and values must be UTF-8, because the configuration is JSON";
    } else if (is_command && target[strspn(target, " \t\r\n")] == '\0') {
        *fault = "The command after -- is empty";
    } else if (is_command) {
        json_object_set_new(entry, "command", json_string(target));
        json_object_set_new(entry, "args", json_array());
        for (int i = 2; i < args->count; i++) {
            json_array_append_new(json_object_get(entry, "args"), json_string(args->args[i]));
        }
    } else if (target == NULL) {
        *fault = "Missing argument: a URL, or a command after --";
    } else if (strncmp(target, "http://", 7) == 0 || strncmp(target, "https://", 8) == 0) {
        json_object_set_new(entry, "type", json_string("http"));
        json_object_set_new(entry, "url", json_string(target));
        *fault = args->count > 2                      ? "A URL takes no further words"
                 : strpbrk(target, " \t\r\n") != NULL ? "URL must not contain blanks"
                 : ik_url_host_find(target).len == 0  ? "URL has no host"
                                                      : NULL;
    } else {
        *fault = "URL must begin with http:// or https://; a command goes after --";
    }
    for (size_t i = 0; (is_command ? env : headers)[i] != NULL && *fault == NULL; i++) {
        if (!add_pair(pairs, (is_command ? env : headers)[i], is_command ? '=' : ':')) {
            *fault = is_command ? "--env must be NAME=VALUE"
                                : "--header must be 'NAME: VALUE' in one line";
        }
    }
    if (*fault == NULL && (is_command ? headers[0] != NULL : env[0] != NULL || cwd != NULL)) {
        *fault = is_command ? "--header is for a URL" : "--env and --cwd are for a command";
    }
    if (json_object_size(pairs) > 0) {
        json_object_set(entry, is_command ? "env" : "headers", pairs);
    }
    if (cwd != NULL) {
        json_object_set_new(entry, "cwd", json_string(cwd));
    }
    json_decref(pairs);
    if (*fault != NULL) {
        json_decref(entry);
        return NULL;
    }
    return entry;
}

static const ik_config_server_t *find_user_server(const ik_cli_t *cli, const char *name)
{
    const ik_config_servers_t *servers = cli->config->servers;
    for (size_t i = 0; servers != NULL && i < servers->count; i++) {
        if (strcmp(servers->list[i]->name, name) == 0 &&
            servers->list[i]->source == IK_CONFIG_USER) {
            return servers->list[i];
        }
    }
    return NULL;
}

static int run_add(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *name = args->args[0];
    const char *fault;
    if (!ik_config_server_is_name(name)) {
        ik_cli_fail(ik_sprintf(cli->ctx,
                               "'%s' is not a valid name of a server: use at most 64 letters, "
                               "digits, '_' and '-'",
                               name));
        return IK_CLI_USAGE;
    }
    json_t *entry = make_entry(cli, args, &fault);
    if (entry == NULL) {
        return ik_cli_misuse(args->command, fault);
    }
    /* Read as the configuration will be, which must not become one that cannot be read. */
    char *text = ik_json_format(cli->ctx, entry);
    char *file = ik_sprintf(cli->ctx, "{\"mcpServers\":{\"%s\":%s}}", name, text);
    const ik_config_servers_t *read =
        ik_config_server_parse_project(cli->ctx, cli->paths->user_config, file, strlen(file));
    if (read->warning_count > 0) {
        json_decref(entry);
        fault = strstr(read->warnings[0], "mcpServers.");
        return ik_cli_misuse(args->command, fault == NULL ? read->warnings[0] : fault);
    }
    const ik_config_server_t *known = find_user_server(cli, name);
    if (known != NULL && !ik_cli_args_has(args, "--force")) {
        json_decref(entry);
        return ik_cli_fail(
            ik_sprintf(cli->ctx, "There is a server '%s' already; --force replaces it", name));
    }
    if (known != NULL) {
        ik_mcp_server_forget(cli->paths, known);
    }
    const char *path[] = {"mcpServers", name, NULL};
    res_t written = ik_json_file_set(cli->paths->user_config, path, text);
    json_decref(entry);
    if (is_err(&written)) {
        return ik_cli_fail(written.message);
    }
    ik_print_line(stdout, ik_sprintf(cli->ctx,
                                     "Added the server %s to %s. Try it with: ikigai mcp "
                                     "show %s",
                                     name, cli->paths->user_config, name));
    return IK_CLI_DONE;
}

static int run_remove(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *name = args->args[0];
    const ik_config_server_t *known = find_user_server(cli, name);
    const char *path[] = {"mcpServers", name, NULL};
    bool removed = false;
    if (known == NULL) {
        return ik_cli_fail(ik_sprintf(cli->ctx,
                                      "There is no server '%s' in the user's configuration; those "
                                      "of a project stand in its .mcp.json",
                                      name));
    }
    res_t changed = ik_json_file_remove(cli->paths->user_config, path, &removed);
    if (is_err(&changed)) {
        return ik_cli_fail(changed.message);
    }
    ik_mcp_server_forget(cli->paths, known);
    char *missing;
    const char *url = known->url == NULL ? NULL
                                         : ik_config_server_expand(cli->ctx, cli->config, false,
                                                                   known->url, &missing);
    if (url != NULL) {
        ik_mcp_oauth_forget(cli->paths, url);
    }
    ik_print_line(stdout, ik_sprintf(cli->ctx, "Removed the server %s.", name));
    return IK_CLI_DONE;
}

const ik_cli_command_t ik_cli_mcp_add = {
    .name = "mcp add",
    .args = "NAME [URL] [-- COMMAND...]",
    .help = "Adds an MCP server: a command that ikigai starts, or a URL.",
    .more = "Writes the entry to the user's configuration and starts nothing. See `ikigai help "
            "servers`.",
    .options =
        (const ik_cli_option_t[]){{.name = "--env",
                                   .value = "NAME=VALUE",
                                   .help = "a variable for the command; may be given "
                                           "several times"},
                                  {.name = "--cwd",
                                   .value = "DIR",
                                   .help = "where the command runs; the project by default"},
                                  {.name = "--header",
                                   .value = "'NAME: VALUE'",
                                   .help = "a header for a URL; may be given several times"},
                                  {.name = "--force", .help = "replace a server of that name"},
                                  {0}},
    .min_args = 1,
    .max_args = IK_CLI_ANY_NUMBER,
    .new_name = true,
    .run = run_add,
};

const ik_cli_command_t ik_cli_mcp_list = {
    .name = "mcp list",
    .help = "Lists the MCP servers and what is known about them. Starts nothing.",
    .options = (const ik_cli_option_t[]){IK_CLI_JSON_OPTION, IK_CLI_TRUST_OPTION, {0}},
    .run = run_list,
};

const ik_cli_command_t ik_cli_mcp_show = {
    .name = "mcp show",
    .args = "SERVER",
    .help = "Connects to a server and shows its tools and log.",
    .options = (const ik_cli_option_t[]){IK_CLI_JSON_OPTION, IK_CLI_TRUST_OPTION, {0}},
    .min_args = 1,
    .max_args = 1,
    .run = run_show,
};

const ik_cli_command_t ik_cli_mcp_remove = {
    .name = "mcp remove",
    .args = "SERVER",
    .help = "Removes a server from the user's configuration, and what is remembered about it.",
    .min_args = 1,
    .max_args = 1,
    .run = run_remove,
};
