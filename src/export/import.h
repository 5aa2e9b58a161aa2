/* Reads back what export_jsonl.c wrote. */
#pragma once

#include <stdio.h>

#include "store/store.h"

typedef struct {
    char *session_id;
    int64_t messages; /* in the file */
    bool known;       /* the store had all of it already */
} ik_import_t;

/* Imports all sessions of the file, or none; an error names the line. Where the store has a session
 * already, the part that both have must be equal (IK_ERR_CONFLICT otherwise). name is the file's
 * name in messages. Images go to the folder of blobs, unless that is NULL. *out has one entry per
 * session, on ctx. */
res_t ik_import_read(const void *ctx, FILE *in, const char *name, ik_store_t *store,
                     const char *images, ik_import_t **out, size_t *count);
