/* The login of a user: a client, the visit of the user's browser, and the token that it brings. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/random.h"
#include "mcp/mcp_oauth_state.h"

enum {
    REQUEST_MAX = 16384,
    VERIFIER_LENGTH = 64,
    STATE_LENGTH = 32,
};

/* --- the client -------------------------------------------------------------------------- */

typedef struct {
    const char *id;
    const char *secret; /* NULL: none */
    const char *method; /* how it proves who it is, as it was registered; NULL: not told */
} client_t;

/* Why a request brought nothing: what the transfer says, or the status. */
static const char *explain(const void *ctx, const ik_mcp_oauth_exchange_t *exchange)
{
    return exchange->failed && exchange->why != NULL
               ? exchange->why
               : ik_sprintf(ctx, "status %d", exchange->status);
}

static res_t register_client(const ik_mcp_oauth_login_t *login, const void *ctx,
                             const ik_mcp_oauth_authority_t *authority, const char *redirect,
                             client_t *out)
{
    const char *own = login->config->oauth_id;
    bool registers =
        authority->registration != NULL && ik_mcp_oauth_is_safe(authority->registration);
    /* The address of a document says nothing to a server that does not read it. */
    bool document = own != NULL && strncmp(own, "https://", 8) == 0;
    if (own != NULL && (!document || authority->takes_documents || !registers)) {
        *out = (client_t){.id = own, .secret = login->config->oauth_secret};
        return OK;
    }
    if (!registers) {
        return ERR(NOT_FOUND, "%s registers no clients: add oauth.client_id to the server's entry",
                   authority->issuer);
    }
    json_t *body = json_pack("{s:s, s:[s], s:[s,s], s:[s], s:s, s:s}", "client_name", "ikigai",
                             "redirect_uris", redirect, "grant_types", "authorization_code",
                             "refresh_token", "response_types", "code",
                             "token_endpoint_auth_method", "none", "application_type", "native");
    char *text = ik_json_format(ctx, body);
    json_decref(body);
    ik_mcp_oauth_exchange_t *exchange =
        ik_mcp_oauth_fetch(login, ctx, authority->registration, "application/json", text, NULL);
    json_t *answer = ik_mcp_oauth_read_object(ctx, exchange);
    out->id = ik_mcp_oauth_text_of(answer, "client_id");
    out->secret = ik_mcp_oauth_text_of(answer, "client_secret");
    out->method = ik_mcp_oauth_text_of(answer, "token_endpoint_auth_method");
    if (out->method != NULL && strcmp(out->method, "none") == 0) {
        out->secret = NULL;
    }
    if (out->id == NULL && authority->guessed) {
        return ERR(NOT_FOUND, "%s does not describe how to log in", authority->issuer);
    }
    return out->id == NULL ? ERR(DENIED, "%s did not register ikigai (%s)", authority->issuer,
                                 explain(ctx, exchange))
                           : OK;
}

/* --- the redirect ------------------------------------------------------------------------ */

typedef struct {
    const void *ctx;
    const ik_mcp_oauth_authority_t *authority;
    const char *state;
    bool done;
    char *code;
    char *error;
} redirect_t;

static char *decode(const void *ctx, const char *text, size_t len)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, REQUEST_MAX);
    ik_buffer_append_text(&out, "");
    for (size_t i = 0; i < len; i++) {
        char hex[3] = {0};
        if (text[i] == '%' && i + 2 < len) {
            memcpy(hex, text + i + 1, 2);
            ik_buffer_append_byte(&out, (char)strtol(hex, NULL, 16));
            i += 2;
        } else {
            ik_buffer_append_byte(&out, text[i] == '+' ? ' ' : text[i]);
        }
    }
    return ik_buffer_finish(&out);
}

/* The decoded value of a query field, on ctx; NULL: there is no such field. */
static char *find_field(const void *ctx, const char *query, const char *name)
{
    size_t len = strlen(name);
    while (query != NULL && *query != '\0') {
        size_t end = strcspn(query, "& ");
        if (strncmp(query, name, len) == 0 && query[len] == '=') {
            return decode(ctx, query + len + 1, end - len - 1);
        }
        query += end;
        query = *query == '&' ? query + 1 : NULL;
    }
    return NULL;
}

/* Whether the request answers this login. One with another state belongs to another login, or is
 * an attack. */
