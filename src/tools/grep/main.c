/* grep: finds lines of files that match a regular expression. */
#include <inttypes.h>

#include "base/alloc.h"
#include "tools/common/tool_program.h"
#include "tools/grep/grep_answer.h"
#include "tools/grep/grep_filter.h"
#include "tools/grep/grep_pattern.h"
#include "tools/grep/grep_walk.h"

static const char *plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* Notes how many lines were skipped because matching them takes too long. */
static void note_hard_lines(ik_buffer_t *note, const ik_grep_pattern_t *pattern)
{
    size_t skipped = ik_grep_pattern_skipped(pattern);
    if (skipped > 0) {
        ik_buffer_append_format(
            note, "match limit reached in %zu %s (pattern backtracks too much); %s skipped%s",
            skipped, plural(skipped, "line", "lines"),
            plural(skipped, "that line was", "those lines were"),
            ik_grep_pattern_exhausted(pattern) ? " and the search was ended early" : "");
    }
}

/* If nothing was found, notes how many files were not searched. */
static void note_skipped_files(ik_buffer_t *note, const ik_grep_answer_t *answer,
                               const ik_grep_report_t *report)
{
    uint64_t files = report->skipped_files;
    uint64_t folders = report->skipped_folders;
    if (answer->lines > 0 || files + folders == 0) {
        return;
    }
    ik_buffer_append_text(note, note->len > 0 ? "; " : "");
    if (files > 0) {
        ik_buffer_append_format(note, "%" PRIu64 " %s", files, plural(files, "file", "files"));
    }
    if (folders > 0) {
        ik_buffer_append_format(note, "%s%" PRIu64 " %s", files > 0 ? " and " : "", folders,
                                plural(folders, "folder", "folders"));
    }
    ik_buffer_append_format(note,
                            " hidden or excluded by ignore files %s not searched; set no_ignore to "
                            "true, or name them in glob, to search them",
                            files + folders == 1 ? "was" : "were");
}

static void finish(ik_tool_call_t *call, ik_grep_answer_t *answer, const ik_grep_report_t *report,
                   const ik_grep_pattern_t *pattern)
{
    if (report->unreadable && answer->lines == 0) {
        ik_tool_answer_begin_error(call, "READ_ERROR", "Read error during grep");
        ik_warning_list_append(&report->warnings, &call->answer);
        ik_tool_answer_send(call);
        return;
    }
    ik_buffer_t note;
    ik_buffer_init(&note, call->ctx, IK_BUFFER_UNLIMITED); /* two sentences */
    note_hard_lines(&note, pattern);
    note_skipped_files(&note, answer, report);
    ik_grep_answer_end(answer, note.data, &report->warnings);
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
    ik_grep_report_t report;
    ik_grep_report_init(&report, call->ctx);
    ik_grep_walk_t walk = {
        .path = ik_tool_param_string(call, "path", NULL, ""),
        .filter = ik_grep_filter_create(call->ctx, glob, glob_len),
        .no_ignore = ik_tool_param_boolean(call, "no_ignore"),
        .pattern = pattern,
        .answer = &answer,
        .report = &report,
    };
    if (ik_grep_filter_problem(walk.filter) != NULL) {
        ik_warning_list_add_text(&report.warnings, ik_grep_filter_problem(walk.filter));
    }
    ik_grep_walk_run(&walk);
    finish(call, &answer, &report, pattern);
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
     .description = "Also search hidden files and files excluded by .gitignore, .ignore or "
                    ".rgignore (default: false)"},
    {0},
};

static const ik_tool_program_t program = {
    .name = "grep",
    .description = "Search for pattern in files using regular expressions",
    .params = params,
    .returns = "{\"type\":\"object\",\"properties\":{"
               "\"output\":{\"type\":\"string\",\"description\":"
               "\"Matching lines, each as path:line: content\"},"
               "\"count\":{\"type\":\"integer\",\"description\":\"Number of matching lines\"},"
               "\"note\":{\"type\":\"string\",\"description\":\"What was not searched, and why\"},"
               "\"warnings\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
               "\"description\":\"What could not be read\"}}}",
    .parallel = true,
    .limits =
        "A line longer than 16 MB is searched in pieces and only partly shown. Memory: about 20 MB "
        "per processor for such lines, and the entries of one folder.",
    .run = run,
};

int main(int argc, char **argv)
{
    return ik_tool_program_main(&program, argc, argv);
}
