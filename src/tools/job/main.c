/* job: lists jobs that bash started in the background, reads their output, waits for them, ends
 * them. ikigai keeps the jobs; this tool asks for them over its host channel. */
#include <string.h>

#include "tools/common/host_relay.h"
#include "tools/common/tool_program.h"

static void run(ik_tool_call_t *call)
{
    static const char *const passed[] = {"action", "job", "timeout_seconds", NULL};
    const char *action = ik_tool_param_string(call, "action", NULL, NULL);
    bool list = strcmp(action, "list") == 0;
    if (!list && strcmp(action, "output") != 0 && strcmp(action, "wait") != 0 &&
        strcmp(action, "end") != 0) {
        ik_tool_answer_error(call, "INVALID_ARG",
                             "Parameter 'action' must be \"list\", \"output\", \"wait\" or "
                             "\"end\"");
    } else if (!list && !ik_tool_param_given(call, "job")) {
        ik_tool_answer_error(call, "INVALID_ARG", "Missing parameter 'job' for the action '%s'",
                             action);
    } else {
        ik_host_relay_run(call, "job", passed);
    }
}

static const ik_tool_param_t params[] = {
    {.name = "action",
     .type = IK_TOOL_PARAM_STRING,
     .required = true,
     .text = true,
     .description = "\"list\"; \"output\": what the job printed since the last read; \"wait\": the "
                    "same, when it has ended; \"end\": ends it"},
    {.name = "job",
     .type = IK_TOOL_PARAM_STRING,
     .text = true,
     .description = "The job, as bash returned it; not for \"list\""},
    {.name = "timeout_seconds",
     .type = IK_TOOL_PARAM_INTEGER,
     .min = 0,
     .max = 86400,
     .description = "How long \"wait\" waits at most (default 600). The job goes on afterwards"},
    {0},
};

static const ik_tool_program_t program = {
    .name = "job",
    .description = "Work with commands that bash runs in the background (background: true): list "
                   "them, read their new output, wait for their end, end them",
    .params = params,
    .returns =
        "{\"type\":\"object\",\"properties\":{"
        "\"jobs\":{\"type\":\"array\",\"description\":\"list: all jobs\",\"items\":{\"type\":"
        "\"object\",\"properties\":{\"job\":{\"type\":\"string\"},\"command\":{\"type\":\"string\"}"
        ",\"state\":{\"type\":\"string\"},\"exit_code\":{\"type\":[\"integer\",\"null\"]},"
        "\"seconds\":{"
        "\"type\":\"integer\"}}}},"
        "\"job\":{\"type\":\"string\"},"
        "\"state\":{\"type\":\"string\",\"description\":\"running or ended\"},"
        "\"exit_code\":{\"type\":[\"integer\",\"null\"],\"description\":\"Exit code; null while it "
        "runs; "
        "128+N if ended by signal N\"},"
        "\"output\":{\"type\":\"string\",\"description\":\"What it printed since the last "
        "read\"},"
        "\"timed_out\":{\"type\":\"boolean\",\"description\":\"The time of a wait ran out\"}}}",
    .limits = "16 jobs run at a time. ikigai keeps at most 128 KB of what a job printed since the "
              "last read, the beginning and the end of it. The arguments take at most 1 GB.",
    .host = IK_HOST_JOB,
    .run = run,
};

int main(int argc, char **argv)
{
    return ik_tool_program_main(&program, argc, argv);
}
