/*
 * The postgresql:// URL of a database. It may hold a password, so nothing here or above says what
 * stands in it: a message that could quote a part of it is cut or masked.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "store/postgres/pq_library.h"

typedef struct {
    const char *text;     /* the URL itself: never print it */
    const char *password; /* the same; NULL when there is none */
    const char *name;     /* for messages: "PostgreSQL at db.example.org" */
    const char *host;     /* one, or several with commas between them; NULL when it says none */
    const char *port;     /* the same */
    const char *hostaddr; /* the same */
} ik_pq_url_t;

/* By its scheme, in either spelling: whether a setting names a server and not a file. */
bool ik_pq_url_is_one(const char *text);

/* IK_ERR_INVALID when it is none. */
res_t ik_pq_url_parse(const void *ctx, const ik_pq_library_t *library, const char *text,
                      ik_pq_url_t **out);

/* A problem that libpq sees in the URL, without the parts of it that are quoted there. */
res_t ik_pq_url_refuse(const char *problem);
/* The same result; should the message contain the password, that is not readable any more. */
res_t ik_pq_url_mask(const ik_pq_url_t *url, res_t result);
