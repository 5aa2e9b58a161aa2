/*
 * A session that only this process writes. Events that could not be stored, because the
 * disk is full or the database is locked, are kept in memory and written, in order, before the next
 * event, so that nothing is lost once the store works again.
 */
#pragma once

#include "conversation/conversation.h"
#include "conversation/delegation.h"
#include "store/history.h"

typedef struct ik_session ik_session_t;

typedef struct {
    const char *cwd;
    const char *model; /* provider/model */
} ik_session_facts_t;

/* Creates a session, which is stored with the first message of the user, or by ik_session_store.
 * history may be NULL: nothing is stored. */
ik_session_t *ik_session_create(const void *ctx, ik_history_t *history,
                                const ik_session_facts_t *facts);
/* Opens a stored session by its whole id. IK_ERR_CONFLICT names the process that holds it. */
res_t ik_session_open(const void *ctx, ik_history_t *history, const char *id, ik_session_t **out);
/* The error for a session that another process holds; says which one and what to do. */
res_t ik_session_held(const char *id, const ik_holder_t *holder);
/* Creates a session as a copy of another one, which may be held by another process. */
res_t ik_session_open_copy(const void *ctx, ik_history_t *history, const char *id,
                           ik_session_t **out);

/* The pointer is valid until the session is freed. The id changes when the session was continued on
 * another machine, too (history.h). */
const char *ik_session_id(const ik_session_t *session);

/* Appends events of an agent in one transaction: after a crash all or none of them are stored. On
 * an error they are kept, as are later events, until a write succeeds. */
res_t ik_session_append(ik_session_t *session, int64_t agent, ik_msg_t *const *messages,
                        size_t count, ik_store_safety_t safety);
/* Stores the session although it has no message yet, so that it can be opened by its id later. */
res_t ik_session_store(ik_session_t *session);
/* Tries to write the events that were kept. Freeing the session does so, too. */
res_t ik_session_flush(ik_session_t *session);
/* Tries to flush even if that has just failed. For the end of the program. */
res_t ik_session_finish(ik_session_t *session);

/* All events of the agent and its ancestors as they were stored; repair them before you send them
 * to a model. */
res_t ik_session_load(const void *ctx, ik_session_t *session, int64_t agent,
                      ik_conversation_t **out);
/* The agent with the last event, of those that have not ended and are not sub-agents. */
int64_t ik_session_last_agent(ik_session_t *session);
/* All agents, by number. */
const ik_store_agents_t *ik_session_agents(const ik_session_t *session);
/* Ends the agent for good; the last event of its log says so. */
void ik_session_end_agent(ik_session_t *session, int64_t agent);
/* Whether it was ended, or another agent took its place by an undo or redo. */
bool ik_session_has_ended(ik_session_t *session, int64_t agent);
/* The seq of the agent's last event, stored or waiting. */
int64_t ik_session_last_seq(const ik_session_t *session, int64_t agent);
/* Creates an agent that begins with the log of parent up to and including the event at, and returns
 * its number. It is stored with its first event. */
int64_t ik_session_fork(ik_session_t *session, int64_t parent, int64_t at);
/* Creates a sub-agent of parent, logs how it was started, and returns its number. */
int64_t ik_session_delegate(ik_session_t *session, int64_t parent,
                            const ik_delegation_t *delegation);
bool ik_session_has_subagents(const ik_session_t *session);
/* How a sub-agent was started; NULL: it is not a sub-agent. Valid until the session is freed. */
const ik_delegation_t *ik_session_delegation(const ik_session_t *session, int64_t agent);
