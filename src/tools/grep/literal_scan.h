/*
 * Finding the first of one to eight literals in a block of text. Of every literal the two rarest
 * bytes are compared at thirty-two places at once (SSE2, AVX2 where the processor has it); only
 * where both agree is the literal itself compared. Without SSE2 the rarest byte is looked for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    IK_LITERAL_SCAN_MAX = 8,
    /* Bytes behind the end of a block that must be readable; what they hold does not matter. */
    IK_LITERAL_SCAN_PAD = 128,
};

typedef struct {
    const char *text;
    size_t len;
    /* The two rare bytes: where they stand, what they are, which bit to set before comparing. */
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
/* text is not copied and not empty; with ignore_case its ASCII letters are small. */
void ik_literal_scan_add(ik_literal_scan_t *scan, const char *text, size_t len);

/* How often this literal's rare bytes are to be expected together in ordinary text: 0 never, 510
 * all the time, logarithmic (12 steps double it). */
unsigned ik_literal_scan_cost(const char *text, size_t len, bool ignore_case);

/* The first place in [from, end) where a literal stands, or NULL. */
const char *ik_literal_scan_find(const ik_literal_scan_t *scan, const char *from, const char *end);
