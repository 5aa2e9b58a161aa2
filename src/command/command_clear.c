/* /clear: begins a new session. The old one stays in the history and on the screen. */
#include "command/command_list.h"

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    (void)args;
    ik_workspace_begin_session(host->workspace);
}

const ik_command_t ik_command_clear = {
    .name = "clear",
    .alias = "new",
    .usage = "",
    .help = "Starts a new session.",
    .flags = IK_COMMAND_NEEDS_IDLE | IK_COMMAND_NEEDS_ALL_IDLE,
    .run = run,
};
