#include "mcp/mcp_headers.h"

#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/json.h"

enum { DEPTH_MAX = 8 }; /* of objects in the arguments */

/* A value as a header can carry it. */
static char *encode_header(const void *ctx, const char *value, size_t len)
{
    bool plain = len > 0 && value[0] != ' ' && value[len - 1] != ' ' &&
                 !(len >= 11 && strncmp(value, "=?base64?", 9) == 0);
    for (size_t i = 0; i < len; i++) {
        plain = plain && value[i] >= 0x20 && value[i] <= 0x7e;
    }
    if (plain) {
        return ik_strndup(ctx, value, len);
    }
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the value */
    ik_buffer_append_text(&out, "=?base64?");
    ik_base64_append(&out, value, len);
    ik_buffer_append_text(&out, "?=");
    return ik_buffer_finish(&out);
}

typedef struct {
    const void *ctx;
    const char **list; /* ends with NULL */
    size_t count;
} headers_t;

static void add_header(headers_t *headers, const char *name, const char *value, size_t len)
{
    headers->list = ik_resize_array(headers->ctx, headers->list, const char *, headers->count + 2);
    headers->list[headers->count++] =
        ik_sprintf(headers->ctx, "%s: %s", name, encode_header(headers->ctx, value, len));
    headers->list[headers->count] = NULL;
}

/* Values that the schema of the tool wants to be repeated in headers. */
static void add_parameters(headers_t *headers, json_t *schema, json_t *arguments, int depth)
{
    const char *key;
    json_t *property;
    json_object_foreach(json_object_get(schema, "properties"), key, property)
    {
        const char *name = json_string_value(json_object_get(property, "x-mcp-header"));
        json_t *value = json_object_get(arguments, key);
        char *header = name == NULL ? NULL : ik_sprintf(headers->ctx, "Mcp-Param-%s", name);
        if (header != NULL && json_is_string(value)) {
            add_header(headers, header, json_string_value(value), json_string_length(value));
        } else if (header != NULL && (json_is_integer(value) || json_is_boolean(value))) {
            char *text = ik_json_format(headers->ctx, value);
            add_header(headers, header, text, strlen(text));
        } else if (json_is_object(value) && depth < DEPTH_MAX) {
            add_parameters(headers, property, value, depth + 1);
        }
    }
}

static void add_call_headers(headers_t *headers, const ik_mcp_tools_t *tools, ik_json_span_t params)
{
    ik_json_span_t value;
    if (!ik_json_find_kind(params, "name", IK_JSON_STRING, &value)) {
        return;
    }
    size_t len;
    char *name = ik_json_decode(headers->ctx, value, &len);
    add_header(headers, "Mcp-Name", name, len);
    for (size_t i = 0; tools != NULL && i < tools->count; i++) {
        const ik_mcp_tool_t *tool = &tools->list[i];
        if (strcmp(tool->tool, name) != 0 || strstr(tool->schema, "x-mcp-header") == NULL ||
            !ik_json_find_kind(params, "arguments", IK_JSON_OBJECT, &value)) {
            continue;
        }
        json_t *schema = ik_json_parse(tool->schema, strlen(tool->schema), NULL);
        json_t *arguments = ik_json_parse(value.text, value.len, NULL);
        add_parameters(headers, json_object_get(schema, "parameters"), arguments, 0);
        json_decref(schema);
        json_decref(arguments);
    }
}

const char *const *ik_mcp_headers_create(const void *ctx, const ik_mcp_tools_t *tools,
                                         const char *message, size_t len)
{
    headers_t headers = {.ctx = ctx, .list = ik_new_array(ctx, const char *, 1)};
    ik_json_span_t whole;
    ik_json_span_t method;
    ik_json_span_t params;
    if (ik_json_scan(message, len, &whole, NULL) &&
        ik_json_find_kind(whole, "method", IK_JSON_STRING, &method)) {
        add_header(&headers, "Mcp-Method", method.text + 1, method.len - 2);
        if (ik_json_is_text(method, "tools/call") &&
            ik_json_find_kind(whole, "params", IK_JSON_OBJECT, &params)) {
            add_call_headers(&headers, tools, params);
        }
    }
    return headers.list;
}
