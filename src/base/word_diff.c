/* The longest common subsequence of pieces, weighted so that a long word counts more than commas.
 */
#include "base/word_diff.h"

#include <stdint.h>
#include <string.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "base/width.h"

enum { CELLS_MAX = 256 * 1024 };

typedef enum { PIECE_WORD, PIECE_SPACE, PIECE_OTHER } kind_t;

typedef struct {
    const char *text;
    size_t len;
    kind_t kind;
    bool is_common;
} piece_t;

typedef struct {
    const char *text;
    piece_t *pieces;
    size_t count;
    size_t end;   /* start of the common pieces at the end */
    size_t words; /* bytes of all words */
} line_t;

/* --- pieces ------------------------------------------------------------------------------ */

static kind_t classify(const char *text, size_t len)
{
    unsigned char c = (unsigned char)*text;
    if (c < 0x80) {
        bool word =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        bool space = (c == ' ' || c == '\t') && len == 1;
        return word ? PIECE_WORD : space ? PIECE_SPACE : PIECE_OTHER;
    }
    bool valid;
    size_t step = ik_utf8_step(text, len, &valid);
    switch (valid ? utf8proc_category(ik_utf8_decode(text, step)) : UTF8PROC_CATEGORY_CN) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return PIECE_WORD;
    default:
        return PIECE_OTHER;
    }
}

/* Words and white space continue over several graphemes, wide characters stand alone. */
static line_t split(const void *ctx, const char *text, size_t len)
{
    line_t line = {.text = text, .pieces = ik_new_array(ctx, piece_t, len)};
    bool continues = false;
    for (size_t at = 0; at < len;) {
        ik_grapheme_t grapheme = ik_width_grapheme(text + at, len - at);
        kind_t kind = classify(text + at, grapheme.len);
        bool wide = grapheme.columns > 1;
        if (continues && !wide && kind != PIECE_OTHER && line.pieces[line.count - 1].kind == kind) {
            line.pieces[line.count - 1].len += grapheme.len;
        } else {
            line.pieces[line.count++] =
                (piece_t){.text = text + at, .len = grapheme.len, .kind = kind};
        }
        line.words += kind == PIECE_WORD ? grapheme.len : 0;
        continues = !wide;
        at += grapheme.len;
    }
    line.end = line.count;
    return line;
}

static bool same(const piece_t *a, const piece_t *b)
{
    return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/* --- the common pieces ------------------------------------------------------------------- */

static void match(piece_t *old, piece_t *fresh)
{
    old->is_common = true;
    fresh->is_common = true;
}

/* Matches the common pieces at both ends; returns the number of those at the start. */
static size_t match_ends(line_t *old, line_t *fresh)
{
    size_t first = 0;
    while (first < old->end && first < fresh->end &&
           same(&old->pieces[first], &fresh->pieces[first])) {
        match(&old->pieces[first], &fresh->pieces[first]);
        first++;
    }
    while (old->end > first && fresh->end > first &&
           same(&old->pieces[old->end - 1], &fresh->pieces[fresh->end - 1])) {
        match(&old->pieces[--old->end], &fresh->pieces[--fresh->end]);
    }
    return first;
}

static uint32_t weight(const piece_t *piece)
{
    return piece->kind == PIECE_WORD ? (uint32_t)piece->len + 1 : 1;
}

/* Matches the pieces between the ends. table holds the weight of the best match from there on. */
static void match_middle(line_t *old, line_t *fresh, size_t first, uint32_t *table)
{
    size_t height = old->end - first;
    size_t width = fresh->end - first;
    const piece_t *rows = old->pieces + first;
    const piece_t *columns = fresh->pieces + first;
    for (size_t i = height; i-- > 0;) {
        uint32_t *row = table + i * (width + 1);
        const uint32_t *below = row + width + 1;
        for (size_t k = width; k-- > 0;) {
            row[k] = same(&rows[i], &columns[k]) ? below[k + 1] + weight(&rows[i])
                     : below[k] > row[k + 1]     ? below[k]
                                                 : row[k + 1];
        }
    }
    for (size_t i = 0, k = 0; i < height && k < width;) {
        if (same(&rows[i], &columns[k])) {
            match(&old->pieces[first + i++], &fresh->pieces[first + k++]);
        } else if (table[(i + 1) * (width + 1) + k] >= table[i * (width + 1) + k + 1]) {
            i++;
        } else {
            k++;
        }
    }
}

/* --- the marks --------------------------------------------------------------------------- */

/* White space around changed words is not marked. */
static ik_word_marks_t mark(const void *ctx, const line_t *line)
{
    ik_word_marks_t marks = {0};
    for (size_t i = 0; i < line->count; i++) {
        marks.count += !line->pieces[i].is_common && (i == 0 || line->pieces[i - 1].is_common);
    }
    marks.ranges = ik_alloc_array(ctx, sizeof(*marks.ranges), marks.count, "ik_word_marks_t");
    size_t next = 0;
    for (size_t i = 0, end; i < line->count; i = end) {
        end = i + 1;
        if (line->pieces[i].is_common) {
            continue;
        }
        while (end < line->count && !line->pieces[end].is_common) {
            end++;
        }
        size_t first = i;
        size_t last = end - 1;
        while (first < last && line->pieces[first].kind == PIECE_SPACE) {
            first++;
        }
        while (last > first && line->pieces[last].kind == PIECE_SPACE) {
            last--;
        }
        marks.ranges[next].from = (size_t)(line->pieces[first].text - line->text);
        marks.ranges[next++].to =
            (size_t)(line->pieces[last].text - line->text) + line->pieces[last].len;
    }
    return marks;
}

bool ik_word_diff_run(const void *ctx, const char *old_text, size_t old_len, const char *fresh_text,
                      size_t fresh_len, size_t *effort, ik_word_diff_t *out)
{
    size_t bytes = old_len + fresh_len;
    if (old_len > IK_WORD_DIFF_LINE_MAX || fresh_len > IK_WORD_DIFF_LINE_MAX || bytes > *effort) {
        return false;
    }
    *effort -= bytes;
    void *scratch = talloc_new(NULL);
    line_t old = split(scratch, old_text, old_len);
    line_t fresh = split(scratch, fresh_text, fresh_len);
    size_t first = match_ends(&old, &fresh);
    size_t cells = (old.end - first + 1) * (fresh.end - first + 1);
    bool feasible = cells <= CELLS_MAX && cells <= *effort;
    if (feasible) {
        *effort -= cells;
        match_middle(&old, &fresh, first, ik_new_array(scratch, uint32_t, cells));
    }
    size_t common = 0;
    for (size_t i = 0; i < old.count; i++) {
        const piece_t *piece = &old.pieces[i];
        common += piece->is_common && piece->kind == PIECE_WORD ? piece->len : 0;
    }
    if (feasible && common > 0) {
        size_t longer = old.words > fresh.words ? old.words : fresh.words;
        *out = (ik_word_diff_t){.old = mark(ctx, &old),
                                .fresh = mark(ctx, &fresh),
                                .similarity = (int)(common * 100 / longer)};
    }
    talloc_free(scratch);
    return feasible && common > 0;
}
