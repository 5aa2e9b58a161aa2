/*
 * The log of an agent as people read it: the parts of each message, and a tool call together with
 * its result, where the call was made. Messages are whatever somebody stored: data that is not what
 * it should be is shown as it is.
 */
#pragma once

#include "store/event_facts.h"
#include "store/store.h"

/* May hold any bytes, NUL too. NULL: there is none. */
typedef struct {
    const char *bytes;
    size_t len;
} ik_transcript_text_t;

/* What an entry is to a reader. */
typedef enum {
    IK_TRANSCRIPT_OTHER, /* of a kind that a later program may write: show all of it */
    IK_TRANSCRIPT_USER,
    IK_TRANSCRIPT_ANSWER,
    IK_TRANSCRIPT_TOOL, /* a call, a result, or both */
    IK_TRANSCRIPT_SYSTEM,
    IK_TRANSCRIPT_NOTE, /* what became of the conversation: content says it all */
    IK_TRANSCRIPT_KIND_COUNT,
} ik_transcript_kind_t;

typedef struct {
    ik_transcript_kind_t kind;
    ik_store_event_t event; /* of a result whose call is missing, the result */
    ik_event_facts_t facts;
    ik_transcript_text_t reasoning; /* of an answer, with its first message */
    bool incomplete;                /* the answer broke off */

    ik_transcript_text_t name;      /* of the tool */
    ik_transcript_text_t arguments; /* as the model wrote them, usually JSON */
    bool answered;                  /* there is a result */
    int64_t result_seq;
    const char *result_summary; /* may be NULL */
    bool success;
    int64_t wall_ms;             /* -1: not known */
    ik_transcript_text_t output; /* as the model got it, usually an envelope */
} ik_transcript_entry_t;

/* The entry is valid inside the callback only. */
typedef void (*ik_transcript_fn)(void *data, const ik_transcript_entry_t *entry);

/* The agent's own messages. Memory is that of one answer with its results. */
res_t ik_transcript_read(ik_store_t *store, const ik_store_agent_t *agent,
                         ik_transcript_fn on_entry, void *data);

/* The agent that wrote the message at which this one was forked: its parent, or an ancestor from
 * whom the parent had it. NULL when it is nobody's fork. */
const ik_store_agent_t *ik_transcript_origin(const ik_store_agents_t *agents,
                                             const ik_store_agent_t *agent);
