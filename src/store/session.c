#include "store/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

/* A store that failed is not tried again with each event, because waiting for a lock blocks. */
enum { RETRY_MS = 1000 };

typedef struct {
    int64_t agent;
    const ik_delegation_t *delegation;
} started_t;

struct ik_session {
    ik_history_t *history; /* NULL: nothing is stored */
    ik_store_session_t facts;
    char *id;
    bool begun;  /* there is a message of the user */
    bool stored; /* it is in the store */
    bool claimed;
    ik_store_agents_t agents; /* last_seq includes waiting events */
    size_t agents_stored;     /* the first ones, which are in the store */
    int64_t *replaced;        /* numbers of agents that an undo or redo has hidden */
    size_t replaced_count;
    started_t *started; /* sub-agents */
    size_t started_count;
    ik_store_event_t *waiting;
    size_t waiting_count;
    ik_store_safety_t waiting_safety;
    void *waiting_texts; /* owns waiting and its texts */
    bool failed;
    int64_t failed_ms;
    res_t failure;
};

/* --- making ------------------------------------------------------------------------------ */

static void on_renamed(void *data, const char *from, const char *to)
{
    ik_session_t *session = data;
    if (strcmp(session->id, from) == 0) {
        memcpy(session->id, to, IK_STORE_ID_LEN); /* in place: others keep pointers to it */
    }
}

/* Tries once more to write what waits, then lets other processes write. */
static int close_session(ik_session_t *session)
{
    if (session->history == NULL) {
        return 0;
    }
    (void)ik_session_finish(session);
    if (session->claimed) {
        ik_history_release(session->history, session->id);
    }
    ik_history_unwatch_renames(session->history, session);
    return 0;
}

static ik_session_t *create(const void *ctx, ik_history_t *history, const char *id)
{
    ik_session_t *session = ik_new(ctx, ik_session_t);
    session->history = history;
    session->id = ik_strdup(session, id);
    session->waiting_texts = talloc_new(session);
    if (history != NULL) {
        ik_history_watch_renames(history, on_renamed, session);
    }
    talloc_set_destructor(session, close_session);
    return session;
}

static ik_store_agent_t *add_agent(ik_session_t *session, const ik_store_agent_t *agent)
{
    ik_store_agents_t *agents = &session->agents;
    agents->agents = ik_resize_array(session, agents->agents, ik_store_agent_t, agents->count + 1);
    agents->agents[agents->count] = *agent;
    agents->agents[agents->count].session_id = session->id;
    return &agents->agents[agents->count++];
}

ik_session_t *ik_session_create(const void *ctx, ik_history_t *history,
                                const ik_session_facts_t *facts)
{
    char *id = ik_store_new_id(NULL);
    ik_session_t *session = create(ctx, history, id);
    talloc_free(id);
    session->facts = (ik_store_session_t){
        .id = session->id,
        .cwd = ik_strdup(session, facts->cwd),
        .host = ik_strdup(session, ik_holder_self().host),
        .model = ik_strdup(session, facts->model),
        .created_us = ik_store_now_us(),
    };
    add_agent(session, &(ik_store_agent_t){.number = IK_STORE_ROOT_AGENT,
                                           .created_us = session->facts.created_us});
    return session;
}

/* Notes what the first event of an agent says: that it takes the place of another one, or that it
 * is a sub-agent. */
static void note_first(ik_session_t *session, int64_t number, const char *kind,
                       const char *data_json)
{
    const ik_delegation_t *delegation = ik_delegation_parse(session, kind, data_json);
    if (delegation != NULL) {
        size_t count = session->started_count + 1;
        session->started = ik_resize_array(session, session->started, started_t, count);
        session->started[session->started_count++] = (started_t){number, delegation};
    }
    ik_json_span_t data;
    ik_json_span_t agent;
    bool replaces = strcmp(kind, IK_MSG_UNDO) == 0 || strcmp(kind, IK_MSG_REDO) == 0;
    if (replaces && data_json != NULL && ik_json_scan(data_json, strlen(data_json), &data, NULL) &&
        ik_json_find_kind(data, "agent", IK_JSON_NUMBER, &agent)) {
        size_t count = session->replaced_count + 1;
        session->replaced = ik_resize_array(session, session->replaced, int64_t, count);
        session->replaced[session->replaced_count++] = strtoll(agent.text, NULL, 10);
    }
}

