/*
 * Instructions for the model in files: AGENTS.md of the user (~/.ikigai), of the repository's root
 * and of every folder from there down to the working folder; CLAUDE.md in a folder of the project
 * without AGENTS.md. Folders below the working folder follow when a file in them is read
 * (nested_instructions.h).
 *
 * They are text, so a project needs no trust for them. But no link of a project leads out of it:
 * a private file of the user would reach the provider.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Bytes of the project's files together, and of the user's file. */
enum { IK_INSTRUCTIONS_MAX = 32 * 1024 };

typedef struct {
    const char *path;
    size_t size;      /* of the file */
    const char *text; /* UTF-8; if cut or left out, its last line says so */
    bool cut;
    bool left_out; /* the nearer files take all the room */
} ik_instruction_t;

typedef struct {
    const char *path;
    const char *text; /* one line, with the path */
} ik_instruction_problem_t;

typedef struct {
    ik_instruction_t *files; /* the user's, then outermost first */
    size_t count;
    ik_instruction_problem_t *problems; /* files that cannot be used */
    size_t problem_count;
} ik_instructions_t;

/* Finds the files for a conversation in cwd. Both paths are absolute; user is the user's AGENTS.md
 * or NULL. The nearest files are kept if not all fit; the user's does not take their room. Tags
 * called agents_md are escaped, because the prompt encloses the texts in such tags. */
res_t ik_instructions_find(const void *ctx, const char *user, const char *cwd,
                           ik_instructions_t **out);

/* Finds the files in the folders below cwd that the folder of file is in, outermost first, without
 * those that is_known and file itself. file has no symlinks in its path. Tags are not escaped.
 * NULL: nothing was found, not even a problem. */
ik_instructions_t *ik_instructions_find_below(const void *ctx, const char *cwd, const char *file,
                                              bool (*is_known)(void *data, const char *path),
                                              void *data);

/* One line for the user: "AGENTS.md: /project/AGENTS.md (12 KB)". */
char *ik_instructions_format(const void *ctx, const ik_instruction_t *file);
