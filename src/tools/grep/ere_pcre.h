/*
 * Formats a parsed expression as a PCRE2 pattern that matches the same lines. The pattern must be
 * compiled with PCRE2_MULTILINE and PCRE2_NEWLINE_LF; it never matches a newline.
 */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "tools/grep/ere.h"

/* characters: the pattern is for PCRE2_UTF with PCRE2_UCP; otherwise it is for bytes, and the
 * expression must be ASCII. With ignore_case the pattern itself names both cases, instead of
 * PCRE2_CASELESS: ASCII letters then match only ASCII letters, as in the literal scan. */
void ik_ere_pcre_format(const ik_ere_t *ere, bool ignore_case, bool characters, ik_buffer_t *out);
