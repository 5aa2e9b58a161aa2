/*
 * Whatever a tool prints: the envelope around it is one JSON object in UTF-8, no longer than the
 * limit allows, and what was not cut is the tool's own bytes. The first byte is the limit.
 */
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "pieces.h"
#include "tool/tool_wrapper.h"

/* Six bytes for an escaped one in the text, three for one that is not UTF-8 in what stands beside
 * it, of which so much is kept even with a smaller limit, and the envelope itself. */
enum { TEXT_FACTOR = 6, REST_FACTOR = 3, BESIDE_MIN = 1024, AROUND = 256 };

static ik_json_span_t check_envelope(const char *envelope, size_t most)
{
    ik_json_span_t whole;
    size_t len = strlen(envelope);
    REQUIRE(len <= most);
    REQUIRE(ik_utf8_valid(envelope, len));
    REQUIRE(ik_json_scan(envelope, len, &whole, NULL));
    REQUIRE(ik_json_kind(whole) == IK_JSON_OBJECT && whole.len == len);
    return whole;
}

static void check_limit(const void *ctx, const char *envelope, size_t most)
{
    char *limited = ik_tool_wrap_add_limit(ctx, envelope, 50);
    ik_json_span_t target = check_envelope(limited, most + AROUND);
    ik_json_span_t found;
    if (ik_json_find(target, "result", &found) && ik_json_kind(found) == IK_JSON_OBJECT) {
        target = found;
    }
    REQUIRE(ik_json_find(target, "limit_reached", &found));
    REQUIRE(ik_json_find(target, "limit_message", &found));
}

static bool same(ik_json_span_t a, ik_json_span_t b)
{
    return a.len == b.len && memcmp(a.text, b.text, a.len) == 0;
}

/* A cut output is the beginning of the whole one, and the full size is told. */
static void check_cut(const void *ctx, ik_json_span_t given, ik_json_span_t cut, size_t max)
{
    ik_json_span_t output;
    ik_json_span_t whole;
    ik_json_span_t total;
    REQUIRE(ik_json_find(cut, "output", &output) && ik_json_find(given, "output", &whole));
    REQUIRE(ik_json_find(cut, "truncated", &total) && ik_json_find(cut, "total_bytes", &total));
    size_t output_len;
    size_t whole_len;
    char *output_text = ik_json_decode(ctx, output, &output_len);
    char *whole_text = ik_json_decode(ctx, whole, &whole_len);
    REQUIRE(output_len <= max && output_len + 3 >= max && whole_len > max);
    REQUIRE(memcmp(output_text, whole_text, output_len) == 0);
    char *expected = ik_sprintf(ctx, "%zu", whole_len);
    REQUIRE(total.len == strlen(expected) && memcmp(total.text, expected, total.len) == 0);
}

static void check_success(const void *ctx, ik_json_span_t given, size_t max)
{
    size_t beside = max > BESIDE_MIN ? max : BESIDE_MIN;
    size_t most = TEXT_FACTOR * max + REST_FACTOR * beside + AROUND;
    char *envelope = ik_tool_wrap_success(ctx, given, max, "Stopped 1 background process");
    ik_json_span_t whole = check_envelope(envelope, most);
    ik_json_span_t result;
    ik_json_span_t flag;
    REQUIRE(ik_json_find(whole, "result", &result) && ik_json_find(whole, "note", &flag));
    if (ik_utf8_valid(given.text, given.len)) {
        if (ik_json_find(whole, "truncated", &flag)) {
            REQUIRE(given.len > max && ik_json_kind(result) == IK_JSON_STRING);
        } else if (!same(given, result)) {
            check_cut(ctx, given, result, max);
        }
    }
    check_limit(ctx, envelope, most);
}

static void check_failure(const void *ctx, const char *bytes, size_t len, size_t max)
{
    size_t half = len / 2;
    ik_tool_failure_t failure = {.error = ik_strndup(ctx, bytes, len < 32 ? len : 32),
                                 .code = IK_TOOL_CRASHED,
                                 .exit_code = (int)(len % 200) - 1,
                                 .out = bytes,
                                 .out_len = half,
                                 .err = bytes + half,
                                 .err_len = len - half,
                                 .note = len % 2 == 0 ? NULL : "note"};
    size_t most = 2 * TEXT_FACTOR * max + AROUND * 2;
    char *envelope = ik_tool_wrap_failure(ctx, &failure, max);
    check_envelope(envelope, most);
    check_limit(ctx, envelope, most);
    ik_buffer_t printed;
    ik_buffer_init(&printed, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append(&printed, bytes, len);
    check_envelope(ik_tool_wrap_take_unfinished(ctx, &printed, &failure, max), most);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    size_t max = bytes[0];
    const char *text = (const char *)bytes + 1;
    ik_json_span_t value;
    if (ik_json_scan(text, len - 1, &value, NULL)) {
        check_success(ctx, value, max);
    }
    check_failure(ctx, text, len - 1, max);
    talloc_free(ctx);
    return 0;
}
