#include "mcp/mcp_server.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/config_secret.h"
#include "base/config_server.h"
#include "base/file.h"
#include "base/hash.h"
#include "mcp/mcp_elicitation.h"
#include "mcp/mcp_http.h"
#include "mcp/mcp_oauth.h"

enum {
    LINE_MAX_BYTES = 32 * 1024 * 1024,
    PAGES_MAX = 100,
    PROBE_MS = 5000, /* how long a server that was modern may be silent */
    BACK_OFF_MAX_S = 60,
    CACHE_MAX = 16 * 1024 * 1024,
    CACHE_FORMAT = 1,
    TEXT_MAX = 64 * 1024,  /* of instructions and the like */
    SUBSCRIPTIONS_MAX = 5, /* attempts, unless one lasted */
    STEADY_MS = 30000,     /* a subscription that lasted is worth another series of attempts */
    TTL_MAX_MS = 24 * 3600 * 1000,
};

#define META "io.modelcontextprotocol/"
#define CLIENT_INFO "{\"name\":\"ikigai\",\"version\":\"" IKIGAI_VERSION "\"}"
#define CAPABILITIES "{\"roots\":{},\"elicitation\":{\"form\":{},\"url\":{}}}"

/* The versions with a handshake, newest first: the first is offered. */
static const char *const legacy_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                              "2024-11-05"};

typedef enum {
    DOWN,
    PREPARING, /* its room is being made */
    OPENING,   /* the handshake */
    LISTING,
    UP,
} state_t;

typedef struct waiter waiter_t;
struct waiter {
    ik_mcp_server_t *server;
    waiter_t *next;
    ik_mcp_done_fn on_done;
    void *data;
    ik_timer_t *timer; /* delivers what is known already */
    char *why;
};

struct ik_mcp_exchange {
    ik_mcp_server_t *server;
    ik_mcp_exchange_t *next;
    ik_rpc_call_t *call;
    int64_t token;
    ik_mcp_exchange_fns_t fns;
};

typedef struct asked asked_t;
struct asked { /* a question of the server to the user */
    ik_mcp_server_t *server;
    asked_t *next;
    ik_rpc_request_t *request;
    void *form;
};

/* The process of a connection. It may have to end while the server has a new one already. */
typedef struct {
    ik_mcp_server_t *server; /* NULL: it is no longer the server's */
    ik_process_t *process;
} body_t;

struct ik_mcp_server {
    const ik_mcp_options_t *options;
    const ik_config_server_t *config;
    char *file; /* what is remembered */
    ik_mcp_facts_t facts;
    void *texts; /* holds the texts of facts */
    ik_mcp_log_t *log;

    state_t state;
    ik_timer_t *timer; /* the end of the patience with the start */
    int64_t started_ms;
    bool probing; /* the era is being found out by server/discover */
    bool tried_modern;
    bool tried_legacy;
    bool tried_again; /* the version was refused although the server says that it has it */
    ik_rpc_t *rpc;
    body_t *body;            /* NULL: there is no process */
    ik_process_host_t *host; /* of the process */
    ik_mcp_http_t *http;     /* NULL: there is no connection over HTTP */
    char *url;               /* of the server, expanded; NULL: not known yet */
    void *renewal;           /* its token is being renewed */
    bool token_renewed;      /* since the last call that worked */
    bool ending;             /* its session is being ended */
    bool renewed;            /* a new session was begun since the last call that worked */
    char **unsent;           /* messages of the old session, to be sent in the new one */
    size_t unsent_count;
    bool leaving; /* it was asked to exit */
    ik_mcp_tools_t *listed;
    char **cursors;
    size_t cursor_count;
    bool listed_again; /* a cursor was not valid any more */
    bool relisting;    /* while it is up */
    bool doubted;      /* the list is asked for by a call, so that a change is news */
    bool stale;
    int64_t ttl_ms;     /* how long the list is fresh: the shortest time that a page named */
    int64_t expires_ms; /* when the list has to be asked for again; 0: not told */
    bool has_tools;
    bool tells_changes;          /* of the list of tools */
    ik_rpc_call_t *subscription; /* to these changes, in the modern era; NULL: none */
    ik_timer_t *resubscription;
    int64_t subscribed_ms;
    int subscriptions; /* that broke off */
    char *end;         /* why the last connection ended */
    int deaths;
    int64_t retry_ms; /* no start before */
    waiter_t *waiters;
    ik_mcp_exchange_t *exchanges;
    asked_t *asked;
};

static void fail_start(ik_mcp_server_t *server, const char *why);
static void fail_list(ik_mcp_server_t *server, const char *why);
static void send_initialize(ik_mcp_server_t *server);

/* --- what is remembered ------------------------------------------------------------------ */

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

static const char *keep_text(ik_mcp_server_t *server, json_t *text)
{
    const char *value = json_string_value(text);
    return value == NULL ? NULL : ik_strdup(server->texts, value);
}

static void load(ik_mcp_server_t *server)
{
    char *text;
    size_t len;
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
        facts->error = keep_text(server, json_object_get(root, "error"));
        facts->modern = json_is_true(json_object_get(root, "modern"));
        facts->version = keep_text(server, json_object_get(root, "version"));
        facts->name = keep_text(server, json_object_get(root, "name"));
        facts->server_version = keep_text(server, json_object_get(root, "server_version"));
        facts->instructions = keep_text(server, json_object_get(root, "instructions"));
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
static void save(ik_mcp_server_t *server)
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

static void set_status(ik_mcp_server_t *server, ik_mcp_status_t status, const char *error)
{
    server->facts.status = status;
    server->facts.error = error == NULL ? NULL : ik_strdup(server->texts, error);
}

/* --- waiting for the connection ---------------------------------------------------------- */

static int unlink_waiter(waiter_t *waiter)
{
    waiter_t **link = &waiter->server->waiters;
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
    waiter_t *waiter = data;
    ik_mcp_done_fn on_done = waiter->on_done;
    void *on_done_data = waiter->data;
    char *why = waiter->why == NULL ? NULL : ik_strdup(NULL, waiter->why);
    talloc_free(waiter);
    on_done(on_done_data, why);
    talloc_free(why);
}

/* Tells all that wait, from the loop. */
static void wake(ik_mcp_server_t *server, const char *why)
{
    while (server->waiters != NULL) {
        waiter_t *waiter = server->waiters;
        server->waiters = waiter->next;
        waiter->why = why == NULL ? NULL : ik_strdup(waiter, why);
        ik_timer_start(waiter->timer, 0);
    }
}

/* --- exchanges --------------------------------------------------------------------------- */

static int unlink_exchange(ik_mcp_exchange_t *exchange)
{
    ik_mcp_exchange_t **link = &exchange->server->exchanges;
    while (*link != exchange) {
        link = &(*link)->next;
    }
    *link = exchange->next;
    if (exchange->call != NULL) {
        talloc_free(exchange->call);
    }
    return 0;
}

static void on_exchange_answer(void *data, const ik_rpc_answer_t *answer)
{
    ik_mcp_exchange_t *exchange = data;
    exchange->call = NULL; /* it frees itself */
    ik_mcp_exchange_fns_t fns = exchange->fns;
    talloc_free(exchange);
    fns.on_answer(fns.data, answer);
}

/* The params of a request: the members, and _meta as the era wants it. */
static char *make_params(const void *ctx, const ik_mcp_server_t *server, const char *members,
                         int64_t token)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the members */
    ik_buffer_append_format(&out, "{%s", members);
    if (server->facts.modern || server->probing || token > 0) {
        ik_buffer_append_format(&out, "%s\"_meta\":{", *members == '\0' ? "" : ",");
        if (server->facts.modern || server->probing) {
            ik_buffer_append_format(&out,
                                    "\"" META "protocolVersion\":\"%s\",\"" META
                                    "clientCapabilities\":" CAPABILITIES ",\"" META
                                    "clientInfo\":" CLIENT_INFO ",\"" META "logLevel\":\"info\"%s",
                                    IK_MCP_MODERN, token > 0 ? "," : "");
        }
        if (token > 0) {
            ik_buffer_append_format(&out, "\"progressToken\":%" PRId64, token);
        }
        ik_buffer_append_byte(&out, '}');
    }
    ik_buffer_append_byte(&out, '}');
    return ik_buffer_finish(&out);
}

