#include "store/store.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/random.h"

/* --- functions of the stores ------------------------------------------------------------- */

res_t ik_store_write(ik_store_t *store, const ik_store_batch_t *batch)
{
    return store->kind->write(store, batch);
}

res_t ik_store_transact(ik_store_t *store, ik_store_work_fn work, void *data)
{
    return store->kind->transact == NULL ? work(data) : store->kind->transact(store, work, data);
}

res_t ik_store_list(const void *ctx, ik_store_t *store, const ik_store_filter_t *filter,
                    ik_store_list_t **out)
{
    return store->kind->list(ctx, store, filter, out);
}

res_t ik_store_agents(const void *ctx, ik_store_t *store, const char *session_id,
                      ik_store_agents_t **out)
{
    TRY(store->kind->agents(ctx, store, session_id, out));
    return (*out)->count > 0 ? OK : ERR(NOT_FOUND, "There is no session %s", session_id);
}

res_t ik_store_read(ik_store_t *store, const ik_store_agent_t *agent, int64_t after,
                    ik_store_event_fn on_event, void *data)
{
    return store->kind->read(store, agent, after, on_event, data);
}

res_t ik_store_search(const void *ctx, ik_store_t *store, const ik_store_search_t *search,
                      ik_store_hits_t **out)
{
    return store->kind->search(ctx, store, search, out);
}

res_t ik_store_remove(ik_store_t *store, const char *session_id)
{
    return store->kind->remove(store, session_id);
}

res_t ik_store_claim(ik_store_t *store, const char *session_id, const ik_holder_t *self,
                     ik_holder_t *other)
{
    return store->kind->claim(store, session_id, self, other);
}

res_t ik_store_release(ik_store_t *store, const char *session_id, const ik_holder_t *self)
{
    return store->kind->release(store, session_id, self);
}

/* --- finding ----------------------------------------------------------------------------- */

static bool can_begin_id(const char *prefix)
{
    size_t len = strlen(prefix);
    return len > 0 && len <= IK_STORE_ID_LEN && strspn(prefix, "0123456789abcdef") == len;
}

static res_t refuse_ambiguous(const ik_store_list_t *list, const char *prefix)
{
    enum { NAMED = 4 };
    ik_buffer_t ids;
    ik_buffer_init(&ids, list, 256);
    for (size_t i = 0; i < list->count && i < NAMED; i++) {
        ik_buffer_append_format(&ids, "%s%s", i == 0 ? "" : ", ", list->sessions[i].id);
    }
    return ERR(INVALID, "Several sessions begin with '%s': %s%s", prefix, ids.data,
               list->count > NAMED ? ", …" : "");
}

res_t ik_store_find(const void *ctx, ik_store_t *store, const char *prefix, ik_store_session_t *out)
{
    ik_store_list_t *list;
    if (!can_begin_id(prefix)) {
        return ERR(INVALID, "No session matches '%s': `ikigai session list` shows them", prefix);
    }
    TRY(store->kind->find(ctx, store, prefix, &list));
    if (list->count == 0) {
        return ERR(NOT_FOUND, "There is no session %s: `ikigai session list` shows them", prefix);
    }
    if (list->count > 1) {
        return refuse_ambiguous(list, prefix);
    }
    *out = list->sessions[0];
    return OK;
}

/* --- an agent and its ancestors ---------------------------------------------------------- */

const ik_store_agent_t *ik_store_find_agent(const ik_store_agents_t *agents, int64_t number)
{
    for (size_t i = 0; i < agents->count; i++) {
        if (agents->agents[i].number == number) {
            return &agents->agents[i];
        }
    }
    return NULL;
}

typedef struct {
    ik_store_event_fn on_event;
    void *data;
    int64_t last; /* event to read */
    bool over;
} reading_t;

static res_t on_event_up_to(void *data, const ik_store_event_t *event)
{
    reading_t *reading = data;
    if (event->seq > reading->last) {
        reading->over = true;
        return ERR(LIMIT, "enough"); /* ends the reading; read_up_to drops it */
    }
    return reading->on_event(reading->data, event);
}

static res_t read_up_to(ik_store_t *store, const ik_store_agent_t *agent, reading_t *reading)
{
    if (agent->forked_at >= reading->last) {
        return OK; /* all its wanted events are inherited */
    }
    reading->over = false;
    res_t read = ik_store_read(store, agent, agent->forked_at, on_event_up_to, reading);
    return reading->over ? OK : read;
}

/* An agent on the way to the root, and the last of its events to read. */
typedef struct {
    const ik_store_agent_t *agent;
    int64_t last;
} step_t;

/* Fills way from the agent to the root. Numbers grow from parent to child, so there are no cycles.
 */
static res_t find_way(const ik_store_agents_t *agents, const ik_store_agent_t *agent, step_t *way,
                      size_t *count)
{
    int64_t last = INT64_MAX;
    way[(*count)++] = (step_t){agent, last};
    while (agent->parent != 0) {
        const ik_store_agent_t *parent = ik_store_find_agent(agents, agent->parent);
        if (parent == NULL || parent->number >= agent->number) {
            return ERR(DAMAGED, "agent %" PRId64 " of session %s has lost its parent",
                       agent->number, agent->session_id);
        }
        last = agent->forked_at < last ? agent->forked_at : last;
        way[(*count)++] = (step_t){parent, last};
        agent = parent;
    }
    return OK;
}

static res_t read_way(const void *ctx, ik_store_t *store, const ik_store_agents_t *agents,
                      const ik_store_agent_t *agent, reading_t *reading)
{
    step_t *way = ik_new_array(ctx, step_t, agents->count);
    size_t count = 0;
    TRY(find_way(agents, agent, way, &count));
    while (count-- > 0) {
        reading->last = way[count].last;
        TRY(read_up_to(store, way[count].agent, reading));
    }
    return OK;
}

