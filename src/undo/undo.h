/*
 * Takes back turns of a session, brings them back, and shows what they changed. Files are restored
 * by the program lib/ikigai/checkpoint, from the states that the log names. The conversation is
 * taken back by a fork: another agent begins with the log up to the question and takes the place of
 * the agent, whose log stays as it is. One implementation serves the command line and the terminal.
 *
 * Every function starts a task, which calls on_end exactly once, from the loop, and is freed when
 * that returns. Freeing it earlier cancels the call; files may be restored by then.
 */
#pragma once

#include <jansson.h>

#include "base/config.h"
#include "base/paths.h"
#include "io/process.h"
#include "store/session.h"
#include "undo/undo_log.h"
#include "undo/undo_outcome.h"

typedef struct ik_undo_task ik_undo_task_t;

/* What a task works on. Everything outlives the task. */
typedef struct {
    ik_process_host_t *host;
    const ik_paths_t *paths;
    const ik_config_t *config;
    ik_store_t *store; /* the local one, which has the session */
    const char *session_id;
    const char *folder;    /* of the session */
    ik_session_t *session; /* open for writing; NULL: only ik_undo_start_diff is used */
    int64_t agent;         /* whose turns are meant; 0: the last one that was used */
} ik_undo_place_t;

typedef struct {
    size_t turns;             /* to take back */
    size_t message;           /* instead: to before this message of the user, the oldest is 1 */
    bool keep_files;          /* take back the conversation alone */
    bool keep_conversation;   /* restore files alone */
    bool force;               /* restore files that were changed since, too */
    bool dry_run;             /* only find out what would be done */
    const char *const *names; /* restore these files alone; NULL-terminated; NULL: all */
} ik_undo_request_t;

/* outcome is NULL after an error. IK_ERR_NOT_FOUND: there is nothing, or too little, to undo. */
typedef void (*ik_undo_fn)(void *data, const res_t *result, const ik_undo_outcome_t *outcome);

/* After an undo that left conflicts, force or names finish that undo. Otherwise names leave the
 * conversation as it is. Strings are copied. */
ik_undo_task_t *ik_undo_start(const void *ctx, const ik_undo_place_t *place,
                              const ik_undo_request_t *request, ik_undo_fn on_end, void *data);
/* Brings back what the last undo took, unless a message followed it. */
ik_undo_task_t *ik_undo_start_redo(const void *ctx, const ik_undo_place_t *place, ik_undo_fn on_end,
                                   void *data);

typedef enum { IK_UNDO_PATCH, IK_UNDO_STAT, IK_UNDO_JSON } ik_undo_format_t;

/* answer is the object of the program checkpoint: {"text"} or {"files"}. */
typedef void (*ik_undo_diff_fn)(void *data, const res_t *result, const json_t *answer);

/* What the session changed, or the last turn of the agent. */
ik_undo_task_t *ik_undo_start_diff(const void *ctx, const ik_undo_place_t *place, bool turn,
                                   ik_undo_format_t format, ik_undo_diff_fn on_end, void *data);
/* The text of a patch or of a list; data is never NULL afterwards. */
void ik_undo_append_text(ik_buffer_t *out, const json_t *answer);
