/* The state of a workspace, private to this folder. */
#pragma once

#include <sys/types.h>

#include "mcp/mcp.h"
#include "undo/checkpointer.h"
#include "workspace/workspace.h"

typedef struct ik_workspace_custom ik_workspace_custom_t;
typedef struct ik_workspace_task ik_workspace_task_t;

/* One agent of the session. */
typedef struct {
    ik_workspace_t *workspace;
    int64_t number;
    ik_mode_t mode;
    bool mode_chosen;           /* by the user, rather than by the configuration or by default */
    int mode_stored;            /* what its log says: 1 + ik_mode_t; 0: nothing */
    ik_agent_t *agent;          /* NULL: no messages yet, or the log is not loaded */
    char *title;                /* the user's last message as one line; NULL: none */
    int64_t context;            /* tokens of the last request and answer; 0: not known */
    ik_workspace_usage_t spent; /* by its own answers, as far as they were counted */
    int64_t parent; /* of a sub-agent; it waits for the result, or did; 0: not a sub-agent */
    char *id;       /* of a sub-agent: its number, for hooks; NULL: not needed yet */
    bool on_task;   /* a sub-agent in its first turn, which its parent waits for */
    ik_workspace_task_t *task; /* what it is to answer; NULL: nothing */
    char *doing;               /* on_task: what it does now, one line */
    char *failure;             /* on_task: why its turn fails; NULL: it does not */
    char *model;               /* of an ended sub-agent that is not loaded, and the number of */
    size_t messages;           /* its messages */
    ik_workspace_line_t *queue;
    size_t queue_count;
    uint64_t submitted; /* lines so far */
    char **notes;       /* pairs of text and data_json (may be NULL), appended after the turn */
    size_t note_count;
    bool ended;                      /* it is in leaving */
    ik_workspace_custom_t *custom;   /* a custom command before its message; NULL: none */
    const ik_target_t *turn_target;  /* chosen for the running turn only; NULL: none */
    const ik_target_t *usual_target; /* returns after it */
} ik_workspace_member_t;

/* Which folder stands at the path of the working folder. */
typedef struct {
    dev_t device;
    ino_t inode;
} ik_workspace_folder_t;

typedef struct ik_workspace_undoing ik_workspace_undoing_t;
typedef struct ik_workspace_jobs ik_workspace_jobs_t;

struct ik_workspace {
    ik_workspace_options_t options;
    ik_shared_ctx_t shared;
    const ik_target_t *target;         /* of new agents; NULL: not chosen yet */
    res_t target_error;                /* why not */
    void *queries;                     /* holds the requests for lists of models */
    ik_workspace_folder_t folder;      /* at the start */
    ik_workspace_folder_t folder_seen; /* with the last message */

    /* --- the session */
    ik_session_t *session;          /* NULL: not open yet */
    ik_history_question_t *opening; /* NULL: no session is being opened */
    bool choosing;                  /* the user is choosing a session */
    ik_workspace_member_t **members;
    size_t member_count;
    ik_workspace_member_t *focus; /* one of members */
    /* Agents that were ended while their tools ran: freed when the last results and the state of
     * the files are stored. */
    ik_workspace_member_t **leaving;
    size_t leaving_count;
    ik_timer_t *farewell;         /* an agent must not be freed by its own event */
    ik_workspace_task_t *waiting; /* for one of the agent's sub-agents to end: a list */
    ik_workspace_usage_t usage;
    ik_workspace_undoing_t *undoing; /* NULL: no undo or redo is running */
    void *diff;                      /* holds the last diff; NULL: none */

    ik_workspace_images_t *images; /* of --image, for the first message; NULL: none */
    char **notices;                /* they wait until the workspace is ready */
    size_t notice_count;

