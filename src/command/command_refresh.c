/* /refresh: discovers tools again. The workspace reports the number when all have answered. */
#include "command/command_list.h"

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    (void)args;
    host->screen->print_line(host, "Refreshing tools...");
    ik_workspace_refresh(host->workspace);
}

const ik_command_t ik_command_refresh = {
    .name = "refresh",
    .usage = "",
    .help = "Discovers tools again and asks each for its schema.",
    .flags = IK_COMMAND_NEEDS_TOOLS,
    .run = run,
};
