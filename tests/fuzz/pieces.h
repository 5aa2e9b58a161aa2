/* What fuzz targets share: saying what must be, looking at what came out, and feeding the same
 * bytes cut anywhere. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            PANIC("not so: %s", #condition);                                                       \
        }                                                                                          \
    } while (0)

/* A copy of the exact size, so that the sanitizer sees a look beyond it; to be freed. */
static inline char *pieces_copy(const uint8_t *bytes, size_t len)
{
    char *copy = malloc(len == 0 ? 1 : len);
    REQUIRE(copy != NULL);
    memcpy(copy, bytes, len);
    return copy;
}

/* Where the first such byte stands, which divides the input in two; its end when there is none. */
static inline size_t pieces_find(const uint8_t *bytes, size_t len, char separator)
{
    const uint8_t *found = len == 0 ? NULL : memchr(bytes, separator, len);
    return found == NULL ? len : (size_t)(found - bytes);
}

static inline bool pieces_same(const ik_buffer_t *a, const ik_buffer_t *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* JSON that every server takes for such. */
static inline ik_json_span_t pieces_require_json(const char *text, size_t len)
{
    ik_json_span_t value;
    REQUIRE(ik_utf8_valid(text, len));
    REQUIRE(ik_json_scan(text, len, &value, NULL));
    return value;
}

/* Something for people: one line of printable characters. */
static inline void pieces_require_line(const char *text)
{
    size_t len = strlen(text);
    REQUIRE(ik_utf8_valid(text, len));
    for (size_t i = 0; i < len; i++) {
        REQUIRE((unsigned char)text[i] >= ' ' && text[i] != 0x7f);
    }
}

typedef void (*pieces_fn)(void *taker, const char *piece, size_t len);

/* A piece of its own for every call. */
static inline void pieces_feed(pieces_fn take, void *taker, const uint8_t *bytes, size_t len)
{
    char *piece = pieces_copy(bytes, len);
    take(taker, piece, len);
    free(piece);
}

static inline void pieces_feed_cut(pieces_fn take, void *taker, const uint8_t *bytes, size_t len,
                                   uint32_t seed)
{
    while (len > 0) {
        seed = seed * 1664525 + 1013904223;
        size_t piece = (seed >> 24) % 8;
        piece = piece < len ? piece : len;
        pieces_feed(take, taker, bytes, piece);
        bytes += piece;
        len -= piece;
    }
}
