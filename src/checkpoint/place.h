/* What all operations share: the folder, and where states and contents are kept. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "checkpoint/content_store.h"
#include "checkpoint/git_objects.h"
#include "checkpoint/state.h"
#include "checkpoint/tree_walk.h"

typedef struct {
    const char *blobs;
    ik_tree_own_t own; /* its home is the folder of the blobs */
    char *folder;      /* without symbolic links */
    int root;          /* the folder, open; -1: it cannot be opened */
    int error;         /* why it cannot be opened: an errno value */
    int slash;         /* the root of the file system, open */
    ik_states_t *states;
    ik_contents_t *contents;
    ik_git_objects_t *objects;
    uint64_t max_files;
    uint64_t max_bytes;
} ik_place_t;

/* The folder need not exist: recorded states can be compared without it. database is the absolute
 * path of the session's database; NULL: it is in its usual place. */
res_t ik_place_open(const void *ctx, const char *folder, const char *blobs, const char *database,
                    ik_place_t **out);
/* Makes the folder, which does not exist. */
void ik_place_make_folder(ik_place_t *place);

/* The descriptor to which *path, a path of a state, is then relative. */
static inline int ik_place_at(const ik_place_t *place, const char **path)
{
    if ((*path)[0] != '/') {
        return place->root;
    }
    *path += strspn(*path, "/");
    return place->slash;
}

/* The repository whose object names the content of an entry. */
ik_git_source_t ik_place_source(const ik_entry_t *entry, const ik_state_t *owner);
/* Appends the content of an entry; false when it is not available. owner is the state that lists
 * the entry. */
bool ik_place_content(ik_place_t *place, const ik_entry_t *entry, const ik_state_t *owner,
                      ik_buffer_t *out);
/* Whether two entries of the same path are the same file: kind, permissions and content. */
bool ik_place_same(ik_place_t *place, const ik_entry_t *a, const ik_state_t *a_owner,
                   const ik_entry_t *b, const ik_state_t *b_owner);
