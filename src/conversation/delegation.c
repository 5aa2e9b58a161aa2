#include "conversation/delegation.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"

ik_msg_t *ik_delegation_create(const void *ctx, const ik_delegation_t *delegation)
{
    ik_buffer_t data;
    ik_buffer_init(&data, NULL, IK_BUFFER_UNLIMITED); /* a few names */
    ik_json_add_text(&data, "name", delegation->name);
    ik_json_add_text(&data, "tool_call_id", delegation->call_id);
    if (delegation->tools != NULL) {
        ik_json_begin_member(&data, "tools");
        ik_buffer_append_byte(&data, '[');
        for (size_t i = 0; delegation->tools[i] != NULL; i++) {
            ik_buffer_append_text(&data, i == 0 ? "" : ",");
            ik_json_append_text(&data, delegation->tools[i]);
        }
        ik_buffer_append_byte(&data, ']');
    }
    ik_buffer_append_byte(&data, '}');
    ik_msg_t *message = ik_msg_create_sized(ctx, IK_MSG_DELEGATION, NULL, 0, data.data, data.len);
    ik_buffer_reset(&data);
    return message;
}

/* A limit that cannot be read is the strictest one. */
static const char *const *read_tools(const void *ctx, ik_json_span_t array)
{
    const char **tools = ik_new_array(ctx, const char *, 1);
    ik_json_span_t tool;
    size_t position = 0;
    size_t count = 0;
    while (ik_json_is(array, IK_JSON_ARRAY) && ik_json_next_element(array, &position, &tool)) {
        if (ik_json_is(tool, IK_JSON_STRING)) {
            tools = ik_resize_array(ctx, tools, const char *, count + 2);
            tools[count++] = ik_json_decode(tools, tool, NULL);
        }
    }
    tools[count] = NULL;
    return tools;
}

const ik_delegation_t *ik_delegation_parse(const void *ctx, const char *kind, const char *data_json)
{
    enum { NAME, CALL, TOOLS, COUNT };
    static const char *const names[COUNT] = {"name", "tool_call_id", "tools"};
    ik_json_span_t data;
    ik_json_span_t values[COUNT];
    if (strcmp(kind, IK_MSG_DELEGATION) != 0 || data_json == NULL ||
        !ik_json_scan(data_json, strlen(data_json), &data, NULL) ||
        !ik_json_is(data, IK_JSON_OBJECT)) {
        return NULL;
    }
    ik_json_find_members(data, names, COUNT, values);
    ik_delegation_t *delegation = ik_new(ctx, ik_delegation_t);
    delegation->name = ik_json_is(values[NAME], IK_JSON_STRING)
                           ? ik_json_decode(delegation, values[NAME], NULL)
                           : NULL;
    delegation->call_id = ik_json_is(values[CALL], IK_JSON_STRING)
                              ? ik_json_decode(delegation, values[CALL], NULL)
                              : "";
    delegation->tools = values[TOOLS].len == 0 ? NULL : read_tools(delegation, values[TOOLS]);
    return delegation;
}
