/*
 * The system prompt: the model's role, its working folder, the format of tool results, and the
 * instructions of the user and the project (instructions.h). It depends only on the given facts,
 * never on the process or the time, because providers cache the beginning of a conversation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/instructions.h"
#include "base/paths.h"

typedef struct {
    const char *cwd;
    const char *platform;    /* NULL: this machine's */
    const char *replacement; /* replaces the built-in text; NULL: built-in */
    bool has_tools;
    const ik_instructions_t *instructions; /* may be NULL */
} ik_agent_prompt_facts_t;

/* The paragraph that the mode plan adds. */
extern const char ik_agent_prompt_plan[];

/* The paragraph for a sub-agent. */
extern const char ik_agent_prompt_task[];

/* The user's message that /init stands for: it asks for an AGENTS.md. wishes follow it; "": none.
 * On ctx. */
char *ik_agent_prompt_format_init(const void *ctx, const char *wishes);

/* Returns NULL if the prompt is empty. */
char *ik_agent_prompt_create(const void *ctx, const ik_agent_prompt_facts_t *facts);

typedef void (*ik_agent_prompt_line_fn)(void *data, const char *line);
/* Finds the instructions and creates the prompt for a new conversation in paths->cwd. on_line gets
 * a line for each file that was found or could not be used. */
char *ik_agent_prompt_gather(const void *ctx, const ik_paths_t *paths, const char *replacement,
                             bool has_tools, ik_agent_prompt_line_fn on_line, void *data);
