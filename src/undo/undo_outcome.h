/* What an undo or redo did: the files that it restored and those that it left alone, as JSON and
 * for people. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

typedef struct {
    const char *path;   /* relative to the folder, absolute outside it; any bytes but NUL */
    const char *reason; /* of a conflict: "changed", "unavailable" */
    const char *error;  /* of an unavailable one that could not be written: why */
} ik_undo_file_t;

typedef struct {
    ik_undo_file_t *items;
    size_t count;
} ik_undo_files_t;

typedef enum {
    IK_UNDO_TAKEN_BACK,
    IK_UNDO_BROUGHT_BACK,
    IK_UNDO_FINISHED, /* an earlier undo that had left conflicts */
} ik_undo_what_t;

typedef struct {
    ik_undo_what_t what;
    bool dry_run;       /* it would be done */
    bool files_only;    /* the conversation stays */
    int64_t agent;      /* with which the conversation goes on; the same one: it stayed */
    size_t turns;       /* taken or brought back */
    const char *prompt; /* the oldest question among them; "": none */
    ik_undo_files_t restored;
    ik_undo_files_t conflicts; /* all that are left */
} ik_undo_outcome_t;

/* Strings are not copied; the array is on ctx. */
void ik_undo_outcome_add_file(const void *ctx, ik_undo_files_t *files, const char *path,
                              const char *reason);
bool ik_undo_outcome_has_file(const ik_undo_files_t *files, const char *path);

/* {"path" or "path_base64", "reason", "error"} */
void ik_undo_outcome_append_file(ik_buffer_t *out, const ik_undo_file_t *file);
/* Adds a member to a JSON object that begins with the buffer: an array of such files. */
void ik_undo_outcome_add_files(ik_buffer_t *object, const char *name, const ik_undo_files_t *files);
/* Reads such an array, on ctx, sorted by path. */
ik_undo_files_t ik_undo_outcome_read_files(const void *ctx, const json_t *array);

/* Whether some of the conflicts are files that could not be written. */
bool ik_undo_outcome_has_unwritten(const ik_undo_outcome_t *outcome);
/* Whether force would restore some of the conflicts: not those whose contents are gone. */
bool ik_undo_outcome_can_force(const ik_undo_outcome_t *outcome);
/* What was done, or would be done. Text from elsewhere is sanitised. brief: names only some of the
 * restored files where there are many; conflicts are always named, because the user has to look at
 * each. */
char *ik_undo_outcome_describe(const void *ctx, const ik_undo_outcome_t *outcome, bool brief);
