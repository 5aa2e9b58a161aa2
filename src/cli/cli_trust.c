/* `ikigai trust` and `untrust`: grant and revoke trust in what a project adds. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/print.h"
#include "cli/cli.h"
#include "io/foreground.h"
#include "workspace/project_review.h"

/* A shell variable that is not set must not stand for the current project. */
static bool is_empty(const ik_cli_args_t *args)
{
    return args->count > 0 && args->args[0][0] == '\0';
}

static const char empty[] = "DIR is empty; leave it out for the current folder";

/* The paths of the given or the current project. */
static const ik_paths_t *project_paths(ik_cli_t *cli, const ik_cli_args_t *args)
{
    if (args->count == 0) {
        return cli->paths;
    }
    ik_paths_t *paths = ik_new(cli->ctx, ik_paths_t);
    *paths = *cli->paths;
    /* Only DIR is resolved, so that trust in folders that are gone can still be revoked. */
    char *resolved = realpath(args->args[0], NULL);
    paths->cwd = resolved != NULL          ? ik_strdup(cli->ctx, resolved)
                 : args->args[0][0] == '/' ? ik_strdup(cli->ctx, args->args[0])
                                           : ik_file_join(cli->ctx, paths->cwd, args->args[0]);
    paths->project_tools = ik_sprintf(cli->ctx, "%s/.ikigai/tools", paths->cwd);
    free(resolved);
    return paths;
}

