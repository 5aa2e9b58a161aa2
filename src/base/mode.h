/* How far an agent may go without asking. */
#pragma once

#include <stdbool.h>
#include <string.h>

typedef enum {
    IK_MODE_AUTO, /* calls run inside their confinement; more is asked for */
    IK_MODE_ASK,  /* what may write is asked about first */
    IK_MODE_PLAN, /* nothing is written and there is no network */
    IK_MODE_FULL, /* no questions, no confinement */
    IK_MODE_COUNT,
} ik_mode_t;

/* "auto", "ask", "plan", "full" */
static inline const char *ik_mode_name(ik_mode_t mode)
{
    static const char *const names[] = {"auto", "ask", "plan", "full"};
    return names[mode];
}

/* What the mode does, in a few words. */
static inline const char *ik_mode_help(ik_mode_t mode)
{
    static const char *const helps[] = {
        "calls run confined; more is asked for", "asks before anything is written",
        "nothing is written, no network", "no questions, no confinement"};
    return helps[mode];
}

/* The one of two that allows less: full allows most, then auto, ask and plan. */
static inline ik_mode_t ik_mode_narrower(ik_mode_t one, ik_mode_t two)
{
    static const int ranks[] = {
        [IK_MODE_FULL] = 0, [IK_MODE_AUTO] = 1, [IK_MODE_ASK] = 2, [IK_MODE_PLAN] = 3};
    return ranks[one] > ranks[two] ? one : two;
}

static inline bool ik_mode_parse(const char *name, ik_mode_t *mode)
{
    for (*mode = IK_MODE_AUTO; *mode < IK_MODE_COUNT; ++*mode) {
        if (strcmp(ik_mode_name(*mode), name) == 0) {
            return true;
        }
    }
    return false;
}
