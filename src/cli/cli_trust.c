/* `ikigai trust` and `untrust`: the user's consent to the tools of a project. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "cli/cli.h"
#include "tool/tool_trust.h"

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

static void print_file(const ik_cli_t *cli, const ik_tool_snapshot_file_t *file)
{
    char *line;
    if (file->target != NULL) {
        line = ik_sprintf(cli->ctx, "  %-30s -> %s", file->path, file->target);
    } else {
        line = ik_sprintf(cli->ctx, "  %-30s %9lld bytes  mode %04o  sha256 %.16s", file->path,
                          (long long)file->size, (unsigned)file->mode, file->hash);
    }
    ik_print_line(stdout, line);
}

/* Names come from the file names: nothing here may be run yet. */
static void print_overrides(ik_cli_t *cli, const ik_tool_snapshot_t *snapshot)
{
    const ik_tool_discovery_result_t *found;
    ik_cli_t elsewhere = *cli;
    ik_paths_t paths = *cli->paths;
    paths.project_tools = NULL;
    elsewhere.paths = &paths;
    res_t discovered = ik_cli_discover(&elsewhere, false, false, true, &found);
    for (size_t i = 0; is_ok(&discovered) && i < snapshot->tool_count; i++) {
        char *name = ik_tool_schema_name_of_file(cli->ctx, snapshot->tools[i]);
        const ik_tool_registry_entry_t *hidden = ik_tool_registry_lookup(found->registry, name);
        if (hidden != NULL) {
            ik_print_line(stdout, ik_sprintf(cli->ctx, "Overrides %s (%s)", name, hidden->origin));
        }
    }
}

static void print_review(ik_cli_t *cli, const ik_tool_trust_status_t *status)
{
    const ik_tool_snapshot_t *snapshot = status->snapshot;
    ik_print_line(stdout, ik_sprintf(cli->ctx, "About to trust %s:", snapshot->folder));
    if (status->state == IK_TOOL_TRUST_CHANGED) {
        ik_print_line(stdout, ik_sprintf(cli->ctx, "(trusted before; %s)", status->changed));
    }
    for (size_t i = 0; i < snapshot->count; i++) {
        print_file(cli, &snapshot->files[i]);
    }
    print_overrides(cli, snapshot);
    printf("%zu tool%s, %zu file%s, %lld bytes. They will run with your rights, from a copy of "
           "these bytes.\n",
           snapshot->tool_count, snapshot->tool_count == 1 ? "" : "s", snapshot->count,
           snapshot->count == 1 ? "" : "s", (long long)snapshot->bytes);
}

static int grant(ik_cli_t *cli, const ik_cli_args_t *args, const ik_tool_trust_status_t *status)
{
    print_review(cli, status);
    if (!ik_cli_args_has(args, "--yes") && !ik_cli_confirm("Trust them?")) {
        puts("Not trusted.");
        return IK_CLI_FAILED;
    }
    res_t granted = ik_tool_trust_grant(cli->paths, status->snapshot);
    if (is_err(&granted)) {
        return ik_cli_fail(granted.message);
    }
    puts("Trusted. Any change in the folder takes the trust back.");
    return IK_CLI_DONE;
}

static int run_trust(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *folder = tool_folder(cli, args);
    if (folder == NULL) {
        return IK_CLI_FAILED;
    }
    const ik_tool_trust_status_t *status = ik_tool_trust_check(cli->ctx, cli->paths, folder);
    switch (status->state) {
    case IK_TOOL_TRUST_ABSENT:
        return ik_cli_fail(ik_sprintf(cli->ctx, "there are no tools in %s", folder));
    case IK_TOOL_TRUST_REFUSED:
        return ik_cli_fail(ik_sprintf(cli->ctx, "cannot trust %s: %s", folder, status->reason));
    case IK_TOOL_TRUST_GIVEN:
        puts("Already trusted.");
        return IK_CLI_DONE;
    case IK_TOOL_TRUST_NEVER:
    case IK_TOOL_TRUST_CHANGED:
        break;
    }
    return grant(cli, args, status);
}

static int run_untrust(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *folder = tool_folder(cli, args);
    bool known = false;
    if (folder == NULL) {
        return IK_CLI_FAILED;
    }
    res_t revoked = ik_tool_trust_revoke(cli->paths, folder, &known);
    if (is_err(&revoked)) {
        return ik_cli_fail(revoked.message);
    }
    puts(known ? "No longer trusted." : "Was not trusted.");
    return IK_CLI_DONE;
}

const ik_cli_command_t ik_cli_trust = {
    .name = "trust",
    .usage = "[DIR] [--yes]",
    .help = "Shows the tools of a project, asks, and lets them run from now on.",
    .options = "--yes",
    .max_args = 1,
    .run = run_trust,
};

const ik_cli_command_t ik_cli_untrust = {
    .name = "untrust",
    .usage = "[DIR]",
    .help = "Takes that back.",
    .options = "",
    .max_args = 1,
    .run = run_untrust,
};
