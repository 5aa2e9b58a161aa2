#include "command/command_list.h"

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    (void)args;
    host->screen->leave(host);
}

const ik_command_t ik_command_exit = {
    .name = "exit",
    .alias = "quit",
    .usage = "",
    .help = "Exits; ikigai -c continues the session.",
    .run = run,
};
