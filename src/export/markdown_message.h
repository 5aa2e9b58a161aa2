/*
 * Puts a message into a Markdown document so that it cannot change what follows. Its headings are
 * moved below those of the document, HTML is escaped (a comment would hide text), and a fence left
 * open is closed. md4c then parses the result to verify that the message ends where it should; a
 * message that does not is fenced as a whole.
 */
#pragma once

#include "base/buffer.h"

/* Appends the message and a line end. level is that of the heading above it. */
void ik_markdown_message_append(ik_buffer_t *out, const char *text, size_t len, int level);
