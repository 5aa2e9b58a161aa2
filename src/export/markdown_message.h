/*
 * A message in a Markdown document: as it was written, except where it would reach beyond its
 * place. Its headings stand below those of the document, HTML in it is text (a comment would hide
 * what was said), and a fence that it leaves open is closed. What that is, md4c decides, which
 * reads Markdown as the reader's program does; a message that resists is fenced as a whole.
 */
#pragma once

#include "base/buffer.h"

/* Ends with a line end. level is of the heading the message stands below. */
void ik_markdown_message_append(ik_buffer_t *out, const char *text, size_t len, int level);
