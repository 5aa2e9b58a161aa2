#include "hook/hook_payload.h"

#include <string.h>

#include "base/alloc.h"

static const char *const foreign_names[IK_HOOK_EVENTS] = {
    [IK_HOOK_SESSION_START] = "SessionStart", [IK_HOOK_USER_PROMPT] = "UserPromptSubmit",
    [IK_HOOK_BEFORE_TOOL] = "PreToolUse",     [IK_HOOK_AFTER_TOOL] = "PostToolUse",
    [IK_HOOK_BEFORE_COMPACT] = "PreCompact",  [IK_HOOK_TURN_END] = "Stop",
    [IK_HOOK_SESSION_END] = "SessionEnd",
};

/* JSON from elsewhere may be spread over lines or not be UTF-8; a payload is one line. */
static void add_json(ik_buffer_t *out, const char *name, const char *text)
{
    ik_json_span_t value;
    ik_json_begin_member(out, name);
    if (!ik_json_scan(text, strlen(text), &value, NULL)) {
        ik_json_append_text(out, text);
        return;
    }
    for (size_t i = 0; i < value.len; i++) {
        char byte = value.text[i];
        ik_buffer_append_byte(out, byte == '\n' || byte == '\r' ? ' ' : byte);
    }
}

static void add_call(ik_buffer_t *out, const ik_hook_occasion_t *occasion, const char *input)
{
    ik_json_add_text(out, "tool_name", occasion->tool);
    add_json(out, "tool_input", input);
    ik_json_add_text(out, "tool_use_id", occasion->call_id);
}

char *ik_hook_payload_format(const void *ctx, const ik_hook_occasion_t *occasion,
                             const ik_hook_agent_t *agent, const char *folder, const char *input,
                             size_t *len)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the occasion */
    bool ends_sub = occasion->event == IK_HOOK_TURN_END && agent->id != NULL;
    ik_json_add_text(&out, "session_id", agent->session_id);
    ik_json_add_text(&out, "transcript_path", NULL); /* sessions are in a database */
    ik_json_add_text(&out, "cwd", folder);
    ik_json_add_text(&out, "model", agent->model);
    ik_json_add_text(&out, "permission_mode", ik_mode_name(agent->mode));
    ik_json_add_number(&out, "agent", occasion->agent);
    if (agent->id != NULL) {
        ik_json_add_text(&out, "agent_id", agent->id);
        ik_json_add_text(&out, "agent_type", agent->type);
    }
    ik_json_add_text(&out, "event", ik_hook_event_name(occasion->event));
    ik_json_add_text(&out, "hook_event_name",
                     ends_sub ? "SubagentStop" : foreign_names[occasion->event]);
    switch (occasion->event) {
    case IK_HOOK_SESSION_START:
        ik_json_add_text(&out, "source", occasion->source);
        break;
    case IK_HOOK_USER_PROMPT:
        ik_json_add_text(&out, "prompt", occasion->prompt);
        break;
    case IK_HOOK_BEFORE_TOOL:
        add_call(&out, occasion, input);
        break;
    case IK_HOOK_AFTER_TOOL:
        add_call(&out, occasion, input);
        add_json(&out, "tool_response", occasion->response);
        break;
    case IK_HOOK_BEFORE_COMPACT:
        ik_json_add_text(&out, "trigger", occasion->trigger);
        break;
    case IK_HOOK_TURN_END:
        ik_json_begin_member(&out, "stop_hook_active");
        ik_buffer_append_text(&out, occasion->stop_hook_active ? "true" : "false");
        break;
    default: /* SESSION_END */
        ik_json_add_text(&out, "reason", occasion->reason);
        break;
    }
    ik_buffer_append_text(&out, "}\n");
    *len = out.len;
    return ik_buffer_take(ctx, &out);
}
