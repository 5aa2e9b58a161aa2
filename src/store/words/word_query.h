/*
 * A search as the user types it. All its words must occur in a message. Words in "double quotes",
 * and words joined by punctuation (ik_store_open), must occur next to each other. word* matches any
 * word with that prefix. Every text is a valid query.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Limits that keep a text pasted by mistake from becoming a search that takes a minute. Phrases and
 * words beyond them are ignored. */
enum { IK_WORD_QUERY_PHRASES_MAX = 32, IK_WORD_QUERY_WORDS_MAX = 16 };

typedef struct {
    char **words; /* normal forms (text_words.h) that must follow each other */
    size_t count; /* 1 to IK_WORD_QUERY_WORDS_MAX */
    bool prefix;  /* the last word is a prefix */
} ik_word_phrase_t;

typedef struct {
    ik_word_phrase_t *phrases; /* all different */
    size_t count;              /* 0: matches nothing */
} ik_word_query_t;

ik_word_query_t *ik_word_query_parse(const void *ctx, const char *text);
/* As an FTS5 expression: "ik store" AND "op"* */
char *ik_word_query_format_fts5(const void *ctx, const ik_word_query_t *query);
/* As the text of a tsquery: 'ik' <-> 'store' & 'op':* */
char *ik_word_query_format_tsquery(const void *ctx, const ik_word_query_t *query);