    /* --- tools */
    ik_tool_discovery_t *discovery;  /* NULL: not running */
    ik_tool_registry_t *registry;    /* shared.tool_registry */
    ik_host_operations_t operations; /* what tools may ask for over their host channel */
    void *old_registries;            /* running turns may still use them */
    bool refreshing;                 /* at the user's request: report the result */
    ik_mcp_t *mcp;                   /* the servers */
    bool recheck_due; /* schemas of user tools came from the cache, or a server's tools changed */
    bool rechecking;  /* discovery is reloading those schemas */
    char **problems;  /* of the last discovery */
    size_t problem_count;

    /* --- permissions */
    ik_confinement_t *confinement;
    ik_permission_rules_t *rules; /* NULL before ik_workspace_start */
    ik_mode_t mode;               /* of new agents */
    bool mode_forced;             /* by a flag or the environment: a session keeps none */

    ik_checkpointer_t *checkpointer; /* NULL: no checkpoints */
    ik_workspace_jobs_t *jobs;

    /* --- hooks */
    void *greeting;      /* the session_start hooks; NULL: they are not running */
    char *greeting_text; /* what they say, for the first message; NULL: nothing */
    char *greeting_stop; /* why they end the first turn before it begins; NULL: they do not */
    bool greeted;        /* the session has begun for hooks, and not ended */
    void *parting;       /* holds the session_end hooks that are running */
    int partings;        /* for this many sessions */

    /* --- questions and queues */
    ik_workspace_question_t *questions; /* a list; the first one is open */
    int holds;
    bool pumping;
    bool ready;    /* READY was sent */
    bool stopping; /* nothing more is taken from the queues */
    bool closed;
};

/* --- workspace.c: */

void ik_workspace_emit(ik_workspace_t *workspace, const ik_workspace_event_t *event);
void ik_workspace_say(ik_workspace_t *workspace, ik_workspace_level_t level, const char *text);
/* Warns of things of the project that are not used, if there are any; counts is indexed by kind. */
void ik_workspace_say_untrusted(ik_workspace_t *workspace, const size_t counts[IK_EXTENSION_KINDS]);
/* Reports FAILED and takes nothing more from the queues. */
void ik_workspace_fail(ik_workspace_t *workspace, const res_t *result);
/* As ik_workspace_fail, because of what the command line asks for. */
void ik_workspace_fail_usage(ik_workspace_t *workspace, const res_t *result);
/* Takes as many lines from the queues as possible. To be called whenever something that may have
 * blocked them has changed. */
void ik_workspace_pump(ik_workspace_t *workspace);
/* Chooses the target of new agents; kept, which may be NULL, is the model of a resumed session. */
res_t ik_workspace_choose_target(ik_workspace_t *workspace, const char *kept);
void ik_workspace_on_agent_event(void *member, const ik_agent_event_t *event);
/* The steering of an agent: takes the next message for the running turn. */
ik_msg_t *ik_workspace_take_next(void *member, const void *ctx);

/* Reports TURN for an agent that begins one. */
void ik_workspace_begin_turn(ik_workspace_member_t *member);
/* Creates a target, on ctx, whose key may be sent to its address. */
res_t ik_workspace_create_target(const void *ctx, ik_workspace_t *workspace, const char *model,
                                 const ik_target_t **out);
/* Uses a model until the end of the turn. */
res_t ik_workspace_choose_for_turn(ik_workspace_member_t *member, const char *model);

/* --- workspace_images.c: */

/* Loads the files of --image. An error names the file and the reason. */
res_t ik_workspace_load_images(ik_workspace_t *workspace);
/* Whether some of them, which may be NULL, are still being made smaller. */
bool ik_workspace_images_wait(const ik_workspace_images_t *images);
/* The data of a message with these images, either of which may be NULL; on ctx. */
char *ik_workspace_format_images(const void *ctx, const ik_workspace_images_t *first,
                                 const ik_workspace_images_t *images);
/* Says which images of a message that is sent the model does not see: those beyond what a message
 * has, and the oldest ones, which a request replaces by markers. */
void ik_workspace_announce_images(ik_workspace_t *workspace, const ik_workspace_images_t *first,
                                  const ik_workspace_images_t *images);
