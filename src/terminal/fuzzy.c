/*
 * The leftmost match is found from the left; a search back from its end gives the shortest match
 * that ends there, and that one is scored. It is not always the best of all matches, but it costs
 * two passes over the text and no memory. Users usually type the name of a file, so a match in the
 * last component of a path is preferred; the folders count only if there is none.
 */
#include "terminal/fuzzy.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

enum {
    SCALE = 8, /* bytes of length that are worth one point */
    BASE = 64, /* keeps the score of a match positive */
    LENGTH_MAX = SCALE * BASE,
    LETTER = 16,
    ADJACENT = 8,
    BEGINS_TEXT = 10,
    BEGINS_WORD = 8,
    SAME_CASE = 1,
    GAP_MAX = 10,
    FILE_NAME = 12,
};

static bool is_upper(char byte)
{
    return byte >= 'A' && byte <= 'Z';
}

static unsigned char fold(char byte)
{
    return is_upper(byte) ? (unsigned char)(byte + 32) : (unsigned char)byte;
}

/* The end of the leftmost match, or 0. */
static size_t find_end(const char *pattern, size_t pattern_len, const char *text, size_t text_len)
{
    size_t matched = 0;
    for (size_t i = 0; i < text_len; i++) {
        if (fold(text[i]) == fold(pattern[matched]) && ++matched == pattern_len) {
            return i + 1;
        }
    }
    return 0;
}

static int rate_start(const char *text, size_t at)
{
    if (at == 0) {
        return BEGINS_TEXT;
    }
    bool after_separator = strchr("/_-. \t\n", text[at - 1]) != NULL;
    bool hump = is_upper(text[at]) && !is_upper(text[at - 1]);
    return after_separator || hump ? BEGINS_WORD : 0;
}

/* Scores the shortest match that ends where the leftmost one does. Negative if there is none. */
static int score_part(const char *pattern, size_t pattern_len, const char *text, size_t text_len)
{
    size_t end = find_end(pattern, pattern_len, text, text_len);
    if (end == 0) {
        return -1;
    }
    size_t at = end;
    for (size_t left = pattern_len; left > 0;) {
        at--;
        left -= fold(text[at]) == fold(pattern[left - 1]);
    }
    int score = 0;
    size_t next = at; /* after the previous letter */
    for (size_t matched = 0; matched < pattern_len; matched++) {
        while (fold(text[at]) != fold(pattern[matched])) {
            at++;
        }
        score += LETTER + rate_start(text, at) + (text[at] == pattern[matched] ? SAME_CASE : 0);
        if (matched > 0) {
            size_t gap = at - next;
            score += gap == 0 ? ADJACENT : gap < GAP_MAX ? -(int)gap : -GAP_MAX;
        }
        next = ++at;
    }
    return score;
}

static bool is_same(const char *pattern, const char *text, size_t len)
{
    size_t i = 0;
    while (i < len && fold(pattern[i]) == fold(text[i])) {
        i++;
    }
    return i == len;
}

int ik_fuzzy_score(const char *pattern, size_t pattern_len, const char *text, size_t text_len)
{
    if (pattern_len == 0) {
        return 0;
    }
    if (pattern_len == text_len && is_same(pattern, text, text_len)) {
        return INT_MAX - (memcmp(pattern, text, text_len) != 0);
    }
    const char *slash = memrchr(text, '/', text_len);
    const char *name = slash == NULL ? text : slash + 1;
    int score = score_part(pattern, pattern_len, name, text_len - (size_t)(name - text));
    bool in_name = score >= 0;
    if (!in_name && slash != NULL) {
        score = score_part(pattern, pattern_len, text, text_len);
    }
    if (score < 0) {
        return -1;
    }
    score += in_name ? FILE_NAME : 0;
    size_t counted = text_len < LENGTH_MAX ? text_len : LENGTH_MAX;
    return SCALE * (BASE + score) - (int)counted;
}

/* One pass of a radix sort by one byte of the score, the highest first. */
static void sort_by_byte(const ik_fuzzy_match_t *from, size_t count, int shift,
                         ik_fuzzy_match_t *to)
{
    size_t begin[256] = {0};
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        begin[from[i].score >> shift & 0xff]++;
    }
    for (int value = 255; value >= 0; value--) {
        size_t here = begin[value];
        begin[value] = at;
        at += here;
    }
    for (size_t i = 0; i < count; i++) {
        to[begin[from[i].score >> shift & 0xff]++] = from[i];
    }
}

void ik_fuzzy_sort(ik_fuzzy_match_t *matches, size_t count, ik_fuzzy_match_t *spare)
{
    sort_by_byte(matches, count, 0, spare);
    sort_by_byte(spare, count, 8, matches);
    sort_by_byte(matches, count, 16, spare);
    sort_by_byte(spare, count, 24, matches);
}
