/*
 * Several members of an object in one walk over it. Streams bring thousands of small objects, and
 * walking once for each member wanted is most of what they would cost.
 */
#pragma once

#include "base/json.h"

/* values[i] becomes the member called names[i], the last one of that name. What is missing or null,
 * and everything when object is none, has length 0. */
void ik_openai_members_find(ik_json_span_t object, const char *const *names, size_t count,
                            ik_json_span_t *values);

/* Kinds of a value that may be missing. */
static inline bool ik_openai_members_is(ik_json_span_t value, ik_json_kind_t kind)
{
    return value.len > 0 && ik_json_kind(value) == kind;
}
/* A string literal that is not empty. */
static inline bool ik_openai_members_has_text(ik_json_span_t value)
{
    return value.len > 2 && ik_json_kind(value) == IK_JSON_STRING;
}
