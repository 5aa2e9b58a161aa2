/*
 * A running ikigai without a screen: the configuration in force, the model, the tools, one session
 * with its agents, what waits to be said to them, and questions to the user. A front end creates a
 * workspace, listens to its events and hands it what the user enters; it wires no discovery, opens
 * no session and chooses no model itself.
 *
 * Everything that takes time goes on in the loop. What is submitted meanwhile waits in a queue per
 * agent and is taken in order when nothing is in its way any more.
 *
 * One agent has the focus: the one the user talks to. Functions that name no agent mean that one.
 */
#pragma once

#include "agent/agent.h"
#include "base/paths.h"
#include "workspace/workspace_question.h"

typedef struct ik_workspace ik_workspace_t;

/* What the command line says about the conversation to begin with. Plain data. */
typedef struct {
    const char *prompt; /* the first message; NULL: it is typed, or comes from standard input */
    bool without_tools;
    bool trust;         /* the project's tools, for this run */
    bool continue_last; /* resume the last session of this folder */
    const char *resume; /* resume the session with this id or unique prefix; NULL: none */
    bool choose;        /* resume a session that the user chooses from a list */
    bool fork;          /* work in a copy of the resumed session */
    bool deliver_all;   /* a shared history gets the sessions begun without it, too */
} ik_workspace_start_t;

typedef enum {
    IK_WORKSPACE_TEXT, /* an answer to what the user asked for */
    IK_WORKSPACE_NOTE, /* worth knowing */
    IK_WORKSPACE_WARNING,
    IK_WORKSPACE_ERROR,
} ik_workspace_level_t;

typedef enum {
    IK_WORKSPACE_LINE,         /* level, text: one line for the user */
    IK_WORKSPACE_SESSION_ENDS, /* its agents are about to be freed */
    IK_WORKSPACE_SESSION,      /* another session is open; resumed tells whether it is stored */
    IK_WORKSPACE_FORKED,       /* agent is a new child that knows what its parent knows */
    IK_WORKSPACE_FOCUS,        /* agent has the focus now */
    IK_WORKSPACE_AGENT_ENDS,   /* agent is about to be freed */
    IK_WORKSPACE_CHOOSE,       /* sessions: answer with ik_workspace_choose */
    IK_WORKSPACE_READY,        /* once: model, tools and session are there; queues are taken */
    IK_WORKSPACE_TURN,         /* agent begins a turn */
    IK_WORKSPACE_AGENT,        /* agent, event: something happened in its conversation */
    IK_WORKSPACE_COMMAND,      /* agent, text: a queued line that the front end runs itself */
    IK_WORKSPACE_QUEUE,        /* agent: what waits for it has changed */
    IK_WORKSPACE_QUESTION,     /* another question is the first one now, or none is open */
    IK_WORKSPACE_FAILED,       /* result: the conversation asked for cannot begin */
    IK_WORKSPACE_SETTLED,      /* everything that can be done now is done or under way */
} ik_workspace_event_kind_t;

/* Everything in it is valid inside the callback only. */
typedef struct {
    ik_workspace_event_kind_t kind;
    int64_t agent; /* its number in the session */
    const ik_agent_event_t *event;
    ik_workspace_level_t level;
    const char *text;
    bool resumed;
    const ik_store_list_t *sessions; /* may be empty */
    const res_t *result;
    bool misconfigured; /* FAILED: because no model can be used as configured */
} ik_workspace_event_t;

typedef struct {
    const ik_paths_t *paths;
    const ik_config_t *config;
    ik_loop_t *loop;
    ik_process_host_t *host;
    const ik_workspace_start_t *start;
    const ik_call_gate_t *gate; /* NULL: every call runs */
    bool unattended;            /* there is no user: what needs an answer is not asked */
    /* May call the functions below, but not free the workspace. */
    void (*on_event)(void *data, const ik_workspace_event_t *event);
    void *data;
} ik_workspace_options_t;

/* Does no I/O, so that a first frame can be drawn at once. options and what it points to outlive
 * the workspace. */
ik_workspace_t *ik_workspace_create(const void *ctx, const ik_workspace_options_t *options);
/* Chooses the model, looks for tools and opens the session. An error means that no model can be
 * used as configured; what goes wrong later is FAILED. start->prompt is not submitted. */
res_t ik_workspace_start(ik_workspace_t *workspace);
/* Begins nothing new, interrupts every agent, and runs the loop until their tools are gone and what
 * they had printed is stored, for at most patience_ms. */
