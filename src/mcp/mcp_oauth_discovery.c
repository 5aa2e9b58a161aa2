/* Where the user of a server logs in: what the server and its authorization server describe. */
#include <string.h>

#include "base/alloc.h"
#include "base/url_host.h"
#include "mcp/mcp_http.h"
#include "mcp/mcp_oauth_state.h"

/* --- addresses --------------------------------------------------------------------------- */

/* The length of "https://host:port". */
static size_t origin_length(const char *url)
{
    const char *host = strstr(url, "://");
    return host == NULL ? strlen(url) : (size_t)(host + 3 - url) + strcspn(host + 3, "/?#");
}

/* Whether the metadata describe the server, or a path of its origin that contains it. */
static bool covers(const char *resource, const char *url)
{
    size_t len = strlen(resource);
    len -= len > 0 && resource[len - 1] == '/';
    return len >= origin_length(url) && strncmp(resource, url, len) == 0 &&
           (url[len] == '\0' || strchr("/?#", url[len]) != NULL);
}

/* --- descriptions ------------------------------------------------------------------------ */

static json_t *fetch_object(const ik_mcp_oauth_login_t *login, const void *ctx, const char *url)
{
    return url == NULL || !ik_mcp_oauth_is_safe(url)
               ? NULL
               : ik_mcp_oauth_read_object(ctx,
                                          ik_mcp_oauth_fetch(login, ctx, url, NULL, NULL, NULL));
}

/* The server's metadata as a protected resource (RFC 9728); NULL: it has none. */
static json_t *find_resource(const ik_mcp_oauth_login_t *login, const void *ctx,
                             const char *challenge)
{
    size_t origin = origin_length(login->url);
    const char *path = login->url + origin;
    char *told = ik_mcp_oauth_find_parameter(ctx, challenge, "resource_metadata");
    json_t *found = fetch_object(login, ctx, told);
    if (found == NULL && told == NULL && strlen(path) > 1) {
        found = fetch_object(login, ctx,
                             ik_sprintf(ctx, "%.*s/.well-known/oauth-protected-resource%.*s",
                                        (int)origin, login->url, (int)strcspn(path, "?#"), path));
    }
    if (found == NULL && told == NULL) {
        found = fetch_object(
            login, ctx,
            ik_sprintf(ctx, "%.*s/.well-known/oauth-protected-resource", (int)origin, login->url));
    }
    return found;
}

/* The metadata of the authorization server; their issuer must be the address they came from. */
static json_t *find_metadata(const ik_mcp_oauth_login_t *login, const void *ctx, const char *issuer)
{
    size_t origin = origin_length(issuer);
    const char *path = issuer + origin;
    size_t len = strlen(path);
    len -= len > 0 && path[len - 1] == '/';
    const char *forms[3] = {ik_sprintf(ctx, "%.*s/.well-known/oauth-authorization-server%.*s",
                                       (int)origin, issuer, (int)len, path),
                            ik_sprintf(ctx, "%.*s/.well-known/openid-configuration%.*s",
                                       (int)origin, issuer, (int)len, path),
                            len == 0 ? NULL
                                     : ik_sprintf(ctx, "%.*s%.*s/.well-known/openid-configuration",
                                                  (int)origin, issuer, (int)len, path)};
    for (size_t i = 0; i < 3; i++) {
        json_t *found = fetch_object(login, ctx, forms[i]);
        const char *named = ik_mcp_oauth_text_of(found, "issuer");
        if (named != NULL && strcmp(named, issuer) == 0) {
            return found;
        }
    }
    return NULL;
}

