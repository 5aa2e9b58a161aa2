/* /status: what extends ikigai in this folder. */
#include "base/alloc.h"
#include "command/command_list.h"
#include "workspace/extension_status.h"

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    ik_extension_options_t options = ik_workspace_extension_options(host->workspace);
    options.is_built_in = ik_command_is_built_in;
    json_t *status = ik_extension_status_create(&options);
    host->screen->print(host, ik_extension_status_format(args, status));
    json_decref(status);
}

const ik_command_t ik_command_status = {
    .name = "status",
    .usage = "",
    .help = "Lists instructions, skills, commands, hooks and agents.",
    .run = run,
};
