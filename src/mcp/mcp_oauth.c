#include "mcp/mcp_oauth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "mcp/mcp_http.h"

enum {
    ANSWER_MAX = 1024 * 1024,
    FILE_MAX = 4 * 1024 * 1024,
    CONNECT_MS = 10000,
    SILENCE_MS = 30000,
    EARLY_S = 30, /* a token is renewed that long before it expires */
    SCOPE_MAX = 4096,
    REQUEST_MAX = 16384,
    HEADERS_MAX = 5,
    VERIFIER_LENGTH = 64,
    STATE_LENGTH = 32,
};

/* --- the file ---------------------------------------------------------------------------- */

static char *auth_file(const void *ctx, const ik_paths_t *paths)
{
    return ik_sprintf(ctx, "%s/mcp-auth.json", paths->home);
}

/* {"servers": {URL: {issuer, client_id, …}}}, a new reference. */
static json_t *load(const ik_paths_t *paths)
{
    char *text;
    size_t len;
    char *file = auth_file(NULL, paths);
    res_t read = ik_file_read(file, file, FILE_MAX, &text, &len);
    json_t *root = is_ok(&read) ? ik_json_parse(text, len, NULL) : NULL;
    talloc_free(file);
    if (!json_is_object(json_object_get(root, "servers"))) {
        json_decref(root);
        root = json_pack("{s:i, s:{}}", "format", 1, "servers");
    }
    return root;
}

static res_t save(const ik_paths_t *paths, json_t *root)
{
    void *scratch = talloc_new(NULL);
    char *text = ik_json_format(scratch, root);
    res_t saved = ik_file_make_private_folder(paths->home);
    if (is_ok(&saved)) {
        saved = ik_file_write_private(auth_file(scratch, paths), text, strlen(text));
    }
    talloc_free(scratch);
    return saved;
}

/* Borrowed from root. */
static json_t *find(json_t *root, const char *url)
{
    return json_object_get(json_object_get(root, "servers"), url);
}

static const char *text_of(json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* A header carries no control characters. */
static bool is_token(const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (*c < 0x21 || *c > 0x7e) {
            return false;
        }
    }
    return *text != '\0';
}

char *ik_mcp_oauth_header(const void *ctx, const ik_paths_t *paths, const char *url, bool *stale)
{
    json_t *root = load(paths);
    json_t *entry = find(root, url);
    const char *token = text_of(entry, "access_token");
    json_t *expires = json_object_get(entry, "expires_at");
    *stale = token != NULL && json_is_integer(expires) &&
             json_integer_value(expires) < (json_int_t)time(NULL) + EARLY_S &&
             text_of(entry, "refresh_token") != NULL;
    char *header = token == NULL || !is_token(token)
                       ? NULL
                       : ik_sprintf(ctx, "Authorization: Bearer %s", token);
    json_decref(root);
    return header;
}

bool ik_mcp_oauth_can_renew(const ik_paths_t *paths, const char *url)
{
    json_t *root = load(paths);
    bool can = text_of(find(root, url), "refresh_token") != NULL;
    json_decref(root);
    return can;
}

void ik_mcp_oauth_forget(const ik_paths_t *paths, const char *url)
{
    json_t *root = load(paths);
    if (find(root, url) != NULL) {
        json_object_del(json_object_get(root, "servers"), url);
        save(paths, root);
    }
    json_decref(root);
}

/* --- scopes ------------------------------------------------------------------------------ */

/* The value of name="…" in a challenge, on ctx; NULL: it is not there. */
static char *find_parameter(const void *ctx, const char *challenge, const char *name)
{
    char *wanted = ik_sprintf(ctx, "%s=\"", name);
    const char *at = challenge == NULL ? NULL : strcasestr(challenge, wanted);
    size_t skip = strlen(wanted);
    talloc_free(wanted);
    return at == NULL ? NULL : ik_strndup(ctx, at + skip, strcspn(at + skip, "\""));
}

