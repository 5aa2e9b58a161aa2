#include "tool/tool_wrapper.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/host_protocol.h"
#include "base/utf8.h"

/* Room in front of a result that is wrapped in place: for the opening, and for flags that are
 * longer than the text that was cut. */
enum { ROOM = 256 };

static const char OPENING[] = "{\"tool_success\":true,\"result\":";

static void append_flags(ik_buffer_t *out, uint64_t total_bytes)
{
    ik_buffer_append_format(out, ",\"truncated\":true,\"total_bytes\":%" PRIu64, total_bytes);
}

static void append_note(ik_buffer_t *out, const char *note)
{
    if (note != NULL) {
        ik_buffer_append_text(out, ",\"note\":");
        ik_json_append_text(out, note);
    }
}

/* Returns the length of a string literal, without its closing quote, whose text has at most
 * max_output bytes. *total is the length of the whole text. */
static size_t measure_text(ik_json_span_t literal, size_t max_output, size_t *total)
{
    const char *at = literal.text + 1;
    const char *end = literal.text + literal.len - 1;
    size_t kept = 1;
    *total = 0;
    while (at < end) {
        size_t decoded;
        at += ik_json_step(at, end, &decoded);
        *total += decoded;
        kept = *total <= max_output ? (size_t)(at - literal.text) : kept;
    }
    return kept;
}

/* Whether the result is an object most of which is the text in output. Other members, such as
 * exit_code, are kept even when they are longer than a very small limit. */
static bool has_output(ik_json_span_t result, size_t max_output, ik_json_span_t *output)
{
    enum { BESIDE_MIN = 1024 };
    size_t beside = max_output > BESIDE_MIN ? max_output : BESIDE_MIN;
    return ik_json_kind(result) == IK_JSON_OBJECT && ik_json_find(result, "output", output) &&
           ik_json_kind(*output) == IK_JSON_STRING && result.len - output->len <= beside;
}

/* Moves the result to ROOM bytes after the start of its buffer, so that the envelope can be written
 * from the start without overwriting what has not been read. Returns the moved result. */
static ik_json_span_t make_room(ik_buffer_t *printed, ik_json_span_t result)
{
    size_t offset = (size_t)(result.text - printed->data);
    printed->max = IK_BUFFER_UNLIMITED; /* max bounded the reading, which is over */
    ik_buffer_reserve(printed, ROOM);
    memmove(printed->data + ROOM, printed->data + offset, result.len);
    printed->len = 0;
    ik_buffer_append_text(printed, OPENING);
    return (ik_json_span_t){.text = printed->data + ROOM, .len = result.len};
}

/* Appends bytes that may lie further on in the same buffer. */
static void move_down(ik_buffer_t *printed, const char *bytes, size_t len)
{
    memmove(printed->data + printed->len, bytes, len);
    printed->len += len;
}

/* Writes the object with its output cut and followed by the flags. Flags that the tool set are
 * wrong now and are dropped, as are duplicates of output, of which only the last one counts. */
static void put_cut_object(ik_buffer_t *printed, ik_json_span_t result, size_t kept, size_t total)
{
    ik_json_span_t output;
    ik_json_span_t key;
    ik_json_span_t value;
    size_t position = 0;
    const char *separator = "{";
    ik_json_find(result, "output", &output);
    while (ik_json_next_member(result, &position, &key, &value)) {
        bool cut = value.text == output.text;
        if (!cut && (ik_json_key_is(key, "output") || ik_json_key_is(key, "truncated") ||
                     ik_json_key_is(key, "total_bytes"))) {
            continue;
        }
        move_down(printed, separator, 1);
        separator = ",";
        move_down(printed, key.text, key.len);
        move_down(printed, ":", 1);
        move_down(printed, value.text, cut ? kept : value.len);
        if (cut) {
            move_down(printed, "\"", 1);
            append_flags(printed, total);
        }
    }
    move_down(printed, "}", 1);
}

