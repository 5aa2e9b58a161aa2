#include "store/words/word_snippet.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "store/words/text_words.h"

typedef struct {
    size_t start;
    size_t end;
} range_t;

/* --- finding the matches ----------------------------------------------------------------- */

/* An occurrence of a phrase in the text. */
typedef struct {
    range_t range;
    size_t phrase;
} match_t;

typedef struct {
    const void *ctx;
    const ik_word_query_t *query;
    /* How much of each phrase the text read so far ends with: bit n is set when the last n + 1
     * words are the first n + 1 of the phrase. */
    uint32_t progress[IK_WORD_QUERY_PHRASES_MAX];
    size_t starts[IK_WORD_QUERY_WORDS_MAX]; /* offsets of the last words, a ring by word number */
    size_t words;                           /* read so far */
    match_t *matches;
    size_t count;
} finder_t;

/* Whether the word matches word i of the phrase. */
static bool is_word(const ik_word_phrase_t *phrase, size_t i, const ik_text_word_t *word)
{
    const char *wanted = phrase->words[i];
    size_t len = strlen(wanted);
    bool is_prefix = phrase->prefix && i + 1 == phrase->count;
    bool fits = is_prefix ? word->len >= len : word->len == len;
    return fits && memcmp(wanted, word->word, len) == 0;
}

static void advance(finder_t *finder, size_t number, const ik_text_word_t *word)
{
    const ik_word_phrase_t *phrase = &finder->query->phrases[number];
    uint32_t possible = finder->progress[number] << 1 | 1;
    uint32_t now = 0;
    bool complete = false; /* after the loop: the word ends an occurrence of the phrase */
    for (size_t i = 0; i < phrase->count; i++) {
        complete = (possible >> i & 1) != 0 && is_word(phrase, i, word);
        now |= (uint32_t)complete << i;
    }
    finder->progress[number] = now;
    if (complete) {
        size_t first = finder->words - (phrase->count - 1);
        size_t start = finder->starts[first % IK_WORD_QUERY_WORDS_MAX];
        if ((finder->count & (finder->count + 1)) == 0) { /* grow at 0, 1, 3, 7 … */
            finder->matches =
                ik_resize_array(finder->ctx, finder->matches, match_t, 2 * finder->count + 2);
        }
        finder->matches[finder->count++] =
            (match_t){{start, word->offset + word->source_len}, number};
    }
}

static bool on_word(void *data, const ik_text_word_t *word)
{
    finder_t *finder = data;
    finder->starts[finder->words % IK_WORD_QUERY_WORDS_MAX] = word->offset;
    for (size_t i = 0; i < finder->query->count; i++) {
        advance(finder, i, word);
    }
    finder->words++;
    return true;
}

/* Matches are found in the order of their ends. */
static int by_start(const void *a, const void *b)
{
    const range_t *first = &((const match_t *)a)->range;
    const range_t *second = &((const match_t *)b)->range;
    if (first->start != second->start) {
        return first->start < second->start ? -1 : 1;
    }
    return (first->end > second->end) - (first->end < second->end);
}

/* --- choosing what to show --------------------------------------------------------------- */

/* Scores the max bytes from a match on: the number of different phrases counts first, then the
 * number of matches. *range covers the matches that fit. */
static size_t score(const finder_t *finder, size_t first, size_t max, range_t *range)
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

/* Returns the range with the best score, the first of several; empty when nothing matches. */
static range_t find_best(const finder_t *finder, size_t max)
{
    range_t best = {0, 0};
    size_t most = 0;
    for (size_t i = 0; i < finder->count; i++) {
        range_t range;
        size_t worth = score(finder, i, max, &range);
        if (worth > most || i == 0) {
            most = worth;
            best = range;
        }
    }
    return best;
}

static bool is_ascii_blank(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* A cut inside a word moves to the next white space towards the match, which is at limit, if that
 * is at most NEAR bytes away. */
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

/* Adds the surrounding text up to max bytes, half of it before the range. */
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
    size_t at; /* how far source is written */
    ik_buffer_t text;
    bool begun; /* text holds more than the ellipsis */
    bool space; /* a space is due before the next character */
} writer_t;

/* Returns the length of the character at text. Bytes that are not UTF-8 are not blank. */
static size_t step_over(const char *text, size_t len, bool *blank)
{
    bool valid;
    size_t step = ik_utf8_step(text, len, &valid);
    int32_t code;
    *blank = false;
    if (valid) {
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)step, &code);
        utf8proc_category_t category = utf8proc_category(code);
        *blank = category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_ZS ||
                 category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
    }
    return step;
}

/* Writes the source up to end, each run of white space as one space. */
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

/* Finds the next range to mark among the matches from *i on. Overlapping matches are one range; a
 * match that is shown in part is marked in part. False when there is none. */
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

ik_store_snippet_t ik_word_snippet_create(const void *ctx, const ik_word_query_t *query,
                                          const char *text, size_t len, size_t max)
{
    void *scratch = talloc_new(NULL);
    finder_t finder = {.ctx = scratch, .query = query};
    ik_text_words(text, len, on_word, &finder);
    if (finder.count > 0) {
        qsort(finder.matches, finder.count, sizeof(*finder.matches), by_start);
    }
    range_t shown = widen(text, len, find_best(&finder, max), max);

    ik_store_snippet_t snippet = {.count = 0};
    writer_t writer = {.source = text, .at = shown.start};
    ik_buffer_init(&writer.text, ctx, IK_BUFFER_UNLIMITED); /* bounded by max */
    ik_buffer_append_text(&writer.text, shown.start > 0 ? ellipsis : "");
    range_t range;
    for (size_t i = 0; next_marked(&finder, &i, shown, &range);) {
        write_up_to(&writer, range.start);
        size_t offset = writer.text.len + writer.space;
        write_up_to(&writer, range.end);
        snippet.marks = ik_resize_array(ctx, snippet.marks, ik_store_mark_t, snippet.count + 1);
        snippet.marks[snippet.count++] = (ik_store_mark_t){offset, writer.text.len - offset};
    }
    write_up_to(&writer, shown.end);
    ik_buffer_append_text(&writer.text, shown.end < len ? ellipsis : "");
    snippet.text = ik_buffer_finish(&writer.text);
    talloc_free(scratch);
    return snippet;
}
