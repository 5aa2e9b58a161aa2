#include "store/search/search_query.h"

#include <string.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "store/search/search_words.h"

/* --- reading ----------------------------------------------------------------------------- */

typedef struct {
    ik_search_query_t *query;
    char *words[IK_SEARCH_PHRASE_WORDS_MAX];
    size_t count;
    size_t end; /* of the last word, in the piece of text that is read */
    bool cut;   /* there were more */
} reader_t;

static bool on_word(void *data, const ik_search_word_t *word)
{
    reader_t *reader = data;
    if (reader->count == IK_SEARCH_PHRASE_WORDS_MAX) {
        reader->cut = true;
        return false;
    }
    reader->words[reader->count++] = ik_strndup(reader->query, word->word, word->len);
    reader->end = word->offset + word->source_len;
    return true;
}

static bool is_same(const ik_search_phrase_t *a, const ik_search_phrase_t *b)
{
    bool same = a->count == b->count && a->prefix == b->prefix;
    for (size_t i = 0; same && i < a->count; i++) {
        same = strcmp(a->words[i], b->words[i]) == 0;
    }
    return same;
}

static void add_phrase(ik_search_query_t *query, const ik_search_phrase_t *phrase)
{
    for (size_t i = 0; i < query->count; i++) {
        if (is_same(&query->phrases[i], phrase)) {
            return;
        }
    }
    if (query->count < IK_SEARCH_PHRASES_MAX) {
        query->phrases[query->count++] = *phrase;
    }
}

/* One piece of the search: its words stand together. */
static void read_piece(ik_search_query_t *query, const char *text, size_t len, bool star_behind)
{
    reader_t reader = {.query = query};
    ik_search_words(text, len, on_word, &reader);
    if (reader.count == 0) {
        return;
    }
    bool star = star_behind || (reader.end < len && text[reader.end] == '*');
    ik_search_phrase_t phrase = {.count = reader.count, .prefix = star && !reader.cut};
    phrase.words = ik_new_array(query, char *, reader.count);
    memcpy(phrase.words, reader.words, reader.count * sizeof(*reader.words));
    add_phrase(query, &phrase);
}

/* The length of the white space at text; 0: there is none. */
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

/* A piece without quotes: up to white space, or to a quote. */
static const char *read_plain(ik_search_query_t *query, const char *at, const char *end)
{
    const char *start = at;
    while (at < end && *at != '"' && blank_at(at, (size_t)(end - at)) == 0) {
        bool valid;
        at += ik_utf8_step(at, (size_t)(end - at), &valid);
    }
    read_piece(query, start, (size_t)(at - start), false);
    return at;
}

/* A quote without a partner separates, and no more: 5" nails. */
static const char *read_quoted(ik_search_query_t *query, const char *at, const char *end)
{
    const char *start = at + 1;
    const char *close = memchr(start, '"', (size_t)(end - start));
    if (close == NULL) {
        return start;
    }
    read_piece(query, start, (size_t)(close - start), close + 1 < end && close[1] == '*');
    return close + 1;
}

ik_search_query_t *ik_search_query_parse(const void *ctx, const char *text)
{
    ik_search_query_t *query = ik_new(ctx, ik_search_query_t);
    query->phrases = ik_new_array(query, ik_search_phrase_t, IK_SEARCH_PHRASES_MAX);
    const char *end = text + strlen(text);
    while (text < end && query->count < IK_SEARCH_PHRASES_MAX) {
        size_t blank = blank_at(text, (size_t)(end - text));
        if (blank > 0) {
            text += blank;
        } else if (*text == '"') {
            text = read_quoted(query, text, end);
        } else {
            text = read_plain(query, text, end);
        }
    }
    return query;
}

/* --- writing ----------------------------------------------------------------------------- */

/* How a store's language says things. Words consist of letters, digits and marks of letters
 * (search_words.h): there is nothing in them that would have to be escaped. */
typedef struct {
    const char *open; /* around a phrase, or each of its words */
    const char *next; /* between the words of a phrase */
    const char *close;
    const char *beginning; /* behind a phrase whose last word is only a beginning */
    const char *together;  /* between phrases */
} language_t;

static void append_phrase(ik_buffer_t *out, const ik_search_phrase_t *phrase,
                          const language_t *language)
{
    ik_buffer_append_text(out, language->open);
    for (size_t i = 0; i < phrase->count; i++) {
        ik_buffer_append_text(out, i == 0 ? "" : language->next);
        ik_buffer_append_text(out, phrase->words[i]);
    }
    ik_buffer_append_text(out, language->close);
    ik_buffer_append_text(out, phrase->prefix ? language->beginning : "");
}

static char *format(const void *ctx, const ik_search_query_t *query, const language_t *language)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < query->count; i++) {
        ik_buffer_append_text(&out, i == 0 ? "" : language->together);
        append_phrase(&out, &query->phrases[i], language);
    }
    return ik_buffer_finish(&out);
}

char *ik_search_query_format_fts5(const void *ctx, const ik_search_query_t *query)
{
    static const language_t fts5 = {"\"", " ", "\"", "*", " AND "};
    return format(ctx, query, &fts5);
}

char *ik_search_query_format_tsquery(const void *ctx, const ik_search_query_t *query)
{
    static const language_t tsquery = {"'", "' <-> '", "'", ":*", " & "};
    return format(ctx, query, &tsquery);
}
