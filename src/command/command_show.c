#include "command/command_list.h"

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    int64_t number;
    if (ik_command_parse_number(host, &ik_command_show, args->words[0], &number)) {
        res_t shown = host->screen->show_result(host, (size_t)number);
        if (is_err(&shown)) {
            host->screen->fail(host, shown.message);
        }
    }
}

const ik_command_t ik_command_show = {
    .name = "show",
    .usage = "N",
    .help = "Shows the whole result of tool call N in a pager.",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
