#include "base/patch_lines.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

enum {
    SIMILAR = 30,          /* percent, for lines that are compared word by word */
    PAIRS_MAX = 4096,      /* of lines that are compared in one place */
    WORD_EFFORT = 1 << 20, /* of one difference, in terms of word_diff.h */
    RUN_MAX = 4096,        /* lines that are kept for being compared */
};

/* --- words ------------------------------------------------------------------------------- */

ik_patch_effort_t ik_patch_lines_effort(void)
{
    return (ik_patch_effort_t){.pairing = WORD_EFFORT, .marking = WORD_EFFORT};
}

static bool compare(const void *ctx, const ik_patch_line_t *removed, const ik_patch_line_t *added,
                    size_t *effort, ik_word_diff_t *diff)
{
    return ik_word_diff_run(ctx, removed->text, removed->len, added->text, added->len, effort,
                            diff);
}

static void mark_words(const void *ctx, ik_patch_effort_t *effort, ik_patch_line_t *removed,
                       ik_patch_line_t *added)
{
    ik_word_diff_t diff;
    if (compare(ctx, removed, added, &effort->marking, &diff)) {
        removed->marks = diff.old;
        added->marks = diff.fresh;
    }
}

/* The pairs are as similar as possible in all, and in order. Where as many lines were added as
 * removed, a line in the same place need have only one word in common; if there are very many, all
 * pairs are such. */
void ik_patch_lines_mark(const void *ctx, ik_patch_effort_t *effort, ik_patch_line_t *removed,
                         size_t removed_count, ik_patch_line_t *added, size_t added_count)
{
    size_t height = removed_count;
    size_t width = added_count;
    if (height == 0 || width == 0 || height > PAIRS_MAX / width) {
        for (size_t i = 0; height == width && i < height; i++) {
            mark_words(ctx, effort, &removed[i], &added[i]);
        }
        return;
    }
    void *scratch = talloc_new(NULL);
    size_t pairs = height * width;
    int *similar = ik_new_array(scratch, int, pairs);                   /* 0: not a pair */
    int *best = ik_new_array(scratch, int, (height + 1) * (width + 1)); /* sum from there on */
    for (size_t i = height; i-- > 0;) {
        int *row = best + i * (width + 1);
        const int *below = row + width + 1;
        for (size_t k = width; k-- > 0;) {
            ik_word_diff_t diff;
            bool alike = compare(scratch, &removed[i], &added[k], &effort->pairing, &diff) &&
                         (diff.similarity >= SIMILAR || (height == width && i == k));
            int paired = alike ? diff.similarity + 1 : 0;
            similar[i * width + k] = paired;
            row[k] = below[k] > row[k + 1] ? below[k] : row[k + 1];
            row[k] = alike && below[k + 1] + paired >= row[k] ? below[k + 1] + paired : row[k];
        }
    }
    for (size_t i = 0, k = 0; i < height && k < width;) {
        int paired = similar[i * width + k];
        const int *here = best + i * (width + 1) + k;
        if (paired > 0 && *here == here[width + 2] + paired) {
            mark_words(ctx, effort, &removed[i++], &added[k++]);
        } else if (here[width + 1] >= here[1]) {
            i++;
        } else {
            k++;
        }
    }
    talloc_free(scratch);
}

/* --- code -------------------------------------------------------------------------------- */

static void ignore_piece(void *data, ik_code_class_t kind, const char *text, size_t len)
{
    (void)data;
    (void)kind;
    (void)text;
    (void)len;
}

static bool is_same_state(const ik_code_state_t *a, const ik_code_state_t *b)
{
    return strcmp(a->close, b->close) == 0 && a->kind == b->kind && a->escapes == b->escapes &&
           a->in_tag == b->in_tag;
}

void ik_patch_lines_follow(const ik_code_language_t *language, ik_code_state_t *old,
                           ik_code_state_t *fresh, ik_patch_line_t *line)
{
    line->language = language;
    line->state = line->kind == IK_PATCH_REMOVED ? *old : *fresh;
    if (language == NULL) {
        return;
    }
    bool same = line->kind == IK_PATCH_KEPT && is_same_state(old, fresh);
    if (line->kind != IK_PATCH_ADDED) {
        ik_code_colour_line(language, old, line->text, line->len, ignore_piece, NULL);
    }
    if (same) {
        *fresh = *old;
    } else if (line->kind != IK_PATCH_REMOVED) {
        ik_code_colour_line(language, fresh, line->text, line->len, ignore_piece, NULL);
    }
}

