/*
 * What a hook says: its exit status and what it printed, read as Claude Code, codex and crush write
 * answers. Pure: no process, no clock.
 *
 *   0      no objection, or what the JSON object on standard output says
 *   2      block; standard error has the reason
 *   49     end the turn; standard error has the reason
 *   other  the hook failed, and has no say
 *
 * Several answers are joined in the order of their hooks: deny beats ask beats allow beats silence.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/hook_event.h"
#include "base/json.h"

enum { IK_HOOK_OUTPUT_MAX = 64 * 1024 }; /* bytes that a hook may print */

/* A later one beats an earlier one. */
typedef enum {
    IK_HOOK_SILENCE,
    IK_HOOK_ALLOW,
    IK_HOOK_ASK,
    IK_HOOK_DENY, /* of events other than before_tool: block */
} ik_hook_decision_t;

/* Texts are valid UTF-8 and not empty, or NULL: none. */
typedef struct {
    /* Why the hook failed, as the end of a sentence; then nothing else that it said counts. */
    const char *failure;
    ik_hook_decision_t decision;
    const char *reason;  /* of the decision or of the end */
    bool stops;          /* the turn ends */
    const char *context; /* for the model */
    const char *message; /* for the user */
    const char *input;   /* arguments of the call, a JSON object */
    bool patches;        /* only its members replace those of the arguments */
} ik_hook_answer_t;

/* How a hook ended. */
typedef struct {
    int status;
    ik_json_span_t out; /* bytes, not JSON */
    ik_json_span_t err;
} ik_hook_output_t;

/* Texts are on ctx. */
ik_hook_answer_t ik_hook_answer_parse(const void *ctx, ik_hook_event_t event,
                                      const ik_hook_output_t *output);

/* The joined answers. */
typedef struct {
    ik_hook_decision_t decision;
    const char *reason;  /* the first hook's that decided so; never NULL for DENY and stops */
    bool names_hook;     /* the reason is not the hook's own and begins with its name */
    const char *hook;    /* "before_tool/guard.sh": this hook; NULL while silent */
    bool stops;          /* the turn ends */
    const char *context; /* all of them, joined by newlines; NULL: none */
    const char *input;   /* the arguments as rewritten; NULL: unchanged */
} ik_hook_outcome_t;

/* Adds the answer of the next hook; texts are on ctx. The reason of one that failed, if it has a
 * decision, names the hook. of_project: its allow does not count. input is the arguments so far;
 * may be NULL if the event has none. */
void ik_hook_outcome_add(const void *ctx, ik_hook_outcome_t *outcome,
                         const ik_hook_answer_t *answer, const char *hook, bool of_project,
                         const char *input);
