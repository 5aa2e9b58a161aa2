/*
 * The state of a server and of its connection, private to this folder. The connection is a process
 * (mcp_server_process.c) or goes over HTTP (mcp_server_http.c). A session opens it with a handshake
 * (mcp_server_session.c) and reads the list of tools (mcp_server_list.c); then it carries calls
 * (mcp_server_messages.c). mcp_server.c decides when it is opened and what follows when it ends.
 */
#pragma once

#include "mcp/mcp_http.h"
#include "mcp/mcp_server.h"

enum { IK_MCP_TEXT_MAX = 64 * 1024 }; /* of instructions and the like */

typedef enum {
    IK_MCP_SERVER_DOWN,
    IK_MCP_SERVER_PREPARING, /* its room is being made */
    IK_MCP_SERVER_OPENING,   /* the handshake */
    IK_MCP_SERVER_LISTING,
    IK_MCP_SERVER_UP,
} ik_mcp_server_state_t;

typedef struct ik_mcp_waiter ik_mcp_waiter_t;
typedef struct ik_mcp_asked ik_mcp_asked_t;

struct ik_mcp_exchange {
    ik_mcp_server_t *server;
    ik_mcp_exchange_t *next;
    ik_rpc_call_t *call;
    int64_t token;
    char *junk; /* see ik_mcp_exchange_junk */
    ik_mcp_exchange_fns_t fns;
};

/* The process of a connection. It may have to end while the server has a new one already. */
typedef struct {
    ik_mcp_server_t *server; /* NULL: it is no longer the server's */
    ik_process_t *process;
} ik_mcp_body_t;

/* A request that was refused, and is sent again. */
typedef struct {
    int64_t id;
    char *line;
} ik_mcp_unsent_t;

struct ik_mcp_server {
    const ik_mcp_options_t *options;
    const ik_config_server_t *config;
    char *file; /* what is remembered */
    ik_mcp_facts_t facts;
    void *texts; /* holds the texts of facts */
    ik_mcp_log_t *log;

    ik_mcp_server_state_t state;
    ik_timer_t *timer; /* the end of the patience with the start */
    int64_t started_ms;
    bool probing; /* the era is being found out by server/discover */
    bool tried_modern;
    bool tried_legacy;
    bool tried_again; /* the version was refused although the server says that it has it */
    ik_rpc_t *rpc;
    ik_mcp_body_t *body;     /* NULL: there is no process */
    ik_process_host_t *host; /* of the process */
    ik_mcp_http_t *http;     /* NULL: there is no connection over HTTP */
    char *url;               /* of the server, expanded; NULL: not known yet */
    void *renewal;           /* its token is being renewed */
    bool token_renewed;      /* since the last call that worked */
    bool ending;             /* its session is being ended */
    bool renewed;            /* a new session was begun since the last call that worked */
    ik_mcp_unsent_t *unsent; /* what waits for a new session or token */
    size_t unsent_count;
    bool leaving; /* it was asked to exit */

    ik_mcp_tools_t *listed; /* the list that is being read; NULL: none */
    ik_rpc_call_t *page;    /* the request for the rest of it; NULL: none */
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

    char *end; /* why the last connection ended */
    int deaths;
    int64_t retry_ms; /* no start before */
    ik_mcp_waiter_t *waiters;
    ik_mcp_exchange_t *exchanges;
    ik_mcp_asked_t *asked;
};

/* --- what is remembered ------------------------------------------------------------------ */

void ik_mcp_server_load(ik_mcp_server_t *server);
void ik_mcp_server_save(ik_mcp_server_t *server);
void ik_mcp_server_set_status(ik_mcp_server_t *server, ik_mcp_status_t status, const char *error);
/* Keeps a text of the facts; NULL if it is no string. */
const char *ik_mcp_server_keep_text(ik_mcp_server_t *server, json_t *text);

/* --- opening and ending ------------------------------------------------------------------ */

/* A text of the configuration with its variables; NULL: *fault says what is missing. */
char *ik_mcp_server_expand(const void *ctx, const ik_mcp_server_t *server, const char *text,
                           char **fault);
/* Tells all that wait for the connection, from the loop. why is NULL if it can be used. */
void ik_mcp_server_wake(ik_mcp_server_t *server, const char *why);
/* Fails everything that waits for an answer. The process may end later. */
void ik_mcp_server_drop(ik_mcp_server_t *server, const char *why);
/* The next start waits longer. */
void ik_mcp_server_count_death(ik_mcp_server_t *server);
/* It cannot be used: counts it, and tells those that wait. */
void ik_mcp_server_fail_start(ik_mcp_server_t *server, const char *why);

/* --- transports -------------------------------------------------------------------------- */

void ik_mcp_server_open_process(ik_mcp_server_t *server, ik_process_host_t *host);
void ik_mcp_server_open_http(ik_mcp_server_t *server);
void ik_mcp_server_write_http(ik_mcp_server_t *server, const char *line, size_t len);
/* What was refused for the session or the token. */
void ik_mcp_server_send_unsent(ik_mcp_server_t *server);
/* The answer to that request is no longer wanted. */
void ik_mcp_server_drop_unsent(ik_mcp_server_t *server, int64_t id);

/* --- sessions ---------------------------------------------------------------------------- */

/* Opens with the era the server had last time, else with the more common one. */
void ik_mcp_server_begin_session(ik_mcp_server_t *server);
void ik_mcp_server_initialize(ik_mcp_server_t *server);
/* The params of a request: the members, and _meta as the era wants it. token 0: no progress. */
char *ik_mcp_server_make_params(const void *ctx, const ik_mcp_server_t *server, const char *members,
                                int64_t token);
char *ik_mcp_server_describe_error(const void *ctx, const char *what,
                                   const ik_rpc_answer_t *answer);

/* --- the list of tools ------------------------------------------------------------------- */

void ik_mcp_server_begin_list(ik_mcp_server_t *server);
/* Gives up the list that is being read: a late answer is dropped. */
void ik_mcp_server_abandon_list(ik_mcp_server_t *server);
/* Without a list a server cannot be used; an old list of one that is up stays. */
void ik_mcp_server_fail_list(ik_mcp_server_t *server, const char *why);
/* The list has changed, or may have. */
void ik_mcp_server_note_change(ik_mcp_server_t *server);
/* The stream of the subscription broke off. */
void ik_mcp_server_lose_subscription(ik_mcp_server_t *server);
void ik_mcp_server_unsubscribe(ik_mcp_server_t *server);

/* --- messages ---------------------------------------------------------------------------- */

void ik_mcp_server_create_rpc(ik_mcp_server_t *server);
void ik_mcp_server_free_questions(ik_mcp_server_t *server);
