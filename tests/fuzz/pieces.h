/* What fuzz targets share: saying what must be, and feeding the same bytes cut anywhere. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            PANIC("not so: %s", #condition);                                                       \
        }                                                                                          \
    } while (0)

typedef void (*pieces_fn)(void *taker, const char *piece, size_t len);

/* A piece of its own for every call: the sanitizer sees a look beyond it. */
static inline void pieces_feed(pieces_fn take, void *taker, const uint8_t *bytes, size_t len)
{
    char *piece = malloc(len == 0 ? 1 : len);
    REQUIRE(piece != NULL);
    memcpy(piece, bytes, len);
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
