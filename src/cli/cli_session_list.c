/* `ikigai session list`: lists sessions, the most recently used first. */
#include <stdio.h>

#include "base/json.h"
#include "base/print.h"
#include "cli/cli_history.h"
#include "cli/cli_session.h"
#include "cli/cli_terminal.h"
#include "store/session_lines.h"

typedef struct {
    bool json;
    bool here;
    size_t limit;
} options_t;

/* --- as JSON ----------------------------------------------------------------------------- */

/* Prints an array with one session per line. */
static void print_json(const void *ctx, const ik_store_list_t *list)
{
    ik_buffer_t line;
    ik_buffer_init(&line, ctx, IK_BUFFER_UNLIMITED); /* bounded by the title */
    puts("[");
    for (size_t i = 0; i < list->count; i++) {
        line.len = 0;
        ik_cli_session_add_facts(&line, &list->sessions[i]);
        ik_json_add_number(&line, "messages", list->sessions[i].messages);
        ik_buffer_append_text(&line, i + 1 < list->count ? "}," : "}");
        ik_print_json(stdout, line.data, line.len);
    }
    puts("]");
}

/* --- the command ------------------------------------------------------------------------- */

static res_t list_sessions(ik_cli_t *cli, ik_history_t *history, void *data)
{
    const options_t *options = data;
    ik_store_filter_t filter = {.cwd = options->here ? cli->paths->cwd : NULL,
                                .limit = options->limit,
                                .uncounted = !options->json,
                                .begun = true};
    ik_store_list_t *list;
    TRY(ik_history_list(cli->ctx, history, &filter, &list));
    if (options->json) {
        print_json(cli->ctx, list);
    } else if (list->count > 0) {
        ik_print_text(stdout,
                      ik_session_lines_table(cli->ctx, list, ik_cli_terminal_columns(), true));
    } else {
        fprintf(stderr, "No sessions%s yet.\n", options->here ? " in this folder" : "");
    }
    return OK;
}

static int run_list(ik_cli_t *cli, const ik_cli_args_t *args)
{
    options_t options = {.json = ik_cli_args_has(args, "--json"),
                         .here = ik_cli_args_has(args, "--here")};
    res_t valid = ik_cli_args_number(args, "--limit", &options.limit);
    if (is_err(&valid)) {
        return ik_cli_misuse(args->command, valid.message);
    }
    return ik_cli_history_run(cli, args, list_sessions, &options);
}

const ik_cli_command_t ik_cli_session_list = {
    .name = "session list",
    .help = "Lists the sessions, the most recently used first.",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--here", .help = "only sessions of this folder"},
            {.name = "--limit", .value = "N", .help = "the maximum number of sessions"},
            IK_CLI_JSON_OPTION,
            IK_CLI_DB_OPTION,
            {0}},
    .run = run_list,
};
