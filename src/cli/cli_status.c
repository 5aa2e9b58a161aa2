/* `ikigai status`: what extends ikigai in this folder. */
#include <stdio.h>
#include <string.h>

#include "base/print.h"
#include "cli/cli.h"
#include "command/command.h"
#include "workspace/extension_status.h"

static int run(ik_cli_t *cli, const ik_cli_args_t *args)
{
    ik_extension_options_t options = {.paths = cli->paths,
                                      .trust_project = ik_cli_args_has(args, "--trust"),
                                      .is_built_in = ik_command_is_built_in};
    json_t *status = ik_extension_status_create(&options);
    if (ik_cli_args_has(args, "--json")) {
        ik_cli_print_json(status);
    } else {
        ik_print_text(stdout, ik_extension_status_format(cli->ctx, status));
    }
    json_decref(status);
    return IK_CLI_DONE;
}

const ik_cli_command_t ik_cli_status = {
    .name = "status",
    .help = "Lists the instructions, skills, commands, hooks and agents found here.",
    .more = "Each with its path, whether it is used, and why not, or a warning. See `ikigai help "
            "extending`.",
    .options = (const ik_cli_option_t[]){IK_CLI_JSON_OPTION, IK_CLI_TRUST_OPTION, {0}},
    .without_config = true,
    .run = run,
};
