#include "store/words/word_query.h"

#include <string.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "store/words/text_words.h"

/* --- parsing ----------------------------------------------------------------------------- */

/* The words of one piece of the query. */
typedef struct {
    ik_word_query_t *query;
    char *words[IK_WORD_QUERY_WORDS_MAX];
    size_t count;
    size_t end;     /* of the last word, in the piece */
    bool truncated; /* there were more words */
} reader_t;

static bool on_word(void *data, const ik_text_word_t *word)
{
    reader_t *reader = data;
    if (reader->count == IK_WORD_QUERY_WORDS_MAX) {
        reader->truncated = true;
        return false;
    }
    reader->words[reader->count++] = ik_strndup(reader->query, word->word, word->len);
    reader->end = word->offset + word->source_len;
    return true;
}

static bool is_equal(const ik_word_phrase_t *a, const ik_word_phrase_t *b)
{
    bool equal = a->count == b->count && a->prefix == b->prefix;
    for (size_t i = 0; equal && i < a->count; i++) {
        equal = strcmp(a->words[i], b->words[i]) == 0;
    }
    return equal;
}

/* Adds the words of one piece as a phrase, unless the query has it already. */
static void add_phrase(ik_word_query_t *query, const char *text, size_t len, bool followed_by_star)
{
    reader_t reader = {.query = query};
    ik_text_words(text, len, on_word, &reader);
    if (reader.count == 0) {
        return;
    }
    bool star = followed_by_star || (reader.end < len && text[reader.end] == '*');
    ik_word_phrase_t phrase = {
        .words = ik_new_array(query, char *, reader.count),
        .count = reader.count,
        .prefix = star && !reader.truncated,
    };
    memcpy(phrase.words, reader.words, reader.count * sizeof(*reader.words));
    for (size_t i = 0; i < query->count; i++) {
        if (is_equal(&query->phrases[i], &phrase)) {
            return;
        }
    }
    query->phrases[query->count++] = phrase;
}

/* Returns the length of the white space character at text, or 0. */
static size_t blank_at(const char *text, size_t len)
{
    bool valid;
    size_t step = ik_utf8_step(text, len, &valid);
    int32_t code = -1;
    if (valid) {
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)step, &code);
    }
    bool ascii = code == ' ' || (code >= '\t' && code <= '\r');
    return ascii || utf8proc_category(code) == UTF8PROC_CATEGORY_ZS ? step : 0;
}

ik_word_query_t *ik_word_query_parse(const void *ctx, const char *text)
{
    ik_word_query_t *query = ik_new(ctx, ik_word_query_t);
    query->phrases = ik_new_array(query, ik_word_phrase_t, IK_WORD_QUERY_PHRASES_MAX);
    const char *at = text;
    const char *end = text + strlen(text);
    while (at < end && query->count < IK_WORD_QUERY_PHRASES_MAX) {
        const char *start = at;
        size_t blank = blank_at(at, (size_t)(end - at));
        if (blank > 0) {
            at += blank;
        } else if (*at == '"') {
            start++;
            const char *close = memchr(start, '"', (size_t)(end - start));
            if (close == NULL) {
                at = start; /* a quote without a partner (5" nails) only separates words */
            } else {
                add_phrase(query, start, (size_t)(close - start), close[1] == '*');
                at = close + 1;
            }
        } else {
            while (at < end && *at != '"' && blank_at(at, (size_t)(end - at)) == 0) {
                bool valid;
                at += ik_utf8_step(at, (size_t)(end - at), &valid);
            }
            add_phrase(query, start, (size_t)(at - start), false);
        }
    }
    return query;
}

/* --- formatting -------------------------------------------------------------------------- */

/* The syntax of a store's query language. Words consist of letters, digits and their marks
 * (text_words.h), so they need no escaping. */
typedef struct {
    const char *open;
    const char *next; /* between the words of a phrase */
    const char *close;
    const char *prefix; /* after a phrase whose last word is a prefix */
    const char *both;   /* between phrases */
} syntax_t;

static char *format(const void *ctx, const ik_word_query_t *query, const syntax_t *syntax)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the limits of a query */
    for (size_t i = 0; i < query->count; i++) {
        const ik_word_phrase_t *phrase = &query->phrases[i];
        ik_buffer_append_format(&out, "%s%s", i == 0 ? "" : syntax->both, syntax->open);
        for (size_t j = 0; j < phrase->count; j++) {
            ik_buffer_append_format(&out, "%s%s", j == 0 ? "" : syntax->next, phrase->words[j]);
        }
        ik_buffer_append_format(&out, "%s%s", syntax->close, phrase->prefix ? syntax->prefix : "");
    }
    return ik_buffer_finish(&out);
}

char *ik_word_query_format_fts5(const void *ctx, const ik_word_query_t *query)
{
    static const syntax_t fts5 = {"\"", " ", "\"", "*", " AND "};
    return format(ctx, query, &fts5);
}

char *ik_word_query_format_tsquery(const void *ctx, const ik_word_query_t *query)
{
    static const syntax_t tsquery = {"'", "' <-> '", "'", ":*", " & "};
    return format(ctx, query, &tsquery);
}
