/* glob: names of files that match a pattern. */
#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "tools/common/tool_program.h"
#include "tools/glob/glob_walk.h"

enum { PATTERN_MAX = 4 * PATH_MAX };

static void run(ik_tool_call_t *call)
{
    size_t pattern_len;
    const char *pattern = ik_tool_param_string(call, "pattern", &pattern_len, "");
    size_t path_len;
    const char *path = ik_tool_param_string(call, "path", &path_len, "");
    if (pattern_len > PATTERN_MAX || memchr(pattern, '\0', pattern_len) != NULL) {
        ik_tool_answer_error(call, "INVALID_PATTERN", "Invalid glob pattern");
        return;
    }
    bool separate = path_len > 0 && path[path_len - 1] != '/';
    ik_buffer_t found;
    ik_buffer_init(&found, call->ctx, IK_BUFFER_UNLIMITED);
    size_t count =
        ik_glob_walk_run(ik_sprintf(call->ctx, "%s%s", path, separate ? "/" : ""), pattern, &found);
    ik_tool_answer_output(call, found.data, found.len);
    ik_tool_answer_integer(call, "count", (int64_t)count);
    ik_tool_answer_send(call);
}

static const ik_tool_param_t params[] = {
    {.name = "pattern",
     .type = IK_TOOL_PARAM_STRING,
     .required = true,
     .description = "Glob pattern (e.g., '*.txt', 'src/**/*.c')"},
    {.name = "path",
     .type = IK_TOOL_PARAM_STRING,
     .description = "Directory to search in (default: current directory)",
     .text = true},
    {0},
};

static const ik_tool_program_t program = {
    .name = "glob",
    .description = "Find files matching a glob pattern",
    .params = params,
    .returns = "{\"type\":\"object\",\"properties\":{"
               "\"output\":{\"type\":\"string\",\"description\":\"Matching paths, one per line\"},"
               "\"count\":{\"type\":\"integer\",\"description\":\"Number of matching paths\"}}}",
    .parallel = true,
    .run = run,
};

int main(int argc, char **argv)
{
    return ik_tool_program_main(&program, argc, argv);
}
