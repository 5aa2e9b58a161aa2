/*
 * Shows how a tool's schema is sent to each provider. stdin holds one JSON text per line, as a tool
 * would print it; each line is answered by one on stdout: {"error": …} when discovery skips the
 * tool, or {"repairs": […], "bodies": {TARGET: request, …}} with the request in every wire format.
 */
#include "driver.h"
#include "provider/wire.h"
#include "tool/tool_schema.h"
#include "tool/tool_wrapper.h"

static const struct {
    const char *name;
    const char *wire;
    const char *provider;
    const char *model;
    unsigned refused;
} targets[] = {
    {"chat", "chat", "openai", "gpt-5", 0},
    {"chat_plain", "chat", "openai", "gpt-5", IK_FIELD_STRICT},
    {"local", "chat", "local", "qwen3", 0},
    {"responses", "responses", "openai", "gpt-6.1-sol", 0},
    {"anthropic", "anthropic", "anthropic", "claude-opus-5-5", 0},
    {"gemini", "google", "google", "gemini-4-argon", 0},
    {"gemini_old", "google", "google", "gemini-4-argon", IK_FIELD_JSON_SCHEMA},
};

static void append_requests(ik_buffer_t *out, const ik_tool_schema_t *schema)
{
    void *ctx = talloc_new(NULL);
    json_t *returns = ik_json_adopt(ctx, ik_tool_wrap_returns(schema->returns));
    ik_conversation_t *conversation = ik_conversation_create(ctx);
    ik_conversation_append(conversation, ik_msg_create(conversation, IK_MSG_USER, "Go", NULL));
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        const ik_target_t *target = driver_target(ctx, targets[i].wire, targets[i].provider,
                                                  "http://127.0.0.1:9", targets[i].model);
        ik_request_t *request = ik_request_create(ctx, target);
        ik_wire_body_t body;
        request->conversation = conversation;
        request->refused = targets[i].refused;
        ik_request_add_tool(request, schema->name, schema->description, schema->parameters,
                            returns);
        ik_wire_format(ik_wire_create(ctx), request, &body);
        ik_buffer_append_format(out, "%s\"%s\":", i == 0 ? "" : ",", targets[i].name);
        for (size_t part = 0; part < body.count; part++) {
            ik_buffer_append(out, body.parts[part].bytes, body.parts[part].len);
        }
    }
    talloc_free(ctx);
}

static void answer(const char *line, size_t len)
{
    void *ctx = talloc_new(NULL);
    ik_tool_schema_findings_t findings = {.ctx = ctx};
    ik_tool_schema_t *schema;
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    res_t parsed = ik_tool_schema_examine(ctx, line, len, &findings, &schema);
    if (is_err(&parsed)) {
        ik_buffer_append_text(&out, "{\"error\":");
        ik_json_append_text(&out, parsed.message);
    } else {
        ik_buffer_append_text(&out, "{\"repairs\":[");
        for (size_t i = 0; i < findings.repair_count; i++) {
            ik_buffer_append_text(&out, i == 0 ? "" : ",");
            ik_json_append_text(&out, findings.repairs[i]);
        }
        ik_buffer_append_text(&out, "],\"bodies\":{");
        append_requests(&out, schema);
        ik_buffer_append_byte(&out, '}');
    }
    ik_buffer_append_byte(&out, '}');
    puts(ik_buffer_finish(&out));
    talloc_free(ctx);
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t len;
    while ((len = getline(&line, &capacity, stdin)) > 0) {
        answer(line, (size_t)len);
    }
    free(line);
    return 0;
}
