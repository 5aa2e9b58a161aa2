#include "store/transcript.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/json.h"
#include "conversation/message.h"

/* Limits on the entries that wait for the result of a call. Normally these are the rest of one
 * answer; the limits bound the memory for a log in another order. */
enum { MOST_WAITING = 256, MOST_BYTES = 32 << 20 };

typedef struct {
    ik_transcript_entry_t entry;
    char *id; /* of a call, or NULL */
    size_t bytes;
} waiting_t;

typedef struct {
    ik_transcript_fn on_entry;
    void *data;
    void *scratch;
    waiting_t *waiting[MOST_WAITING];
    size_t count;
    size_t bytes;
} queue_t;

/* --- reading messages -------------------------------------------------------------------- */

static size_t length(const char *text)
{
    return text == NULL ? 0 : strlen(text);
}

static ik_transcript_text_t as_text(const char *text)
{
    return (ik_transcript_text_t){.bytes = text, .len = length(text)};
}

static ik_transcript_text_t decode(const void *ctx, ik_json_span_t string)
{
    ik_transcript_text_t text = {0};
    if (ik_json_is(string, IK_JSON_STRING)) {
        text.bytes = ik_json_decode(ctx, string, &text.len);
    }
    return text;
}

/* A span of length 0 when the data is not valid JSON. */
static ik_json_span_t scan(const char *data_json)
{
    ik_json_span_t data;
    bool valid = data_json != NULL && ik_json_scan(data_json, strlen(data_json), &data, NULL);
    return valid ? data : (ik_json_span_t){0};
}

static bool is_true(ik_json_span_t value)
{
    return ik_json_is(value, IK_JSON_BOOLEAN) && value.text[0] == 't';
}

static void read_images(waiting_t *waiting, const ik_store_event_t *event)
{
    ik_json_span_t data = scan(event->data_json);
    ik_msg_t message = {.kind = event->kind, .data_json = event->data_json, .data_len = data.len};
    ik_msg_image_t *images;
    if (ik_json_is(data, IK_JSON_OBJECT)) {
        waiting->entry.image_count = ik_msg_images(waiting, &message, &images);
        waiting->entry.images = images;
    }
}

static void read_answer(waiting_t *waiting)
{
    enum { REASONING, INCOMPLETE, COUNT };
    static const char *const names[COUNT] = {"reasoning", "incomplete"};
    ik_json_span_t values[COUNT];
    ik_json_find_members(scan(waiting->entry.event.data_json), names, COUNT, values);
    waiting->entry.reasoning = decode(waiting, values[REASONING]);
    waiting->entry.incomplete = is_true(values[INCOMPLETE]);
}

static void read_call(waiting_t *waiting)
{
    enum { NAME, ARGUMENTS, COUNT };
    static const char *const names[COUNT] = {"name", "arguments"};
    static const char *const outer_names[] = {"id", "function"};
    ik_json_span_t outer[2];
    ik_json_span_t values[COUNT];
    ik_transcript_entry_t *entry = &waiting->entry;
    ik_json_find_members(scan(entry->event.data_json), outer_names, 2, outer);
    ik_json_find_members(outer[1], names, COUNT, values);
    waiting->id =
        ik_json_is(outer[0], IK_JSON_STRING) ? ik_json_decode(waiting, outer[0], NULL) : NULL;
    entry->wall_ms = -1;
    entry->name = decode(waiting, values[NAME]);
    entry->arguments = decode(waiting, values[ARGUMENTS]);
    if (entry->arguments.bytes == NULL) {
        entry->arguments = as_text(entry->event.data_json);
    }
}

