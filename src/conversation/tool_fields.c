#include "conversation/tool_fields.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"

enum { SHORT_VALUE = 100, LONGEST_SUFFIX = 10 };

static void add(ik_tool_fields_t *fields, ik_json_span_t key, ik_json_span_t value)
{
    if (fields->count == IK_TOOL_FIELDS_MAX) {
        fields->left_out++;
    } else {
        fields->fields[fields->count++] = (ik_tool_field_t){.key = key, .value = value};
    }
}

static bool scan_object(const char *text, size_t len, ik_json_span_t *object)
{
    return ik_json_scan(text, len, object, NULL) && ik_json_kind(*object) == IK_JSON_OBJECT;
}

bool ik_tool_fields_of_arguments(const char *text, size_t len, ik_tool_fields_t *out)
{
    ik_json_span_t object;
    ik_json_span_t key;
    ik_json_span_t value;
    *out = (ik_tool_fields_t){0};
    if (!scan_object(text, len, &object)) {
        return false;
    }
    for (size_t at = 0; ik_json_next_member(object, &at, &key, &value);) {
        add(out, key, value);
    }
    return true;
}

/* Whether a value is the list that stands for images which were taken out of the result. */
static bool is_image_list(ik_json_span_t key, ik_json_span_t value)
{
    enum { MEDIA_TYPE, WIDTH, HEIGHT, BYTES, ERROR, COUNT };
    static const char *const names[COUNT] = {"media_type", "width", "height", "bytes", "error"};
    ik_json_span_t members[COUNT];
    ik_json_span_t entry;
    bool all = ik_json_key_is(key, "images") && ik_json_kind(value) == IK_JSON_ARRAY;
    for (size_t at = 0; all && ik_json_next_element(value, &at, &entry);) {
        all = ik_json_kind(entry) == IK_JSON_OBJECT;
        if (all) {
            ik_json_find_members(entry, names, COUNT, members);
            all = members[MEDIA_TYPE].len > 0 && members[WIDTH].len > 0 &&
                  members[HEIGHT].len > 0 && members[BYTES].len > 0 && members[ERROR].len == 0;
        }
    }
    return all;
}

static void add_result(ik_tool_fields_t *out, ik_json_span_t result)
{
    ik_json_span_t none = {0};
    ik_json_span_t key;
    ik_json_span_t value;
    if (ik_json_kind(result) != IK_JSON_OBJECT) {
        add(out, none, result);
        return;
    }
    for (size_t at = 0; ik_json_next_member(result, &at, &key, &value);) {
        bool nameless = ik_json_key_is(key, "output") && ik_json_kind(value) == IK_JSON_STRING;
        if (!is_image_list(key, value)) {
            add(out, nameless ? none : key, value);
        }
    }
}

bool ik_tool_fields_of_envelope(const char *text, size_t len, ik_tool_fields_t *out)
{
    ik_json_span_t object;
    ik_json_span_t key;
    ik_json_span_t value;
    *out = (ik_tool_fields_t){0};
    if (!scan_object(text, len, &object)) {
        return false;
    }
    for (size_t at = 0; ik_json_next_member(object, &at, &key, &value);) {
        if (ik_json_key_is(key, "result")) {
            add_result(out, value);
        } else if (!ik_json_key_is(key, "tool_success")) { /* shown by other means */
            add(out, key, value);
        }
    }
    return true;
}

/* --- finding ----------------------------------------------------------------------------- */

static bool is_named(const ik_tool_field_t *field, const char *name)
{
    return field->key.len > 0 && ik_json_key_is(field->key, name);
}

static const ik_tool_field_t *find(const ik_tool_fields_t *fields, const char *name,
                                   ik_json_kind_t kind)
{
    for (size_t i = 0; i < fields->count; i++) {
        const ik_tool_field_t *field = &fields->fields[i];
        if (is_named(field, name) && ik_json_kind(field->value) == kind) {
            return field;
        }
    }
    return NULL;
}

const ik_tool_field_t *ik_tool_fields_find(const ik_tool_fields_t *fields, const char *name)
{
    return find(fields, name, IK_JSON_STRING);
}

