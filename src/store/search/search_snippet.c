#include "store/search/search_snippet.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "store/search/search_words.h"

typedef struct {
    size_t start;
    size_t end;
} range_t;

/* --- where the search stands ------------------------------------------------------------- */

/* A phrase found in the text. */
typedef struct {
    range_t range;
    size_t phrase;
} match_t;

typedef struct {
    const void *ctx;
    const ik_search_query_t *query;
    /* By phrase, which of its beginnings the words read so far end with: bit n is set when the last
     * n + 1 words are its first n + 1. */
    uint32_t progress[IK_SEARCH_PHRASES_MAX];
    size_t starts[IK_SEARCH_PHRASE_WORDS_MAX]; /* of the last words, by their number */
    size_t words;
    match_t *matches;
    size_t count;
} finder_t;

static bool is_word(const ik_search_phrase_t *phrase, size_t i, const ik_search_word_t *word)
{
    const char *wanted = phrase->words[i];
    size_t len = strlen(wanted);
    bool beginning = phrase->prefix && i + 1 == phrase->count;
    bool fits = beginning ? word->len >= len : word->len == len;
    return fits && memcmp(wanted, word->word, len) == 0;
}

static void add_match(finder_t *finder, const match_t *match)
{
    if ((finder->count & (finder->count + 1)) == 0) {
        finder->matches =
            ik_resize_array(finder->ctx, finder->matches, match_t, 2 * finder->count + 2);
    }
    finder->matches[finder->count++] = *match;
}

static void advance(finder_t *finder, size_t number, const ik_search_word_t *word)
{
    const ik_search_phrase_t *phrase = &finder->query->phrases[number];
    uint32_t possible = finder->progress[number] << 1 | 1;
    uint32_t now = 0;
    bool fits = false; /* in the end: as the phrase's last word */
    for (size_t i = 0; i < phrase->count; i++) {
        fits = (possible >> i & 1) != 0 && is_word(phrase, i, word);
        now |= (uint32_t)fits << i;
    }
    finder->progress[number] = now;
    if (fits) {
        size_t first = finder->words - (phrase->count - 1);
        size_t start = finder->starts[first % IK_SEARCH_PHRASE_WORDS_MAX];
        add_match(finder, &(match_t){{start, word->offset + word->source_len}, number});
    }
}

static bool on_word(void *data, const ik_search_word_t *word)
{
    finder_t *finder = data;
    finder->starts[finder->words % IK_SEARCH_PHRASE_WORDS_MAX] = word->offset;
    for (size_t i = 0; i < finder->query->count; i++) {
        advance(finder, i, word);
    }
    finder->words++;
    return true;
}

/* They are found by their ends. */
static int by_start(const void *a, const void *b)
{
    const range_t *first = &((const match_t *)a)->range;
    const range_t *second = &((const match_t *)b)->range;
    if (first->start != second->start) {
        return first->start < second->start ? -1 : 1;
    }
    return (first->end > second->end) - (first->end < second->end);
}

/* --- which part is shown ----------------------------------------------------------------- */

/* What fits into max bytes from a match on, and what that is worth: the different phrases count
 * first, then how many matches there are. */
static size_t weigh(const finder_t *finder, size_t first, size_t max, range_t *range)
{
    uint32_t phrases = 0;
    size_t fitting = 0;
    *range = finder->matches[first].range;
    for (size_t i = first; i < finder->count; i++) {
        const match_t *match = &finder->matches[i];
        if (match->range.start - range->start >= max) {
            break;
        }
        if (match->range.end - range->start <= max) {
            phrases |= UINT32_C(1) << match->phrase;
            fitting++;
            range->end = match->range.end > range->end ? match->range.end : range->end;
        }
    }
    return (size_t)__builtin_popcount(phrases) * (finder->count + 1) + fitting;
}

/* The part with most of the search in it; the first of several. Empty when there is nothing. */
static range_t find_best(const finder_t *finder, size_t max)
{
    range_t best = {0, 0};
    size_t most = 0;
    for (size_t i = 0; i < finder->count; i++) {
        range_t range;
        size_t worth = weigh(finder, i, max, &range);
        if (worth > most || i == 0) {
            most = worth;
            best = range;
        }
    }
    return best;
}

static bool is_blank(int32_t code)
{
    utf8proc_category_t category = utf8proc_category(code);
    return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_ZS ||
           category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

/* The character at text, and its length; not blank when it is none. */
static size_t step_over(const char *text, size_t len, bool *blank)
{
    bool valid;
    size_t step = ik_utf8_step(text, len, &valid);
    int32_t code;
    *blank = false;
    if (valid) {
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)step, &code);
        *blank = is_blank(code);
    }
    return step;
}

