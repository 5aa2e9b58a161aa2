/*
 * UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. Foreign bytes
 * are never trusted to be UTF-8; what is not becomes U+FFFD, one per maximal invalid part (the
 * WHATWG practice).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define IK_UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Length of what stands at bytes (len >= 1): a whole character with *valid true, or the invalid
 * part to be replaced as one with *valid false. */
size_t ik_utf8_step(const char *bytes, size_t len, bool *valid);

/* The code point of a whole character of so many bytes. */
int32_t ik_utf8_decode(const char *bytes, size_t len);
/* Writes a code point and returns its length, 1 to 4. */
size_t ik_utf8_encode(char *out, uint32_t code);

bool ik_utf8_valid(const char *bytes, size_t len);

/* The longest prefix of at most max bytes that does not end inside a character. */
size_t ik_utf8_cut(const char *bytes, size_t len, size_t max);
/* The same from the other end: where a suffix of at most max bytes may begin. */
size_t ik_utf8_cut_front(const char *bytes, size_t len, size_t max);

void ik_utf8_append_clean(ik_buffer_t *buffer, const char *bytes, size_t len);
/* Cleans what the buffer holds, in its own memory. Its maximum must leave room for the growth, at
 * most two bytes for each bad one. */
void ik_utf8_clean(ik_buffer_t *buffer);
