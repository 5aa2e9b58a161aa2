/*
 * What the user typed and did not send survives everything: it is written within a second to a file
 * of its own, ~/.ikigai/drafts/CWDHASH.SESSIONID, and found again by whoever continues in this
 * folder. The program whose draft it is holds a lock on the file, so that nobody else takes it
 * while that runs.
 */
#pragma once

#include "base/error.h"
#include "base/paths.h"
#include "io/loop.h"

typedef struct ik_repl_draft ik_repl_draft_t;

/* The text as it is now, on ctx. */
typedef char *(*ik_repl_draft_text_fn)(void *data, const void *ctx);

/* Nothing is read or written yet. */
ik_repl_draft_t *ik_repl_draft_create(const void *ctx, ik_loop_t *loop, const ik_paths_t *paths,
                                      ik_repl_draft_text_fn text, void *data);
/* Whose draft it is: the file is named after it from the next save on, and the old one is gone. */
void ik_repl_draft_set_session(ik_repl_draft_t *draft, const char *session_id);
/* It changed: saved soon. Without a session nothing is saved yet. */
void ik_repl_draft_changed(ik_repl_draft_t *draft);
/* What changed is saved at once; an empty text leaves no file. */
void ik_repl_draft_save_now(ik_repl_draft_t *draft);

/* The draft of that session (NULL: of none), or else the newest one of this folder whose program is
 * gone; NULL: none. On ctx. Whoever asks puts it into the text: it is saved with that soon, and its
 * own file stays until then. */
char *ik_repl_draft_find(const void *ctx, ik_repl_draft_t *draft, const char *session_id);

/* Of all folders, so many files are kept. */
enum { IK_REPL_DRAFT_FILES_MAX = 100 };
