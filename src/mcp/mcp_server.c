#include "mcp/mcp_server.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/config_server.h"
#include "mcp/mcp_server_state.h"

enum {
    PROBE_MS = 5000, /* how long a server that was modern may be silent */
    BACK_OFF_MAX_S = 60,
};

struct ik_mcp_waiter {
    ik_mcp_server_t *server;
    ik_mcp_waiter_t *next;
    ik_mcp_done_fn on_done;
    void *data;
    ik_timer_t *timer; /* delivers what is known already */
    char *why;
};

/* --- waiting for the connection ---------------------------------------------------------- */

static int unlink_waiter(ik_mcp_waiter_t *waiter)
{
    ik_mcp_waiter_t **link = &waiter->server->waiters;
    while (*link != NULL && *link != waiter) {
        link = &(*link)->next;
    }
    if (*link == waiter) {
        *link = waiter->next;
    }
    return 0;
}

static void on_known(void *data)
{
    ik_mcp_waiter_t *waiter = data;
    ik_mcp_done_fn on_done = waiter->on_done;
    void *on_done_data = waiter->data;
    char *why = waiter->why == NULL ? NULL : ik_strdup(NULL, waiter->why);
    talloc_free(waiter);
    on_done(on_done_data, why);
    talloc_free(why);
}

void ik_mcp_server_wake(ik_mcp_server_t *server, const char *why)
{
    while (server->waiters != NULL) {
        ik_mcp_waiter_t *waiter = server->waiters;
        server->waiters = waiter->next;
        waiter->why = why == NULL ? NULL : ik_strdup(waiter, why);
        ik_timer_start(waiter->timer, 0);
    }
}

/* --- the end of a connection ------------------------------------------------------------- */

const char *ik_mcp_server_end(const ik_mcp_server_t *server)
{
    return server->end == NULL ? "the connection was closed" : server->end;
}

void ik_mcp_server_drop(ik_mcp_server_t *server, const char *why)
{
    talloc_free(server->end);
    server->end = ik_strdup(server, why);
    server->state = IK_MCP_SERVER_DOWN;
    server->relisting = server->doubted = false;
    ik_mcp_log_end(server->log);
    ik_timer_stop(server->timer);
    ik_mcp_server_unsubscribe(server);
    ik_mcp_server_free_questions(server);
    ik_rpc_t *rpc = server->rpc;
    ik_mcp_body_t *body = server->body;
    server->rpc = NULL;
    server->body = NULL;
    TALLOC_FREE(server->unsent);
    TALLOC_FREE(server->renewal);
    server->unsent_count = 0;
    if (server->http != NULL) {
        ik_mcp_http_retire(server->http);
        server->http = NULL;
    }
    if (body != NULL) { /* it frees itself at its end */
        body->server = NULL;
        ik_process_close_input(body->process);
        ik_process_cancel(body->process);
    }
    if (rpc != NULL) {
        ik_rpc_close(rpc);
        talloc_free(rpc);
    }
}

void ik_mcp_server_count_death(ik_mcp_server_t *server)
{
    int64_t seconds = server->deaths == 0  ? 0
                      : server->deaths > 6 ? BACK_OFF_MAX_S
                                           : (int64_t)1 << (server->deaths - 1);
    server->deaths++;
    server->retry_ms = ik_clock_now_ms() + 1000 * seconds;
}

void ik_mcp_server_fail_start(ik_mcp_server_t *server, const char *why)
{
    char *line = ik_strdup(NULL, why);
    ik_mcp_server_count_death(server);
    ik_mcp_server_drop(server, line);
    ik_mcp_server_abandon_list(server);
    ik_mcp_server_set_status(server, IK_MCP_FAILED, line);
    ik_mcp_server_save(server);
    ik_mcp_server_wake(server, line);
    talloc_free(line);
}

/* --- what the entry says ----------------------------------------------------------------- */

char *ik_mcp_server_expand(const void *ctx, const ik_mcp_server_t *server, const char *text,
                           char **fault)
{
    char *missing;
    bool of_project = server->config->source == IK_CONFIG_PROJECT;
    if (server->config->literal) {
        return ik_strdup(ctx, text);
    }
    char *expanded =
        ik_config_server_expand(ctx, server->options->config, of_project, text, &missing);
    if (expanded == NULL) {
        *fault = ik_sprintf(ctx, "the variable %s is not set", missing);
    }
    return expanded;
}

static bool is_absent(const char *text)
{
    return text == NULL || text[strspn(text, " \t\r\n")] == '\0';
}

