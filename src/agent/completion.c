#include "agent/completion.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

struct ik_completion {
    ik_completion_options_t options;
    ik_session_t *session;
    ik_agent_t *agent;
    ik_timer_t *deliver; /* an agent must not be freed by its own event */
    ik_completion_result_t result;
    char *last_words; /* the last error or notice; NULL: none */
};

/* Models like to put JSON into a block of Markdown. */
static char *unfence(char *text)
{
    size_t len = strlen(text);
    char *newline = strchr(text, '\n');
    if (strncmp(text, "```", 3) != 0 || newline == NULL || len < 6 ||
        strcmp(text + len - 3, "```") != 0 || newline > text + len - 3) {
        return text;
    }
    text[len - 3] = '\0';
    return newline + 1;
}

static char *join_answer(const ik_completion_t *completion)
{
    const ik_conversation_t *conversation = ik_agent_conversation(completion->agent);
    ik_buffer_t text;
    ik_buffer_init(&text, completion, IK_BUFFER_UNLIMITED); /* bounded by the answers */
    ik_buffer_append_text(&text, "");
    for (size_t i = 0; i < conversation->count; i++) {
        const ik_msg_t *message = conversation->messages[i];
        if (ik_msg_is(message, IK_MSG_ASSISTANT) && message->content != NULL &&
            *message->content != '\0') {
            ik_buffer_append_text(&text, text.len == 0 ? "" : "\n\n");
            ik_buffer_append_text(&text, message->content);
        }
    }
    while (text.len > 0 && strchr(" \t\r\n", text.data[text.len - 1]) != NULL) {
        text.data[--text.len] = '\0';
    }
    return ik_buffer_finish(&text);
}

static void set_result(ik_completion_t *completion, ik_turn_reason_t reason)
{
    ik_completion_result_t *result = &completion->result;
    ik_json_span_t value;
    if (reason != IK_TURN_END) {
        result->error =
            completion->last_words == NULL ? "The turn was interrupted" : completion->last_words;
        return;
    }
    char *text = join_answer(completion);
    if (*text == '\0') {
        result->error =
            completion->last_words == NULL ? "The model's answer is empty" : completion->last_words;
        return;
    }
    if (completion->options.schema != NULL) {
        text = unfence(text);
        if (!ik_json_scan(text, strlen(text), &value, NULL)) {
            result->error = "The model's answer is not JSON";
            return;
        }
        text = ik_strndup(completion, value.text, value.len);
    }
    result->text = text;
}

static void on_event(void *data, const ik_agent_event_t *event)
{
    ik_completion_t *completion = data;
    ik_completion_result_t *result = &completion->result;
    switch (event->kind) {
    case IK_AGENT_USAGE:
        ik_usage_add(&result->usage, &event->usage);
        if (event->cost >= 0) {
            result->cost = (result->cost < 0 ? 0 : result->cost) + event->cost;
        }
        break;
    case IK_AGENT_RETRY:
        if (completion->options.on_wait != NULL) {
            char *why = ik_agent_describe_retry(NULL, event);
            completion->options.on_wait(completion->options.data, why);
            talloc_free(why);
        }
        break;
    case IK_AGENT_NOTICE:
    case IK_AGENT_ERROR:
        talloc_free(completion->last_words);
        completion->last_words = ik_strdup(completion, event->text);
        break;
    case IK_AGENT_TURN_ENDED:
        set_result(completion, event->reason);
        ik_timer_start(completion->deliver, 0);
        break;
    default:
        break;
    }
}

static void on_deliver(void *data)
{
    ik_completion_t *completion = data;
    completion->options.on_end(completion->options.data, &completion->result);
}

static char *format_system(const void *ctx, const ik_completion_options_t *options)
{
    if (options->schema == NULL) {
        return options->system == NULL ? NULL : ik_strdup(ctx, options->system);
    }
    return ik_sprintf(ctx,
                      "%s%sAnswer with JSON alone, without any other text. The JSON must match "
                      "this JSON Schema:\n%s",
                      options->system == NULL ? "" : options->system,
                      options->system == NULL ? "" : "\n\n", options->schema);
}

ik_completion_t *ik_completion_start(const void *ctx, const ik_completion_options_t *options)
{
    ik_completion_t *completion = ik_new(ctx, ik_completion_t);
    completion->options = *options;
    completion->result = (ik_completion_result_t){.usage = IK_USAGE_NONE, .cost = -1};
    completion->deliver =
        ik_timer_create(completion, options->shared->loop, on_deliver, completion);
    completion->session = ik_session_create(
        completion, NULL, &(ik_session_facts_t){.cwd = "", .model = options->target->name});
    char *system = format_system(NULL, options);
    completion->agent =
        ik_agent_create(completion, &(ik_agent_options_t){.shared = options->shared,
                                                          .target = options->target,
                                                          .system_prompt = system,
                                                          .session = completion->session,
                                                          .without_tools = true,
                                                          .max_output_tokens = options->max_tokens,
                                                          .on_event = on_event,
                                                          .data = completion});
    talloc_free(system);
    ik_agent_start_turn(completion->agent, options->prompt, NULL);
    return completion;
}
