#include "mcp/mcp_oauth.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/url_encode.h"
#include "base/url_host.h"
#include "mcp/mcp_oauth_state.h"

enum {
    ANSWER_MAX = 1024 * 1024,
    FILE_MAX = 4 * 1024 * 1024,
    CONNECT_MS = 10000,
    SILENCE_MS = 30000,
    EARLY_S = 30,   /* a token is renewed that long before it expires */
    RIVAL_MS = 500, /* for another process to store the token that it got */
    SCOPE_MAX = 4096,
    HEADERS_MAX = 5,
};

/* --- the file ---------------------------------------------------------------------------- */

json_t *ik_mcp_oauth_load(const ik_paths_t *paths)
{
    char *text;
    size_t len;
    void *scratch = talloc_new(NULL);
    res_t read = ik_file_read(scratch, paths->mcp_auth, FILE_MAX, &text, &len);
    json_t *root = is_ok(&read) ? ik_json_parse(text, len, NULL) : NULL;
    talloc_free(scratch);
    if (!json_is_object(json_object_get(root, "servers"))) {
        json_decref(root);
        root = json_pack("{s:i, s:{}}", "format", 1, "servers");
    }
    return root;
}

/* Loads the file to change it. *lock keeps other processes from changing it until it is saved. */
static json_t *load_locked(const ik_paths_t *paths, int *lock)
{
    *lock = ik_file_lock_folder(paths->home);
    return ik_mcp_oauth_load(paths);
}

static void release(json_t *root, int lock)
{
    json_decref(root);
    if (lock >= 0) {
        close(lock);
    }
}

/* Releases the file as well. */
static res_t save(const ik_paths_t *paths, json_t *root, int lock)
{
    char *text = ik_json_format(NULL, root);
    res_t saved = ik_file_make_private_folder(paths->home);
    if (is_ok(&saved)) {
        saved = ik_file_write_private(paths->mcp_auth, text, strlen(text));
    }
    talloc_free(text);
    release(root, lock);
    return saved;
}

json_t *ik_mcp_oauth_find(json_t *root, const char *url)
{
    return json_object_get(json_object_get(root, "servers"), url);
}

const char *ik_mcp_oauth_text_of(json_t *object, const char *name)
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
    json_t *root = ik_mcp_oauth_load(paths);
    json_t *entry = ik_mcp_oauth_find(root, url);
    const char *token = ik_mcp_oauth_text_of(entry, "access_token");
    json_t *expires = json_object_get(entry, "expires_at");
    *stale = token != NULL && json_is_integer(expires) &&
             json_integer_value(expires) < (json_int_t)time(NULL) + EARLY_S &&
             ik_mcp_oauth_text_of(entry, "refresh_token") != NULL;
    char *header = token == NULL || !is_token(token)
                       ? NULL
                       : ik_sprintf(ctx, "Authorization: Bearer %s", token);
    json_decref(root);
    return header;
}

void ik_mcp_oauth_forget(const ik_paths_t *paths, const char *url)
{
    int lock;
    json_t *root = load_locked(paths, &lock);
    if (json_object_del(json_object_get(root, "servers"), url) == 0) {
        save(paths, root, lock);
    } else {
        release(root, lock);
    }
}

res_t ik_mcp_oauth_keep_tokens(const ik_paths_t *paths, const char *url, json_t *entry,
                               json_t *answer)
{
    const char *token = ik_mcp_oauth_text_of(answer, "access_token");
    const char *type = ik_mcp_oauth_text_of(answer, "token_type");
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
    int lock;
    json_t *root = load_locked(paths, &lock);
    json_object_set(json_object_get(root, "servers"), url, entry);
    return save(paths, root, lock);
}

/* --- scopes ------------------------------------------------------------------------------ */

char *ik_mcp_oauth_find_parameter(const void *ctx, const char *challenge, const char *name)
{
    char *wanted = ik_sprintf(ctx, "%s=\"", name);
    const char *at = challenge == NULL ? NULL : strcasestr(challenge, wanted);
    size_t skip = strlen(wanted);
    talloc_free(wanted);
    return at == NULL ? NULL : ik_strndup(ctx, at + skip, strcspn(at + skip, "\""));
}

char *ik_mcp_oauth_unite_scopes(const void *ctx, const char *a, const char *b)
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
    char *error = ik_mcp_oauth_find_parameter(NULL, challenge, "error");
    bool narrow = error != NULL && strcmp(error, "insufficient_scope") == 0;
    talloc_free(error);
    return narrow;
}

