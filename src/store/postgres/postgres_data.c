#include "store/postgres/postgres_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum { MEMBER_MAX = 4096, EXPONENT_MAX = 400 };

/* The code of the \u escape at at; -1 when there is none. */
static long read_escape(const char *at, const char *end)
{
    char digits[5] = "";
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u') {
        return -1;
    }
    memcpy(digits, at + 2, 4);
    return strtol(digits, NULL, 16);
}

static bool is_between(long code, long first, long last)
{
    return code >= first && code <= last;
}

/* The length of the escape at a backslash; 0 when jsonb does not take it. */
static size_t step_escape(const char *at, const char *end)
{
    long code = read_escape(at, end);
    if (code < 0) {
        return 2;
    }
    if (code == 0 || is_between(code, 0xdc00, 0xdfff)) {
        return 0;
    }
    if (is_between(code, 0xd800, 0xdbff)) {
        return is_between(read_escape(at + 6, end), 0xdc00, 0xdfff) ? 12 : 0;
    }
    return 6;
}

/* The length of the number at at; 0 when its exponent is out of proportion. */
static size_t step_number(const char *at)
{
    size_t len = strspn(at, "+-.0123456789eE");
    size_t mantissa = strspn(at, "+-.0123456789");
    if (mantissa < len && labs(strtol(at + mantissa + 1, NULL, 10)) > EXPONENT_MAX) {
        return 0;
    }
    return len;
}

/* JSON is flat when only its strings and numbers matter: both are told by how they begin. */
static bool is_taken(const char *at, const char *end)
{
    bool in_string = false;
    while (at < end) {
        size_t step = 1;
        if (in_string && *at == '\\') {
            step = step_escape(at, end);
        } else if (*at == '"') {
            in_string = !in_string;
        } else if (!in_string && (*at == '-' || (*at >= '0' && *at <= '9'))) {
            step = step_number(at);
        }
        if (step == 0) {
            return false;
        }
        at += step;
    }
    return true;
}

/* Name and value stand side by side in the text. */
static ik_json_span_t whole_member(ik_json_span_t key, ik_json_span_t value)
{
    return (ik_json_span_t){key.text, (size_t)(value.text + value.len - key.text)};
}

static void append_members(ik_buffer_t *out, ik_json_span_t object)
{
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    while (ik_json_next_member(object, &position, &key, &value)) {
        ik_json_span_t member = whole_member(key, value);
        if (member.len <= MEMBER_MAX && is_taken(member.text, member.text + member.len)) {
            ik_buffer_append_byte(out, out->len == 0 ? '{' : ',');
            ik_buffer_append(out, member.text, member.len);
        }
    }
}

char *ik_postgres_data_format(const void *ctx, const char *data_json)
{
    ik_json_span_t object;
    ik_buffer_t out;
    if (data_json == NULL || !ik_json_scan(data_json, strlen(data_json), &object, NULL) ||
        ik_json_kind(object) != IK_JSON_OBJECT) {
        return NULL;
    }
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    append_members(&out, object);
    if (out.len > 0) {
        ik_buffer_append_byte(&out, '}');
    }
    return out.data;
}
