/*
 * A running ikigai without a screen: the configuration, the model, the tools, one session with its
 * agents, the queued messages to them, and questions to the user. A front end creates a workspace,
 * listens to its events and submits what the user enters; the workspace runs tool discovery, opens
 * sessions and chooses the model.
 *
 * Everything that takes time runs in the loop. Each agent has a queue of submitted lines, which are
 * taken in order as soon as nothing blocks them. While the agent works, a line may also join the
 * running turn.
 *
 * The agent that the user talks to has the focus. Functions without an agent argument apply to it.
 */
#pragma once

#include "agent/agent.h"
#include "agent/model_query.h"
#include "base/paths.h"
#include "extend/extension.h"
#include "undo/undo.h"
#include "workspace/workspace_question.h"

typedef struct ik_workspace ik_workspace_t;
/* The images of a message that is not sent yet. */
typedef struct ik_workspace_images ik_workspace_images_t;
/* Hooks look at a message that is not sent yet. */
typedef struct ik_workspace_check ik_workspace_check_t;

/* How the command line asks to start. Plain data. */
typedef struct {
    const char *prompt; /* the first message; NULL: typed, or from standard input */
    bool without_tools;
    bool trust;                 /* the project's tools, for this run */
    bool continue_last;         /* resume the last session of this folder */
    const char *resume;         /* resume the session with this id or unique prefix; NULL: none */
    bool choose;                /* resume a session that the user chooses from a list */
    bool fork;                  /* work in a copy of the resumed session */
    const char *const *allowed; /* --allow, NULL-terminated; NULL: none */
    const char *const *images;  /* --image: files for the first message, likewise */
    bool deliver_all; /* deliver sessions to a shared history that began without it, too */
} ik_workspace_start_t;

typedef enum {
    IK_WORKSPACE_TEXT, /* output that the user asked for */
    IK_WORKSPACE_NOTE, /* information */
    IK_WORKSPACE_WARNING,
    IK_WORKSPACE_ERROR,
} ik_workspace_level_t;

typedef enum {
    IK_WORKSPACE_LINE,         /* level, text: one line for the user */
    IK_WORKSPACE_SESSION_ENDS, /* its agents are about to be freed */
    IK_WORKSPACE_SESSION,      /* another session is open; resumed: it was stored before */
    IK_WORKSPACE_FORKED,       /* agent is new and has a copy of its parent's conversation */
    IK_WORKSPACE_SUBAGENT,     /* agent, subagent: one was started or has ended its task */
    IK_WORKSPACE_FOCUS,        /* agent has the focus now */
    IK_WORKSPACE_AGENT_ENDS,   /* agent is about to be freed */
    IK_WORKSPACE_REPLACED,     /* agent has the focus; the one before it is about to be freed */
    IK_WORKSPACE_CHOOSE,       /* sessions: answer with ik_workspace_choose */
    IK_WORKSPACE_READY,        /* once: model, tools and session are there */
    IK_WORKSPACE_TURN,         /* agent begins a turn */
    IK_WORKSPACE_AGENT,        /* agent, event: an event of that agent */
    IK_WORKSPACE_COMMAND,      /* agent, text: a queued line that the front end runs itself */
    IK_WORKSPACE_QUEUE,        /* agent: its queue has changed */
    IK_WORKSPACE_BLOCKED,      /* agent, text: a hook blocked this message; an error follows */
    IK_WORKSPACE_QUESTION,     /* another question is open now, or none is */
    IK_WORKSPACE_LEVEL,        /* once: the level of confinement is known */
    IK_WORKSPACE_JOBS,         /* a job was started, or has ended */
    IK_WORKSPACE_FAILED,       /* result: why the requested session cannot start */
    IK_WORKSPACE_SETTLED,      /* the queues are idle until the next event */
} ik_workspace_event_kind_t;

