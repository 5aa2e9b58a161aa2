#include "base/json.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/alloc.h"
#include "base/utf8.h"

enum { MAX_DEPTH = 512 };

/* --- scanning ---------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    size_t len;
    size_t at;
    int depth;
    const char *reason;
    bool unicode_escape; /* a \uXXXX escape was seen */
} scanner_t;

static bool fail(scanner_t *s, const char *reason)
{
    if (s->reason == NULL) {
        s->reason = reason;
    }
    return false;
}

static int peek(const scanner_t *s)
{
    return s->at < s->len ? (unsigned char)s->text[s->at] : -1;
}

/* JSON written by programs has no white space, so the common case is one comparison. */
static inline void skip_space(scanner_t *s)
{
    for (; s->at < s->len && (unsigned char)s->text[s->at] <= ' '; s->at++) {
        char c = s->text[s->at];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
            return;
        }
    }
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(int c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* The letters that may follow a backslash, other than u. */
static bool is_escape(int c)
{
    switch (c) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return true;
    default:
        return false;
    }
}

#define EIGHT(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Not 0 when one of the eight bytes is zero: subtracting 1 sets the top bit of a zero byte. */
static uint64_t has_zero(uint64_t word)
{
    return (word - EIGHT(0x01)) & ~word & EIGHT(0x80);
}

/* Counts bytes that need no escape in a string, eight at a time, because most scanned JSON is long
 * strings. The true number may be higher by a few. */
static size_t count_plain(const char *bytes, size_t len)
{
    size_t n = 0;
    for (uint64_t word; len - n >= sizeof(word); n += sizeof(word)) {
        memcpy(&word, bytes + n, sizeof(word));
        uint64_t control = (word - EIGHT(0x20)) & ~word & EIGHT(0x80);
        uint64_t marks = control | has_zero(word ^ EIGHT('"')) | has_zero(word ^ EIGHT('\\'));
        if (marks != 0) {
            /* A borrow can set false marks, but only above a true one: the lowest is right. */
            bool first_is_lowest = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
            return first_is_lowest ? n + (size_t)__builtin_ctzll(marks) / 8 : n;
        }
    }
    return n;
}

static bool scan_escape(scanner_t *s)
{
    s->at++;
    int c = peek(s);
    if (c == 'u') {
        s->unicode_escape = true;
        for (int i = 0; i < 4; i++) {
            s->at++;
            if (!is_hex(peek(s))) {
                return fail(s, "\\u needs four hexadecimal digits");
            }
        }
    } else if (!is_escape(c)) {
        return fail(s, "invalid escape in string");
    }
    s->at++;
    return true;
}

static bool scan_string(scanner_t *s)
{
    if (peek(s) != '"') {
        return fail(s, "string expected");
    }
    s->at++;
    for (;;) {
        s->at += count_plain(s->text + s->at, s->len - s->at);
        int c = peek(s);
        while (c >= 0x20 && c != '"' && c != '\\') {
            s->at++;
            c = peek(s);
        }
        if (c < 0) {
            return fail(s, "unterminated string");
        }
        if (c < 0x20) {
            return fail(s, "control character in string");
        }
        if (c == '"') {
            s->at++;
            return true;
        }
        if (!scan_escape(s)) {
            return false;
        }
    }
}

static bool scan_digits(scanner_t *s)
{
    if (!is_digit(peek(s))) {
        return fail(s, "digit expected in number");
    }
    while (is_digit(peek(s))) {
        s->at++;
    }
    return true;
}

static bool scan_number(scanner_t *s)
{
    if (peek(s) == '-') {
        s->at++;
    }
    if (peek(s) == '0') {
        s->at++;
    } else if (!scan_digits(s)) {
        return false;
    }
    if (peek(s) == '.') {
        s->at++;
        if (!scan_digits(s)) {
            return false;
        }
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        s->at++;
        if (peek(s) == '+' || peek(s) == '-') {
            s->at++;
        }
        return scan_digits(s);
    }
    return true;
}

static bool scan_word(scanner_t *s, const char *word)
{
    size_t len = strlen(word);
    if (s->len - s->at < len || memcmp(s->text + s->at, word, len) != 0) {
        return fail(s, "value expected");
    }
    s->at += len;
    return true;
}

static bool scan_value(scanner_t *s);