ik_mcp_exchange_t *ik_mcp_server_send(const void *ctx, ik_mcp_server_t *server, const char *method,
                                      const char *members, const ik_mcp_exchange_fns_t *fns)
{
    if (server->state != UP) {
        return NULL;
    }
    ik_mcp_exchange_t *exchange = ik_new(ctx, ik_mcp_exchange_t);
    *exchange = (ik_mcp_exchange_t){.server = server,
                                    .next = server->exchanges,
                                    .token = ik_rpc_next_id(server->rpc),
                                    .fns = *fns};
    server->exchanges = exchange;
    talloc_set_destructor(exchange, unlink_exchange);
    char *params = make_params(exchange, server, members, exchange->token);
    exchange->call = ik_rpc_call(server->rpc, method, params, on_exchange_answer, exchange);
    talloc_free(params);
    return exchange;
}

void ik_mcp_server_give_up(ik_mcp_server_t *server, ik_mcp_exchange_t *exchange, const char *reason)
{
    if (server->http != NULL && server->facts.modern) {
        ik_mcp_http_give_up(server->http, exchange->token); /* closing the stream cancels */
    } else if (server->rpc != NULL) {
        char *params = ik_sprintf(exchange, "{\"requestId\":%" PRId64 ",\"reason\":\"%s\"}",
                                  exchange->token, reason);
        ik_rpc_notify(server->rpc, "notifications/cancelled", params);
    }
    talloc_free(exchange);
}

const char *ik_mcp_server_end(const ik_mcp_server_t *server)
{
    return server->end == NULL ? "the connection was closed" : server->end;
}

void ik_mcp_server_praise(ik_mcp_server_t *server)
{
    server->deaths = 0;
    server->renewed = false;
    server->token_renewed = false;
}

bool ik_mcp_server_is_asking(const ik_mcp_server_t *server)
{
    return server->asked != NULL;
}

/* --- the end of a connection ------------------------------------------------------------- */

static void free_questions(ik_mcp_server_t *server)
{
    while (server->asked != NULL) {
        talloc_free(server->asked);
    }
}

static void unsubscribe(ik_mcp_server_t *server)
{
    TALLOC_FREE(server->subscription);
    ik_timer_stop(server->resubscription);
    server->subscribed_ms = 0;
    server->subscriptions = 0;
}