typedef struct {
    const ik_patch_line_t *line;
    size_t mark; /* the next one that has not ended */
    ik_patch_piece_fn on_piece;
    void *data;
} splitting_t;

static void on_code(void *data, ik_code_class_t kind, const char *text, size_t len)
{
    splitting_t *splitting = data;
    const ik_patch_line_t *line = splitting->line;
    const ik_word_marks_t *marks = &line->marks;
    size_t at = (size_t)(text - line->text);
    size_t end = at + len;
    while (at < end) {
        while (splitting->mark < marks->count && marks->ranges[splitting->mark].to <= at) {
            splitting->mark++;
        }
        bool more = splitting->mark < marks->count;
        bool inside = more && marks->ranges[splitting->mark].from <= at;
        size_t stop = inside ? marks->ranges[splitting->mark].to
                      : more ? marks->ranges[splitting->mark].from
                             : end;
        stop = stop < end ? stop : end;
        splitting->on_piece(splitting->data, kind, inside, line->text + at, stop - at);
        at = stop;
    }
}

void ik_patch_lines_split(const ik_patch_line_t *line, ik_patch_piece_fn on_piece, void *data)
{
    splitting_t splitting = {.line = line, .on_piece = on_piece, .data = data};
    ik_code_state_t state = line->state;
    ik_code_colour_line(line->language, &state, line->text, line->len, on_code, &splitting);
}

/* --- runs of changed lines --------------------------------------------------------------- */

/* Removed lines, and the added ones that follow them, wait for each other. */
typedef struct {
    void *ctx; /* of marks; emptied with the run */
    ik_patch_line_t *lines;
    size_t count;
    size_t removed; /* of them; the others are added */
    size_t capacity;
    ik_patch_effort_t effort;
    ik_patch_line_fn on_line;
    void *data;
} run_t;

static void flush(run_t *run)
{
    if (run->count == 0) {
        return;
    }
    ik_patch_lines_mark(run->ctx, &run->effort, run->lines, run->removed, run->lines + run->removed,
                        run->count - run->removed);
    for (size_t i = 0; i < run->count; i++) {
        run->on_line(run->data, &run->lines[i]);
    }
    run->count = run->removed = 0;
    talloc_free_children(run->ctx);
}

static void report(run_t *run, const ik_patch_line_t *line)
{
    bool follows = line->kind == IK_PATCH_REMOVED ? run->removed == run->count
                                                  : line->kind == IK_PATCH_ADDED && run->count > 0;
    if (!follows || run->count == RUN_MAX) {
        flush(run);
    }
    if (line->kind != IK_PATCH_REMOVED && run->count == 0) {
        run->on_line(run->data, line);
        return;
    }
    if (run->count == run->capacity) {
        run->capacity = run->capacity == 0 ? 32 : 2 * run->capacity;
        run->lines = ik_resize_array(NULL, run->lines, ik_patch_line_t, run->capacity);
    }
    run->lines[run->count++] = *line;
    run->removed += line->kind == IK_PATCH_REMOVED;
}

static run_t begin_run(ik_patch_line_fn on_line, void *data)
{
    return (run_t){.ctx = talloc_new(NULL),
                   .effort = ik_patch_lines_effort(),
                   .on_line = on_line,
                   .data = data};
}

static void end_run(run_t *run)
{
    flush(run);
    talloc_free(run->lines);
    talloc_free(run->ctx);
}

/* --- unified diffs ----------------------------------------------------------------------- */

static bool begins(const ik_patch_line_t *line, const char *with)
{
    size_t len = strlen(with);
    return line->len >= len && memcmp(line->text, with, len) == 0;
}

/* "+++ b/src/main.c<TAB>date", perhaps with quotes. /dev/null leaves the language of the other
 * name.
 */
static void read_name(ik_patch_place_t *place, const ik_patch_line_t *line)
{
    const char *name = line->text + 4;
    const char *tab = memchr(name, '\t', line->len - 4);
    size_t len = tab == NULL ? line->len - 4 : (size_t)(tab - name);
    len -= len > 0 && name[len - 1] == '"';
    size_t from = len;
    while (from > 0 && name[from - 1] != '.' && name[from - 1] != '/') {
        from--;
    }
    bool has_suffix = from > 0 && name[from - 1] == '.';
    if (len != strlen("/dev/null") || memcmp(name, "/dev/null", len) != 0) {
        place->language = has_suffix ? ik_code_colour_find(name + from, len - from) : NULL;
    }
    place->old = place->fresh = (ik_code_state_t){0};
    place->outside = false; /* a model may leave out the header of a hunk */
}

