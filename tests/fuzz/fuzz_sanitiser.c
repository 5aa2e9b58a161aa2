/*
 * Any bytes through the sanitiser: what comes out is printable text with newlines and tabs, without
 * anything that turns others around, the same in whatever chunks it comes, and clean when it goes
 * through again; its graphemes are the same forwards and backwards. The first bytes of the input
 * say how the rest is cut.
 */
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "base/utf8.h"
#include "base/width.h"
#include "pieces.h"

enum { ALL_BITS = 63, LONGEST = 8192 };

typedef struct {
    ik_buffer_t text;
    ik_buffer_t styles; /* one for each byte of text */
} shown_t;

static void on_text(void *data, ik_style_t style, const char *text, size_t len)
{
    shown_t *shown = data;
    REQUIRE(len > 0 && (style.bits & ~(uint32_t)ALL_BITS) == 0);
    REQUIRE(style.fg >> 24 <= 2 && style.bg >> 24 <= 2);
    REQUIRE(ik_sanitise_is_clean(text, len));
    ik_buffer_append(&shown->text, text, len);
    for (size_t i = 0; i < len; i++) {
        ik_buffer_append(&shown->styles, (const char *)&style, sizeof(style));
    }
}

/* Fed in pieces of one length, then another, and so on. */
static void show(const void *ctx, shown_t *shown, const char *bytes, size_t len,
                 const uint8_t *cuts, size_t cut_count)
{
    ik_sanitiser_t sanitiser;
    ik_buffer_init(&shown->text, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&shown->styles, ctx, IK_BUFFER_UNLIMITED);
    ik_sanitiser_init(&sanitiser);
    for (size_t at = 0, i = 0; at < len; i++) {
        size_t piece = cut_count == 0 ? len : cuts[i % cut_count] % 16 + 1U;
        piece = piece < len - at ? piece : len - at;
        ik_sanitiser_feed(&sanitiser, bytes + at, piece, on_text, shown);
        at += piece;
    }
    ik_sanitiser_end(&sanitiser, on_text, shown);
}

static bool turns_others_around(int32_t code)
{
    return code == 0x61c || code == 0x200e || code == 0x200f ||
           (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* Says by itself what a terminal would obey or hide. */
static void check_text(const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        bool valid;
        size_t step = ik_utf8_step(text + at, len - at, &valid);
        REQUIRE(valid);
        int32_t code = ik_utf8_decode(text + at, step);
        REQUIRE(code >= ' ' || code == '\n' || code == '\t');
        REQUIRE((code < 0x7f || code > 0x9f) && code < 0x10ff00);
        REQUIRE(!turns_others_around(code));
        REQUIRE(code != 0x200b && code != 0xfeff && (code < 0xe0000 || code > 0xe007f));
        at += step;
    }
}

static void check_again(const void *ctx, const ik_buffer_t *text)
{
    ik_buffer_t again;
    ik_buffer_init(&again, ctx, IK_BUFFER_UNLIMITED);
    ik_sanitise_append(&again, text->data, text->len);
    REQUIRE(pieces_same(text, &again));
    REQUIRE(ik_sanitise_is_clean(text->data, text->len));
}

static void check_columns(const char *text, size_t len)
{
    size_t columns = 0;
    size_t start = 0;
    for (size_t at = 0; at < len;) {
        ik_grapheme_t grapheme = ik_width_grapheme(text + at, len - at);
        REQUIRE(grapheme.len > 0 && grapheme.columns >= 0 && grapheme.columns <= 2);
        start = at;
        at += grapheme.len;
        columns += (size_t)grapheme.columns;
        REQUIRE(at <= len && ik_width_step_back(text, at) == start);
    }
    REQUIRE(ik_width(text, len) == columns);
    size_t fitting;
    size_t half = ik_width_fit(text, len, columns / 2, &fitting);
    REQUIRE(half <= len && fitting <= columns / 2 && ik_width(text, half) == fitting);
}

/* A reader loses no character that is none of these. */
static void check_reading(const void *ctx, const char *bytes, size_t len)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_sanitise_append_for_reader(&out, bytes, len);
    if (out.len > 0) {
        REQUIRE(ik_utf8_valid(out.data, out.len));
        REQUIRE(memchr(out.data, 0x1b, out.len) == NULL);
        REQUIRE(ik_sanitise_is_clean_for_reader(out.data, out.len));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
    if (len == 0 || len > LONGEST) {
        return 0;
    }
    size_t cut_count = input[0] % 8;
    cut_count = cut_count < len ? cut_count : len - 1;
    const char *bytes = (const char *)input + 1 + cut_count;
    len -= 1 + cut_count;
    void *ctx = talloc_new(NULL);
    shown_t whole;
    shown_t pieces;
    show(ctx, &whole, bytes, len, NULL, 0);
    show(ctx, &pieces, bytes, len, input + 1, cut_count);
    REQUIRE(pieces_same(&whole.text, &pieces.text) && pieces_same(&whole.styles, &pieces.styles));
    check_text(whole.text.data, whole.text.len);
    check_again(ctx, &whole.text);
    check_columns(whole.text.data, whole.text.len);
    check_reading(ctx, bytes, len);
    talloc_free(ctx);
    return 0;
}
