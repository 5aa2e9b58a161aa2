/*
 * Input bytes, cut anywhere, make the same keys as in one piece. Text is valid UTF-8 without
 * controls; keys keep what key.h says of them. The first two bytes seed the places of the cuts; an
 * odd seed splits Alt, as vi keys do.
 */
#include <stdint.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "pieces.h"
#include "terminal/decoder.h"

static void require_printable(const ik_key_t *key)
{
    REQUIRE(key->len > 0 && ik_utf8_valid(key->text, key->len));
    for (size_t i = 0; i < key->len; i++) {
        unsigned char byte = (unsigned char)key->text[i];
        REQUIRE(byte >= 0x20 && byte != 0x7f);
        REQUIRE(byte != 0xc2 || (unsigned char)key->text[i + 1] >= 0xa0);
    }
}

static void require_sane(const ik_key_t *key)
{
    REQUIRE(key->kind <= IK_KEY_COLOURS);
    REQUIRE((key->modifiers & ~(unsigned)(IK_KEY_SHIFT | IK_KEY_ALT | IK_KEY_CTRL)) == 0);
    REQUIRE(key->kind != IK_KEY_CHAR || (key->modifiers & (IK_KEY_ALT | IK_KEY_CTRL)) != 0);
    REQUIRE(key->kind != IK_KEY_CHAR || (key->code >= ' ' && key->code <= 0x10ffff));
    REQUIRE(key->kind != IK_KEY_FUNCTION || (key->code >= 1 && key->code <= 24));
    REQUIRE(key->kind != IK_KEY_BACKGROUND || key->code <= 0xffffff);
    REQUIRE(key->kind != IK_KEY_MODE || (key->value >= 0 && key->value <= 4));
    REQUIRE(key->kind != IK_KEY_PASTE || (key->len > 0 && key->len <= IK_DECODER_PASTE_MAX));
    if (key->kind == IK_KEY_TEXT) {
        require_printable(key);
    }
}

/* Every key with all its fields; of text only the text, which may be divided. */
static void on_key(void *data, const ik_key_t *key)
{
    ik_buffer_t *log = data;
    require_sane(key);
    if (key->kind != IK_KEY_TEXT) {
        ik_buffer_append_format(log, "\n%d %u %u %d %zu ", key->kind, key->modifiers,
                                (unsigned)key->code, key->value, key->len);
    }
    ik_buffer_append(log, key->text, key->len);
    if (key->kind != IK_KEY_TEXT) {
        ik_buffer_append_byte(log, '\n');
    }
}

static void take(void *decoder, const char *piece, size_t len)
{
    ik_decoder_feed(decoder, piece, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    uint32_t seed = (uint32_t)bytes[0] << 8 | bytes[1];
    ik_buffer_t whole;
    ik_buffer_t cut;
    ik_buffer_init(&whole, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&cut, ctx, IK_BUFFER_UNLIMITED);
    ik_decoder_t *in_one = ik_decoder_create(ctx, on_key, &whole);
    ik_decoder_t *in_pieces = ik_decoder_create(ctx, on_key, &cut);
    if (seed % 2 != 0) {
        ik_decoder_split_alt(in_one);
        ik_decoder_split_alt(in_pieces);
    }
    pieces_feed(take, in_one, bytes + 2, len - 2);
    pieces_feed_cut(take, in_pieces, bytes + 2, len - 2, seed);
    REQUIRE(ik_decoder_is_waiting(in_one) == ik_decoder_is_waiting(in_pieces));
    ik_decoder_expire(in_one);
    ik_decoder_expire(in_pieces);
    REQUIRE(!ik_decoder_is_waiting(in_one));
    REQUIRE(pieces_same(&whole, &cut));
    talloc_free(ctx);
    return 0;
}
