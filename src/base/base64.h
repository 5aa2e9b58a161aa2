/* Base64 (RFC 4648, with padding). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

void ik_base64_append(ik_buffer_t *out, const void *bytes, size_t len);
/* Appends the decoded bytes. False when the text is not Base64; what was decoded up to the fault
 * stays appended. */
bool ik_base64_append_decoded(ik_buffer_t *out, const char *text, size_t len);
