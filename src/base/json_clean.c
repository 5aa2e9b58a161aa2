#include "base/json_clean.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

static bool is_container(ik_json_span_t value)
{
    return ik_json_kind(value) == IK_JSON_OBJECT || ik_json_kind(value) == IK_JSON_ARRAY;
}

/* The next member or element; key is empty in an array. */
static bool next_item(ik_json_span_t container, size_t *position, ik_json_span_t *key,
                      ik_json_span_t *value)
{
    if (ik_json_kind(container) == IK_JSON_OBJECT) {
        return ik_json_next_member(container, position, key, value);
    }
    *key = (ik_json_span_t){0};
    return ik_json_next_element(container, position, value);
}

static bool fits_into(ik_json_span_t value, int levels)
{
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t item;
    if (!is_container(value)) {
        return true;
    }
    if (levels == 0) {
        return false;
    }
    while (next_item(value, &position, &key, &item)) {
        if (!fits_into(item, levels - 1)) {
            return false;
        }
    }
    return true;
}

/* --- strings ----------------------------------------------------------------------------- */

/* The first four characters of a \u escape that is a surrogate: \uD8 to \uDB high, \uDC to \uDF
 * low. */
static bool is_surrogate(const char *at, const char *end, const char *digits)
{
    return end - at >= 6 && at[0] == '\\' && at[1] == 'u' && (at[2] | 0x20) == 'd' &&
           strchr(digits, at[3]) != NULL;
}

static bool has_half_pair(const char *at, const char *end)
{
    static const char high[] = "89abAB";
    static const char low[] = "cdefCDEF";
    while ((at = memchr(at, '\\', (size_t)(end - at))) != NULL) {
        if (is_surrogate(at, end, low)) {
            return true;
        }
        bool begins_pair = is_surrogate(at, end, high);
        if (begins_pair && !is_surrogate(at + 6, end, low)) {
            return true;
        }
        at += begins_pair ? 12 : 2;
    }
    return false;
}

static bool is_clean_string(ik_json_span_t literal)
{
    return ik_utf8_valid(literal.text, literal.len) &&
           !has_half_pair(literal.text + 1, literal.text + literal.len - 1);
}

static void append_string(ik_buffer_t *out, ik_json_span_t literal)
{
    if (is_clean_string(literal)) {
        ik_buffer_append(out, literal.text, literal.len);
        return;
    }
    size_t len;
    char *text = ik_json_decode(NULL, literal, &len);
    ik_json_append_string(out, text, len);
    talloc_free(text);
}

/* --- names ------------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    size_t len;
    size_t number; /* of the member */
} name_t;

static int compare_text(const name_t *a, const name_t *b)
{
    int order = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);
    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

static int compare_names(const void *a, const void *b)
{
    const name_t *left = a;
    const name_t *right = b;
    int order = compare_text(left, right);
    return order != 0 ? order : (left->number > right->number) - (left->number < right->number);
}

/* As it would be written. */
static name_t name_of(const void *ctx, ik_json_span_t key, size_t number)
{
    name_t name = {.text = key.text + 1, .len = key.len - 2, .number = number};
    if (memchr(name.text, '\\', name.len) != NULL || !ik_utf8_valid(name.text, name.len)) {
        ik_buffer_t text;
        ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
        ik_json_append_decoded(&text, key);
        ik_utf8_clean(&text);
        name.text = text.data;
        name.len = text.len;
    }
    return name;
}

/* The names of an object in the order of their bytes. */
static name_t *sort_names(const void *ctx, ik_json_span_t object, size_t *count)
{
    size_t capacity = 16;
    name_t *names = ik_new_array(ctx, name_t, capacity);
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    *count = 0;
    while (ik_json_next_member(object, &position, &key, &value)) {
        if (*count == capacity) {
            capacity *= 2;
            names = ik_resize_array(ctx, names, name_t, capacity);
        }
        names[*count] = name_of(names, key, *count);
        (*count)++;
    }
    qsort(names, *count, sizeof(*names), compare_names);
    return names;
}

/* For each member whether one of the same name follows; NULL when none does. */
static bool *find_doubled(const void *ctx, ik_json_span_t object)
{
    size_t count;
    name_t *names = sort_names(ctx, object, &count);
    bool *doubled = NULL;
    for (size_t i = 1; i < count; i++) {
        if (compare_text(&names[i - 1], &names[i]) == 0) {
            doubled = doubled == NULL ? ik_new_array(ctx, bool, count) : doubled;
            doubled[names[i - 1].number] = true;
        }
    }
    return doubled;
}

static bool has_doubled(ik_json_span_t object)
{
    void *scratch = talloc_new(NULL);
    bool doubled = find_doubled(scratch, object) != NULL;
    talloc_free(scratch);
    return doubled;
}

/* --- values ------------------------------------------------------------------------------ */

/* Of a value that is not nested too deeply. */
static bool is_clean_value(ik_json_span_t value)
{
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t item;
    if (!is_container(value)) {
        return ik_json_kind(value) != IK_JSON_STRING || is_clean_string(value);
    }
    while (next_item(value, &position, &key, &item)) {
        if ((key.len > 0 && !is_clean_string(key)) || !is_clean_value(item)) {
            return false;
        }
    }
    return ik_json_kind(value) != IK_JSON_OBJECT || !has_doubled(value);
}

bool ik_json_is_clean(ik_json_span_t value)
{
    return fits_into(value, IK_JSON_CLEAN_DEPTH) && is_clean_value(value);
}

static void append_value(ik_buffer_t *out, ik_json_span_t value);

static void append_items(ik_buffer_t *out, ik_json_span_t container, const bool *left_out)
{
    size_t position = 0;
    size_t number = 0;
    const char *separator = "";
    ik_json_span_t key;
    ik_json_span_t item;
    for (; next_item(container, &position, &key, &item); number++) {
        if (left_out != NULL && left_out[number]) {
            continue;
        }
        ik_buffer_append_text(out, separator);
        separator = ",";
        if (key.len > 0) {
            append_string(out, key);
            ik_buffer_append_byte(out, ':');
        }
        append_value(out, item);
    }
}

static void append_value(ik_buffer_t *out, ik_json_span_t value)
{
    void *scratch = talloc_new(NULL);
    switch (ik_json_kind(value)) {
    case IK_JSON_OBJECT:
        ik_buffer_append_byte(out, '{');
        append_items(out, value, find_doubled(scratch, value));
        ik_buffer_append_byte(out, '}');
        break;
    case IK_JSON_ARRAY:
        ik_buffer_append_byte(out, '[');
        append_items(out, value, NULL);
        ik_buffer_append_byte(out, ']');
        break;
    case IK_JSON_STRING:
        append_string(out, value);
        break;
    default:
        ik_buffer_append(out, value.text, value.len);
        break;
    }
    talloc_free(scratch);
}

bool ik_json_append_clean(ik_buffer_t *out, ik_json_span_t value)
{
    if (!fits_into(value, IK_JSON_CLEAN_DEPTH)) {
        return false;
    }
    if (is_clean_value(value)) {
        ik_buffer_append(out, value.text, value.len);
    } else {
        append_value(out, value);
    }
    return true;
}
