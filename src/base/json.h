/*
 * JSON in three parts. jansson builds and reads trees. The scanner validates text and returns spans
 * of it without allocating, so that JSON from elsewhere can be checked, cut and spliced byte for
 * byte (numbers keep their digits, strings their escapes). The writers append to a buffer and
 * always produce valid UTF-8.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* A piece of validated JSON text, without surrounding white space. */
typedef struct {
    const char *text;
    size_t len;
} ik_json_span_t;

typedef enum {
    IK_JSON_OBJECT,
    IK_JSON_ARRAY,
    IK_JSON_STRING,
    IK_JSON_NUMBER,
    IK_JSON_BOOLEAN,
    IK_JSON_NULL,
} ik_json_kind_t;

/* Where and why text is not JSON. */
typedef struct {
    size_t offset;
    const char *reason; /* static text */
} ik_json_fault_t;

/* True when text is exactly one JSON value (RFC 8259) nested at most 512 deep. Strings need not be
 * UTF-8; use ik_utf8_valid to check. *value is the value without the white space around it. fault
 * may be NULL. */
bool ik_json_scan(const char *text, size_t len, ik_json_span_t *value, ik_json_fault_t *fault);

/* As ik_json_scan, for a value that becomes a part of another one: it may be nested that many
 * levels less. */
bool ik_json_scan_part(const char *text, size_t len, int levels, ik_json_span_t *value,
                       ik_json_fault_t *fault);

/* As ik_json_scan. *plain is true when the text is UTF-8 and has no \u escape, so that no string
 * can contain half a surrogate pair. */
bool ik_json_scan_plain(const char *text, size_t len, ik_json_span_t *value, bool *plain);

ik_json_kind_t ik_json_kind(ik_json_span_t value);

/* Iterates over the members of a scanned object in order. Start with position 0; false at the end,
 * and for a value that is missing or not an object. key is the quoted string as written. */
bool ik_json_next_member(ik_json_span_t object, size_t *position, ik_json_span_t *key,
                         ik_json_span_t *value);
/* Iterates over the elements of a scanned array, likewise. */
bool ik_json_next_element(ik_json_span_t array, size_t *position, ik_json_span_t *value);

/* The last member of that name, which is how parsers resolve duplicates; false when there is none.
 */
bool ik_json_find(ik_json_span_t object, const char *name, ik_json_span_t *value);
bool ik_json_key_is(ik_json_span_t key, const char *name);

/* Finds several members in one pass, for callers that read thousands of small objects: values[i]
 * becomes the last member called names[i]. A missing or null member has length 0, and so have all
 * when object is not an object. */
void ik_json_find_members(ik_json_span_t object, const char *const *names, size_t count,
                          ik_json_span_t *values);
/* Checks the kind of a value that may be missing. */
static inline bool ik_json_is(ik_json_span_t value, ik_json_kind_t kind)
{
    return value.len > 0 && ik_json_kind(value) == kind;
}
/* Whether value is a string equal to text. */
static inline bool ik_json_is_text(ik_json_span_t value, const char *text)
{
    return ik_json_is(value, IK_JSON_STRING) && ik_json_key_is(value, text);
}
/* Whether value is a string that is not empty. */
static inline bool ik_json_has_text(ik_json_span_t value)
{
    return value.len > 2 && ik_json_kind(value) == IK_JSON_STRING;
}
/* Finds a member of that name and kind; also false when object is not an object. */
static inline bool ik_json_find_kind(ik_json_span_t object, const char *name, ik_json_kind_t kind,
                                     ik_json_span_t *value)
{
    return ik_json_is(object, IK_JSON_OBJECT) && ik_json_find(object, name, value) &&
           ik_json_kind(*value) == kind;
}

/* Measures the character at a position inside a scanned string literal: returns its length as
 * written and sets *decoded to its length in UTF-8. Invalid UTF-8 counts as U+FFFD. */
size_t ik_json_step(const char *at, const char *end, size_t *decoded);

/* Decodes a scanned string literal; NUL bytes are kept, lone surrogates become U+FFFD. len may be
 * NULL. */
char *ik_json_decode(const void *ctx, ik_json_span_t string, size_t *len);
/* Decodes a scanned string literal to the end of a buffer. */
void ik_json_append_decoded(ik_buffer_t *buffer, ik_json_span_t string);

/* Appends a quoted string; bytes that are not UTF-8 become U+FFFD. */
void ik_json_append_string(ik_buffer_t *buffer, const char *bytes, size_t len);
void ik_json_append_text(ik_buffer_t *buffer, const char *text);
/* Appends a part of a string, without quotes. A part must not end inside a character. */
void ik_json_append_escaped(ik_buffer_t *buffer, const char *bytes, size_t len);

/* Begins a member of the object that the buffer holds: appends { or a comma, the name and a colon.
 */
void ik_json_begin_member(ik_buffer_t *buffer, const char *name);
/* Appends a whole member; a NULL text becomes null. */
void ik_json_add_text(ik_buffer_t *buffer, const char *name, const char *text);
void ik_json_add_number(ik_buffer_t *buffer, const char *name, int64_t number);

/* Appends a scanned object in which the members of changes replace those of the same name; new ones
 * come last. */
void ik_json_append_merged(ik_buffer_t *buffer, ik_json_span_t object, ik_json_span_t changes);

/* jansson with our conventions: NUL allowed in strings, compact output, key order kept. parse
 * returns a new reference or NULL with the error filled in. */
json_t *ik_json_parse(const char *text, size_t len, json_error_t *error);
char *ik_json_format(const void *ctx, const json_t *value);
/* Whether an element of the array equals the value; false if it is not an array. */
bool ik_json_array_has(const json_t *array, const json_t *wanted);
/* Adds a value to a set of values, which is an object; false: it was there. Unlike a search in an
 * array, it does not take longer with every value. */
bool ik_json_set_add(json_t *set, const json_t *value);
/* Ties value to ctx, which releases it when freed. Returns value. */
json_t *ik_json_adopt(const void *ctx, json_t *value);

/* Seeds jansson's hash tables from the auxiliary vector (AT_RANDOM), which saves the system calls
 * of jansson's own seeding. Call once, before the first object. */
void ik_json_seed(void);