static res_t on_first_event(void *data, const ik_store_event_t *event)
{
    note_first(data, event->agent, event->kind, event->data_json);
    return ERR(LIMIT, "enough"); /* ends the reading */
}

/* Loads the agents of a stored session. */
static res_t load_agents(ik_session_t *session)
{
    ik_store_t *local;
    ik_store_agents_t *agents;
    TRY(ik_history_local(session->history, &local));
    TRY(ik_store_agents(session, local, session->id, &agents));
    for (size_t i = 0; i < agents->count; i++) {
        const ik_store_agent_t *agent = add_agent(session, &agents->agents[i]);
        if (agent->last_seq > agent->forked_at && agent->parent != 0) {
            (void)ik_store_read(local, agent, agent->forked_at, on_first_event, session);
        }
    }
    talloc_free(agents);
    session->agents_stored = session->agents.count;
    session->stored = true;
    session->begun = true;
    return OK;
}

res_t ik_session_held(const char *id, const ik_holder_t *holder)
{
    return ERR(CONFLICT,
               "Session %s is %s. Wait until it is done, or continue in a copy with --fork", id,
               ik_holder_describe_use(holder).text);
}

res_t ik_session_open(const void *ctx, ik_history_t *history, const char *id, ik_session_t **out)
{
    ik_holder_t other = {0};
    res_t claimed = ik_history_claim(history, id, &other);
    if (claimed.code == IK_ERR_CONFLICT && other.pid != 0) {
        return ik_session_held(id, &other);
    }
    TRY(claimed);
    ik_session_t *session = create(ctx, history, id);
    session->claimed = true;
    res_t loaded = load_agents(session);
    if (is_err(&loaded)) {
        talloc_free(session);
        return loaded;
    }
    *out = session;
    return OK;
}

res_t ik_session_open_copy(const void *ctx, ik_history_t *history, const char *id,
                           ik_session_t **out)
{
    ik_store_t *local;
    TRY(ik_history_fetch(history, id));
    TRY(ik_history_local(history, &local));
    char *new_id = ik_store_new_id(NULL);
    res_t done = ik_store_copy(local, id, local, new_id);
    if (is_ok(&done)) {
        ik_history_wrote(history);
        done = ik_session_open(ctx, history, new_id, out);
    }
    talloc_free(new_id);
    return done;
}

const char *ik_session_id(const ik_session_t *session)
{
    return session->id;
}

/* --- writing ----------------------------------------------------------------------------- */

static ik_store_agent_t *find_agent(const ik_session_t *session, int64_t number)
{
    for (size_t i = 0; i < session->agents.count; i++) {
        if (session->agents.agents[i].number == number) {
            return &session->agents.agents[i];
        }
    }
    PANIC("session %s has no agent %" PRId64, session->id, number);
}

/* Writes the session itself and new agents, too, if they are not stored yet. */
static res_t write_events(ik_session_t *session, const ik_store_event_t *events, size_t count,
                          ik_store_safety_t safety)
{
    ik_store_t *local;
    TRY(ik_history_local(session->history, &local));
    if (!session->claimed) {
        TRY(ik_history_begin(session->history, session->id));
        session->claimed = true;
    }
    ik_store_batch_t batch = {
        .sessions = &session->facts,
        .session_count = session->stored ? 0 : 1,
        .agents = session->agents.agents + session->agents_stored,
        .agent_count = session->agents.count - session->agents_stored,
        .events = events,
        .event_count = count,
        .safety = safety,
    };
    TRY(ik_store_write(local, &batch));
    session->stored = true;
    session->agents_stored = session->agents.count;
    ik_history_wrote(session->history);
    return OK;
}

static res_t try_write(ik_session_t *session, const ik_store_event_t *events, size_t count,
                       ik_store_safety_t safety)
{
    if (session->failed && ik_clock_now_ms() - session->failed_ms < RETRY_MS) {
        return session->failure;
    }
    res_t written = write_events(session, events, count, safety);
    session->failed = is_err(&written);
    if (session->failed) {
        session->failed_ms = ik_clock_now_ms();
        session->failure = written;
    }
    return written;
}

static const char *keep_text(ik_session_t *session, const char *text)
{
    return text == NULL ? NULL : ik_strdup(session->waiting_texts, text);
}

