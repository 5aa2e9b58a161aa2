/*
 * Small texts: the textbook table of the longest common subsequence. Larger ones: Myers' algorithm,
 * whose work depends on the number of differences ("An O(ND) Difference Algorithm", 1986).
 */
#include "base/line_diff.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

enum { CELLS_MAX = 4 << 20, STEPS_MAX = 2000 };

typedef struct {
    const char *text;
    size_t len;
} line_t;

typedef struct {
    line_t *lines;
    size_t count;
} lines_t;

typedef struct {
    lines_t old;
    lines_t fresh;
    size_t first;      /* number of common lines at the start */
    size_t old_last;   /* start of the common lines at the end of the old text */
    size_t fresh_last; /* and of the new text */
    uint32_t *table;   /* LCS lengths of the remaining lines; NULL if it would be too large */
    bool *kept;        /* then: whether an old line is kept; NULL if there are too many changes */
    ik_line_diff_fn on_line;
    void *data;
} diff_t;

static lines_t split(const void *ctx, const char *text, size_t len)
{
    lines_t split = {.count = len > 0 && text[len - 1] != '\n'};
    for (size_t i = 0; i < len; i++) {
        split.count += text[i] == '\n';
    }
    split.lines = ik_new_array(ctx, line_t, split.count);
    for (size_t i = 0; i < split.count; i++) {
        const char *end = memchr(text, '\n', len);
        size_t line_len = end == NULL ? len : (size_t)(end - text) + 1;
        split.lines[i] = (line_t){.text = text, .len = line_len};
        text += line_len;
        len -= line_len;
    }
    return split;
}

static bool same(const diff_t *diff, size_t old, size_t fresh)
{
    line_t a = diff->old.lines[old];
    line_t b = diff->fresh.lines[fresh];
    return a.len == b.len && memcmp(a.text, b.text, a.len) == 0;
}

static void find_ends(diff_t *diff)
{
    diff->old_last = diff->old.count;
    diff->fresh_last = diff->fresh.count;
    while (diff->first < diff->old_last && diff->first < diff->fresh_last &&
           same(diff, diff->first, diff->first)) {
        diff->first++;
    }
    while (diff->old_last > diff->first && diff->fresh_last > diff->first &&
           same(diff, diff->old_last - 1, diff->fresh_last - 1)) {
        diff->old_last--;
        diff->fresh_last--;
    }
}

static uint32_t *cell(const diff_t *diff, size_t old, size_t fresh)
{
    size_t width = diff->fresh_last - diff->first + 1;
    return &diff->table[(old - diff->first) * width + fresh - diff->first];
}

static void fill_table(const void *ctx, diff_t *diff)
{
    size_t height = diff->old_last - diff->first + 1;
    size_t width = diff->fresh_last - diff->first + 1;
    if (height > CELLS_MAX / width) {
        return;
    }
    diff->table = ik_new_array(ctx, uint32_t, height * width);
    for (size_t old = diff->old_last; old-- > diff->first;) {
        for (size_t fresh = diff->fresh_last; fresh-- > diff->first;) {
            uint32_t down = *cell(diff, old + 1, fresh);
            uint32_t right = *cell(diff, old, fresh + 1);
            *cell(diff, old, fresh) = same(diff, old, fresh) ? *cell(diff, old + 1, fresh + 1) + 1
                                      : down > right         ? down
                                                             : right;
        }
    }
}

/* After d steps, how far the old text is read at best on each diagonal; the diagonal is the number
 * of old lines read minus that of new ones, and goes from -d to d in steps of two. */
static int64_t *reach_of(int64_t *const *reached, int64_t d, int64_t diagonal)
{
    return &reached[d][(diagonal + d) / 2];
}

/* Whether the best way to this diagonal in d steps adds a line; otherwise it removes one. */
static bool comes_by_adding(int64_t *const *reached, int64_t d, int64_t diagonal)
{
    return diagonal == -d || (diagonal != d && *reach_of(reached, d - 1, diagonal - 1) <
                                                   *reach_of(reached, d - 1, diagonal + 1));
}

