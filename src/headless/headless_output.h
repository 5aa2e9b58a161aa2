/*
 * Prints the events of an agent in a headless run: the answer as text and the rest on standard
 * error, or everything as JSON lines. The caller flushes the output.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "workspace/workspace.h"

typedef struct {
    const char *session_id;
    const ik_target_t *target;
    const ik_tool_registry_t *registry; /* may be NULL */
    const char *folder;
    const char *mode;
    bool resumed;
    FILE *out; /* leads to standard output */
    FILE *err; /* leads to standard error, line by line */
} ik_headless_facts_t;

typedef struct {
    /* Returns the state for the other functions, on ctx. */
    void *(*begin)(const void *ctx, const ik_headless_facts_t *facts);
    /* The level of confinement, once, soon after begin; the first line says it. It is not called
     * if a signal ends the run before the level is known. */
    void (*on_level)(void *state, const char *level);
    /* agent: the number of a sub-agent; 0: the agent of this run. */
    void (*on_event)(void *state, int64_t agent, const ik_agent_event_t *event);
    /* A sub-agent was started or has ended. */
    void (*on_subagent)(void *state, int64_t agent, const ik_workspace_subagent_t *subagent);
    void (*end)(void *state);
} ik_headless_output_t;

extern const ik_headless_output_t ik_headless_text;
extern const ik_headless_output_t ik_headless_json;