char *ik_mcp_oauth_want(const void *ctx, const ik_paths_t *paths, const char *url,
                        const char *challenge)
{
    char *named = ik_mcp_oauth_find_parameter(ctx, challenge, "scope");
    char *scope =
        named != NULL && is_scope(named) ? ik_mcp_oauth_unite_scopes(ctx, named, NULL) : NULL;
    talloc_free(named);
    if (scope == NULL) {
        return NULL;
    }
    int lock;
    json_t *root = load_locked(paths, &lock);
    json_t *entry = ik_mcp_oauth_find(root, url);
    if (!json_is_object(entry)) {
        entry = json_object();
        json_object_set_new(json_object_get(root, "servers"), url, entry);
    }
    char *wanted =
        ik_mcp_oauth_unite_scopes(scope, ik_mcp_oauth_text_of(entry, "wanted_scope"), scope);
    json_object_set_new(entry, "wanted_scope", json_string(wanted));
    talloc_free(wanted);
    /* A failure costs the next login these scopes, and it is refused again. */
    save(paths, root, lock);
    return scope;
}

/* --- requests ---------------------------------------------------------------------------- */

bool ik_mcp_oauth_is_safe(const char *url)
{
    static const char *const here[] = {"127.0.0.1", "localhost", "[::1]"};
    if (url == NULL || strpbrk(url, " \t\r\n") != NULL) {
        return false;
    }
    ik_url_host_t host = ik_url_host_find(url);
    bool local = false;
    for (size_t i = 0; i < IK_LENGTH(here); i++) {
        local = local || ik_url_host_is(host, here[i]);
    }
    return strncmp(url, "https://", 8) == 0 || (strncmp(url, "http://", 7) == 0 && local);
}

void ik_mcp_oauth_add_field(ik_buffer_t *out, const char *name, const char *value)
{
    if (value != NULL) {
        ik_buffer_append_format(out, "%s%s=", out->len == 0 ? "" : "&", name);
        ik_url_encode(out, value, "");
    }
}

char *ik_mcp_oauth_basic_header(const void *ctx, const char *id, const char *secret)
{
    ik_buffer_t both;
    ik_buffer_t out;
    ik_buffer_init(&both, ctx, IK_BUFFER_UNLIMITED); /* bounded by the texts */
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);  /* bounded by the texts */
    ik_url_encode(&both, id, "");
    ik_buffer_append_byte(&both, ':');
    ik_url_encode(&both, secret, "");
    ik_buffer_append_text(&out, "Authorization: Basic ");
    ik_base64_append(&out, both.data, both.len);
    return ik_buffer_finish(&out);
}

static void on_head(void *data, const ik_http_head_t *head)
{
    ik_mcp_oauth_exchange_t *exchange = data;
    const char *location = ik_http_head_value(head, "Location");
    exchange->status = ik_http_head_status(head);
    exchange->challenge = ik_http_head_list(exchange, head, "WWW-Authenticate");
    exchange->location = location == NULL ? NULL : ik_strdup(exchange, location);
}

static bool on_body(void *data, const char *bytes, size_t len)
{
    ik_mcp_oauth_exchange_t *exchange = data;
    ik_buffer_append(&exchange->body, bytes, len);
    return exchange->body.dropped == 0;
}

static void on_end(void *data, const ik_http_end_t *end)
{
    ik_mcp_oauth_exchange_t *exchange = data;
    exchange->done = true;
    exchange->failed = end->outcome != IK_HTTP_DONE;
    exchange->why = end->message == NULL ? NULL : ik_strdup(exchange, end->message);
    if (exchange->on_done != NULL) {
        exchange->on_done(exchange->data);
    }
}

/* body NULL: a GET. type is the Content-Type of the body; headers are more of them, one on each
 * line, or NULL. */
