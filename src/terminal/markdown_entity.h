/* Entities of HTML as people and models write them. */
#pragma once

#include <stddef.h>

enum { IK_MARKDOWN_ENTITY_MAX = 4 };

/* The character that "&amp;", "&#38;" or "&#x26;" stands for, as UTF-8; returns its length, 0 when
 * the entity is not known or no character. It may be a control character. */
size_t ik_markdown_entity_decode(char out[IK_MARKDOWN_ENTITY_MAX], const char *text, size_t len);
