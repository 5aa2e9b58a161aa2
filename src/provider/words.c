#include "provider/words.h"

#include <string.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "base/utf8.h"
#include "conversation/message.h"

/* The words that stay, in clean, which is empty before; U+FFFD when none do: servers refuse empty
 * words. */
static void clean_words(ik_buffer_t *clean, const char *text, size_t len)
{
    ik_sanitise_append_for_reader(clean, text, len);
    if (ik_msg_text_is_blank(clean->data)) {
        clean->len = 0;
        ik_buffer_append_text(clean, IK_UTF8_REPLACEMENT);
    }
}

/* U+0080 to U+009F need no escapes in JSON. */
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

/* A sequence begins with ESC or one of those. What is no character is mended where JSON is written.
 */
static bool holds_sequence(const char *text, size_t len)
{
    return memchr(text, 0x1b, len) != NULL || has_bare_control(text, text + len);
}

void ik_words_append(ik_buffer_t *out, const char *text)
{
    size_t len = strlen(text);
    if (!holds_sequence(text, len)) {
        ik_json_append_escaped(out, text, len);
        return;
    }
    ik_buffer_t clean;
    ik_buffer_init(&clean, NULL, IK_BUFFER_UNLIMITED);
    clean_words(&clean, text, len);
    ik_json_append_escaped(out, clean.data, clean.len);
    ik_buffer_reset(&clean);
}

/* --- is there something ------------------------------------------------------------------ */

static int hex_value(char digit)
{
    return digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10;
}

/* The four digits of a \\u escape of a character that begins a sequence: ESC, or a C1. */
static bool is_control(const char *digits)
{
    if (digits[0] != '0' || digits[1] != '0') {
        return false;
    }
    int code = hex_value(digits[2]) * 16 + hex_value(digits[3]);
    return code == 0x1b || (code >= 0x80 && code < 0xa0);
}

static bool is_control_escape(const char *letter, const char *end)
{
    return letter < end && *letter == 'u' && end - letter > 4 && is_control(letter + 1);
}

/* Whether a backslash stands before a u anywhere: in most results nowhere. In blocks of a fixed
 * length, of which a compiler makes a few wide instructions: looking for each backslash took 0.2 ms
 * more per MB. */
static bool has_unicode_escape(const char *json, const char *end)
{
    enum { BLOCK = 64 };
    const char *at = json;
    for (; end - at > BLOCK; at += BLOCK) {
        unsigned char found = 0;
        for (size_t i = 0; i < BLOCK; i++) {
            found |= (unsigned char)((at[i] == '\\') & (at[i + 1] == 'u'));
        }
        if (found) {
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

/* In a literal that holds JSON a backslash is two, and one that is itself written as an escape
 * four: then the letter behind it is a letter. */
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

/* The look from outside may have been wrong: "\\\\b" is no backspace. */
static void append_unclean(ik_buffer_t *out, ik_json_span_t literal)
{
    size_t len;
    char *text = ik_json_decode(NULL, literal, &len);
    if (ik_sanitise_is_clean_for_reader(text, len)) {
        ik_buffer_append(out, literal.text, literal.len);
    } else {
        ik_buffer_t clean;
        ik_buffer_init(&clean, text, IK_BUFFER_UNLIMITED);
        clean_words(&clean, text, len);
        ik_json_append_string(out, clean.data, clean.len);
    }
    talloc_free(text);
}

static void append_string(ik_buffer_t *out, ik_json_span_t literal)
{
    if (ik_words_may_be_unclean(literal.text, literal.len)) {
        append_unclean(out, literal);
    } else {
        ik_buffer_append(out, literal.text, literal.len);
    }
}

/* Where the literal ends that begins at the quote. */
static const char *skip_string(const char *quote)
{
    const char *at = quote + 1;
    while (*at != '"') {
        at += *at == '\\' ? 2 : 1;
    }
    return at + 1;
}

/* Nothing but strings can be unclean in JSON. */
static void append_json(ik_buffer_t *out, const char *at, const char *end)
{
    const char *quote;
    while ((quote = memchr(at, '"', (size_t)(end - at))) != NULL) {
        const char *next = skip_string(quote);
        ik_buffer_append(out, at, (size_t)(quote - at));
        append_string(out, (ik_json_span_t){quote, (size_t)(next - quote)});
        at = next;
    }
    ik_buffer_append(out, at, (size_t)(end - at));
}

/* out is empty before. */
static void clean_text(ik_buffer_t *out, const char *text, size_t len)
{
    ik_json_span_t value;
    if (ik_json_scan(text, len, &value, NULL)) {
        append_json(out, text, text + len);
    } else {
        clean_words(out, text, len);
    }
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
    ik_buffer_init(&clean, ctx, IK_BUFFER_UNLIMITED);
    clean_text(&clean, text, *len);
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
