/*
 * Reads the log of an agent for display: each message is split into its parts, and each tool call
 * comes with its result, at the position of the call. Imported messages may contain anything; data
 * of an unexpected form is passed on unchanged.
 */
#pragma once

#include "conversation/delegation.h"
#include "store/event_facts.h"
#include "store/store.h"

/* Any bytes, including NUL. bytes is NULL when there is no such text. */
typedef struct {
    const char *bytes;
    size_t len;
} ik_transcript_text_t;

typedef enum {
    IK_TRANSCRIPT_OTHER, /* an unknown kind: show all of it */
    IK_TRANSCRIPT_USER,
    IK_TRANSCRIPT_ANSWER,
    IK_TRANSCRIPT_TOOL, /* a call, a result without a call, or both */
    IK_TRANSCRIPT_SYSTEM,
    IK_TRANSCRIPT_NOTE, /* an event such as a compaction; content describes it */
    IK_TRANSCRIPT_KIND_COUNT,
} ik_transcript_kind_t;

typedef struct {
    ik_transcript_kind_t kind;
    ik_store_event_t event; /* the message; for a call and its result, the call */
    ik_event_facts_t facts;
    ik_transcript_text_t reasoning; /* in the first message of an answer */
    bool incomplete;                /* the answer was cut off */
    ik_transcript_text_t summary;   /* of a compaction: what stands for older messages */
    const ik_msg_image_t *images;   /* of the user's message, or of the result */
    size_t image_count;

    /* The rest is for IK_TRANSCRIPT_TOOL. */
    ik_transcript_text_t name;      /* of the tool */
    ik_transcript_text_t arguments; /* as the model wrote them, usually JSON */
    bool answered;                  /* there is a result */
    int64_t result_seq;
    const char *result_summary; /* may be NULL */
    bool success;
    int64_t wall_ms;             /* -1: not known */
    ik_transcript_text_t output; /* as the model got it, usually an envelope */
    ik_display_t display;        /* how the tool wants the result to be shown */
} ik_transcript_entry_t;

/* The entry is valid only inside the callback. */
typedef void (*ik_transcript_fn)(void *data, const ik_transcript_entry_t *entry);

/* Reads the agent's own messages. Holds one answer with its results in memory. */
res_t ik_transcript_read(ik_store_t *store, const ik_store_agent_t *agent,
                         ik_transcript_fn on_entry, void *data);

/* The agent whose log has the message at which this agent was forked: its parent or another
 * ancestor. NULL when the agent is not a fork. */
const ik_store_agent_t *ik_transcript_origin(const ik_store_agents_t *agents,
                                             const ik_store_agent_t *agent);

/* How a sub-agent was started, on ctx; NULL: the agent is not a sub-agent. */
const ik_delegation_t *ik_transcript_delegation(const void *ctx, ik_store_t *store,
                                                const ik_store_agent_t *agent);
