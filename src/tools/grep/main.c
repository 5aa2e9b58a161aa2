/* grep: lines of files that match a regular expression. */
#include "base/alloc.h"
#include "tools/common/tool_program.h"
#include "tools/grep/grep_answer.h"
#include "tools/grep/grep_filter.h"
#include "tools/grep/grep_pattern.h"
#include "tools/grep/grep_walk.h"

static const char *skipped_note(const ik_tool_call_t *call, const ik_grep_pattern_t *pattern)
{
    size_t skipped = ik_grep_pattern_skipped(pattern);
    if (skipped == 0) {
        return NULL;
    }
    return ik_sprintf(call->ctx,
                      "match limit reached in %zu lines (pattern backtracks too much); those lines "
                      "were skipped%s",
                      skipped,
                      ik_grep_pattern_exhausted(pattern) ? " and the search was ended early" : "");
}

static void run(ik_tool_call_t *call)
{
    size_t pattern_len;
    const char *text = ik_tool_param_string(call, "pattern", &pattern_len, "");
    size_t glob_len;
    const char *glob = ik_tool_param_string(call, "glob", &glob_len, "");
    ik_grep_pattern_t *pattern;
    res_t compiled = ik_grep_pattern_compile(call->ctx, text, pattern_len,
                                             ik_tool_param_boolean(call, "ignore_case"), &pattern);
    if (is_err(&compiled)) {
        ik_tool_answer_error(call, "INVALID_PATTERN", "Invalid pattern: %s", compiled.message);
        return;
    }
    ik_grep_answer_t answer;
    ik_grep_answer_begin(&answer, call);
    ik_grep_walk_t walk = {
        .path = ik_tool_param_string(call, "path", NULL, ""),
        .filter = ik_grep_filter_create(call->ctx, glob, glob_len),
        .no_ignore = ik_tool_param_boolean(call, "no_ignore"),
        .pattern = pattern,
        .answer = &answer,
    };
    ik_grep_walk_run(&walk);
    ik_grep_answer_end(&answer, skipped_note(call, pattern));
}

static const ik_tool_param_t params[] = {
    {.name = "pattern",
     .type = IK_TOOL_PARAM_STRING,
     .required = true,
     .description = "Regular expression pattern (POSIX extended)"},
    {.name = "glob",
     .type = IK_TOOL_PARAM_STRING,
     .description = "Glob pattern to filter files (e.g., '*.c')",
     .text = true},
    {.name = "path",
     .type = IK_TOOL_PARAM_STRING,
     .description = "Directory to search in (default: current directory)",
     .text = true},
    {.name = "ignore_case",
     .type = IK_TOOL_PARAM_BOOLEAN,
     .description = "Match letters in either case (default: false)"},
    {.name = "no_ignore",
     .type = IK_TOOL_PARAM_BOOLEAN,
     .description = "Also search hidden files and files excluded by .gitignore (default: false)"},
    {0},
};

static const ik_tool_program_t program = {
    .name = "grep",
    .description = "Search for pattern in files using regular expressions",
    .params = params,
    .returns = "{\"type\":\"object\",\"properties\":{"
               "\"output\":{\"type\":\"string\",\"description\":"
               "\"Matching lines, each as path:line: content\"},"
               "\"count\":{\"type\":\"integer\",\"description\":\"Number of matching lines\"}}}",
    .parallel = true,
    .run = run,
};

int main(int argc, char **argv)
{
    return ik_tool_program_main(&program, argc, argv);
}
