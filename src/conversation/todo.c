#include "conversation/todo.h"

#include "base/alloc.h"

enum { FORMAT_MAX = 20 * 1024 }; /* bytes; the shipped tool accepts fewer */

static const char *const states[] = {[IK_TOOL_ITEM_PENDING] = "pending",
                                     [IK_TOOL_ITEM_IN_PROGRESS] = "in_progress",
                                     [IK_TOOL_ITEM_COMPLETED] = "completed"};

static bool is_list(const ik_msg_t *message)
{
    enum { NAME, SUCCESS, OUTPUT, COUNT };
    static const char *const names[COUNT] = {"name", "success", "output"};
    ik_json_span_t data;
    ik_json_span_t values[COUNT];
    ik_json_span_t root;
    ik_json_span_t result;
    ik_json_span_t todos;
    size_t len;
    if (!ik_msg_is(message, IK_MSG_TOOL_RESULT) || message->data_json == NULL ||
        !ik_msg_field(message, "name", &data) || !ik_json_is_text(data, "todo")) {
        return false;
    }
    data = (ik_json_span_t){message->data_json, message->data_len};
    ik_json_find_members(data, names, COUNT, values);
    if (!ik_json_is(values[SUCCESS], IK_JSON_BOOLEAN) || values[SUCCESS].text[0] != 't' ||
        !ik_json_is(values[OUTPUT], IK_JSON_STRING)) {
        return false;
    }
    char *envelope = ik_json_decode(NULL, values[OUTPUT], &len);
    bool found = ik_json_scan(envelope, len, &root, NULL) &&
                 ik_json_find_kind(root, "result", IK_JSON_OBJECT, &result) &&
                 ik_json_find_kind(result, "todos", IK_JSON_ARRAY, &todos);
    talloc_free(envelope);
    return found;
}

size_t ik_todo_find(const ik_conversation_t *conversation, size_t from, size_t until)
{
    while (until > from && !is_list(conversation->messages[until - 1])) {
        until--;
    }
    return until > from ? until : 0;
}

char *ik_todo_read(const void *ctx, const ik_msg_t *message, ik_tool_display_t *list)
{
    ik_json_span_t output;
    size_t len;
    if (!ik_msg_field(message, "output", &output) || !ik_json_is(output, IK_JSON_STRING)) {
        return NULL;
    }
    char *envelope = ik_json_decode(ctx, output, &len);
    if (!ik_tool_display_find(envelope, len, IK_DISPLAY_CHECKLIST, list)) {
        talloc_free(envelope);
        return NULL;
    }
    return envelope;
}

char *ik_todo_format(const void *ctx, const ik_msg_t *message)
{
    void *scratch = talloc_new(NULL);
    ik_tool_display_t list;
    ik_tool_item_t item;
    ik_buffer_t out;
    size_t open = 0;
    size_t left_out = 0;
    size_t room = FORMAT_MAX;
    bool has_list = ik_todo_read(scratch, message, &list) != NULL;
    for (size_t at = 0; has_list && ik_tool_display_next_item(&list, &at, &item);) {
        open += item.state != IK_TOOL_ITEM_COMPLETED;
    }
    if (open == 0) {
        talloc_free(scratch);
        return NULL;
    }
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by FORMAT_MAX */
    ik_buffer_append_text(&out, "[The todo list, as the last call of todo left it]\n");
    size_t position = 0;
    while (ik_tool_display_next_item(&list, &position, &item)) {
        size_t len;
        char *content = ik_json_decode(scratch, item.content, &len);
        if (len > room) {
            left_out++;
        } else {
            room -= len;
            ik_buffer_append_format(&out, "\n- %s: ", states[item.state]);
            ik_buffer_append(&out, content, len);
        }
    }
    if (left_out > 0) {
        ik_buffer_append_format(&out, "\n[%zu more]", left_out);
    }
    talloc_free(scratch);
    return ik_buffer_finish(&out);
}
