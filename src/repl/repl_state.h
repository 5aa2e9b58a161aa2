/* The state of the interactive program, private to this folder. */
#pragma once

#include "command/command.h"
#include "repl/repl.h"
#include "repl/repl_draft.h"
#include "repl/repl_files.h"
#include "repl/repl_talk.h"
#include "setup/setup.h"
#include "terminal/view.h"

typedef struct ik_repl_question ik_repl_question_t;
typedef struct ik_repl_shell ik_repl_shell_t;

/* What Esc returned to the draft, so that a second Esc can send it. */
typedef struct {
    char **lines;     /* each is sent by itself; NULL: nothing */
    size_t count;     /* of lines */
    char *draft;      /* what was in the draft before; on lines */
    uint64_t version; /* of the draft afterwards */
    int64_t at_ms;
} ik_repl_returned_t;

typedef struct {
    const ik_repl_options_t *options;
    ik_workspace_t *workspace;
    ik_view_t *view;
    ik_command_host_t host;
    ik_repl_talk_t **talks; /* of agents that were shown or had an event */
    size_t talk_count;
    ik_repl_talk_t *current; /* that of the agent with the focus */

    ik_repl_question_t *question;
    ik_repl_shell_t *shell; /* the running !CMD; NULL: none */
    ik_repl_draft_t *draft;
    void *shown_text; /* the last text of a command in the pager; NULL: none */
    void *clipboard;  /* holds the text copied last; NULL: none */
    void *image;      /* the image being read from the clipboard; NULL: none */
    ik_repl_files_t *files;
    ik_choice_row_t *completions; /* of the last request */
    ik_timer_t *start;            /* runs after the first frame */
    ik_setup_t *setup;            /* NULL: no dialogue */
    bool setup_due;               /* the dialogue begins when a session is chosen */
    int64_t cancelled_ms;         /* when Ctrl-C last had nothing to cancel */
    ik_repl_returned_t returned;
    bool ending;            /* end of input: leave when everything is done */
    ik_timer_t *unanswered; /* ending: declines the next question, which no line can answer */
    bool done;
    bool closed; /* the terminal is restored */
    int status;
} ik_repl_t;

/* --- repl.c: */

void ik_repl_say(ik_repl_t *repl, ik_role_t role, const char *text);
/* The talk of an agent, created if necessary. */
ik_repl_talk_t *ik_repl_obtain_talk(ik_repl_t *repl, int64_t agent);
/* Puts text into the draft, before what is there; plain mode prints it below the heading. */
void ik_repl_return_text(ik_repl_t *repl, const char *text, const char *heading);
void ik_repl_open_pager(ik_repl_t *repl);
/* Ends the program with this status when control returns to the loop. */
void ik_repl_leave(ik_repl_t *repl, int status);

/* --- repl_host.c: */

extern const ik_command_screen_t ik_repl_host_screen;
ik_completion_source_t ik_repl_host_completion(ik_repl_t *repl);

/* --- repl_shell.c: */

/* Runs "!CMD": shows its output and adds it to the conversation. The queues wait until it ends. */
void ik_repl_shell_start(ik_repl_t *repl, const char *command);
void ik_repl_shell_cancel(ik_repl_t *repl);
/* Ends the command of this agent at once, without output; 0: of any agent. */
void ik_repl_shell_drop(ik_repl_t *repl, int64_t agent);
void ik_repl_shell_draw(ik_repl_t *repl, int max_rows, ik_rows_fn on_row, void *data);

/* --- repl_question.c: */

ik_repl_question_t *ik_repl_question_create(ik_repl_t *repl);
/* Shows the question that is open in the workspace now, if any. */
void ik_repl_question_show(ik_repl_t *repl);
/* A key answered the question about a call. */
void ik_repl_question_answer(ik_repl_t *repl);
/* A line or text was entered; false: it does not answer a question. */
bool ik_repl_question_submit(ik_repl_t *repl, const char *text);
void ik_repl_question_draft_changed(ik_repl_t *repl);
void ik_repl_question_draw(ik_repl_t *repl, int max_rows, ik_rows_fn on_row, void *data);
/* Shows the whole call that is asked about in the pager; false: none is. */
bool ik_repl_question_open_pager(ik_repl_t *repl);

/* --- repl_status.c: */

void ik_repl_status_draw(ik_repl_t *repl, ik_row_t *row);
/* Prints a warning when the context of the agent with the focus becomes nearly full. */
void ik_repl_status_watch_context(ik_repl_t *repl);
/* Prints an introduction for new users, one line for others; only a title if the setup dialogue
 * follows. */
void ik_repl_status_welcome(ik_repl_t *repl, bool offers_setup);

/* --- repl_setup.c: */

/* Whether no model is set up and the user was not offered to set up one yet. */
bool ik_repl_setup_is_due(const ik_repl_t *repl);
void ik_repl_setup_start(ik_repl_t *repl);

/* --- repl_images.c: */

/* Ctrl-V: saves the image in the clipboard and names it in the draft. */
void ik_repl_images_paste(ik_repl_t *repl);
/* "@FILE" for a paste that is the path of an image, or several of them; see
 * ik_completion_source_t. */
char *ik_repl_images_of_paste(void *repl, const void *ctx, const char *text, size_t len);

/* --- repl_copy.c: */

void ik_repl_copy(ik_repl_t *repl, const char *text, size_t len);
