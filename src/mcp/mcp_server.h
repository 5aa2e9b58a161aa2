/*
 * One MCP server: what is configured, what is remembered of it, and the connection to it. The
 * connection is opened when it is first needed; the tools are known from the last time.
 *
 * A server that died is started again by the next call at once, then after 1, 2, 4 … 60 seconds.
 */
#pragma once

#include "base/paths.h"
#include "confinement/confinement.h"
#include "io/http.h"
#include "mcp/mcp_log.h"
#include "mcp/mcp_tool.h"
#include "rpc/rpc.h"

typedef struct ik_mcp_server ik_mcp_server_t;

/* answer is valid inside the callback; NULL: the user declines. */
typedef void (*ik_mcp_answer_fn)(void *data, const char *answer);

/* What all servers share. Everything outlives them. */
typedef struct {
    const ik_paths_t *paths;
    const ik_config_t *config;
    ik_process_host_t *host;
    ik_http_t *http;
    ik_confinement_t *confinement; /* NULL: nothing is confined */
    /* Asks the user a question of one line, which any text answers. Returns an object that cancels
     * the question when it is freed, or NULL if on_answer was called before. NULL: there is no
     * user.
     */
    void *(*ask)(void *data, const char *question, ik_mcp_answer_fn on_answer, void *answer_data);
    /* Asks for a whole form with this JSON schema, or for a visit to a URL; the other one is NULL.
     * Otherwise as ask. The answer is JSON, the result of elicitation/create. NULL: the fields are
     * asked one after the other, and whether the user visits the URL. */
    void *(*ask_form)(void *data, const char *question, const char *schema, const char *url,
                      ik_mcp_answer_fn on_answer, void *answer_data);
    /* The tools of a server are not what they were; ask it again before the next turn. May be NULL.
     */
    void (*on_change)(void *data);
    void *data;
} ik_mcp_options_t;

typedef enum {
    IK_MCP_NEW,   /* it was never asked */
    IK_MCP_READY, /* it answered the last time */
    IK_MCP_FAILED,
    IK_MCP_LOGIN, /* the user has to log in */
} ik_mcp_status_t;

/* What the server said about itself on the last connection. Texts may be NULL. */
typedef struct {
    ik_mcp_status_t status;
    const char *error; /* of FAILED and LOGIN */
    bool modern;       /* the era of the protocol */
    const char *version;
    const char *name; /* as the server calls itself */
    const char *server_version;
    const char *instructions;
    const ik_mcp_tools_t *tools; /* NULL: not known */
} ik_mcp_facts_t;

/* config outlives it. Reads what is remembered; starts nothing. */
ik_mcp_server_t *ik_mcp_server_create(const void *ctx, const ik_mcp_options_t *options,
                                      const ik_config_server_t *config);
const ik_mcp_options_t *ik_mcp_server_options(const ik_mcp_server_t *server);
const ik_config_server_t *ik_mcp_server_config(const ik_mcp_server_t *server);
const ik_mcp_facts_t *ik_mcp_server_facts(const ik_mcp_server_t *server);
ik_mcp_log_t *ik_mcp_server_log(const ik_mcp_server_t *server);
/* Whether its list of tools has changed or is no longer fresh, as it said, and it was not asked
 * again yet. */
bool ik_mcp_server_is_stale(const ik_mcp_server_t *server);
/* Forgets what is remembered of a server, also on disk. */
void ik_mcp_server_forget(const ik_paths_t *paths, const ik_config_server_t *config);

/* Opens the connection, unless it is open; refresh: asks for the tools again in any case. on_done
 * is called once, from the loop; why is NULL when the server can be used, else one line. Freeing
 * the result cancels it. */
typedef void (*ik_mcp_done_fn)(void *data, const char *why);
void *ik_mcp_server_open(const void *ctx, ik_mcp_server_t *server, bool refresh,
                         ik_mcp_done_fn on_done, void *data);
/* Asks for the tools again during a call: the server says that the known ones are not its own. What
 * has changed is reported to on_change. */
void *ik_mcp_server_relist(const void *ctx, ik_mcp_server_t *server, ik_mcp_done_fn on_done,
                           void *data);
/* Asks the server to exit, without waiting; whether there was a connection that is still to end. */
bool ik_mcp_server_close(ik_mcp_server_t *server);
bool ik_mcp_server_is_running(const ik_mcp_server_t *server);

/* --- an open connection, for calls --------------------------------------------------------- */

/* An open request. Owned by the caller, which unlinks it by freeing it. */
typedef struct ik_mcp_exchange ik_mcp_exchange_t;
typedef struct {
    ik_rpc_answer_fn on_answer; /* closed: the connection ended, see ik_mcp_server_end */
    /* Anything that counts as progress; text is decoded, "" when there is none. */
    void (*on_progress)(void *data, const char *text, size_t len);
    /* The answer was too long. */
    void (*on_flood)(void *data);
    /* The request got no answer over HTTP; login: the user has to log in, with more scopes than
     * before if scope is not NULL. */
    void (*on_lost)(void *data, bool login, const char *scope, const char *why);
    void *data;
} ik_mcp_exchange_fns_t;

/* Sends a request; members is the inside of the params object, "" or "\"name\":1". NULL: the
 * connection is gone. Freeing it earlier gives the request up without telling the server. */
ik_mcp_exchange_t *ik_mcp_server_send(const void *ctx, ik_mcp_server_t *server, const char *method,
                                      const char *members, const ik_mcp_exchange_fns_t *fns);
/* The beginning of the last line that is not a message and arrived while the request was open: it
 * may have been meant as the answer. NULL: there was none. */
const char *ik_mcp_exchange_junk(const ik_mcp_exchange_t *exchange);
/* Tells the server that the request is given up, and frees it. */
void ik_mcp_server_give_up(ik_mcp_server_t *server, ik_mcp_exchange_t *exchange,
                           const char *reason);
/* Why the connection ended: one line, and the tail of standard error. */
const char *ik_mcp_server_end(const ik_mcp_server_t *server);
/* Forgets earlier failures, because a call has worked. */
void ik_mcp_server_forgive(ik_mcp_server_t *server);
/* The result of roots/list, on ctx. */
char *ik_mcp_server_roots(const void *ctx, const ik_mcp_server_t *server);
/* Whether the server waits for an answer of the user, so that no clock runs. */
bool ik_mcp_server_is_asking(const ik_mcp_server_t *server);
