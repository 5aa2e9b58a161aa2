#include "command/command_agents.h"
#include "command/command_list.h"

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    int64_t number;
    if (ik_command_parse_number(host, &ik_command_switch, args->words[0], &number)) {
        res_t switched = ik_workspace_switch(host->workspace, number);
        if (is_err(&switched)) {
            host->screen->fail(host, switched.message);
        }
    }
}

const ik_command_t ik_command_switch = {
    .name = "switch",
    .usage = "N",
    .help = "Switches to agent N.",
    .min_args = 1,
    .max_args = 1,
    .run = run,
    .complete = ik_command_agents_complete,
};
