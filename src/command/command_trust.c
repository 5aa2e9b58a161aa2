/* /trust: shows the project's tools, asks, and trusts them. */
#include <string.h>

#include "base/alloc.h"
#include "command/command_list.h"
#include "tool/tool_review.h"
#include "tool/tool_review_contents.h"

/* The answer applies to exactly the bytes that were shown. */
typedef struct {
    ik_command_host_t *host;
    ik_trust_status_t *status;
} review_t;

static void on_answer(void *data, const char *answer)
{
    review_t *review = data;
    ik_command_host_t *host = review->host;
    if (answer == NULL || strcmp(answer, "yes") != 0) {
        host->screen->print_line(host, ik_tool_review_declined);
    } else {
        res_t granted =
            ik_trust_grant(ik_workspace_paths(host->workspace), review->status->snapshot);
        if (is_err(&granted)) {
            host->screen->fail(host, granted.message);
        } else {
            host->screen->print_line(host, ik_tool_review_granted);
            ik_workspace_refresh(host->workspace);
        }
    }
    talloc_free(review);
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    const char *folder = ik_workspace_paths(host->workspace)->project_tools;
    if (folder == NULL) {
        host->screen->print_line(host,
                                 ik_sprintf(args, "%s holds your own tools, which need no trust.",
                                            ik_workspace_paths(host->workspace)->user_tools));
        return;
    }
    review_t *review = ik_new(host->ctx, review_t);
    ik_trust_status_t *status = ik_trust_check(review, ik_workspace_paths(host->workspace), folder);
    const char *obstacle = ik_tool_review_obstacle(args, folder, status);
    if (obstacle != NULL) {
        bool refused = status->state == IK_TRUST_REFUSED;
        (refused ? host->screen->fail : host->screen->print_line)(host, obstacle);
        talloc_free(review);
        return;
    }
    host->screen->print(
        host,
        ik_tool_review_format(args, status, ik_workspace_shared(host->workspace)->tool_registry));
    host->screen->show_text(
        host, "project tools",
        ik_tool_review_contents(args, ik_workspace_paths(host->workspace), status));
    static const char *const choices[] = {"yes", "no", NULL};
    *review = (review_t){.host = host, .status = status};
    ik_workspace_ask(
        host->workspace,
        &(ik_question_t){.text = ik_tool_review_question, .choices = choices, .fallback = 1},
        on_answer, review);
}

const ik_command_t ik_command_trust = {
    .name = "trust",
    .usage = "",
    .help = "Shows this project's tools and asks whether to trust them.",
    .flags = IK_COMMAND_NEEDS_TOOLS,
    .run = run,
};