static bool scan_members(scanner_t *s, char close, bool keys)
{
    s->at++;
    skip_space(s);
    if (peek(s) == close) {
        s->at++;
        return true;
    }
    for (;;) {
        skip_space(s);
        if (keys) {
            if (!scan_string(s)) {
                return false;
            }
            skip_space(s);
            if (peek(s) != ':') {
                return fail(s, "':' expected");
            }
            s->at++;
        }
        if (!scan_value(s)) {
            return false;
        }
        skip_space(s);
        if (peek(s) == close) {
            s->at++;
            return true;
        }
        if (peek(s) != ',') {
            return fail(s, keys ? "',' or '}' expected" : "',' or ']' expected");
        }
        s->at++;
    }
}

static bool scan_value(scanner_t *s)
{
    skip_space(s);
    if (s->depth == MAX_DEPTH) {
        return fail(s, "nested too deeply");
    }
    s->depth++;
    bool ok;
    switch (peek(s)) {
    case '{':
        ok = scan_members(s, '}', true);
        break;
    case '[':
        ok = scan_members(s, ']', false);
        break;
    case '"':
        ok = scan_string(s);
        break;
    case 't':
        ok = scan_word(s, "true");
        break;
    case 'f':
        ok = scan_word(s, "false");
        break;
    case 'n':
        ok = scan_word(s, "null");
        break;
    default:
        ok = peek(s) == '-' || is_digit(peek(s)) ? scan_number(s) : fail(s, "value expected");
        break;
    }
    s->depth--;
    return ok;
}

static bool scan_all(scanner_t *s, ik_json_span_t *value)
{
    skip_space(s);
    size_t start = s->at;
    bool ok = scan_value(s);
    size_t end = s->at;
    if (ok) {
        skip_space(s);
        ok = s->at == s->len || fail(s, "text after the value");
    }
    if (ok) {
        *value = (ik_json_span_t){.text = s->text + start, .len = end - start};
    }
    return ok;
}

bool ik_json_scan(const char *text, size_t len, ik_json_span_t *value, ik_json_fault_t *fault)
{
    return ik_json_scan_part(text, len, 0, value, fault);
}

bool ik_json_scan_part(const char *text, size_t len, int levels, ik_json_span_t *value,
                       ik_json_fault_t *fault)
{
    scanner_t s = {.text = text, .len = len, .depth = levels};
    bool ok = scan_all(&s, value);
    if (!ok && fault != NULL) {
        *fault = (ik_json_fault_t){.offset = s.at, .reason = s.reason};
    }
    return ok;
}

bool ik_json_scan_plain(const char *text, size_t len, ik_json_span_t *value, bool *plain)
{
    scanner_t s = {.text = text, .len = len};
    bool ok = scan_all(&s, value);
    *plain = ok && !s.unicode_escape && ik_utf8_valid(value->text, value->len);
    return ok;
}

ik_json_kind_t ik_json_kind(ik_json_span_t value)
{
    switch (value.text[0]) {
    case '{':
        return IK_JSON_OBJECT;
    case '[':
        return IK_JSON_ARRAY;
    case '"':
        return IK_JSON_STRING;
    case 't':
    case 'f':
        return IK_JSON_BOOLEAN;
    case 'n':
        return IK_JSON_NULL;
    default:
        return IK_JSON_NUMBER;
    }
}

/* --- walking through validated text -------------------------------------------------------- */

/* A search for one member skips all members before it, often thousands of times for a request.
 * Skipping finds where values end and checks only the bounds. */

/* The end of a string. A quote ends it unless an odd number of backslashes precedes the quote. */
static const char *skip_string(const char *at, const char *end)
{
    const char *before;
    do {
        at = memchr(at + 1, '"', (size_t)(end - at - 1));
        if (at == NULL) {
            PANIC("span is not validated JSON");
        }
        before = at;
        while (before[-1] == '\\') {
            before--;
        }
    } while ((at - before) % 2 != 0);
    return at + 1;
}

/* Of numbers and of true, false and null. */
static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '+' || c == 'E';
}

static const char *skip_value(const char *at, const char *end)
{
    size_t depth = 0;
    do {
        if (at >= end) {
            PANIC("span is not validated JSON");
        }
        char c = *at;
        if (c == '"') {
            at = skip_string(at, end);
            continue;
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        at++;
        while (is_word(c) && at < end && is_word(*at)) {
            at++;
        }
    } while (depth > 0);
    return at;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
        at++;
    }
    return at;
}

/* Takes the value that begins at *at or after white space, and moves *at behind it. */
static ik_json_span_t take_value(const char **at, const char *end)
{
    const char *start = skip_blanks(*at, end);
    *at = skip_value(start, end);
    return (ik_json_span_t){.text = start, .len = (size_t)(*at - start)};
}

