/*
 * A state: what the files of a folder were at one moment, or what a few named files were.
 *
 * Entries are sorted by path. Paths are relative to the folder; those outside it are absolute. The
 * path of a folder ends in a slash. A state of the tree says something about every path below the
 * folder: one that is not listed did not exist, unless it is below an entry of kind IGNORED.
 *
 * On disk a state is a compressed file in BLOBS/states. It lists all entries, or only those in
 * which it differs from its base, another state. The modification time of the file tells when the
 * files were last compared with the state (see take.c). The latest state of a folder has a second
 * name there, and so has the state before a restore while that runs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

enum { IK_STATE_ID_SIZE = 33, IK_STATE_NAME_MAX = 32 };

typedef enum {
    IK_ENTRY_ABSENT,  /* not there; size is the length of the longest part of path that exists */
    IK_ENTRY_FILE,    /* a regular file */
    IK_ENTRY_LINK,    /* a symbolic link; its content is its target */
    IK_ENTRY_UNKEPT,  /* a file without content: too large, not readable or never at rest */
    IK_ENTRY_SPECIAL, /* a folder, pipe, socket or device at a path that was named */
    IK_ENTRY_IGNORED, /* not covered, and nothing below it is */
    IK_ENTRY_EMPTY,   /* a folder without a covered file */
    IK_ENTRY_KINDS,
} ik_entry_kind_t;

/* In a mode: the file belonged to another user than the one who took the state. */
enum { IK_MODE_FOREIGN = 1 << 16 };

/* How a content is named. */
typedef enum {
    IK_NAMED_NOT,
    IK_NAMED_BLAKE2B, /* kept in BLOBS/files */
    IK_NAMED_SHA1,    /* an object of a git repository */
    IK_NAMED_SHA256,
    IK_NAMED_KINDS,
} ik_naming_t;

typedef struct {
    const char *path;
    uint32_t path_len;
    uint32_t mode; /* st_mode and IK_MODE_FOREIGN */
    uint64_t size;
    uint64_t device;
    uint64_t inode;
    int64_t mtime_ns;
    int64_t ctime_ns;
    uint8_t kind;   /* ik_entry_kind_t */
    uint8_t naming; /* ik_naming_t */
    uint16_t repository;
    unsigned char name[IK_STATE_NAME_MAX];
} ik_entry_t;

/* A repository whose objects name contents. */
typedef struct {
    const char *objects; /* path of its folder of objects */
    char key[33];        /* where links to these objects are: BLOBS/git/KEY */
} ik_state_repository_t;

typedef struct ik_state {
    char id[IK_STATE_ID_SIZE];
    const char *folder; /* without symbolic links */
    bool tree;          /* covers the folder, not only the entries listed */
    int64_t verified_ns;
    int64_t taker; /* the process that asked for it, */
    int64_t taker_started;
    ik_state_repository_t *repositories;
    size_t repository_count;
    struct ik_state *base;
    unsigned depth;      /* number of bases */
    ik_entry_t *entries; /* of this state alone */
    size_t count;
    size_t file_count; /* with those of its base: files and links covered */
} ik_state_t;

/* Loaded states, by id; freeing it frees them all. */
typedef struct ik_states ik_states_t;

ik_states_t *ik_states_create(const void *ctx, const char *blobs);
const char *ik_states_blobs(const ik_states_t *states);

/* A state without entries, to be filled and saved. */
ik_state_t *ik_states_add(ik_states_t *states, const char *folder, bool tree);
/* Loads a state and its bases. IK_ERR_NOT_FOUND when it is gone, IK_ERR_DAMAGED when it cannot be
 * read. */
res_t ik_states_load(ik_states_t *states, const char *id, ik_state_t **out);
/* Loads a state on ctx without its bases; base becomes the id of the first one, or "". */
res_t ik_states_load_alone(const ik_states_t *states, const char *id, const void *ctx,
                           ik_state_t **out, char base[IK_STATE_ID_SIZE]);
/* Writes the state and gives it its id. Entries must be sorted. */
res_t ik_states_save(ik_states_t *states, ik_state_t *state);
/* Notes that the files were compared with the state at that time. */
void ik_states_verified(ik_states_t *states, ik_state_t *state, int64_t when_ns);

/* The last tree state that was taken of a folder; "" when there is none. */
void ik_states_latest(const ik_states_t *states, const char *folder, char id[IK_STATE_ID_SIZE]);
void ik_states_set_latest(const ik_states_t *states, const char *folder, const char *id);
/* The state before a restore that was cut off, found by a text that names what is restored; "" when
 * there is none. set also replaces an earlier one. */
void ik_states_cut_off(const ik_states_t *states, const char *what, char id[IK_STATE_ID_SIZE]);
res_t ik_states_set_cut_off(const ik_states_t *states, const char *what, const char *id);
void ik_states_forget_cut_off(const ik_states_t *states, const char *what);
/* Removes the other names of states that are gone. */
void ik_states_drop_names(const ik_states_t *states);
bool ik_states_id_valid(const char *id);

/* The entry listed for a path, NULL when there is none. */
const ik_entry_t *ik_state_find(const ik_state_t *state, const char *path, size_t len,
                                const ik_state_t **owner);
/* What the state says about a path. Returns false when it says nothing. *entry is never NULL after
 * true. *owner is the state whose repositories the entry refers to. */
bool ik_state_tells(const ik_state_t *state, const char *path, size_t len, const ik_entry_t **entry,
                    const ik_state_t **owner);
/* Whether the folder existed in a state of the tree; path without a slash at its end. */
bool ik_state_has_folder(const ik_state_t *state, const char *path, size_t len);

/* All entries with those of the bases, sorted, on ctx. */
typedef struct {
    const ik_entry_t *entry;
    const ik_state_t *owner;
} ik_state_item_t;
ik_state_item_t *ik_state_list(const void *ctx, const ik_state_t *state, size_t *count);

int ik_state_compare_paths(const char *a, size_t a_len, const char *b, size_t b_len);
static inline size_t ik_naming_size(uint8_t naming)
{
    return naming == IK_NAMED_NOT ? 0 : naming == IK_NAMED_SHA1 ? 20 : 32;
}
/* Copies what stat says; kind, naming and path are left alone. */
void ik_entry_set_stat(ik_entry_t *entry, const struct stat *st);
/* A folder that is not covered because it cannot be read. Other entries of this kind have no mode.
 */
static inline bool ik_entry_is_unreadable(const ik_entry_t *entry)
{
    return entry->kind == IK_ENTRY_IGNORED && S_ISDIR(entry->mode);
}
/* Makes an entry of a state with a base: the path is not listed any more. */
void ik_entry_set_gone(ik_entry_t *entry);
bool ik_entry_same_stat(const ik_entry_t *a, const ik_entry_t *b);
