/*
 * Parses POSIX extended regular expressions as the C library does, with common extensions:
 * \d \D \s \S \w \W \b \B, \t \r \n \f \v and (?:…). The result is a tree; ere_pcre.h turns it into
 * a PCRE2 pattern and ere_literals.h finds literals that every match contains.
 *
 * The tree holds only what is needed to decide whether a line matches.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    IK_ERE_EMPTY,
    IK_ERE_CHAR,    /* code is the character */
    IK_ERE_ANY,     /* . */
    IK_ERE_SET,     /* […] and \d \s \w and their opposites */
    IK_ERE_ANCHOR,  /* code is an ik_ere_anchor_t */
    IK_ERE_BACKREF, /* code is the group's number */
    IK_ERE_GROUP,   /* one child; code is its number, 0 for (?:…) */
    IK_ERE_CONCAT,  /* children in order */
    IK_ERE_ALT,     /* children in order */
    IK_ERE_REPEAT,  /* one child, min to max times */
} ik_ere_kind_t;

typedef enum {
    IK_ERE_LINE_START,
    IK_ERE_LINE_END,
    IK_ERE_WORD_EDGE,
    IK_ERE_NO_WORD_EDGE,
    IK_ERE_WORD_START,
    IK_ERE_WORD_END,
} ik_ere_anchor_t;

/* Bits of ik_ere_set_t.classes. */
typedef enum {
    IK_ERE_ALNUM = 1 << 0,
    IK_ERE_ALPHA = 1 << 1,
    IK_ERE_BLANK = 1 << 2,
    IK_ERE_CNTRL = 1 << 3,
    IK_ERE_DIGIT = 1 << 4,
    IK_ERE_GRAPH = 1 << 5,
    IK_ERE_LOWER = 1 << 6,
    IK_ERE_PRINT = 1 << 7,
    IK_ERE_PUNCT = 1 << 8,
    IK_ERE_SPACE = 1 << 9,
    IK_ERE_UPPER = 1 << 10,
    IK_ERE_XDIGIT = 1 << 11,
    IK_ERE_WORD = 1 << 12,
} ik_ere_class_t;

typedef struct {
    uint32_t low;
    uint32_t high;
} ik_ere_range_t;

typedef struct {
    bool negated;
    unsigned classes;
    ik_ere_range_t *ranges;
    size_t range_count;
} ik_ere_set_t;

#define IK_ERE_UNBOUNDED UINT32_MAX

typedef struct ik_ere_node ik_ere_node_t;
struct ik_ere_node {
    ik_ere_kind_t kind;
    uint32_t code;
    uint32_t min;
    uint32_t max;
    size_t size; /* elements after regcomp has expanded the repetitions */
    ik_ere_set_t set;
    ik_ere_node_t *first; /* child */
    ik_ere_node_t *next;  /* sibling */
};

typedef enum {
    IK_ERE_OK,
    IK_ERE_REFUSED, /* regcomp reports why */
    IK_ERE_TOO_BIG, /* must not be given to regcomp, which would expand the repetitions */
} ik_ere_result_t;

typedef struct {
    ik_ere_node_t *root;
    bool ascii;    /* no character beyond ASCII in the pattern */
    bool backrefs; /* has \1 … \9 */
    size_t *plain; /* offset of the "?:" of every (?:…); regcomp does not know them */
    size_t plain_count;
} ik_ere_t;

/* text is UTF-8 and may contain NUL characters. The tree is allocated on ctx. */
ik_ere_result_t ik_ere_parse(const void *ctx, const char *text, size_t len, ik_ere_t *ere);

/* Whether matching by characters may give another result than matching by bytes. */
bool ik_ere_needs_characters(const ik_ere_t *ere);
