#include "agent/agent.h"

#include <assert.h>
#include <string.h>

#include "agent/agent_state.h"
#include "agent/turn.h"
#include "base/alloc.h"
#include "base/array.h"

static const char *const reason_names[] = {
    [IK_TURN_END] = "end_turn",
    [IK_TURN_LIMIT] = "limit",
    [IK_TURN_ERROR] = "error",
    [IK_TURN_INTERRUPTED] = "interrupted",
};

const char *ik_turn_reason_name(ik_turn_reason_t reason)
{
    return reason_names[reason];
}

/* A message that consists of the status alone already begins with it. */
char *ik_agent_describe_retry(const void *ctx, const ik_agent_event_t *retry)
{
    return retry->status == 0 || strncmp(retry->text, "HTTP ", strlen("HTTP ")) == 0
               ? ik_strdup(ctx, retry->text)
               : ik_sprintf(ctx, "HTTP %d: %s", retry->status, retry->text);
}

void ik_agent_emit(ik_agent_t *agent, const ik_agent_event_t *event)
{
    agent->on_event(agent->data, event);
}

void ik_agent_notice(ik_agent_t *agent, const char *text)
{
    ik_agent_emit(agent,
                  &(ik_agent_event_t){.kind = IK_AGENT_NOTICE, .text = text, .len = strlen(text)});
}

/* --- the conversation -------------------------------------------------------------------- */

/* Call ids are unique within a conversation. */
static void remember_id(ik_agent_t *agent, const ik_msg_t *message)
{
    if (ik_msg_is(message, IK_MSG_TOOL_CALL)) {
        char *id = ik_msg_field_text(NULL, message, "id");
        ik_id_set_add(agent->call_ids, id);
        talloc_free(id);
    }
}

static void remember(ik_agent_t *agent, ik_msg_t *message)
{
    remember_id(agent, message);
    ik_conversation_append(agent->conversation, message);
}

/* A failing store is reported once, and once more when it works again; the turn continues. */
static void report_store(ik_agent_t *agent, const res_t *stored)
{
    bool failed = is_err(stored);
    if (failed && !agent->store_failed) {
        char *text = ik_sprintf(NULL, "This conversation is not being saved: %s", stored->message);
        ik_agent_notice(agent, text);
        talloc_free(text);
    } else if (!failed && agent->store_failed) {
        ik_agent_notice(agent, "This conversation is being saved again; nothing was lost.");
    }
    agent->store_failed = failed;
}

void ik_agent_append_all(ik_agent_t *agent, ik_msg_t *const *messages, size_t count,
                         ik_store_safety_t safety)
{
    if (count == 0) {
        return;
    }
    res_t stored = ik_session_append(agent->session, agent->number, messages, count, safety);
    report_store(agent, &stored);
    for (size_t i = 0; i < count; i++) {
        remember(agent, messages[i]);
    }
    for (size_t i = 0; i < count; i++) {
        ik_agent_emit(agent, &(ik_agent_event_t){.kind = IK_AGENT_MESSAGE,
                                                 .message = messages[i],
                                                 .unsaved = is_err(&stored)});
    }
}

void ik_agent_append(ik_agent_t *agent, ik_msg_t *message, ik_store_safety_t safety)
{
    ik_agent_append_all(agent, &message, 1, safety);
}

void ik_agent_record_checkpoint(ik_agent_t *agent, ik_msg_phase_t phase, const char *const *states,
                                size_t count)
{
    ik_msg_t *message = ik_msg_create_checkpoint(
        NULL, &(ik_msg_checkpoint_t){.phase = phase, .states = states, .count = count});
    res_t stored = ik_session_append(agent->session, agent->number, &message, 1, IK_STORE_NORMAL);
    report_store(agent, &stored);
    talloc_free(message);
}

/* Drops a turn that ended in a refusal: providers want it left out of later requests. It stays in
 * the store, and repair drops it whenever the session is loaded. Only between turns. */
