/*
 * One folder of a walk: opened, listed, its .gitignore read, and reduced to the files and folders
 * that are to be searched, in output order. Folders are shared by the threads that work on their
 * entries and go with the last of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "tools/grep/grep_walk.h"

typedef struct ik_grep_folder ik_grep_folder_t;

typedef struct {
    const char *name; /* in the records the folder was listed into */
    size_t len;
    bool is_folder;
} ik_grep_entry_t;

typedef struct {
    ik_grep_entry_t *items; /* sorted by bytes, a folder as if its name ended in a slash */
    size_t count;
    size_t room;
} ik_grep_entries_t;

/* The folder the walk begins at, or NULL. Its parents' .gitignore files count up to the root of the
 * repository it is in. */
ik_grep_folder_t *ik_grep_folder_open_top(const ik_grep_walk_t *walk);
/* A folder below; NULL when it cannot be opened. parent is kept for as long as needed. */
ik_grep_folder_t *ik_grep_folder_open(const ik_grep_folder_t *parent, const char *name);

ik_grep_folder_t *ik_grep_folder_hold(ik_grep_folder_t *folder);
void ik_grep_folder_release(ik_grep_folder_t *folder);

/* Lists into the caller's buffers, which the entries point into. ctx is the thread's own. */
void ik_grep_folder_list(ik_grep_folder_t *folder, const ik_grep_walk_t *walk, const void *ctx,
                         ik_buffer_t *records, ik_grep_entries_t *entries);

/* "" or ending in a slash, as it is to be shown. */
const char *ik_grep_folder_path(const ik_grep_folder_t *folder);
int ik_grep_folder_fd(const ik_grep_folder_t *folder);
