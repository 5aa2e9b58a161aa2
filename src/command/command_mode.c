#include "base/alloc.h"
#include "command/command_list.h"

static void print_mode(ik_command_host_t *host, const ik_command_args_t *args)
{
    const ik_workspace_t *workspace = host->workspace;
    ik_mode_t mode = ik_workspace_mode(workspace, ik_workspace_focus(workspace));
    const char *level = ik_workspace_level(workspace);
    char *why = ik_workspace_describe_level(args, workspace);
    host->screen->print_line(
        host, ik_sprintf(args, "Mode: %s (%s)", ik_mode_name(mode), ik_mode_help(mode)));
    if (why != NULL) {
        host->screen->print_line(host, why);
    } else {
        host->screen->print_line(host, ik_sprintf(args, "Confinement of tools: %s",
                                                  level == NULL ? "not known yet" : level));
    }
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    ik_mode_t mode;
    if (args->count == 1 && !ik_mode_parse(args->words[0], &mode)) {
        host->screen->fail(
            host,
            ik_sprintf(args, "There is no mode '%.40s': auto, ask, plan or full.", args->words[0]));
        return;
    }
    if (args->count == 1) {
        ik_workspace_set_mode(host->workspace, ik_workspace_focus(host->workspace), mode);
    }
    print_mode(host, args);
}

static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    (void)host;
    for (ik_mode_t mode = IK_MODE_AUTO; word == 1 && mode < IK_MODE_COUNT; mode++) {
        ik_command_words_add(out, ik_mode_name(mode), ik_mode_help(mode));
    }
}

const ik_command_t ik_command_mode = {
    .name = "mode",
    .usage = "[MODE]",
    .help = "Shows how far the agent may go without asking, or sets it.",
    .max_args = 1,
    .run = run,
    .complete = complete,
};
