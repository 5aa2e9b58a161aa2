/*
 * UTF-8 as defined by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. Cleaning
 * replaces invalid bytes by U+FFFD, one per maximal invalid part (the WHATWG practice).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define IK_UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* The length of the first character (*valid is true) or of the first invalid part (*valid is
 * false); len is at least 1. */
size_t ik_utf8_step(const char *bytes, size_t len, bool *valid);

/* Decodes a valid character of len bytes. */
int32_t ik_utf8_decode(const char *bytes, size_t len);
/* Encodes a code point and returns its length, 1 to 4. */
size_t ik_utf8_encode(char *out, uint32_t code);

bool ik_utf8_valid(const char *bytes, size_t len);

/* The longest prefix of at most max bytes that does not end inside a character. */
size_t ik_utf8_cut(const char *bytes, size_t len, size_t max);
/* The start of the longest suffix of at most max bytes that does not start inside a character. */
size_t ik_utf8_cut_front(const char *bytes, size_t len, size_t max);

void ik_utf8_append_clean(ik_buffer_t *buffer, const char *bytes, size_t len);
/* Replaces NUL as well, which would end a C string early. */
void ik_utf8_append_string(ik_buffer_t *buffer, const char *bytes, size_t len);
/* Cleans the buffer in place. Its maximum must leave room for growth: up to two bytes for each
 * invalid one. */
void ik_utf8_clean(ik_buffer_t *buffer);
