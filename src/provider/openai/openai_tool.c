#include "provider/openai/openai_tool.h"

#include "base/alloc.h"
#include "provider/openai/openai_endpoint.h"
#include "provider/openai/openai_schema.h"

static void append_schema(ik_buffer_t *out, const json_t *schema)
{
    char *text = ik_json_format(NULL, schema);
    ik_buffer_append_text(out, text);
    talloc_free(text);
}

/* OpenAI's own Responses is strict unless told otherwise: there, not saying it is no way out. */
static bool says_strict(const ik_request_t *request, ik_openai_tool_strict_t strict)
{
    bool allowed = ik_request_may_send(request, IK_FIELD_STRICT);
    bool always = strict == IK_OPENAI_TOOL_STATE;
    return ik_openai_endpoint_is_openai(request->target) ? allowed || always : allowed && always;
}

static void append_tool(ik_buffer_t *out, const ik_request_t *request,
                        const ik_request_tool_t *tool, ik_openai_tool_strict_t strict)
{
    bool wanted = ik_openai_endpoint_is_openai(request->target) &&
                  ik_request_may_send(request, IK_FIELD_STRICT);
    json_t *made = wanted ? ik_openai_schema_make_strict(tool->parameters) : NULL;
    ik_buffer_append_text(out, "\"name\":");
    ik_json_append_text(out, tool->name);
    ik_buffer_append_text(out, ",\"description\":");
    ik_json_append_text(out, tool->description);
    ik_buffer_append_text(out, ",\"parameters\":");
    append_schema(out, made != NULL ? made : tool->parameters);
    if (says_strict(request, strict)) {
        ik_buffer_append_text(out, made != NULL ? ",\"strict\":true" : ",\"strict\":false");
    }
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
