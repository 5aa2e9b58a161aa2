/*
 * Contents that are stored once, under the SHA-256 of their bytes: FOLDER/ab/cdef…. A blob is never
 * changed. It is written atomically and durably with mode 0600 in folders of mode 0700, so that it
 * is whole or absent at every moment and several processes may put the same one at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { IK_BLOB_NAME_LEN = 64 }; /* hex digits of the SHA-256 */

typedef struct {
    char hex[IK_BLOB_NAME_LEN + 1];
} ik_blob_name_t;

/* The name of a content, whether it is stored or not. */
ik_blob_name_t ik_blob_name(const char *bytes, size_t len);
/* Whether text is a name: 64 hex digits in lower case. */
bool ik_blob_is_name(const char *text);
/* The path of a blob, on ctx. name must be a name. */
char *ik_blob_path(const void *ctx, const char *folder, const char *name);

/* Stores the bytes, unless they are there already, and makes the folder when it is missing. */
res_t ik_blob_put(const char *folder, const char *bytes, size_t len, ik_blob_name_t *name);
/* Reads a blob, on ctx and NUL-terminated. IK_ERR_INVALID: not a name; IK_ERR_NOT_FOUND;
 * IK_ERR_LIMIT: it is longer than max; IK_ERR_DAMAGED: its bytes are not those that were stored. */
res_t ik_blob_get(const void *ctx, const char *folder, const char *name, size_t max, char **bytes,
                  size_t *len);
