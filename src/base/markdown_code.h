/* The text of a code block as it was written. md4c gives the indentation of its lines as spaces,
 * which breaks a Makefile. */
#pragma once

#include "base/buffer.h"

typedef struct {
    const char *source; /* what md4c parses */
    size_t source_len;
    size_t columns; /* of indentation, given by md4c and not yet written */
    ik_buffer_t text;
} ik_markdown_code_t;

void ik_markdown_code_init(ik_markdown_code_t *code, const void *ctx, const char *source,
                           size_t len);
void ik_markdown_code_begin(ik_markdown_code_t *code);
/* Takes the text that md4c gives for the block, piece by piece. */
void ik_markdown_code_append(ik_markdown_code_t *code, const char *piece, size_t len);
