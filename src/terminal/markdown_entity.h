/* HTML entities. */
#pragma once

#include <stddef.h>

enum { IK_MARKDOWN_ENTITY_MAX = 4 };

/* Decodes "&amp;", "&#38;" or "&#x26;" to UTF-8. Returns the length, or 0 if the entity is unknown
 * or not a valid character. The result may be a control character. */
size_t ik_markdown_entity_decode(char out[IK_MARKDOWN_ENTITY_MAX], const char *text, size_t len);
