/* What was read and is yet to be written, in batches that are neither many nor large. */
#pragma once

#include "export/import_line.h"

typedef struct ik_import_batch ik_import_batch_t;

ik_import_batch_t *ik_import_batch_create(const void *ctx, ik_store_t *store);

/* A line of any type; id is of the session it belongs to. ctx, which owns the line's strings, is
 * the batch's from now on. */
res_t ik_import_batch_take(ik_import_batch_t *batch, void *ctx, const ik_import_line_t *line,
                           const char *id);
/* Writes what is left, as safely as what the user said: it may be all there is of it. */
res_t ik_import_batch_end(ik_import_batch_t *batch);
