/*
 * Lists the files that a state covers: regular files and symbolic links below a folder, without
 * .git and without what git ignores. A tracked file is never ignored. Outside a repository nothing
 * is ignored. Repositories inside the folder (submodules and others) follow their own rules.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "checkpoint/git_repository.h"
#include "checkpoint/state.h"

/* What ikigai itself writes during a turn. Restoring an old database would lose the session. */
typedef struct {
    const char *home;     /* its folder; NULL: it does not exist */
    const char *database; /* of the session, which may be elsewhere; NULL: it is not */
} ik_tree_own_t;

typedef struct {
    ik_entry_t entry; /* without content */
    const ik_git_repository_t *repository;
    const ik_git_index_entry_t *indexed; /* the entry of the index, if it says that the file is
                                          * unchanged or may be */
    bool clean;                          /* unchanged, and git converts nothing */
    bool measure; /* git may have converted it under earlier settings, which changes the size */
    bool own;     /* left out because ikigai writes it */
} ik_tree_file_t;

typedef struct {
    ik_tree_file_t *files; /* sorted by path: files, links, ignored and empty folders */
    size_t count;
    size_t covered; /* files and links */
    bool too_many;  /* the walk stopped at max_files */
} ik_tree_t;

/* folder is absolute and without symbolic links, and so are the paths of own. Returns NULL and sets
 * errno when the folder cannot be opened. */
ik_tree_t *ik_tree_walk_run(const void *ctx, const char *folder, const ik_tree_own_t *own,
                            size_t max_files);
