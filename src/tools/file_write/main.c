/* file_write: creates a file or replaces its content, atomically and durably. */
#include <string.h>

#include "base/alloc.h"
#include "tools/common/file_error.h"
#include "tools/common/tool_program.h"

static void run(ik_tool_call_t *call)
{
    size_t len;
    const char *path = ik_tool_param_string(call, "file_path", NULL, NULL);
    const char *content = ik_tool_param_string(call, "content", &len, NULL);
    /* The answer is built first, so that OUT_OF_MEMORY never follows a successful write. */
    char *message = ik_sprintf(call->ctx, "Wrote %zu bytes to %s", len, basename(path));
    ik_tool_answer_output(call, message, strlen(message));
    ik_tool_answer_integer(call, "bytes", (int64_t)len);
    ik_tool_answer_reserve(call);
    ik_replaced_t replaced = ik_replace_file(path, content, len, &(ik_replace_options_t){0});
    if (replaced.error != 0) {
        ik_tool_answer_restart(call);
        ik_file_error_answer(call, ik_file_error_of_replace(&replaced), path);
        return;
    }
    if (replaced.note != NULL) {
        ik_tool_answer_string(call, "note", replaced.note);
    }
    ik_tool_answer_send(call);
}

static const ik_tool_param_t params[] = {
    {.name = "file_path",
     .type = IK_TOOL_PARAM_STRING,
     .required = true,
     .text = true,
     .description = "Absolute or relative path to file"},
    {.name = "content",
     .type = IK_TOOL_PARAM_STRING,
     .required = true,
     .description = "Content to write to file"},
    {0},
};

static const ik_tool_program_t program = {
    .name = "file_write",
    .description = "Write content to a file (creates or overwrites)",
    .params = params,
    .returns = "{\"type\":\"object\",\"properties\":{"
               "\"output\":{\"type\":\"string\",\"description\":\"What was written\"},"
               "\"bytes\":{\"type\":\"integer\",\"description\":\"Number of bytes written\"},"
               "\"note\":{\"type\":\"string\",\"description\":\"A warning, when there is one\"}},"
               "\"required\":[\"output\",\"bytes\"]}",
    .limits = "The arguments take at most 1 GB. Memory: three times their length.",
    .effects = {.write = IK_WRITE_PROJECT},
    .run = run,
};

int main(int argc, char **argv)
{
    return ik_tool_program_main(&program, argc, argv);
}