/* Why it cannot be used at all, on ctx; NULL: it can. */
static char *find_fault(const void *ctx, const ik_mcp_server_t *server)
{
    const ik_config_server_t *config = server->config;
    if (config->type == IK_CONFIG_SERVER_SSE) {
        return ik_strdup(ctx, "the transport sse is not supported; use the server's streamable "
                              "HTTP URL");
    }
    if (config->type == IK_CONFIG_SERVER_STDIO && is_absent(config->command)) {
        return ik_strdup(ctx, is_absent(config->url) ? "its entry has neither command nor url"
                                                     : "its entry has no command");
    }
    if (config->type == IK_CONFIG_SERVER_HTTP && is_absent(config->url)) {
        return ik_strdup(ctx, "its entry has no url");
    }
    return NULL;
}

/* Why the entry alone rules the server out, on ctx; NULL: it may work. */
static char *find_fault_of_entry(const void *ctx, const ik_mcp_server_t *server)
{
    const ik_config_server_t *config = server->config;
    const char *const texts[] = {config->command, config->cwd, config->url};
    char *fault = find_fault(ctx, server);
    for (size_t i = 0; fault == NULL && i < IK_LENGTH(texts); i++) {
        talloc_free(texts[i] == NULL ? NULL : ik_mcp_server_expand(ctx, server, texts[i], &fault));
    }
    for (size_t i = 0; fault == NULL && config->args != NULL && config->args[i] != NULL; i++) {
        talloc_free(ik_mcp_server_expand(ctx, server, config->args[i], &fault));
    }
    const char *const *pairs[] = {config->env, config->headers};
    for (size_t i = 0; i < IK_LENGTH(pairs); i++) {
        for (size_t j = 0; fault == NULL && pairs[i] != NULL && pairs[i][j] != NULL; j += 2) {
            talloc_free(ik_mcp_server_expand(ctx, server, pairs[i][j + 1], &fault));
        }
    }
    return fault;
}

/* --- opening the connection -------------------------------------------------------------- */

static void on_patience_end(void *data)
{
    ik_mcp_server_t *server = data;
    if (server->state == IK_MCP_SERVER_UP) {
        /* Only the new list of tools is late; the old one stays. */
        server->relisting = server->doubted = false;
        if (server->http != NULL && server->page != NULL) {
            ik_mcp_http_give_up(server->http, ik_rpc_call_id(server->page));
        }
        ik_mcp_server_abandon_list(server);
        ik_mcp_server_wake(server, NULL);
        return;
    }
    char *why =
        ik_sprintf(NULL, "it did not answer within %ld s", server->config->start_timeout_seconds);
    ik_mcp_server_fail_start(server, why);
    talloc_free(why);
}

static void on_probe_end(void *data)
{
    ik_mcp_server_t *server = data;
    int64_t left = server->started_ms + 1000 * (int64_t)server->config->start_timeout_seconds -
                   ik_clock_now_ms();
    if (server->state == IK_MCP_SERVER_OPENING && server->probing && !server->tried_legacy &&
        left > 0 && server->config->protocol == IK_CONFIG_PROTOCOL_AUTO) {
        ik_timer_start(server->timer, left);
        ik_mcp_server_initialize(server);
    } else if (left > 0) {
        ik_timer_start(server->timer, left);
    } else {
        on_patience_end(server);
    }
}

/* host NULL: the server cannot be confined, and runs as the user's own programs do, unless that is
 * ruled out. */
static void on_room(void *data, ik_process_host_t *host)
{
    ik_mcp_server_t *server = data;
    bool required = server->options->config->confinement == IK_CONFIG_CONFINEMENT_REQUIRED;
    if (server->state != IK_MCP_SERVER_PREPARING) {
        return; /* the room came too late, or twice */
    }
    if (host == NULL && required) {
        ik_mcp_server_fail_start(server, "it cannot be confined here; see ikigai doctor");
        return;
    }
    ik_mcp_server_open_process(server, host == NULL ? server->options->host : host);
}

static void start(ik_mcp_server_t *server)
{
    char *fault = find_fault(server, server);
    server->started_ms = ik_clock_now_ms();
    server->tried_modern = server->tried_legacy = server->probing = false;
    server->tried_again = false;
    server->state = IK_MCP_SERVER_PREPARING;
    if (fault != NULL) {
        ik_mcp_server_fail_start(server, fault);
        talloc_free(fault);
        return;
    }
    int64_t patience = 1000 * (int64_t)server->config->start_timeout_seconds;
    bool probes = server->facts.modern && server->config->protocol == IK_CONFIG_PROTOCOL_AUTO;
    ik_timer_start(server->timer, probes && patience > PROBE_MS ? PROBE_MS : patience);
    if (server->config->type == IK_CONFIG_SERVER_HTTP) {
        ik_mcp_server_open_http(server);
    } else if (server->config->has_effects && server->options->confinement != NULL &&
               server->options->config->confinement != IK_CONFIG_CONFINEMENT_OFF) {
        ik_confinement_prepare(server, server->options->confinement, server->config->effects,
                               on_room, server);
    } else {
        on_room(server, server->options->host);
    }
}