static void keep(ik_session_t *session, const ik_store_event_t *event, ik_store_safety_t safety)
{
    session->waiting = ik_resize_array(session->waiting_texts, session->waiting, ik_store_event_t,
                                       session->waiting_count + 1);
    ik_store_event_t *kept = &session->waiting[session->waiting_count++];
    *kept = *event;
    kept->kind = keep_text(session, event->kind);
    kept->content = keep_text(session, event->content);
    kept->data_json = keep_text(session, event->data_json);
    if (safety == IK_STORE_FULL) {
        session->waiting_safety = IK_STORE_FULL;
    }
}

res_t ik_session_store(ik_session_t *session)
{
    bool waits = session->history != NULL && !session->stored;
    return waits ? try_write(session, NULL, 0, IK_STORE_NORMAL) : OK;
}

res_t ik_session_flush(ik_session_t *session)
{
    if (session->waiting_count == 0 || !session->begun) {
        return OK;
    }
    TRY(try_write(session, session->waiting, session->waiting_count, session->waiting_safety));
    talloc_free_children(session->waiting_texts);
    session->waiting = NULL;
    session->waiting_count = 0;
    session->waiting_safety = IK_STORE_NORMAL;
    return OK;
}

res_t ik_session_finish(ik_session_t *session)
{
    session->failed = false;
    return ik_session_flush(session);
}

/* Events that are not worth a session before the first message of the user. */
static bool is_preliminary(const char *kind)
{
    return strcmp(kind, IK_MSG_SYSTEM) == 0 || strcmp(kind, IK_MSG_MODE) == 0 ||
           strcmp(kind, IK_MSG_END) == 0;
}

static ik_store_event_t make_event(ik_session_t *session, int64_t agent, const ik_msg_t *message)
{
    ik_store_agent_t *log = find_agent(session, agent);
    ik_store_event_t event = {
        .session_id = session->id,
        .agent = agent,
        .seq = ++log->last_seq,
        .created_us = ik_store_now_us(),
        .kind = message->kind,
        .content = message->content,
        .data_json = message->data_json,
    };
    log->updated_us = event.created_us;
    return event;
}

res_t ik_session_append(ik_session_t *session, int64_t agent, ik_msg_t *const *messages,
                        size_t count, ik_store_safety_t safety)
{
    ik_store_event_t *events = ik_new_array(NULL, ik_store_event_t, count + 1);
    for (size_t i = 0; i < count; i++) {
        events[i] = make_event(session, agent, messages[i]);
        session->begun = session->begun || !is_preliminary(events[i].kind);
        note_first(session, agent, events[i].kind, events[i].data_json);
    }
    res_t written = OK;
    bool in_order = session->waiting_count == 0 && session->begun;
    if (session->history != NULL && in_order) {
        written = try_write(session, events, count, safety);
    }
    if (session->history != NULL && (!in_order || is_err(&written))) {
        for (size_t i = 0; i < count; i++) {
            keep(session, &events[i], safety);
        }
        written = in_order ? written : ik_session_flush(session);
    }
    talloc_free(events);
    return written;
}

/* --- reading ----------------------------------------------------------------------------- */

static res_t on_event(void *data, const ik_store_event_t *event)
{
    ik_conversation_t *conversation = data;
    if (ik_msg_kind_is_record(event->kind)) {
        const ik_delegation_t *delegation =
            ik_delegation_parse(conversation, event->kind, event->data_json);
        if (delegation != NULL) {
            conversation->tools = delegation->tools;
        }
        return OK;
    }
    ik_msg_t *message = ik_msg_create(conversation, event->kind, event->content, event->data_json);
    if (ik_msg_is(message, IK_MSG_MODE)) {
        ik_json_span_t object;
        bool readable = message->data_json != NULL &&
                        ik_json_scan(message->data_json, message->data_len, &object, NULL) &&
                        ik_json_kind(object) == IK_JSON_OBJECT;
        conversation->mode = readable ? ik_msg_field_text(conversation, message, "mode") : NULL;
        talloc_free(message);
        return OK;
    }
    ik_conversation_append(conversation, message);
    return OK;
}

res_t ik_session_load(const void *ctx, ik_session_t *session, int64_t agent,
                      ik_conversation_t **out)
{
    ik_store_t *local;
    *out = ik_conversation_create(ctx);
    if (!session->stored) { /* all events are waiting */
        for (size_t i = 0; i < session->waiting_count; i++) {
            TRY(on_event(*out, &session->waiting[i]));
        }
        return OK;
    }
    TRY(ik_history_local(session->history, &local));
    return ik_store_read_all(local, session->id, agent, on_event, *out);
}

