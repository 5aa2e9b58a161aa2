/* The state of a connection and of its sessions, private to this folder. */
#pragma once

#include "acp/acp.h"
#include "command/command.h"
#include "io/duplex.h"
#include "rpc/rpc.h"
#include "tool/tool_editor.h"
#include "workspace/workspace.h"

enum {
    IK_ACP_AUTH_REQUIRED = -32000,
    IK_ACP_NOT_FOUND = -32002,
    IK_ACP_MESSAGE_ID_LEN = 16,
};

typedef struct ik_acp_session ik_acp_session_t;
typedef struct ik_acp_call ik_acp_call_t;

typedef struct {
    const ik_acp_options_t *options;
    ik_duplex_t *duplex;
    ik_rpc_t *rpc;
    bool initialized;
    bool client_reads; /* the editor answers fs/read_text_file */
    bool client_writes;
    bool client_asks;   /* and elicitation/create with a form */
    bool client_visits; /* or with a URL */
    ik_acp_session_t **sessions;
    size_t session_count;
    ik_history_t *history; /* for lists and deletions; NULL: not needed yet */
    ik_timer_t *reaper;    /* ends sessions, which must not happen in one of their events */
    bool reaps;
    bool done;
    int signal; /* that ends the program; 0: none */
} ik_acp_t;

struct ik_acp_session {
    ik_acp_t *acp;
    char *id; /* NULL: it is being opened */
    ik_paths_t *paths;
    ik_config_t *config;
    ik_workspace_start_t start;
    ik_workspace_t *workspace;
    ik_command_host_t commands;
    ik_rpc_request_t *opening; /* session/load or session/resume; NULL: answered */
    bool replays;
    ik_rpc_request_t *closing; /* session/close or session/delete; NULL: none */
    bool leaves;               /* it is freed by the reaper */
    char *failure;             /* why it cannot work; NULL: it can */
    int64_t opened_us;

    /* --- the running prompt */
    ik_rpc_request_t *prompt; /* NULL: none */
    bool cancelled;
    bool commanded;                  /* it is a command, which has run; a turn may follow */
    char *more;                      /* follows the text of a custom command; NULL: nothing */
    ik_workspace_images_t *pictures; /* of the message of a custom command; NULL: none */
    char *error;                     /* why the turn failed; NULL: it did not */
    int error_code;                  /* of JSON-RPC */
    char *stop;         /* why the model stopped last (ik_stop_name); NULL: not known */
    char *notes;        /* for the user, until the next turn; NULL: none */
    bool titled;        /* the editor knows the title */
    const char *speaks; /* the kind of the message whose parts are being sent; NULL: none */
    char message_id[IK_ACP_MESSAGE_ID_LEN + 1];
    ik_rpc_call_t *asked; /* the open question, at the editor; NULL: none */
    bool asked_form;      /* it is an elicitation */

    ik_acp_call_t **calls; /* tool calls of this turn */
    size_t call_count;
    ik_timer_t *progress; /* sends what tools printed */
};

/* --- acp.c: */

/* A line for the log, on standard error. */
void ik_acp_log(const char *text);
/* Gives up a request to the editor, and tells it so. */
void ik_acp_cancel_call(const ik_acp_t *acp, ik_rpc_call_t *call);

/* --- acp_session.c: */

/* Methods; each answers the request, now or later. */
void ik_acp_session_new(ik_acp_t *acp, ik_rpc_request_t *request);
/* session/load replays the conversation, session/resume does not. */
void ik_acp_session_open(ik_acp_t *acp, ik_rpc_request_t *request, bool replays);
void ik_acp_session_close(ik_acp_t *acp, ik_rpc_request_t *request);
/* The open session that the params name; NULL: there is none, and the request is refused. */
ik_acp_session_t *ik_acp_session_of(ik_acp_t *acp, ik_rpc_request_t *request);
ik_acp_session_t *ik_acp_session_find(ik_acp_t *acp, const char *id);
/* Refuses the request if the session is being opened: two workspaces of one session would overwrite
 * each other's messages. */
bool ik_acp_session_refuse_opening(ik_acp_t *acp, ik_rpc_request_t *request, const char *id);
/* Ends the session and answers closing. */
void ik_acp_session_leave(ik_acp_session_t *session, ik_rpc_request_t *closing);
/* Frees the sessions that leave and do not work any more. */
void ik_acp_session_reap(void *acp);
/* A string of the params, on ctx; NULL: there is none. */
char *ik_acp_text(const void *ctx, ik_json_span_t params, const char *name);

/* --- acp_turn.c: */

