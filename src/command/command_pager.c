#include "command/command_list.h"

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    (void)args;
    host->screen->open_pager(host);
}

const ik_command_t ik_command_pager = {
    .name = "pager",
    .usage = "",
    .help = "Shows the whole conversation in a pager.",
    .run = run,
};
