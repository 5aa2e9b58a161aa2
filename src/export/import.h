/* Reading back what export_jsonl wrote. */
#pragma once

#include <stdio.h>

#include "store/store.h"

typedef struct {
    char *session_id;
    int64_t messages; /* in the file */
    bool known;       /* the store had all of it already */
} ik_import_t;

/* All of the file's sessions, or nothing: what is wrong with it is said with its line. A session
 * the store has already must be equal as far as both go (IK_ERR_CONFLICT otherwise). name is what
 * the file is called in messages. A file with several sessions gives as many entries. */
res_t ik_import_read(const void *ctx, FILE *in, const char *name, ik_store_t *store,
                     ik_import_t **out, size_t *count);
