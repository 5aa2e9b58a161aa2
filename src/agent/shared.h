/*
 * What all agents of a workspace share. The workspace fills it in; agents only read it, except for
 * rejected.
 */
#pragma once

#include "agent/checkpoints.h"
#include "base/config.h"
#include "hook/hooks.h"
#include "io/http.h"
#include "provider/provider.h"
#include "store/history.h"
#include "tool/tool_discovery.h"
#include "tool/tool_runner.h"

/* A tool whose definition a provider rejected. */
typedef struct {
    const char *target;
    const char *tool;
} ik_shared_rejected_t;

typedef struct {
    const ik_config_t *config;
    const ik_models_t *models;
    ik_loop_t *loop;
    ik_http_t *http;
    ik_history_t *history;               /* NULL: sessions are not stored */
    ik_tool_context_t tool_context;      /* for every call */
    const ik_call_gate_t *gate;          /* approves every call */
    const ik_checkpoints_t *checkpoints; /* NULL: nothing is recorded for undo */
    ik_hooks_t *hooks;                   /* NULL: there are none */
    /* NULL until discovery is complete, and when there are no tools. */
    const ik_tool_registry_t *tool_registry;
    tool_scan_state_t tool_scan_state;
    /* The prompt for summaries: the user's own file, if there is one, and the shipped one. */
    const char *user_compact_prompt;
    const char *compact_prompt;
    bool results_shown;             /* the front end shows tool results to the user */
    ik_shared_rejected_t *rejected; /* left out of requests to their target; agents add to it */
    size_t rejected_count;
    const char *images;         /* the folder of their blobs; NULL: none are stored */
    const char **blind_targets; /* that refused images; agents add to it */
    size_t blind_count;
} ik_shared_ctx_t;

/* Leaves a tool out of requests to a target until the program ends. Copies both strings. */
void ik_shared_reject_tool(ik_shared_ctx_t *shared, const char *target, const char *tool);
/* Sends a target no more images until the program ends. Copies the string. */
void ik_shared_reject_images(ik_shared_ctx_t *shared, const char *target);
/* Whether the model does not see images, as far as is known. */
bool ik_shared_is_blind(const ik_shared_ctx_t *shared, const ik_target_t *target);
bool ik_shared_is_rejected(const ik_shared_ctx_t *shared, const char *target, const char *tool);