const ik_store_agents_t *ik_session_agents(const ik_session_t *session)
{
    return &session->agents;
}

int64_t ik_session_last_seq(const ik_session_t *session, int64_t agent)
{
    return find_agent(session, agent)->last_seq;
}

int64_t ik_session_fork(ik_session_t *session, int64_t parent, int64_t at)
{
    const ik_store_agent_t *from = find_agent(session, parent);
    int64_t number = session->agents.agents[session->agents.count - 1].number + 1;
    ik_store_agent_t agent = {.number = number,
                              .parent = parent,
                              .forked_at = at,
                              .created_us = ik_store_now_us(),
                              .updated_us = from->updated_us,
                              .last_seq = at};
    add_agent(session, &agent);
    return number;
}

int64_t ik_session_delegate(ik_session_t *session, int64_t parent,
                            const ik_delegation_t *delegation)
{
    int64_t number = ik_session_fork(session, parent, 0);
    ik_msg_t *message = ik_delegation_create(NULL, delegation);
    ik_session_append(session, number, &message, 1, IK_STORE_NORMAL);
    talloc_free(message);
    return number;
}

bool ik_session_has_subagents(const ik_session_t *session)
{
    return session->started_count > 0;
}

const ik_delegation_t *ik_session_delegation(const ik_session_t *session, int64_t agent)
{
    for (size_t i = 0; i < session->started_count; i++) {
        if (session->started[i].agent == agent) {
            return session->started[i].delegation;
        }
    }
    return NULL;
}

static bool has_children(const ik_session_t *session, int64_t agent)
{
    for (size_t i = 0; i < session->agents.count; i++) {
        if (session->agents.agents[i].parent == agent) {
            return true;
        }
    }
    return false;
}

/* Removes an agent without events of its own, unless it is stored already, which happens with an
 * event of another agent, or has children. */
static bool forget_agent(ik_session_t *session, int64_t agent)
{
    ik_store_agent_t *log = find_agent(session, agent);
    size_t index = (size_t)(log - session->agents.agents);
    if (index < session->agents_stored || log->last_seq != log->forked_at ||
        has_children(session, agent)) {
        return false;
    }
    session->agents.count--;
    memmove(log, log + 1, (session->agents.count - index) * sizeof(*log));
    return true;
}

void ik_session_end_agent(ik_session_t *session, int64_t agent)
{
    if (forget_agent(session, agent)) {
        return;
    }
    ik_msg_t *message = ik_msg_create(NULL, IK_MSG_END, "The agent was ended.", NULL);
    ik_session_append(session, agent, &message, 1, IK_STORE_NORMAL);
    talloc_free(message);
}

static res_t note_end(void *data, const ik_store_event_t *event)
{
    bool *ended = data;
    *ended = strcmp(event->kind, IK_MSG_END) == 0;
    return OK;
}

bool ik_session_has_ended(ik_session_t *session, int64_t agent)
{
    bool ended = false;
    for (size_t i = 0; i < session->replaced_count; i++) {
        ended = ended || session->replaced[i] == agent;
    }
    if (ended) {
        return true;
    }
    ik_store_t *local = NULL;
    const ik_store_agent_t *log = find_agent(session, agent);
    res_t found = session->stored ? ik_history_local(session->history, &local)
                                  : ERR(NOT_FOUND, "nothing is stored");
    if (is_ok(&found) && local != NULL) {
        ik_store_read(local, log, log->last_seq - 1, note_end, &ended);
    }
    return ended;
}

int64_t ik_session_last_agent(ik_session_t *session)
{
    const ik_store_agents_t *agents = &session->agents;
    const ik_store_agent_t *last = NULL;
    for (size_t i = 0; i < agents->count; i++) {
        const ik_store_agent_t *agent = &agents->agents[i];
        bool later = last == NULL || agent->updated_us > last->updated_us;
        if (later && ik_session_delegation(session, agent->number) == NULL &&
            !ik_session_has_ended(session, agent->number)) {
            last = agent;
        }
    }
    return last == NULL ? IK_STORE_ROOT_AGENT : last->number;
}