/* Fills in the result, of a call or of an entry without one. */
static void read_result(waiting_t *waiting, const ik_store_event_t *event)
{
    enum { NAME, SUCCESS, WALL_MS, OUTPUT, DISPLAY, COUNT };
    static const char *const names[COUNT] = {"name", "success", "wall_ms", "output", "display"};
    ik_json_span_t values[COUNT];
    ik_transcript_entry_t *entry = &waiting->entry;
    ik_json_find_members(scan(event->data_json), names, COUNT, values);
    entry->answered = true;
    entry->result_seq = event->seq;
    entry->result_summary = event->content;
    entry->success = is_true(values[SUCCESS]);
    entry->wall_ms =
        ik_json_is(values[WALL_MS], IK_JSON_NUMBER) ? strtoll(values[WALL_MS].text, NULL, 10) : -1;
    entry->display = ik_display_parse(decode(waiting, values[DISPLAY]).bytes);
    read_images(waiting, event);
    entry->output = decode(waiting, values[OUTPUT]);
    if (entry->output.bytes == NULL) {
        entry->output = as_text(event->data_json);
    }
    if (entry->name.bytes == NULL) {
        entry->name = decode(waiting, values[NAME]);
    }
}

/* --- calls waiting for their results ----------------------------------------------------- */

static bool is_kind(const ik_store_event_t *event, const char *kind)
{
    return strcmp(event->kind, kind) == 0;
}

static ik_transcript_kind_t kind_of(const ik_store_event_t *event)
{
    static const struct {
        const char *name;
        ik_transcript_kind_t kind;
    } rows[] = {
        {IK_MSG_USER, IK_TRANSCRIPT_USER},      {IK_MSG_ASSISTANT, IK_TRANSCRIPT_ANSWER},
        {IK_MSG_TOOL_CALL, IK_TRANSCRIPT_TOOL}, {IK_MSG_TOOL_RESULT, IK_TRANSCRIPT_TOOL},
        {IK_MSG_SYSTEM, IK_TRANSCRIPT_SYSTEM},  {IK_MSG_COMPACTION, IK_TRANSCRIPT_NOTE},
        {IK_MSG_MODE, IK_TRANSCRIPT_NOTE},      {IK_MSG_END, IK_TRANSCRIPT_NOTE},
    };
    for (size_t i = 0; i < IK_LENGTH(rows); i++) {
        if (is_kind(event, rows[i].name)) {
            return rows[i].kind;
        }
    }
    return IK_TRANSCRIPT_OTHER;
}

static const char *copy(waiting_t *waiting, const char *text)
{
    waiting->bytes += length(text);
    return text == NULL ? NULL : ik_strdup(waiting, text);
}

static ik_store_event_t copy_event(waiting_t *waiting, const ik_store_event_t *event)
{
    ik_store_event_t copied = *event;
    copied.session_id = copy(waiting, event->session_id);
    copied.kind = copy(waiting, event->kind);
    copied.content = copy(waiting, event->content);
    copied.data_json = copy(waiting, event->data_json);
    return copied;
}

static waiting_t *create_waiting(const queue_t *queue, const ik_store_event_t *event)
{
    waiting_t *waiting = ik_new(queue->scratch, waiting_t);
    waiting->entry.event = copy_event(waiting, event);
    event = &waiting->entry.event;
    waiting->entry.kind = kind_of(event);
    waiting->entry.facts = ik_event_facts(waiting, event);
    if (is_kind(event, IK_MSG_TOOL_RESULT)) {
        read_result(waiting, event);
        return waiting;
    }
    read_answer(waiting);
    if (is_kind(event, IK_MSG_COMPACTION)) {
        static const char *const names[] = {"summary"};
        ik_json_span_t value;
        ik_json_find_members(scan(event->data_json), names, 1, &value);
        waiting->entry.summary = decode(waiting, value);
    }
    if (is_kind(event, IK_MSG_USER)) {
        read_images(waiting, event);
    }
    if (is_kind(event, IK_MSG_TOOL_CALL)) {
        read_call(waiting);
    }
    return waiting;
}

