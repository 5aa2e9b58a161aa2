/* What the interactive program consists of, for the files of this folder that wire its parts
 * together. */
#pragma once

#include "agent/agent.h"
#include "command/command.h"
#include "repl/repl.h"
#include "repl/repl_draft.h"
#include "repl/repl_files.h"
#include "repl/repl_talk.h"
#include "repl/repl_view.h"

typedef struct ik_repl_shell ik_repl_shell_t;

/* Sessions to choose from, in the order of the list. */
typedef struct {
    char **ids;
    ik_completion_t *items;
} ik_repl_choices_t;

typedef struct {
    const ik_repl_options_t *options;
    ik_shared_ctx_t shared;
    ik_repl_view_t *view;
    ik_command_host_t host;

    /* --- the session and its agents */
    ik_session_t *session;          /* NULL: none yet, or it is being opened */
    ik_history_question_t *opening; /* a stored session is on its way; NULL: none */
    ik_repl_choices_t *choices;     /* the user chooses one of these; NULL: none is to be chosen */
    const ik_target_t *target;      /* of new agents; NULL: not chosen yet */
    ik_repl_talk_t **talks;         /* by number */
    size_t talk_count;
    ik_repl_talk_t *current; /* one of them */
    ik_command_usage_t usage;

    /* --- tools */
    ik_tool_discovery_t *discovery;
    ik_tool_registry_t *registry; /* that of shared */
    void *old_registries;         /* may be in use by turns that began with them */
    bool refreshing;              /* the user asked for it and hears of the result */
    bool recheck_due;             /* the cache spoke for user's tools: ask them before a turn */
    bool rechecking;              /* discovery is doing so */
    char **problems;              /* those of the last search, which were said */
    size_t problem_count;

    /* --- what is going on */
    ik_repl_shell_t *shell; /* a command of the user's own; NULL: none runs */
    ik_repl_draft_t *draft;
    void *shown_text; /* what the pager shows of a command; NULL: nothing yet */
    void *clipboard;  /* what holds the text that was copied last; NULL: nothing of ours */
    ik_repl_files_t *files;
    ik_completion_t *completions;   /* the last ones that were asked for */
    ik_command_answer_fn on_answer; /* to a question; NULL: none was asked */
    int64_t withheld; /* sessions to ask about: a shared history does not have them; 0: none */
    void *answer_data;
    bool in_command;      /* one is being run: what it makes possible waits until it is done */
    ik_timer_t *start;    /* what comes after the first frame, step by step */
    int64_t cancelled_ms; /* the last Ctrl-C that found nothing to do */
    bool ending;          /* no more input comes: leave when all is done */
    bool done;
    int status;
} ik_repl_t;

/* --- repl.c: */

void ik_repl_say(ik_repl_t *repl, ik_role_t role, const char *text);
/* Something may be possible now that was not before: the next queued thing of every talk. */
void ik_repl_pump(ik_repl_t *repl);
/* The model the current agent talks to. */
const ik_target_t *ik_repl_target(const ik_repl_t *repl);
/* What waits in that talk returns to the draft; where there is none, it is said that it was not
 * sent. */
void ik_repl_give_back_queue(ik_repl_t *repl, ik_repl_talk_t *talk);
void ik_repl_on_turn_end(ik_repl_t *repl, ik_repl_talk_t *talk, ik_turn_reason_t reason);
void ik_repl_open_pager(ik_repl_t *repl);
/* Ends the program with that status as soon as the loop is back. */
void ik_repl_leave(ik_repl_t *repl, int status);
/* Why nothing that was entered is taken yet; NULL: it is. */
const char *ik_repl_waiting_for(const ik_repl_t *repl);

/* --- repl_session.c: */

/* One talk, nothing said. */
void ik_repl_session_init(ik_repl_t *repl);
/* Agents and session go. */
void ik_repl_session_drop(ik_repl_t *repl);
/* What the command line asks for: a new session, or one that goes on. */
void ik_repl_session_begin(ik_repl_t *repl);
/* A line of the list of sessions was taken, or none. */
void ik_repl_session_on_chosen(ik_repl_t *repl, size_t index);
void ik_repl_session_clear(ik_repl_t *repl);
void ik_repl_session_resume(ik_repl_t *repl, const char *id);
/* The current talk has an agent afterwards. */
void ik_repl_session_require_agent(ik_repl_t *repl);
void ik_repl_session_fork(ik_repl_t *repl, const char *prompt);
/* Every talk of a session that goes on knows what was said in it, not only the current one. */
void ik_repl_session_load_agents(ik_repl_t *repl);
res_t ik_repl_session_switch(ik_repl_t *repl, int64_t number);
res_t ik_repl_session_kill(ik_repl_t *repl, int64_t number);
bool ik_repl_session_is_busy(const ik_repl_t *repl); /* any agent works */

/* --- repl_tools.c: */

void ik_repl_tools_start(ik_repl_t *repl, bool refresh);
/* A message is near: user's tools that only the cache spoke for are asked again, in the background
 * and once. */
void ik_repl_tools_recheck(ik_repl_t *repl);
/* Lets go of a registry that nobody uses any more. */
void ik_repl_tools_tidy(ik_repl_t *repl);

/* --- repl_host.c: */

extern const ik_command_actions_t ik_repl_host_actions;
/* Answers a question that a command asked. */
void ik_repl_host_answer(ik_repl_t *repl, const char *text);
ik_completion_source_t ik_repl_host_completion(ik_repl_t *repl);

/* --- repl_shell.c: */

/* "!CMD": runs it; its output is shown and joins the conversation. */
void ik_repl_shell_start(ik_repl_t *repl, const char *command);
void ik_repl_shell_cancel(ik_repl_t *repl);
/* Ends it at once and silently when it was run in that talk; NULL: in whichever. */
void ik_repl_shell_drop(ik_repl_t *repl, const ik_repl_talk_t *talk);
void ik_repl_shell_draw(ik_repl_t *repl, int max_rows, ik_repl_row_fn on_row, void *data);

/* --- repl_status.c: */

void ik_repl_status_draw(ik_repl_t *repl, ik_row_t *row);
/* What a new user sees first, or a line for somebody who knows. */
void ik_repl_status_welcome(ik_repl_t *repl);

/* --- repl_copy.c: */

void ik_repl_copy(ik_repl_t *repl, const char *text, size_t len);