void ik_acp_turn_start(ik_acp_t *acp, ik_rpc_request_t *request);
void ik_acp_turn_cancel(ik_acp_session_t *session);
void ik_acp_turn_on_event(ik_acp_session_t *session, const ik_agent_event_t *event);
/* Runs a queued command. */
void ik_acp_turn_on_command(ik_acp_session_t *session, const char *line);
/* A command that starts no turn has done its work when nothing is under way. */
void ik_acp_turn_on_settled(ik_acp_session_t *session);
/* Refuses the prompt, if there is one. */
void ik_acp_turn_fail(ik_acp_session_t *session, const char *why);
/* A line for the user: in the conversation as a thought, and in the log. */
void ik_acp_turn_note(ik_acp_session_t *session, const char *text);

/* --- acp_prompt.c: */

/* The blocks of a prompt as one message. */
typedef struct {
    char *text;                    /* what the user wrote, with links */
    char *context;                 /* the texts of embedded files; NULL: none */
    ik_workspace_images_t *images; /* NULL: none */
    bool is_command;
} ik_acp_prompt_t;

/* On an error the message says which block is wrong. The texts are on ctx; the images belong to the
 * workspace until they are submitted. */
res_t ik_acp_prompt_read(const void *ctx, const ik_acp_session_t *session, ik_json_span_t blocks,
                         ik_acp_prompt_t *out);

/* --- acp_update.c: */

/* Begins the params of session/update; members of the update may follow. */
void ik_acp_update_begin(ik_buffer_t *out, const ik_acp_session_t *session, const char *kind);
void ik_acp_update_send(ik_acp_session_t *session, ik_buffer_t *out);
/* Sends a part of a message or thought. It belongs to the message of the part before if that was of
 * the same kind, which is a literal, and nothing has ended the message. */
void ik_acp_update_text(ik_acp_session_t *session, const char *kind, const char *text, size_t len);
void ik_acp_update_usage(ik_acp_session_t *session);
/* The next part begins another message. */
void ik_acp_update_end_message(ik_acp_session_t *session);
/* Sends the list that the result of a call of todo holds. */
void ik_acp_update_plan(ik_acp_session_t *session, ik_json_span_t result);
void ik_acp_update_title(ik_acp_session_t *session);
/* Sends the conversation so far. */
void ik_acp_update_replay(ik_acp_session_t *session);

/* --- acp_call.c: */

void ik_acp_call_announce(ik_acp_session_t *session, const ik_msg_t *message, bool replayed);
void ik_acp_call_start(ik_acp_session_t *session, const ik_msg_t *message);
void ik_acp_call_progress(ik_acp_session_t *session, const ik_msg_t *message, const char *text,
                          size_t len);
void ik_acp_call_end(ik_acp_session_t *session, const ik_msg_t *result);
/* Appends the members of the call that a permission question is about, after a first one. It is
 * announced if it was not. asker is the sub-agent that makes the call; NULL: none does. */
void ik_acp_call_describe(ik_acp_session_t *session, ik_buffer_t *out,
                          const ik_permission_question_t *question, const char *asker);
/* Forgets the calls of the turn. */
void ik_acp_call_clear(ik_acp_session_t *session);

/* What the editor has, or has written, of the file of a call that changes it. */
void ik_acp_call_note_file(ik_acp_session_t *session, const char *path, const char *text,
                           bool written);

/* --- acp_files.c: */

/* The files of the editor, on session; NULL: it does not offer them. */
const ik_tool_editor_t *ik_acp_files_create(ik_acp_session_t *session);

/* --- acp_question.c: */

/* Another question is open, or none is. */
void ik_acp_question_changed(ik_acp_session_t *session);

/* --- acp_options.c: */

/* Appends modes and configOptions as members of an object that has others, or not (first). */
void ik_acp_options_append(ik_buffer_t *out, const ik_acp_session_t *session, bool first);
/* Methods. */
void ik_acp_options_set(ik_acp_t *acp, ik_rpc_request_t *request);
void ik_acp_options_set_mode(ik_acp_t *acp, ik_rpc_request_t *request);
/* Sends the commands that can be used. */
void ik_acp_options_send_commands(ik_acp_session_t *session);
/* Whether a line is one of them. */
bool ik_acp_options_is_command(const ik_acp_session_t *session, const char *line);
/* What slash commands print is sent as the agent's message. */
extern const ik_command_screen_t ik_acp_screen;

/* --- acp_servers.c: */

/* Reads mcpServers of the params, on ctx. false: it is not as the protocol says. */
bool ik_acp_servers_read(const void *ctx, ik_json_span_t params, ik_config_servers_t **out);
/* Adds them to those of the configuration, which owns them from now on. */
void ik_acp_servers_adopt(ik_config_t *config, ik_config_servers_t *servers);

/* --- acp_history.c: */

void ik_acp_history_list(ik_acp_t *acp, ik_rpc_request_t *request);
void ik_acp_history_delete(ik_acp_t *acp, ik_rpc_request_t *request);
/* Deletes a session that is not open and answers. */
void ik_acp_history_remove(ik_acp_t *acp, ik_rpc_request_t *request, const char *id);