/* The scopes of both lists, each once, on ctx. Either may be NULL; NULL: there are none. */
static char *unite_scopes(const void *ctx, const char *a, const char *b)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, SCOPE_MAX);
    const char *const lists[] = {a, b};
    for (size_t i = 0; i < 2; i++) {
        const char *at = lists[i] == NULL ? "" : lists[i];
        for (at += strspn(at, " "); *at != '\0'; at += strspn(at, " ")) {
            size_t len = strcspn(at, " ");
            bool known = false;
            for (size_t from = 0; !known && from < out.len;) {
                size_t to = from + strcspn(out.data + from, " ");
                known = to - from == len && strncmp(out.data + from, at, len) == 0;
                from = to + 1;
            }
            if (!known && out.len + len + 1 < SCOPE_MAX) {
                ik_buffer_append_format(&out, "%s%.*s", out.len == 0 ? "" : " ", (int)len, at);
            }
            at += len;
        }
    }
    return out.len == 0 ? NULL : ik_buffer_finish(&out);
}

/* RFC 6749: visible ASCII without quotes and backslashes, separated by spaces. */
static bool is_scope(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text < 0x20 || *text > 0x7e || *text == '"' || *text == '\\') {
            return false;
        }
    }
    return true;
}

bool ik_mcp_oauth_is_narrow(const char *challenge)
{
    char *error = find_parameter(NULL, challenge, "error");
    bool narrow = error != NULL && strcmp(error, "insufficient_scope") == 0;
    talloc_free(error);
    return narrow;
}

char *ik_mcp_oauth_want(const void *ctx, const ik_paths_t *paths, const char *url,
                        const char *challenge)
{
    char *named = find_parameter(ctx, challenge, "scope");
    char *scope = named != NULL && is_scope(named) ? unite_scopes(ctx, named, NULL) : NULL;
    talloc_free(named);
    if (scope == NULL) {
        return NULL;
    }
    json_t *root = load(paths);
    json_t *entry = find(root, url);
    if (!json_is_object(entry)) {
        entry = json_object();
        json_object_set_new(json_object_get(root, "servers"), url, entry);
    }
    char *wanted = unite_scopes(scope, text_of(entry, "wanted_scope"), scope);
    json_object_set_new(entry, "wanted_scope", json_string(wanted));
    talloc_free(wanted);
    save(paths, root); /* a failure costs the next login these scopes, and it is refused again */
    json_decref(root);
    return scope;
}

/* --- requests ---------------------------------------------------------------------------- */

/* One request and its answer. */
typedef struct {
    bool done;
    bool failed;
    char *why;
    int status;
    char *challenge;
    ik_buffer_t body;
    ik_http_part_t part;
    ik_http_request_t *request;
    void (*on_done)(void *data);
    void *data;
} exchange_t;

static void on_head(void *data, const ik_http_head_t *head)
{
    exchange_t *exchange = data;
    const char *challenge = ik_http_head_value(head, "WWW-Authenticate");
    exchange->status = ik_http_head_status(head);
    exchange->challenge = challenge == NULL ? NULL : ik_strdup(exchange, challenge);
}

static bool on_body(void *data, const char *bytes, size_t len)
{
    exchange_t *exchange = data;
    ik_buffer_append(&exchange->body, bytes, len);
    return exchange->body.dropped == 0;
}

static void on_end(void *data, const ik_http_end_t *end)
{
    exchange_t *exchange = data;
    exchange->done = true;
    exchange->failed = end->outcome != IK_HTTP_DONE;
    exchange->why = end->message == NULL ? NULL : ik_strdup(exchange, end->message);
    if (exchange->on_done != NULL) {
        exchange->on_done(exchange->data);
    }
}

/* body NULL: a GET. type is the Content-Type of the body; headers are more of them, one on each
 * line, or NULL. */