static bool take_redirect(redirect_t *redirect, char *request)
{
    char *query = strncmp(request, "GET /callback?", 14) == 0 ? request + 14 : NULL;
    if (query == NULL) {
        return false;
    }
    query[strcspn(query, " \r\n")] = '\0';
    const char *state = find_field(redirect->ctx, query, "state");
    const char *iss = find_field(redirect->ctx, query, "iss");
    char *code = find_field(redirect->ctx, query, "code");
    char *error = find_field(redirect->ctx, query, "error");
    if (state == NULL || strcmp(state, redirect->state) != 0) {
        return false;
    }
    if (iss != NULL ? strcmp(iss, redirect->authority->issuer) != 0
                    : redirect->authority->needs_iss) {
        redirect->error = "the answer comes from another authorization server";
    } else if (error != NULL || code == NULL) {
        redirect->error = error == NULL ? "the answer has no code" : error;
    } else {
        redirect->code = code;
    }
    redirect->done = true;
    return true;
}

/* A connection of the user's browser, which sends its request at once. */
static void on_browser(void *data)
{
    redirect_t *redirect = ((void **)data)[0];
    ik_watch_t *watch = ((void **)data)[1];
    int fd = accept4(ik_watch_fd(watch), NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        return;
    }
    struct timeval patience = {.tv_sec = 1};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    char *request = ik_alloc_array(redirect->ctx, 1, REQUEST_MAX + 1, "request");
    size_t len = 0;
    ssize_t got = 1;
    while (got > 0 && len < REQUEST_MAX && strstr(request, "\r\n\r\n") == NULL) {
        got = recv(fd, request + len, REQUEST_MAX - len, 0);
        len += got > 0 ? (size_t)got : 0;
    }
    bool ours = take_redirect(redirect, request);
    const char *text = !ours                    ? "There is no such page."
                       : redirect->code != NULL ? "You are logged in. You can close this page."
                                                : "The login failed. ikigai says why.";
    char *answer = ik_sprintf(redirect->ctx,
                              "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nConnection: close\r\n"
                              "Content-Length: %zu\r\n\r\n%s",
                              ours ? "200 OK" : "404 Not Found", strlen(text), text);
    ik_file_write_all(fd, answer, strlen(answer));
    close(fd);
}

static void on_patience_end(void *data)
{
    redirect_t *redirect = data;
    redirect->error = "the login was not completed in time; run the command again";
    redirect->done = true;
}

static int open_listener(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 8) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    *port = ntohs(address.sin_port);
    return fd;
}

/* --- the login --------------------------------------------------------------------------- */

static void encode_url_base64(const void *ctx, const unsigned char *bytes, size_t len, char **out)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by len */
    ik_base64_append(&text, bytes, len);
    *out = ik_buffer_finish(&text);
    for (char *c = *out; *c != '\0'; c++) {
        *c = (char)(*c == '+' ? '-' : *c == '/' ? '_' : *c == '=' ? '\0' : *c);
        if (*c == '\0') {
            break;
        }
    }
}

/* Whether the client's secret goes into a header, and not into the form. */
static bool uses_header(const void *ctx, const ik_mcp_oauth_authority_t *authority,
                        const client_t *client)
{
    json_t *post = ik_json_adopt(ctx, json_string("client_secret_post"));
    json_t *header = ik_json_adopt(ctx, json_string("client_secret_basic"));
    if (client->secret == NULL || client->method != NULL) {
        return client->secret != NULL && strcmp(client->method, "client_secret_post") != 0;
    }
    /* Without a word about it the header is what every server takes. */
    return authority->methods == NULL || ik_json_array_has(authority->methods, header) ||
           !ik_json_array_has(authority->methods, post);
}

