#include "rpc/rpc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

enum { ID_MAX = 1024 }; /* bytes of an id that the peer chose, as it is written */

/* A request of the peer as this file keeps it. */
typedef struct request request_t;
struct request {
    ik_rpc_request_t shown; /* first: what the callee gets is also this */
    request_t *next;
};

struct ik_rpc_call {
    ik_rpc_t *rpc;
    ik_rpc_call_t *next;
    int64_t id;
    ik_rpc_answer_fn on_answer;
    void *data;
};

struct ik_rpc {
    ik_rpc_options_t options;
    ik_buffer_t line; /* the part of a line that has arrived */
    bool too_long;    /* the rest of the line is dropped */
    bool closed;
    int64_t last_id;
    ik_rpc_call_t *calls;
    request_t *requests;
    size_t request_count;
    bool *freed; /* set when the object is freed from inside a callback */
};

/* --- writing ----------------------------------------------------------------------------- */

/* JSON text from elsewhere may be spread over lines; a message is one. Inside strings there are no
 * raw newlines. */
static void append_on_one_line(ik_buffer_t *out, const char *json, size_t len)
{
    size_t from = out->len;
    ik_buffer_append(out, json, len);
    char *end = out->data + out->len;
    for (char *c = out->data + from; (c = memchr(c, '\n', (size_t)(end - c))) != NULL;) {
        *c = ' ';
    }
    for (char *c = out->data + from; (c = memchr(c, '\r', (size_t)(end - c))) != NULL;) {
        *c = ' ';
    }
}

static void begin_message(ik_buffer_t *out, ik_rpc_t *rpc)
{
    ik_buffer_init(out, rpc, IK_BUFFER_UNLIMITED); /* bounded by its callers */
    ik_buffer_append_text(out, "{\"jsonrpc\":\"2.0\"");
}

static void send_message(ik_rpc_t *rpc, ik_buffer_t *message)
{
    ik_buffer_append_text(message, "}\n");
    if (!rpc->closed) {
        rpc->options.write(rpc->options.data, message->data, message->len);
    }
    ik_buffer_reset(message);
}

static void append_call(ik_buffer_t *out, const char *method, const char *params)
{
    ik_buffer_append_text(out, ",\"method\":");
    ik_json_append_text(out, method);
    if (params != NULL) {
        ik_buffer_append_text(out, ",\"params\":");
        append_on_one_line(out, params, strlen(params));
    }
}

static void send_error(ik_rpc_t *rpc, const char *id, int code, const char *text,
                       const char *detail)
{
    ik_buffer_t message;
    begin_message(&message, rpc);
    ik_buffer_append_format(&message, ",\"id\":%s,\"error\":{\"code\":%d,\"message\":", id, code);
    ik_json_append_text(&message, text);
    if (detail != NULL) {
        ik_buffer_append_text(&message, ",\"data\":");
        append_on_one_line(&message, detail, strlen(detail));
    }
    ik_buffer_append_byte(&message, '}');
    send_message(rpc, &message);
}

int64_t ik_rpc_next_id(const ik_rpc_t *rpc)
{
    return rpc->last_id + 1;
}

int64_t ik_rpc_call_id(const ik_rpc_call_t *call)
{
    return call->id;
}

static int unlink_call(ik_rpc_call_t *call)
{
    ik_rpc_call_t **link = &call->rpc->calls;
    while (*link != call) {
        link = &(*link)->next;
    }
    *link = call->next;
    return 0;
}

ik_rpc_call_t *ik_rpc_call(ik_rpc_t *rpc, const char *method, const char *params,
                           ik_rpc_answer_fn on_answer, void *data)
{
    if (rpc->closed) {
        return NULL;
    }
    ik_rpc_call_t *call = ik_new(rpc, ik_rpc_call_t);
    *call = (ik_rpc_call_t){
        .rpc = rpc, .next = rpc->calls, .id = ++rpc->last_id, .on_answer = on_answer, .data = data};
    rpc->calls = call;
    talloc_set_destructor(call, unlink_call);
    ik_buffer_t message;
    begin_message(&message, rpc);
    ik_buffer_append_format(&message, ",\"id\":%" PRId64, call->id);
    append_call(&message, method, params);
    send_message(rpc, &message);
    return rpc->closed ? NULL : call;
}