/* An agent that works on a task for a tool call of its parent. */
typedef struct {
    int64_t parent;
    const char *name;    /* of the file that describes it; NULL: none does */
    const char *call_id; /* the call of its parent */
    bool ended;
    ik_turn_reason_t reason; /* of its end */
    ik_usage_t usage;        /* with those that it started in turn */
    double cost;             /* USD; negative: not known */
} ik_workspace_subagent_t;

/* Pointers are valid inside the callback only. */
typedef struct {
    ik_workspace_event_kind_t kind;
    int64_t agent; /* its number in the session */
    const ik_workspace_subagent_t *subagent;
    const ik_agent_event_t *event;
    ik_workspace_level_t level;
    const char *text;
    bool resumed;
    const ik_store_list_t *sessions; /* of this folder; unattended: of all if it has none */
    const res_t *result;
    bool misconfigured; /* FAILED: the configured model cannot be used */
} ik_workspace_event_t;

typedef struct {
    const ik_paths_t *paths;
    ik_config_t *config;
    ik_loop_t *loop;
    ik_process_host_t *host;
    const ik_workspace_start_t *start;
    const ik_call_gate_t *gate;     /* NULL: permissions decide (permission_gate.h) */
    const ik_tool_editor_t *editor; /* that has the project open; NULL: none */
    bool unattended;                /* there is no user: do not ask questions */
    bool whole_forms;               /* questions may be forms (ik_question_t) */
    /* May call the functions below, but not free the workspace. */
    void (*on_event)(void *data, const ik_workspace_event_t *event);
    void *data;
} ik_workspace_options_t;

/* Does no I/O, so that the first frame can be drawn at once. Everything that options points to must
 * outlive the workspace. */
ik_workspace_t *ik_workspace_create(const void *ctx, const ik_workspace_options_t *options);
/* Chooses the model, looks for tools and opens the session. Returns an error if the configured
 * model cannot be used; later failures are reported by FAILED. Does not submit start->prompt. */
res_t ik_workspace_start(ik_workspace_t *workspace);
/* Takes nothing more from the queues, interrupts every agent, and runs the loop until their tools
 * have ended and their results are stored, for at most patience_ms. */
void ik_workspace_stop(ik_workspace_t *workspace, int patience_ms);
/* Interrupts every agent, saves unsaved messages, and waits at most patience_ms for delivery to a
 * shared history. The workspace may only be freed afterwards. */
void ik_workspace_close(ik_workspace_t *workspace, int patience_ms);

/* --- model and tools --------------------------------------------------------------------- */

/* Read-only for the front end. Its tool_registry is NULL until discovery is complete. */
const ik_shared_ctx_t *ik_workspace_shared(const ik_workspace_t *workspace);
const ik_paths_t *ik_workspace_paths(const ik_workspace_t *workspace);
/* The model of the agent with the focus; NULL before it is chosen. */
const ik_target_t *ik_workspace_target(const ik_workspace_t *workspace);
/* Whether the offline model answers because no other is configured. */
bool ik_workspace_is_makeshift(const ik_workspace_t *workspace);
/* Switches the model from the next request on. Changes nothing on error. */
res_t ik_workspace_set_model(ik_workspace_t *workspace, const char *model);
/* Keep what the user chose in the user's files and in memory; see base/config_change.h. */
res_t ik_workspace_remember_model(ik_workspace_t *workspace, const char *model);
/* Keys change only while no agent is busy and the queues are held: requests borrow them. */
res_t ik_workspace_set_key(ik_workspace_t *workspace, const char *provider, const char *key);
res_t ik_workspace_forget_key(ik_workspace_t *workspace, const char *provider, bool *removed,
                              const char **variable);
/* Asks a server for its models; key NULL: with its own key, if any. Closing the workspace cancels
 * it. */
ik_model_query_t *ik_workspace_query_models(
    ik_workspace_t *workspace, const ik_config_provider_t *provider, const char *key,
    void (*on_end)(void *data, const ik_model_query_answer_t *answer), void *data);
