/*
 * OAuth for servers over HTTP: how tokens are got (PKCE, a redirect to this machine, discovery,
 * registration), kept (home/mcp-auth.json, readable by the user alone) and renewed. A token goes to
 * the server it was made for, and to no other.
 */
#pragma once

#include "base/config.h"
#include "base/paths.h"
#include "io/http.h"

/* The header "Authorization: Bearer …" for the server with this URL, on ctx; NULL: there is no
 * token. *stale: it has expired, and could be renewed. */
char *ik_mcp_oauth_header(const void *ctx, const ik_paths_t *paths, const char *url, bool *stale);
/* Renews the token. on_done is called once, from the loop. Freeing the result cancels it; NULL:
 * there is nothing to renew, and on_done is not called. */
void *ik_mcp_oauth_renew(const void *ctx, ik_loop_t *loop, ik_http_t *http, const ik_paths_t *paths,
                         const char *url, void (*on_done)(void *data, bool renewed), void *data);
/* Whether the challenge, the header WWW-Authenticate, says that the token covers too little. */
bool ik_mcp_oauth_is_narrow(const char *challenge);
/* The scopes that the challenge names, on ctx, which the next login asks for beside those of the
 * token; NULL: it names none. */
char *ik_mcp_oauth_want(const void *ctx, const ik_paths_t *paths, const char *url,
                        const char *challenge);
/* Forgets the tokens of a URL. */
void ik_mcp_oauth_forget(const ik_paths_t *paths, const char *url);

typedef struct {
    ik_loop_t *loop;
    ik_http_t *http;
    const ik_paths_t *paths;
    const ik_config_server_t *config; /* for its client */
    const char *url;                  /* expanded */
    int64_t patience_ms;              /* for the user */
    /* Shows the address that the user has to visit. */
    void (*visit)(void *data, const char *address);
    void *data;
} ik_mcp_oauth_login_t;

/* Blocks: runs the loop until the user has logged in, and keeps the token. IK_ERR_NOT_FOUND: the
 * server wants no login. */
res_t ik_mcp_oauth_login(const ik_mcp_oauth_login_t *login);
