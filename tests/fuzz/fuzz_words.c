/*
 * Words and JSON on their way to a model: what comes out is JSON without escape sequences, what was
 * clean comes out as it was, and what every server takes is found to be so.
 */
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_clean.h"
#include "pieces.h"
#include "provider/words.h"

/* No character of the literal begins an escape sequence. */
static void check_clean(const void *ctx, ik_json_span_t literal)
{
    size_t len;
    const char *text = ik_json_decode(ctx, literal, &len);
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        REQUIRE(byte != 0x1b && (byte != 0xc2 || (unsigned char)text[i + 1] >= 0xa0));
    }
}

/* A member of words; text ends at its first NUL. */
static void check_words(const void *ctx, const char *text)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_byte(&out, '"');
    ik_words_append(&out, text);
    ik_buffer_append_byte(&out, '"');
    check_clean(ctx, pieces_require_json(out.data, out.len));
}

static void check_literal(const void *ctx, const char *text, size_t len)
{
    ik_buffer_t literal;
    ik_buffer_t out;
    ik_buffer_init(&literal, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_json_append_string(&literal, text, len);
    ik_json_span_t span = {literal.data, literal.len};
    ik_words_append_literal(&out, span);
    REQUIRE(ik_json_kind(pieces_require_json(out.data, out.len)) == IK_JSON_STRING);
    size_t decoded_len;
    char *decoded = ik_words_decode(ctx, span, &decoded_len);
    size_t again_len;
    char *again = ik_json_decode(ctx, (ik_json_span_t){out.data, out.len}, &again_len);
    REQUIRE(again_len == decoded_len && memcmp(again, decoded, again_len) == 0);
}

static void check_json(const void *ctx, ik_json_span_t value)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_words_append_json(&out, value);
    ik_json_span_t made = pieces_require_json(out.data, out.len);
    REQUIRE(ik_json_kind(made) == ik_json_kind(value));
    if (!ik_words_may_be_unclean(value.text, value.len)) {
        REQUIRE(out.len == value.len && memcmp(out.data, value.text, value.len) == 0);
    }
}

static void check_servers(const void *ctx, ik_json_span_t value)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    if (!ik_json_append_clean(&out, value)) {
        REQUIRE(out.len == 0);
        return;
    }
    REQUIRE(ik_json_is_clean(pieces_require_json(out.data, out.len)));
    REQUIRE(!ik_json_is_clean(value) ||
            (out.len == value.len && memcmp(out.data, value.text, value.len) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    void *ctx = talloc_new(NULL);
    char *text = pieces_copy(bytes, len);
    ik_json_span_t value;
    check_words(ctx, ik_strndup(ctx, text, len));
    check_literal(ctx, text, len);
    if (ik_json_scan(text, len, &value, NULL)) {
        check_servers(ctx, value);
        if (ik_utf8_valid(text, len)) {
            check_json(ctx, value);
        }
    }
    free(text);
    talloc_free(ctx);
    return 0;
}