/* Returns the call that the result belongs to, or NULL. */
static waiting_t *find_call(const queue_t *queue, const ik_store_event_t *result)
{
    static const char *const names[] = {"tool_call_id"};
    ik_json_span_t id;
    ik_json_find_members(scan(result->data_json), names, 1, &id);
    for (size_t i = 0; ik_json_is(id, IK_JSON_STRING) && i < queue->count; i++) {
        waiting_t *waiting = queue->waiting[i];
        if (waiting->id != NULL && !waiting->entry.answered && ik_json_key_is(id, waiting->id)) {
            return waiting;
        }
    }
    return NULL;
}

static void hand_out_first(queue_t *queue)
{
    waiting_t *first = queue->waiting[0];
    queue->on_entry(queue->data, &first->entry);
    queue->bytes -= first->bytes;
    queue->count--;
    memmove(queue->waiting, queue->waiting + 1, queue->count * sizeof(queue->waiting[0]));
    talloc_free(first);
}

static void hand_out_all(queue_t *queue)
{
    while (queue->count > 0) {
        hand_out_first(queue);
    }
}

static res_t on_event(void *data, const ik_store_event_t *event)
{
    queue_t *queue = data;
    if (ik_msg_kind_is_record(event->kind)) {
        return OK;
    }
    waiting_t *call = is_kind(event, IK_MSG_TOOL_RESULT) ? find_call(queue, event) : NULL;
    if (is_kind(event, IK_MSG_USER)) {
        hand_out_all(queue); /* results come before the next message of the user */
    }
    if (call != NULL) {
        queue->bytes -= call->bytes;
        ik_store_event_t result = copy_event(call, event);
        read_result(call, &result);
    } else {
        call = create_waiting(queue, event);
        queue->waiting[queue->count++] = call;
    }
    queue->bytes += call->bytes;
    while (queue->count > 0) {
        const ik_transcript_entry_t *first = &queue->waiting[0]->entry;
        bool complete = first->kind != IK_TRANSCRIPT_TOOL || first->answered;
        if (!complete && queue->count < MOST_WAITING && queue->bytes <= MOST_BYTES) {
            break;
        }
        hand_out_first(queue);
    }
    return OK;
}

res_t ik_transcript_read(ik_store_t *store, const ik_store_agent_t *agent,
                         ik_transcript_fn on_entry, void *data)
{
    queue_t queue = {.on_entry = on_entry, .data = data, .scratch = talloc_new(NULL)};
    res_t read = ik_store_read(store, agent, agent->forked_at, on_event, &queue);
    hand_out_all(&queue);
    talloc_free(queue.scratch);
    return read;
}

/* --- forks ------------------------------------------------------------------------------- */

const ik_store_agent_t *ik_transcript_origin(const ik_store_agents_t *agents,
                                             const ik_store_agent_t *agent)
{
    const ik_store_agent_t *origin = ik_store_find_agent(agents, agent->parent);
    /* Parents have smaller numbers; the check keeps a damaged log from causing an endless loop. */
    while (origin != NULL && agent->forked_at <= origin->forked_at) {
        const ik_store_agent_t *parent = ik_store_find_agent(agents, origin->parent);
        origin = parent == NULL || parent->number >= origin->number ? NULL : parent;
    }
    return origin;
}

typedef struct {
    const void *ctx;
    const ik_delegation_t *delegation;
} first_t;

static res_t on_first_event(void *data, const ik_store_event_t *event)
{
    first_t *first = data;
    first->delegation = ik_delegation_parse(first->ctx, event->kind, event->data_json);
    return ERR(LIMIT, "enough"); /* ends the reading */
}

const ik_delegation_t *ik_transcript_delegation(const void *ctx, ik_store_t *store,
                                                const ik_store_agent_t *agent)
{
    first_t first = {.ctx = ctx};
    if (agent->parent != 0 && agent->forked_at == 0) {
        (void)ik_store_read(store, agent, 0, on_first_event, &first);
    }
    return first.delegation;
}
