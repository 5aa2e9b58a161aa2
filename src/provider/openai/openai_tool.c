#include "provider/openai/openai_tool.h"

#include "base/alloc.h"
#include "provider/openai/openai_endpoint.h"
#include "provider/openai/openai_schema.h"

static void append_tool(ik_buffer_t *out, const ik_request_t *request,
                        const ik_request_tool_t *tool, ik_openai_tool_strict_t strict)
{
    bool openai = ik_openai_endpoint_is_openai(request->target);
    bool allowed = ik_request_may_send(request, IK_FIELD_STRICT);
    bool always = strict == IK_OPENAI_TOOL_STATE;
    json_t *made = openai && allowed ? ik_openai_schema_make_strict(tool->parameters) : NULL;
    char *schema = ik_json_format(NULL, made != NULL ? made : tool->parameters);
    ik_buffer_append_text(out, "\"name\":");
    ik_json_append_text(out, tool->name);
    ik_buffer_append_text(out, ",\"description\":");
    ik_json_append_text(out, tool->description);
    ik_buffer_append_text(out, ",\"parameters\":");
    ik_buffer_append_text(out, schema);
    /* OpenAI's Responses API is strict by default, so the field is sent even after a refusal. */
    if (openai ? allowed || always : allowed && always) {
        ik_buffer_append_text(out, made != NULL ? ",\"strict\":true" : ",\"strict\":false");
    }
    talloc_free(schema);
    json_decref(made);
}

void ik_openai_tool_append_all(ik_buffer_t *out, const ik_request_t *request, const char *before,
                               const char *after, ik_openai_tool_strict_t strict)
{
    for (size_t i = 0; i < request->tool_count; i++) {
        ik_buffer_append_text(out, i == 0 ? "[" : ",");
        ik_buffer_append_text(out, before);
        append_tool(out, request, &request->tools[i], strict);
        ik_buffer_append_text(out, after);
    }
    ik_buffer_append_byte(out, ']');
}

bool ik_openai_tool_restore_arguments(ik_buffer_t *out, const ik_target_t *target,
                                      json_t *parameters, ik_json_span_t arguments)
{
    return ik_openai_endpoint_is_openai(target) &&
           ik_openai_schema_remove_nulls(out, parameters, arguments);
}
