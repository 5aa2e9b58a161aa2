#include "tool/tool_wrapper.h"

#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

enum { CHARACTER_MAX = 4, PIECE_SIZE = 65536 };

/* Bytes of strings that are not UTF-8 become U+FFFD; only what is kept is looked at, so a long bad
 * result is never copied as a whole. */
static void append_span(ik_buffer_t *out, ik_json_span_t span)
{
    ik_utf8_append_clean(out, span.text, span.len);
}

static void append_flags(ik_buffer_t *out, size_t total_bytes)
{
    ik_buffer_append_format(out, ",\"truncated\":true,\"total_bytes\":%zu", total_bytes);
}

static void append_note(ik_buffer_t *out, const char *note)
{
    if (note != NULL) {
        ik_buffer_append_text(out, ",\"note\":");
        ik_json_append_text(out, note);
    }
}

/* Copies the object with its output cut, the flags behind it. Flags the tool itself set would be
 * wrong now and are left out, and so are earlier members called output, which the last one
 * overrules: the cut text stands there once, however often the name does. */
static void append_cut_output(ik_buffer_t *out, ik_json_span_t result, ik_json_span_t output,
                              const ik_buffer_t *text, size_t max_output)
{
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    const char *separator = "{";
    while (ik_json_next_member(result, &position, &key, &value)) {
        bool cut = value.text == output.text;
        if (!cut && (ik_json_key_is(key, "output") || ik_json_key_is(key, "truncated") ||
                     ik_json_key_is(key, "total_bytes"))) {
            continue;
        }
        ik_buffer_append_text(out, separator);
        separator = ",";
        append_span(out, key);
        ik_buffer_append_byte(out, ':');
        if (cut) {
            ik_json_append_string(out, text->data, ik_utf8_cut(text->data, text->len, max_output));
            append_flags(out, text->len + text->dropped);
        } else {
            append_span(out, value);
        }
    }
    ik_buffer_append_byte(out, '}');
}

/* \udc00 to \udfff, which may need what stands before it. */
static bool is_second_half(const char *at)
{
    return at[0] == '\\' && at[1] == 'u' && (at[2] | 0x20) == 'd' && (at[3] | 0x20) >= 'c';
}

/* Where a piece of a string literal may end: not inside an escape, nor between the two that make
 * one character. */
static const char *end_piece(const char *at, const char *end)
{
    const char *enough = end - at > PIECE_SIZE ? at + PIECE_SIZE : end;
    while (at < enough) {
        if (at[0] != '\\') {
            at += 1;
        } else if (at[1] != 'u') {
            at += 2;
        } else if (end - at >= 12 && is_second_half(at + 6)) {
            at += 12;
        } else {
            at += 6;
        }
    }
    return at;
}

/* Decodes a string literal piece by piece into a buffer that keeps only its beginning: a long text
 * is never there as a whole a second time. */
static void decode_start(ik_buffer_t *text, ik_json_span_t string)
{
    const char *at = string.text + 1;
    const char *end = string.text + string.len - 1;
    while (at < end) {
        const char *next = end_piece(at, end);
        /* The byte on either side stands where the quotes would. */
        ik_json_span_t piece = {.text = at - 1, .len = (size_t)(next - at) + 2};
        size_t len;
        char *decoded = ik_json_decode(text->ctx, piece, &len);
        ik_buffer_append(text, decoded, len);
        talloc_free(decoded);
        at = next;
    }
}

/* True when the result is an object whose bulk is the text in output. */
static bool has_output(ik_json_span_t result, size_t max_output, ik_json_span_t *output)
{
    return ik_json_kind(result) == IK_JSON_OBJECT && ik_json_find(result, "output", output) &&
           ik_json_kind(*output) == IK_JSON_STRING && result.len - output->len <= max_output;
}

static void append_result(ik_buffer_t *out, ik_json_span_t result, size_t max_output)
{
    ik_json_span_t output;
    if (result.len <= max_output) {
        append_span(out, result);
        return;
    }
    if (!has_output(result, max_output, &output)) {
        ik_json_append_string(out, result.text, ik_utf8_cut(result.text, result.len, max_output));
        append_flags(out, result.len);
        return;
    }
    ik_buffer_t text;
    ik_buffer_init(&text, out->ctx, max_output + CHARACTER_MAX);
    decode_start(&text, output);
    if (text.len <= max_output) {
        append_span(out, result); /* long only by its escapes */
    } else {
        append_cut_output(out, result, output, &text, max_output);
    }
    ik_buffer_reset(&text);
}

char *ik_tool_wrap_success(const void *ctx, ik_json_span_t result, size_t max_output,
                           const char *note)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&out, "{\"tool_success\":true,\"result\":");
    append_result(&out, result, max_output);
    append_note(&out, note);
    ik_buffer_append_byte(&out, '}');
    return out.data;
}

/* Appends what the tool printed, made UTF-8 and shortened; true when it was shortened. */
static bool append_printed(ik_buffer_t *out, const char *key, const char *bytes, size_t len,
                           size_t max)
{
    size_t kept = ik_utf8_cut(bytes, len, max);
    ik_buffer_append_format(out, ",\"%s\":", key);
    ik_json_append_string(out, bytes, kept);
    return kept < len;
}

char *ik_tool_wrap_failure(const void *ctx, const ik_tool_failure_t *failure, size_t max_output)
{
    size_t max = max_output < IK_TOOL_WRAP_SHOWN ? max_output : IK_TOOL_WRAP_SHOWN;
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&out, "{\"tool_success\":false,\"error\":");
    ik_json_append_text(&out, failure->error);
    ik_buffer_append_text(&out, ",\"error_code\":");
    ik_json_append_text(&out, failure->code);
    if (failure->exit_code < 0) {
        ik_buffer_append_text(&out, ",\"exit_code\":null");
    } else {
        ik_buffer_append_format(&out, ",\"exit_code\":%d", failure->exit_code);
    }
    bool cut = append_printed(&out, "stdout", failure->out, failure->out_len, max);
    cut = append_printed(&out, "stderr", failure->err, failure->err_len, max) || cut;
    if (cut) {
        append_flags(&out, failure->out_len + failure->err_len);
    }
    append_note(&out, failure->note);
    ik_buffer_append_byte(&out, '}');
    return out.data;
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
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append(&out, envelope, brace);
    ik_buffer_append_format(&out,
                            "%s\"limit_reached\":true,\"limit_message\":"
                            "\"Tool call limit reached (%ld). Stopping tool loop.\"",
                            empty ? "" : ",", max_tool_turns);
    ik_buffer_append_text(&out, envelope + brace);
    return out.data;
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