/* Goes back along the shortest way and marks the lines that it keeps. */
static void mark_kept(diff_t *diff, int64_t *const *reached, int64_t d, int64_t diagonal)
{
    int64_t old = *reach_of(reached, d, diagonal);
    for (; d >= 0; d--) {
        int64_t start = 0;
        if (d > 0) {
            bool adding = comes_by_adding(reached, d, diagonal);
            diagonal += adding ? 1 : -1;
            int64_t before = *reach_of(reached, d - 1, diagonal);
            start = adding ? before : before + 1;
            for (int64_t line = start; line < old; line++) {
                diff->kept[line] = true;
            }
            old = before;
        } else {
            for (int64_t line = start; line < old; line++) {
                diff->kept[line] = true;
            }
        }
    }
}

static void find_shortest_way(const void *ctx, diff_t *diff)
{
    int64_t old_count = (int64_t)(diff->old_last - diff->first);
    int64_t fresh_count = (int64_t)(diff->fresh_last - diff->first);
    int64_t **reached = ik_new_array(ctx, int64_t *, STEPS_MAX);
    for (int64_t d = 0; d < STEPS_MAX; d++) {
        reached[d] = ik_new_array(ctx, int64_t, (size_t)d + 1);
        for (int64_t diagonal = -d; diagonal <= d; diagonal += 2) {
            int64_t old = d == 0 ? 0
                          : comes_by_adding(reached, d, diagonal)
                              ? *reach_of(reached, d - 1, diagonal + 1)
                              : *reach_of(reached, d - 1, diagonal - 1) + 1;
            while (old < old_count && old - diagonal < fresh_count && old - diagonal >= 0 &&
                   same(diff, diff->first + (size_t)old, diff->first + (size_t)(old - diagonal))) {
                old++;
            }
            *reach_of(reached, d, diagonal) = old;
            if (old >= old_count && old - diagonal >= fresh_count) {
                diff->kept = ik_new_array(ctx, bool, (size_t)old_count);
                mark_kept(diff, reached, d, diagonal);
                return;
            }
        }
    }
}

static void emit(const diff_t *diff, ik_line_change_t change, lines_t lines, size_t at)
{
    diff->on_line(diff->data, change, lines.lines[at].text, lines.lines[at].len);
}

/* Emits removed lines before added ones, as diff does. */
static void walk_marked(const diff_t *diff)
{
    size_t fresh = diff->first;
    for (size_t old = diff->first; old < diff->old_last; old++) {
        if (!diff->kept[old - diff->first]) {
            emit(diff, IK_LINE_REMOVED, diff->old, old);
            continue;
        }
        while (!same(diff, old, fresh)) {
            emit(diff, IK_LINE_ADDED, diff->fresh, fresh++);
        }
        emit(diff, IK_LINE_KEPT, diff->old, old);
        fresh++;
    }
    while (fresh < diff->fresh_last) {
        emit(diff, IK_LINE_ADDED, diff->fresh, fresh++);
    }
}

static void walk(const diff_t *diff)
{
    size_t old = diff->first;
    size_t fresh = old;
    while (old < diff->old_last || fresh < diff->fresh_last) {
        bool both = old < diff->old_last && fresh < diff->fresh_last;
        if (both && diff->table != NULL && same(diff, old, fresh)) {
            emit(diff, IK_LINE_KEPT, diff->old, old++);
            fresh++;
        } else if (old < diff->old_last &&
                   (!both || diff->table == NULL ||
                    *cell(diff, old + 1, fresh) >= *cell(diff, old, fresh + 1))) {
            emit(diff, IK_LINE_REMOVED, diff->old, old++);
        } else {
            emit(diff, IK_LINE_ADDED, diff->fresh, fresh++);
        }
    }
}

void ik_line_diff_run(const char *old, size_t old_len, const char *fresh, size_t fresh_len,
                      ik_line_diff_fn on_line, void *data)
{
    void *scratch = talloc_new(NULL);
    diff_t diff = {.on_line = on_line, .data = data};
    diff.old = split(scratch, old, old_len);
    diff.fresh = split(scratch, fresh, fresh_len);
    find_ends(&diff);
    fill_table(scratch, &diff);
    if (diff.table == NULL) {
        find_shortest_way(scratch, &diff);
    }
    for (size_t i = 0; i < diff.first; i++) {
        emit(&diff, IK_LINE_KEPT, diff.old, i);
    }
    if (diff.kept != NULL) {
        walk_marked(&diff);
    } else {
        walk(&diff);
    }
    for (size_t i = diff.old_last; i < diff.old.count; i++) {
        emit(&diff, IK_LINE_KEPT, diff.old, i);
    }
    talloc_free(scratch);
}
