#include <inttypes.h>

#include "base/alloc.h"
#include "command/command_list.h"

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    int64_t parent = ik_workspace_focus(host->workspace);
    if (ik_workspace_is_busy(host->workspace, parent)) {
        host->screen->print_line(host,
                                 ik_sprintf(args,
                                            "Agent %" PRId64 " keeps working. The copy has what "
                                            "was complete so far.",
                                            parent));
    }
    ik_workspace_fork(host->workspace, *args->rest == '\0' ? NULL : args->rest);
}

const ik_command_t ik_command_fork = {
    .name = "fork",
    .usage = "[PROMPT]",
    .help = "Starts a child agent with a copy of this conversation.",
    .flags = IK_COMMAND_NEEDS_IDLE | IK_COMMAND_JOINS_TURN | IK_COMMAND_TAKES_REST,
    .max_args = 1,
    .run = run,
};