/* Discovers all tools again and reports their number and what changed. */
void ik_workspace_refresh(ik_workspace_t *workspace);
/* Called when the user starts typing: reloads the schemas of user tools that came from the cache,
 * once and in the background. Otherwise this happens before the first message is taken. */
void ik_workspace_expect_message(ik_workspace_t *workspace);

/* --- permissions ------------------------------------------------------------------------- */

/* That of a sub-agent never allows more than that of its parent. */
ik_mode_t ik_workspace_mode(const ik_workspace_t *workspace, int64_t agent);
/* Holds for the next calls, also of a running turn, and is kept with the session. */
void ik_workspace_set_mode(ik_workspace_t *workspace, int64_t agent, ik_mode_t mode);
/* "full", "partial", "none", or "off" if the configuration says so; NULL: not known yet. */
const char *ik_workspace_level(const ik_workspace_t *workspace);
/* What the user must know about the level, one line on ctx; NULL: nothing, or not known yet. */
char *ik_workspace_describe_level(const void *ctx, const ik_workspace_t *workspace);
ik_confinement_t *ik_workspace_confinement(const ik_workspace_t *workspace);
ik_permission_rules_t *ik_workspace_rules(const ik_workspace_t *workspace);

/* For how long the state of the files has been recorded for undo; -1: it is not. */
int64_t ik_workspace_recording_ms(const ik_workspace_t *workspace);

/* --- the session and its agents ---------------------------------------------------------- */

/* NULL until a session is open. */
ik_session_t *ik_workspace_session(const ik_workspace_t *workspace);
/* Whether a session is open and no other is being opened in its place. */
bool ik_workspace_is_open(const ik_workspace_t *workspace);
/* Starts a new session. Only while no agent is busy. */
void ik_workspace_begin_session(ik_workspace_t *workspace);
/* Resumes one of the sessions that CHOOSE offered; NULL: starts a new one. */
void ik_workspace_choose(ik_workspace_t *workspace, const char *id);
/* Opens a stored session, named by id or unique prefix, in place of this one. */
void ik_workspace_resume(ik_workspace_t *workspace, const char *id);

typedef struct {
    ik_usage_t usage; /* sums of the session */
    double cost;      /* USD; negative: not known */
    int64_t turns;
} ik_workspace_usage_t;
const ik_workspace_usage_t *ik_workspace_usage(const ik_workspace_t *workspace);

/* Agents by index, in the order of their numbers; there is always one. */
size_t ik_workspace_agent_count(const ik_workspace_t *workspace);
int64_t ik_workspace_agent_number(const ik_workspace_t *workspace, size_t index);
int64_t ik_workspace_agent_parent(const ik_workspace_t *workspace, int64_t number); /* 0: none */
int64_t ik_workspace_focus(const ik_workspace_t *workspace);
/* NULL: it has no messages yet, or its log is not loaded. */
ik_agent_t *ik_workspace_agent(const ik_workspace_t *workspace, int64_t number);
/* The agent with the focus, created if necessary. Only while a session is open. */
ik_agent_t *ik_workspace_require_agent(ik_workspace_t *workspace);
/* Loads the logs of all agents, so that they can be described. */
void ik_workspace_load_agents(ik_workspace_t *workspace);
/* Whether it was started by a tool call of its parent. */
bool ik_workspace_is_subagent(const ik_workspace_t *workspace, int64_t number);
/* Whether it is a sub-agent that neither works nor has the focus. */
bool ik_workspace_has_ended(const ik_workspace_t *workspace, int64_t number);
/* Of a sub-agent: the name of the file that describes it; NULL: none. */
const char *ik_workspace_agent_name(const ik_workspace_t *workspace, int64_t number);
/* Of a sub-agent that works on its task: what it does now, one line; otherwise "". */
const char *ik_workspace_agent_doing(const ik_workspace_t *workspace, int64_t number);
/* What it and its sub-agents have used, as far as that is known; turns is not set. */
ik_workspace_usage_t ik_workspace_agent_usage(const ik_workspace_t *workspace, int64_t number);
/* The number of its messages, and the model of its next request. */
size_t ik_workspace_agent_messages(const ik_workspace_t *workspace, int64_t number);
const char *ik_workspace_agent_model(const ik_workspace_t *workspace, int64_t number);
/* The user's last message to it as one line; "": none. */
const char *ik_workspace_agent_title(const ik_workspace_t *workspace, int64_t number);
/* Tokens of its last request and answer; 0: not known. */
int64_t ik_workspace_agent_context(const ik_workspace_t *workspace, int64_t number);
/* number 0: any agent. */
bool ik_workspace_is_busy(const ik_workspace_t *workspace, int64_t number);

