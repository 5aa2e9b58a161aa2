#include "undo/open_segment.h"

#include <string.h>

#include "base/alloc.h"
#include "conversation/message.h"

enum { FIRST_EVENTS = 16 }; /* read at first; twice as many each time that is not enough */

typedef struct {
    const void *ctx;
    bool decided; /* the events that were read say whether the segment is open */
    bool open;
    bool whole;       /* no call of the last step is missing */
    ik_call_t *calls; /* of the last step */
    size_t count;
} reading_t;

static void add_call(reading_t *reading, const ik_store_event_t *event)
{
    ik_msg_t *message = ik_msg_create(NULL, event->kind, event->content, event->data_json);
    ik_json_span_t data;
    ik_json_span_t name;
    ik_json_span_t arguments;
    if (message->data_json != NULL &&
        ik_json_scan(message->data_json, message->data_len, &data, NULL) &&
        ik_json_kind(data) == IK_JSON_OBJECT && ik_msg_call_field(message, "name", &name) &&
        ik_msg_call_field(message, "arguments", &arguments)) {
        reading->calls =
            ik_resize_array(reading->ctx, reading->calls, ik_call_t, reading->count + 1);
        ik_call_t *call = &reading->calls[reading->count++];
        *call =
            (ik_call_t){.agent = event->agent, .name = ik_json_decode(reading->calls, name, NULL)};
        call->arguments = ik_json_decode(reading->calls, arguments, &call->arguments_len);
    }
    talloc_free(message);
}

static void forget_calls(reading_t *reading)
{
    TALLOC_FREE(reading->calls);
    reading->count = 0;
    reading->open = false;
    reading->whole = true;
}

/* The state after calls is stored before anything else that follows their results. */
static res_t on_event(void *data, const ik_store_event_t *event)
{
    reading_t *reading = data;
    const char *kind = event->kind;
    ik_msg_checkpoint_t checkpoint;
    if (strcmp(kind, IK_MSG_TOOL_CALL) == 0) {
        add_call(reading, event);
    } else if (strcmp(kind, IK_MSG_TOOL_RESULT) == 0 && !reading->open) {
        forget_calls(reading);
    } else if (strcmp(kind, IK_MSG_USER) == 0 || strcmp(kind, IK_MSG_ASSISTANT) == 0) {
        forget_calls(reading);
        reading->decided = true;
    } else if (strcmp(kind, IK_MSG_CHECKPOINT) == 0 &&
               ik_msg_parse_checkpoint(NULL, event->data_json, &checkpoint)) {
        talloc_free((void *)checkpoint.states);
        if (checkpoint.next) { /* of a custom command */
            forget_calls(reading);
            reading->calls = ik_new(reading->ctx, ik_call_t);
            reading->calls[reading->count++] = (ik_call_t){
                .agent = event->agent, .name = "bash", .arguments = "{}", .arguments_len = 2};
        }
        reading->open = checkpoint.phase == IK_MSG_BEFORE;
        reading->decided = true;
    }
    return OK;
}

res_t ik_open_segment_find(const void *ctx, ik_store_t *store, const ik_store_agent_t *agent,
                           bool *open, ik_call_t **calls, size_t *count)
{
    reading_t reading = {.ctx = ctx};
    res_t read = OK;
    int64_t after = agent->last_seq;
    for (int64_t events = FIRST_EVENTS; is_ok(&read) && after > agent->forked_at &&
                                        !(reading.decided && (reading.whole || !reading.open));
         events *= 2) {
        after = agent->last_seq - events;
        after = after < agent->forked_at ? agent->forked_at : after;
        talloc_free(reading.calls);
        reading = (reading_t){.ctx = ctx};
        read = ik_store_read(store, agent, after, on_event, &reading);
    }
    *open = is_ok(&read) && reading.open;
    *calls = reading.calls;
    *count = reading.count;
    return read;
}
