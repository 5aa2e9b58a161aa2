/*
 * Finds the first occurrence of one to eight literals in a block of text. The two rarest bytes of
 * each literal are compared at thirty-two positions at once, with AVX2 or SSE2; the whole literal
 * is compared only where both match. Without SSE2, memchr looks for the rarest byte.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    IK_LITERAL_SCAN_MAX = 8,
    /* The number of bytes after a block that must be readable; their values do not matter. */
    IK_LITERAL_SCAN_PAD = 128,
};

typedef struct {
    const char *text;
    size_t len;
    /* The two rarest bytes: their offsets, values, and the bit to set before comparing. */
    size_t offset[2];
    unsigned char byte[2];
    unsigned char fold[2];
} ik_literal_t;

typedef struct {
    ik_literal_t items[IK_LITERAL_SCAN_MAX];
    size_t count;
    size_t shortest;
    bool ignore_case; /* of ASCII letters */
    bool avx2;        /* the processor has it */
} ik_literal_scan_t;

void ik_literal_scan_init(ik_literal_scan_t *scan, bool ignore_case);
/* text is not copied and must not be empty; with ignore_case, ASCII letters must be lower case. */
void ik_literal_scan_add(ik_literal_scan_t *scan, const char *text, size_t len);

/* How often the two rarest bytes of a literal are expected in ordinary text, from 0 (never) to 510
 * (everywhere); 12 more means twice as often. */
unsigned ik_literal_scan_cost(const char *text, size_t len, bool ignore_case);

/* Returns the first occurrence of a literal in [from, end), or NULL. */
const char *ik_literal_scan_find(const ik_literal_scan_t *scan, const char *from, const char *end);
