/*
 * The postgresql:// URL of a database. It may contain a password, so messages never quote it: those
 * that could are cut or masked.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "store/postgres/pq_library.h"

typedef struct {
    const char *text;     /* the URL itself: never print it */
    const char *password; /* never print it; NULL: none */
    const char *name;     /* for messages: "PostgreSQL at db.example.org" */
    const char *host;     /* one, or a comma-separated list; NULL: none */
    const char *port;     /* likewise */
    const char *hostaddr; /* likewise */
} ik_pq_url_t;

/* Whether the text begins with postgresql:// or postgres://, so that it names a server and not a
 * file. */
bool ik_pq_url_is_one(const char *text);

/* IK_ERR_INVALID for a wrong URL. */
res_t ik_pq_url_parse(const void *ctx, const ik_pq_library_t *library, const char *text,
                      ik_pq_url_t **out);

/* Makes an error of libpq's complaint about a URL, without the parts of the URL that it quotes. */
res_t ik_pq_url_refuse(const char *problem);
/* Returns the result with the password in its message, if any, replaced by asterisks. */
res_t ik_pq_url_mask(const ik_pq_url_t *url, res_t result);
