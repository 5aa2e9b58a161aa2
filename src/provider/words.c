#include "provider/words.h"

#include <string.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "base/utf8.h"
#include "conversation/message.h"

/* Fills clean, which must be empty. Blank text becomes U+FFFD: servers refuse empty text. */
static void clean_words(ik_buffer_t *clean, const char *text, size_t len)
{
    ik_sanitise_append_for_reader(clean, text, len);
    if (ik_msg_text_is_blank(clean->data)) {
        clean->len = 0;
        ik_buffer_append_text(clean, IK_UTF8_REPLACEMENT);
    }
}

/* Looks for U+0080 to U+009F, which JSON allows without an escape. */
static bool has_bare_control(const char *json, const char *end)
{
    const char *at = json;
    while ((at = memchr(at, 0xc2, (size_t)(end - at))) != NULL && at + 1 < end) {
        if ((unsigned char)*++at < 0xa0) {
            return true;
        }
    }
    return false;
}

void ik_words_append(ik_buffer_t *out, const char *text)
{
    size_t len = strlen(text);
    /* An escape sequence begins with ESC or a C1 control. Writing JSON replaces invalid UTF-8. */
    if (memchr(text, 0x1b, len) == NULL && !has_bare_control(text, text + len)) {
        ik_json_append_escaped(out, text, len);
        return;
    }
    ik_buffer_t clean;
    ik_buffer_init(&clean, NULL, IK_BUFFER_UNLIMITED); /* bounded by the text */
    clean_words(&clean, text, len);
    ik_json_append_escaped(out, clean.data, clean.len);
    ik_buffer_reset(&clean);
}

/* --- the quick scan ---------------------------------------------------------------------- */

static int hex_value(char digit)
{
    return digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10;
}

/* Whether the text after a backslash makes a \\u escape of ESC or of a C1 control, the characters
 * that begin an escape sequence. */
static bool is_control_escape(const char *letter, const char *end)
{
    if (end - letter <= 4 || memcmp(letter, "u00", 3) != 0) {
        return false;
    }
    int code = hex_value(letter[3]) * 16 + hex_value(letter[4]);
    return code == 0x1b || (code >= 0x80 && code < 0xa0);
}

/* Compilers vectorise the loop where len is constant. */
static inline bool has_escape_in(const char *at, size_t len)
{
    unsigned char found = 0;
    for (size_t i = 0; i < len; i++) {
        found |= (unsigned char)((at[i] == '\\') & (at[i + 1] == 'u'));
    }
    return found != 0;
}

/* Whether a backslash stands before a u anywhere; most results have no such pair. A memchr for each
 * backslash took 0.2 ms more per MB. */
static bool has_unicode_escape(const char *json, const char *end)
{
    enum { LARGE = 256, SMALL = 32 };
    const char *at = json;
    for (; end - at > LARGE; at += LARGE) {
        if (has_escape_in(at, LARGE)) {
            return true;
        }
    }
    for (; end - at > SMALL; at += SMALL) {
        if (has_escape_in(at, SMALL)) {
            return true;
        }
    }
    for (; end - at > 1; at++) {
        if (at[0] == '\\' && at[1] == 'u') {
            return true;
        }
    }
    return false;
}

/* In a literal that holds JSON, an escape of the inner JSON has two backslashes; four backslashes
 * are an escaped backslash, and the letter after them is plain text. */
static bool has_escaped_control(const char *json, const char *end)
{
    const char *at = json;
    while ((at = memchr(at, '\\', (size_t)(end - at))) != NULL) {
        const char *letter = at;
        while (letter < end && *letter == '\\') {
            letter++;
        }
        if ((letter - at) % 4 != 0 && is_control_escape(letter, end)) {
            return true;
        }
        at = letter;
    }
    return false;
}

bool ik_words_may_be_unclean(const char *json, size_t len)
{
    const char *end = json + len;
    return has_bare_control(json, end) ||
           (has_unicode_escape(json, end) && has_escaped_control(json, end));
}

/* --- JSON -------------------------------------------------------------------------------- */

/* The quick scan may be wrong ("\\\\u001b" holds no ESC), so the decoded text decides. */
static void append_string(ik_buffer_t *out, ik_json_span_t literal)
{
    if (!ik_words_may_be_unclean(literal.text, literal.len)) {
        ik_buffer_append(out, literal.text, literal.len);
        return;
    }
    size_t len;
    char *text = ik_json_decode(NULL, literal, &len);
    if (ik_sanitise_is_clean_for_reader(text, len)) {
        ik_buffer_append(out, literal.text, literal.len);
    } else {
        ik_buffer_t clean;
        ik_buffer_init(&clean, text, IK_BUFFER_UNLIMITED); /* bounded by the literal */
        clean_words(&clean, text, len);
        ik_json_append_string(out, clean.data, clean.len);
    }
    talloc_free(text);
}

/* Only the strings in JSON can need cleaning. */
static void append_json(ik_buffer_t *out, const char *at, const char *end)
{
    const char *quote;
    while ((quote = memchr(at, '"', (size_t)(end - at))) != NULL) {
        ik_buffer_append(out, at, (size_t)(quote - at));
        at = quote + 1;
        while (*at != '"') {
            at += *at == '\\' ? 2 : 1;
        }
        at++;
        append_string(out, (ik_json_span_t){quote, (size_t)(at - quote)});
    }
    ik_buffer_append(out, at, (size_t)(end - at));
}

void ik_words_append_json(ik_buffer_t *out, ik_json_span_t value)
{
    append_json(out, value.text, value.text + value.len);
}

char *ik_words_decode(const void *ctx, ik_json_span_t literal, size_t *len)
{
    char *text = ik_json_decode(ctx, literal, len);
    if (!ik_words_may_be_unclean(literal.text, literal.len)) {
        return text;
    }
    ik_buffer_t clean;
    ik_buffer_init(&clean, ctx, IK_BUFFER_UNLIMITED); /* bounded by the literal */
    ik_json_span_t value;
    if (ik_json_scan(text, *len, &value, NULL)) {
        append_json(&clean, text, text + *len);
    } else {
        clean_words(&clean, text, *len);
    }
    talloc_free(text);
    *len = clean.len;
    return ik_buffer_finish(&clean);
}

void ik_words_append_literal(ik_buffer_t *out, ik_json_span_t literal)
{
    if (!ik_words_may_be_unclean(literal.text, literal.len)) {
        ik_buffer_append(out, literal.text, literal.len);
        return;
    }
    size_t len;
    char *text = ik_words_decode(NULL, literal, &len);
    ik_json_append_string(out, text, len);
    talloc_free(text);
}
