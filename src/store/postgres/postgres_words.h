/*
 * The words of an event as the text of a tsvector. They are cut by our own rule (text_words.h)
 * and not by a text search configuration of the server, so that both stores find the same.
 */
#pragma once

#include "store/store.h"

/* On ctx; NULL when there is none. The event's texts are UTF-8. */
char *ik_postgres_words_format(const void *ctx, const ik_store_event_t *event);
