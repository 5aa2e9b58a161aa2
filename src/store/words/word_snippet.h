/* The part of a message that shows why it was found. */
#pragma once

#include "store/store.h"
#include "store/words/word_query.h"

/* One line of about max bytes around the place with the most different phrases of the query, with
 * the matches marked; text and marks on ctx. A text without a match gives its beginning. */
ik_store_snippet_t ik_word_snippet_create(const void *ctx, const ik_word_query_t *query,
                                          const char *text, size_t len, size_t max);
