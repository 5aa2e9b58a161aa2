/* `ikigai acp`. The front end itself is another one beside this folder; main passes it. */
#include "base/alloc.h"
#include "cli/cli.h"
#include "store/history.h"

static int run(ik_cli_t *cli, const ik_cli_args_t *args)
{
    ik_config_flags_t flags = {.model = ik_cli_args_value(args, "-m"),
                               .mode = ik_cli_args_value(args, "--mode"),
                               .db = ik_cli_args_value(args, "--db")};
    ik_config_t *config;
    if (ik_cli_args_has(args, "--setup")) {
        return ik_cli_set_up(cli, false);
    }
    cli->config_error = ik_config_load_again(cli->ctx, cli->paths, &flags, cli->config, &config);
    cli->config = config;
    if (is_err(&cli->config_error)) {
        return ik_cli_misuse(args->command, cli->config_error.message);
    }
    res_t db = ik_history_check_db(config->db, cli->paths->database);
    if (is_err(&db)) {
        ik_cli_fail(db.message);
        return IK_CLI_USAGE;
    }
    return ik_cli_accept_confinement(cli)
               ? cli->run_acp(cli, &flags, ik_cli_args_has(args, "--trust"))
               : IK_CLI_USAGE;
}

static const ik_cli_option_t options[] = {
    {.name = "-m", .value = "PROVIDER/MODEL", .help = "the model of new sessions"},
    {.name = "--mode",
     .value = "MODE",
     .help = "how far the agent may go without asking: auto, ask, plan or full"},
    IK_CLI_DB_OPTION,
    IK_CLI_TRUST_OPTION,
    {.name = "--setup", .help = "set up a model, as ikigai setup does; editors use it"},
    {0},
};

const ik_cli_command_t ik_cli_acp = {
    .name = "acp",
    .help = "Lets an editor drive ikigai, through the Agent Client Protocol on stdin and stdout.",
    .more = "It ends when standard input does, with exit status 0, or with 1 when standard output "
            "cannot be written. `ikigai help editors` says how to set up editors.",
    .options = options,
    .needs_output = true,
    .run = run,
};
