#include "export/import_batch.h"

#include <string.h>

#include "base/alloc.h"

enum { MOST_LINES = 1000, MOST_BYTES = 1 << 20 };

struct ik_import_batch {
    ik_store_t *store;
    void *scratch; /* everything below */
    ik_store_session_t *sessions;
    size_t session_count;
    ik_store_agent_t *agents;
    size_t agent_count;
    ik_store_event_t *events;
    size_t event_count;
    size_t bytes;
};

static void begin(ik_import_batch_t *batch)
{
    talloc_free(batch->scratch);
    *batch = (ik_import_batch_t){.store = batch->store, .scratch = talloc_new(batch)};
    batch->sessions = ik_new_array(batch->scratch, ik_store_session_t, MOST_LINES);
    batch->agents = ik_new_array(batch->scratch, ik_store_agent_t, MOST_LINES);
    batch->events = ik_new_array(batch->scratch, ik_store_event_t, MOST_LINES);
}

ik_import_batch_t *ik_import_batch_create(const void *ctx, ik_store_t *store)
{
    ik_import_batch_t *batch = ik_new(ctx, ik_import_batch_t);
    batch->store = store;
    begin(batch);
    return batch;
}

static size_t count_lines(const ik_import_batch_t *batch)
{
    return batch->session_count + batch->agent_count + batch->event_count;
}

static res_t flush(ik_import_batch_t *batch, ik_store_safety_t safety)
{
    ik_store_batch_t written = {
        .sessions = batch->sessions,
        .session_count = batch->session_count,
        .agents = batch->agents,
        .agent_count = batch->agent_count,
        .events = batch->events,
        .event_count = batch->event_count,
        .safety = safety,
    };
    res_t result = count_lines(batch) == 0 ? OK : ik_store_write(batch->store, &written);
    begin(batch);
    return result;
}

static size_t length(const char *text)
{
    return text == NULL ? 0 : strlen(text);
}

static bool is_full(const ik_import_batch_t *batch)
{
    return count_lines(batch) == MOST_LINES || batch->bytes >= MOST_BYTES;
}

static void add(ik_import_batch_t *batch, const ik_import_line_t *line, const char *id)
{
    switch (line->type) {
    case IK_IMPORT_SESSION:
        batch->sessions[batch->session_count++] = line->session;
        break;
    case IK_IMPORT_AGENT:
        batch->agents[batch->agent_count] = line->agent;
        batch->agents[batch->agent_count++].session_id = id;
        break;
    case IK_IMPORT_MESSAGE:
        batch->events[batch->event_count] = line->event;
        batch->events[batch->event_count++].session_id = id;
        batch->bytes += length(line->event.content) + length(line->event.data_json);
        break;
    }
}

res_t ik_import_batch_take(ik_import_batch_t *batch, void *ctx, const ik_import_line_t *line,
                           const char *id)
{
    if (is_full(batch)) {
        TRY(flush(batch, IK_STORE_NORMAL));
    }
    talloc_steal(batch->scratch, ctx);
    add(batch, line, id);
    return OK;
}

res_t ik_import_batch_end(ik_import_batch_t *batch)
{
    return flush(batch, IK_STORE_FULL);
}