/* Writes the beginning of the JSON text of any other result, as a string. */
static void put_cut_text(const void *ctx, ik_buffer_t *printed, ik_json_span_t result,
                         size_t max_output)
{
    size_t kept = ik_utf8_cut(result.text, result.len, max_output);
    char *text = ik_strndup(ctx, result.text, kept);
    ik_buffer_reset(printed);
    printed->max = IK_BUFFER_UNLIMITED; /* bounded by max_output */
    ik_buffer_append_text(printed, OPENING);
    ik_json_append_string(printed, text, kept);
    append_flags(printed, result.len);
    talloc_free(text);
}

static void put_result(const void *ctx, ik_buffer_t *printed, ik_json_span_t result,
                       size_t max_output)
{
    ik_json_span_t output;
    size_t total = 0;
    size_t kept = 0;
    bool fits = result.len <= max_output;
    if (!fits && !has_output(result, max_output, &output)) {
        put_cut_text(ctx, printed, result, max_output);
        return;
    }
    if (!fits) {
        kept = measure_text(output, max_output, &total);
    }
    result = make_room(printed, result);
    if (total <= max_output) {
        move_down(printed, result.text,
                  result.len); /* only its escapes exceed the limit, if anything does */
    } else {
        put_cut_object(printed, result, kept, total);
    }
}

static void wrap_in_place(const void *ctx, ik_buffer_t *printed, ik_json_span_t result,
                          size_t max_output, const char *note)
{
    put_result(ctx, printed, result, max_output);
    ik_utf8_clean(printed);
    append_note(printed, note);
    ik_buffer_append_byte(printed, '}');
}

char *ik_tool_wrap_take_success(const void *ctx, ik_buffer_t *printed, ik_json_span_t result,
                                size_t max_output, const char *note)
{
    wrap_in_place(ctx, printed, result, max_output, note);
    return ik_buffer_take(ctx, printed);
}

char *ik_tool_wrap_success(const void *ctx, ik_json_span_t result, size_t max_output,
                           const char *note)
{
    ik_buffer_t copy;
    ik_buffer_init(&copy, ctx, IK_BUFFER_UNLIMITED); /* bounded by the result */
    ik_buffer_append(&copy, result.text, result.len);
    result.text = copy.data;
    wrap_in_place(ctx, &copy, result, max_output, note);
    return ik_buffer_finish(&copy);
}

/* Everything before the value of stdout. */
static void append_failure_head(ik_buffer_t *out, const ik_tool_failure_t *failure)
{
    ik_buffer_append_text(out, "{\"tool_success\":false,\"error\":");
    ik_json_append_text(out, failure->error);
    ik_buffer_append_text(out, ",\"error_code\":");
    ik_json_append_text(out, failure->code);
    if (failure->exit_code < 0) {
        ik_buffer_append_text(out, ",\"exit_code\":null");
    } else {
        ik_buffer_append_format(out, ",\"exit_code\":%d", failure->exit_code);
    }
    ik_buffer_append_text(out, ",\"stdout\":");
}

/* Everything after the value of stdout. out_total is the length of the whole text of stdout. */
static void append_failure_tail(ik_buffer_t *out, const ik_tool_failure_t *failure, size_t max,
                                bool out_cut, uint64_t out_total)
{
    size_t kept = ik_utf8_cut(failure->err, failure->err_len, max);
    ik_buffer_append_text(out, ",\"stderr\":");
    ik_json_append_string(out, failure->err, kept);
    if (out_cut || kept < failure->err_len) {
        append_flags(out, out_total + failure->err_len);
    }
    append_note(out, failure->note);
    ik_buffer_append_byte(out, '}');
}

static size_t shown_max(size_t max_output)
{
    return max_output < IK_TOOL_WRAP_SHOWN ? max_output : IK_TOOL_WRAP_SHOWN;
}

char *ik_tool_wrap_failure(const void *ctx, const ik_tool_failure_t *failure, size_t max_output)
{
    size_t max = shown_max(max_output);
    size_t kept = ik_utf8_cut(failure->out, failure->out_len, max);
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by max */
    append_failure_head(&out, failure);
    ik_json_append_string(&out, failure->out, kept);
    append_failure_tail(&out, failure, max, kept < failure->out_len, failure->out_len);
    return ik_buffer_finish(&out);
}

