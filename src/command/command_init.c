#include "agent/agent_prompt.h"
#include "base/alloc.h"
#include "command/command_list.h"

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    char *message = ik_agent_prompt_format_init(args, args->rest);
    ik_workspace_submit(host->workspace, ik_workspace_focus(host->workspace), message, NULL,
                        IK_WORKSPACE_SUBMIT_QUEUED);
}

const ik_command_t ik_command_init = {
    .name = "init",
    .usage = "[TEXT]",
    .help = "Has the model write or improve the project's AGENTS.md.",
    .flags = IK_COMMAND_TAKES_REST,
    .max_args = 1,
    .run = run,
};
