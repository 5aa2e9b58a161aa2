#include "store/postgres/postgres_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/json.h"
#include "base/utf8.h"
#include "store/words/event_text.h"
#include "store/words/text_words.h"

const char *ik_postgres_text_clean(const void *ctx, const char *text)
{
    if (text == NULL || ik_utf8_valid(text, strlen(text))) {
        return text;
    }
    ik_buffer_t clean;
    ik_buffer_init(&clean, ctx, IK_BUFFER_UNLIMITED); /* bounded by the message */
    ik_utf8_append_clean(&clean, text, strlen(text));
    return ik_buffer_take(ctx, &clean);
}

/* --- jsonb ------------------------------------------------------------------------------- */

enum { MEMBER_MAX = 4096, EXPONENT_MAX = 400 };

/* Returns the code of the \u escape at at, or -1. */
static long read_escape(const char *at, const char *end)
{
    char digits[5] = "";
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u') {
        return -1;
    }
    memcpy(digits, at + 2, 4);
    return strtol(digits, NULL, 16);
}

static bool is_low_surrogate(long code)
{
    return code >= 0xdc00 && code <= 0xdfff;
}

/* Returns the length of the escape at a backslash; 0 when jsonb refuses it. */
static size_t step_escape(const char *at, const char *end)
{
    long code = read_escape(at, end);
    if (code < 0) {
        return 2;
    }
    if (code == 0 || is_low_surrogate(code)) {
        return 0;
    }
    if (code >= 0xd800 && code <= 0xdbff) {
        return is_low_surrogate(read_escape(at + 6, end)) ? 12 : 0;
    }
    return 6;
}

/* Returns the length of the number at at; 0 when jsonb would write it out with too many digits. */
static size_t step_number(const char *at)
{
    size_t len = strspn(at, "+-.0123456789eE");
    size_t mantissa = strspn(at, "+-.0123456789");
    if (mantissa < len && labs(strtol(at + mantissa + 1, NULL, 10)) > EXPONENT_MAX) {
        return 0;
    }
    return len;
}

/* Whether jsonb accepts this piece of scanned JSON. Only strings and numbers matter, and both are
 * recognised by their first character, so the structure need not be followed. */
static bool is_accepted(const char *at, const char *end)
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

char *ik_postgres_text_format_data(const void *ctx, const char *data_json)
{
    ik_json_span_t object;
    ik_json_span_t key;
    ik_json_span_t value;
    ik_buffer_t out;
    if (data_json == NULL || !ik_json_scan(data_json, strlen(data_json), &object, NULL) ||
        ik_json_kind(object) != IK_JSON_OBJECT) {
        return NULL;
    }
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the message */
    for (size_t position = 0; ik_json_next_member(object, &position, &key, &value);) {
        const char *end = value.text + value.len;
        if (end - key.text <= MEMBER_MAX && is_accepted(key.text, end)) {
            ik_buffer_append_byte(&out, out.len == 0 ? '{' : ',');
            ik_buffer_append(&out, key.text, (size_t)(end - key.text));
        }
    }
    if (out.len > 0) {
        ik_buffer_append_byte(&out, '}');
    }
    return out.data;
}

/* --- tsvector ---------------------------------------------------------------------------- */

enum {
    /* A tsvector has this many positions. In a longer text they start again from 1: phrases deep
     * inside it are still found, at the price of a few false neighbours. The server itself merges
     * the positions of a word and drops those beyond 256. */
    POSITION_MAX = 16383,
    /* The server accepts a megabyte. Only text whose characters grow when they are folded comes
     * near this limit. */
    WORDS_MAX = 1 << 19,
};

typedef struct {
    ik_buffer_t text;
    size_t count;
    size_t bytes;
} words_t;

/* Words consist of letters, digits and their marks: quotes and backslashes cannot occur. */
static bool on_word(void *data, const ik_text_word_t *word)
{
    words_t *words = data;
    words->bytes += word->len;
    if (words->bytes > WORDS_MAX) {
        return false;
    }
    ik_buffer_append_byte(&words->text, '\'');
    ik_buffer_append(&words->text, word->word, word->len);
    ik_buffer_append_format(&words->text, "':%zu ", 1 + words->count++ % POSITION_MAX);
    return true;
}

char *ik_postgres_text_format_words(const void *ctx, const ik_store_event_t *event)
{
    ik_buffer_t text;
    words_t words = {0};
    ik_buffer_init(&text, ctx, IK_EVENT_TEXT_MAX);
    ik_buffer_init(&words.text, ctx, IK_BUFFER_UNLIMITED); /* bounded by WORDS_MAX */
    ik_event_text_append(&text, event);
    if (text.len > 0) {
        ik_text_words(text.data, text.len, on_word, &words);
    }
    ik_buffer_reset(&text);
    return words.text.data;
}
