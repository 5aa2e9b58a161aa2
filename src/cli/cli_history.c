#include "cli/cli_history.h"

#include "base/alloc.h"
#include "base/print.h"

static void on_notice(void *data, const char *line)
{
    (void)data;
    fputs("ikigai: ", stderr);
    ik_print_line(stderr, line);
}

static int run(ik_cli_t *cli, const ik_cli_args_t *args, bool creates, ik_cli_history_fn use,
               void *data)
{
    const char *db = ik_cli_args_value(args, "--db");
    ik_history_options_t options = {.db = db == NULL ? cli->config->db : db,
                                    .file = cli->paths->database,
                                    .loop = cli->loop,
                                    .on_notice = on_notice};
    res_t db_checked = ik_history_check_db(options.db, options.file);
    if (is_ok(&db_checked) && db != NULL && !creates) {
        db_checked = ik_history_check_file(db, options.file);
    }
    if (is_err(&db_checked)) {
        ik_cli_fail(db_checked.message);
        return IK_CLI_USAGE;
    }
    ik_history_t *history = ik_history_create(cli->ctx, &options);
    res_t used = use(cli, history, data);
    talloc_free(history);
    return is_ok(&used) ? IK_CLI_DONE : ik_cli_fail(used.message);
}

int ik_cli_history_run(ik_cli_t *cli, const ik_cli_args_t *args, ik_cli_history_fn use, void *data)
{
    return run(cli, args, false, use, data);
}

int ik_cli_history_run_new(ik_cli_t *cli, const ik_cli_args_t *args, ik_cli_history_fn use,
                           void *data)
{
    return run(cli, args, true, use, data);
}

res_t ik_cli_history_read(ik_cli_t *cli, ik_history_t *history, const char *prefix,
                          ik_store_session_t *session, ik_store_t **store)
{
    TRY(ik_history_find(cli->ctx, history, prefix, session));
    TRY(ik_history_fetch(history, session->id));
    return ik_history_local(history, store);
}

void ik_cli_history_settle(ik_history_t *history)
{
    ik_history_wrote(history);
    (void)ik_history_index(history); /* what is missing is indexed by the next search */
    ik_history_finish(history, IK_HISTORY_FINISH_MS);
}