/* Creates a child with a copy of the conversation of the agent with the focus, moves the focus to
 * it and submits prompt, unless that is NULL. An agent that works keeps working; the step whose
 * calls still run is not copied. */
void ik_workspace_fork(ik_workspace_t *workspace, const char *prompt);
res_t ik_workspace_switch(ik_workspace_t *workspace, int64_t number);
res_t ik_workspace_kill(ik_workspace_t *workspace, int64_t number);

/* --- undo -------------------------------------------------------------------------------- */

/* The turns of the agent with the focus; *out is on ctx. IK_ERR_NOT_FOUND: nothing is stored. */
res_t ik_workspace_read_turns(const void *ctx, ik_workspace_t *workspace,
                              const ik_undo_line_t **out);
/* Take back turns of the agent with the focus, and bring them back; see undo/undo.h. Only while no
 * agent is busy. The queues wait meanwhile. report is called once, from the loop, after REPLACED;
 * never when the session ends before. */
res_t ik_workspace_undo(ik_workspace_t *workspace, const ik_undo_request_t *request,
                        ik_undo_fn report, void *data);
res_t ik_workspace_redo(ik_workspace_t *workspace, ik_undo_fn report, void *data);
/* Whether one of them is running, and for how long; -1: none is. */
bool ik_workspace_is_undoing(const ik_workspace_t *workspace);
int64_t ik_workspace_undoing_ms(const ik_workspace_t *workspace);
/* What the session changed, or the last turn of the agent with the focus. Another call cancels an
 * earlier one. */
res_t ik_workspace_diff(ik_workspace_t *workspace, bool turn, ik_undo_format_t format,
                        ik_undo_diff_fn report, void *data);

/* --- messages and queues ----------------------------------------------------------------- */

typedef enum {
    /* A message that an agent at work gets behind its next tool results, or that starts its next
     * turn, before messages of the next kind. For an idle agent it is such a message. */
    IK_WORKSPACE_SUBMIT_NEXT,
    /* A line that the front end runs itself: it is returned as COMMAND when it is first in the
     * queue and its agent is idle and has the focus. */
    IK_WORKSPACE_SUBMIT_COMMAND,
    IK_WORKSPACE_SUBMIT_QUEUED, /* a message that starts a turn of its own */
} ik_workspace_submit_t;

/* A line that waits for an agent. Valid until the queue changes. */
typedef struct {
    const char *text;
    ik_workspace_images_t *images; /* of the message; NULL: none */
    ik_workspace_submit_t kind;
    uint64_t order;              /* grows with every line that is submitted */
    ik_workspace_check_t *check; /* by hooks; NULL: not yet, or there are none */
    bool checked;                /* hooks were asked, or there are none */
} ik_workspace_line_t;

enum { IK_WORKSPACE_IMAGES_MAX = 100 }; /* in one message; a request holds fewer */

/* The images that a message with this text names as "@FILE", for ik_workspace_submit; NULL: there
 * are none. They are read now; one that is too large may be made smaller before the message is
 * sent. An image that cannot be used is reported as a LINE. */
ik_workspace_images_t *ik_workspace_attach(ik_workspace_t *workspace, const char *text);
/* Adds an image that the front end has as bytes; *images is created if it is NULL. The message of
 * an error says what is wrong with the image, without its name. */
