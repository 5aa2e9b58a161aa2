/* What the files of OAuth share, private to this folder: the kept tokens, requests to authorization
 * servers, and what discovery finds. */
#pragma once

#include "base/buffer.h"
#include "base/json.h"
#include "mcp/mcp_oauth.h"

/* --- what is kept, and scopes: mcp_oauth.c ----------------------------------------------- */

/* {"servers": {URL: {issuer, client_id, …}}}, a new reference. */
json_t *ik_mcp_oauth_load(const ik_paths_t *paths);
/* Borrowed from root. */
json_t *ik_mcp_oauth_find(json_t *root, const char *url);
const char *ik_mcp_oauth_text_of(json_t *object, const char *name);
/* Keeps what the token endpoint answered; entry has what stays the same. */
res_t ik_mcp_oauth_keep_tokens(const ik_paths_t *paths, const char *url, json_t *entry,
                               json_t *answer);
/* The value of name="…" in a challenge, on ctx; NULL: it is not there. */
char *ik_mcp_oauth_find_parameter(const void *ctx, const char *challenge, const char *name);
/* The scopes of both lists, each once, on ctx. Either may be NULL; NULL: there are none. */
char *ik_mcp_oauth_unite_scopes(const void *ctx, const char *a, const char *b);

/* --- requests: mcp_oauth.c --------------------------------------------------------------- */

/* One request and its answer. */
typedef struct {
    bool done;
    bool failed;
    char *why;
    int status;
    char *challenge;
    char *location; /* of a redirect; NULL: it is none */
    ik_buffer_t body;
    ik_http_part_t part;
    ik_http_request_t *request;
    void (*on_done)(void *data);
    void *data;
} ik_mcp_oauth_exchange_t;

/* Secrets go over TLS, or stay on this machine. */
bool ik_mcp_oauth_is_safe(const char *url);
/* Appends "&name=value", encoded, unless value is NULL. */
void ik_mcp_oauth_add_field(ik_buffer_t *out, const char *name, const char *value);
/* The client's name and secret in a header. */
char *ik_mcp_oauth_basic_header(const void *ctx, const char *id, const char *secret);
/* Sends a request and runs the loop until it is answered. body NULL: a GET. type is the
 * Content-Type of the body; headers are more of them, one on each line, or NULL. */
ik_mcp_oauth_exchange_t *ik_mcp_oauth_fetch(const ik_mcp_oauth_login_t *login, const void *ctx,
                                            const char *url, const char *type, const char *body,
                                            const char *headers);
/* The answer as a JSON object, on ctx; NULL: it is not one. */
json_t *ik_mcp_oauth_read_object(const void *ctx, const ik_mcp_oauth_exchange_t *exchange);

/* --- discovery --------------------------------------------------------------------------- */

typedef struct {
    char *issuer;
    const char *authorize;
    const char *token;
    const char *registration; /* NULL: none */
    char *scope;              /* NULL: none */
    bool needs_iss;
    bool takes_documents; /* a client may be the address of a document that describes it */
    bool guessed;         /* the server describes nothing: these are the addresses of 2025-03-26 */
    const char *resource; /* what the token is for */
    json_t *methods;      /* how clients prove who they are; NULL: not told */
} ik_mcp_oauth_authority_t;

/* Asks the server where to log in; texts are on ctx. IK_ERR_NOT_FOUND: it wants no login, or does
 * not say. */
res_t ik_mcp_oauth_discover(const ik_mcp_oauth_login_t *login, const void *ctx,
                            ik_mcp_oauth_authority_t *out);