static void drop_refused_turn(ik_agent_t *agent)
{
    ik_conversation_t *conversation = agent->conversation;
    ik_json_span_t refused;
    if (conversation->count == 0) {
        return;
    }
    const ik_msg_t *last = conversation->messages[conversation->count - 1];
    if (ik_msg_is(last, IK_MSG_ASSISTANT) && ik_msg_field(last, "refused", &refused)) {
        agent->conversation = ik_conversation_take_repaired(agent, conversation);
        TALLOC_FREE(agent->wire); /* these two refer to the old conversation */
        TALLOC_FREE(agent->context);
    }
}

const ik_context_t *ik_agent_context(ik_agent_t *agent)
{
    if (agent->context == NULL) {
        agent->context = ik_context_create(agent, agent->conversation);
    } else if (ik_context_update(agent->context)) {
        TALLOC_FREE(agent->wire); /* it refers to the messages that were sent before */
    }
    return agent->context;
}

/* --- creating ---------------------------------------------------------------------------- */

static ik_agent_t *create(const void *ctx, const ik_agent_options_t *options, int64_t number)
{
    ik_agent_t *agent = ik_new(ctx, ik_agent_t);
    agent->shared = options->shared;
    agent->target = options->target;
    agent->session = options->session;
    agent->number = number;
    agent->without_tools = options->without_tools;
    agent->max_output_tokens = options->max_output_tokens;
    agent->on_event = options->on_event;
    agent->steering = options->steering;
    agent->data = options->data;
    agent->conversation = ik_conversation_create(agent);
    agent->call_ids = ik_id_set_create(agent);
    return agent;
}

static void set_system(ik_agent_t *agent, const char *prompt)
{
    if (prompt != NULL) {
        agent->system = ik_msg_create(agent, IK_MSG_SYSTEM, prompt, NULL);
    }
}

static void limit_tools(ik_agent_t *agent, const char *const *tools)
{
    size_t count = 0;
    while (tools != NULL && tools[count] != NULL) {
        count++;
    }
    if (tools != NULL) {
        const char **copy = ik_new_array(agent->conversation, const char *, count + 1);
        for (size_t i = 0; i < count; i++) {
            copy[i] = ik_strdup(copy, tools[i]);
        }
        copy[count] = NULL;
        agent->conversation->tools = copy;
    }
}

ik_agent_t *ik_agent_create(const void *ctx, const ik_agent_options_t *options)
{
    ik_agent_t *agent =
        create(ctx, options, options->number == 0 ? IK_STORE_ROOT_AGENT : options->number);
    set_system(agent, options->system_prompt);
    limit_tools(agent, options->tools);
    return agent;
}

res_t ik_agent_resume(const void *ctx, const ik_agent_options_t *options, int64_t number,
                      ik_agent_t **out)
{
    ik_conversation_t *stored;
    res_t loaded = ik_session_load(NULL, options->session, number, &stored);
    if (is_err(&loaded)) {
        talloc_free(stored);
        return loaded;
    }
    ik_agent_t *agent = create(ctx, options, number);
    talloc_free(agent->conversation);
    agent->conversation = ik_conversation_take_repaired(agent, stored);
    if (agent->conversation->count == 0) {
        set_system(agent, options->system_prompt);
    }
    for (size_t i = 0; i < agent->conversation->count; i++) {
        remember_id(agent, agent->conversation->messages[i]);
    }
    *out = agent;
    return OK;
}