/* The next item of a container, or its end. */
static const char *find_next(ik_json_span_t container, size_t position, const char *end)
{
    const char *at = skip_blanks(container.text + (position == 0 ? 1 : position), end);
    return at < end && *at == ',' ? skip_blanks(at + 1, end) : at;
}

bool ik_json_next_member(ik_json_span_t object, size_t *position, ik_json_span_t *key,
                         ik_json_span_t *value)
{
    if (*position == 0 && !ik_json_is(object, IK_JSON_OBJECT)) {
        return false;
    }
    const char *end = object.text + object.len - 1; /* the brace */
    const char *at = find_next(object, *position, end);
    if (at >= end) {
        return false;
    }
    *key = take_value(&at, end);
    at = skip_blanks(at, end) + 1; /* the colon */
    *value = take_value(&at, end);
    *position = (size_t)(at - object.text);
    return true;
}

bool ik_json_next_element(ik_json_span_t array, size_t *position, ik_json_span_t *value)
{
    if (*position == 0 && !ik_json_is(array, IK_JSON_ARRAY)) {
        return false;
    }
    const char *end = array.text + array.len - 1; /* the bracket */
    const char *at = find_next(array, *position, end);
    if (at >= end) {
        return false;
    }
    *value = take_value(&at, end);
    *position = (size_t)(at - array.text);
    return true;
}

bool ik_json_key_is(ik_json_span_t key, const char *name)
{
    const char *written = key.text + 1;
    size_t len = key.len - 2;
    for (size_t i = 0; i < len && written[i] != '\\'; i++) {
        if (written[i] != name[i]) {
            return false; /* also at the end of name */
        }
    }
    if (memchr(written, '\\', len) == NULL) {
        return name[len] == '\0';
    }
    size_t decoded_len;
    char *decoded = ik_json_decode(NULL, key, &decoded_len);
    bool same = decoded_len == strlen(name) && memcmp(decoded, name, decoded_len) == 0;
    talloc_free(decoded);
    return same;
}

bool ik_json_find(ik_json_span_t object, const char *name, ik_json_span_t *value)
{
    bool found = false;
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t candidate;
    while (ik_json_next_member(object, &position, &key, &candidate)) {
        if (ik_json_key_is(key, name)) {
            *value = candidate;
            found = true;
        }
    }
    return found;
}

static void take_member(const char *const *names, size_t count, ik_json_span_t key,
                        ik_json_span_t value, ik_json_span_t *values)
{
    for (size_t i = 0; i < count; i++) {
        if (ik_json_key_is(key, names[i])) {
            values[i] = value;
            values[i].len = ik_json_kind(value) == IK_JSON_NULL ? 0 : value.len;
            return;
        }
    }
}

void ik_json_find_members(ik_json_span_t object, const char *const *names, size_t count,
                          ik_json_span_t *values)
{
    memset(values, 0, count * sizeof(*values));
    if (!ik_json_is(object, IK_JSON_OBJECT)) {
        return;
    }
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    while (ik_json_next_member(object, &position, &key, &value)) {
        take_member(names, count, key, value, values);
    }
}

/* --- decoding ---------------------------------------------------------------------------- */

static uint32_t hex4(const char *digits)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = digits[i];
        uint32_t nibble = is_digit(c) ? (uint32_t)(c - '0') : (uint32_t)((c | 0x20) - 'a' + 10);
        value = value << 4 | nibble;
    }
    return value;
}

/* Decodes the escape at p (after the backslash); returns its length in bytes. */
static size_t decode_escape(const char *p, const char *end, char *out, size_t *out_len)
{
    static const char values[128] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                     ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};
    if (*p != 'u') {
        *out = values[*p & 0x7f];
        *out_len = 1;
        return 1;
    }
    uint32_t code = hex4(p + 1);
    size_t used = 5;
    if (code >= 0xd800 && code <= 0xdfff) {
        uint32_t low = 0;
        if (code < 0xdc00 && end - p >= 11 && p[5] == '\\' && p[6] == 'u') {
            low = hex4(p + 7);
        }
        if (low >= 0xdc00 && low <= 0xdfff) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            used = 11;
        } else {
            code = 0xfffd;
        }
    }
    *out_len = ik_utf8_encode(out, code);
    return used;
}

