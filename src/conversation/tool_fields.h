/*
 * What a tool was given and what it answered, as named values instead of JSON. An envelope
 * ({"tool_success":true,"result":{"output":…}}) is opened: what is in the result stands beside what
 * is around it, and the text that the tool is all about has no name.
 */
#pragma once

#include "base/json.h"

enum { IK_TOOL_FIELDS_MAX = 32 };

typedef struct {
    ik_json_span_t key; /* as written, with quotes; length 0: no name */
    ik_json_span_t value;
} ik_tool_field_t;

typedef struct {
    ik_tool_field_t fields[IK_TOOL_FIELDS_MAX];
    size_t count;
    size_t left_out; /* more than that */
} ik_tool_fields_t;

/* False when the text is no JSON object. The fields point into it. */
bool ik_tool_fields_of_arguments(const char *text, size_t len, ik_tool_fields_t *out);
bool ik_tool_fields_of_envelope(const char *text, size_t len, ik_tool_fields_t *out);

/* The field of that name when it is a string, or NULL. */
const ik_tool_field_t *ik_tool_fields_find(const ik_tool_fields_t *fields, const char *name);
/* A tool that worked may still say that what it was to do did not. */
bool ik_tool_fields_tell_failure(const ik_tool_fields_t *result);
/* One text is replaced by another: old_string by new_string. */
bool ik_tool_fields_are_change(const ik_tool_fields_t *arguments);

/* The text of a string, or JSON as it is. *len may count NUL bytes. */
char *ik_tool_fields_format_value(const void *ctx, const ik_tool_field_t *field, size_t *len);
/* Of a field that has one. */
char *ik_tool_fields_format_name(const void *ctx, const ik_tool_field_t *field);
/* What a value is written in, as a fence names it ("sh", "json", the suffix of a file); "" when
 * there is no telling. The field is one of the arguments or of the result they brought. */
char *ik_tool_fields_format_language(const void *ctx, const ik_tool_fields_t *arguments,
                                     const ik_tool_field_t *field);
/* Whether it needs lines of its own: it has no name, or several lines, or a long one. */
bool ik_tool_fields_is_long(const ik_tool_field_t *field);
/* One of the two texts of a change. */
bool ik_tool_fields_is_of_change(const ik_tool_fields_t *fields, const ik_tool_field_t *field);
