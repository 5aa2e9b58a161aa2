/* Texts as a PostgreSQL server accepts them. */
#pragma once

#include "store/store.h"

/* The text itself, or a copy on ctx with U+FFFD for what is not UTF-8. NULL stays NULL. */
const char *ik_postgres_text_clean(const void *ctx, const char *text);

/* The small members of data_json as jsonb, for people who query the database, on ctx; NULL when
 * there are none. Members that jsonb refuses although they are valid JSON are left out: \u0000,
 * lone surrogates, numbers with huge exponents. data_json itself is stored as text beside it; it is
 * UTF-8 or NULL. */
char *ik_postgres_text_format_data(const void *ctx, const char *data_json);

/* The words of an event as the text of a tsvector, on ctx; NULL when there are none. They are cut
 * by text_words.h and not by a text search configuration of the server, so that both stores find
 * the same messages. The event's texts are UTF-8. */
char *ik_postgres_text_format_words(const void *ctx, const ik_store_event_t *event);
