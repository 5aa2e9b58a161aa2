/* Full-text search in the shared history, as store.h has it. */
#pragma once

#include "store/postgres/pq_link.h"
#include "store/words/word_query.h"

/* query is search->text, read, with at least one word. Ranked among the newest few thousand
 * matches: a word that stands in half of a million messages must not cost a look at all of them. */
res_t ik_postgres_search(const void *ctx, ik_pq_link_t *link, const ik_store_search_t *search,
                         const ik_word_query_t *query, ik_store_hits_t **out);
