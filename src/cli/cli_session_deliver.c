/* `ikigai session deliver`: delivers sessions that began without the shared history. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli_history.h"
#include "cli/cli_terminal.h"
#include "store/session_lines.h"

/* For large sessions. A server that stops answering ends the wait earlier. */
enum { PATIENCE_MS = 10 * 60 * 1000 };

static const ik_store_session_t *find_in(const ik_store_list_t *list, const char *id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->sessions[i].id, id) == 0) {
            return &list->sessions[i];
        }
    }
    return NULL;
}

/* Finds all sessions before the first one is shared. */
static res_t share_named(ik_cli_t *cli, ik_history_t *history, const ik_cli_args_t *args,
                         const ik_store_list_t *withheld, size_t *count)
{
    ik_store_session_t *found = ik_new_array(cli->ctx, ik_store_session_t, (size_t)args->count);
    for (int i = 0; i < args->count; i++) {
        TRY(ik_history_find(cli->ctx, history, args->args[i], &found[i]));
    }
    for (int i = 0; i < args->count; i++) {
        *count += find_in(withheld, found[i].id) != NULL;
        TRY(ik_history_share(history, found[i].id));
    }
    return OK;
}

static res_t deliver(ik_cli_t *cli, ik_history_t *history, void *data)
{
    const ik_cli_args_t *args = data;
    bool all = ik_cli_args_has(args, "--all");
    ik_store_list_t *withheld;
    if (!ik_history_is_shared(history)) {
        return ERR(INVALID,
                   "There is no shared history: set one with --db postgresql://… or db in the "
                   "configuration");
    }
    TRY(ik_history_list_withheld(cli->ctx, history, &withheld));
    size_t count = all ? withheld->count : 0;
    if (!all && args->count == 0) {
        fputs(withheld->count == 0
                  ? "All sessions of this machine are in the shared history.\n"
                  : ik_session_lines_table(cli->ctx, withheld, ik_cli_terminal_columns(), true),
              stdout);
        return OK;
    }
    if (all) {
        ik_history_decide(history, true);
    } else {
        TRY(share_named(cli, history, args, withheld, &count));
    }
    res_t delivered = ik_history_finish(history, PATIENCE_MS);
    if (is_err(&delivered)) {
        return ERR(GONE,
                   "Not everything could be delivered to %s: %s. The next ikigai with this shared "
                   "history tries again",
                   ik_history_address(history), delivered.message);
    }
    printf("Delivered %zu session%s to %s.\n", count, count == 1 ? "" : "s",
           ik_history_address(history));
    return OK;
}

static int run_deliver(ik_cli_t *cli, const ik_cli_args_t *args)
{
    if (ik_cli_args_has(args, "--all") && args->count > 0) {
        return ik_cli_misuse(args->command, "--all cannot be used with an ID");
    }
    return ik_cli_history_run(cli, args, deliver, (void *)args);
}

const ik_cli_command_t ik_cli_session_deliver = {
    .name = "session deliver",
    .args = "[ID...]",
    .help = "Delivers sessions of this machine to the shared history, or lists those not shared.",
    .options = (const ik_cli_option_t[]){{.name = "--all",
                                          .help = "deliver all sessions, now and in the future",
                                          .more = "remembered for that server"},
                                         IK_CLI_DB_OPTION,
                                         {0}},
    .max_args = IK_CLI_ANY_NUMBER,
    .run = run_deliver,
};
