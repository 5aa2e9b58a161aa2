/*
 * Runs the user's and the project's hooks: executables that get an event as JSON on
 * standard input and may object, add text or change the arguments of a call (hook_answer.h).
 *
 * A project's hooks run first, in a room, then the user's, unconfined, which see the call as those
 * left it. Within each group all start together; their answers count in the order of file names. A
 * hook that fails is named by a notice and has no say, unless its configuration says that a failure
 * blocks. All processes run under the keeper, so that nothing outlives a hook.
 *
 * Without hooks this costs nothing: the list is made by the owner, and nothing is looked up later.
 */
#pragma once

#include "base/config.h"
#include "base/mode.h"
#include "base/paths.h"
#include "confinement/confinement.h"
#include "hook/hook_answer.h"
#include "io/process.h"

typedef struct ik_hooks ik_hooks_t;

typedef struct {
    ik_hook_event_t event;
    const char *name; /* of its file */
    const char *file; /* the program: of a project, in the trusted copy */
    bool of_project;
    /* Why it cannot run; NULL: it can. One that cannot run is ignored, unless its configuration
     * says that a failure blocks. */
    const char *unusable;
} ik_hook_t;

/* What the payload says about an agent. */
typedef struct {
    const char *session_id;
    const char *model;
    ik_mode_t mode;
    const char *id;   /* of a sub-agent; NULL: not a sub-agent */
    const char *type; /* of a sub-agent: the name of its file */
} ik_hook_agent_t;

typedef struct {
    const ik_config_t *config;
    const ik_paths_t *paths;
    ik_process_host_t *host;
    ik_confinement_t *confinement;
    /* Fills in what is known of the agent; strings are copied. */
    void (*describe)(void *data, int64_t agent, ik_hook_agent_t *facts);
    /* One line for the user. */
    void (*notice)(void *data, int64_t agent, ik_hook_event_t event, const char *text);
    void *data;
} ik_hooks_options_t;

/* Knows no hooks yet. What options points to outlives it. */
ik_hooks_t *ik_hooks_create(const void *ctx, const ik_hooks_options_t *options);
/* Replaces the hooks; copies them. Hooks that run already are not affected. */
void ik_hooks_set(ik_hooks_t *hooks, const ik_hook_t *list, size_t count);
/* Whether a hook would run. tool is NULL for events that have none; hooks may be NULL. */
bool ik_hooks_any(const ik_hooks_t *hooks, ik_hook_event_t event, const char *tool);

/* What happened. Members that the event does not have are not set. */
typedef struct {
    ik_hook_event_t event;
    int64_t agent;      /* number in the session */
    const char *source; /* SESSION_START: "startup", "resume", "clear" */
    const char *prompt; /* USER_PROMPT */
    const char *tool;   /* BEFORE_TOOL, AFTER_TOOL: as the registry spells it */
    const char *input;  /* and: the arguments, a JSON object */
    size_t input_len;
    const char *call_id;
    const char *response;  /* AFTER_TOOL: the envelope */
    const char *trigger;   /* BEFORE_COMPACT: "manual", "auto" */
    bool stop_hook_active; /* TURN_END: a hook has sent the model back in this turn */
    const char *reason;    /* SESSION_END */
} ik_hook_occasion_t;

/* Pointers are valid inside the callback only. */
typedef void (*ik_hooks_end_fn)(void *data, const ik_hook_outcome_t *outcome);

/* Runs the hooks of an event, of which there is at least one (ik_hooks_any). on_end is called once,
 * from the loop. Freeing the returned object, which frees itself after on_end, ends the hooks
 * without a callback. */
void *ik_hooks_start(const void *ctx, ik_hooks_t *hooks, const ik_hook_occasion_t *occasion,
                     ik_hooks_end_fn on_end, void *data);