static exchange_t *begin(const void *ctx, ik_http_t *http, const char *url, const char *type,
                         const char *body, const char *headers)
{
    exchange_t *exchange = ik_new(ctx, exchange_t);
    ik_buffer_init(&exchange->body, exchange, ANSWER_MAX);
    ik_buffer_append_text(&exchange->body, "");
    if (body != NULL) {
        char *copy = ik_strdup(exchange, body);
        exchange->part = (ik_http_part_t){.bytes = copy, .len = strlen(copy)};
    }
    const char *list[HEADERS_MAX + 1] = {"Accept: application/json, text/event-stream"};
    size_t count = 1;
    if (type != NULL) {
        list[count++] = ik_sprintf(exchange, "Content-Type: %s", type);
    }
    char *rest = headers == NULL ? NULL : ik_strdup(exchange, headers);
    for (char *each; count < HEADERS_MAX && (each = strsep(&rest, "\n")) != NULL;) {
        list[count++] = each;
    }
    exchange->request = ik_http_start(exchange, http,
                                      &(ik_http_options_t){.url = url,
                                                           .headers = list,
                                                           .parts = &exchange->part,
                                                           .part_count = body == NULL ? 0 : 1,
                                                           .connect_ms = CONNECT_MS,
                                                           .silence_ms = SILENCE_MS,
                                                           .on_head = on_head,
                                                           .on_body = on_body,
                                                           .on_end = on_end,
                                                           .data = exchange});
    return exchange;
}

static exchange_t *fetch(const ik_mcp_oauth_login_t *login, const void *ctx, const char *url,
                         const char *type, const char *body, const char *headers)
{
    exchange_t *exchange = begin(ctx, login->http, url, type, body, headers);
    ik_loop_run_until(login->loop, &exchange->done);
    return exchange;
}

/* The answer as a JSON object, on ctx; NULL: it is not one. */
static json_t *read_object(const void *ctx, const exchange_t *exchange)
{
    bool good = !exchange->failed && exchange->status >= 200 && exchange->status < 300;
    json_t *object = good ? ik_json_parse(exchange->body.data, exchange->body.len, NULL) : NULL;
    if (object != NULL) {
        ik_json_adopt(ctx, object);
    }
    return json_is_object(object) ? object : NULL;
}

/* --- addresses --------------------------------------------------------------------------- */

/* Secrets go over TLS, or stay on this machine. */
static bool is_safe(const char *url)
{
    static const char *const here[] = {"http://127.0.0.1", "http://localhost", "http://[::1]"};
    bool safe = url != NULL && strncmp(url, "https://", 8) == 0;
    for (size_t i = 0; url != NULL && i < sizeof(here) / sizeof(here[0]); i++) {
        size_t len = strlen(here[i]);
        safe = safe || (strncmp(url, here[i], len) == 0 &&
                        (url[len] == '\0' || url[len] == ':' || url[len] == '/'));
    }
    return safe && strpbrk(url, " \t\r\n") == NULL;
}

/* The length of "https://host:port". */
static size_t origin_length(const char *url)
{
    const char *host = strstr(url, "://");
    return host == NULL ? strlen(url) : (size_t)(host + 3 - url) + strcspn(host + 3, "/?#");
}

static void append_encoded(ik_buffer_t *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("-._~", c) != NULL;
        if (plain) {
            ik_buffer_append_byte(out, (char)c);
        } else {
            ik_buffer_append_format(out, "%%%02X", c);
        }
    }
}

static void add_field(ik_buffer_t *out, const char *name, const char *value)
{
    if (value != NULL) {
        ik_buffer_append_format(out, "%s%s=", out->len == 0 ? "" : "&", name);
        append_encoded(out, value);
    }
}

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
} authority_t;

static json_t *fetch_object(const ik_mcp_oauth_login_t *login, const void *ctx, const char *url)
{
    return url == NULL || !is_safe(url)
               ? NULL
               : read_object(ctx, fetch(login, ctx, url, NULL, NULL, NULL));
}

/* The server's metadata as a protected resource (RFC 9728); NULL: it has none. */
static json_t *find_resource(const ik_mcp_oauth_login_t *login, const void *ctx,
                             const char *challenge)
{
    size_t origin = origin_length(login->url);
    const char *path = login->url + origin;
    char *told = find_parameter(ctx, challenge, "resource_metadata");
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
        const char *named = text_of(found, "issuer");
        if (named != NULL && strcmp(named, issuer) == 0) {
            return found;
        }
    }
    return NULL;
}

