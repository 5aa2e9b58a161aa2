/*
 * Finds and replaces text in the bytes of a file, from the start and without overlaps. It knows
 * nothing of encodings or lines; only matched bytes change.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"

/* Borrowed bytes. */
typedef struct {
    const char *bytes;
    size_t len;
} ik_edit_text_t;

/* wanted must not be empty. */
size_t ik_edit_match_count(ik_edit_text_t file, ik_edit_text_t wanted);

/* Appends file to out with every match replaced; count comes from ik_edit_match_count. */
void ik_edit_match_replace(ik_buffer_t *out, ik_edit_text_t file, ik_edit_text_t wanted,
                           ik_edit_text_t replacement, size_t count);