res_t ik_store_read_all(ik_store_t *store, const char *session_id, int64_t agent,
                        ik_store_event_fn on_event, void *data)
{
    void *scratch = talloc_new(NULL);
    ik_store_agents_t *agents;
    reading_t reading = {.on_event = on_event, .data = data};
    res_t read = ik_store_agents(scratch, store, session_id, &agents);
    if (is_ok(&read)) {
        const ik_store_agent_t *found = ik_store_find_agent(agents, agent);
        read = found == NULL ? ERR(NOT_FOUND, "Session %s has no agent %" PRId64, session_id, agent)
                             : read_way(scratch, store, agents, found, &reading);
    }
    talloc_free(scratch);
    return read;
}

/* --- copying ----------------------------------------------------------------------------- */

/* Events that are copied from one store to another, in batches. */
typedef struct {
    void *ctx;
    ik_store_t *from;
    const char *session_id; /* in from */
    ik_store_t *to;
    const char *id; /* under which they are written */
    void *scratch;  /* holds the events' texts */
    ik_store_event_t *events;
    size_t count;
    size_t bytes;
} copying_t;

enum { COPY_EVENTS = 1000, COPY_BYTES = 1 << 20 };

static res_t flush_copies(copying_t *copying)
{
    ik_store_batch_t batch = {
        .events = copying->events, .event_count = copying->count, .safety = IK_STORE_NORMAL};
    res_t written = copying->count == 0 ? OK : ik_store_write(copying->to, &batch);
    talloc_free_children(copying->scratch);
    copying->events = ik_new_array(copying->scratch, ik_store_event_t, COPY_EVENTS);
    copying->count = 0;
    copying->bytes = 0;
    return written;
}

static const char *copy_text(copying_t *copying, const char *text)
{
    if (text == NULL) {
        return NULL;
    }
    size_t len = strlen(text);
    copying->bytes += len;
    return ik_strndup(copying->scratch, text, len);
}

static res_t on_copied_event(void *data, const ik_store_event_t *event)
{
    copying_t *copying = data;
    if (copying->count == COPY_EVENTS || copying->bytes >= COPY_BYTES) {
        TRY(flush_copies(copying));
    }
    ik_store_event_t *copy = &copying->events[copying->count++];
    *copy = *event;
    copy->session_id = copying->id;
    copy->kind = copy_text(copying, event->kind);
    copy->content = copy_text(copying, event->content);
    copy->data_json = copy_text(copying, event->data_json);
    return OK;
}

/* Returns the seq after which to copy. If the other store has the agent, it has the beginning of
 * its log. The last event that both have is copied again, so that a different log is a conflict. */
static int64_t copied_up_to(const ik_store_agents_t *known, const ik_store_agent_t *agent)
{
    const ik_store_agent_t *there =
        known == NULL ? NULL : ik_store_find_agent(known, agent->number);
    if (there == NULL || there->last_seq <= agent->forked_at) {
        return agent->forked_at;
    }
    return (there->last_seq < agent->last_seq ? there->last_seq : agent->last_seq) - 1;
}

static res_t copy_agents(ik_store_t *from, const ik_store_agents_t *agents,
                         const ik_store_agents_t *known, copying_t *copying)
{
    for (size_t i = 0; i < agents->count; i++) {
        ik_store_agent_t copy = agents->agents[i];
        copy.session_id = copying->id;
        TRY(ik_store_write(copying->to, &(ik_store_batch_t){.agents = &copy, .agent_count = 1}));
        TRY(flush_copies(copying));
        TRY(ik_store_read(from, &agents->agents[i], copied_up_to(known, &copy), on_copied_event,
                          copying));
    }
    return flush_copies(copying);
}

static res_t copy_session(void *ctx, ik_store_t *from, const char *session_id, copying_t *copying)
{
    ik_store_session_t session;
    ik_store_agents_t *agents;
    ik_store_agents_t *known = NULL;
    TRY(ik_store_find(ctx, from, session_id, &session));
    TRY(ik_store_agents(ctx, from, session_id, &agents));
    res_t there = ik_store_agents(ctx, copying->to, copying->id, &known);
    if (is_err(&there) && there.code != IK_ERR_NOT_FOUND) {
        return there;
    }
    session.id = copying->id;
    TRY(ik_store_write(copying->to, &(ik_store_batch_t){.sessions = &session, .session_count = 1}));
    return copy_agents(from, agents, is_ok(&there) ? known : NULL, copying);
}

static res_t copy_all(void *data)
{
    copying_t *copying = data;
    return copy_session(copying->ctx, copying->from, copying->session_id, copying);
}

/* Between local stores the copy is one transaction, because half a copy would look like a session
 * of its own. From a server it is not: a slow one would keep other writers waiting. */
res_t ik_store_copy(ik_store_t *from, const char *session_id, ik_store_t *to, const char *new_id)
{
    void *ctx = talloc_new(NULL);
    copying_t copying = {.ctx = ctx,
                         .from = from,
                         .session_id = session_id,
                         .to = to,
                         .id = new_id == NULL ? session_id : new_id,
                         .scratch = talloc_new(ctx)};
    bool local = from->kind->transact != NULL && to->kind->transact != NULL;
    res_t copied = local ? ik_store_transact(to, copy_all, &copying) : copy_all(&copying);
    talloc_free(ctx);
    return copied;
}

/* --- ids and times ----------------------------------------------------------------------- */

char *ik_store_new_id(const void *ctx)
{
    return ik_sprintf(ctx, "%016" PRIx64, ik_random());
}

int64_t ik_store_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
