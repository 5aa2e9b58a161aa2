/*
 * The system prompt: the model's role, its working folder, the format of tool results, and the
 * project's AGENTS.md files. It depends only on the given facts, never on the process or the time,
 * because providers cache the beginning of a conversation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { IK_AGENT_GUIDES_MAX = 32 * 1024 }; /* bytes of all AGENTS.md files together */

typedef struct {
    const char *path;
    size_t size;      /* of the file */
    const char *text; /* UTF-8 without agents_md tags; if cut, its last line says so */
    bool cut;
} ik_agent_guide_t;

typedef struct {
    ik_agent_guide_t *guides; /* outermost first */
    size_t count;
    const char **problems; /* one line for each file that cannot be used */
    size_t problem_count;
} ik_agent_guides_t;

/* Reads AGENTS.md in cwd and in its parents up to the folder that holds .git; outside a repository
 * only that in cwd. A symbolic link that leads out of these folders is reported as a problem and
 * not read. Inner files take precedence if not all fit. cwd must be absolute. */
res_t ik_agent_prompt_find_guides(const void *ctx, const char *cwd, ik_agent_guides_t **out);
/* One line for the user: "AGENTS.md: /project/AGENTS.md (12 KB)". */
char *ik_agent_prompt_format_guide(const void *ctx, const ik_agent_guide_t *guide);

typedef struct {
    const char *cwd;
    const char *platform;    /* NULL: this machine's */
    const char *replacement; /* replaces the built-in text; NULL: built-in */
    bool has_tools;
    const ik_agent_guides_t *guides; /* may be NULL */
} ik_agent_prompt_facts_t;

/* The paragraph that the mode plan adds. */
extern const char ik_agent_prompt_plan[];

/* Returns NULL if the prompt is empty. */
char *ik_agent_prompt_create(const void *ctx, const ik_agent_prompt_facts_t *facts);

typedef void (*ik_agent_prompt_line_fn)(void *data, const char *line);
/* Finds the guides and creates the prompt for a new conversation in cwd. on_line gets a line for
 * each AGENTS.md that was found or could not be used. */
char *ik_agent_prompt_gather(const void *ctx, const char *cwd, const char *replacement,
                             bool has_tools, ik_agent_prompt_line_fn on_line, void *data);
