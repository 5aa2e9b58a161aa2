#include "base/alloc.h"
#include "command/command_list.h"

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    size_t trimmed = ik_agent_compact(ik_workspace_require_agent(host->workspace));
    if (trimmed == 0) {
        host->screen->print_line(host, "There is nothing to trim.");
        return;
    }
    host->screen->print_line(
        host, ik_sprintf(args, "%zu tool result%s sent as a short marker from now on.", trimmed,
                         trimmed == 1 ? " is" : "s are"));
}

const ik_command_t ik_command_compact = {
    .name = "compact",
    .usage = "",
    .help = "Frees context by replacing old tool results with short markers.",
    .flags = IK_COMMAND_NEEDS_IDLE,
    .run = run,
};