void ik_workspace_stop(ik_workspace_t *workspace, int patience_ms);
/* Interrupts every agent, saves what is left to save, and waits at most patience_ms for delivery to
 * a shared history. Only freeing is allowed afterwards. */
void ik_workspace_close(ik_workspace_t *workspace, int patience_ms);

/* --- what was found ---------------------------------------------------------------------- */

/* What commands and views read; the registry in it is NULL until discovery is complete. */
const ik_shared_ctx_t *ik_workspace_shared(const ik_workspace_t *workspace);
const ik_paths_t *ik_workspace_paths(const ik_workspace_t *workspace);
/* The model of the agent with the focus; NULL before it is chosen. */
const ik_target_t *ik_workspace_target(const ik_workspace_t *workspace);
/* The offline model answers because no other is configured. */
bool ik_workspace_is_makeshift(const ik_workspace_t *workspace);
/* Switches the model, from the next request on. On an error nothing changes. */
res_t ik_workspace_set_model(ik_workspace_t *workspace, const char *model);
/* Looks for all tools again and says how many there are, and what is not as before. */
void ik_workspace_refresh(ik_workspace_t *workspace);
/* The user is typing: tools of theirs whose schemas came from the cache are asked again, in the
 * background and once. Without this call it happens before the first message is taken. */
void ik_workspace_expect_message(ik_workspace_t *workspace);

/* --- the session and its agents ---------------------------------------------------------- */

/* NULL while it is being opened. */
ik_session_t *ik_workspace_session(const ik_workspace_t *workspace);
/* A session is open, and no other one is being opened in its place. */
bool ik_workspace_is_open(const ik_workspace_t *workspace);
/* Begins a new conversation in a new session. Only when no agent works. */
void ik_workspace_begin_session(ik_workspace_t *workspace);
/* The session to resume, from what CHOOSE offered; NULL: a new one begins. */
void ik_workspace_choose(ik_workspace_t *workspace, const char *id);
/* Opens a stored session (an id or a unique prefix) in place of this one. */
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
/* NULL: nothing was said to it yet, or its log is not loaded. */
ik_agent_t *ik_workspace_agent(const ik_workspace_t *workspace, int64_t number);
/* The agent with the focus, made now if need be. Only when a session is open. */
ik_agent_t *ik_workspace_require_agent(ik_workspace_t *workspace);
/* Loads the logs of all agents, so that they can be described. */
void ik_workspace_load_agents(ik_workspace_t *workspace);
/* The last words of the user to it, as one line; "". */
const char *ik_workspace_agent_title(const ik_workspace_t *workspace, int64_t number);
/* Tokens of its last request and answer; 0: not known. */
int64_t ik_workspace_agent_context(const ik_workspace_t *workspace, int64_t number);
/* number 0: any agent. */
bool ik_workspace_is_busy(const ik_workspace_t *workspace, int64_t number);

/* A child that knows what the agent with the focus knows gets the focus; prompt, which may be NULL,
 * is the first message to it. */
void ik_workspace_fork(ik_workspace_t *workspace, const char *prompt);
res_t ik_workspace_switch(ik_workspace_t *workspace, int64_t number);
res_t ik_workspace_kill(ik_workspace_t *workspace, int64_t number);

/* --- saying something -------------------------------------------------------------------- */

/* Queues a message for an agent. A command is a line of the front end's own: it comes back as
 * COMMAND when its turn has come and that agent has the focus. */
void ik_workspace_submit(ik_workspace_t *workspace, int64_t number, const char *text, bool command);
/* What waits for an agent, in order; NULL behind the last one. */
const char *ik_workspace_queued(const ik_workspace_t *workspace, int64_t number, size_t index);
/* Empties that queue and returns its lines joined by newlines, on ctx; NULL: it was empty. */
char *ik_workspace_take_queue(const void *ctx, ik_workspace_t *workspace, int64_t number);
/* Ends the turn of that agent. */
void ik_workspace_interrupt(ik_workspace_t *workspace, int64_t number);
/* Words of the user that begin no turn: they join the conversation now, or after the turn. */
void ik_workspace_add_note(ik_workspace_t *workspace, int64_t number, const char *text,
                           const char *data_json);
/* While held, nothing is taken from the queues; holds are counted. */
void ik_workspace_hold(ik_workspace_t *workspace);
void ik_workspace_release(ik_workspace_t *workspace);
/* Why nothing is taken from the queues yet ("looking for tools"); NULL: nothing keeps it. */
const char *ik_workspace_waiting_for(const ik_workspace_t *workspace);
