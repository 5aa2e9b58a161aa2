/*
 * Saves text that the user typed but did not send, so that it survives a crash. It is written
 * within a second to ~/.ikigai/drafts/CWDHASH.SESSIONID and restored when a session continues in
 * the same folder. The running program holds a lock on its file, so that no other program takes the
 * draft.
 */
#pragma once

#include "base/error.h"
#include "base/paths.h"
#include "io/loop.h"

typedef struct ik_repl_draft ik_repl_draft_t;

/* The current text, on ctx. */
typedef char *(*ik_repl_draft_text_fn)(void *data, const void *ctx);

/* Does no I/O. */
ik_repl_draft_t *ik_repl_draft_create(const void *ctx, ik_loop_t *loop, const ik_paths_t *paths,
                                      ik_repl_draft_text_fn text, void *data);
/* Sets the session that names the file. The next save removes the old file. */
void ik_repl_draft_set_session(ik_repl_draft_t *draft, const char *session_id);
/* Schedules a save. Without a session nothing is saved yet. */
void ik_repl_draft_changed(ik_repl_draft_t *draft);
/* Saves changes at once; an empty text removes the file. */
void ik_repl_draft_save_now(ik_repl_draft_t *draft);

/* Returns, on ctx, the draft of this session (may be NULL), or else the newest draft of this folder
 * whose program has ended; NULL: none. The caller adds it to the text and calls
 * ik_repl_draft_changed; its file is removed by the next save. */
char *ik_repl_draft_find(const void *ctx, ik_repl_draft_t *draft, const char *session_id);

enum { IK_REPL_DRAFT_FILES_MAX = 100 }; /* of all folders together */
