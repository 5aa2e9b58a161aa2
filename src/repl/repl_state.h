/* What the interactive program consists of, for the files of this folder that wire its parts
 * together. */
#pragma once

#include "command/command.h"
#include "repl/repl.h"
#include "repl/repl_draft.h"
#include "repl/repl_files.h"
#include "repl/repl_talk.h"
#include "terminal/view.h"

typedef struct ik_repl_shell ik_repl_shell_t;

/* Sessions to choose from, in the order of the list. */
typedef struct {
    char **ids;
    ik_completion_t *items;
} ik_repl_choices_t;

typedef struct {
    const ik_repl_options_t *options;
    ik_workspace_t *workspace;
    ik_view_t *view;
    ik_command_host_t host;
    ik_repl_talk_t **talks; /* of the agents that were on the screen or said something */
    size_t talk_count;
    ik_repl_talk_t *current; /* one of them: the agent with the focus */

    ik_repl_choices_t *choices; /* the user chooses one of these; NULL: no list is open */
    ik_repl_shell_t *shell;     /* a command of the user's own; NULL: none runs */
    ik_repl_draft_t *draft;
    void *shown_text; /* what the pager shows of a command; NULL: nothing yet */
    void *clipboard;  /* what holds the text that was copied last; NULL: nothing of ours */
    ik_repl_files_t *files;
    ik_completion_t *completions; /* the last ones that were asked for */
    ik_timer_t *start;            /* what comes after the first frame */
    int64_t cancelled_ms;         /* the last Ctrl-C that found nothing to do */
    bool ending;                  /* no more input comes: leave when all is done */
    bool done;
    int status;
} ik_repl_t;

/* --- repl.c: */

void ik_repl_say(ik_repl_t *repl, ik_role_t role, const char *text);
/* The talk with that agent, made now if need be. */
ik_repl_talk_t *ik_repl_obtain_talk(ik_repl_t *repl, int64_t agent);
void ik_repl_open_pager(ik_repl_t *repl);
/* Ends the program with that status as soon as the loop is back. */
void ik_repl_leave(ik_repl_t *repl, int status);

/* --- repl_host.c: */

extern const ik_command_screen_t ik_repl_host_screen;
ik_completion_source_t ik_repl_host_completion(ik_repl_t *repl);

/* --- repl_shell.c: */

/* "!CMD": runs it; its output is shown and joins the conversation. The queues wait meanwhile. */
void ik_repl_shell_start(ik_repl_t *repl, const char *command);
void ik_repl_shell_cancel(ik_repl_t *repl);
/* Ends it at once and silently when it was run for that agent; 0: for any. */
void ik_repl_shell_drop(ik_repl_t *repl, int64_t agent);
void ik_repl_shell_draw(ik_repl_t *repl, int max_rows, ik_rows_fn on_row, void *data);

/* --- repl_status.c: */

void ik_repl_status_draw(ik_repl_t *repl, ik_row_t *row);
/* What a new user sees first, or one line for others. */
void ik_repl_status_welcome(ik_repl_t *repl);

/* --- repl_copy.c: */

void ik_repl_copy(ik_repl_t *repl, const char *text, size_t len);
