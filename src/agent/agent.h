/*
 * An agent: a conversation with a model and the turns that extend it. It reports everything through
 * one listener and does not depend on what the listener is.
 *
 * A message is stored first, then added to the conversation, then reported by the event MESSAGE.
 * Every turn ends with exactly one TURN_ENDED; at that point every call has its result, so that the
 * conversation can be sent.
 */
#pragma once

#include "agent/shared.h"
#include "conversation/conversation.h"
#include "provider/request.h"
#include "provider/wire.h"
#include "store/session.h"

typedef struct ik_agent ik_agent_t;

typedef enum {
    IK_TURN_END,   /* the model is done */
    IK_TURN_LIMIT, /* the limit of tool turns was reached; the model answered without tools */
    IK_TURN_ERROR,
    IK_TURN_INTERRUPTED,
} ik_turn_reason_t;

/* "end_turn", "limit", "error", "interrupted" */
const char *ik_turn_reason_name(ik_turn_reason_t reason);

typedef enum {
    IK_AGENT_TEXT,          /* text, len: a piece of the answer; begins: it starts a message */
    IK_AGENT_REASONING,     /* text, len */
    IK_AGENT_MESSAGE,       /* message: now in the conversation, and stored unless unsaved */
    IK_AGENT_TOOL_STARTED,  /* message: the call */
    IK_AGENT_TOOL_PROGRESS, /* message: the call; text, len */
    IK_AGENT_USAGE,         /* usage and cost of one answer */
    IK_AGENT_RETRY,         /* text: why; attempt, of; status; code; delay_ms */
    IK_AGENT_NOTICE,        /* text: one line for the user */
    IK_AGENT_ERROR,         /* code, text: why the turn fails; status */
    IK_AGENT_TURN_ENDED,    /* reason */
} ik_agent_event_kind_t;

/* Pointers are valid inside the callback only. text is NUL-terminated. */
typedef struct {
    ik_agent_event_kind_t kind;
    const char *text;
    size_t len;
    bool begins;
    const ik_msg_t *message;
    bool unsaved; /* the store failed, as a NOTICE said; writing is tried again later */
    const char *code;
    ik_usage_t usage;
    double cost; /* USD; negative: not known */
    int attempt; /* failed attempts so far */
    int of;      /* maximum number of attempts */
    int status;  /* HTTP status; 0: no response */
    int64_t delay_ms;
    ik_turn_reason_t reason;
} ik_agent_event_t;

/* The reason of a RETRY, on ctx: "HTTP 429: Rate limit reached." */
char *ik_agent_describe_retry(const void *ctx, const ik_agent_event_t *retry);

typedef void (*ik_agent_listener_fn)(void *data, const ik_agent_event_t *event);
/* The next message of the user that waits for the running turn, on ctx; NULL: none. Called before
 * each request that sends tool results, until it returns NULL: the messages follow the results. */
typedef ik_msg_t *(*ik_agent_steering_fn)(void *data, const void *ctx);

typedef struct {
    ik_shared_ctx_t *shared;
    const ik_target_t *target;
    const char *system_prompt; /* NULL: none */
    ik_session_t *session;     /* outlives the agent */
    int64_t number;            /* in the session, of a sub-agent; 0: the first agent */
    bool without_tools;
    long max_output_tokens;        /* 0: as configured */
    const char *const *tools;      /* of a sub-agent: the only ones it has; NULL: all */
    ik_agent_listener_fn on_event; /* must not free the agent */
    ik_agent_steering_fn steering; /* may be NULL */
    void *data;
} ik_agent_options_t;

/* Strings are copied. The system prompt becomes the first message when the user first writes. */
ik_agent_t *ik_agent_create(const void *ctx, const ik_agent_options_t *options);
/* Loads a stored agent and repairs its log. The stored system prompt wins over the one in options,
 * which is used only if the log is empty. */
res_t ik_agent_resume(const void *ctx, const ik_agent_options_t *options, int64_t number,
                      ik_agent_t **out);
/* Creates an agent in the same session with a copy of the conversation. A step of parent whose
 * calls still run is left out. on_event and parent's steering get data. */
ik_agent_t *ik_agent_fork(const void *ctx, ik_agent_t *parent, ik_agent_listener_fn on_event,
                          void *data);
/* The agent's number in its session. */
int64_t ik_agent_number(const ik_agent_t *agent);

/* Appends the user's message and starts a turn. data_json may be NULL; ik_msg_format_images makes
 * it for a message with images. The MESSAGE event of the user's own text comes before this returns,
 * all others later from the loop. Only while no turn is running. */
void ik_agent_start_turn(ik_agent_t *agent, const char *text, const char *data_json);
bool ik_agent_is_busy(const ik_agent_t *agent);
/* Whether the running turn, if any, is about to end because it was interrupted. */
bool ik_agent_is_interrupted(const ik_agent_t *agent);
/* Time since anything was received of the answer that is arriving; -1: none is. */
int64_t ik_agent_silent_ms(const ik_agent_t *agent);
/* Ends the turn at once, or as soon as the running tools have ended. TURN_ENDED may come before
 * this returns. Does nothing when no turn is running. */
void ik_agent_interrupt(ik_agent_t *agent);

/* Switches to another model from the next request on, even within a turn; an answer that its model
 * has to continue is continued first. Data that only the old provider understands, such as its
 * encrypted reasoning, is no longer sent. */
void ik_agent_set_target(ik_agent_t *agent, const ik_target_t *target);

/* Appends a message of the user that starts no turn, such as the output of a shell command; the
 * next turn sends it. Only between turns. data_json may be NULL. */
void ik_agent_add_note(ik_agent_t *agent, const char *text, const char *data_json);
/* Starts a turn that only asks the model for a summary of the conversation, which stands for older
 * messages from then on; if that fails, old tool results are replaced by a marker. focus says what
 * to keep; NULL: not given. Only between turns. False when there is nothing to compact. */
bool ik_agent_compact(ik_agent_t *agent, const char *focus);

/* Drops every reference to the tool registry, which is about to be freed. Only between turns. */
void ik_agent_forget_tools(ik_agent_t *agent);

/* The model of the next request. */
const ik_target_t *ik_agent_target(const ik_agent_t *agent);
/* Adds a paragraph, borrowed, to the system prompt of the next requests; it is not stored. NULL:
 * none.
 */
void ik_agent_set_addition(ik_agent_t *agent, const char *paragraph);
/* The system prompt, whether it is in the conversation yet or not; NULL: none. */
const char *ik_agent_system(const ik_agent_t *agent);
const ik_conversation_t *ik_agent_conversation(const ik_agent_t *agent);
