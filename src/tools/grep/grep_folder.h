/*
 * One folder of a walk: opened, listed, its ignore files read, and reduced to the files and folders
 * that are to be searched, in output order. .gitignore and .git/info/exclude count inside a git
 * repository only, .ignore and .rgignore everywhere. Folders are shared by the threads that work on
 * their entries and go with the last of them.
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
    bool named; /* an excluded folder that the filter names */
} ik_grep_entry_t;

typedef struct {
    ik_grep_entry_t *items; /* sorted by bytes, a folder as if its name ended in a slash */
    size_t count;
    size_t room;
} ik_grep_entries_t;

/* The folder the walk begins at; NULL with errno set when it cannot be opened. The ignore files of
 * its parents count, .gitignore up to the root of the repository it is in. */
ik_grep_folder_t *ik_grep_folder_open_top(const ik_grep_walk_t *walk);
/* A folder below; NULL with errno set when it cannot be opened. */
ik_grep_folder_t *ik_grep_folder_open(const ik_grep_folder_t *parent, const char *name, bool named);
/* A file in it; -1 with errno set. */
int ik_grep_folder_open_file(const ik_grep_folder_t *folder, const char *name, int flags);

ik_grep_folder_t *ik_grep_folder_hold(ik_grep_folder_t *folder);
void ik_grep_folder_release(ik_grep_folder_t *folder);

/* Lists into the caller's buffers, which the entries point into. ctx is the thread's own. Returns 0
 * or the errno value of a listing that could not be read to its end. */
int ik_grep_folder_list(ik_grep_folder_t *folder, const ik_grep_walk_t *walk, const void *ctx,
                        ik_buffer_t *records, ik_grep_entries_t *entries);

/* "" or ending in a slash, as it is to be shown. */
const char *ik_grep_folder_path(const ik_grep_folder_t *folder);
