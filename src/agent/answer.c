#include "agent/answer.h"

#include "base/alloc.h"

typedef struct {
    const ik_stream_t *stream;
    const ik_answer_options_t *options;
    ik_conversation_t *messages;
    ik_msg_step_t step;
    const char *carried; /* NULL: none, or already written */
} answer_t;

static bool becomes_message(const answer_t *answer, const ik_stream_item_t *item)
{
    return item->call == NULL ? !ik_msg_text_is_blank(item->text.data)
                              : !answer->options->without_calls;
}

/* The answer was cut off, or one of its calls cannot be parsed. */
static bool is_incomplete(const ik_stream_t *stream)
{
    return stream->stop == IK_STOP_INCOMPLETE || stream->stop == IK_STOP_BAD_TOOL_CALL;
}

/* Provider data describes a whole answer: it is kept only if every part of the answer is, and if
 * the answer came in one response. */
static bool keeps_provider_data(const answer_t *answer)
{
    bool whole = !answer->options->without_calls || ik_stream_call_count(answer->stream) == 0;
    return answer->stream->private_json.len > 0 && whole && !is_incomplete(answer->stream) &&
           answer->options->carried == NULL;
}

static void describe_step(answer_t *answer)
{
    const ik_stream_t *stream = answer->stream;
    const char **ids = ik_new_array(answer->messages, const char *, stream->item_count + 1);
    answer->step = (ik_msg_step_t){
        .model = stream->target->name,
        .stop = ik_stop_name(stream->stop),
        .reasoning = stream->reasoning.len > 0 ? stream->reasoning.data : NULL,
        .incomplete = is_incomplete(stream),
        .refused = stream->refused,
        .usage = stream->usage,
        .cost = ik_model_cost(stream->target->facts, &stream->usage),
        .provider = stream->target->config->name,
        .private_json = keeps_provider_data(answer) ? stream->private_json.data : NULL,
        .call_ids = ids,
        .prefix = answer->options->prefix,
    };
    for (size_t i = 0; i < stream->item_count; i++) {
        if (becomes_message(answer, stream->items[i])) {
            answer->step.messages++;
            if (stream->items[i]->call != NULL) {
                ids[answer->step.call_count++] = stream->items[i]->call->id;
            }
        }
    }
}

/* Only the first message describes the step. */
static const ik_msg_step_t *next_step(const answer_t *answer)
{
    return answer->messages->count == 0 ? &answer->step : NULL;
}

/* Carried text is the beginning of the first text. */
static void add_text(answer_t *answer, const char *text)
{
    char *whole = ik_sprintf(NULL, "%s%s", answer->carried == NULL ? "" : answer->carried, text);
    ik_conversation_append(answer->messages,
                           ik_msg_create_assistant(NULL, whole, next_step(answer)));
    answer->carried = NULL;
    talloc_free(whole);
}

static void add_carried(answer_t *answer)
{
    if (answer->carried != NULL && *answer->carried != '\0') {
        add_text(answer, "");
    }
}

static void add_call(answer_t *answer, const ik_stream_call_t *call)
{
    ik_msg_call_t described = {
        .id = call->id,
        .name = call->name.data,
        .arguments = call->arguments.data,
        .arguments_len = call->arguments.len,
        .provider = answer->stream->target->config->name,
    };
    add_carried(answer);
    ik_conversation_append(answer->messages,
                           ik_msg_create_call(NULL, &described, next_step(answer)));
}

ik_conversation_t *ik_answer_to_messages(const void *ctx, const ik_stream_t *stream,
                                         const ik_answer_options_t *options)
{
    answer_t answer = {.stream = stream, .options = options, .carried = options->carried};
    answer.messages = ik_conversation_create(ctx);
    describe_step(&answer);
    for (size_t i = 0; i < stream->item_count; i++) {
        const ik_stream_item_t *item = stream->items[i];
        if (!becomes_message(&answer, item)) {
            continue;
        }
        if (item->call == NULL) {
            add_text(&answer, item->text.data);
        } else {
            add_call(&answer, item->call);
        }
    }
    add_carried(&answer);
    if (answer.messages->count == 0 && (answer.step.private_json != NULL || stream->refused)) {
        answer.step.messages = 1; /* an empty message that holds the provider data or the refusal */
        ik_conversation_append(answer.messages, ik_msg_create_assistant(NULL, "", &answer.step));
    }
    return answer.messages;
}
