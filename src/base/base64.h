/* Base64 (RFC 4648, with padding), for bytes that cannot stand in a text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

void ik_base64_append(ik_buffer_t *out, const void *bytes, size_t len);
/* Appends the bytes that text stands for. False when it stands for none: then what was appended is
 * of no use. */
bool ik_base64_append_decoded(ik_buffer_t *out, const char *text, size_t len);
