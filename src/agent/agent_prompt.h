/*
 * What a model is told before anything else: who it is and where it works, how tool results look,
 * and what the AGENTS.md files of the project say. The same facts give the same bytes, in every
 * process and at any time: providers keep the beginning of a conversation in caches.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { IK_AGENT_GUIDES_MAX = 32 * 1024 }; /* bytes of all AGENTS.md together */

typedef struct {
    const char *path;
    size_t size;      /* of the file */
    const char *text; /* UTF-8 without agents_md tags; when it is cut, its last line says so */
    bool cut;
} ik_agent_guide_t;

typedef struct {
    ik_agent_guide_t *guides; /* outermost first */
    size_t count;
    const char **problems; /* a line each on files that cannot be used */
    size_t problem_count;
} ik_agent_guides_t;

/* AGENTS.md of the folder and its parents up to the one that holds .git; without a repository that
 * of the folder alone. A link that leads out of there is a problem and not read. Where all do not
 * fit, the inner ones come first. cwd is absolute. */
res_t ik_agent_prompt_find_guides(const void *ctx, const char *cwd, ik_agent_guides_t **out);
/* For people: "AGENTS.md: /project/AGENTS.md (1.2 KB)". */
char *ik_agent_prompt_format_guide(const void *ctx, const ik_agent_guide_t *guide);

typedef struct {
    const char *cwd;
    const char *platform;    /* NULL: this machine's */
    const char *replacement; /* instead of the built-in text; NULL: that one */
    bool has_tools;
    const ik_agent_guides_t *guides; /* may be NULL */
} ik_agent_prompt_facts_t;

/* NULL when there is nothing to say. */
char *ik_agent_prompt_create(const void *ctx, const ik_agent_prompt_facts_t *facts);

/* All of it for a new conversation in cwd. on_line hears which AGENTS.md were found, and which
 * could not be used. */
typedef void (*ik_agent_prompt_line_fn)(void *data, const char *line);
char *ik_agent_prompt_gather(const void *ctx, const char *cwd, const char *replacement,
                             bool has_tools, ik_agent_prompt_line_fn on_line, void *data);