void ik_rpc_notify(ik_rpc_t *rpc, const char *method, const char *params)
{
    ik_buffer_t message;
    begin_message(&message, rpc);
    append_call(&message, method, params);
    send_message(rpc, &message);
}

void ik_rpc_respond(ik_rpc_request_t *request, const char *result, size_t len)
{
    ik_buffer_t message;
    begin_message(&message, request->rpc);
    ik_buffer_append_format(&message, ",\"id\":%s,\"result\":", request->id);
    append_on_one_line(&message, result, len);
    send_message(request->rpc, &message);
    talloc_free(request);
}

void ik_rpc_refuse(ik_rpc_request_t *request, int code, const char *message, const char *detail)
{
    send_error(request->rpc, request->id, code, message, detail);
    talloc_free(request);
}

/* --- answers ----------------------------------------------------------------------------- */

/* Ids of calls are integers; the peer has to return the same. */
static ik_rpc_call_t *find_call(const ik_rpc_t *rpc, ik_json_span_t id)
{
    char text[24];
    if (id.len == 0 || id.len >= sizeof(text) || ik_json_kind(id) != IK_JSON_NUMBER) {
        return NULL;
    }
    memcpy(text, id.text, id.len);
    text[id.len] = '\0';
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    ik_rpc_call_t *call = *end == '\0' && errno == 0 ? rpc->calls : NULL;
    while (call != NULL && call->id != number) {
        call = call->next;
    }
    return call;
}

static void end_call(ik_rpc_call_t *call, const ik_rpc_answer_t *answer)
{
    ik_rpc_answer_fn on_answer = call->on_answer;
    void *data = call->data;
    talloc_free(call);
    on_answer(data, answer);
}

static void take_answer(ik_rpc_t *rpc, ik_json_span_t id, ik_json_span_t result,
                        ik_json_span_t error)
{
    enum { CODE, MESSAGE, DATA, MEMBERS };
    static const char *const names[MEMBERS] = {"code", "message", "data"};
    ik_rpc_call_t *call = find_call(rpc, id);
    if (call == NULL) {
        return;
    }
    ik_rpc_answer_t answer = {.result = result};
    if (error.len > 0) {
        ik_json_span_t values[MEMBERS];
        ik_json_find_members(error, names, MEMBERS, values);
        answer.failed = true;
        answer.code =
            ik_json_is(values[CODE], IK_JSON_NUMBER) ? strtoll(values[CODE].text, NULL, 10) : 0;
        answer.text = ik_json_is(values[MESSAGE], IK_JSON_STRING) ? values[MESSAGE] : answer.text;
        answer.detail = values[DATA];
    }
    end_call(call, &answer);
}

void ik_rpc_close(ik_rpc_t *rpc)
{
    bool freed = false;
    bool *outer = rpc->freed;
    rpc->freed = &freed;
    rpc->closed = true;
    while (!freed && rpc->calls != NULL) {
        end_call(rpc->calls, &(ik_rpc_answer_t){.closed = true});
    }
    if (!freed) {
        rpc->freed = outer;
    } else if (outer != NULL) {
        *outer = true;
    }
}

/* --- requests of the peer ---------------------------------------------------------------- */

ik_rpc_request_t *ik_rpc_find_request(const ik_rpc_t *rpc, ik_json_span_t id)
{
    request_t *request = rpc->requests;
    while (request != NULL && (strlen(request->shown.id) != id.len ||
                               memcmp(request->shown.id, id.text, id.len) != 0)) {
        request = request->next;
    }
    return request == NULL ? NULL : &request->shown;
}

static int unlink_request(request_t *request)
{
    ik_rpc_t *rpc = request->shown.rpc;
    request_t **link = &rpc->requests;
    while (*link != request) {
        link = &(*link)->next;
    }
    *link = request->next;
    rpc->request_count--;
    return 0;
}