bool ik_tool_fields_is_failure(const ik_tool_fields_t *result)
{
    const ik_tool_field_t *code = find(result, "exit_code", IK_JSON_NUMBER);
    bool is_zero = code != NULL && code->value.len == 1 && code->value.text[0] == '0';
    return (code != NULL && !is_zero) || ik_tool_fields_find(result, "error") != NULL;
}

bool ik_tool_fields_are_change(const ik_tool_fields_t *arguments)
{
    return ik_tool_fields_find(arguments, "old_string") != NULL &&
           ik_tool_fields_find(arguments, "new_string") != NULL;
}

bool ik_tool_fields_is_of_change(const ik_tool_fields_t *fields, const ik_tool_field_t *field)
{
    return (is_named(field, "old_string") || is_named(field, "new_string")) &&
           ik_tool_fields_are_change(fields);
}

void ik_tool_fields_remove(ik_tool_fields_t *fields, ik_json_span_t value)
{
    size_t kept = 0;
    for (size_t i = 0; i < fields->count; i++) {
        if (fields->fields[i].value.text != value.text) {
            fields->fields[kept++] = fields->fields[i];
        }
    }
    fields->count = kept;
}

/* --- values ------------------------------------------------------------------------------ */

char *ik_tool_fields_format_value(const void *ctx, const ik_tool_field_t *field, size_t *len)
{
    if (ik_json_kind(field->value) == IK_JSON_STRING) {
        return ik_json_decode(ctx, field->value, len);
    }
    *len = field->value.len;
    return ik_strndup(ctx, field->value.text, field->value.len);
}

char *ik_tool_fields_format_name(const void *ctx, const ik_tool_field_t *field)
{
    return ik_json_decode(ctx, field->key, NULL);
}

char *ik_tool_fields_format_suffix(const void *ctx, const ik_tool_fields_t *arguments)
{
    const ik_tool_field_t *path = ik_tool_fields_find(arguments, "file_path"); /* our tools */
    path = path != NULL ? path : ik_tool_fields_find(arguments, "path");
    char *text = path == NULL ? ik_strdup(ctx, "") : ik_json_decode(ctx, path->value, NULL);
    const char *point = strrchr(text, '.');
    size_t len = point == NULL ? 0 : strlen(point + 1);
    bool usual =
        len > 0 && len <= LONGEST_SUFFIX &&
        strspn(point + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == len;
    char *suffix = ik_strdup(ctx, usual ? point + 1 : "");
    talloc_free(text);
    return suffix;
}

/* Whether the field is the content of the file named in the arguments: "content", or the output of
 * a tool that got only a path. */
static bool is_file(const ik_tool_fields_t *arguments, const ik_tool_field_t *field)
{
    static const char *const others[] = {"pattern", "command", "content", "old_string"};
    for (size_t i = 0; i < IK_LENGTH(others); i++) {
        if (ik_tool_fields_find(arguments, others[i]) != NULL) {
            return is_named(field, "content");
        }
    }
    return field->key.len == 0;
}

char *ik_tool_fields_format_language(const void *ctx, const ik_tool_fields_t *arguments,
                                     const ik_tool_field_t *field)
{
    if (ik_json_kind(field->value) != IK_JSON_STRING) {
        return ik_strdup(ctx, "json");
    }
    if (is_named(field, "command")) {
        return ik_strdup(ctx, "sh");
    }
    return is_file(arguments, field) ? ik_tool_fields_format_suffix(ctx, arguments)
                                     : ik_strdup(ctx, "");
}

/* A line end in a string literal is always an escape: \n, or \u000 and a digit. An escaped
 * backslash starts none. */
static bool has_lines(ik_json_span_t value)
{
    const char *end = value.text + value.len;
    const char *at = value.text;
    while ((at = memchr(at, '\\', (size_t)(end - at))) != NULL && end - at > 1) {
        if (at[1] == 'n' || (end - at > 4 && memcmp(at + 1, "u000", 4) == 0)) {
            return true;
        }
        at += 2;
    }
    return false;
}

bool ik_tool_fields_is_long(const ik_tool_field_t *field)
{
    return field->key.len == 0 || field->value.len > SHORT_VALUE || has_lines(field->value);
}
