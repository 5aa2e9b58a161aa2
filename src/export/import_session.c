#include "export/import_session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "conversation/message.h"

/* Hashes of the events that the store has of an agent, so that logs are compared without being in
 * memory. A collision does no harm: the store compares again what it is given to write. */
typedef struct {
    const void *ctx;
    uint64_t *hashes;
    size_t count;
    size_t capacity;
} stored_log_t;

typedef struct {
    ik_store_agent_t facts; /* last_seq: in the file so far */
    int64_t line;
    stored_log_t log;
} agent_t;

struct ik_import_session {
    char *id;
    ik_store_t *store;
    ik_store_agents_t *stored; /* NULL: the store does not have the session */
    agent_t *agents;           /* by number */
    size_t count;
    size_t capacity;
    int64_t messages;
    bool has_more; /* the file has more than the store */
};

/* --- comparing with the store ------------------------------------------------------------ */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return text == NULL ? ~hash : hash * 31 + ik_hash_bytes(text, strlen(text));
}

/* An imported event of kind mode has no data. */
static uint64_t hash_event(const ik_store_event_t *event)
{
    uint64_t hash = hash_text((uint64_t)event->created_us, event->kind);
    bool is_mode = strcmp(event->kind, IK_MSG_MODE) == 0;
    return hash_text(hash_text(hash, event->content), is_mode ? NULL : event->data_json);
}

static res_t on_stored_event(void *data, const ik_store_event_t *event)
{
    agent_t *agent = data;
    stored_log_t *log = &agent->log;
    if (log->count == log->capacity) {
        log->capacity = log->capacity == 0 ? 64 : log->capacity * 2;
        log->hashes = ik_resize_array(log->ctx, log->hashes, uint64_t, log->capacity);
    }
    log->hashes[log->count++] = hash_event(event);
    return OK;
}

static const ik_store_agent_t *find_stored(const ik_import_session_t *session, int64_t number)
{
    for (size_t i = 0; session->stored != NULL && i < session->stored->count; i++) {
        if (session->stored->agents[i].number == number) {
            return &session->stored->agents[i];
        }
    }
    return NULL;
}

static res_t load_log(ik_import_session_t *session, agent_t *agent)
{
    const ik_store_agent_t *stored = find_stored(session, agent->facts.number);
    if (stored == NULL) {
        session->has_more = true;
        return OK;
    }
    if (stored->parent != agent->facts.parent || stored->forked_at != agent->facts.forked_at) {
        return ERR(CONFLICT, "session %s exists here with a different agent %" PRId64, session->id,
                   agent->facts.number);
    }
    agent->log.ctx = session;
    return ik_store_read(session->store, stored, stored->forked_at, on_stored_event, agent);
}

static res_t compare_event(ik_import_session_t *session, const agent_t *agent,
                           const ik_store_event_t *event)
{
    size_t index = (size_t)(event->seq - agent->facts.forked_at - 1);
    if (index >= agent->log.count) {
        session->has_more = true;
        return OK;
    }
    return agent->log.hashes[index] == hash_event(event)
               ? OK
               : ERR(CONFLICT,
                     "session %s exists here with a different message %" PRId64
                     " of agent %" PRId64,
                     session->id, event->seq, event->agent);
}

/* --- checking the file ------------------------------------------------------------------- */

res_t ik_import_session_create(const void *ctx, const ik_import_line_t *line, ik_store_t *store,
                               ik_import_session_t **out)
{
    ik_import_session_t *session = ik_new(ctx, ik_import_session_t);
    session->id = ik_strdup(session, line->session.id);
    session->store = store;
    *out = session;
    res_t found = store == NULL ? ERR(NOT_FOUND, "not asked")
                                : ik_store_agents(session, store, session->id, &session->stored);
    if (is_err(&found)) {
        session->stored = NULL;
        session->has_more = true;
    }
    return found.code == IK_ERR_NOT_FOUND ? OK : found;
}