/* Warns the user, now or when the workspace is ready. */
void ik_workspace_say_when_ready(ik_workspace_t *workspace, const char *text);
/* Says what was kept until the workspace is ready. */
void ik_workspace_say_notices(ik_workspace_t *workspace);

/* --- workspace_custom.c: */

/* Sends the message of a custom command, if it is complete and its images are ready. */
void ik_workspace_send_custom(ik_workspace_member_t *member);
/* Ends a custom command whose message was not sent yet. */
void ik_workspace_cancel_custom(ik_workspace_member_t *member);

/* --- workspace_session.c: */

void ik_workspace_open_first(ik_workspace_t *workspace); /* according to options.start */
void ik_workspace_drop_session(ik_workspace_t *workspace);

/* --- workspace_member.c: */

/* Creates a member that is not one of the session yet. number is 0 until it is known. */
ik_workspace_member_t *ik_workspace_create_member(ik_workspace_t *workspace, int64_t number);
void ik_workspace_create_root(ik_workspace_t *workspace);
void ik_workspace_add_member(ik_workspace_member_t *member);
ik_workspace_member_t *ik_workspace_find_member(const ik_workspace_t *workspace, int64_t number);
/* Moves the queued lines to a member that takes the place of another one. */
void ik_workspace_adopt_queue(ik_workspace_member_t *to, ik_workspace_member_t *from);
/* Loads the agent of a member from its log. */
res_t ik_workspace_load_agent(ik_workspace_member_t *member, ik_session_t *session);
/* Creates the agent of a sub-agent. body, which may be NULL, replaces the built-in prompt; tools,
 * which may be NULL, are the only ones it has. */
void ik_workspace_create_subagent(ik_workspace_member_t *member, const ik_target_t *target,
                                  const char *body, const char *const *tools);
/* Loads an agent that an undo or redo has created, and gives it the place, queue, mode and model of
 * the one with the focus. */
res_t ik_workspace_replace_focus(ik_workspace_t *workspace, int64_t number);
/* Logs the end of an agent, so that it does not return when the session is resumed, and frees it.
 */
void ik_workspace_end_agent(ik_workspace_member_t *member);
/* Ends the agents in leaving whose turn is over. */
void ik_workspace_say_farewell(void *workspace);
void ik_workspace_flush_notes(ik_workspace_member_t *member);
void ik_workspace_set_title(ik_workspace_member_t *member, const ik_msg_t *message);
void ik_workspace_set_context(ik_workspace_member_t *member, const ik_usage_t *usage);
/* Sets it to what a summary left of it. */
void ik_workspace_shrink_context(ik_workspace_member_t *member, const ik_msg_t *summary);

/* --- workspace_tools.c: */

void ik_workspace_create_servers(ik_workspace_t *workspace);
void ik_workspace_find_tools(ik_workspace_t *workspace, bool refresh);
/* Frees registries that no turn uses any more. */
void ik_workspace_free_old_tools(ik_workspace_t *workspace);

/* --- workspace_host.c: */

/* The operations of the host channel. To add one: write its start function, and list it there. */
extern const ik_host_operation_t ik_workspace_operations[];

/* --- workspace_subagent.c: */

/* The op "agent" of the host channel. */
void ik_workspace_start_task(void *workspace, ik_host_request_t *request);
/* Begins tasks that waited, as far as possible. */
void ik_workspace_start_waiting(ik_workspace_t *workspace);
/* Adds what an answer used; a negative cost is not known. */
void ik_workspace_add_usage(ik_workspace_usage_t *sum, const ik_usage_t *usage, double cost);
/* Called for every event of every agent. */
void ik_workspace_watch_task(ik_workspace_member_t *member, const ik_agent_event_t *event);
/* A sub-agent is about to be freed: its task is answered by the end of the call. */
void ik_workspace_abandon_task(ik_workspace_member_t *member);
/* Interrupts the sub-agents that work for this agent. */
void ik_workspace_interrupt_subagents(ik_workspace_t *workspace, int64_t number);
/* Whether an agent may start sub-agents. */
bool ik_workspace_may_delegate(const ik_workspace_t *workspace, int64_t number);
/* Frees the conversations of ended sub-agents, which are loaded again when they are looked at. */
void ik_workspace_unload_subagents(ik_workspace_t *workspace);

