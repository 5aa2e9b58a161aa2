/*
 * One folder of a walk. Opens and lists it, reads its ignore files, and selects the files and
 * folders to search, in output order. .gitignore and .git/info/exclude apply only inside a git
 * repository, .ignore and .rgignore everywhere. Threads that work on entries of a folder share it
 * by reference counting.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "tools/grep/grep_walk.h"

typedef struct ik_grep_folder ik_grep_folder_t;

typedef struct {
    const char *name; /* points into the records */
    size_t len;
    bool is_folder;
    bool named; /* an excluded folder that the filter names */
} ik_grep_entry_t;

typedef struct {
    ik_grep_entry_t *items; /* sorted by bytes, a folder as if its name ended in a slash */
    size_t count;
    size_t room;
} ik_grep_entries_t;

/* Opens the folder at which the walk begins; NULL with errno set on failure. The ignore files of
 * its parents apply, .gitignore up to the root of the repository. */
ik_grep_folder_t *ik_grep_folder_open_top(const ik_grep_walk_t *walk);
/* Opens a folder in parent; NULL with errno set on failure. */
ik_grep_folder_t *ik_grep_folder_open(const ik_grep_folder_t *parent, const char *name, bool named);
/* Opens a file in the folder; -1 with errno set on failure. */
int ik_grep_folder_open_file(const ik_grep_folder_t *folder, const char *name, int flags);

ik_grep_folder_t *ik_grep_folder_hold(ik_grep_folder_t *folder);
void ik_grep_folder_release(ik_grep_folder_t *folder);

/* Lists the folder into the caller's buffers; the entries point into records. ctx must belong to
 * the calling thread. Returns 0, or an errno value if the listing is incomplete. */
int ik_grep_folder_list(ik_grep_folder_t *folder, const ik_grep_walk_t *walk, const void *ctx,
                        ik_buffer_t *records, ik_grep_entries_t *entries);

/* The path for the output, "" or ending in a slash. */
const char *ik_grep_folder_path(const ik_grep_folder_t *folder);
