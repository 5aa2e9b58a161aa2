/* `ikigai trust` and `untrust`: the user's consent to the tools of a project. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/print.h"
#include "cli/cli.h"
#include "io/foreground.h"
#include "tool/tool_review.h"
#include "tool/tool_review_contents.h"
#include "trust/trust.h"

static bool is_own_folder(const ik_cli_t *cli, const char *folder)
{
    char *resolved = realpath(folder, NULL);
    char *own = realpath(cli->paths->user_tools, NULL);
    bool is_own = resolved != NULL && own != NULL && strcmp(resolved, own) == 0;
    free(resolved);
    free(own);
    return is_own;
}

/* DIR/.ikigai/tools. DIR is resolved first: the decision about a project whose tools are gone must
 * still be found. */
static const char *tool_folder_in(ik_cli_t *cli, const char *project)
{
    char *resolved = realpath(project, NULL);
    const char *folder =
        ik_sprintf(cli->ctx, "%s/.ikigai/tools", resolved == NULL ? project : resolved);
    free(resolved);
    return folder;
}

/* The tool folder of the project that args name, the current one without. NULL, with a message,
 * when it is the user's own. */
static const char *tool_folder(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *folder =
        args->count == 0 ? cli->paths->project_tools : tool_folder_in(cli, args->args[0]);
    if (folder == NULL || is_own_folder(cli, folder)) {
        ik_cli_fail(ik_sprintf(cli->ctx, "%s holds your own tools; they need no trust",
                               cli->paths->user_tools));
        return NULL;
    }
    return folder;
}

/* What the tools would override: all that is found without them. */
static const ik_tool_registry_t *find_others(ik_cli_t *cli)
{
    const ik_tool_discovery_result_t *found;
    ik_cli_t elsewhere = *cli;
    ik_paths_t paths = *cli->paths;
    paths.project_tools = NULL;
    elsewhere.paths = &paths;
    res_t discovered = ik_cli_discover(&elsewhere, false, false, true, &found);
    return is_ok(&discovered) ? found->registry : NULL;
}

typedef struct {
    bool done;
    int status;
} paging_t;

static void on_pager_end(void *data, int status)
{
    *(paging_t *)data = (paging_t){.done = true, .status = status};
}

/* False when there is no pager to show it with. */
static bool page(ik_cli_t *cli, const char *text)
{
    char path[] = "/tmp/ikigai-trust-XXXXXX";
    const char *program = getenv("PAGER");
    bool chosen = program != NULL && *program != '\0';
    const char *argv[] = {"sh", "-c", "LESS=\"${LESS-FRX}\"; export LESS; eval \"$2\" < \"$1\"",
                          "sh", path, chosen ? program : "less",
                          NULL};
    paging_t paging = {0};
    ik_foreground_t *pager;
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t written = write(fd, text, strlen(text));
    close(fd);
    if (written == (ssize_t)strlen(text)) {
        res_t started =
            ik_foreground_start(cli->ctx, cli->loop, argv, on_pager_end, &paging, &pager);
        paging.done = is_err(&started);
        paging.status = IK_CLI_FAILED;
        ik_loop_run_until(cli->loop, &paging.done);
    } else {
        paging.status = IK_CLI_FAILED;
    }
    unlink(path);
    return paging.status == 0;
}

/* The files' text, in the user's pager where somebody sits at a terminal. */
static void show_contents(ik_cli_t *cli, const char *text, bool asks)
{
    fflush(stdout);
    bool terminal = asks && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (!terminal || !page(cli, text)) {
        ik_print_text(stdout, text);
    }
}

static int grant(ik_cli_t *cli, const ik_cli_args_t *args, const ik_trust_status_t *status)
{
    bool asks = !ik_cli_args_has(args, "--yes");
    show_contents(cli, ik_tool_review_contents(cli->ctx, cli->paths, status), asks);
    ik_print_text(stdout, ik_tool_review_format(cli->ctx, status, find_others(cli)));
    if (asks && !ik_cli_confirm(ik_tool_review_question)) {
        puts(ik_tool_review_declined);
        return IK_CLI_FAILED;
    }
    res_t granted = ik_trust_grant(cli->paths, status->snapshot);
    if (is_err(&granted)) {
        return ik_cli_fail(granted.message);
    }
    puts(ik_tool_review_granted);
    return IK_CLI_DONE;
}

static int run_trust(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *folder = tool_folder(cli, args);
    if (folder == NULL) {
        return IK_CLI_FAILED;
    }
    const ik_trust_status_t *status = ik_trust_check(cli->ctx, cli->paths, folder);
    const char *obstacle = ik_tool_review_obstacle(cli->ctx, folder, status);
    if (obstacle == NULL) {
        return grant(cli, args, status);
    }
    if (status->state != IK_TRUST_GIVEN) {
        return ik_cli_fail(obstacle);
    }
    puts(obstacle);
    return IK_CLI_DONE;
}

static int run_untrust(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *folder = tool_folder(cli, args);
    bool known = false;
    if (folder == NULL) {
        return IK_CLI_FAILED;
    }
    res_t revoked = ik_trust_revoke(cli->paths, folder, &known);
    if (is_err(&revoked)) {
        return ik_cli_fail(revoked.message);
    }
    puts(known ? "No longer trusted." : "Was not trusted.");
    return IK_CLI_DONE;
}

const ik_cli_command_t ik_cli_trust = {
    .name = "trust",
    .args = "[DIR]",
    .help = "Shows the tools of a project, asks, and lets them run from now on.",
    .more = "Shows what every file holds, or how it differs from what was trusted before; on a "
            "terminal "
            "in `$PAGER`, or less.",
    .options = (const ik_cli_option_t[]){IK_CLI_YES_OPTION, {0}},
    .max_args = 1,
    .run = run_trust,
};

const ik_cli_command_t ik_cli_untrust = {
    .name = "untrust",
    .args = "[DIR]",
    .help = "Takes that back.",
    .max_args = 1,
    .run = run_untrust,
};
