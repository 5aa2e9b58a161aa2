/*
 * A log of messages that may be anything: repaired it is a conversation every provider accepts
 * (../promises/repaired.h says what that is), its requests are JSON in all wire formats, and a
 * request that grew with it is the one made at once.
 *
 * A line of the input is a message: a letter for its kind, the content, a tab, the data.
 */
#include <stdint.h>
#include <string.h>

#include "../promises/repaired.h"
#include "../provider/driver.h"
#include "conversation/context.h"
#include "pieces.h"
#include "provider/wire.h"

/* --- reading ------------------------------------------------------------------------------ */

static const char *kind_of(char letter)
{
    switch (letter) {
    case 's':
        return IK_MSG_SYSTEM;
    case 'u':
        return IK_MSG_USER;
    case 'a':
        return IK_MSG_ASSISTANT;
    case 'c':
        return IK_MSG_TOOL_CALL;
    case 'r':
        return IK_MSG_TOOL_RESULT;
    case 'k':
        return IK_MSG_COMPACTION;
    default:
        return "note";
    }
}

static ik_msg_t *read_message(const void *ctx, char *line)
{
    char *data = strchr(line, '\t');
    if (data != NULL) {
        *data++ = '\0';
    }
    return ik_msg_create(ctx, kind_of(line[0]), line[0] == '\0' ? NULL : line + 1, data);
}

static ik_conversation_t *read_log(const void *ctx, const uint8_t *bytes, size_t len)
{
    ik_conversation_t *log = ik_conversation_create(ctx);
    char *text = ik_strndup(ctx, (const char *)bytes, len);
    char *position = NULL;
    for (char *line = strtok_r(text, "\n", &position); line != NULL;
         line = strtok_r(NULL, "\n", &position)) {
        ik_conversation_append(log, read_message(log, line));
    }
    return log;
}

/* --- requests ----------------------------------------------------------------------------- */

static void format(ik_wire_t *wire, ik_request_t *request, const ik_context_t *context,
                   ik_wire_body_t *body)
{
    request->conversation = context->sent;
    request->system = ik_conversation_system(context->conversation);
    request->trimmed_results = ik_context_trimmed_results(context);
    ik_wire_format(wire, request, body);
}

static void check_body(const void *ctx, const ik_wire_body_t *body)
{
    ik_buffer_t whole;
    ik_buffer_init(&whole, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < body->count; i++) {
        ik_buffer_append(&whole, body->parts[i].bytes, body->parts[i].len);
    }
    REQUIRE(whole.len == body->total);
    REQUIRE(ik_json_kind(pieces_require_json(whole.data, whole.len)) == IK_JSON_OBJECT);
}

static bool is_question(const ik_msg_t *message)
{
    return ik_msg_is(message, IK_MSG_USER) || ik_msg_is(message, IK_MSG_TOOL_RESULT);
}

/* A wire that served every request of the conversation, as an agent's does. */
static ik_wire_t *grow(const void *ctx, ik_request_t *request, const ik_conversation_t *whole)
{
    ik_conversation_t *growing = ik_conversation_create(ctx);
    ik_context_t *context = ik_context_create(ctx, growing);
    ik_wire_t *wire = ik_wire_create(ctx);
    ik_wire_body_t body;
    for (size_t i = 0; i < whole->count; i++) {
        const ik_msg_t *message = whole->messages[i];
        ik_conversation_append(
            growing, ik_msg_create(growing, message->kind, message->content, message->data_json));
        if (i + 1 == whole->count ||
            (is_question(message) && repaired_is_answer(whole->messages[i + 1]))) {
            if (ik_context_update(context)) {
                talloc_free(wire);
                wire = ik_wire_create(ctx);
            }
            format(wire, request, context, &body);
        }
    }
    return wire;
}

static void check_requests(const void *ctx, const ik_target_t *target,
                           const ik_conversation_t *conversation)
{
    ik_request_t *request = ik_request_create(ctx, target);
    ik_msg_t *closing = ik_msg_create(ctx, IK_MSG_USER, "Summarise.", NULL);
    ik_wire_t *fresh = ik_wire_create(ctx);
    ik_wire_body_t body;
    ik_context_t *context = ik_context_create(ctx, conversation);
    request->closing = closing;
    format(fresh, request, context, &body);
    check_body(ctx, &body);
    request->closing = NULL;
    format(fresh, request, context, &body);
    check_body(ctx, &body);
    ik_wire_t *grown = grow(ctx, request, conversation);
    REQUIRE(pieces_same(&fresh->messages, &grown->messages));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const char *const wires[][3] = {{"chat", "p", "http://127.0.0.1"},
                                           {"chat", "mistral", "https://api.mistral.ai/v1"},
                                           {"chat", "deepseek", "https://api.deepseek.com"},
                                           {"responses", "openai", "http://127.0.0.1"},
                                           {"anthropic", "anthropic", "http://127.0.0.1"},
                                           {"google", "google", "http://127.0.0.1"}};
    void *ctx = talloc_new(NULL);
    ik_conversation_t *repaired = ik_conversation_take_repaired(ctx, read_log(ctx, bytes, len));
    const char *fault = repaired_fault(repaired);
    if (fault != NULL) {
        PANIC("%s", fault);
    }
    ik_conversation_append(repaired, ik_msg_create(repaired, IK_MSG_USER, "Go on.", NULL));
    for (size_t i = 0; i < sizeof(wires) / sizeof(wires[0]); i++) {
        check_requests(ctx, driver_target(ctx, wires[i][0], wires[i][1], wires[i][2], "m"),
                       repaired);
    }
    talloc_free(ctx);
    return 0;
}
