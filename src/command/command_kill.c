#include <inttypes.h>

#include "base/alloc.h"
#include "command/command_agents.h"
#include "command/command_list.h"

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    int64_t number;
    if (!ik_command_parse_number(host, &ik_command_kill, args->words[0], &number)) {
        return;
    }
    res_t killed = ik_workspace_kill(host->workspace, number);
    if (is_err(&killed)) {
        host->screen->fail(host, killed.message);
    } else {
        host->screen->print_line(host, ik_sprintf(args, "Agent %" PRId64 " was ended.", number));
    }
}

const ik_command_t ik_command_kill = {
    .name = "kill",
    .usage = "N",
    .help = "Ends agent N and its running tools.",
    .min_args = 1,
    .max_args = 1,
    .run = run,
    .complete = ik_command_agents_complete,
};