/* A string or an integer. */
static bool is_id(ik_json_span_t id)
{
    if (id.len == 0 || id.len > ID_MAX) {
        return false;
    }
    return ik_json_kind(id) == IK_JSON_STRING ||
           (ik_json_kind(id) == IK_JSON_NUMBER && memchr(id.text, '.', id.len) == NULL &&
            memchr(id.text, 'e', id.len) == NULL && memchr(id.text, 'E', id.len) == NULL);
}

static void take_request(ik_rpc_t *rpc, ik_json_span_t id, const char *method,
                         ik_json_span_t params)
{
    request_t *request = ik_new(rpc, request_t);
    request->shown = (ik_rpc_request_t){.rpc = rpc,
                                        .id = ik_strndup(request, id.text, id.len),
                                        .method = ik_strdup(request, method),
                                        .params = params};
    bool in_use = ik_rpc_find_request(rpc, id) != NULL;
    bool full = rpc->request_count == IK_RPC_OPEN_MAX;
    request->next = rpc->requests;
    rpc->requests = request;
    rpc->request_count++;
    talloc_set_destructor(request, unlink_request);
    if (in_use || full) {
        ik_rpc_refuse(&request->shown, IK_RPC_INVALID_REQUEST,
                      in_use ? "A request with this id is open" : "Too many open requests", NULL);
    } else if (params.len > 0 && ik_json_kind(params) != IK_JSON_OBJECT) {
        ik_rpc_refuse(&request->shown, IK_RPC_INVALID_PARAMS, "params is not an object", NULL);
    } else if (!rpc->options.on_request(rpc->options.data, &request->shown)) {
        ik_rpc_refuse(&request->shown, IK_RPC_METHOD_NOT_FOUND,
                      ik_sprintf(request, "Unknown method %.200s", method), NULL);
    }
}

/* --- messages ---------------------------------------------------------------------------- */

static void take_junk(ik_rpc_t *rpc, const char *text, size_t len, int code, const char *why)
{
    if (rpc->options.answers_junk) {
        send_error(rpc, "null", code, why, NULL);
    }
    if (rpc->options.on_junk != NULL) {
        rpc->options.on_junk(rpc->options.data, text, len);
    }
}

/* What has a method is a request or a notification. */
static void take_method(ik_rpc_t *rpc, const char *text, size_t len, ik_json_span_t name,
                        ik_json_span_t id, bool has_id, ik_json_span_t params)
{
    size_t method_len;
    void *scratch = talloc_new(NULL); /* a callback may free the rpc */
    char *method = ik_json_decode(scratch, name, &method_len);
    bool plain = strlen(method) == method_len;
    if (!ik_utf8_valid(text, len)) {
        take_junk(rpc, text, len, IK_RPC_PARSE_ERROR, "The message is not UTF-8");
    } else if (!plain || (has_id && !is_id(id))) {
        take_junk(rpc, text, len, IK_RPC_INVALID_REQUEST,
                  plain ? "id is neither a string nor an integer" : "Invalid method");
    } else if (has_id) {
        take_request(rpc, id, method, params);
    } else if (params.len == 0 || ik_json_kind(params) == IK_JSON_OBJECT) {
        rpc->options.on_notification(rpc->options.data, method, params);
    }
    talloc_free(scratch);
}

