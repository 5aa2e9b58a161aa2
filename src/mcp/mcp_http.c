#include "mcp/mcp_http.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/url_host.h"
#include "provider/sse.h"

enum {
    BODY_MAX = 32 * 1024 * 1024,
    ERROR_MAX = 64 * 1024, /* of an answer that is not read as a message */
    RESUME_MAX = 5,        /* attempts without an event, unless one lasted */
    STEADY_MS = 30000,     /* a stream that lasted is worth another series of attempts */
    RETRY_MS = 1000,
    RETRY_MIN_MS = 10, /* a server that asks for none must not keep ikigai busy */
    RETRY_MAX_MS = 60000,
    HEADERS_MAX = 40,
    END_MS = 1000, /* for the end of a session */
    NO_SESSION = -32000,
    NO_LIMIT_MS = 1 << 30,
};

typedef struct stream stream_t;

/* One HTTP request and what comes back: the answer to a message, the rest of an answer that is
 * resumed, or the server's own stream. */
struct stream {
    ik_mcp_http_t *http;
    stream_t *next;
    int64_t id;  /* of the request that it answers; 0: none */
    bool listen; /* the server's own stream */
    bool greets; /* it is notifications/initialized, which is not answered yet */
    char *line;  /* what was sent; NULL: a GET */
    ik_http_part_t part;
    ik_http_request_t *request;
    int status;
    bool events; /* the answer is a stream of events */
    bool json;
    bool answered; /* the answer to id has come */
    bool flooded;
    ik_sse_t *sse;
    ik_buffer_t body;
    char *challenge;
    char *location; /* of a redirect; NULL: it is none */
    char *last_id;  /* of events; NULL: none */
    int64_t retry_ms;
    int64_t opened_ms;
    int headers; /* which ones were sent: http->headers at that time */
    int failures;
    ik_timer_t *timer; /* of the next attempt */
    char *more;        /* headers of this message */
};

struct ik_mcp_http {
    ik_mcp_http_options_t options;
    char *url;
    char *session; /* NULL: none */
    char *version; /* NULL: not agreed yet */
    bool modern;
    int headers; /* how often options.headers were replaced */
    int redirects;
    bool retired;
    ik_timer_t *end; /* frees it */
    stream_t *streams;
    void (*on_ended)(void *data);
    void *ended_data;
    ik_http_request_t *ending;
};

static void open_stream(stream_t *stream);

/* --- streams ----------------------------------------------------------------------------- */

static int unlink_stream(stream_t *stream)
{
    stream_t **link = &stream->http->streams;
    while (*link != stream) {
        link = &(*link)->next;
    }
    *link = stream->next;
    return 0;
}

static stream_t *create_stream(ik_mcp_http_t *http)
{
    stream_t *stream = ik_new(http, stream_t);
    stream->http = http;
    stream->next = http->streams;
    stream->retry_ms = RETRY_MS;
    http->streams = stream;
    ik_buffer_init(&stream->body, stream, BODY_MAX);
    talloc_set_destructor(stream, unlink_stream);
    return stream;
}

/* Whether this is the answer that the stream was opened for. */
static bool is_answer(const stream_t *stream, const char *text, size_t len)
{
    enum { ID, METHOD, MEMBERS };
    static const char *const names[MEMBERS] = {"id", "method"};
    ik_json_span_t whole;
    ik_json_span_t at[MEMBERS];
    if (stream->id == 0 || !ik_json_scan(text, len, &whole, NULL)) {
        return false;
    }
    ik_json_find_members(whole, names, MEMBERS, at);
    return at[METHOD].len == 0 && ik_json_is(at[ID], IK_JSON_NUMBER) &&
           strtoll(at[ID].text, NULL, 10) == stream->id;
}

static void take_message(stream_t *stream, const char *text, size_t len)
{
    ik_mcp_http_t *http = stream->http;
    stream->answered = stream->answered || is_answer(stream, text, len);
    if (!http->retired) {
        http->options.on_message(http->options.data, text, len);
    }
}

static bool on_event(void *user, const char *event, const char *data, size_t len)
{
    stream_t *stream = user;
    stream->failures = 0;
    bool message = *event == '\0' || strcmp(event, "message") == 0;
    if (message && len > 0) { /* an event without data only carries an id */
        take_message(stream, data, len);
    }
    return !stream->http->retired;
}

