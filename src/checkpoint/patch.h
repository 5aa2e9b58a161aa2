/*
 * What segments changed, as a patch that git apply takes, as a line per file, or as JSON. The patch
 * leads from the state before the first segment that changed a file to that after the last.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"
#include "checkpoint/place.h"
#include "checkpoint/segment.h"

typedef enum { IK_PATCH_FULL, IK_PATCH_STAT, IK_PATCH_JSON } ik_patch_format_t;

/* Appends the text; for JSON, the elements of the array. */
void ik_patch_append(ik_buffer_t *out, ik_place_t *place, const ik_segment_t *segments,
                     size_t count, ik_patch_format_t format);
/* Appends "path": PATH, or "path_base64" when it is not UTF-8, as a member of a JSON object. */
void ik_patch_add_path(ik_buffer_t *out, const char *path);
