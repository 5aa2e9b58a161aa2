/*
 * todo: keeps the list of steps of a task. The tool has no state: each call gives the whole list,
 * and the last result in the conversation is the list.
 */
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "tools/common/tool_program.h"

enum { ITEMS_MAX = 200, BYTES_MAX = 16 * 1024 };

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

static bool is_status(const char *text)
{
    static const char *const statuses[] = {"pending", "in_progress", "completed"};
    for (size_t i = 0; text != NULL && i < IK_LENGTH(statuses); i++) {
        if (strcmp(text, statuses[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Answers with an error and returns false if the list is not valid. */
static bool check(ik_tool_call_t *call, const json_t *todos)
{
    size_t bytes = 0;
    size_t i;
    json_t *item;
    json_array_foreach(todos, i, item)
    {
        const json_t *content = json_object_get(item, "content");
        if (!json_is_string(content) || is_blank(json_string_value(content))) {
            ik_tool_answer_error(call, "INVALID_ARG",
                                 "Item %zu of 'todos': 'content' must be a text that is not empty",
                                 i + 1);
            return false;
        }
        if (!is_status(json_string_value(json_object_get(item, "status")))) {
            ik_tool_answer_error(call, "INVALID_ARG",
                                 "Item %zu of 'todos': 'status' must be \"pending\", "
                                 "\"in_progress\" or \"completed\"",
                                 i + 1);
            return false;
        }
        bytes += json_string_length(content);
    }
    if (json_array_size(todos) > ITEMS_MAX || bytes > BYTES_MAX) {
        ik_tool_answer_error(call, "INVALID_ARG",
                             "The list is too long: at most %d items with %d bytes in total. Leave "
                             "out completed items, or join some",
                             ITEMS_MAX, BYTES_MAX);
        return false;
    }
    return true;
}

static void run(ik_tool_call_t *call)
{
    const json_t *todos = json_object_get(call->params, "todos");
    int64_t open = 0;
    size_t i;
    json_t *item;
    if (!check(call, todos)) {
        return;
    }
    ik_json_begin_member(&call->answer, "todos");
    ik_buffer_append_byte(&call->answer, '[');
    json_array_foreach(todos, i, item)
    {
        const json_t *content = json_object_get(item, "content");
        const char *status = json_string_value(json_object_get(item, "status"));
        ik_buffer_append_text(&call->answer, i == 0 ? "{\"content\":" : ",{\"content\":");
        ik_json_append_string(&call->answer, json_string_value(content),
                              json_string_length(content));
        ik_buffer_append_format(&call->answer, ",\"status\":\"%s\"}", status);
        open += strcmp(status, "completed") != 0;
    }
    ik_buffer_append_byte(&call->answer, ']');
    ik_tool_answer_integer(call, "open", open);
    ik_tool_answer_send(call);
}

#define ITEM                                                                                       \
    "{\"type\":\"object\",\"properties\":{"                                                        \
    "\"content\":{\"type\":\"string\",\"description\":\"The step, in a few words\"},"              \
    "\"status\":{\"type\":\"string\",\"enum\":[\"pending\",\"in_progress\",\"completed\"],"        \
    "\"description\":\"Its state\"}},"                                                             \
    "\"required\":[\"content\",\"status\"]}"

static const ik_tool_param_t params[] = {
    {.name = "todos",
     .type = IK_TOOL_PARAM_ARRAY,
     .required = true,
     .items = ITEM,
     .description = "The whole list, in order: it replaces the one before. [] empties it"},
    {0},
};

static const ik_tool_program_t program = {
    .name = "todo",
    .description =
        "Keep a list of the steps of a task, which the user sees. Use it for work of three or more "
        "steps: give all steps as pending at first, have one in_progress while you work on it, and "
        "call again as soon as a step is completed or the plan changes. Each call replaces the "
        "list. Not for a single step or a question",
    .params = params,
    .returns = "{\"type\":\"object\",\"properties\":{"
               "\"todos\":{\"type\":\"array\",\"description\":\"The list\",\"items\":" ITEM "},"
               "\"open\":{\"type\":\"integer\",\"description\":\"Number of items that are not "
               "completed\"}},\"required\":[\"todos\",\"open\"]}",
    .limits = "200 items with 16,384 bytes of text in total. The arguments take at most 1 GB.",
    .display = IK_DISPLAY_CHECKLIST,
    .run = run,
};

int main(int argc, char **argv)
{
    return ik_tool_program_main(&program, argc, argv);
}
