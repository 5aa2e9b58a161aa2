#include "command/command_list.h"

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    (void)args;
    const char *prompt = ik_agent_system(ik_workspace_require_agent(host->workspace));
    if (prompt == NULL) {
        host->screen->print_line(host, "There is no system prompt.");
    } else {
        host->screen->print(host, prompt);
    }
}

const ik_command_t ik_command_system = {
    .name = "system",
    .usage = "",
    .help = "Shows the system prompt.",
    .run = run,
};
