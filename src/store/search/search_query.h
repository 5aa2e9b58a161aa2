/*
 * A search as the user types it: words, all of which must be there; "several words" in quotes and
 * words with marks between them (store.h, ik_store_open) must stand together; word* is a
 * beginning. There is no wrong search.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Nobody types more, and a text pasted by mistake must not become a search of a minute: what is
 * beyond is left out. */
enum { IK_SEARCH_PHRASES_MAX = 32, IK_SEARCH_PHRASE_WORDS_MAX = 16 };

typedef struct {
    char **words; /* normal forms (search_words.h), in order, next to each other */
    size_t count;
    bool prefix; /* the last word is only a beginning */
} ik_search_phrase_t;

typedef struct {
    ik_search_phrase_t *phrases;
    size_t count; /* 0: finds nothing */
} ik_search_query_t;

ik_search_query_t *ik_search_query_parse(const void *ctx, const char *text);
/* As an expression of FTS5: "ik store" AND "op"* */
char *ik_search_query_format_fts5(const void *ctx, const ik_search_query_t *query);
/* As the text of a tsquery: 'ik' <-> 'store' & 'op':* */
char *ik_search_query_format_tsquery(const void *ctx, const ik_search_query_t *query);
