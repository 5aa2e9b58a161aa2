/*
 * The streamable HTTP transport of MCP: every message of ours is a POST, and what the server sends
 * comes in the answers, as JSON or as server-sent events, and on a stream of its own. A stream that
 * breaks before the answer has come is resumed where the protocol allows it. Redirects that keep
 * the method and lead to the same origin are followed, so that credentials stay there.
 */
#pragma once

#include "io/http.h"
#include "rpc/mcp_version.h"
#include "rpc/rpc.h"

enum { IK_MCP_HTTP_REDIRECTS_MAX = 5 }; /* of a connection */

typedef struct ik_mcp_http ik_mcp_http_t;

/* Why a message was not answered. */
typedef enum {
    IK_MCP_HTTP_LOST,    /* no connection, a broken one, or a failure of the server */
    IK_MCP_HTTP_LOGIN,   /* 401 or 403 */
    IK_MCP_HTTP_SESSION, /* the server does not know the session any more */
    IK_MCP_HTTP_FLOOD,   /* the answer is too long */
} ik_mcp_http_failure_t;

typedef struct {
    ik_http_t *http;
    ik_loop_t *loop;
    const char *url;
    const char *const *headers; /* "Name: value", NULL-terminated */
    int64_t connect_ms;
    /* A message of the server. */
    void (*on_message)(void *data, const char *text, size_t len);
    /* The server has answered notifications/initialized, or its answer was lost. Only now may
     * requests follow: each has a connection of its own and could overtake the notification. */
    void (*on_initialized)(void *data);
    /* The request with this id, 0 for a message without one, has no answer. line is what was sent,
     * challenge the header WWW-Authenticate or NULL. */
    void (*on_failure)(void *data, int64_t id, ik_mcp_http_failure_t failure, const char *why,
                       const char *line, const char *challenge);
    void *data;
} ik_mcp_http_options_t;

/* Strings are copied. */
ik_mcp_http_t *ik_mcp_http_create(const void *ctx, const ik_mcp_http_options_t *options);
/* Frees it from the loop; no callback comes any more. */
void ik_mcp_http_retire(ik_mcp_http_t *http);

/* Replaces the headers, because they have a new token. A request that is refused for the old one is
 * sent again. */
void ik_mcp_http_set_headers(ik_mcp_http_t *http, const char *const *headers);
/* Adds the version of the protocol to every message from now on. */
void ik_mcp_http_set_version(ik_mcp_http_t *http, const char *version, bool modern);
/* Sends one message. headers: more of them, NULL-terminated; may be NULL. */
void ik_mcp_http_send(ik_mcp_http_t *http, const char *line, size_t len,
                      const char *const *headers);
/* Gives up the request: its answer is no longer read. */
void ik_mcp_http_give_up(ik_mcp_http_t *http, int64_t id);
/* Opens the server's own stream, if it has one. */
void ik_mcp_http_listen(ik_mcp_http_t *http);
/* Sends no session from now on: the server does not know it any more. */
void ik_mcp_http_forget_session(ik_mcp_http_t *http);
/* Ends the session; false: there is none. on_done is called once, from the loop. */
bool ik_mcp_http_end_session(ik_mcp_http_t *http, void (*on_done)(void *data), void *data);
