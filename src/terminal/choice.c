#include "terminal/choice.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "terminal/fuzzy.h"

struct ik_choice {
    const ik_choice_row_t *rows;
    size_t all;
    unsigned flags;
    uint32_t *matching; /* indices of the rows that match, in their order */
    size_t count;
    ik_fuzzy_match_t *ranked; /* the same, best first */
    ik_fuzzy_match_t *spare;  /* for sorting */
    ik_buffer_t pattern;
    size_t chosen; /* index in ranked; SIZE_MAX: none */
    size_t top;    /* index in ranked of the first one shown */
    size_t shown;  /* rows shown last */
    char *kept;    /* what the row stands for that the user moved to; NULL: did not move */
};

ik_choice_t *ik_choice_create(const void *ctx)
{
    ik_choice_t *choice = ik_new(ctx, ik_choice_t);
    ik_buffer_init(&choice->pattern, choice, IK_BUFFER_UNLIMITED); /* what was typed */
    ik_buffer_reserve(&choice->pattern, 0);
    choice->chosen = SIZE_MAX;
    return choice;
}

static void match_all(ik_choice_t *choice)
{
    for (size_t i = 0; i < choice->all; i++) {
        choice->matching[i] = (uint32_t)i;
    }
    choice->count = choice->all;
}

static int score_row(const ik_choice_t *choice, const ik_choice_row_t *row)
{
    const char *pattern = choice->pattern.data;
    size_t len = choice->pattern.len;
    const char *text = row->text + (choice->flags & IK_CHOICE_SLASH ? *row->text == '/' : 0);
    if (len == 0) {
        return 0;
    }
    int score = ik_fuzzy_score(pattern, len, text, strlen(text));
    if (row->also == NULL) {
        return score;
    }
    bool named = strncmp(row->also, pattern, len) == 0 && row->also[len] == '\0';
    if (score < 0 || named) {
        score = ik_fuzzy_score(pattern, len, row->also, strlen(row->also));
        score = named || score < 0 ? score : score / 2;
    }
    return score;
}

/* Drops the rows that no longer match and ranks the others. A row that does not match a pattern
 * matches no longer pattern either. */
static void rank(ik_choice_t *choice)
{
    size_t kept = 0;
    for (size_t i = 0; i < choice->count; i++) {
        uint32_t index = choice->matching[i];
        int score = score_row(choice, &choice->rows[index]);
        if (score >= 0) {
            choice->matching[kept] = index;
            choice->ranked[kept++] = (ik_fuzzy_match_t){.index = index, .score = score};
        }
    }
    choice->count = kept;
    if (choice->pattern.len > 0) {
        ik_fuzzy_sort(choice->ranked, kept, choice->spare);
    }
    choice->chosen = kept == 0 || (choice->flags & IK_CHOICE_UNMARKED) ? SIZE_MAX : 0;
    choice->top = 0;
    TALLOC_FREE(choice->kept);
}

static void set_rows(ik_choice_t *choice, const ik_choice_row_t *rows, size_t count)
{
    choice->rows = rows;
    choice->all = count;
    choice->matching = ik_resize_array(choice, choice->matching, uint32_t, count + 1);
    choice->ranked = ik_resize_array(choice, choice->ranked, ik_fuzzy_match_t, count + 1);
    choice->spare = ik_resize_array(choice, choice->spare, ik_fuzzy_match_t, count + 1);
    match_all(choice);
    rank(choice);
}

void ik_choice_set(ik_choice_t *choice, const ik_choice_row_t *rows, size_t count, unsigned flags)
{
    choice->flags = flags;
    choice->pattern.len = 0;
    set_rows(choice, rows, count);
}

static const char *identity(const ik_choice_row_t *row)
{
    return row->value == NULL ? row->text : row->value;
}

static void choose(ik_choice_t *choice, size_t ranked)
{
    if (choice->count > 0) {
        choice->chosen = ranked;
        talloc_free(choice->kept);
        choice->kept = ik_strdup(choice, identity(&choice->rows[choice->ranked[ranked].index]));
    }
}

void ik_choice_replace(ik_choice_t *choice, const ik_choice_row_t *rows, size_t count)
{
    char *kept = choice->kept;
    choice->kept = NULL;
    set_rows(choice, rows, count);
    for (size_t i = 0; kept != NULL && i < choice->count; i++) {
        if (strcmp(identity(&rows[choice->ranked[i].index]), kept) == 0) {
            choose(choice, i);
            break;
        }
    }
    talloc_free(kept);
}

void ik_choice_narrow(ik_choice_t *choice, const char *pattern, size_t len)
{
    ik_buffer_t *old = &choice->pattern;
    bool same = len >= old->len && memcmp(pattern, old->data, old->len) == 0;
    if (same && len == old->len) {
        return;
    }
    if (!same) {
        match_all(choice);
    }
    old->len = 0;
    ik_buffer_append(old, pattern, len);
    rank(choice);
}

size_t ik_choice_count(const ik_choice_t *choice)
{
    return choice->count;
}

size_t ik_choice_chosen(const ik_choice_t *choice)
{
    return choice->chosen == SIZE_MAX ? SIZE_MAX : choice->ranked[choice->chosen].index;
}

void ik_choice_move(ik_choice_t *choice, int direction)
{
    size_t last = choice->count - 1;
    if (choice->chosen == SIZE_MAX) {
        choose(choice, direction < 0 ? last : 0);
    } else if (direction < 0) {
        choose(choice, choice->chosen == 0 ? last : choice->chosen - 1);
    } else {
        choose(choice, choice->chosen == last ? 0 : choice->chosen + 1);
    }
}

void ik_choice_page(ik_choice_t *choice, int direction)
{
    size_t last = choice->count - 1;
    size_t from = choice->chosen == SIZE_MAX ? 0 : choice->chosen;
    size_t step = choice->shown == 0 ? 1 : choice->shown;
    if (direction < 0) {
        choose(choice, from < step ? 0 : from - step);
    } else {
        choose(choice, last - from < step ? last : from + step);
    }
}

void ik_choice_go_to_end(ik_choice_t *choice, int direction)
{
    choose(choice, direction < 0 ? 0 : choice->count - 1);
}

void ik_choice_choose_best(ik_choice_t *choice)
{
    if (choice->chosen == SIZE_MAX) {
        choose(choice, 0);
    }
}

void ik_choice_choose(ik_choice_t *choice, size_t index)
{
    for (size_t i = 0; i < choice->count; i++) {
        if (choice->ranked[i].index == index) {
            choose(choice, i);
            return;
        }
    }
}

size_t ik_choice_show(ik_choice_t *choice, size_t max, size_t *indices)
{
    size_t shown = choice->count < max ? choice->count : max;
    size_t chosen = choice->chosen == SIZE_MAX ? 0 : choice->chosen;
    if (chosen < choice->top) {
        choice->top = chosen;
    } else if (shown > 0 && chosen >= choice->top + shown) {
        choice->top = chosen - shown + 1;
    }
    if (choice->top + shown > choice->count) {
        choice->top = choice->count - shown;
    }
    for (size_t i = 0; i < shown; i++) {
        indices[i] = choice->ranked[choice->top + i].index;
    }
    choice->shown = shown;
    return shown;
}