/* challenge NULL: the server asked for no login. */
static res_t find_authority(const ik_mcp_oauth_login_t *login, const void *ctx,
                            const char *challenge, ik_mcp_oauth_authority_t *out)
{
    json_t *resource = find_resource(login, ctx, challenge);
    if (resource == NULL && challenge == NULL) {
        return ERR(NOT_FOUND, "The server wants no login");
    }
    out->resource = ik_mcp_oauth_text_of(resource, "resource");
    if (out->resource != NULL && !covers(out->resource, login->url)) {
        return ERR(DENIED, "The server's description is that of another server, %.200s",
                   out->resource);
    }
    out->resource = out->resource == NULL ? login->url : out->resource;
    const char *named =
        json_string_value(json_array_get(json_object_get(resource, "authorization_servers"), 0));
    size_t origin = origin_length(login->url);
    out->issuer = named == NULL ? ik_strndup(ctx, login->url, origin) : ik_strdup(ctx, named);
    json_t *metadata = find_metadata(login, ctx, out->issuer);
    out->guessed = metadata == NULL && resource == NULL;
    if (metadata == NULL && !out->guessed) {
        return ERR(NOT_FOUND, "%s does not describe how to log in", out->issuer);
    }
    json_t *methods = json_object_get(metadata, "code_challenge_methods_supported");
    json_t *wanted = ik_json_adopt(ctx, json_string("S256"));
    if (methods != NULL && !ik_json_array_has(methods, wanted)) {
        return ERR(INVALID, "%s does not support PKCE with S256", out->issuer);
    }
    out->methods = json_object_get(metadata, "token_endpoint_auth_methods_supported");
    out->authorize = ik_mcp_oauth_text_of(metadata, "authorization_endpoint");
    out->token = ik_mcp_oauth_text_of(metadata, "token_endpoint");
    out->registration = ik_mcp_oauth_text_of(metadata, "registration_endpoint");
    out->needs_iss =
        json_is_true(json_object_get(metadata, "authorization_response_iss_parameter_supported"));
    out->takes_documents =
        json_is_true(json_object_get(metadata, "client_id_metadata_document_supported"));
    if (out->guessed) {
        out->authorize = ik_sprintf(ctx, "%s/authorize", out->issuer);
        out->token = ik_sprintf(ctx, "%s/token", out->issuer);
        out->registration = ik_sprintf(ctx, "%s/register", out->issuer);
    }
    if (!ik_mcp_oauth_is_safe(out->authorize) || !ik_mcp_oauth_is_safe(out->token)) {
        return ERR(INVALID, "%s names no safe addresses for a login", out->issuer);
    }
    out->scope = login->config->oauth_scope != NULL
                     ? ik_strdup(ctx, login->config->oauth_scope)
                     : ik_mcp_oauth_find_parameter(ctx, challenge, "scope");
    json_t *root = ik_json_adopt(ctx, ik_mcp_oauth_load(login->paths));
    json_t *entry = ik_mcp_oauth_find(root, login->url);
    const char *refused = ik_mcp_oauth_text_of(entry, "wanted_scope");
    json_t *scopes = json_object_get(resource, "scopes_supported");
    size_t i;
    json_t *each;
    if (out->scope == NULL && refused == NULL && json_array_size(scopes) > 0) {
        json_array_foreach(scopes, i, each)
        {
            const char *text = json_is_string(each) ? json_string_value(each) : "";
            out->scope = out->scope == NULL ? ik_strdup(ctx, text)
                                            : ik_sprintf(ctx, "%s %s", out->scope, text);
        }
    }
    if (refused != NULL) { /* what the token covers must not get lost */
        out->scope =
            ik_mcp_oauth_unite_scopes(ctx, out->scope, ik_mcp_oauth_text_of(entry, "scope"));
        out->scope = ik_mcp_oauth_unite_scopes(ctx, out->scope, refused);
    }
    return OK;
}

/* --- the challenge ----------------------------------------------------------------------- */

/* Sends the server an opening, for its challenge. A server of the modern era may refuse the one of
 * the legacy era for its own sake. */
static ik_mcp_oauth_exchange_t *knock_at(const ik_mcp_oauth_login_t *login, const void *ctx,
                                         const char *url)
{
    static const char initialize[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"ikigai\",\"version\":"
        "\"" IKIGAI_VERSION "\"}}}";
    static const char discover_modern[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"" IK_MCP_MODERN "\","
        "\"io.modelcontextprotocol/clientCapabilities\":{},"
        "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"ikigai\",\"version\":"
        "\"" IKIGAI_VERSION "\"}}}}";
    static const char modern_headers[] =
        "MCP-Protocol-Version: " IK_MCP_MODERN "\nMcp-Method: server/discover";
    static const char json[] = "application/json";
    ik_config_protocol_t protocol = login->config->protocol;
    ik_mcp_oauth_exchange_t *exchange =
        protocol == IK_CONFIG_PROTOCOL_MODERN
            ? NULL
            : ik_mcp_oauth_fetch(login, ctx, url, json, initialize, NULL);
    bool refused = exchange != NULL && !exchange->failed && exchange->status >= 400 &&
                   exchange->status < 500 && exchange->status != 401 && exchange->status != 403;
    return exchange == NULL || (refused && protocol == IK_CONFIG_PROTOCOL_AUTO)
               ? ik_mcp_oauth_fetch(login, ctx, url, json, discover_modern, modern_headers)
               : exchange;
}

/* Follows redirects as calls do. */
static ik_mcp_oauth_exchange_t *knock(const ik_mcp_oauth_login_t *login, const void *ctx)
{
    const char *url = login->url;
    ik_mcp_oauth_exchange_t *exchange = knock_at(login, ctx, url);
    for (int i = 0; i < IK_MCP_HTTP_REDIRECTS_MAX && !exchange->failed &&
                    (exchange->status == 307 || exchange->status == 308);
         i++) {
        url = ik_url_host_redirect(ctx, url, exchange->location);
        if (url == NULL) {
            break;
        }
        exchange = knock_at(login, ctx, url);
    }
    return exchange;
}

res_t ik_mcp_oauth_discover(const ik_mcp_oauth_login_t *login, const void *ctx,
                            ik_mcp_oauth_authority_t *out)
{
    const ik_mcp_oauth_exchange_t *exchange = knock(login, ctx);
    bool refused = exchange->status == 401 || exchange->status == 403;
    if (exchange->failed) {
        return ERR(GONE, "%s", exchange->why);
    }
    if (exchange->status >= 300 && !refused) {
        return ERR(DENIED, "The server answered with status %d", exchange->status);
    }
    /* Some servers want a login only for calls. */
    return find_authority(login, ctx,
                          refused && exchange->challenge == NULL ? "" : exchange->challenge, out);
}
