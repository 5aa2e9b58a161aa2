/* The history as the commands of `ikigai session` use it. All of them take --db. */
#pragma once

#include "cli/cli.h"
#include "store/history.h"

/* What a command does with it; data is what was given to run. */
typedef res_t (*ik_cli_history_fn)(ik_cli_t *cli, ik_history_t *history, void *data);

/* Lends the command the history that --db or the configuration names, says what went wrong, if
 * anything, and returns the exit status. Notices of the history go to stderr. */
int ik_cli_history_run(ik_cli_t *cli, const ik_cli_args_t *args, ik_cli_history_fn use, void *data);

/* A session that begins so, ready to be read from *store: those of other machines are brought here
 * first. Its strings live on cli->ctx. */
res_t ik_cli_history_read(ik_cli_t *cli, ik_history_t *history, const char *prefix,
                          ik_store_session_t *session, ik_store_t **store);
/* After writing: indexes it for searches, and waits a moment for delivery. */
void ik_cli_history_settle(ik_history_t *history);
