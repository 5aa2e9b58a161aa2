/* `ikigai session fork`: copies a session, which may be in use. */
#include <stdio.h>

#include "base/alloc.h"
#include "cli/cli_history.h"
#include "store/session.h"

static res_t fork_session(ik_cli_t *cli, ik_history_t *history, void *data)
{
    ik_store_session_t found;
    ik_session_t *copy;
    TRY(ik_history_find(cli->ctx, history, data, &found));
    TRY(ik_session_open_copy(cli->ctx, history, found.id, &copy));
    puts(ik_session_id(copy));
    talloc_free(copy);
    ik_cli_history_settle(history);
    return OK;
}

static int run_fork(ik_cli_t *cli, const ik_cli_args_t *args)
{
    return ik_cli_history_run(cli, args, fork_session, (void *)args->args[0]);
}

const ik_cli_command_t ik_cli_session_fork = {
    .name = "session fork",
    .args = "ID",
    .help = "Copies a session, which may be in use, and prints the id of the copy.",
    .options = (const ik_cli_option_t[]){IK_CLI_DB_OPTION, {0}},
    .min_args = 1,
    .max_args = 1,
    .run = run_fork,
};
