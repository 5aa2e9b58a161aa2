/*
 * An agent: a conversation with a model and the turns in which it grows. It reports everything
 * through one listener and knows nothing of who listens.
 *
 * What is said is stored before it is used, and used before it is told: the event MESSAGE comes
 * when the message is in the store. A turn ends in exactly one TURN_ENDED, and then the
 * conversation is one that can be sent: every call has its result.
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
    IK_TURN_LIMIT, /* the limit of tool turns was reached; the model had its last word */
    IK_TURN_ERROR,
    IK_TURN_INTERRUPTED,
} ik_turn_reason_t;

/* "end_turn", "limit", "error", "interrupted" */
const char *ik_turn_reason_name(ik_turn_reason_t reason);

typedef enum {
    IK_AGENT_TEXT,          /* text, len: a piece of the answer; begins: of a new message */
    IK_AGENT_REASONING,     /* text, len */
    IK_AGENT_MESSAGE,       /* message: it is in the conversation, and stored unless unsaved */
    IK_AGENT_TOOL_STARTED,  /* message: the call */
    IK_AGENT_TOOL_PROGRESS, /* message: the call; text, len */
    IK_AGENT_USAGE,         /* usage of one answer; cost */
    IK_AGENT_RETRY,         /* text: why; attempt, of; status; code; delay_ms */
    IK_AGENT_NOTICE,        /* text: one line worth knowing */
    IK_AGENT_ERROR,         /* code, text: why the turn will end */
    IK_AGENT_TURN_ENDED,    /* reason */
} ik_agent_event_kind_t;

/* Everything in it is valid inside the callback only. text is NUL-terminated. */
typedef struct {
    ik_agent_event_kind_t kind;
    const char *text;
    size_t len;
    bool begins;
    const ik_msg_t *message;
    bool unsaved; /* the store failed, which a NOTICE said; it is kept and tried again */
    const char *code;
    ik_usage_t usage;
    double cost; /* USD; negative: not known */
    int attempt; /* attempts that failed so far … */
    int of;      /* … of so many */
    int status;  /* of HTTP; 0: there was none */
    int64_t delay_ms;
    ik_turn_reason_t reason;
} ik_agent_event_t;

/* Why a RETRY is needed, on ctx: "HTTP 429: Rate limit reached." */
char *ik_agent_describe_retry(const void *ctx, const ik_agent_event_t *retry);

typedef void (*ik_agent_listener_fn)(void *data, const ik_agent_event_t *event);

typedef struct {
    ik_shared_ctx_t *shared;
    const ik_target_t *target;
    const char *system_prompt; /* NULL: none */
    ik_session_t *session;     /* which outlives the agent */
    bool without_tools;
    ik_agent_listener_fn on_event; /* must not free the agent */
    void *data;
} ik_agent_options_t;

/* Strings are copied. The system prompt is the first message, said with the first turn. */
ik_agent_t *ik_agent_create(const void *ctx, const ik_agent_options_t *options);
/* The same, going on with what was stored of an agent; the log is repaired first, and the system
 * prompt is the stored one, unless nothing was ever said. */
res_t ik_agent_resume(const void *ctx, const ik_agent_options_t *options, int64_t number,
                      ik_agent_t **out);
/* Another agent of the same session that knows what this one knows. Between turns of parent. */
ik_agent_t *ik_agent_fork(const void *ctx, ik_agent_t *parent, ik_agent_listener_fn on_event,
                          void *data);
/* In its session. */
int64_t ik_agent_number(const ik_agent_t *agent);

/* Starts a turn with what the user said. All events come from the loop, later, except the user's
 * own MESSAGE. Only when no turn is under way. */
void ik_agent_start_turn(ik_agent_t *agent, const char *text);
bool ik_agent_is_busy(const ik_agent_t *agent);
/* Ends the turn as soon as possible: at once, or when the running tools are gone. TURN_ENDED may
 * come before this returns. Nothing when no turn is under way. */
void ik_agent_interrupt(ik_agent_t *agent);

/* Between turns: go on with another model. What the old provider wanted back stays unsent. */
void ik_agent_set_target(ik_agent_t *agent, const ik_target_t *target);

/* Between turns: words of the user that begin no turn, such as what a command of theirs printed;
 * sent with the next one. data_json may be NULL. */
void ik_agent_add_note(ik_agent_t *agent, const char *text, const char *data_json);
/* Between turns: the oldest tool results are sent as a marker from now on, those of the last step
 * excepted. Returns how many were trimmed by this. */
size_t ik_agent_compact(ik_agent_t *agent);

/* Between turns: the registry it used so far is about to go. */
void ik_agent_forget_tools(ik_agent_t *agent);

const ik_target_t *ik_agent_target(const ik_agent_t *agent);
/* The system prompt, said already or not; NULL: none. */
const char *ik_agent_system(const ik_agent_t *agent);
const ik_conversation_t *ik_agent_conversation(const ik_agent_t *agent);