void *ik_mcp_server_open(const void *ctx, ik_mcp_server_t *server, bool refresh,
                         ik_mcp_done_fn on_done, void *data)
{
    ik_mcp_waiter_t *waiter = ik_new(ctx, ik_mcp_waiter_t);
    *waiter = (ik_mcp_waiter_t){.server = server, .on_done = on_done, .data = data};
    waiter->timer =
        ik_timer_create(waiter, ik_process_host_loop(server->options->host), on_known, waiter);
    talloc_set_destructor(waiter, unlink_waiter);
    int64_t wait_ms = server->retry_ms - ik_clock_now_ms();
    if (server->state == IK_MCP_SERVER_UP && !refresh && !server->relisting) {
        ik_timer_start(waiter->timer, 0);
        return waiter;
    }
    if (server->state == IK_MCP_SERVER_DOWN && wait_ms > 0 && !refresh) {
        waiter->why = ik_sprintf(waiter, "%s; it will be started again in %" PRId64 " s",
                                 ik_mcp_server_end(server), (wait_ms + 999) / 1000);
        ik_timer_start(waiter->timer, 0);
        return waiter;
    }
    waiter->next = server->waiters;
    server->waiters = waiter;
    if (server->state == IK_MCP_SERVER_DOWN) {
        start(server);
    } else if (server->state == IK_MCP_SERVER_UP && !server->relisting) {
        server->relisting = true;
        server->started_ms = ik_clock_now_ms();
        ik_timer_start(server->timer, 1000 * (int64_t)server->config->start_timeout_seconds);
        ik_mcp_server_begin_list(server);
    }
    return waiter;
}

void *ik_mcp_server_relist(const void *ctx, ik_mcp_server_t *server, ik_mcp_done_fn on_done,
                           void *data)
{
    server->doubted = true;
    return ik_mcp_server_open(ctx, server, true, on_done, data);
}

/* --- the server -------------------------------------------------------------------------- */

static void on_session_end(void *data)
{
    ((ik_mcp_server_t *)data)->ending = false;
}

bool ik_mcp_server_close(ik_mcp_server_t *server)
{
    if (server->http != NULL && !server->facts.modern) {
        server->ending = ik_mcp_http_end_session(server->http, on_session_end, server);
        return server->ending;
    }
    if (server->body == NULL) {
        return false;
    }
    server->leaving = true;
    ik_process_close_input(server->body->process);
    return true;
}

bool ik_mcp_server_is_running(const ik_mcp_server_t *server)
{
    return server->body != NULL || server->ending;
}

static int free_server(ik_mcp_server_t *server)
{
    ik_mcp_server_free_questions(server);
    while (server->exchanges != NULL) {
        talloc_free(server->exchanges);
    }
    while (server->waiters != NULL) {
        talloc_free(server->waiters);
    }
    if (ik_mcp_log_is_new(server->log)) {
        ik_mcp_server_save(server);
    }
    return 0;
}

ik_mcp_server_t *ik_mcp_server_create(const void *ctx, const ik_mcp_options_t *options,
                                      const ik_config_server_t *config)
{
    ik_mcp_server_t *server = ik_new(ctx, ik_mcp_server_t);
    server->options = options;
    server->config = config;
    server->texts = talloc_new(server);
    server->log = ik_mcp_log_create(server);
    server->timer =
        ik_timer_create(server, ik_process_host_loop(options->host), on_probe_end, server);
    talloc_set_destructor(server, free_server);
    ik_mcp_server_load(server);
    char *fault = find_fault_of_entry(server, server);
    if (fault != NULL) {
        ik_mcp_server_set_status(server, IK_MCP_FAILED, fault);
        talloc_free(fault);
    }
    return server;
}

const ik_mcp_options_t *ik_mcp_server_options(const ik_mcp_server_t *server)
{
    return server->options;
}

const ik_config_server_t *ik_mcp_server_config(const ik_mcp_server_t *server)
{
    return server->config;
}

const ik_mcp_facts_t *ik_mcp_server_facts(const ik_mcp_server_t *server)
{
    return &server->facts;
}

ik_mcp_log_t *ik_mcp_server_log(const ik_mcp_server_t *server)
{
    return server->log;
}
