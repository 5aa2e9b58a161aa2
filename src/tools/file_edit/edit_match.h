/*
 * Finding and replacing a text in a file's bytes, without overlap, from the start. Nothing here
 * knows encodings or lines: only the matched bytes change.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"

/* Bytes that somebody else owns. */
typedef struct {
    const char *bytes;
    size_t len;
} ik_edit_text_t;

/* wanted must not be empty. */
size_t ik_edit_match_count(ik_edit_text_t file, ik_edit_text_t wanted);

/* Appends file to out with every match replaced; count is what ik_edit_match_count said. */
void ik_edit_match_replace(ik_buffer_t *out, ik_edit_text_t file, ik_edit_text_t wanted,
                           ik_edit_text_t replacement, size_t count);
