/* /trust: shows what the project adds, asks, and trusts it. */
#include <string.h>

#include "base/alloc.h"
#include "command/command_list.h"
#include "workspace/project_review.h"

/* The answers apply to exactly the bytes that were shown. */
typedef struct {
    ik_command_host_t *host;
    ik_project_review_t *project;
    bool granted;
    ik_tool_discovery_t *discovery; /* of the project's tools */
} review_t;

static const char *const choices[] = {"yes", "no", NULL};

static bool is_yes(const char *answer)
{
    return answer != NULL && strcmp(answer, "yes") == 0;
}

static void finish(review_t *review)
{
    ik_workspace_refresh(review->host->workspace);
    talloc_free(review);
}

static void on_effects_answer(void *data, const char *answer)
{
    review_t *review = data;
    ik_command_host_t *host = review->host;
    if (!is_yes(answer)) {
        host->screen->print_line(host, ik_tool_review_effects_declined);
    } else {
        res_t allowed = ik_tool_review_allow_effects(
            ik_workspace_paths(host->workspace), review->project->tools->status->snapshot,
            ik_tool_discovery_result(review->discovery)->registry);
        if (is_err(&allowed)) {
            host->screen->fail(host, allowed.message);
        } else {
            host->screen->print_line(host, ik_tool_review_effects_allowed);
        }
    }
    finish(review);
}

/* Prints each line wrapped at words: they are sentences and a list of files. */
static void print_review(ik_command_host_t *host, char *text)
{
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        host->screen->print_line(host, line);
    }
}

static void on_found(void *data)
{
    review_t *review = data;
    ik_command_host_t *host = review->host;
    const ik_tool_registry_t *registry = ik_tool_discovery_result(review->discovery)->registry;
    char *effects = ik_tool_review_effects(review, registry);
    char *asked = ik_tool_review_host(review, registry);
    if (asked != NULL) {
        print_review(host, asked);
        res_t allowed =
            ik_tool_review_allow_host(ik_workspace_paths(host->workspace),
                                      review->project->tools->status->snapshot, registry);
        if (is_err(&allowed)) {
            host->screen->fail(host, allowed.message);
        }
    }
    if (effects == NULL && asked == NULL && !review->granted) {
        talloc_free(review); /* nothing was decided */
        return;
    }
    if (effects == NULL) {
        finish(review);
        return;
    }
    print_review(host, effects);
    ik_workspace_ask(host->workspace,
                     &(ik_question_t){.text = ik_tool_review_effects_question,
                                      .choices = choices,
                                      .fallback = 1},
                     on_effects_answer, review);
}

/* Shows what the tools ask ikigai for, and asks about effects beyond the project's; only the
 * schemas tell. */
static void read_schemas(review_t *review)
{
    ik_workspace_t *workspace = review->host->workspace;
    const ik_tool_context_t *context = &ik_workspace_shared(workspace)->tool_context;
    ik_tool_discovery_options_t options = {.paths = ik_workspace_paths(workspace),
                                           .config = context->config,
                                           .host = context->host,
                                           .confinement = ik_workspace_confinement(workspace),
                                           .only_project = true};
    review->discovery = ik_tool_discovery_start(review, &options, on_found, review);
}

/* Looks at the tools, if there are any. */
static void go_on(review_t *review)
{
    const ik_project_review_part_t *tools = review->project->tools;
    if (tools != NULL && tools->status->state != IK_TRUST_REFUSED) {
        read_schemas(review);
    } else if (review->granted) {
        finish(review);
    } else {
        talloc_free(review);
    }
}

static void on_answer(void *data, const char *answer)
{
    review_t *review = data;
    ik_command_host_t *host = review->host;
    if (!is_yes(answer)) {
        host->screen->print_line(host, ik_tool_review_declined);
        talloc_free(review);
        return;
    }
    res_t granted = ik_project_review_grant(ik_workspace_paths(host->workspace), review->project);
    if (is_err(&granted)) {
        host->screen->fail(host, granted.message);
        talloc_free(review);
        return;
    }
    host->screen->print_line(host, ik_tool_review_granted);
    review->granted = true;
    go_on(review);
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    const ik_paths_t *paths = ik_workspace_paths(host->workspace);
    review_t *review = ik_new(host->ctx, review_t);
    *review = (review_t){.host = host, .project = ik_project_review_create(review, paths)};
    bool refused;
    const char *obstacle = ik_project_review_obstacle(args, paths, review->project, &refused);
    if (obstacle != NULL) {
        (refused ? host->screen->fail : host->screen->print_line)(host, obstacle);
        go_on(review);
        return;
    }
    print_review(host,
                 ik_project_review_format(args, review->project,
                                          ik_workspace_shared(host->workspace)->tool_registry));
    host->screen->show_text(host, "what the project adds",
                            ik_project_review_contents(args, paths, review->project));
    ik_workspace_ask(
        host->workspace,
        &(ik_question_t){.text = ik_tool_review_question, .choices = choices, .fallback = 1},
        on_answer, review);
}

const ik_command_t ik_command_trust = {
    .name = "trust",
    .usage = "",
    .help = "Shows what this project adds and asks whether to trust it.",
    .flags = IK_COMMAND_NEEDS_TOOLS,
    .run = run,
};