static int compare_numbers(const void *key, const void *element)
{
    int64_t number = *(const int64_t *)key;
    int64_t other = ((const agent_t *)element)->facts.number;
    return number < other ? -1 : number > other;
}

static agent_t *find_agent(const ik_import_session_t *session, int64_t number)
{
    return session->count == 0 ? NULL
                               : bsearch(&number, session->agents, session->count,
                                         sizeof(*session->agents), compare_numbers);
}

static res_t check_agent(const ik_import_session_t *session, const ik_store_agent_t *agent)
{
    bool root = session->count == 0;
    int64_t last = root ? 0 : session->agents[session->count - 1].facts.number;
    if (root && (agent->number != IK_STORE_ROOT_AGENT || agent->parent != 0)) {
        return ERR(INVALID, "expected the first agent to be number %d, with parent 0",
                   IK_STORE_ROOT_AGENT);
    }
    if (root && agent->forked_at != 0) {
        return ERR(INVALID, "expected \"forked_at\" of the first agent to be 0");
    }
    if (agent->number <= last) {
        return ERR(INVALID, "expected agents by number: %" PRId64 " comes after %" PRId64,
                   agent->number, last);
    }
    return root || find_agent(session, agent->parent) != NULL
               ? OK
               : ERR(INVALID, "expected \"parent\" to be an earlier agent");
}

static res_t take_agent(ik_import_session_t *session, const ik_store_agent_t *facts, int64_t number)
{
    TRY(check_agent(session, facts));
    if (session->count == session->capacity) {
        session->capacity = session->capacity == 0 ? 4 : session->capacity * 2;
        session->agents = ik_resize_array(session, session->agents, agent_t, session->capacity);
    }
    agent_t *agent = &session->agents[session->count++];
    *agent = (agent_t){.facts = *facts, .line = number};
    agent->facts.last_seq = facts->forked_at;
    return load_log(session, agent);
}

static res_t take_message(ik_import_session_t *session, const ik_store_event_t *event)
{
    agent_t *agent = find_agent(session, event->agent);
    if (agent == NULL) {
        return ERR(INVALID, "expected a line for agent %" PRId64 " before its messages",
                   event->agent);
    }
    if (event->seq - 1 != agent->facts.last_seq) {
        return ERR(INVALID,
                   "expected \"seq\" to follow %" PRId64 ", the last one of agent %" PRId64,
                   agent->facts.last_seq, event->agent);
    }
    agent->facts.last_seq = event->seq;
    session->messages += !ik_msg_kind_is_record(event->kind);
    return compare_event(session, agent, event);
}

res_t ik_import_session_take(ik_import_session_t *session, const ik_import_line_t *line,
                             int64_t number)
{
    return line->type == IK_IMPORT_AGENT ? take_agent(session, &line->agent, number)
                                         : take_message(session, &line->event);
}

bool ik_import_session_has(const ik_import_session_t *session, const ik_store_event_t *event)
{
    const agent_t *agent = find_agent(session, event->agent);
    return (size_t)(event->seq - agent->facts.forked_at - 1) < agent->log.count;
}

/* How far each parent goes is known only at the end. */
res_t ik_import_session_end(const ik_import_session_t *session, int64_t *number)
{
    if (session->count == 0) {
        return ERR(INVALID, "expected session %s to have an agent", session->id);
    }
    for (size_t i = 1; i < session->count; i++) {
        const ik_store_agent_t *agent = &session->agents[i].facts;
        int64_t last = find_agent(session, agent->parent)->facts.last_seq;
        if (agent->forked_at > last) {
            *number = session->agents[i].line;
            return ERR(INVALID,
                       "expected \"forked_at\" to be at most %" PRId64
                       ", the last message of agent %" PRId64,
                       last, agent->parent);
        }
    }
    return OK;
}

int64_t ik_import_session_messages(const ik_import_session_t *session)
{
    return session->messages;
}

bool ik_import_session_is_stored(const ik_import_session_t *session)
{
    return session->stored != NULL;
}

bool ik_import_session_is_known(const ik_import_session_t *session)
{
    return !session->has_more;
}
