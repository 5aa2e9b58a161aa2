/*
 * How a text stands in a column: as TEXT, or, when it is long and that makes it shorter, as a BLOB
 * that is one zstd frame. Either way the column tells by itself what it is.
 */
#pragma once

#include <sqlite3.h>
#include <stddef.h>

#include "base/error.h"

typedef struct ik_packer ik_packer_t;

/* Owns the (un)packing state, which is worth keeping: making it costs more than a short text. */
ik_packer_t *ik_packer_create(const void *ctx);

/* Binds text (NULL: SQL's NULL). What is bound lives until the next call for the same index or the
 * text goes: run the statement first. index is a parameter's number, from 1, at most 8. */
void ik_packed_text_bind(ik_packer_t *packer, sqlite3_stmt *statement, int index, const char *text);

/* The text of a column, NUL-terminated, valid until the next call for the same column or the next
 * step of the statement; NULL when the column is. IK_ERR_DAMAGED when it cannot be unpacked. column
 * counts from 0, at most 8. */
res_t ik_packed_text_read(ik_packer_t *packer, sqlite3_stmt *statement, int column,
                          const char **text, size_t *len);
