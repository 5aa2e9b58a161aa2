#include "command/command_list.h"

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    if (!ik_workspace_compact(host->workspace, *args->rest == '\0' ? NULL : args->rest)) {
        host->screen->print_line(host, "There is nothing to compact.");
    }
}

const ik_command_t ik_command_compact = {
    .name = "compact",
    .usage = "[WHAT TO KEEP]",
    .help = "Frees context: a summary by the model replaces older messages.",
    .flags = IK_COMMAND_NEEDS_IDLE | IK_COMMAND_NEEDS_TOOLS | IK_COMMAND_TAKES_REST,
    .max_args = 1,
    .run = run,
};
