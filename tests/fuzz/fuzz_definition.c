/*
 * A tool's schema on its way to a model: whatever JSON Schema its author wrote, every wire format
 * makes a request of it that is JSON, what is strict stays the same when it is made strict once
 * more, and arguments without their nulls are still arguments.
 *
 * Input: the schema up to a NUL, the arguments.
 */
#include <stdint.h>
#include <string.h>

#include "../provider/driver.h"
#include "pieces.h"
#include "provider/google/google_schema.h"
#include "provider/openai/openai_schema.h"
#include "provider/wire.h"
#include "tool/tool_schema.h"
#include "tool/tool_wrapper.h"

static void check_request(const void *ctx, const char *wire, const char *provider,
                          const ik_tool_schema_t *schema, json_t *returns)
{
    ik_target_t *target = driver_target(ctx, wire, provider, "http://127.0.0.1", "m");
    ik_request_t *request = ik_request_create(ctx, target);
    ik_conversation_t *conversation = ik_conversation_create(ctx);
    ik_wire_body_t body;
    ik_buffer_t text;
    ik_conversation_append(conversation, ik_msg_create(conversation, IK_MSG_USER, "go", NULL));
    request->conversation = conversation;
    ik_request_add_tool(request, schema->name, schema->description, schema->parameters, returns);
    ik_wire_format(ik_wire_create(ctx), request, &body);
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < body.count; i++) {
        ik_buffer_append(&text, body.parts[i].bytes, body.parts[i].len);
    }
    pieces_require_json(text.data, text.len);
}

static void check_strict(json_t *parameters)
{
    json_t *strict = ik_openai_schema_make_strict(parameters);
    json_t *again = strict == NULL ? NULL : ik_openai_schema_make_strict(strict);
    REQUIRE(strict == NULL || (again != NULL && json_equal(strict, again)));
    json_decref(strict);
    json_decref(again);
}

static void check_google(json_t *parameters)
{
    bool exact;
    json_t *converted = ik_google_schema_convert(parameters, &exact);
    REQUIRE(json_is_object(converted));
    ik_google_schema_has_members(parameters);
    json_decref(converted);
}

static void check_arguments(const void *ctx, json_t *parameters, const char *text, size_t len)
{
    ik_json_span_t arguments;
    ik_buffer_t without;
    ik_buffer_init(&without, ctx, IK_BUFFER_UNLIMITED);
    if (ik_utf8_valid(text, len) && ik_json_scan(text, len, &arguments, NULL) &&
        ik_openai_schema_remove_nulls(&without, parameters, arguments)) {
        ik_json_span_t left = pieces_require_json(without.data, without.len);
        REQUIRE(left.len < arguments.len && ik_json_kind(left) == ik_json_kind(arguments));
    }
}

static void check(const void *ctx, const ik_tool_schema_t *schema, const char *arguments,
                  size_t len)
{
    static const char *const wires[][2] = {{"chat", "openai"},
                                           {"chat", "other"},
                                           {"responses", "openai"},
                                           {"anthropic", "anthropic"},
                                           {"google", "google"}};
    json_t *returns = ik_tool_wrap_returns(schema->returns);
    for (size_t i = 0; i < sizeof(wires) / sizeof(wires[0]); i++) {
        check_request(ctx, wires[i][0], wires[i][1], schema, returns);
    }
    json_decref(returns);
    check_strict(schema->parameters);
    check_google(schema->parameters);
    check_arguments(ctx, schema->parameters, arguments, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    void *ctx = talloc_new(NULL);
    size_t schema_len = pieces_find(bytes, len, '\0');
    size_t rest = schema_len < len ? len - schema_len - 1 : 0;
    char *arguments = pieces_copy(bytes + len - rest, rest);
    ik_tool_schema_t *schema;
    res_t parsed = ik_tool_schema_parse(ctx, (const char *)bytes, schema_len, &schema);
    if (is_ok(&parsed)) {
        check(ctx, schema, arguments, rest);
    }
    free(arguments);
    talloc_free(ctx);
    return 0;
}