/* Reads a number at *at, which moves behind it; 0 if there is none. */
static size_t read_number(const char **at, const char *end)
{
    size_t number = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
        number = number > SIZE_MAX / 100 ? number : 10 * number + (size_t)(**at - '0');
    }
    return number;
}

/* "@@ -12,3 +12,4 @@"; a count that is missing is 1. */
static void read_header(ik_patch_place_t *place, const ik_patch_line_t *line)
{
    size_t counts[2] = {0, 0};
    const char *at = line->text;
    const char *end = at + line->len;
    for (size_t i = 0; i < 2; i++) {
        at = memchr(at, i == 0 ? '-' : '+', (size_t)(end - at));
        if (at == NULL) {
            break;
        }
        const char *digits = ++at;
        (void)read_number(&at, end);
        counts[i] = at > digits ? 1 : 0;
        if (at < end && *at == ',') {
            at++;
            counts[i] = read_number(&at, end);
        }
    }
    place->old = place->fresh = (ik_code_state_t){0};
    place->old_left = counts[0];
    place->fresh_left = counts[1];
    place->outside = false;
}

/* What a line in a hunk is; false: it ends the hunk. */
static bool read_change(ik_patch_place_t *place, ik_patch_line_t *line)
{
    char first = line->len == 0 ? ' ' : line->text[0];
    bool over = place->old_left == 0 && place->fresh_left == 0;
    bool named = over && (begins(line, "--- ") || begins(line, "+++ "));
    if (named || strchr(" -+\\", first) == NULL) {
        return false;
    }
    if (first == '\\') {
        line->kind = IK_PATCH_OTHER;
        return true;
    }
    line->kind = first == '-' ? IK_PATCH_REMOVED : first == '+' ? IK_PATCH_ADDED : IK_PATCH_KEPT;
    place->old_left -= line->kind != IK_PATCH_ADDED && place->old_left > 0;
    place->fresh_left -= line->kind != IK_PATCH_REMOVED && place->fresh_left > 0;
    line->text += line->len > 0;
    line->len -= line->len > 0;
    ik_patch_lines_follow(place->language, &place->old, &place->fresh, line);
    return true;
}

ik_patch_line_t ik_patch_lines_next(ik_patch_place_t *place, const char *text, size_t len)
{
    ik_patch_line_t line = {.kind = IK_PATCH_OTHER, .text = text, .len = len};
    line.ended = len > 0 && text[len - 1] == '\n';
    line.len -= line.ended;
    line.len -= line.ended && line.len > 0 && text[line.len - 1] == '\r';
    if (!place->outside && read_change(place, &line)) {
        return line;
    }
    place->outside = true;
    if (begins(&line, "@@")) {
        line.kind = IK_PATCH_HUNK;
        read_header(place, &line);
    } else if (begins(&line, "--- ") || begins(&line, "+++ ")) {
        line.kind = IK_PATCH_NAME;
        read_name(place, &line);
    }
    return line;
}

void ik_patch_lines_read(ik_patch_place_t *place, const char *text, size_t len,
                         ik_patch_line_fn on_line, void *data)
{
    run_t run = begin_run(on_line, data);
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t part = end == NULL ? len : (size_t)(end - text) + 1;
        ik_patch_line_t line = ik_patch_lines_next(place, text, part);
        report(&run, &line);
        text += part;
        len -= part;
    }
    end_run(&run);
}

/* --- two texts --------------------------------------------------------------------------- */

typedef struct {
    run_t run;
    const ik_code_language_t *language;
    ik_code_state_t old;
    ik_code_state_t fresh;
} comparing_t;

static void on_compared(void *data, ik_line_change_t change, const char *text, size_t len)
{
    comparing_t *comparing = data;
    bool ended = len > 0 && text[len - 1] == '\n';
    ik_patch_line_t line = {
        .kind = (ik_patch_kind_t)change, .text = text, .len = len - ended, .ended = ended};
    ik_patch_lines_follow(comparing->language, &comparing->old, &comparing->fresh, &line);
    report(&comparing->run, &line);
}

void ik_patch_lines_compare(const ik_code_language_t *language, const char *old, size_t old_len,
                            const char *fresh, size_t fresh_len, ik_patch_line_fn on_line,
                            void *data)
{
    comparing_t comparing = {.run = begin_run(on_line, data), .language = language};
    ik_line_diff_run(old, old_len, fresh, fresh_len, on_compared, &comparing);
    end_run(&comparing.run);
}
