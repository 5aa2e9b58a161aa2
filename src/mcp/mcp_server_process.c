/* A server that is a process: how it is started, what it prints, and how it ends. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/config_secret.h"
#include "base/file.h"
#include "mcp/mcp_server_state.h"

/* --- how it is started ------------------------------------------------------------------- */

/* The command as it can be executed: names without a slash are looked up in PATH. NULL: it does not
 * exist. */
static char *find_command(const void *ctx, const char *command, const char *const *env)
{
    const char *path = getenv("PATH");
    for (; *env != NULL; env++) {
        path = strncmp(*env, "PATH=", 5) == 0 ? *env + 5 : path;
    }
    if (strchr(command, '/') != NULL) {
        return ik_strdup(ctx, command);
    }
    char *copy = ik_strdup(ctx, path == NULL ? "/usr/bin:/bin" : path);
    char *rest = copy;
    for (char *folder; (folder = strsep(&rest, ":")) != NULL;) {
        char *file = ik_sprintf(ctx, "%s/%s", *folder == '\0' ? "." : folder, command);
        if (access(file, X_OK) == 0) {
            talloc_free(copy);
            return file;
        }
        talloc_free(file);
    }
    talloc_free(copy);
    return NULL;
}

typedef struct {
    const char **argv;
    const char **env;
    const char *folder;
} launch_t;

static void add_variable(const void *ctx, launch_t *launch, size_t *count, const char *name,
                         const char *value)
{
    launch->env = ik_resize_array(ctx, launch->env, const char *, *count + 2);
    launch->env[(*count)++] = ik_sprintf(ctx, "%s=%s", name, value);
    launch->env[*count] = NULL;
}

/* Adds variables that are held back from servers otherwise; keys: also those with provider keys. */
static void pass_variables(const void *ctx, const ik_config_t *config, const char *const *names,
                           bool keys, launch_t *launch, size_t *count)
{
    for (; names != NULL && *names != NULL; names++) {
        const char *value = ik_config_secret_held_back(config, *names);
        if (value != NULL && (keys || ik_config_secret_value(config, *names) == NULL)) {
            add_variable(ctx, launch, count, *names, value);
        }
    }
}

/* How to start it, on ctx; returns why it cannot be, or NULL. */
static char *make_launch(const void *ctx, const ik_mcp_server_t *server, launch_t *launch)
{
    const ik_config_server_t *config = server->config;
    char *fault = NULL;
    size_t count = 0;
    launch->env = ik_new_array(ctx, const char *, 1);
    pass_variables(ctx, server->options->config, server->options->config->pass_env, true, launch,
                   &count);
    pass_variables(ctx, server->options->config, config->pass_env,
                   config->source != IK_CONFIG_PROJECT, launch, &count);
    for (size_t i = 0; config->env != NULL && config->env[i] != NULL && fault == NULL; i += 2) {
        const char *value = ik_mcp_server_expand(ctx, server, config->env[i + 1], &fault);
        if (value != NULL) {
            add_variable(ctx, launch, &count, config->env[i], value);
        }
    }
    const char *home = server->options->paths->account_home;
    const char *cwd = config->cwd == NULL || fault != NULL
                          ? server->options->paths->cwd
                          : ik_mcp_server_expand(ctx, server, config->cwd, &fault);
    if (cwd != NULL) {
        launch->folder = cwd[0] == '~' && cwd[1] == '/' && home != NULL
                             ? ik_file_join(ctx, home, cwd + 2)
                         : cwd[0] == '/' ? cwd
                                         : ik_file_join(ctx, server->options->paths->cwd, cwd);
    }
    size_t args = 0;
    while (config->args != NULL && config->args[args] != NULL) {
        args++;
    }
    launch->argv = ik_new_array(ctx, const char *, args + 2);
    const char *command =
        fault != NULL ? NULL : ik_mcp_server_expand(ctx, server, config->command, &fault);
    for (size_t i = 0; i < args && fault == NULL; i++) {
        launch->argv[i + 1] = ik_mcp_server_expand(ctx, server, config->args[i], &fault);
    }
    if (fault == NULL) {
        launch->argv[0] = command[0] == '~' && command[1] == '/' && home != NULL
                              ? ik_file_join(ctx, home, command + 2)
                              : find_command(ctx, command, launch->env);
        /* Tried here, because the error of a start does not tell which of the two is missing. */
        if (access(launch->folder, X_OK) != 0) {
            fault = ik_sprintf(ctx, "its folder %.200s cannot be entered: %s", launch->folder,
                               strerror(errno));
        } else if (launch->argv[0] == NULL ||
                   (launch->argv[0][0] == '/' && access(launch->argv[0], F_OK) != 0)) {
            fault = ik_sprintf(ctx, "the command %.200s was not found", command);
        }
    }
    return fault;
}