/* Whether the metadata describe the server, or a path of its origin that contains it. */
static bool covers(const char *resource, const char *url)
{
    size_t len = strlen(resource);
    len -= len > 0 && resource[len - 1] == '/';
    return len >= origin_length(url) && strncmp(resource, url, len) == 0 &&
           (url[len] == '\0' || strchr("/?#", url[len]) != NULL);
}

static res_t discover(const ik_mcp_oauth_login_t *login, const void *ctx, const char *challenge,
                      authority_t *out)
{
    json_t *resource = find_resource(login, ctx, challenge);
    if (resource == NULL && challenge == NULL) {
        return ERR(NOT_FOUND, "The server wants no login");
    }
    out->resource = text_of(resource, "resource");
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
    out->authorize = text_of(metadata, "authorization_endpoint");
    out->token = text_of(metadata, "token_endpoint");
    out->registration = text_of(metadata, "registration_endpoint");
    out->needs_iss =
        json_is_true(json_object_get(metadata, "authorization_response_iss_parameter_supported"));
    out->takes_documents =
        json_is_true(json_object_get(metadata, "client_id_metadata_document_supported"));
    if (out->guessed) {
        out->authorize = ik_sprintf(ctx, "%s/authorize", out->issuer);
        out->token = ik_sprintf(ctx, "%s/token", out->issuer);
        out->registration = ik_sprintf(ctx, "%s/register", out->issuer);
    }
    if (!is_safe(out->authorize) || !is_safe(out->token)) {
        return ERR(INVALID, "%s names no safe addresses for a login", out->issuer);
    }
    out->scope = login->config->oauth_scope != NULL ? ik_strdup(ctx, login->config->oauth_scope)
                                                    : find_parameter(ctx, challenge, "scope");
    json_t *root = ik_json_adopt(ctx, load(login->paths));
    json_t *entry = find(root, login->url);
    const char *refused = text_of(entry, "wanted_scope");
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
        out->scope = unite_scopes(ctx, out->scope, text_of(entry, "scope"));
        out->scope = unite_scopes(ctx, out->scope, refused);
    }
    return OK;
}

/* --- the client -------------------------------------------------------------------------- */

typedef struct {
    const char *id;
    const char *secret; /* NULL: none */
} client_t;

