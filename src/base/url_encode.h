/* Percent-encoding (RFC 3986). */
#pragma once

#include "base/buffer.h"

/* Appends the text. All bytes but letters, digits, "-._~" and those of kept are encoded. */
void ik_url_encode(ik_buffer_t *out, const char *text, const char *kept);