char *ik_tool_wrap_describe_timeout(const void *ctx, const char *tool, int64_t ms, bool idle)
{
    int64_t seconds = ms / 1000;
    return ik_sprintf(ctx, "Tool '%s' timed out after %" PRId64 " second%s%s", tool, seconds,
                      seconds == 1 ? "" : "s", idle ? " without progress" : "");
}

char *ik_tool_wrap_refusal(const void *ctx, const char *code, const char *error)
{
    ik_tool_failure_t failure = {
        .error = error, .code = code, .exit_code = -1, .out = "", .err = ""};
    return ik_tool_wrap_failure(ctx, &failure, IK_TOOL_WRAP_SHOWN);
}

/* total_bytes of an answer that the tool truncated itself; 0: it did not, or does not say. */
static uint64_t own_total(ik_json_span_t answer)
{
    ik_json_span_t value;
    bool truncated = ik_json_find(answer, "truncated", &value) && value.text[0] == 't';
    bool counted = truncated && ik_json_find(answer, "total_bytes", &value) &&
                   ik_json_kind(value) == IK_JSON_NUMBER && value.text[0] != '-';
    return counted ? strtoull(value.text, NULL, 10) : 0;
}

char *ik_tool_wrap_take_unfinished(const void *ctx, ik_buffer_t *printed,
                                   const ik_tool_failure_t *failure, size_t max_output)
{
    ik_json_span_t answer;
    ik_json_span_t output;
    ik_tool_failure_t whole = *failure;
    whole.out = printed->len > 0 ? printed->data : "";
    whole.out_len = printed->len;
    if (!ik_json_scan(whole.out, whole.out_len, &answer, NULL) ||
        ik_json_kind(answer) != IK_JSON_OBJECT || !ik_json_find(answer, "output", &output) ||
        ik_json_kind(output) != IK_JSON_STRING) {
        return ik_tool_wrap_failure(ctx, &whole, max_output);
    }
    size_t total;
    size_t kept = measure_text(output, max_output, &total);
    bool cut = total > max_output;
    uint64_t own = own_total(answer);
    ik_buffer_t head;
    ik_buffer_init(&head, ctx, IK_BUFFER_UNLIMITED); /* one error message */
    append_failure_head(&head, failure);
    size_t offset = (size_t)(output.text - printed->data);
    printed->max = IK_BUFFER_UNLIMITED; /* max bounded the reading, which is over */
    ik_buffer_reserve(printed, head.len);
    memmove(printed->data + head.len, printed->data + offset, kept);
    memcpy(printed->data, head.data, head.len);
    printed->len = head.len + kept;
    ik_buffer_reset(&head);
    ik_buffer_append_byte(printed, '"');
    ik_utf8_clean(printed);
    append_failure_tail(printed, failure, shown_max(max_output), cut || own > 0,
                        own > total ? own : total);
    return ik_buffer_take(ctx, printed);
}

char *ik_tool_wrap_add_limit(const void *ctx, const char *envelope, long max_tool_turns)
{
    ik_json_span_t whole;
    ik_json_span_t target;
    if (!ik_json_scan(envelope, strlen(envelope), &whole, NULL)) {
        PANIC("an envelope is not JSON");
    }
    if (!ik_json_find(whole, "result", &target) || ik_json_kind(target) != IK_JSON_OBJECT) {
        target = whole;
    }
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    bool empty = !ik_json_next_member(target, &position, &key, &value);
    size_t brace = (size_t)(target.text - envelope) + target.len - 1;
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the envelope */
    ik_buffer_append(&out, envelope, brace);
    ik_buffer_append_format(&out,
                            "%s\"limit_reached\":true,\"limit_message\":"
                            "\"Tool call limit reached (%ld). Stopping tool loop.\"",
                            empty ? "" : ",", max_tool_turns);
    ik_buffer_append_text(&out, envelope + brace);
    return ik_buffer_finish(&out);
}

char *ik_tool_wrap_add_member(const void *ctx, const char *envelope, const char *key,
                              const char *json)
{
    size_t brace = strlen(envelope) - 1;
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the envelope */
    ik_buffer_append(&out, envelope, brace);
    ik_buffer_append_format(&out, ",\"%s\":", key);
    ik_buffer_append_text(&out, json);
    ik_buffer_append_byte(&out, '}');
    return ik_buffer_finish(&out);
}

