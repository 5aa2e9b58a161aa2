/* /trust: shows what the project's tools are, asks, and lets them run. */
#include "base/alloc.h"
#include "command/command_table.h"
#include "tool/tool_review.h"
#include "tool/tool_review_contents.h"

/* data is the status that was shown: exactly these bytes are trusted. */
static void on_answer(ik_command_host_t *host, void *data, bool yes)
{
    const ik_tool_trust_status_t *status = data;
    if (!yes) {
        host->actions->print_line(host, ik_tool_review_declined);
        return;
    }
    res_t granted = ik_tool_trust_grant(host->paths, status->snapshot);
    if (is_err(&granted)) {
        host->actions->fail(host, granted.message);
        return;
    }
    host->actions->print_line(host, ik_tool_review_granted);
    host->actions->refresh(host);
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    const char *folder = host->paths->project_tools;
    if (folder == NULL) {
        host->actions->print_line(host,
                                  ik_sprintf(args, "%s holds your own tools; they need no trust.",
                                             host->paths->user_tools));
        return;
    }
    ik_tool_trust_status_t *status = ik_tool_trust_check(NULL, host->paths, folder);
    const char *obstacle = ik_tool_review_obstacle(args, folder, status);
    if (obstacle != NULL) {
        bool refused = status->state == IK_TOOL_TRUST_REFUSED;
        (refused ? host->actions->fail : host->actions->print_line)(host, obstacle);
        talloc_free(status);
        return;
    }
    host->actions->print(host, ik_tool_review_format(args, status, host->shared->tool_registry));
    host->actions->show_text(host, "project tools",
                             ik_tool_review_contents(args, host->paths, status));
    host->actions->ask(host, ik_tool_review_question, on_answer, status);
}

const ik_command_t ik_command_trust = {
    .name = "trust",
    .usage = "",
    .help = "Shows what this project's tools hold and asks whether to trust them.",
    .flags = IK_COMMAND_NEEDS_TOOLS,
    .run = run,
};
