/*
 * Writes a parsed expression as a PCRE2 pattern that matches the same lines. It is meant to be
 * compiled with PCRE2_MULTILINE and the newline convention LF; nothing in it matches a newline.
 */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "tools/grep/ere.h"

/* characters: for PCRE2_UTF with PCRE2_UCP; otherwise for bytes, and the expression is ASCII. Case
 * is ignored by the pattern itself, not by PCRE2_CASELESS: ASCII letters fold among themselves
 * only, so that a literal search can stand for the pattern. */
void ik_ere_pcre_format(const ik_ere_t *ere, bool ignore_case, bool characters, ik_buffer_t *out);