ik_agent_t *ik_agent_fork(const void *ctx, ik_agent_t *parent, ik_agent_listener_fn on_event,
                          void *data)
{
    size_t copied = parent->conversation->count;
    int64_t at = ik_session_last_seq(parent->session, parent->number);
    if (parent->turn != NULL) {
        ik_turn_find_complete(parent->turn, &copied, &at);
    }
    ik_agent_options_t options = {.shared = parent->shared,
                                  .target = ik_agent_target(parent),
                                  .session = parent->session,
                                  .without_tools = parent->without_tools,
                                  .on_event = on_event,
                                  .steering = parent->steering,
                                  .data = data};
    ik_agent_t *agent = create(ctx, &options, ik_session_fork(parent->session, parent->number, at));
    set_system(agent, parent->system == NULL ? NULL : parent->system->content);
    limit_tools(agent, parent->conversation->tools);
    for (size_t i = 0; i < copied; i++) {
        remember(agent, ik_msg_copy(NULL, parent->conversation->messages[i]));
    }
    return agent;
}

int64_t ik_agent_number(const ik_agent_t *agent)
{
    return agent->number;
}

/* Appends a message of the user. The system prompt is stored together with the first one: a session
 * in which the user wrote nothing stays empty. */
static void append_user(ik_agent_t *agent, const char *text, const char *data_json)
{
    assert(agent->turn == NULL);
    drop_refused_turn(agent);
    ik_msg_t *messages[] = {agent->system, ik_msg_create(NULL, IK_MSG_USER, text, data_json)};
    size_t skipped = agent->system == NULL ? 1 : 0;
    agent->system = NULL;
    ik_agent_append_all(agent, messages + skipped, IK_LENGTH(messages) - skipped, IK_STORE_FULL);
}

void ik_agent_add_note(ik_agent_t *agent, const char *text, const char *data_json)
{
    append_user(agent, text, data_json);
}

void ik_agent_start_turn(ik_agent_t *agent, const char *text, const char *data_json)
{
    append_user(agent, text, data_json);
    ik_turn_start(agent);
}

bool ik_agent_compact(ik_agent_t *agent, const char *focus)
{
    assert(agent->turn == NULL);
    drop_refused_turn(agent);
    return agent->conversation->count > 0 && ik_turn_start_compaction(agent, focus);
}

void ik_agent_forget_tools(ik_agent_t *agent)
{
    assert(agent->turn == NULL);
    TALLOC_FREE(agent->wire);
    TALLOC_FREE(agent->selected);
    agent->wire_registry = NULL;
    agent->selected_from = NULL;
}

const ik_target_t *ik_agent_target(const ik_agent_t *agent)
{
    return agent->next_target == NULL ? agent->target : agent->next_target;
}

void ik_agent_set_addition(ik_agent_t *agent, const char *paragraph)
{
    agent->addition = paragraph;
}

const char *ik_agent_system(const ik_agent_t *agent)
{
    return agent->system != NULL ? agent->system->content
                                 : ik_conversation_system(agent->conversation);
}

bool ik_agent_is_busy(const ik_agent_t *agent)
{
    return agent->turn != NULL;
}

bool ik_agent_is_interrupted(const ik_agent_t *agent)
{
    return agent->turn != NULL && ik_turn_is_interrupted(agent->turn);
}

int64_t ik_agent_silent_ms(const ik_agent_t *agent)
{
    return agent->turn == NULL ? -1 : ik_turn_silent_ms(agent->turn);
}

void ik_agent_interrupt(ik_agent_t *agent)
{
    if (agent->turn != NULL) {
        ik_turn_interrupt(agent->turn);
    }
}

bool ik_agent_use_next_target(ik_agent_t *agent)
{
    if (agent->next_target == NULL) {
        return false;
    }
    agent->target = agent->next_target;
    agent->next_target = NULL;
    agent->refused = 0;
    agent->tokens_per_byte = 0;
    TALLOC_FREE(agent->wire);
    return true;
}

void ik_agent_set_target(ik_agent_t *agent, const ik_target_t *target)
{
    agent->next_target = target;
    if (agent->turn == NULL) {
        ik_agent_use_next_target(agent);
    } else {
        ik_turn_stop_waiting(agent->turn);
    }
}

const ik_conversation_t *ik_agent_conversation(const ik_agent_t *agent)
{
    return agent->conversation;
}
