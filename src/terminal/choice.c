#include "terminal/choice.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "terminal/fuzzy.h"

struct ik_choice {
    const char *const *texts;
    size_t all;
    const char **matching; /* the texts that match, in their order */
    size_t *indices;       /* of matching in texts */
    size_t count;
    ik_buffer_t pattern;
    ik_fuzzy_match_t ranked[IK_CHOICE_MAX]; /* indices are into matching */
    size_t ranked_count;
    size_t chosen; /* index in ranked */
    size_t top;    /* index in ranked of the first one shown */
};

ik_choice_t *ik_choice_create(const void *ctx)
{
    ik_choice_t *choice = ik_new(ctx, ik_choice_t);
    ik_buffer_init(&choice->pattern, choice, IK_BUFFER_UNLIMITED); /* what was typed */
    ik_buffer_reserve(&choice->pattern, 0);
    return choice;
}

static void match_all(ik_choice_t *choice)
{
    for (size_t i = 0; i < choice->all; i++) {
        choice->matching[i] = choice->texts[i];
        choice->indices[i] = i;
    }
    choice->count = choice->all;
}

static void rank(ik_choice_t *choice)
{
    choice->ranked_count =
        ik_fuzzy_rank(choice->pattern.data, choice->pattern.len, choice->matching, choice->count,
                      choice->ranked, IK_CHOICE_MAX);
    choice->chosen = choice->top = 0;
}

void ik_choice_set(ik_choice_t *choice, const char *const *texts, size_t count)
{
    choice->texts = texts;
    choice->all = count;
    choice->matching = ik_resize_array(choice, choice->matching, const char *, count + 1);
    choice->indices = ik_resize_array(choice, choice->indices, size_t, count + 1);
    choice->pattern.len = 0;
    match_all(choice);
    rank(choice);
}

/* A text that does not match a pattern matches no longer pattern either. */
static void drop_others(ik_choice_t *choice)
{
    size_t kept = 0;
    for (size_t i = 0; i < choice->count; i++) {
        const char *text = choice->matching[i];
        if (ik_fuzzy_matches(choice->pattern.data, choice->pattern.len, text, strlen(text))) {
            choice->matching[kept] = text;
            choice->indices[kept++] = choice->indices[i];
        }
    }
    choice->count = kept;
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
    drop_others(choice);
    rank(choice);
}

size_t ik_choice_count(const ik_choice_t *choice)
{
    return choice->count;
}

static size_t index_of(const ik_choice_t *choice, size_t ranked)
{
    return choice->indices[choice->ranked[ranked].index];
}

size_t ik_choice_chosen(const ik_choice_t *choice)
{
    return choice->ranked_count == 0 ? SIZE_MAX : index_of(choice, choice->chosen);
}

void ik_choice_move(ik_choice_t *choice, int direction)
{
    size_t count = choice->ranked_count;
    if (count > 0) {
        choice->chosen = (choice->chosen + (direction < 0 ? count - 1 : 1)) % count;
    }
}

void ik_choice_choose(ik_choice_t *choice, const char *text)
{
    for (size_t i = 0; i < choice->ranked_count; i++) {
        if (strcmp(choice->texts[index_of(choice, i)], text) == 0) {
            choice->chosen = i;
            return;
        }
    }
}

size_t ik_choice_show(ik_choice_t *choice, size_t max, size_t *indices)
{
    size_t shown = choice->ranked_count < max ? choice->ranked_count : max;
    if (choice->chosen < choice->top) {
        choice->top = choice->chosen;
    } else if (shown > 0 && choice->chosen >= choice->top + shown) {
        choice->top = choice->chosen - shown + 1;
    }
    if (choice->top + shown > choice->ranked_count) {
        choice->top = choice->ranked_count - shown;
    }
    for (size_t i = 0; i < shown; i++) {
        indices[i] = index_of(choice, choice->top + i);
    }
    return shown;
}
