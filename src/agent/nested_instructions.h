/*
 * Instructions below the working folder: when file_read reads a file there, the AGENTS.md (or
 * CLAUDE.md) files between the working folder and the file join the envelope of the result, so that
 * the nearest instructions count for every file.
 *
 * A file joins once, as long as the model has it: what is in the system prompt or in an earlier
 * result does not join again, also after a resume or in a fork. After a compaction removed the
 * result, it does.
 */
#pragma once

#include "agent/agent.h"
#include "agent/instructions.h"

/* Finds what a call that has ended brings, on ctx; problems are those that the user was not told
 * of. NULL: nothing. envelope is its result. */
ik_instructions_t *ik_nested_instructions_find(const void *ctx, ik_agent_t *agent,
                                               const ik_call_t *call, const char *envelope);
/* The envelope with these files, on ctx; the envelope itself if there are none. */
char *ik_nested_instructions_append(const void *ctx, char *envelope,
                                    const ik_instructions_t *found);