static void note_position(stream_t *stream)
{
    const char *id = ik_sse_last_id(stream->sse);
    int64_t retry = ik_sse_retry_ms(stream->sse);
    if (id != NULL && (stream->last_id == NULL || strcmp(id, stream->last_id) != 0)) {
        talloc_free(stream->last_id);
        stream->last_id = ik_strdup(stream, id);
    }
    if (retry >= 0) {
        int64_t most = retry < RETRY_MAX_MS ? retry : RETRY_MAX_MS;
        stream->retry_ms = most > RETRY_MIN_MS ? most : RETRY_MIN_MS;
    }
}

/* --- the end of a request ---------------------------------------------------------------- */

static void fail(stream_t *stream, ik_mcp_http_failure_t failure, const char *why)
{
    ik_mcp_http_t *http = stream->http;
    int64_t id = stream->id;
    stream->id = 0; /* the callback may give the request up */
    if (!http->retired) {
        http->options.on_failure(http->options.data, id, failure, why,
                                 stream->line == NULL ? "" : stream->line, stream->challenge);
    }
    talloc_free(stream);
}

/* The JSON-RPC error in the answer; false: it has none. */
static bool find_error(const stream_t *stream, ik_json_span_t *error)
{
    ik_json_span_t whole;
    const char *body = stream->body.len == 0 ? "" : stream->body.data;
    return ik_json_scan(body, stream->body.len, &whole, NULL) &&
           ik_json_find_kind(whole, "error", IK_JSON_OBJECT, error);
}

/* Whether the server does not know the session any more. It says so with 404; some say 400, with
 * the code NO_SESSION or without any. Another code is an answer to the request. */
static bool is_session_lost(const stream_t *stream)
{
    ik_json_span_t error;
    ik_json_span_t code;
    bool lost = stream->http->session != NULL && (stream->status == 404 || stream->status == 400);
    if (lost && stream->status == 400 && find_error(stream, &error) &&
        ik_json_find_kind(error, "code", IK_JSON_NUMBER, &code)) {
        lost = strtoll(code.text, NULL, 10) == NO_SESSION;
    }
    return lost;
}

/* An answer that says what is wrong becomes the answer to the request. */
static void take_refusal(stream_t *stream)
{
    ik_json_span_t error;
    ik_buffer_t message;
    ik_buffer_init(&message, NULL, IK_BUFFER_UNLIMITED); /* bounded by ERROR_MAX */
    ik_buffer_append_format(&message,
                            "{\"jsonrpc\":\"2.0\",\"id\":%" PRId64 ",\"error\":", stream->id);
    if (find_error(stream, &error)) {
        ik_buffer_append(&message, error.text, error.len);
    } else {
        ik_buffer_append_format(&message, "{\"message\":\"HTTP status %d\"}", stream->status);
    }
    ik_buffer_append_byte(&message, '}');
    take_message(stream, message.data, message.len);
    ik_buffer_reset(&message);
    talloc_free(stream);
}

static void on_retry(void *data)
{
    open_stream(data);
}

/* Goes on where the stream broke off, after the time that the server asks for, and later with every
 * attempt. The server's own stream is opened again also if its events have no ids. */
static bool resume(stream_t *stream)
{
    ik_mcp_http_t *http = stream->http;
    bool wanted =
        stream->listen || (stream->id != 0 && !stream->answered && stream->last_id != NULL);
    if (ik_clock_now_ms() - stream->opened_ms >= STEADY_MS) {
        stream->failures = 0;
    }
    if (!wanted || http->modern || ++stream->failures > RESUME_MAX) {
        return false;
    }
    stream->request = NULL;
    TALLOC_FREE(stream->sse);
    ik_buffer_reset(&stream->body);
    stream->events = stream->json = false;
    if (stream->timer == NULL) {
        stream->timer = ik_timer_create(stream, http->options.loop, on_retry, stream);
    }
    ik_timer_start(stream->timer, stream->retry_ms << (stream->failures - 1));
    return true;
}

