/*
 * The arguments and results of tool calls as named values, for display. An envelope
 * ({"tool_success":true,"result":{"output":…}}) is flattened: members of the result are beside
 * those of the envelope, and the output has no name. Images that were taken out of the result are
 * left out: they are shown as images.
 */
#pragma once

#include "base/json.h"

enum { IK_TOOL_FIELDS_MAX = 32 };

typedef struct {
    ik_json_span_t key; /* the literal, with quotes; length 0: no name */
    ik_json_span_t value;
} ik_tool_field_t;

typedef struct {
    ik_tool_field_t fields[IK_TOOL_FIELDS_MAX];
    size_t count;
    size_t left_out; /* fields beyond IK_TOOL_FIELDS_MAX */
} ik_tool_fields_t;

/* False when the text is not a JSON object. The fields point into the text. */
bool ik_tool_fields_of_arguments(const char *text, size_t len, ik_tool_fields_t *out);
bool ik_tool_fields_of_envelope(const char *text, size_t len, ik_tool_fields_t *out);

/* The string field of that name, or NULL. */
const ik_tool_field_t *ik_tool_fields_find(const ik_tool_fields_t *fields, const char *name);
/* Whether a result reports failure: a nonzero exit code or an error. */
bool ik_tool_fields_is_failure(const ik_tool_fields_t *result);
/* Whether the arguments replace one text by another: old_string by new_string. */
bool ik_tool_fields_are_change(const ik_tool_fields_t *arguments);

/* Removes the field whose value is this part of the text, if there is one. */
void ik_tool_fields_remove(ik_tool_fields_t *fields, ik_json_span_t value);

/* The text of a string, or the JSON of another value. The text may contain NUL bytes. */
char *ik_tool_fields_format_value(const void *ctx, const ik_tool_field_t *field, size_t *len);
/* The field must have a name. */
char *ik_tool_fields_format_name(const void *ctx, const ik_tool_field_t *field);
/* The language of a value as a Markdown fence names it: "sh", "json", the suffix of a file; "" when
 * it is not known. The field is one of the arguments or of the result of their call. */
char *ik_tool_fields_format_language(const void *ctx, const ik_tool_fields_t *arguments,
                                     const ik_tool_field_t *field);
/* The suffix of the file that the arguments name, or "". */
char *ik_tool_fields_format_suffix(const void *ctx, const ik_tool_fields_t *arguments);
/* Whether the field needs its own lines: it has no name, or a value that is long or multi-line. */
bool ik_tool_fields_is_long(const ik_tool_field_t *field);
/* Whether the field is old_string or new_string of a change. */
bool ik_tool_fields_is_of_change(const ik_tool_fields_t *fields, const ik_tool_field_t *field);