static bool is_ascii_blank(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* A cut that hits a word moves to the white space next to it, if that is near; not beyond limit,
 * where the match is. */
enum { NEAR = 16 };

static size_t tidy_start(const char *text, size_t start, size_t limit)
{
    if (start == 0 || is_ascii_blank(text[start - 1])) {
        return start;
    }
    limit = limit - start < NEAR ? limit : start + NEAR;
    for (size_t at = start; at < limit; at++) {
        if (is_ascii_blank(text[at])) {
            return at + 1;
        }
    }
    return start;
}

static size_t tidy_end(const char *text, size_t limit, size_t end, size_t len)
{
    if (end == len || is_ascii_blank(text[end])) {
        return end;
    }
    limit = end - limit < NEAR ? limit : end - NEAR;
    for (size_t at = end; at > limit; at--) {
        if (is_ascii_blank(text[at - 1])) {
            return at - 1;
        }
    }
    return end;
}

/* Fills up to max bytes with what stands around, half of it before. */
static range_t widen(const char *text, size_t len, range_t range, size_t max)
{
    size_t size = range.end - range.start;
    if (size > max) {
        range.end = range.start + ik_utf8_cut(text + range.start, size, max);
        return range;
    }
    size_t spare = max - size;
    size_t behind = len - range.end;
    size_t before = behind < spare / 2 ? spare - behind : spare / 2;
    before = before < range.start ? before : range.start;
    size_t start = ik_utf8_cut_front(text, range.start, before);
    size_t end = start + ik_utf8_cut(text + start, len - start, max);
    return (range_t){
        .start = tidy_start(text, start, range.start),
        .end = tidy_end(text, range.end, end, len),
    };
}

/* --- writing ----------------------------------------------------------------------------- */

static const char ellipsis[] = "…";

typedef struct {
    const char *source;
    size_t at; /* in source: what is before is written, or not shown */
    ik_buffer_t text;
    bool begun; /* something but an ellipsis is written */
    bool space; /* white space stood before what comes next */
} writer_t;

static void write_up_to(writer_t *writer, size_t end)
{
    while (writer->at < end) {
        bool blank;
        size_t step = step_over(writer->source + writer->at, end - writer->at, &blank);
        if (!blank) {
            ik_buffer_append_text(&writer->text, writer->space ? " " : "");
            ik_utf8_append_clean(&writer->text, writer->source + writer->at, step);
            writer->begun = true;
        }
        writer->space = blank && writer->begun;
        writer->at += step;
    }
}

static ik_search_mark_t write_marked(writer_t *writer, range_t range)
{
    write_up_to(writer, range.start);
    size_t offset = writer->text.len + writer->space;
    write_up_to(writer, range.end);
    return (ik_search_mark_t){offset, writer->text.len - offset};
}

/* The next piece to be marked among the matches from *i on: those that overlap are one, and one
 * that does not fit is marked as far as it is shown. False when there is none. */
static bool next_marked(const finder_t *finder, size_t *i, range_t shown, range_t *range)
{
    while (*i < finder->count && finder->matches[*i].range.start < shown.start) {
        ++*i;
    }
    if (*i == finder->count || finder->matches[*i].range.start >= shown.end) {
        return false;
    }
    *range = finder->matches[*i].range;
    while (++*i < finder->count && finder->matches[*i].range.start < range->end) {
        size_t end = finder->matches[*i].range.end;
        range->end = end > range->end ? end : range->end;
    }
    range->end = range->end < shown.end ? range->end : shown.end;
    return true;
}

static ik_search_snippet_t write_snippet(const void *ctx, const finder_t *finder, const char *text,
                                         size_t len, range_t shown)
{
    ik_search_snippet_t snippet = {.count = 0};
    writer_t writer = {.source = text, .at = shown.start};
    ik_buffer_init(&writer.text, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&writer.text, shown.start > 0 ? ellipsis : "");
    range_t range;
    for (size_t i = 0; next_marked(finder, &i, shown, &range);) {
        snippet.marks = ik_resize_array(ctx, snippet.marks, ik_search_mark_t, snippet.count + 1);
        snippet.marks[snippet.count++] = write_marked(&writer, range);
    }
    write_up_to(&writer, shown.end);
    ik_buffer_append_text(&writer.text, shown.end < len ? ellipsis : "");
    snippet.text = ik_buffer_finish(&writer.text);
    return snippet;
}

ik_search_snippet_t ik_search_snippet_create(const void *ctx, const ik_search_query_t *query,
                                             const char *text, size_t len, size_t max)
{
    void *scratch = talloc_new(NULL);
    finder_t finder = {.ctx = scratch, .query = query};
    ik_search_words(text, len, on_word, &finder);
    if (finder.count > 0) {
        qsort(finder.matches, finder.count, sizeof(*finder.matches), by_start);
    }
    range_t shown = widen(text, len, find_best(&finder, max), max);
    ik_search_snippet_t snippet = write_snippet(ctx, &finder, text, len, shown);
    talloc_free(scratch);
    return snippet;
}