static void finish(stream_t *stream, const ik_http_end_t *end)
{
    ik_mcp_http_t *http = stream->http;
    stream->request = NULL; /* it frees itself */
    if (http->retired) {
        talloc_free(stream);
        return;
    }
    if (stream->events && stream->sse != NULL) {
        ik_sse_finish(stream->sse);
        note_position(stream);
        if (http->retired || stream->answered || resume(stream)) {
            if (http->retired || stream->answered) {
                talloc_free(stream);
            }
            return;
        }
        if (stream->id == 0) {
            talloc_free(stream);
        } else {
            fail(stream, IK_MCP_HTTP_LOST, "the answer broke off");
        }
        return;
    }
    if (stream->flooded) {
        fail(stream, IK_MCP_HTTP_FLOOD, "the answer is too long");
    } else if (end->outcome != IK_HTTP_DONE) {
        if (!resume(stream)) {
            fail(stream, IK_MCP_HTTP_LOST, end->message == NULL ? "it broke off" : end->message);
        }
    } else if (stream->listen) {
        talloc_free(stream); /* the server has none */
    } else if (stream->status == 401 || stream->status == 403) {
        fail(stream, IK_MCP_HTTP_LOGIN, "it wants a login");
    } else if (stream->status >= 500 || stream->status < 200 ||
               (stream->status >= 300 && stream->status < 400)) {
        bool redirects = stream->status >= 300 && stream->status < 400 && stream->location != NULL;
        char *why =
            ik_sprintf(NULL, "it answered with HTTP status %d%s%.300s", stream->status,
                       redirects ? ", a redirect to " : "", redirects ? stream->location : "");
        fail(stream, IK_MCP_HTTP_LOST, why);
        talloc_free(why);
    } else if (stream->status >= 400) {
        if (stream->id != 0 && is_session_lost(stream)) {
            fail(stream, IK_MCP_HTTP_SESSION, "the session has ended");
        } else if (stream->id != 0) {
            take_refusal(stream);
        } else {
            talloc_free(stream);
        }
    } else if (stream->id == 0) {
        talloc_free(stream); /* accepted */
    } else if (!stream->json) {
        fail(stream, IK_MCP_HTTP_LOST, "its answer is neither JSON nor a stream of events");
    } else {
        take_message(stream, stream->body.len == 0 ? "" : stream->body.data, stream->body.len);
        if (!stream->answered && !http->retired) {
            fail(stream, IK_MCP_HTTP_LOST, "its response does not contain the answer");
        } else {
            talloc_free(stream);
        }
    }
}

/* Sends the request, and all that follow, to the address that the server names. Many servers name
 * their own with a slash at its end. */
static bool follow_redirect(stream_t *stream, const ik_http_end_t *end)
{
    ik_mcp_http_t *http = stream->http;
    bool keeps_method = stream->status == 307 || stream->status == 308;
    char *url = keeps_method && end->outcome == IK_HTTP_DONE &&
                        http->redirects < IK_MCP_HTTP_REDIRECTS_MAX && !http->retired
                    ? ik_url_host_redirect(http, http->url, stream->location)
                    : NULL;
    if (url == NULL) {
        return false;
    }
    http->redirects++;
    talloc_free(http->url);
    http->url = url;
    ik_buffer_reset(&stream->body);
    open_stream(stream);
    return true;
}

/* Sends a request again that was refused for its token, which was replaced meanwhile. */
static bool try_new_headers(stream_t *stream, const ik_http_end_t *end)
{
    const ik_mcp_http_t *http = stream->http;
    if (stream->status != 401 || end->outcome != IK_HTTP_DONE || http->retired ||
        stream->headers == http->headers) {
        return false;
    }
    ik_buffer_reset(&stream->body);
    open_stream(stream);
    return true;
}

static void on_end(void *data, const ik_http_end_t *end)
{
    stream_t *stream = data;
    ik_mcp_http_t *http = stream->http;
    bool greets = stream->greets;
    if (follow_redirect(stream, end) || try_new_headers(stream, end)) {
        return;
    }
    finish(stream, end);
    if (greets && !http->retired) { /* refused or lost: what is sent next will show why */
        http->options.on_initialized(http->options.data);
    }
}

/* --- a request --------------------------------------------------------------------------- */

static bool is_type(const char *value, const char *type)
{
    size_t len = strlen(type);
    return value != NULL && strncasecmp(value, type, len) == 0 &&
           (value[len] == '\0' || value[len] == ';' || value[len] == ' ');
}

static bool is_visible(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text < 0x21 || *text > 0x7e) {
            return false;
        }
    }
    return true;
}