size_t ik_json_step(const char *at, const char *end, size_t *decoded)
{
    char ignored[4];
    if (*at == '\\') {
        return 1 + decode_escape(at + 1, end, ignored, decoded);
    }
    bool valid;
    size_t written = ik_utf8_step(at, (size_t)(end - at), &valid);
    *decoded = valid ? written : strlen(IK_UTF8_REPLACEMENT);
    return written;
}

/* Copies up to the next backslash, eight bytes at a time; returns the number of bytes. The last
 * eight may have bytes from the backslash on, which the caller overwrites. */
static size_t copy_plain(char *out, const char *p, const char *end)
{
    size_t n = 0;
    for (uint64_t word; (size_t)(end - p) - n >= sizeof(word); n += sizeof(word)) {
        memcpy(&word, p + n, sizeof(word));
        memcpy(out + n, &word, sizeof(word));
        if (has_zero(word ^ EIGHT('\\')) != 0) {
            while (p[n] != '\\') {
                n++;
            }
            return n;
        }
    }
    while (p + n < end && p[n] != '\\') {
        out[n] = p[n];
        n++;
    }
    return n;
}

/* No escape is shorter than its value, so out needs no more room than the literal. */
static size_t decode_into(char *out, ik_json_span_t string)
{
    const char *p = string.text + 1;
    const char *end = string.text + string.len - 1;
    size_t n = 0;
    while (p < end) {
        size_t plain = copy_plain(out + n, p, end);
        n += plain;
        p += plain;
        if (p < end) {
            size_t out_len;
            p += 1 + decode_escape(p + 1, end, out + n, &out_len);
            n += out_len;
        }
    }
    return n;
}

char *ik_json_decode(const void *ctx, ik_json_span_t string, size_t *len)
{
    char *decoded = ik_resize_array(ctx, NULL, char, string.len); /* ik_new_array would clear it */
    size_t n = decode_into(decoded, string);
    decoded[n] = '\0';
    if (len != NULL) {
        *len = n;
    }
    return decoded;
}

void ik_json_append_decoded(ik_buffer_t *buffer, ik_json_span_t string)
{
    if (ik_buffer_reserve(buffer, string.len) >= string.len) {
        buffer->len += decode_into(buffer->data + buffer->len, string);
        buffer->data[buffer->len] = '\0';
    } else {
        size_t len;
        char *decoded = ik_json_decode(NULL, string, &len);
        ik_buffer_append(buffer, decoded, len);
        talloc_free(decoded);
    }
}

/* --- writing ----------------------------------------------------------------------------- */

/* Escapes a quote, a backslash or a control character. */
static void append_escape(ik_buffer_t *buffer, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char code[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    switch (c) {
    case '"':
        ik_buffer_append(buffer, "\\\"", 2);
        break;
    case '\\':
        ik_buffer_append(buffer, "\\\\", 2);
        break;
    case '\n':
        ik_buffer_append(buffer, "\\n", 2);
        break;
    case '\r':
        ik_buffer_append(buffer, "\\r", 2);
        break;
    case '\t':
        ik_buffer_append(buffer, "\\t", 2);
        break;
    default:
        ik_buffer_append(buffer, code, sizeof(code));
        break;
    }
}

void ik_json_append_escaped(ik_buffer_t *buffer, const char *bytes, size_t len)
{
    size_t done = 0;
    size_t i = 0;
    while (i < len) {
        unsigned char c = (unsigned char)bytes[i];
        if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
            i++;
            continue;
        }
        bool valid = true;
        size_t step = c < 0x80 ? 1 : ik_utf8_step(bytes + i, len - i, &valid);
        if (c < 0x80 || !valid) {
            ik_buffer_append(buffer, bytes + done, i - done);
            if (valid) {
                append_escape(buffer, c);
            } else {
                ik_buffer_append_text(buffer, IK_UTF8_REPLACEMENT);
            }
            done = i + step;
        }
        i += step;
    }
    ik_buffer_append(buffer, bytes + done, len - done);
}

void ik_json_append_string(ik_buffer_t *buffer, const char *bytes, size_t len)
{
    ik_buffer_append_byte(buffer, '"');
    ik_json_append_escaped(buffer, bytes, len);
    ik_buffer_append_byte(buffer, '"');
}

void ik_json_append_text(ik_buffer_t *buffer, const char *text)
{
    ik_json_append_string(buffer, text, strlen(text));
}

void ik_json_begin_member(ik_buffer_t *buffer, const char *name)
{
    ik_buffer_append_byte(buffer, buffer->len == 0 ? '{' : ',');
    ik_json_append_text(buffer, name);
    ik_buffer_append_byte(buffer, ':');
}

