#include "base/json_clean.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

/* --- strings ----------------------------------------------------------------------------- */

/* Whether a \u escape at that place is a surrogate; digits selects the high ones (\uD8 to \uDB) or
 * the low ones (\uDC to \uDF). */
static bool is_surrogate(const char *at, const char *end, const char *digits)
{
    return end - at >= 6 && at[0] == '\\' && at[1] == 'u' && (at[2] | 0x20) == 'd' &&
           strchr(digits, at[3]) != NULL;
}

/* The length of the escape at a backslash; 0 for half a surrogate pair. */
static size_t escape_length(const char *at, const char *end)
{
    static const char high[] = "89abAB";
    static const char low[] = "cdefCDEF";
    if (is_surrogate(at, end, low)) {
        return 0;
    }
    if (is_surrogate(at, end, high)) {
        return is_surrogate(at + 6, end, low) ? 12 : 0;
    }
    return 2;
}

/* Counts ASCII bytes other than quote and backslash, eight at a time. */
static size_t count_harmless(const char *at, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t tops = UINT64_C(0x8080808080808080);
    size_t n = 0;
    for (uint64_t word; (size_t)(end - at) - n >= sizeof(word); n += sizeof(word)) {
        memcpy(&word, at + n, sizeof(word));
        uint64_t quote = word ^ (ones * '"');
        uint64_t backslash = word ^ (ones * '\\');
        if ((((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) | word) & tops) {
            break;
        }
    }
    return n;
}

/* Returns the end of the string literal that begins at the quote; sets *clean to false when the
 * literal is not clean. */
static const char *check_string(const char *quote, const char *end, bool *clean)
{
    const char *at = quote + 1;
    for (;;) {
        at += count_harmless(at, end);
        if (*at == '"') {
            return at + 1;
        }
        size_t step = 1;
        bool valid = true;
        if (*at == '\\') {
            step = escape_length(at, end);
            valid = step > 0;
            step = valid ? step : 2;
        } else if ((unsigned char)*at >= 0x80) {
            step = ik_utf8_step(at, (size_t)(end - at), &valid);
        }
        *clean = *clean && valid;
        at += step;
    }
}

static void append_string(ik_buffer_t *out, ik_json_span_t literal)
{
    bool clean = true;
    check_string(literal.text, literal.text + literal.len, &clean);
    if (clean) {
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

/* The name in the form in which append_string would write it, without escapes. */
static name_t name_of(const void *ctx, ik_json_span_t key, size_t number)
{
    name_t name = {.text = key.text + 1, .len = key.len - 2, .number = number};
    if (memchr(name.text, '\\', name.len) != NULL || !ik_utf8_valid(name.text, name.len)) {
        ik_buffer_t text;
        ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by the key */
        ik_json_append_decoded(&text, key);
        ik_utf8_clean(&text);
        name.text = text.data;
        name.len = text.len;
    }
    return name;
}

/* The names of an object, sorted by their bytes. */
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

/* For each member, whether a later one has the same name; NULL when there are no duplicates. */
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

/* --- values ------------------------------------------------------------------------------ */

typedef enum { CLEAN, UNCLEAN, TOO_DEEP } state_t;

/* Up to this many names are compared directly, which saves most objects the sorting. */
enum { FEW = 12 };

/* An open container. */
typedef struct {
    const char *begin;
    bool is_object;
    bool key_next;
    bool sure; /* so far all names are in names, without escapes and without duplicates */
    size_t count;
    ik_json_span_t names[FEW];
} level_t;

static void add_name(level_t *level, ik_json_span_t key)
{
    level->sure = level->sure && level->count < FEW && memchr(key.text, '\\', key.len) == NULL;
    for (size_t i = 0; level->sure && i < level->count; i++) {
        level->sure =
            level->names[i].len != key.len || memcmp(level->names[i].text, key.text, key.len) != 0;
    }
    if (level->sure) {
        level->names[level->count++] = key;
    }
}

static void open_level(level_t *level, const char *begin)
{
    level->begin = begin;
    level->is_object = level->key_next = level->sure = *begin == '{';
    level->count = 0;
}

/* Whether the container that ends here has no duplicate names. */
static bool has_unique_names(const level_t *level, const char *end)
{
    if (!level->is_object || level->sure) {
        return true;
    }
    ik_json_span_t object = {level->begin, (size_t)(end - level->begin)};
    void *scratch = talloc_new(NULL);
    bool unique = find_doubled(scratch, object) == NULL;
    talloc_free(scratch);
    return unique;
}

/* One pass over text that is known to be JSON, without recursion. */
static state_t check_value(ik_json_span_t value)
{
    level_t levels[IK_JSON_CLEAN_DEPTH + 1]; /* the first encloses the value itself */
    level_t *level = levels;
    const char *end = value.text + value.len;
    bool clean = true;
    open_level(level, "[");
    for (const char *at = value.text; at < end;) {
        const char *begin = at++;
        if (*begin == '{' || *begin == '[') {
            if (level == levels + IK_JSON_CLEAN_DEPTH) {
                return TOO_DEEP;
            }
            open_level(++level, begin);
        } else if (level > levels && (*begin == '}' || *begin == ']')) {
            clean = has_unique_names(level--, at) && clean;
        } else if (*begin == ',') {
            level->key_next = level->is_object;
        } else if (*begin == '"') {
            at = check_string(begin, end, &clean);
            if (level->key_next) {
                add_name(level, (ik_json_span_t){begin, (size_t)(at - begin)});
                level->key_next = false;
            }
        }
    }
    return clean ? CLEAN : UNCLEAN;
}

bool ik_json_is_clean(ik_json_span_t value)
{
    return check_value(value) == CLEAN;
}

static void append_value(ik_buffer_t *out, ik_json_span_t value);

static void append_items(ik_buffer_t *out, ik_json_span_t container, const bool *left_out)
{
    size_t position = 0;
    size_t number = 0;
    const char *separator = "";
    ik_json_span_t key;
    ik_json_span_t item;
    bool is_object = ik_json_kind(container) == IK_JSON_OBJECT;
    for (; is_object ? ik_json_next_member(container, &position, &key, &item)
                     : ik_json_next_element(container, &position, &item);
         number++) {
        if (left_out != NULL && left_out[number]) {
            continue;
        }
        ik_buffer_append_text(out, separator);
        separator = ",";
        if (is_object) {
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
    switch (check_value(value)) {
    case CLEAN:
        ik_buffer_append(out, value.text, value.len);
        return true;
    case UNCLEAN:
        append_value(out, value);
        return true;
    default:
        return false;
    }
}

/* --- trees ------------------------------------------------------------------------------- */

static bool is_of_number(char c)
{
    return (c >= '0' && c <= '9') || (c != '\0' && strchr("+-.eE", c) != NULL);
}

static void append_number(ik_buffer_t *out, const char *text, size_t len)
{
    enum { DIGITS_SAFE = 18 };
    if (len <= DIGITS_SAFE && memchr(text, 'e', len) == NULL && memchr(text, 'E', len) == NULL) {
        ik_buffer_append(out, text, len);
        return;
    }
    char *number = ik_strndup(NULL, text, len);
    errno = 0;
    if (strpbrk(number, ".eE") != NULL) {
        double value = strtod(number, NULL);
        ik_buffer_append_text(out, !isinf(value) ? number
                                   : value > 0   ? "1.7976931348623157e308"
                                                 : "-1.7976931348623157e308");
    } else {
        long long value = strtoll(number, NULL, 10); /* the nearest where it overflows */
        if (errno == ERANGE) {
            ik_buffer_append_format(out, "%lld", value);
        } else {
            ik_buffer_append_text(out, number);
        }
    }
    talloc_free(number);
}

/* Appends text that is known to be JSON, with numbers that jansson can hold. */
static void append_fitting(ik_buffer_t *out, ik_json_span_t value)
{
    const char *end = value.text + value.len;
    bool clean = true; /* is not asked: numbers alone are of interest */
    for (const char *at = value.text; at < end;) {
        const char *begin = at;
        if (*at == '-' || (*at >= '0' && *at <= '9')) {
            while (at < end && is_of_number(*at)) {
                at++;
            }
            append_number(out, begin, (size_t)(at - begin));
        } else {
            at = *at == '"' ? check_string(at, end, &clean) : at + 1;
            ik_buffer_append(out, begin, (size_t)(at - begin));
        }
    }
}

json_t *ik_json_parse_clean(ik_json_span_t value)
{
    ik_buffer_t clean;
    ik_buffer_t fitting;
    json_t *tree = ik_json_parse(value.text, value.len, NULL);
    if (tree != NULL) {
        return tree;
    }
    ik_buffer_init(&clean, NULL, IK_BUFFER_UNLIMITED); /* bounded by the value */
    ik_buffer_init(&fitting, NULL, IK_BUFFER_UNLIMITED);
    if (ik_json_append_clean(&clean, value)) {
        value = (ik_json_span_t){.text = clean.data, .len = clean.len};
    }
    append_fitting(&fitting, value);
    tree = ik_json_parse(fitting.data, fitting.len, NULL);
    ik_buffer_reset(&clean);
    ik_buffer_reset(&fitting);
    return tree;
}