static res_t register_client(const ik_mcp_oauth_login_t *login, const void *ctx,
                             const authority_t *authority, const char *redirect, client_t *out)
{
    const char *own = login->config->oauth_id;
    bool registers = authority->registration != NULL && is_safe(authority->registration);
    /* The address of a document says nothing to a server that does not read it. */
    bool document = own != NULL && strncmp(own, "https://", 8) == 0;
    if (own != NULL && (!document || authority->takes_documents || !registers)) {
        *out = (client_t){own, login->config->oauth_secret};
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
    exchange_t *exchange =
        fetch(login, ctx, authority->registration, "application/json", text, NULL);
    json_t *answer = read_object(ctx, exchange);
    out->id = text_of(answer, "client_id");
    out->secret = text_of(answer, "client_secret");
    if (out->id == NULL && authority->guessed) {
        return ERR(NOT_FOUND, "%s does not describe how to log in", authority->issuer);
    }
    return out->id == NULL ? ERR(DENIED, "%s refused to register ikigai (status %d)",
                                 authority->issuer, exchange->status)
                           : OK;
}

/* --- the redirect ------------------------------------------------------------------------ */

typedef struct {
    const void *ctx;
    const authority_t *authority;
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
    const char *text = !ours                    ? "This is not the page you are looking for."
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

/* --- tokens ------------------------------------------------------------------------------ */

/* Keeps what the token endpoint answered; entry has what stays the same. */
static res_t keep_tokens(const ik_paths_t *paths, const char *url, json_t *entry, json_t *answer)
{
    const char *token = text_of(answer, "access_token");
    const char *type = text_of(answer, "token_type");
    json_t *lasts = json_object_get(answer, "expires_in");
    json_t *refresh = json_object_get(answer, "refresh_token");
    if (token == NULL || !is_token(token) || (type != NULL && strcasecmp(type, "bearer") != 0)) {
        return ERR(DENIED, "the authorization server gave no token");
    }
    json_object_set_new(entry, "access_token", json_string(token));
    if (json_is_string(refresh)) {
        json_object_set(entry, "refresh_token", refresh);
    }
    if (json_is_number(lasts)) {
        json_object_set_new(
            entry, "expires_at",
            json_integer((json_int_t)time(NULL) + (json_int_t)json_number_value(lasts)));
    } else {
        json_object_del(entry, "expires_at");
    }
    json_t *root = load(paths);
    json_object_set(json_object_get(root, "servers"), url, entry);
    res_t saved = save(paths, root);
    json_decref(root);
    return saved;
}

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

/* The client's name and secret in a header. */
static char *basic_header(const void *ctx, const char *id, const char *secret)
{
    ik_buffer_t both;
    ik_buffer_t out;
    ik_buffer_init(&both, ctx, IK_BUFFER_UNLIMITED); /* bounded by the texts */
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);  /* bounded by the texts */
    append_encoded(&both, id);
    ik_buffer_append_byte(&both, ':');
    append_encoded(&both, secret);
    ik_buffer_append_text(&out, "Authorization: Basic ");
    ik_base64_append(&out, both.data, both.len);
    return ik_buffer_finish(&out);
}

static res_t exchange_code(const ik_mcp_oauth_login_t *login, const void *ctx,
                           const authority_t *authority, const client_t *client,
                           const char *redirect, const char *code, const char *verifier)
{
    json_t *post = ik_json_adopt(ctx, json_string("client_secret_post"));
    json_t *header = ik_json_adopt(ctx, json_string("client_secret_basic"));
    /* Without a word about it the header is what every server takes. */
    bool basic = client->secret != NULL &&
                 (authority->methods == NULL || ik_json_array_has(authority->methods, header) ||
                  !ik_json_array_has(authority->methods, post));
    ik_buffer_t form;
    ik_buffer_init(&form, ctx, IK_BUFFER_UNLIMITED); /* bounded by the fields */
    add_field(&form, "grant_type", "authorization_code");
    add_field(&form, "code", code);
    add_field(&form, "redirect_uri", redirect);
    add_field(&form, "client_id", client->id);
    add_field(&form, "client_secret", basic ? NULL : client->secret);
    add_field(&form, "code_verifier", verifier);
    add_field(&form, "resource", authority->resource);
    exchange_t *exchange =
        fetch(login, ctx, authority->token, "application/x-www-form-urlencoded", form.data,
              basic ? basic_header(ctx, client->id, client->secret) : NULL);
    json_t *answer = read_object(ctx, exchange);
    if (answer == NULL) {
        return ERR(DENIED, "%s gave no token (%s%d)", authority->issuer,
                   exchange->failed ? exchange->why : "status ", exchange->status);
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
    return keep_tokens(login->paths, login->url, entry, answer);
}

/* --- the login --------------------------------------------------------------------------- */

static res_t ask_user(const ik_mcp_oauth_login_t *login, void *ctx, int fd, int port,
                      const authority_t *authority)
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
        add_field(&query, "response_type", "code");
        add_field(&query, "client_id", client.id);
        add_field(&query, "redirect_uri", address);
        add_field(&query, "state", state);
        add_field(&query, "code_challenge", challenge);
        add_field(&query, "code_challenge_method", "S256");
        add_field(&query, "resource", authority->resource);
        add_field(&query, "scope", authority->scope);
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

/* Sends the server an opening, for its challenge. A server of the modern era may refuse the one of
 * the legacy era for its own sake. */
static exchange_t *knock(const ik_mcp_oauth_login_t *login, const void *ctx)
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
    exchange_t *exchange = protocol == IK_CONFIG_PROTOCOL_MODERN
                               ? NULL
                               : fetch(login, ctx, login->url, json, initialize, NULL);
    bool refused = exchange != NULL && !exchange->failed && exchange->status >= 400 &&
                   exchange->status < 500 && exchange->status != 401 && exchange->status != 403;
    return exchange == NULL || (refused && protocol == IK_CONFIG_PROTOCOL_AUTO)
               ? fetch(login, ctx, login->url, json, discover_modern, modern_headers)
               : exchange;
}

res_t ik_mcp_oauth_login(const ik_mcp_oauth_login_t *login)
{
    void *ctx = talloc_new(NULL);
    authority_t authority = {0};
    exchange_t *exchange = knock(login, ctx);
    res_t result = OK;
    if (exchange->failed) {
        result = ERR(GONE, "%s", exchange->why);
    } else if (exchange->status >= 300 && exchange->status != 401 && exchange->status != 403) {
        result = ERR(DENIED, "The server answered with status %d", exchange->status);
    } else { /* some servers want a login only for calls */
        bool refused = exchange->status >= 300;
        result =
            discover(login, ctx, refused && exchange->challenge == NULL ? "" : exchange->challenge,
                     &authority);
    }
    int port = 0;
    int fd = is_ok(&result) ? open_listener(&port) : -1;
    if (is_ok(&result)) {
        result = fd < 0 ? ERR(SYSTEM, "Cannot listen on 127.0.0.1: %s", strerror(errno))
                        : ask_user(login, ctx, fd, port, &authority);
    }
    talloc_free(ctx);
    return result;
}

/* --- renewing ---------------------------------------------------------------------------- */

typedef struct {
    const ik_paths_t *paths;
    char *url;
    json_t *entry;
    exchange_t *exchange;
    void (*on_done)(void *data, bool renewed);
    void *data;
} renewal_t;

static void on_renewed(void *data)
{
    renewal_t *renewal = data;
    json_t *answer = read_object(renewal, renewal->exchange);
    res_t kept = answer == NULL ? ERR(DENIED, " ")
                                : keep_tokens(renewal->paths, renewal->url, renewal->entry, answer);
    bool renewed = is_ok(&kept);
    if (!renewed && !renewal->exchange->failed && renewal->exchange->status >= 400 &&
        renewal->exchange->status < 500) {
        ik_mcp_oauth_forget(renewal->paths, renewal->url); /* the user has to log in again */
    }
    renewal->on_done(renewal->data, renewed);
}

void *ik_mcp_oauth_renew(const void *ctx, ik_http_t *http, const ik_paths_t *paths, const char *url,
                         void (*on_done)(void *data, bool renewed), void *data)
{
    renewal_t *renewal = ik_new(ctx, renewal_t);
    json_t *root = ik_json_adopt(renewal, load(paths));
    json_t *entry = find(root, url);
    const char *refresh = text_of(entry, "refresh_token");
    const char *endpoint = text_of(entry, "token_endpoint");
    if (refresh == NULL || !is_safe(endpoint)) {
        talloc_free(renewal);
        return NULL;
    }
    renewal->paths = paths;
    renewal->url = ik_strdup(renewal, url);
    renewal->entry = entry;
    renewal->on_done = on_done;
    renewal->data = data;
    ik_buffer_t form;
    ik_buffer_init(&form, renewal, IK_BUFFER_UNLIMITED); /* bounded by the fields */
    add_field(&form, "grant_type", "refresh_token");
    add_field(&form, "refresh_token", refresh);
    add_field(&form, "client_id", text_of(entry, "client_id"));
    const char *secret = text_of(entry, "client_secret");
    const char *id = text_of(entry, "client_id");
    const char *resource = text_of(entry, "resource");
    bool basic = secret != NULL && id != NULL && json_is_true(json_object_get(entry, "basic"));
    add_field(&form, "client_secret", basic ? NULL : secret);
    add_field(&form, "scope", text_of(entry, "scope"));
    add_field(&form, "resource", resource == NULL ? url : resource);
    renewal->exchange = begin(renewal, http, endpoint, "application/x-www-form-urlencoded",
                              form.data, basic ? basic_header(renewal, id, secret) : NULL);
    renewal->exchange->on_done = on_renewed;
    renewal->exchange->data = renewal;
    return renewal;
}