void ik_json_add_text(ik_buffer_t *buffer, const char *name, const char *text)
{
    ik_json_begin_member(buffer, name);
    if (text == NULL) {
        ik_buffer_append_text(buffer, "null");
    } else {
        ik_json_append_text(buffer, text);
    }
}

void ik_json_add_number(ik_buffer_t *buffer, const char *name, int64_t number)
{
    ik_json_begin_member(buffer, name);
    ik_buffer_append_format(buffer, "%lld", (long long)number);
}

static bool is_same_key(ik_json_span_t a, ik_json_span_t b)
{
    size_t a_len;
    size_t b_len;
    if (a.len == b.len && memcmp(a.text, b.text, a.len) == 0) {
        return true;
    }
    if (memchr(a.text, '\\', a.len) == NULL && memchr(b.text, '\\', b.len) == NULL) {
        return false;
    }
    char *a_text = ik_json_decode(NULL, a, &a_len);
    char *b_text = ik_json_decode(NULL, b, &b_len);
    bool same = a_len == b_len && memcmp(a_text, b_text, a_len) == 0;
    talloc_free(a_text);
    talloc_free(b_text);
    return same;
}

/* Sets *value to the last member of that name, if there is one. */
static bool find_key(ik_json_span_t object, ik_json_span_t key, ik_json_span_t *value)
{
    bool found = false;
    size_t position = 0;
    ik_json_span_t each;
    ik_json_span_t candidate;
    while (ik_json_next_member(object, &position, &each, &candidate)) {
        if (is_same_key(each, key)) {
            *value = candidate;
            found = true;
        }
    }
    return found;
}

void ik_json_append_merged(ik_buffer_t *buffer, ik_json_span_t object, ik_json_span_t changes)
{
    const ik_json_span_t sources[] = {object, changes};
    const char *separator = "{";
    for (size_t i = 0; i < 2; i++) {
        size_t position = 0;
        ik_json_span_t key;
        ik_json_span_t value;
        while (ik_json_next_member(sources[i], &position, &key, &value)) {
            ik_json_span_t before;
            if (i == 1 && find_key(object, key, &before)) {
                continue; /* it took the place of that member */
            }
            find_key(changes, key, &value);
            ik_buffer_append_text(buffer, separator);
            ik_buffer_append(buffer, key.text, key.len);
            ik_buffer_append_byte(buffer, ':');
            ik_buffer_append(buffer, value.text, value.len);
            separator = ",";
        }
    }
    ik_buffer_append_text(buffer, *separator == '{' ? "{}" : "}");
}

/* --- trees ------------------------------------------------------------------------------- */

json_t *ik_json_parse(const char *text, size_t len, json_error_t *error)
{
    return json_loadb(text, len, JSON_ALLOW_NUL | JSON_DECODE_ANY, error);
}

char *ik_json_format(const void *ctx, const json_t *value)
{
    errno = 0;
    char *dumped = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    if (dumped == NULL && errno == ENOMEM) {
        ik_alloc_fail();
    }
    if (dumped == NULL) {
        PANIC("a JSON tree cannot be written");
    }
    char *copy = ik_strdup(ctx, dumped);
    free(dumped);
    return copy;
}

typedef struct {
    json_t *value;
} holder_t;

static int release_value(holder_t *holder)
{
    json_decref(holder->value);
    return 0;
}

bool ik_json_array_has(const json_t *array, const json_t *wanted)
{
    size_t at = 0;
    while (at < json_array_size(array) && !json_equal(json_array_get(array, at), wanted)) {
        at++;
    }
    return at < json_array_size(array);
}

bool ik_json_set_add(json_t *set, const json_t *value)
{
    char *key = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    if (key == NULL) {
        ik_alloc_fail();
    }
    bool added = json_object_get(set, key) == NULL;
    if (added) {
        json_object_set_new(set, key, json_true());
    }
    free(key);
    return added;
}

json_t *ik_json_adopt(const void *ctx, json_t *value)
{
    holder_t *holder = ik_new(ctx, holder_t);
    holder->value = value;
    talloc_set_destructor(holder, release_value);
    return value;
}

void ik_json_seed(void)
{
    const size_t *random = (const size_t *)getauxval(AT_RANDOM);
    size_t seed = 1;
    if (random != NULL) {
        memcpy(&seed, random, sizeof(seed));
    }
    json_object_seed(seed == 0 ? 1 : seed);
}
