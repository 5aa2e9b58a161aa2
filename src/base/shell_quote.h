/* Quoting for sh. */
#pragma once

#include "base/buffer.h"

/* Appends the text in single quotes: one word that a shell reads as exactly this text. */
void ik_shell_quote(ik_buffer_t *out, const char *text);