res_t ik_workspace_attach_bytes(ik_workspace_t *workspace, ik_workspace_images_t **images,
                                const char *name, const char *bytes, size_t len);
/* Whether a path of the user is that of an image, as far as its name and beginning tell. */
bool ik_workspace_is_image(const ik_workspace_t *workspace, const char *path);
/* Queues a line for an agent. The images, which may be NULL, become part of the user's message; the
 * line takes them over. */
void ik_workspace_submit(ik_workspace_t *workspace, int64_t number, const char *text,
                         ik_workspace_images_t *images, ik_workspace_submit_t kind);
/* The lines that wait for an agent, in the order in which they will be taken; NULL after the last.
 */
const ik_workspace_line_t *ik_workspace_queued(const ik_workspace_t *workspace, int64_t number,
                                               size_t index);
/* Empties an agent's queue and returns its lines joined by newlines, on ctx; NULL: it was empty. */
char *ik_workspace_take_queue(const void *ctx, ik_workspace_t *workspace, int64_t number);
/* Takes the line that was submitted last out of an agent's queue and returns it, on ctx; NULL: the
 * queue was empty. */
char *ik_workspace_take_latest(const void *ctx, ik_workspace_t *workspace, int64_t number);
/* Has the agent in focus, which is idle, summarise its conversation (ik_agent_compact). False when
 * there is nothing to compact. */
bool ik_workspace_compact(ik_workspace_t *workspace, const char *focus);
/* Interrupts the turn of an agent and its sub-agents. */
void ik_workspace_interrupt(ik_workspace_t *workspace, int64_t number);
/* Appends a message of the user that starts no turn, now or at the end of the current turn. */
void ik_workspace_add_note(ik_workspace_t *workspace, int64_t number, const char *text,
                           const char *data_json);

/* --- jobs: commands in the background ---------------------------------------------------- */

typedef struct {
    const char *id;
    const char *command;
    bool running;
    int exit_code;   /* -1: it runs, or it is not known */
    int64_t seconds; /* that it has run */
} ik_workspace_job_t;

size_t ik_workspace_jobs_running(const ik_workspace_t *workspace);
/* Jobs in the order of their start, also some that have ended. Texts are valid until a job is
 * started or ends. False: there is no such index. */
bool ik_workspace_job_at(const ik_workspace_t *workspace, size_t index, ik_workspace_job_t *out);
/* Ends a job, soon. False: no such job is running. */
bool ik_workspace_end_job(ik_workspace_t *workspace, const char *id);
/* Ends all jobs and returns how many were running and not about to end. */
size_t ik_workspace_end_jobs(ik_workspace_t *workspace);

/* --- custom commands and skills ---------------------------------------------------------- */

/* How to look for what extends this workspace. */
ik_extension_options_t ik_workspace_extension_options(const ik_workspace_t *workspace);
/* The custom command or skill that "/NAME ARGS" names, on ctx; NULL: there is none. It may be one
 * of a project that is not trusted. */
const ik_extension_t *ik_workspace_find_custom(const void *ctx, const ik_workspace_t *workspace,
                                               const char *line);
/* Turns "/NAME ARGS" into a message and starts a turn of the agent with the focus, which is idle.
 * more, which may be NULL, follows the message after a blank line; images, which may be NULL, are
 * taken over and become part of it. The turn begins with the commands in it; IK_ERR_NOT_FOUND or
 * IK_ERR_DENIED (not trusted): nothing happened. */
res_t ik_workspace_run_custom(ik_workspace_t *workspace, const char *line, const char *more,
                              ik_workspace_images_t *images);

/* While held, nothing is taken from the queues; holds are counted. */
void ik_workspace_hold(ik_workspace_t *workspace);
void ik_workspace_release(ik_workspace_t *workspace);
/* What the queues wait for ("looking for tools"); NULL: nothing. */
const char *ik_workspace_waiting_for(const ik_workspace_t *workspace);
