/* The history for the commands of `ikigai session`, which all take --db. */
#pragma once

#include "cli/cli.h"
#include "store/history.h"

/* data is that of ik_cli_history_run. */
typedef res_t (*ik_cli_history_fn)(ik_cli_t *cli, ik_history_t *history, void *data);

/* Calls use with the history that --db or the configuration names, prints its error and returns the
 * exit status. Notices of the history go to stderr. A file that --db names must exist. */
int ik_cli_history_run(ik_cli_t *cli, const ik_cli_args_t *args, ik_cli_history_fn use, void *data);
/* As ik_cli_history_run; a missing file is created. */
int ik_cli_history_run_new(ik_cli_t *cli, const ik_cli_args_t *args, ik_cli_history_fn use,
                           void *data);

/* Finds the session whose id begins with prefix and makes it readable from *store; a session of
 * another machine is fetched first. Its strings are on cli->ctx. */
res_t ik_cli_history_read(ik_cli_t *cli, ik_history_t *history, const char *prefix,
                          ik_store_session_t *session, ik_store_t **store);
/* After writing: updates the search index and waits a moment for delivery. */
void ik_cli_history_settle(ik_history_t *history);