/* text is NULL when the line was too long. */
static void take_message(ik_rpc_t *rpc, const char *text, size_t len)
{
    enum { VERSION, METHOD, ID, PARAMS, RESULT, ERROR, MEMBERS };
    static const char *const names[MEMBERS] = {"jsonrpc", "method", "id",
                                               "params",  "result", "error"};
    ik_json_span_t whole;
    ik_json_span_t at[MEMBERS];
    ik_json_span_t found;
    if (text == NULL || !ik_json_scan(text, len, &whole, NULL)) {
        take_junk(rpc, text, len, IK_RPC_PARSE_ERROR,
                  text == NULL ? "The message is too long" : "The message is not JSON");
        return;
    }
    if (ik_json_kind(whole) != IK_JSON_OBJECT) {
        take_junk(rpc, text, len, IK_RPC_INVALID_REQUEST,
                  ik_json_kind(whole) == IK_JSON_ARRAY ? "Batches are not supported"
                                                       : "The message is not an object");
        return;
    }
    ik_json_find_members(whole, names, MEMBERS, at);
    bool has_id = at[ID].len > 0 || ik_json_find(whole, "id", &found);
    bool null_result = at[RESULT].len == 0 && ik_json_find(whole, "result", &found);
    /* With the id of a call it is its answer even if it says nothing: no other will come. */
    bool answers =
        at[RESULT].len > 0 || at[ERROR].len > 0 || null_result || find_call(rpc, at[ID]) != NULL;
    if (ik_json_is(at[METHOD], IK_JSON_STRING) && ik_json_is_text(at[VERSION], "2.0")) {
        take_method(rpc, text, len, at[METHOD], at[ID], has_id, at[PARAMS]);
    } else if (at[METHOD].len == 0 && answers) {
        static const ik_json_span_t null = {.text = "null", .len = 4};
        take_answer(rpc, at[ID], at[RESULT].len > 0 ? at[RESULT] : null, at[ERROR]);
    } else {
        take_junk(rpc, text, len, IK_RPC_INVALID_REQUEST, "The message is not JSON-RPC 2.0");
    }
}

static int note_freed(ik_rpc_t *rpc)
{
    if (rpc->freed != NULL) {
        *rpc->freed = true;
    }
    return 0;
}

ik_rpc_t *ik_rpc_create(const void *ctx, const ik_rpc_options_t *options)
{
    ik_rpc_t *rpc = ik_new(ctx, ik_rpc_t);
    rpc->options = *options;
    ik_buffer_init(&rpc->line, rpc, options->max_line);
    talloc_set_destructor(rpc, note_freed);
    return rpc;
}

/* Takes one message; false when the rpc was freed meanwhile. */
static bool take_alive(ik_rpc_t *rpc, const char *text, size_t len)
{
    bool freed = false;
    bool *outer = rpc->freed;
    rpc->freed = &freed;
    take_message(rpc, text, len);
    if (!freed) {
        rpc->freed = outer;
    } else if (outer != NULL) {
        *outer = true;
    }
    return !freed;
}

void ik_rpc_take(ik_rpc_t *rpc, const char *text, size_t len)
{
    if (!rpc->closed) {
        take_alive(rpc, text, len);
    }
}

/* A whole line, without its newline. False when the rpc was freed meanwhile. */
static bool take_line(ik_rpc_t *rpc, const char *line, size_t len)
{
    while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t' || line[len - 1] == '\r')) {
        len--;
    }
    return len == 0 || take_alive(rpc, line, len);
}

/* The end of a line whose beginning was kept. */
static bool finish_line(ik_rpc_t *rpc)
{
    size_t len = rpc->line.len;
    void *holder = talloc_new(NULL); /* a callback may free the rpc */
    char *text = ik_buffer_take(holder, &rpc->line);
    bool alive = rpc->too_long ? take_alive(rpc, NULL, 0) : take_line(rpc, text, len);
    if (alive) {
        rpc->too_long = false;
    }
    talloc_free(holder);
    return alive;
}

void ik_rpc_feed(ik_rpc_t *rpc, const char *bytes, size_t len)
{
    const char *end = bytes + len;
    while (bytes < end && !rpc->closed) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t piece = (size_t)((newline == NULL ? end : newline) - bytes);
        bool whole = newline != NULL && rpc->line.len == 0 && !rpc->too_long;
        bool alive = true;
        if (whole && piece <= rpc->options.max_line) {
            alive = take_line(rpc, bytes, piece);
        } else {
            ik_buffer_append(&rpc->line, bytes, rpc->too_long ? 0 : piece);
            if (rpc->line.dropped > 0) {
                rpc->too_long = true;
                ik_buffer_reset(&rpc->line);
            }
            alive = newline == NULL || finish_line(rpc);
        }
        if (!alive) {
            return;
        }
        bytes += piece + (newline != NULL);
    }
}