/* --- the process ------------------------------------------------------------------------- */

static void on_output(void *data, bool err, const char *bytes, size_t len)
{
    ik_mcp_server_t *server = ((ik_mcp_body_t *)data)->server;
    if (server == NULL) {
        return;
    }
    if (err) {
        ik_mcp_log_feed(server->log, bytes, len);
    } else if (server->rpc != NULL) {
        ik_rpc_feed(server->rpc, bytes, len);
    }
}

static char *describe_end(const void *ctx, const ik_process_result_t *result)
{
    if (result->end == IK_PROCESS_NOT_STARTED || result->end == IK_PROCESS_LOST) {
        return ik_sprintf(ctx, "it could not be started: %s", result->error.message);
    }
    if (result->end == IK_PROCESS_CANCELLED) {
        return ik_strdup(ctx, "it does not read what it is sent");
    }
    return result->exit_code > 128
               ? ik_sprintf(ctx, "it was killed by signal %d", result->exit_code - 128)
               : ik_sprintf(ctx, "it exited with status %d", result->exit_code);
}

static void on_process_end(void *data, ik_process_result_t *result)
{
    ik_mcp_server_t *server = ((ik_mcp_body_t *)data)->server;
    talloc_free(data); /* the process frees itself */
    if (server == NULL) {
        return;
    }
    server->body = NULL;
    char *why = describe_end(NULL, result);
    ik_mcp_log_end(server->log);
    if (!server->leaving) { /* it was asked to exit */
        ik_mcp_log_add(server->log, "info", why, strlen(why));
    }
    bool restarts = server->state == IK_MCP_SERVER_OPENING && server->probing &&
                    !server->tried_legacy && server->config->protocol == IK_CONFIG_PROTOCOL_AUTO;
    if (server->leaving) {
        ik_mcp_server_drop(server, why);
        ik_mcp_server_save(server);
    } else if (restarts) { /* some servers exit when they do not know a request */
        ik_rpc_t *rpc = server->rpc;
        server->rpc = NULL;
        ik_rpc_close(rpc);
        talloc_free(rpc);
        server->facts.modern = false;
        server->probing = false;
        ik_mcp_server_open_process(server, server->host);
    } else if (server->state == IK_MCP_SERVER_UP) {
        ik_mcp_server_count_death(server);
        ik_mcp_server_set_status(server, IK_MCP_FAILED, why);
        ik_mcp_server_drop(server, why);
        ik_mcp_server_save(server);
        ik_mcp_server_wake(server, why);
    } else {
        char *tail = ik_mcp_log_tail(why, server->log);
        size_t len = strlen(tail);
        while (len > 0 && (tail[len - 1] == '\n' || tail[len - 1] == '\r')) {
            tail[--len] = '\0';
        }
        const char *last = strrchr(tail, '\n');
        last = last == NULL ? tail : last + 1;
        ik_mcp_server_fail_start(server,
                                 *last == '\0' ? why : ik_sprintf(why, "%s: %.300s", why, last));
    }
    talloc_free(why);
}

void ik_mcp_server_open_process(ik_mcp_server_t *server, ik_process_host_t *host)
{
    void *scratch = talloc_new(NULL);
    launch_t launch = {0};
    char *fault = make_launch(scratch, server, &launch);
    res_t started = OK;
    server->state = IK_MCP_SERVER_OPENING;
    server->leaving = false;
    server->host = host;
    ik_mcp_log_restart(server->log);
    ik_mcp_body_t *body = ik_new(server, ik_mcp_body_t);
    body->server = server;
    if (fault == NULL) {
        ik_config_limits_t limits = server->options->config->limits;
        ik_process_options_t options = {.argv = launch.argv,
                                        .env = launch.env,
                                        .folder = launch.folder,
                                        .keeps_input = true,
                                        .on_output = on_output,
                                        .max_err = 1,
                                        .idle_ms = IK_PROCESS_NO_LIMIT,
                                        .max_ms = IK_PROCESS_NO_LIMIT,
                                        .limits = {(uint64_t)limits.memory,
                                                   (uint64_t)limits.file_size,
                                                   (uint64_t)limits.processes, 0},
                                        .on_end = on_process_end,
                                        .data = body};
        started = ik_process_start(server, host, &options, &body->process);
    }
    if (fault != NULL || is_err(&started)) {
        talloc_free(body);
        ik_mcp_server_fail_start(server, fault != NULL ? fault : started.message);
        talloc_free(scratch);
        return;
    }
    talloc_free(scratch);
    server->body = body;
    ik_mcp_server_create_rpc(server);
    ik_mcp_server_begin_session(server);
}