static char *insert_text(const void *ctx, const char *envelope, const char *key, const char *text)
{
    ik_buffer_t literal;
    ik_buffer_init(&literal, NULL, IK_BUFFER_UNLIMITED); /* bounded by the text */
    ik_json_append_text(&literal, text);
    char *longer = ik_tool_wrap_add_member(ctx, envelope, key, literal.data);
    ik_buffer_reset(&literal);
    return longer;
}

/* Whether a result, an object, is an error that a tool got over its host channel. */
static bool is_of_host(ik_json_span_t result)
{
    ik_json_span_t value;
    if (!ik_json_find_kind(result, "error_code", IK_JSON_STRING, &value)) {
        return false;
    }
    char *code = ik_json_decode(NULL, value, NULL);
    bool is_host = ik_host_is_error(code);
    talloc_free(code);
    return is_host;
}

char *ik_tool_wrap_add_confined(const void *ctx, char *envelope, const char *confined)
{
    ik_json_span_t whole;
    ik_json_span_t result;
    ik_json_span_t value;
    if (!ik_json_scan(envelope, strlen(envelope), &whole, NULL)) {
        return envelope;
    }
    bool failed = true;
    if (ik_json_find(whole, "result", &result)) {
        failed = ik_json_is(result, IK_JSON_OBJECT) && !is_of_host(result) &&
                 ((ik_json_find(result, "error", &value) && !ik_json_is(value, IK_JSON_NULL)) ||
                  (ik_json_find_kind(result, "exit_code", IK_JSON_NUMBER, &value) &&
                   strtod(value.text, NULL) != 0));
    }
    return failed ? insert_text(ctx, envelope, "confined", confined) : envelope;
}

char *ik_tool_wrap_add_ended_by(const void *ctx, char *envelope, const char *limit)
{
    return insert_text(ctx, envelope, "limit", limit);
}

char *ik_tool_wrap_add_note(const void *ctx, char *envelope, const char *note)
{
    ik_json_span_t whole;
    ik_json_span_t before;
    if (!ik_json_scan(envelope, strlen(envelope), &whole, NULL) ||
        !ik_json_find_kind(whole, "note", IK_JSON_STRING, &before)) {
        return insert_text(ctx, envelope, "note", note);
    }
    size_t end = (size_t)(before.text - envelope) + before.len - 1; /* the closing quote */
    ik_buffer_t out;
    ik_buffer_t quoted;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);    /* bounded by the envelope */
    ik_buffer_init(&quoted, ctx, IK_BUFFER_UNLIMITED); /* bounded by the note */
    ik_json_append_text(&quoted, note);
    ik_buffer_append(&out, envelope, end);
    ik_buffer_append_text(&out, ". ");
    ik_buffer_append(&out, quoted.data + 1, quoted.len - 2);
    ik_buffer_append_text(&out, envelope + end);
    ik_buffer_reset(&quoted);
    return ik_buffer_finish(&out);
}

static json_t *described(const char *type, const char *description)
{
    return json_pack("{s:s, s:s}", "type", type, "description", description);
}

json_t *ik_tool_wrap_returns(json_t *returns)
{
    json_t *result = json_pack("{s:s}", "description", "Present only when tool_success is true");
    /* The declared schema may be a JSON Schema or a bare map of fields. */
    if (json_is_object(returns) && json_is_string(json_object_get(returns, "type"))) {
        json_object_update_missing(result, returns);
    } else if (json_is_object(returns) && json_object_size(returns) > 0) {
        json_object_set_new(result, "type", json_string("object"));
        json_object_set(result, "properties", returns);
    }
    return json_pack(
        "{s:s, s:{s:o, s:o, s:o, s:o}, s:[s]}", "type", "object", "properties", "tool_success",
        described("boolean", "True if tool executed, false if ikigai error (timeout/crash)"),
        "result", result, "error", described("string", "Present only when tool_success is false"),
        "error_code", described("string", "Machine-readable error code when tool_success is false"),
        "required", "tool_success");
}
