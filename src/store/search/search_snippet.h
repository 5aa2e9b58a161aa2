/*
 * The lines of a message that show why it was found: one line of text around the place where most
 * of the search stands, with the words that matched marked.
 */
#pragma once

#include <stddef.h>

#include "store/search/search_query.h"

typedef struct {
    size_t offset; /* in text, bytes */
    size_t len;
} ik_search_mark_t;

typedef struct {
    char *text; /* one line, valid UTF-8, "…" where something was cut */
    ik_search_mark_t *marks;
    size_t count;
} ik_search_snippet_t;

/* At most about max bytes of text. A text in which nothing matches gives its beginning. */
ik_search_snippet_t ik_search_snippet_create(const void *ctx, const ik_search_query_t *query,
                                             const char *text, size_t len, size_t max);
