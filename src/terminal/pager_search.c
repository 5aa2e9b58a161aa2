#include "terminal/pager_search.h"

#include <string.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/utf8.h"

struct ik_pager_search {
    ik_pager_parts_t *parts;
    char *pattern;   /* as typed; NULL: none */
    ik_buffer_t key; /* the pattern, folded if case is ignored */
    bool folded;
    ik_buffer_t text; /* plain text of the current part */
    /* the current search */
    ik_pager_direction_t direction;
    size_t part; /* where it started */
    size_t line; /* in that part: forward, the first line searched; backward, the first one not */
    size_t visited; /* number of parts; the first part is visited again at the end */
};

ik_pager_search_t *ik_pager_search_create(const void *ctx, ik_pager_parts_t *parts)
{
    ik_pager_search_t *search = ik_new(ctx, ik_pager_search_t);
    search->parts = parts;
    ik_buffer_init(&search->key, search, IK_BUFFER_UNLIMITED);  /* bounded by the pattern */
    ik_buffer_init(&search->text, search, IK_BUFFER_UNLIMITED); /* bounded by the part */
    return search;
}

/* --- pattern ----------------------------------------------------------------------------- */

static bool has_capital(const char *text)
{
    size_t len = strlen(text);
    bool valid;
    for (size_t at = 0, step; at < len; at += step) {
        step = ik_utf8_step(text + at, len - at, &valid);
        int32_t code = valid ? ik_utf8_decode(text + at, step) : 0;
        if (utf8proc_tolower(code) != code) {
            return true;
        }
    }
    return false;
}

void ik_pager_search_set_pattern(ik_pager_search_t *search, const char *pattern)
{
    talloc_free(search->pattern);
    search->pattern = ik_strdup(search, pattern);
    search->folded = !has_capital(pattern);
    search->key.len = 0;
    ik_pager_part_append_plain(&search->key, pattern, strlen(pattern), search->folded);
}

const char *ik_pager_search_pattern(const ik_pager_search_t *search)
{
    return search->pattern;
}

/* The next match in [from, end), or NULL. */
static const char *find_next(const ik_pager_search_t *search, const char *from, const char *end)
{
    return memmem(from, (size_t)(end - from), search->key.data, search->key.len);
}

/* --- searching --------------------------------------------------------------------------- */

void ik_pager_search_start(ik_pager_search_t *search, const ik_pager_position_t *from,
                           bool inclusive, ik_pager_direction_t direction)
{
    bool counts = direction == IK_PAGER_FORWARD ? inclusive : !inclusive;
    search->direction = direction;
    search->part = from->part;
    search->line = counts ? from->line : from->line + 1;
    search->visited = 0;
}

/* The part to visit next, and whether the search has wrapped around by then. */
static size_t part_to_visit(const ik_pager_search_t *search, bool *wrapped)
{
    size_t count = ik_pager_parts_count(search->parts);
    if (search->direction == IK_PAGER_FORWARD) {
        *wrapped = search->part + search->visited >= count;
        return (search->part + search->visited) % count;
    }
    *wrapped = search->visited > search->part;
    return (search->part + count - search->visited) % count;
}

/* The first match that starts in [from, end) of the text; when searching backward, the last one. */
static bool find_match(const ik_pager_search_t *search, size_t from, size_t end, size_t *at)
{
    const char *text = search->text.data;
    const char *limit = text + search->text.len;
    const char *match = from < end ? find_next(search, text + from, limit) : NULL;
    bool found = false;
    while (match != NULL && (size_t)(match - text) < end) {
        *at = (size_t)(match - text);
        found = true;
        match = search->direction == IK_PAGER_FORWARD ? NULL : find_next(search, match + 1, limit);
    }
    return found;
}

/* Only the first visit of the part where the search started excludes some of its lines. */
static bool find_in_part(ik_pager_search_t *search, size_t number, ik_pager_position_t *found)
{
    size_t from = 0;
    size_t end = SIZE_MAX;
    size_t at;
    if (search->visited == 0) {
        const ik_pager_part_t *part = ik_pager_parts_get(search->parts, number);
        size_t border = search->line < part->count ? part->lines[search->line].plain : SIZE_MAX;
        *(search->direction == IK_PAGER_FORWARD ? &from : &end) = border;
    }
    search->text.len = 0;
    ik_pager_parts_append_plain(search->parts, number, search->folded, &search->text);
    if (search->text.len == 0 || !find_match(search, from, end, &at)) {
        return false;
    }
    const ik_pager_part_t *part = ik_pager_parts_get(search->parts, number);
    *found = (ik_pager_position_t){.part = number, .line = ik_pager_part_line_of(part, at)};
    return true;
}

ik_pager_outcome_t ik_pager_search_continue(ik_pager_search_t *search, ik_pager_position_t *found)
{
    ik_pager_outcome_t outcome = IK_PAGER_SEARCH_NOT_FOUND;
    size_t count = ik_pager_parts_count(search->parts);
    int64_t until = ik_clock_now_ms() + IK_PAGER_SLICE_MS;
    for (int i = 0; search->visited <= count && count > 0; i++) {
        if (i == IK_PAGER_SLICE_PARTS || (i > 0 && ik_clock_now_ms() >= until)) {
            return IK_PAGER_SEARCH_PENDING;
        }
        bool wrapped;
        size_t number = part_to_visit(search, &wrapped);
        if (find_in_part(search, number, found)) {
            outcome = wrapped ? IK_PAGER_SEARCH_FOUND_WRAPPED : IK_PAGER_SEARCH_FOUND;
            break;
        }
        search->visited++;
    }
    ik_buffer_reset(&search->text); /* the part may have been large */
    return outcome;
}

int ik_pager_search_percent(const ik_pager_search_t *search)
{
    return (int)(search->visited * 100 / (ik_pager_parts_count(search->parts) + 1));
}

/* --- marking ----------------------------------------------------------------------------- */

/* A match may start before and end after the given lines. It spans at most as many lines as the
 * pattern has bytes. */
ik_pager_mark_t *ik_pager_search_marks(const void *ctx, const ik_pager_search_t *search,
                                       const ik_pager_part_t *part, size_t first, size_t last,
                                       ik_style_t style, size_t *count)
{
    ik_pager_mark_t *marks = NULL;
    ik_buffer_t text;
    *count = 0;
    if (search->key.len == 0) {
        return NULL;
    }
    size_t margin = search->key.len;
    const ik_pager_line_t *from = &part->lines[first < margin ? 0 : first - margin];
    const ik_pager_line_t *to =
        &part->lines[last + margin < part->count ? last + margin : part->count - 1];
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by the lines */
    ik_pager_part_append_plain(&text, part->bytes.data + from->at, to->at + to->len - from->at,
                               search->folded);
    const char *end = text.data + text.len;
    const char *match = text.len == 0 ? NULL : find_next(search, text.data, end);
    while (match != NULL) {
        size_t begin = from->plain + (size_t)(match - text.data);
        if ((*count & (*count - 1)) == 0) { /* 0 or a power of two: full */
            marks = ik_resize_array(ctx, marks, ik_pager_mark_t, *count == 0 ? 1 : 2 * *count);
        }
        marks[(*count)++] = (ik_pager_mark_t){begin, begin + search->key.len, style};
        match = find_next(search, match + search->key.len, end);
    }
    ik_buffer_reset(&text);
    return marks;
}
