/* glob: finds files whose path matches a pattern. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "tools/common/tool_program.h"
#include "tools/glob/glob_walk.h"

enum { PATTERN_MAX = 4 * PATH_MAX };

/* Warns if the folder to search does not exist. */
static void check_path(const char *path, ik_warning_list_t *warnings)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        ik_warning_list_add(warnings, "folder", path, "", errno);
    } else if (!S_ISDIR(st.st_mode)) {
        ik_warning_list_add(warnings, "folder", path, "", ENOTDIR);
    }
}

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
    ik_buffer_init(&found, call->ctx, IK_BUFFER_UNLIMITED); /* bounded by the walk */
    ik_warning_list_t warnings;
    ik_warning_list_init(&warnings, call->ctx);
    bool unreadable;
    size_t count = ik_glob_walk_run(ik_sprintf(call->ctx, "%s%s", path, separate ? "/" : ""),
                                    pattern, &found, &warnings, &unreadable);
    if (count == 0 && path_len > 0 && warnings.total == 0) {
        check_path(path, &warnings);
    }
    if (unreadable) {
        ik_tool_answer_begin_error(call, "READ_ERROR", "Read error during glob");
    } else {
        ik_tool_answer_output(call, found.data, found.len);
        ik_tool_answer_integer(call, "count", (int64_t)count);
    }
    ik_warning_list_append(&warnings, &call->answer);
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
               "\"count\":{\"type\":\"integer\",\"description\":\"Number of matching paths\"},"
               "\"warnings\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
               "\"description\":\"What could not be read\"}}}",
    .parallel = true,
    .limits =
        "At most 8 million paths, 256 MB in all; beyond that the answer is OUT_OF_MEMORY. At most "
        "1 GB of entries of a folder are read.",
    .run = run,
};

int main(int argc, char **argv)
{
    return ik_tool_program_main(&program, argc, argv);
}