static void on_head(void *data, const ik_http_head_t *head)
{
    stream_t *stream = data;
    ik_mcp_http_t *http = stream->http;
    const char *type = ik_http_head_value(head, "Content-Type");
    const char *session = ik_http_head_value(head, "Mcp-Session-Id");
    const char *location = ik_http_head_value(head, "Location");
    stream->status = ik_http_head_status(head);
    bool good = stream->status >= 200 && stream->status < 300;
    stream->events = good && is_type(type, "text/event-stream");
    stream->json = good && is_type(type, "application/json");
    if (stream->events) {
        stream->sse = ik_sse_create(stream, on_event, stream);
    }
    if (good && session != NULL && *session != '\0' && is_visible(session) && !http->modern &&
        strstr(stream->line == NULL ? "" : stream->line, "\"method\":\"initialize\"") != NULL) {
        talloc_free(http->session);
        http->session = ik_strdup(http, session);
    }
    talloc_free(stream->challenge);
    stream->challenge = ik_http_head_list(stream, head, "WWW-Authenticate");
    talloc_free(stream->location);
    stream->location = location == NULL ? NULL : ik_strdup(stream, location);
    if (good && stream->greets && !http->retired) { /* some servers never end this answer */
        stream->greets = false;
        http->options.on_initialized(http->options.data);
    }
}

static bool on_body(void *data, const char *bytes, size_t len)
{
    stream_t *stream = data;
    if (stream->http->retired) {
        return false;
    }
    if (stream->sse != NULL) {
        bool fed = ik_sse_feed(stream->sse, bytes, len);
        note_position(stream);
        stream->flooded = !fed && !stream->http->retired;
        if (stream->flooded) {
            stream->events = false;
        }
        return fed;
    }
    if (!stream->json && stream->body.len > ERROR_MAX) {
        return true;
    }
    ik_buffer_append(&stream->body, bytes, len);
    stream->flooded = stream->body.dropped > 0;
    return !stream->flooded;
}

static void open_stream(stream_t *stream)
{
    ik_mcp_http_t *http = stream->http;
    const char *headers[HEADERS_MAX + 8];
    size_t count = 0;
    void *scratch = talloc_new(NULL);
    for (size_t i = 0; http->options.headers[i] != NULL && count < HEADERS_MAX; i++) {
        headers[count++] = http->options.headers[i];
    }
    bool get = stream->line == NULL || stream->last_id != NULL;
    headers[count++] =
        get ? "Accept: text/event-stream" : "Accept: application/json, text/event-stream";
    if (!get) {
        headers[count++] = "Content-Type: application/json";
    }
    if (http->session != NULL) {
        headers[count++] = ik_sprintf(scratch, "Mcp-Session-Id: %s", http->session);
    }
    if (http->version != NULL) {
        headers[count++] = ik_sprintf(scratch, "MCP-Protocol-Version: %s", http->version);
    }
    if (stream->last_id != NULL) {
        headers[count++] = ik_sprintf(scratch, "Last-Event-ID: %s", stream->last_id);
    }
    char *rest = stream->more == NULL || get ? NULL : ik_strdup(scratch, stream->more);
    for (char *each;
         rest != NULL && count < HEADERS_MAX + 7 && (each = strsep(&rest, "\n")) != NULL;) {
        if (*each != '\0') {
            headers[count++] = each;
        }
    }
    headers[count] = NULL;
    stream->headers = http->headers;
    stream->opened_ms = ik_clock_now_ms();
    stream->request = ik_http_start(stream, http->options.http,
                                    &(ik_http_options_t){.url = http->url,
                                                         .headers = headers,
                                                         .parts = &stream->part,
                                                         .part_count = get ? 0 : 1,
                                                         .connect_ms = http->options.connect_ms,
                                                         .silence_ms = NO_LIMIT_MS,
                                                         .on_head = on_head,
                                                         .on_body = on_body,
                                                         .on_end = on_end,
                                                         .data = stream});
    talloc_free(scratch);
}

/* --- the transport ----------------------------------------------------------------------- */

static void on_retired(void *data)
{
    talloc_free(data);
}

/* On http. */
static const char **copy_headers(ik_mcp_http_t *http, const char *const *headers)
{
    size_t count = 0;
    while (headers[count] != NULL) {
        count++;
    }
    const char **copy = ik_new_array(http, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        copy[i] = ik_strdup(copy, headers[i]);
    }
    return copy;
}

void ik_mcp_http_set_headers(ik_mcp_http_t *http, const char *const *headers)
{
    talloc_free((void *)http->options.headers);
    http->options.headers = copy_headers(http, headers);
    http->headers++;
}