/* Finds the tools outside the project, which its tools may override. */
static const ik_tool_registry_t *find_others(ik_cli_t *cli)
{
    const ik_tool_discovery_result_t *found;
    ik_paths_t paths = *cli->paths;
    paths.project_tools = NULL;
    ik_tool_discovery_options_t options = {
        .paths = &paths, .config = cli->config, .host = cli->host, .confinement = cli->confinement};
    res_t discovered = ik_tool_discovery_run(cli->ctx, &options, &found);
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

/* Returns false if no pager could show the text. */
static bool page(ik_cli_t *cli, const char *text)
{
    const char *program = getenv("PAGER");
    bool chosen = program != NULL && *program != '\0';
    paging_t paging = {.status = IK_CLI_FAILED};
    ik_foreground_t *pager;
    int fd = ik_file_open_anonymous("trust", false);
    if (fd < 0) {
        return false;
    }
    const char *argv[] = {"sh",
                          "-c",
                          "LESS=\"${LESS-FRX}\"; export LESS; eval \"$2\" < \"$1\"",
                          "sh",
                          ik_sprintf(cli->ctx, "/dev/fd/%d", fd),
                          chosen ? program : "less",
                          NULL};
    if (write(fd, text, strlen(text)) == (ssize_t)strlen(text)) {
        res_t started =
            ik_foreground_start(cli->ctx, cli->loop, argv, on_pager_end, &paging, &pager);
        paging.done = is_err(&started);
        ik_loop_run_until(cli->loop, &paging.done);
    }
    close(fd);
    return paging.status == 0;
}

/* Reads the schemas of the trusted tools, shows what they ask ikigai for, and asks about effects
 * beyond the project's. */
static int review_schemas(ik_cli_t *cli, const char *folder, bool asks)
{
    ik_paths_t paths = *cli->paths;
    paths.project_tools = folder;
    ik_tool_discovery_options_t options = {.paths = &paths,
                                           .config = cli->config,
                                           .host = cli->host,
                                           .confinement = cli->confinement,
                                           .only_project = true};
    const ik_tool_discovery_result_t *found;
    res_t done = ik_tool_discovery_run(cli->ctx, &options, &found);
    const char *hosts = is_ok(&done) ? ik_tool_review_host(cli->ctx, found->registry) : NULL;
    if (hosts != NULL) {
        ik_print_text(stdout, hosts);
        done = ik_tool_review_allow_host(cli->paths, found->trust->snapshot, found->registry);
    }
    const char *effects = is_ok(&done) ? ik_tool_review_effects(cli->ctx, found->registry) : NULL;
    if (effects != NULL) {
        ik_print_text(stdout, effects);
        if (asks && !ik_cli_confirm(ik_tool_review_effects_question)) {
            puts(ik_tool_review_effects_declined);
            return IK_CLI_DONE;
        }
        done = ik_tool_review_allow_effects(cli->paths, found->trust->snapshot, found->registry);
    }
    if (is_err(&done)) {
        return ik_cli_fail(done.message);
    }
    if (effects != NULL) {
        puts(ik_tool_review_effects_allowed);
    }
    return IK_CLI_DONE;
}

static int grant(ik_cli_t *cli, const ik_project_review_t *review, bool asks)
{
    bool attended = asks && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    const char *contents = ik_project_review_contents(cli->ctx, cli->paths, review);
    fflush(stdout);
    if (!attended || !page(cli, contents)) {
        ik_print_text(stdout, contents);
    }
    ik_print_text(stdout, ik_project_review_format(cli->ctx, review, find_others(cli)));
    if (asks && !ik_cli_confirm(ik_tool_review_question)) {
        puts(ik_tool_review_declined);
        return IK_CLI_FAILED;
    }
    res_t granted = ik_project_review_grant(cli->paths, review);
    if (is_err(&granted)) {
        return ik_cli_fail(granted.message);
    }
    puts(ik_tool_review_granted);
    return IK_CLI_DONE;
}

static int run_trust(ik_cli_t *cli, const ik_cli_args_t *args)
{
    if (is_empty(args)) {
        return ik_cli_misuse(args->command, empty);
    }
    const ik_paths_t *paths = project_paths(cli, args);
    bool asks = !ik_cli_args_has(args, "--yes");
    struct stat status;
    if (stat(paths->cwd, &status) != 0) {
        return ik_cli_fail(ik_sprintf(cli->ctx, "%s: %s", paths->cwd, strerror(errno)));
    }
    if (!S_ISDIR(status.st_mode)) {
        return ik_cli_fail(ik_sprintf(cli->ctx, "%s is not a folder", paths->cwd));
    }
    const ik_project_review_t *review = ik_project_review_create(cli->ctx, paths);
    bool refused;
    const char *obstacle = ik_project_review_obstacle(cli->ctx, paths, review, &refused);
    int result = IK_CLI_DONE;
    if (obstacle == NULL) {
        result = grant(cli, review, asks);
    } else if (review->count > 0 && !refused) {
        puts(obstacle);
    } else {
        result = ik_cli_fail(obstacle);
    }
    bool tools = review->tools != NULL && review->tools->status->state != IK_TRUST_REFUSED;
    return result == IK_CLI_DONE && tools ? review_schemas(cli, review->tools->folder, asks)
                                          : result;
}

static int run_untrust(ik_cli_t *cli, const ik_cli_args_t *args)
{
    if (is_empty(args)) {
        return ik_cli_misuse(args->command, empty);
    }
    const ik_paths_t *paths = project_paths(cli, args);
    bool known = false;
    res_t revoked = ik_project_review_revoke(paths, &known);
    if (is_err(&revoked)) {
        return ik_cli_fail(revoked.message);
    }
    const char *own = known ? NULL : ik_project_review_own(cli->ctx, paths);
    if (own != NULL) {
        return ik_cli_fail(own);
    }
    puts(known ? "No longer trusted." : "Was not trusted.");
    return IK_CLI_DONE;
}

const ik_cli_command_t ik_cli_trust = {
    .name = "trust",
    .args = "[DIR]",
    .help = "Shows what a project adds (tools, hooks, commands, skills, agents, servers), asks, "
            "and trusts it from now on.",
    .more =
        "Shows the contents of every file, or how it differs from what was trusted before. On a "
        "terminal it uses `$PAGER`, or less. Then it asks about tools that declare more than to "
        "write in the project; if you decline, they run with that much alone.",
    .options = (const ik_cli_option_t[]){IK_CLI_YES_OPTION, {0}},
    .max_args = 1,
    .run = run_trust,
};

const ik_cli_command_t ik_cli_untrust = {
    .name = "untrust",
    .args = "[DIR]",
    .help = "Revokes trust in what a project adds.",
    .max_args = 1,
    .run = run_untrust,
};