static ik_mcp_oauth_exchange_t *begin(const void *ctx, ik_http_t *http, const char *url,
                                      const char *type, const char *body, const char *headers)
{
    ik_mcp_oauth_exchange_t *exchange = ik_new(ctx, ik_mcp_oauth_exchange_t);
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

ik_mcp_oauth_exchange_t *ik_mcp_oauth_fetch(const ik_mcp_oauth_login_t *login, const void *ctx,
                                            const char *url, const char *type, const char *body,
                                            const char *headers)
{
    ik_mcp_oauth_exchange_t *exchange = begin(ctx, login->http, url, type, body, headers);
    ik_loop_run_until(login->loop, &exchange->done);
    return exchange;
}

json_t *ik_mcp_oauth_read_object(const void *ctx, const ik_mcp_oauth_exchange_t *exchange)
{
    bool good = !exchange->failed && exchange->status >= 200 && exchange->status < 300;
    json_t *object = good ? ik_json_parse(exchange->body.data, exchange->body.len, NULL) : NULL;
    if (object != NULL) {
        ik_json_adopt(ctx, object);
    }
    return json_is_object(object) ? object : NULL;
}

/* --- renewing ---------------------------------------------------------------------------- */

typedef struct {
    const ik_paths_t *paths;
    char *url;
    json_t *entry;
    ik_mcp_oauth_exchange_t *exchange;
    ik_timer_t *refused; /* looks whether another process has renewed the token */
    void (*on_done)(void *data, bool renewed);
    void *data;
} renewal_t;

/* Many servers take a refresh token once. If it was refused because another process has used it,
 * that process has stored the new one by now. */
static void on_refused(void *data)
{
    renewal_t *renewal = data;
    json_t *root = ik_mcp_oauth_load(renewal->paths);
    const char *used = ik_mcp_oauth_text_of(renewal->entry, "refresh_token");
    const char *now = ik_mcp_oauth_text_of(ik_mcp_oauth_find(root, renewal->url), "refresh_token");
    bool renewed = now != NULL && strcmp(now, used) != 0;
    json_decref(root);
    if (!renewed) {
        ik_mcp_oauth_forget(renewal->paths, renewal->url); /* the user has to log in again */
    }
    renewal->on_done(renewal->data, renewed);
}

static void on_renewed(void *data)
{
    renewal_t *renewal = data;
    json_t *answer = ik_mcp_oauth_read_object(renewal, renewal->exchange);
    res_t kept = answer == NULL ? ERR(DENIED, " ")
                                : ik_mcp_oauth_keep_tokens(renewal->paths, renewal->url,
                                                           renewal->entry, answer);
    if (is_err(&kept) && !renewal->exchange->failed && renewal->exchange->status >= 400 &&
        renewal->exchange->status < 500) {
        ik_timer_start(renewal->refused, RIVAL_MS);
    } else {
        renewal->on_done(renewal->data, is_ok(&kept));
    }
}

void *ik_mcp_oauth_renew(const void *ctx, ik_loop_t *loop, ik_http_t *http, const ik_paths_t *paths,
                         const char *url, void (*on_done)(void *data, bool renewed), void *data)
{
    renewal_t *renewal = ik_new(ctx, renewal_t);
    json_t *root = ik_json_adopt(renewal, ik_mcp_oauth_load(paths));
    json_t *entry = ik_mcp_oauth_find(root, url);
    const char *refresh = ik_mcp_oauth_text_of(entry, "refresh_token");
    const char *endpoint = ik_mcp_oauth_text_of(entry, "token_endpoint");
    if (refresh == NULL || !ik_mcp_oauth_is_safe(endpoint)) {
        talloc_free(renewal);
        return NULL;
    }
    renewal->paths = paths;
    renewal->url = ik_strdup(renewal, url);
    renewal->entry = entry;
    renewal->refused = ik_timer_create(renewal, loop, on_refused, renewal);
    renewal->on_done = on_done;
    renewal->data = data;
    ik_buffer_t form;
    ik_buffer_init(&form, renewal, IK_BUFFER_UNLIMITED); /* bounded by the fields */
    ik_mcp_oauth_add_field(&form, "grant_type", "refresh_token");
    ik_mcp_oauth_add_field(&form, "refresh_token", refresh);
    ik_mcp_oauth_add_field(&form, "client_id", ik_mcp_oauth_text_of(entry, "client_id"));
    const char *secret = ik_mcp_oauth_text_of(entry, "client_secret");
    const char *id = ik_mcp_oauth_text_of(entry, "client_id");
    const char *resource = ik_mcp_oauth_text_of(entry, "resource");
    bool basic = secret != NULL && id != NULL && json_is_true(json_object_get(entry, "basic"));
    ik_mcp_oauth_add_field(&form, "client_secret", basic ? NULL : secret);
    ik_mcp_oauth_add_field(&form, "scope", ik_mcp_oauth_text_of(entry, "scope"));
    ik_mcp_oauth_add_field(&form, "resource", resource == NULL ? url : resource);
    renewal->exchange =
        begin(renewal, http, endpoint, "application/x-www-form-urlencoded", form.data,
              basic ? ik_mcp_oauth_basic_header(renewal, id, secret) : NULL);
    renewal->exchange->on_done = on_renewed;
    renewal->exchange->data = renewal;
    return renewal;
}