/* Fails everything that waits for an answer. The process may end later. */
static void drop_connection(ik_mcp_server_t *server, const char *why)
{
    talloc_free(server->end);
    server->end = ik_strdup(server, why);
    server->state = DOWN;
    server->relisting = server->doubted = false;
    ik_timer_stop(server->timer);
    unsubscribe(server);
    free_questions(server);
    ik_rpc_t *rpc = server->rpc;
    body_t *body = server->body;
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

static void count_death(ik_mcp_server_t *server)
{
    int64_t seconds = server->deaths == 0  ? 0
                      : server->deaths > 6 ? BACK_OFF_MAX_S
                                           : (int64_t)1 << (server->deaths - 1);
    server->deaths++;
    server->retry_ms =
        ik_clock_now_ms() + 1000 * (seconds < BACK_OFF_MAX_S ? seconds : BACK_OFF_MAX_S);
}

static void fail_start(ik_mcp_server_t *server, const char *why)
{
    char *line = ik_strdup(NULL, why);
    count_death(server);
    drop_connection(server, line);
    TALLOC_FREE(server->listed);
    set_status(server, IK_MCP_FAILED, line);
    save(server);
    wake(server, line);
    talloc_free(line);
}

static void on_patience_end(void *data)
{
    ik_mcp_server_t *server = data;
    if (server->state == UP) { /* only the new list of tools is late; the old one stays */
        server->relisting = server->doubted = false;
        TALLOC_FREE(server->listed);
        wake(server, NULL);
        return;
    }
    char *why =
        ik_sprintf(NULL, "it did not answer within %ld s", server->config->start_timeout_seconds);
    fail_start(server, why);
    talloc_free(why);
}

/* --- changes of the list, in the modern era ---------------------------------------------- */

static void note_change(ik_mcp_server_t *server)
{
    bool known = server->stale;
    server->stale = true;
    if (!known && server->state == UP && server->options->on_change != NULL) {
        server->options->on_change(server->options->data);
    }
}

static void on_subscription_end(void *data, const ik_rpc_answer_t *answer)
{
    ik_mcp_server_t *server = data;
    server->subscription = NULL; /* it frees itself; the server does not tell, or no longer */
    (void)answer;
}

static void subscribe(ik_mcp_server_t *server)
{
    server->subscribed_ms = ik_clock_now_ms();
    char *params = make_params(server, server, "\"notifications\":{\"toolsListChanged\":true}", 0);
    server->subscription =
        ik_rpc_call(server->rpc, "subscriptions/listen", params, on_subscription_end, server);
    talloc_free(params);
}

static void on_resubscription(void *data)
{
    ik_mcp_server_t *server = data;
    if (server->state == UP) {
        note_change(server); /* what happened in between is not told again */
        subscribe(server);
    }
}

/* The stream of a subscription broke off. */
static void lose_subscription(ik_mcp_server_t *server)
{
    TALLOC_FREE(server->subscription);
    if (ik_clock_now_ms() - server->subscribed_ms >= STEADY_MS) {
        server->subscriptions = 0;
    }
    if (++server->subscriptions <= SUBSCRIPTIONS_MAX) {
        ik_timer_start(server->resubscription, 1000 << (server->subscriptions - 1));
    }
}

/* --- the list of tools ------------------------------------------------------------------- */

static void ask_page(ik_mcp_server_t *server, const char *cursor);

/* What the old session did not answer. */
static void send_again(ik_mcp_server_t *server)
{
    for (size_t i = 0; i < server->unsent_count; i++) {
        ik_mcp_http_send(server->http, server->unsent[i], strlen(server->unsent[i]), NULL);
    }
    TALLOC_FREE(server->unsent);
    server->unsent_count = 0;
}

static void finish_list(ik_mcp_server_t *server)
{
    ik_mcp_tools_t *listed = server->listed;
    server->listed = NULL;
    if (server->http != NULL && server->facts.modern) {
        ik_mcp_tools_drop_bad_headers(listed);
    }
    ik_mcp_tools_sort(listed);
    bool first = server->facts.tools == NULL;
    bool same = !first && ik_mcp_tools_equal(server->facts.tools, listed);
    if (listed->problem != NULL) {
        ik_mcp_log_add(server->log, "warning", listed->problem, strlen(listed->problem));
    }
    server->facts.tools = talloc_steal(server->texts, listed);
    bool is_news = !server->relisting || server->doubted;
    server->relisting = server->doubted = false;
    server->expires_ms =
        server->facts.modern && server->ttl_ms > 0 ? ik_clock_now_ms() + server->ttl_ms : 0;
    server->state = UP;
    ik_timer_stop(server->timer);
    set_status(server, IK_MCP_READY, NULL);
    save(server);
    send_again(server);
    if (server->facts.modern && server->tells_changes && server->subscribed_ms == 0) {
        subscribe(server);
    }
    wake(server, NULL);
    if (!same && !first && is_news && server->options->on_change != NULL) {
        server->options->on_change(server->options->data);
    }
}

/* Without a list a server cannot be used; an old list of one that is up stays. */
static void fail_list(ik_mcp_server_t *server, const char *why)
{
    if (server->relisting) {
        ik_mcp_log_add(server->log, "warning", why, strlen(why));
        server->relisting = server->doubted = false;
        TALLOC_FREE(server->listed);
        ik_timer_stop(server->timer);
        wake(server, NULL);
    } else {
        fail_start(server, why);
    }
}

static void begin_list(ik_mcp_server_t *server)
{
    talloc_free(server->listed);
    server->listed = ik_mcp_tools_create(server);
    TALLOC_FREE(server->cursors);
    server->cursor_count = 0;
    server->stale = false;
    server->expires_ms = 0;
    server->ttl_ms = TTL_MAX_MS;
    if (server->has_tools) {
        ask_page(server, NULL);
    } else {
        finish_list(server);
    }
}

/* A cursor that repeats would make the list endless. */
static bool is_new_cursor(ik_mcp_server_t *server, const char *cursor)
{
    for (size_t i = 0; i < server->cursor_count; i++) {
        if (strcmp(server->cursors[i], cursor) == 0) {
            return false;
        }
    }
    server->cursors = ik_resize_array(server, server->cursors, char *, server->cursor_count + 1);
    server->cursors[server->cursor_count++] = ik_strdup(server->cursors, cursor);
    return true;
}

static char *describe_error(const void *ctx, const char *what, const ik_rpc_answer_t *answer)
{
    char *text = answer->text.len > 0 ? ik_json_decode(ctx, answer->text, NULL) : NULL;
    return ik_sprintf(ctx, "it refused %s: %.300s (%" PRId64 ")", what, text == NULL ? "" : text,
                      answer->code);
}

static void on_page(void *data, const ik_rpc_answer_t *answer)
{
    ik_mcp_server_t *server = data;
    if (answer->closed) {
        return; /* its end says why */
    }
    void *scratch = talloc_new(NULL);
    if (answer->failed) {
        bool expired = answer->code == IK_RPC_INVALID_PARAMS && server->cursor_count > 0;
        if (expired && !server->listed_again) {
            server->listed_again = true;
            begin_list(server);
        } else {
            fail_list(server, describe_error(scratch, "tools/list", answer));
        }
        talloc_free(scratch);
        return;
    }
    json_t *result =
        ik_json_adopt(scratch, ik_json_parse(answer->result.text, answer->result.len, NULL));
    json_t *tools = json_object_get(result, "tools");
    json_t *cursor = json_object_get(result, "nextCursor");
    double ttl = json_number_value(json_object_get(result, "ttlMs"));
    server->ttl_ms = ttl < (double)server->ttl_ms ? (int64_t)(ttl > 0 ? ttl : 0) : server->ttl_ms;
    size_t i;
    json_t *each;
    json_array_foreach(tools, i, each)
    {
        ik_mcp_tools_add(server->listed, server->config->name, each);
    }
    if (!json_is_array(tools)) {
        fail_list(server, "its answer to tools/list has no tools");
    } else if (!json_is_string(cursor)) {
        finish_list(server);
    } else if (server->cursor_count >= PAGES_MAX) {
        fail_list(server, "its list of tools does not end");
    } else if (!is_new_cursor(server, json_string_value(cursor))) {
        fail_list(server, "its list of tools repeats itself");
    } else {
        ask_page(server, json_string_value(cursor));
    }
    talloc_free(scratch);
}

static void ask_page(ik_mcp_server_t *server, const char *cursor)
{
    ik_buffer_t members;
    ik_buffer_init(&members, server, IK_BUFFER_UNLIMITED); /* bounded by the cursor */
    ik_buffer_append_text(&members, "");
    if (cursor != NULL) {
        ik_buffer_append_text(&members, "\"cursor\":");
        ik_json_append_text(&members, cursor);
    }
    char *params = make_params(server, server, members.data, 0);
    ik_buffer_reset(&members);
    ik_rpc_call(server->rpc, "tools/list", params, on_page, server);
    talloc_free(params);
}

/* --- the handshake ----------------------------------------------------------------------- */

static void send_initialize(ik_mcp_server_t *server);
static void send_discover(ik_mcp_server_t *server);

/* Keeps what the server says about itself; result is that of either opening. */
static void take_facts(ik_mcp_server_t *server, json_t *result, bool modern, const char *version)
{
    ik_mcp_facts_t *facts = &server->facts;
    json_t *meta = json_object_get(result, "_meta");
    json_t *info =
        modern ? json_object_get(meta, META "serverInfo") : json_object_get(result, "serverInfo");
    json_t *capabilities = json_object_get(result, "capabilities");
    json_t *instructions = json_object_get(result, "instructions");
    const ik_mcp_tools_t *tools = facts->tools;
    void *old = server->texts;
    server->texts = talloc_new(server);
    *facts = (ik_mcp_facts_t){
        .status = facts->status, .modern = modern, .version = ik_strdup(server->texts, version)};
    facts->name = keep_text(server, json_object_get(info, "name"));
    facts->server_version = keep_text(server, json_object_get(info, "version"));
    if (json_string_length(instructions) <= TEXT_MAX) {
        facts->instructions = keep_text(server, instructions);
    }
    if (tools != NULL) {
        facts->tools = talloc_steal(server->texts, (void *)tools);
    }
    talloc_free(old);
    json_t *of_tools = json_object_get(capabilities, "tools");
    server->has_tools = json_is_object(of_tools);
    server->tells_changes = json_is_true(json_object_get(of_tools, "listChanged"));
    server->probing = false;
    server->listed_again = false;
    server->state = LISTING;
}

static bool is_legacy_version(const char *version)
{
    for (size_t i = 0; version != NULL && i < IK_LENGTH(legacy_versions); i++) {
        if (strcmp(version, legacy_versions[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void on_initialize(void *data, const ik_rpc_answer_t *answer)
{
    ik_mcp_server_t *server = data;
    if (answer->closed) {
        return;
    }
    void *scratch = talloc_new(NULL);
    json_t *result =
        answer->failed ? NULL : ik_json_parse(answer->result.text, answer->result.len, NULL);
    ik_json_adopt(scratch, result);
    const char *version = json_string_value(json_object_get(result, "protocolVersion"));
    bool automatic = server->config->protocol == IK_CONFIG_PROTOCOL_AUTO;
    if (answer->failed && automatic && !server->tried_modern) {
        send_discover(server);
    } else if (answer->failed) {
        fail_start(server, describe_error(scratch, "initialize", answer));
    } else if (!is_legacy_version(version)) {
        fail_start(server, ik_sprintf(scratch,
                                      "it speaks version %.40s of the protocol, which "
                                      "ikigai does not know",
                                      version == NULL ? "?" : version));
    } else {
        take_facts(server, result, false, version);
        if (server->http != NULL) {
            ik_mcp_http_set_version(server->http, version, false);
        }
        ik_rpc_notify(server->rpc, "notifications/initialized", NULL);
        if (server->http != NULL) {
            ik_mcp_http_listen(server->http);
        }
        begin_list(server);
    }
    talloc_free(scratch);
}

static void send_initialize(ik_mcp_server_t *server)
{
    server->tried_legacy = true;
    server->probing = false;
    server->facts.modern = false;
    if (server->http != NULL) {
        ik_mcp_http_set_version(server->http, NULL, false);
    }
    char *params = ik_sprintf(server,
                              "{\"protocolVersion\":\"%s\",\"capabilities\":" CAPABILITIES
                              ",\"clientInfo\":" CLIENT_INFO "}",
                              legacy_versions[0]);
    ik_rpc_call(server->rpc, "initialize", params, on_initialize, server);
    talloc_free(params);
}

static void on_discover(void *data, const ik_rpc_answer_t *answer)
{
    ik_mcp_server_t *server = data;
    if (answer->closed || !server->probing) {
        return; /* it is too late: the handshake goes on */
    }
    void *scratch = talloc_new(NULL);
    ik_json_span_t told = answer->failed ? answer->detail : answer->result;
    json_t *result = told.len == 0 ? NULL : ik_json_parse(told.text, told.len, NULL);
    ik_json_adopt(scratch, result);
    json_t *versions = json_object_get(result, answer->failed ? "supported" : "supportedVersions");
    json_t *ours = ik_json_adopt(scratch, json_string(IK_MCP_MODERN));
    bool common = ik_json_array_has(versions, ours);
    bool modern = common && !answer->failed;
    bool may_be_legacy =
        server->config->protocol != IK_CONFIG_PROTOCOL_MODERN && !server->tried_legacy;
    if (modern) {
        take_facts(server, result, true, IK_MCP_MODERN);
        begin_list(server);
    } else if (common && !server->tried_again) {
        server->tried_again = true;
        send_discover(server);
    } else if (json_is_array(versions) && !may_be_legacy) {
        fail_start(server, "it has no version of the protocol that ikigai knows");
    } else if (may_be_legacy) {
        send_initialize(server);
    } else {
        fail_start(server, describe_error(scratch, "server/discover", answer));
    }
    talloc_free(scratch);
}

static void send_discover(ik_mcp_server_t *server)
{
    server->tried_modern = true;
    server->probing = true;
    if (server->http != NULL) {
        ik_mcp_http_set_version(server->http, IK_MCP_MODERN, true);
    }
    char *params = make_params(server, server, "", 0);
    ik_rpc_call(server->rpc, "server/discover", params, on_discover, server);
    talloc_free(params);
}

/* --- what the server sends --------------------------------------------------------------- */

/* --- HTTP -------------------------------------------------------------------------------- */

/* A value as a header can carry it. */
static char *encode_header(const void *ctx, const char *value, size_t len)
{
    bool plain = len > 0 && value[0] != ' ' && value[len - 1] != ' ' &&
                 !(len >= 11 && strncmp(value, "=?base64?", 9) == 0);
    for (size_t i = 0; i < len; i++) {
        plain = plain && value[i] >= 0x20 && value[i] <= 0x7e;
    }
    if (plain) {
        return ik_strndup(ctx, value, len);
    }
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the value */
    ik_buffer_append_text(&out, "=?base64?");
    ik_base64_append(&out, value, len);
    ik_buffer_append_text(&out, "?=");
    return ik_buffer_finish(&out);
}

typedef struct {
    const void *ctx;
    const char *list[40];
    size_t count;
} headers_t;

static void add_header(headers_t *headers, const char *name, const char *value, size_t len)
{
    if (headers->count + 1 < IK_LENGTH(headers->list)) {
        headers->list[headers->count++] =
            ik_sprintf(headers->ctx, "%s: %s", name, encode_header(headers->ctx, value, len));
    }
}

/* Values that the schema of the tool wants to be repeated in headers. */
static void add_parameters(headers_t *headers, json_t *schema, json_t *arguments, int depth)
{
    const char *key;
    json_t *property;
    json_object_foreach(json_object_get(schema, "properties"), key, property)
    {
        const char *name = json_string_value(json_object_get(property, "x-mcp-header"));
        json_t *value = json_object_get(arguments, key);
        char *header = name == NULL ? NULL : ik_sprintf(headers->ctx, "Mcp-Param-%s", name);
        if (header != NULL && json_is_string(value)) {
            add_header(headers, header, json_string_value(value), json_string_length(value));
        } else if (header != NULL && (json_is_integer(value) || json_is_boolean(value))) {
            char *text = ik_json_format(headers->ctx, value);
            add_header(headers, header, text, strlen(text));
        } else if (json_is_object(value) && depth < 8) {
            add_parameters(headers, property, value, depth + 1);
        }
    }
}

static void add_call_headers(const ik_mcp_server_t *server, headers_t *headers,
                             ik_json_span_t params)
{
    ik_json_span_t value;
    if (!ik_json_find_kind(params, "name", IK_JSON_STRING, &value)) {
        return;
    }
    size_t len;
    char *name = ik_json_decode(headers->ctx, value, &len);
    add_header(headers, "Mcp-Name", name, len);
    const ik_mcp_tools_t *tools = server->facts.tools;
    for (size_t i = 0; tools != NULL && i < tools->count; i++) {
        const ik_mcp_tool_t *tool = &tools->list[i];
        if (strcmp(tool->tool, name) != 0 || strstr(tool->schema, "x-mcp-header") == NULL ||
            !ik_json_find_kind(params, "arguments", IK_JSON_OBJECT, &value)) {
            continue;
        }
        json_t *schema = ik_json_parse(tool->schema, strlen(tool->schema), NULL);
        json_t *arguments = ik_json_parse(value.text, value.len, NULL);
        add_parameters(headers, json_object_get(schema, "parameters"), arguments, 0);
        json_decref(schema);
        json_decref(arguments);
    }
}

static void send_http(ik_mcp_server_t *server, const char *line, size_t len)
{
    headers_t headers = {.ctx = talloc_new(NULL)};
    ik_json_span_t whole;
    ik_json_span_t method;
    ik_json_span_t params;
    if ((server->facts.modern || server->probing) && ik_json_scan(line, len, &whole, NULL) &&
        ik_json_find_kind(whole, "method", IK_JSON_STRING, &method)) {
        add_header(&headers, "Mcp-Method", method.text + 1, method.len - 2);
        if (ik_json_is_text(method, "tools/call") &&
            ik_json_find_kind(whole, "params", IK_JSON_OBJECT, &params)) {
            add_call_headers(server, &headers, params);
        }
    }
    ik_mcp_http_send(server->http, line, len, headers.list);
    talloc_free((void *)headers.ctx);
}

static void on_http_message(void *data, const char *text, size_t len)
{
    ik_mcp_server_t *server = data;
    if (server->rpc != NULL) {
        ik_rpc_take(server->rpc, text, len);
    }
}

/* The user has to log in. Until then the server refuses every further request. */
static void fail_login(ik_mcp_server_t *server)
{
    static const char why[] = "it wants a login";
    set_status(server, IK_MCP_LOGIN, why);
    drop_connection(server, why);
    TALLOC_FREE(server->listed);
    save(server);
    wake(server, why);
}

static void keep_unsent(ik_mcp_server_t *server, const char *line)
{
    server->unsent = ik_resize_array(server, server->unsent, char *, server->unsent_count + 1);
    server->unsent[server->unsent_count++] = ik_strdup(server->unsent, line);
}

static void begin_again(ik_mcp_server_t *server, const char *line)
{
    server->renewed = true;
    keep_unsent(server, line);
    if (server->state == UP) {
        server->state = OPENING;
        server->started_ms = ik_clock_now_ms();
        server->tried_modern = true;
        ik_timer_start(server->timer, 1000 * (int64_t)server->config->start_timeout_seconds);
        ik_mcp_http_forget_session(server->http);
        send_initialize(server);
    }
}

static void open_http(ik_mcp_server_t *server);

static void on_token(void *data, bool renewed)
{
    ik_mcp_server_t *server = data;
    TALLOC_FREE(server->renewal);
    if (renewed) {
        open_http(server);
    } else {
        fail_login(server);
    }
}

/* Renews the token, once, and begins again with the new one. False: there is nothing to renew. */
static bool renew_token(ik_mcp_server_t *server)
{
    if (server->token_renewed || server->renewal != NULL) {
        return server->renewal != NULL;
    }
    server->token_renewed = true;
    server->renewal = ik_mcp_oauth_renew(server, server->options->http, server->options->paths,
                                         server->url, on_token, server);
    if (server->renewal != NULL) {
        server->state = OPENING;
        server->started_ms = ik_clock_now_ms();
        ik_timer_start(server->timer, 1000 * (int64_t)server->config->start_timeout_seconds);
        unsubscribe(server);
        if (server->http != NULL) {
            ik_mcp_http_retire(server->http);
            server->http = NULL;
        }
    }
    return server->renewal != NULL;
}

static void on_http_failure(void *data, int64_t id, ik_mcp_http_failure_t failure, const char *why,
                            const char *line, const char *challenge)
{
    ik_mcp_server_t *server = data;
    ik_mcp_exchange_t *exchange = server->exchanges;
    if (server->subscription != NULL && ik_rpc_call_id(server->subscription) == id) {
        lose_subscription(server);
        return;
    }
    while (exchange != NULL && (id == 0 || exchange->token != id)) {
        exchange = exchange->next;
    }
    bool login = failure == IK_MCP_HTTP_LOGIN;
    bool narrow = login && ik_mcp_oauth_is_narrow(challenge);
    if (login && !narrow && renew_token(server)) {
        if (exchange != NULL) {
            keep_unsent(server, line);
        }
        return;
    }
    char *scope =
        login ? ik_mcp_oauth_want(server, server->options->paths, server->url, challenge) : NULL;
    bool of_session = failure == IK_MCP_HTTP_SESSION && exchange != NULL;
    if (of_session && (!server->renewed || server->unsent_count > 0)) {
        begin_again(server, line);
        return;
    }
    bool of_call = exchange != NULL;
    if (of_call) {
        ik_mcp_exchange_fns_t fns = exchange->fns;
        talloc_free(exchange);
        if (failure == IK_MCP_HTTP_FLOOD) {
            fns.on_flood(fns.data);
        } else {
            fns.on_lost(fns.data, login, narrow ? scope : NULL, why);
        }
    } else if (id == 0) {
        talloc_free(scope);
        return; /* a notification, or the server's own stream */
    } else if (!login && server->state == UP) {
        fail_list(server, why);
    } else if (!login) {
        char *text = ik_sprintf(NULL, "it cannot be reached: %s", why);
        fail_start(server, text);
        talloc_free(text);
    }
    talloc_free(scope);
    if (!login || server->http == NULL) {
        return;
    }
    if (!narrow || !of_call) {
        fail_login(server);
    } else if (server->exchanges == NULL && !server->relisting) {
        drop_connection(server, why); /* the next call takes the token of another login */
    }
}

static void on_write(void *data, const char *line, size_t len)
{
    ik_mcp_server_t *server = data;
    if (server->http != NULL) {
        send_http(server, line, len - 1);
    } else if (server->body != NULL && !ik_process_write(server->body->process, line, len)) {
        ik_process_cancel(server->body->process); /* it does not read; its end is reported */
    }
}

static void append_uri(ik_buffer_t *out, const char *path)
{
    ik_buffer_append_text(out, "file://");
    for (; *path != '\0'; path++) {
        unsigned char c = (unsigned char)*path;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("/-._~", c) != NULL;
        if (plain) {
            ik_buffer_append_byte(out, (char)c);
        } else {
            ik_buffer_append_format(out, "%%%02X", c);
        }
    }
}

char *ik_mcp_server_roots(const void *ctx, const ik_mcp_server_t *server)
{
    ik_buffer_t uri;
    ik_buffer_t out;
    const char *folder = server->options->paths->cwd;
    const char *name = strrchr(folder, '/');
    ik_buffer_init(&uri, ctx, IK_BUFFER_UNLIMITED); /* bounded by the path */
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the path */
    append_uri(&uri, folder);
    ik_buffer_append_text(&out, "{\"roots\":[{\"uri\":");
    ik_json_append_text(&out, uri.data);
    ik_buffer_append_text(&out, ",\"name\":");
    ik_json_append_text(&out, name == NULL || name[1] == '\0' ? folder : name + 1);
    ik_buffer_append_text(&out, "}]}");
    ik_buffer_reset(&uri);
    return ik_buffer_finish(&out);
}

static int unlink_asked(asked_t *asked)
{
    asked_t **link = &asked->server->asked;
    while (*link != asked) {
        link = &(*link)->next;
    }
    *link = asked->next;
    return 0;
}

static void on_elicited(void *data, const char *result)
{
    asked_t *asked = data;
    ik_rpc_respond(asked->request, result, strlen(result));
    talloc_free(asked);
}

static void answer_elicitation(ik_mcp_server_t *server, ik_rpc_request_t *request)
{
    const char *fault = ik_mcp_elicitation_fault(request->params);
    if (fault != NULL) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, fault, NULL);
        return;
    }
    asked_t *asked = ik_new(server, asked_t);
    *asked = (asked_t){.server = server, .next = server->asked, .request = request};
    server->asked = asked;
    request->data = asked;
    talloc_set_destructor(asked, unlink_asked);
    ik_mcp_elicit(asked, server->options, server->config->name, request->params, on_elicited,
                  asked);
}

static bool on_request(void *data, ik_rpc_request_t *request)
{
    ik_mcp_server_t *server = data;
    if (strcmp(request->method, "ping") == 0) {
        ik_rpc_respond(request, "{}", 2);
    } else if (strcmp(request->method, "roots/list") == 0) {
        char *roots = ik_mcp_server_roots(request, server);
        ik_rpc_respond(request, roots, strlen(roots));
    } else if (strcmp(request->method, "elicitation/create") == 0) {
        answer_elicitation(server, request);
    } else {
        return false;
    }
    return true;
}

static void take_log(ik_mcp_server_t *server, ik_json_span_t params)
{
    ik_json_span_t level;
    ik_json_span_t data;
    ik_json_span_t logger;
    if (!ik_json_is(params, IK_JSON_OBJECT) || !ik_json_find(params, "data", &data)) {
        return;
    }
    ik_buffer_t text;
    ik_buffer_init(&text, server, TEXT_MAX);
    ik_buffer_append_text(&text, "");
    if (ik_json_find_kind(params, "logger", IK_JSON_STRING, &logger)) {
        ik_json_append_decoded(&text, logger);
        ik_buffer_append_text(&text, ": ");
    }
    if (ik_json_kind(data) == IK_JSON_STRING) {
        ik_json_append_decoded(&text, data);
    } else {
        ik_buffer_append(&text, data.text, data.len);
    }
    char *name = ik_json_find_kind(params, "level", IK_JSON_STRING, &level) && level.len < 40
                     ? ik_json_decode(server, level, NULL)
                     : ik_strdup(server, "info");
    ik_mcp_log_add(server->log, name, text.data, text.len);
    talloc_free(name);
    ik_buffer_reset(&text);
}

static void take_progress(ik_mcp_server_t *server, ik_json_span_t params)
{
    ik_json_span_t token;
    ik_json_span_t message;
    if (!ik_json_find_kind(params, "progressToken", IK_JSON_NUMBER, &token)) {
        return;
    }
    int64_t number = strtoll(token.text, NULL, 10);
    ik_mcp_exchange_t *exchange = server->exchanges;
    while (exchange != NULL && exchange->token != number) {
        exchange = exchange->next;
    }
    if (exchange == NULL) {
        return; /* late */
    }
    ik_buffer_t text;
    ik_buffer_init(&text, NULL, TEXT_MAX);
    ik_buffer_append_text(&text, "");
    if (ik_json_find_kind(params, "message", IK_JSON_STRING, &message)) {
        ik_json_append_decoded(&text, message);
    } else if (ik_json_find_kind(params, "progress", IK_JSON_NUMBER, &message)) {
        ik_json_span_t total;
        ik_buffer_append(&text, message.text, message.len);
        if (ik_json_find_kind(params, "total", IK_JSON_NUMBER, &total)) {
            ik_buffer_append_format(&text, " of %.*s", (int)total.len, total.text);
        }
    }
    exchange->fns.on_progress(exchange->fns.data, text.data, text.len);
    ik_buffer_reset(&text);
}

static void on_notification(void *data, const char *method, ik_json_span_t params)
{
    ik_mcp_server_t *server = data;
    ik_json_span_t id;
    if (strcmp(method, "notifications/progress") == 0) {
        take_progress(server, params);
    } else if (strcmp(method, "notifications/message") == 0) {
        take_log(server, params);
    } else if (strcmp(method, "notifications/tools/list_changed") == 0) {
        note_change(server);
    } else if (strcmp(method, "notifications/cancelled") == 0 &&
               ik_json_is(params, IK_JSON_OBJECT) && ik_json_find(params, "requestId", &id)) {
        ik_rpc_request_t *request = ik_rpc_find_request(server->rpc, id);
        if (request != NULL) {
            talloc_free(request->data); /* the question */
            talloc_free(request);
        }
    }
}

static void on_junk(void *data, const char *line, size_t len)
{
    ik_mcp_server_t *server = data;
    if (line != NULL) {
        ik_mcp_log_add(server->log, "stdout", line, len);
        return;
    }
    static const char long_line[] = "a message of more than 32 MB was dropped";
    ik_mcp_log_add(server->log, "error", long_line, strlen(long_line));
    /* It may have been the answer to any of them. */
    while (server->exchanges != NULL) {
        ik_mcp_exchange_t *exchange = server->exchanges;
        ik_mcp_exchange_fns_t fns = exchange->fns;
        talloc_free(exchange);
        fns.on_flood(fns.data);
    }
}

/* --- starting a process ------------------------------------------------------------------ */

static void on_output(void *data, bool err, const char *bytes, size_t len)
{
    ik_mcp_server_t *server = ((body_t *)data)->server;
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

static void open_process(ik_mcp_server_t *server, ik_process_host_t *host);

static void on_process_end(void *data, ik_process_result_t *result)
{
    ik_mcp_server_t *server = ((body_t *)data)->server;
    talloc_free(data); /* the process frees itself */
    if (server == NULL) {
        return;
    }
    server->body = NULL;
    char *why = describe_end(NULL, result);
    if (!server->leaving) { /* it was asked to exit */
        ik_mcp_log_add(server->log, "info", why, strlen(why));
    }
    bool restarts = server->state == OPENING && server->probing && !server->tried_legacy &&
                    server->config->protocol == IK_CONFIG_PROTOCOL_AUTO;
    if (server->leaving) {
        drop_connection(server, why);
        save(server);
    } else if (restarts) { /* some servers exit when they do not know a request */
        ik_rpc_t *rpc = server->rpc;
        server->rpc = NULL;
        ik_rpc_close(rpc);
        talloc_free(rpc);
        server->facts.modern = false;
        server->probing = false;
        open_process(server, server->host);
    } else if (server->state == UP) {
        count_death(server);
        set_status(server, IK_MCP_FAILED, why);
        drop_connection(server, why);
        save(server);
        wake(server, why);
    } else {
        char *tail = ik_mcp_log_tail(why, server->log);
        size_t len = strlen(tail);
        while (len > 0 && (tail[len - 1] == '\n' || tail[len - 1] == '\r')) {
            tail[--len] = '\0';
        }
        const char *last = strrchr(tail, '\n');
        last = last == NULL ? tail : last + 1;
        fail_start(server, *last == '\0' ? why : ik_sprintf(why, "%s: %.300s", why, last));
    }
    talloc_free(why);
}

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

/* A text of the configuration with its variables; NULL: *fault says what is missing. */
static char *expand(const void *ctx, const ik_mcp_server_t *server, const char *text, char **fault)
{
    char *missing;
    bool of_project = server->config->source == IK_CONFIG_PROJECT;
    char *expanded =
        ik_config_server_expand(ctx, server->options->config, of_project, text, &missing);
    if (expanded == NULL) {
        *fault = ik_sprintf(ctx, "the variable %s is not set", missing);
    }
    return expanded;
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

/* How to start it, on ctx; returns why it cannot be, or NULL. */
static char *make_launch(const void *ctx, const ik_mcp_server_t *server, launch_t *launch)
{
    const ik_config_server_t *config = server->config;
    char *fault = NULL;
    size_t count = 0;
    launch->env = ik_new_array(ctx, const char *, 1);
    const char *const *passes[] = {server->options->config->pass_env, config->pass_env};
    for (size_t i = 0; i < IK_LENGTH(passes); i++) {
        for (const char *const *name = passes[i]; name != NULL && *name != NULL; name++) {
            const char *value = ik_config_secret_held_back(server->options->config, *name);
            if (value != NULL) {
                add_variable(ctx, launch, &count, *name, value);
            }
        }
    }
    for (size_t i = 0; config->env != NULL && config->env[i] != NULL && fault == NULL; i += 2) {
        const char *value = expand(ctx, server, config->env[i + 1], &fault);
        if (value != NULL) {
            add_variable(ctx, launch, &count, config->env[i], value);
        }
    }
    const char *home = server->options->paths->account_home;
    const char *cwd = config->cwd == NULL || fault != NULL
                          ? server->options->paths->cwd
                          : expand(ctx, server, config->cwd, &fault);
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
    const char *command = fault != NULL ? NULL : expand(ctx, server, config->command, &fault);
    for (size_t i = 0; i < args && fault == NULL; i++) {
        launch->argv[i + 1] = expand(ctx, server, config->args[i], &fault);
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

static void on_probe_end(void *data)
{
    ik_mcp_server_t *server = data;
    int64_t left = server->started_ms + 1000 * (int64_t)server->config->start_timeout_seconds -
                   ik_clock_now_ms();
    if (server->state == OPENING && server->probing && !server->tried_legacy && left > 0 &&
        server->config->protocol == IK_CONFIG_PROTOCOL_AUTO) {
        ik_timer_start(server->timer, left);
        send_initialize(server);
    } else if (left > 0) {
        ik_timer_start(server->timer, left);
    } else {
        on_patience_end(server);
    }
}

static void create_rpc(ik_mcp_server_t *server);
static void begin_session(ik_mcp_server_t *server);

static void open_process(ik_mcp_server_t *server, ik_process_host_t *host)
{
    void *scratch = talloc_new(NULL);
    launch_t launch = {0};
    char *fault = make_launch(scratch, server, &launch);
    res_t started = OK;
    server->state = OPENING;
    server->leaving = false;
    server->host = host;
    ik_mcp_log_restart(server->log);
    body_t *body = ik_new(server, body_t);
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
        fail_start(server, fault != NULL ? fault : started.message);
        talloc_free(scratch);
        return;
    }
    talloc_free(scratch);
    server->body = body;
    create_rpc(server);
    begin_session(server);
}

static void create_rpc(ik_mcp_server_t *server)
{
    server->rpc = ik_rpc_create(server, &(ik_rpc_options_t){.max_line = LINE_MAX_BYTES,
                                                            .write = on_write,
                                                            .on_request = on_request,
                                                            .on_notification = on_notification,
                                                            .on_junk = on_junk,
                                                            .data = server});
}

/* Opens with the era the server had last time, else with the more common one. */
static void begin_session(ik_mcp_server_t *server)
{
    bool was_modern = server->facts.modern && !server->tried_modern;
    if (server->config->protocol == IK_CONFIG_PROTOCOL_MODERN ||
        (server->config->protocol == IK_CONFIG_PROTOCOL_AUTO && was_modern)) {
        send_discover(server);
    } else {
        send_initialize(server);
    }
}

/* Whether the user configured credentials as a header. */
static bool has_authorization(const ik_config_server_t *config)
{
    for (size_t i = 0; config->headers != NULL && config->headers[i] != NULL; i += 2) {
        if (strcasecmp(config->headers[i], "Authorization") == 0) {
            return true;
        }
    }
    return false;
}

static void open_http(ik_mcp_server_t *server)
{
    const ik_config_server_t *config = server->config;
    void *scratch = talloc_new(NULL);
    char *fault = NULL;
    const char *url = expand(scratch, server, config->url, &fault);
    const char **headers = ik_new_array(scratch, const char *, 1);
    size_t count = 0;
    for (size_t i = 0; config->headers != NULL && config->headers[i] != NULL && fault == NULL;
         i += 2) {
        const char *value = expand(scratch, server, config->headers[i + 1], &fault);
        if (value != NULL && strpbrk(value, "\r\n") != NULL) {
            fault = ik_sprintf(scratch, "the value of the header %s has a line break",
                               config->headers[i]);
        } else if (value != NULL) {
            headers = ik_resize_array(scratch, headers, const char *, count + 2);
            headers[count++] = ik_sprintf(scratch, "%s: %s", config->headers[i], value);
            headers[count] = NULL;
        }
    }
    if (fault == NULL && strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
        fault = "its url must begin with http:// or https://";
    }
    if (fault != NULL) {
        fail_start(server, fault);
        talloc_free(scratch);
        return;
    }
    server->state = OPENING;
    talloc_free(server->url);
    server->url = ik_strdup(server, url);
    bool stale = false;
    char *token = has_authorization(config)
                      ? NULL
                      : ik_mcp_oauth_header(scratch, server->options->paths, url, &stale);
    if (stale && renew_token(server)) {
        talloc_free(scratch);
        return;
    }
    if (token != NULL) {
        headers = ik_resize_array(scratch, headers, const char *, count + 2);
        headers[count++] = token;
        headers[count] = NULL;
    }
    server->http = ik_mcp_http_create(
        server, &(ik_mcp_http_options_t){
                    .http = server->options->http,
                    .loop = ik_process_host_loop(server->options->host),
                    .url = url,
                    .headers = headers,
                    .connect_ms = 1000 * (int64_t)server->options->config->connect_timeout_seconds,
                    .on_message = on_http_message,
                    .on_failure = on_http_failure,
                    .data = server});
    talloc_free(scratch);
    if (server->rpc == NULL) { /* else calls wait for their answers after a renewal */
        create_rpc(server);
    }
    begin_session(server);
}

static void on_room(void *data, ik_process_host_t *host)
{
    ik_mcp_server_t *server = data;
    open_process(server, host == NULL ? server->options->host : host);
}

/* Why it cannot be used at all, on ctx; NULL: it can. */
static char *find_fault(const void *ctx, const ik_mcp_server_t *server)
{
    const ik_config_server_t *config = server->config;
    if (config->type == IK_CONFIG_SERVER_SSE) {
        return ik_strdup(ctx, "the transport sse is not supported; use the server's streamable "
                              "HTTP URL");
    }
    if (config->type == IK_CONFIG_SERVER_STDIO && config->command == NULL) {
        return ik_strdup(ctx, config->url == NULL ? "its entry has neither command nor url"
                                                  : "its entry has no command");
    }
    if (config->type == IK_CONFIG_SERVER_HTTP && config->url == NULL) {
        return ik_strdup(ctx, "its entry has no url");
    }
    return NULL;
}

static void start(ik_mcp_server_t *server)
{
    char *fault = find_fault(server, server);
    server->started_ms = ik_clock_now_ms();
    server->tried_modern = server->tried_legacy = server->probing = false;
    server->tried_again = false;
    server->state = PREPARING;
    if (fault != NULL) {
        fail_start(server, fault);
        talloc_free(fault);
        return;
    }
    int64_t patience = 1000 * (int64_t)server->config->start_timeout_seconds;
    bool probes = server->facts.modern && server->config->protocol == IK_CONFIG_PROTOCOL_AUTO;
    ik_timer_start(server->timer, probes && patience > PROBE_MS ? PROBE_MS : patience);
    if (server->config->type == IK_CONFIG_SERVER_HTTP) {
        open_http(server);
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
    waiter_t *waiter = ik_new(ctx, waiter_t);
    *waiter = (waiter_t){.server = server, .on_done = on_done, .data = data};
    waiter->timer =
        ik_timer_create(waiter, ik_process_host_loop(server->options->host), on_known, waiter);
    talloc_set_destructor(waiter, unlink_waiter);
    int64_t wait_ms = server->retry_ms - ik_clock_now_ms();
    if (server->state == UP && !refresh && !server->relisting) {
        ik_timer_start(waiter->timer, 0);
        return waiter;
    }
    if (server->state == DOWN && wait_ms > 0 && !refresh) {
        waiter->why = ik_sprintf(waiter, "%s; it will be started again in %" PRId64 " s",
                                 ik_mcp_server_end(server), (wait_ms + 999) / 1000);
        ik_timer_start(waiter->timer, 0);
        return waiter;
    }
    waiter->next = server->waiters;
    server->waiters = waiter;
    if (server->state == DOWN) {
        start(server);
    } else if (server->state == UP && !server->relisting) {
        server->relisting = true;
        server->started_ms = ik_clock_now_ms();
        ik_timer_start(server->timer, 1000 * (int64_t)server->config->start_timeout_seconds);
        begin_list(server);
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
    free_questions(server);
    while (server->exchanges != NULL) {
        talloc_free(server->exchanges);
    }
    while (server->waiters != NULL) {
        talloc_free(server->waiters);
    }
    if (ik_mcp_log_is_new(server->log)) {
        save(server);
    }
    return 0;
}

/* Why the entry alone rules the server out, on ctx; NULL: it may work. */
static char *find_fault_of_entry(const void *ctx, const ik_mcp_server_t *server)
{
    const ik_config_server_t *config = server->config;
    const char *const texts[] = {config->command, config->cwd, config->url};
    char *fault = find_fault(ctx, server);
    for (size_t i = 0; fault == NULL && i < IK_LENGTH(texts); i++) {
        talloc_free(texts[i] == NULL ? NULL : expand(ctx, server, texts[i], &fault));
    }
    for (size_t i = 0; fault == NULL && config->args != NULL && config->args[i] != NULL; i++) {
        talloc_free(expand(ctx, server, config->args[i], &fault));
    }
    const char *const *pairs[] = {config->env, config->headers};
    for (size_t i = 0; i < IK_LENGTH(pairs); i++) {
        for (size_t j = 0; fault == NULL && pairs[i] != NULL && pairs[i][j] != NULL; j += 2) {
            talloc_free(expand(ctx, server, pairs[i][j + 1], &fault));
        }
    }
    return fault;
}

ik_mcp_server_t *ik_mcp_server_create(const void *ctx, const ik_mcp_options_t *options,
                                      const ik_config_server_t *config)
{
    ik_mcp_server_t *server = ik_new(ctx, ik_mcp_server_t);
    server->options = options;
    server->config = config;
    server->file = cache_file(server, options->paths, config);
    server->texts = talloc_new(server);
    server->log = ik_mcp_log_create(server);
    server->timer =
        ik_timer_create(server, ik_process_host_loop(options->host), on_probe_end, server);
    server->resubscription =
        ik_timer_create(server, ik_process_host_loop(options->host), on_resubscription, server);
    talloc_set_destructor(server, free_server);
    load(server);
    char *fault = find_fault_of_entry(server, server);
    if (fault != NULL) {
        set_status(server, IK_MCP_FAILED, fault);
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

bool ik_mcp_server_is_stale(const ik_mcp_server_t *server)
{
    bool expired = server->expires_ms > 0 && ik_clock_now_ms() >= server->expires_ms;
    return (server->stale || expired) && server->state == UP;
}