static res_t exchange_code(const ik_mcp_oauth_login_t *login, const void *ctx,
                           const ik_mcp_oauth_authority_t *authority, const client_t *client,
                           const char *redirect, const char *code, const char *verifier)
{
    bool basic = uses_header(ctx, authority, client);
    ik_buffer_t form;
    ik_buffer_init(&form, ctx, IK_BUFFER_UNLIMITED); /* bounded by the fields */
    ik_mcp_oauth_add_field(&form, "grant_type", "authorization_code");
    ik_mcp_oauth_add_field(&form, "code", code);
    ik_mcp_oauth_add_field(&form, "redirect_uri", redirect);
    ik_mcp_oauth_add_field(&form, "client_id", client->id);
    ik_mcp_oauth_add_field(&form, "client_secret", basic ? NULL : client->secret);
    ik_mcp_oauth_add_field(&form, "code_verifier", verifier);
    ik_mcp_oauth_add_field(&form, "resource", authority->resource);
    ik_mcp_oauth_exchange_t *exchange = ik_mcp_oauth_fetch(
        login, ctx, authority->token, "application/x-www-form-urlencoded", form.data,
        basic ? ik_mcp_oauth_basic_header(ctx, client->id, client->secret) : NULL);
    json_t *answer = ik_mcp_oauth_read_object(ctx, exchange);
    if (answer == NULL) {
        return ERR(DENIED, "%s gave no token (%s)", authority->issuer, explain(ctx, exchange));
    }
    json_t *entry =
        ik_json_adopt(ctx, json_pack("{s:s, s:s, s:s}", "issuer", authority->issuer,
                                     "token_endpoint", authority->token, "client_id", client->id));
    json_object_set_new(entry, "resource", json_string(authority->resource));
    if (client->secret != NULL) {
        json_object_set_new(entry, "client_secret", json_string(client->secret));
        json_object_set_new(entry, "basic", json_boolean(basic));
    }
    if (authority->scope != NULL) {
        json_object_set_new(entry, "scope", json_string(authority->scope));
    }
    return ik_mcp_oauth_keep_tokens(login->paths, login->url, entry, answer);
}

static res_t ask_user(const ik_mcp_oauth_login_t *login, void *ctx, int fd, int port,
                      const ik_mcp_oauth_authority_t *authority)
{
    char state[STATE_LENGTH + 1];
    char verifier[VERIFIER_LENGTH + 1];
    unsigned char hash[SHA256_DIGEST_LENGTH];
    char *challenge;
    SHA2_CTX sha;
    ik_random_name(state, STATE_LENGTH);
    ik_random_name(verifier, VERIFIER_LENGTH);
    SHA256Init(&sha);
    SHA256Update(&sha, (const uint8_t *)verifier, VERIFIER_LENGTH);
    SHA256Final(hash, &sha);
    encode_url_base64(ctx, hash, sizeof(hash), &challenge);
    char *address = ik_sprintf(ctx, "http://127.0.0.1:%d/callback", port);
    redirect_t redirect = {.ctx = ctx, .authority = authority, .state = state};
    void *both[2] = {&redirect, NULL};
    ik_watch_t *watch = ik_watch_create(ctx, login->loop, fd, on_browser, both);
    both[1] = watch;
    client_t client = {0};
    res_t result = register_client(login, ctx, authority, address, &client);
    if (is_ok(&result)) {
        ik_buffer_t query;
        ik_buffer_init(&query, ctx, IK_BUFFER_UNLIMITED); /* bounded by the fields */
        ik_mcp_oauth_add_field(&query, "response_type", "code");
        ik_mcp_oauth_add_field(&query, "client_id", client.id);
        ik_mcp_oauth_add_field(&query, "redirect_uri", address);
        ik_mcp_oauth_add_field(&query, "state", state);
        ik_mcp_oauth_add_field(&query, "code_challenge", challenge);
        ik_mcp_oauth_add_field(&query, "code_challenge_method", "S256");
        ik_mcp_oauth_add_field(&query, "resource", authority->resource);
        ik_mcp_oauth_add_field(&query, "scope", authority->scope);
        bool has_query = strchr(authority->authorize, '?') != NULL;
        login->visit(login->data, ik_sprintf(ctx, "%s%c%s", authority->authorize,
                                             has_query ? '&' : '?', query.data));
        ik_timer_t *timer = ik_timer_create(ctx, login->loop, on_patience_end, &redirect);
        ik_timer_start(timer, login->patience_ms);
        ik_loop_run_until(login->loop, &redirect.done);
        talloc_free(timer);
        result = redirect.code == NULL ? ERR(DENIED, "The login failed: %s", redirect.error)
                                       : exchange_code(login, ctx, authority, &client, address,
                                                       redirect.code, verifier);
    }
    talloc_free(watch);
    return result;
}

res_t ik_mcp_oauth_login(const ik_mcp_oauth_login_t *login)
{
    void *ctx = talloc_new(NULL);
    ik_mcp_oauth_authority_t authority = {0};
    res_t result = ik_mcp_oauth_discover(login, ctx, &authority);
    int port = 0;
    int fd = is_ok(&result) ? open_listener(&port) : -1;
    if (is_ok(&result)) {
        result = fd < 0 ? ERR(SYSTEM, "Cannot listen on 127.0.0.1: %s", strerror(errno))
                        : ask_user(login, ctx, fd, port, &authority);
    }
    talloc_free(ctx);
    return result;
}
