/* The list of a server's tools: reading it page by page, and noticing that it has changed. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json_clean.h"
#include "mcp/mcp_server_state.h"

enum {
    PAGES_MAX = 100,
    SUBSCRIPTIONS_MAX = 5, /* attempts, unless one lasted */
    STEADY_MS = 30000,     /* a subscription that lasted is worth another series of attempts */
    TTL_MAX_MS = 24 * 3600 * 1000,
};

/* --- changes ----------------------------------------------------------------------------- */

void ik_mcp_server_note_change(ik_mcp_server_t *server)
{
    bool known = server->stale;
    server->stale = true;
    if (!known && server->state == IK_MCP_SERVER_UP && server->options->on_change != NULL) {
        server->options->on_change(server->options->data);
    }
}

bool ik_mcp_server_is_stale(const ik_mcp_server_t *server)
{
    bool expired = server->expires_ms > 0 && ik_clock_now_ms() >= server->expires_ms;
    return (server->stale || expired) && server->state == IK_MCP_SERVER_UP;
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
    char *params = ik_mcp_server_make_params(server, server,
                                             "\"notifications\":{\"toolsListChanged\":true}", 0);
    server->subscription =
        ik_rpc_call(server->rpc, "subscriptions/listen", params, on_subscription_end, server);
    talloc_free(params);
}

static void on_resubscription(void *data)
{
    ik_mcp_server_t *server = data;
    if (server->state == IK_MCP_SERVER_UP) {
        ik_mcp_server_note_change(server); /* what happened in between is not told again */
        subscribe(server);
    }
}

void ik_mcp_server_lose_subscription(ik_mcp_server_t *server)
{
    TALLOC_FREE(server->subscription);
    if (ik_clock_now_ms() - server->subscribed_ms >= STEADY_MS) {
        server->subscriptions = 0;
    }
    if (server->resubscription == NULL) {
        server->resubscription = ik_timer_create(
            server, ik_process_host_loop(server->options->host), on_resubscription, server);
    }
    if (++server->subscriptions <= SUBSCRIPTIONS_MAX) {
        ik_timer_start(server->resubscription, 1000 << (server->subscriptions - 1));
    }
}

void ik_mcp_server_unsubscribe(ik_mcp_server_t *server)
{
    TALLOC_FREE(server->subscription);
    TALLOC_FREE(server->resubscription);
    server->subscribed_ms = 0;
    server->subscriptions = 0;
}

/* --- reading ----------------------------------------------------------------------------- */

static void take_list(ik_mcp_server_t *server)
{
    ik_mcp_tools_t *listed = server->listed;
    const ik_mcp_tools_t *old = server->facts.tools;
    server->listed = NULL;
    if (server->http != NULL && server->facts.modern) {
        ik_mcp_tools_drop_bad_headers(listed);
    }
    ik_mcp_tools_sort(listed);
    bool first = old == NULL;
    bool same = !first && ik_mcp_tools_equal(old, listed);
    if (listed->problem != NULL) {
        ik_mcp_log_add(server->log, "warning", listed->problem, strlen(listed->problem));
    }
    server->facts.tools = talloc_steal(server->texts, listed);
    talloc_free((void *)old);
    bool is_news = !server->relisting || server->doubted;
    server->relisting = server->doubted = false;
    server->expires_ms =
        server->facts.modern && server->ttl_ms > 0 ? ik_clock_now_ms() + server->ttl_ms : 0;
    server->state = IK_MCP_SERVER_UP;
    ik_timer_stop(server->timer);
    ik_mcp_server_set_status(server, IK_MCP_READY, NULL);
    ik_mcp_server_save(server);
    ik_mcp_server_send_unsent(server);
    if (server->facts.modern && server->tells_changes && server->subscribed_ms == 0) {
        subscribe(server);
    }
    ik_mcp_server_wake(server, NULL);
    if (!same && !first && is_news && server->options->on_change != NULL) {
        server->options->on_change(server->options->data);
    }
}

void ik_mcp_server_fail_list(ik_mcp_server_t *server, const char *why)
{
    if (server->relisting) {
        ik_mcp_log_add(server->log, "warning", why, strlen(why));
        server->relisting = server->doubted = false;
        ik_mcp_server_abandon_list(server);
        ik_timer_stop(server->timer);
        ik_mcp_server_wake(server, NULL);
    } else {
        ik_mcp_server_fail_start(server, why);
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

static void ask_page(ik_mcp_server_t *server, const char *cursor);

static void on_page(void *data, const ik_rpc_answer_t *answer)
{
    ik_mcp_server_t *server = data;
    server->page = NULL; /* it frees itself */
    if (answer->closed) {
        return; /* its end says why */
    }
    void *scratch = talloc_new(NULL);
    if (answer->failed) {
        bool expired = answer->code == IK_RPC_INVALID_PARAMS && server->cursor_count > 0;
        if (expired && !server->listed_again) {
            server->listed_again = true;
            ik_mcp_server_begin_list(server);
        } else {
            ik_mcp_server_fail_list(server,
                                    ik_mcp_server_describe_error(scratch, "tools/list", answer));
        }
        talloc_free(scratch);
        return;
    }
    json_t *result = ik_json_adopt(scratch, ik_json_parse_clean(answer->result));
    json_t *tools = json_object_get(result, "tools");
    json_t *cursor = json_object_get(result, "nextCursor");
    const char *type = json_string_value(json_object_get(result, "resultType"));
    double ttl = json_number_value(json_object_get(result, "ttlMs"));
    server->ttl_ms = ttl < (double)server->ttl_ms ? (int64_t)(ttl > 0 ? ttl : 0) : server->ttl_ms;
    size_t i;
    json_t *each;
    json_array_foreach(tools, i, each)
    {
        ik_mcp_tools_add(server->listed, server->config->name, each);
    }
    if (server->facts.modern && type != NULL && strcmp(type, "complete") != 0) {
        ik_mcp_server_fail_list(server, "its answer to tools/list is of an unknown type");
    } else if (!json_is_array(tools)) {
        ik_mcp_server_fail_list(server, "its answer to tools/list has no tools");
    } else if (!json_is_string(cursor)) {
        take_list(server);
    } else if (server->cursor_count >= PAGES_MAX) {
        ik_mcp_server_fail_list(server, "its list of tools does not end");
    } else if (!is_new_cursor(server, json_string_value(cursor))) {
        ik_mcp_server_fail_list(server, "its list of tools repeats itself");
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
    char *params = ik_mcp_server_make_params(server, server, members.data, 0);
    ik_buffer_reset(&members);
    server->page = ik_rpc_call(server->rpc, "tools/list", params, on_page, server);
    talloc_free(params);
}

void ik_mcp_server_abandon_list(ik_mcp_server_t *server)
{
    TALLOC_FREE(server->page);
    TALLOC_FREE(server->listed);
}

void ik_mcp_server_begin_list(ik_mcp_server_t *server)
{
    ik_mcp_server_abandon_list(server);
    server->listed = ik_mcp_tools_create(server);
    TALLOC_FREE(server->cursors);
    server->cursor_count = 0;
    server->stale = false;
    server->expires_ms = 0;
    server->ttl_ms = TTL_MAX_MS;
    if (server->has_tools) {
        ask_page(server, NULL);
    } else {
        take_list(server);
    }
}
