/*
 * Compressed text columns. A short text is stored as TEXT; a long one that compression makes
 * shorter is stored as a BLOB with one zstd frame. The type of the value says which.
 */
#pragma once

#include <sqlite3.h>
#include <stddef.h>

#include "base/error.h"

typedef struct ik_packer ik_packer_t;

/* Owns the zstd contexts, which take longer to create than a short text to compress. */
ik_packer_t *ik_packer_create(const void *ctx);

/* Binds text, or SQL NULL for NULL. The value is not copied: run the statement before the text goes
 * and before the next call for the same index. index is 1 to 8. */
void ik_packed_text_bind(ik_packer_t *packer, sqlite3_stmt *statement, int index, const char *text);

/* Reads a column, 0 to 8. *text is NUL-terminated and valid until the next call for the same column
 * or the next step of the statement; NULL for SQL NULL. IK_ERR_DAMAGED when it cannot be
 * decompressed. */
res_t ik_packed_text_read(ik_packer_t *packer, sqlite3_stmt *statement, int column,
                          const char **text, size_t *len);
