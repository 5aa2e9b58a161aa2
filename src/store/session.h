/*
 * A session this process may write, and its only writer. What could not be stored is kept and
 * written with the next event that can be, in order: a full disk that has room again, or a database
 * that is unlocked, costs nothing that was said.
 */
#pragma once

#include "conversation/conversation.h"
#include "store/history.h"

typedef struct ik_session ik_session_t;

typedef struct {
    const char *cwd;
    const char *model; /* provider/model */
} ik_session_facts_t;

/* A new one. It is in the store from the first words of the user on. history may be NULL: nothing
 * is stored. */
ik_session_t *ik_session_create(const void *ctx, ik_history_t *history,
                                const ik_session_facts_t *facts);
/* One that exists, by its whole id. IK_ERR_CONFLICT names pid and host of who holds it. */
res_t ik_session_open(const void *ctx, ik_history_t *history, const char *id, ik_session_t **out);
/* The error for a session that another process holds: who, and what to do. */
res_t ik_session_held(const char *id, const ik_holder_t *holder);
/* A new session that begins as a copy of another one, which may be held by somebody. */
res_t ik_session_open_copy(const void *ctx, ik_history_t *history, const char *id,
                           ik_session_t **out);

/* The pointer stays until the session is freed; the id changes when the session was continued on
 * another machine as well (history.h). */
const char *ik_session_id(const ik_session_t *session);

/* The next events of an agent, in one transaction: a crash leaves all of them or none. On an error
 * they are kept, and so is what follows until a write succeeds. */
res_t ik_session_append(ik_session_t *session, int64_t agent, ik_msg_t *const *messages,
                        size_t count, ik_store_safety_t safety);
/* Tries to write what waits. Freeing the session does it, too. */
res_t ik_session_flush(ik_session_t *session);

/* What agent knows, as it was written; whoever wants to send it to a model repairs it first. */
res_t ik_session_load(const void *ctx, ik_session_t *session, int64_t agent,
                      ik_conversation_t **out);
/* The agent that spoke last, of those that have not ended. */
int64_t ik_session_last_agent(ik_session_t *session);
/* All agents, by number. */
const ik_store_agents_t *ik_session_agents(const ik_session_t *session);
/* The agent is done for good: the end of its log says so. */
void ik_session_end_agent(ik_session_t *session, int64_t agent);
bool ik_session_has_ended(ik_session_t *session, int64_t agent);
/* A new agent that knows what parent knows now; stored with its first event. Returns its number. */
int64_t ik_session_fork(ik_session_t *session, int64_t parent);