/* --- workspace_permission.c: */

void ik_workspace_create_gate(ik_workspace_t *workspace);
/* Reads the mode and the rules, and puts them into force. IK_ERR_INVALID: one of them is wrong. */
res_t ik_workspace_load_permissions(ik_workspace_t *workspace);
/* Finds out the level of confinement, and reports LEVEL. */
void ik_workspace_find_level(ik_workspace_t *workspace);
/* Takes over the mode that the log of a loaded agent says, as far as it counts. */
void ik_workspace_restore_mode(ik_workspace_member_t *member);
/* Tells a new agent its mode. */
void ik_workspace_apply_mode(ik_workspace_member_t *member);
/* Logs the mode, if the log says another one and the agent has messages. */
void ik_workspace_store_mode(ik_workspace_member_t *member);

/* --- workspace_hooks.c: */

void ik_workspace_create_hooks(ik_workspace_t *workspace);
/* Looks for hooks; those that run already are not affected. */
void ik_workspace_find_hooks(ik_workspace_t *workspace);
/* Runs the hooks for the session that is open now; messages wait for them. */
void ik_workspace_greet_session(ik_workspace_t *workspace, const char *source);
/* Runs the hooks for the session that is about to end. Nothing waits for them. */
void ik_workspace_part_session(ik_workspace_t *workspace, const char *reason);
/* As ik_workspace_part_session at the end of the program: runs the loop until they have ended. */
void ik_workspace_part_and_wait(ik_workspace_t *workspace, bool hurried);

/* why: the message must not be sent; NULL: it may. */
typedef void (*ik_workspace_checked_fn)(void *data, const char *why);
/* Shows a message to the hooks. NULL: there are none. on_end is called once, from the loop; freeing
 * the check cancels it. */
ik_workspace_check_t *ik_workspace_check_start(const void *ctx, ik_workspace_member_t *member,
                                               const char *text, ik_workspace_checked_fn on_end,
                                               void *data);
/* check may be NULL. */
bool ik_workspace_check_runs(const ik_workspace_check_t *check);
/* The message with what hooks add to it, on ctx. check may be NULL. begins: it begins a turn, and
 * takes what the hooks of the session said. */
char *ik_workspace_join_context(const void *ctx, ik_workspace_t *workspace, const char *text,
                                const ik_workspace_check_t *check, bool begins);
/* Gives a message back to the user and says why. ends: it is the error of a turn, which ends. */
void ik_workspace_report_block(ik_workspace_member_t *member, const char *text, const char *why,
                               bool ends);
/* --- workspace_editor.c: */

/* Has the editor save a file before a call changes it. */
void ik_workspace_attend_editor(ik_workspace_t *workspace);

/* --- workspace_jobs.c: */

void ik_workspace_create_jobs(ik_workspace_t *workspace);
/* The number of jobs that are running; lives as long as the workspace. */
const size_t *ik_workspace_jobs_counter(const ik_workspace_t *workspace);
/* The operation job of the host channel; data is the workspace. */
void ik_workspace_start_job_request(void *data, ik_host_request_t *request);

/* --- workspace_undo.c: */

void ik_workspace_create_checkpointer(ik_workspace_t *workspace);
/* Another session is open. */
void ik_workspace_restart_checkpointer(ik_workspace_t *workspace);
/* Appends a checkpoint with these states to the log of the agent, and says what there is to say. */
void ik_workspace_record_checkpoint(ik_workspace_t *workspace, int64_t agent,
                                    const ik_checkpoint_t *taken,
                                    const ik_msg_checkpoint_t *checkpoint);
/* Records the end of what a crash cut off in a resumed session. */
void ik_workspace_end_segments(ik_workspace_t *workspace);

/* --- workspace_question.c: */

/* Whether the program itself has asked a question: the queues then wait. */
bool ik_workspace_has_own_question(const ik_workspace_t *workspace);