ik_mcp_http_t *ik_mcp_http_create(const void *ctx, const ik_mcp_http_options_t *options)
{
    ik_mcp_http_t *http = ik_new(ctx, ik_mcp_http_t);
    http->options = *options;
    http->url = ik_strdup(http, options->url);
    http->options.headers = copy_headers(http, options->headers);
    http->end = ik_timer_create(http, options->loop, on_retired, http);
    return http;
}

void ik_mcp_http_retire(ik_mcp_http_t *http)
{
    http->retired = true;
    ik_timer_start(http->end, 0);
}

void ik_mcp_http_set_version(ik_mcp_http_t *http, const char *version, bool modern)
{
    talloc_free(http->version);
    http->version = version == NULL ? NULL : ik_strdup(http, version);
    http->modern = modern;
}

/* The id of a request; 0: the message is not a request. */
static int64_t find_id(const char *line, size_t len)
{
    enum { ID, METHOD, MEMBERS };
    static const char *const names[MEMBERS] = {"id", "method"};
    ik_json_span_t whole;
    ik_json_span_t at[MEMBERS];
    if (!ik_json_scan(line, len, &whole, NULL)) {
        return 0;
    }
    ik_json_find_members(whole, names, MEMBERS, at);
    return at[METHOD].len > 0 && ik_json_is(at[ID], IK_JSON_NUMBER) ? strtoll(at[ID].text, NULL, 10)
                                                                    : 0;
}

void ik_mcp_http_send(ik_mcp_http_t *http, const char *line, size_t len, const char *const *headers)
{
    stream_t *stream = create_stream(http);
    stream->line = ik_strndup(stream, line, len);
    stream->part = (ik_http_part_t){.bytes = stream->line, .len = len};
    stream->id = find_id(line, len);
    stream->greets = strstr(stream->line, "\"method\":\"notifications/initialized\"") != NULL;
    for (; headers != NULL && *headers != NULL; headers++) {
        stream->more = stream->more == NULL ? ik_strdup(stream, *headers)
                                            : ik_sprintf(stream, "%s\n%s", stream->more, *headers);
    }
    open_stream(stream);
}

void ik_mcp_http_give_up(ik_mcp_http_t *http, int64_t id)
{
    for (stream_t *stream = http->streams; stream != NULL; stream = stream->next) {
        if (stream->id == id) {
            talloc_free(stream);
            return;
        }
    }
}

void ik_mcp_http_listen(ik_mcp_http_t *http)
{
    stream_t *stream = create_stream(http);
    stream->listen = true;
    open_stream(stream);
}

void ik_mcp_http_forget_session(ik_mcp_http_t *http)
{
    TALLOC_FREE(http->session);
}

/* --- the end of a session ---------------------------------------------------------------- */

static void on_deleted(void *data, const ik_http_end_t *end)
{
    ik_mcp_http_t *http = data;
    (void)end;
    http->ending = NULL;
    http->on_ended(http->ended_data);
}

static void ignore_head(void *data, const ik_http_head_t *head)
{
    (void)data;
    (void)head;
}

static bool ignore_body(void *data, const char *bytes, size_t len)
{
    (void)data;
    (void)bytes;
    (void)len;
    return true;
}

bool ik_mcp_http_end_session(ik_mcp_http_t *http, void (*on_done)(void *data), void *data)
{
    if (http->session == NULL || http->ending != NULL) {
        return http->ending != NULL;
    }
    const char *headers[HEADERS_MAX + 4];
    size_t count = 0;
    for (size_t i = 0; http->options.headers[i] != NULL && count < HEADERS_MAX; i++) {
        headers[count++] = http->options.headers[i];
    }
    char *session = ik_sprintf(http, "Mcp-Session-Id: %s", http->session);
    char *version = http->version == NULL
                        ? NULL /* the answer to initialize has not come yet */
                        : ik_sprintf(http, "MCP-Protocol-Version: %s", http->version);
    headers[count++] = session;
    headers[count++] = version;
    headers[count] = NULL;
    http->on_ended = on_done;
    http->ended_data = data;
    http->ending = ik_http_start(http, http->options.http,
                                 &(ik_http_options_t){.url = http->url,
                                                      .method = "DELETE",
                                                      .headers = headers,
                                                      .connect_ms = END_MS,
                                                      .silence_ms = END_MS,
                                                      .on_head = ignore_head,
                                                      .on_body = ignore_body,
                                                      .on_end = on_deleted,
                                                      .data = http});
    talloc_free(session);
    talloc_free(version);
    return true;
}
