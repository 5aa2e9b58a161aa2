/* `ikigai session diff`: what a session changed, or its last turn. */
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/print.h"
#include "cli/cli_history.h"
#include "undo/undo.h"

typedef struct {
    ik_cli_t *cli;
    const ik_cli_args_t *args;
    const char *session_id;
    bool done;
    res_t result;
} running_t;

/* A patch is printed byte for byte, so that `git apply` takes it, except to a terminal. */
static void print_text(const running_t *running, const json_t *answer)
{
    ik_buffer_t text;
    ik_buffer_init(&text, running->cli->ctx, IK_BUFFER_UNLIMITED); /* bounded by the answer */
    ik_undo_append_text(&text, answer);
    if (isatty(STDOUT_FILENO)) {
        ik_print(stdout, text.data, text.len);
    } else {
        fwrite(text.data, 1, text.len, stdout);
    }
    ik_buffer_reset(&text);
}

static void on_end(void *data, const res_t *result, const json_t *answer)
{
    running_t *running = data;
    running->done = true;
    running->result = *result;
    if (answer == NULL) {
        return;
    }
    if (json_is_true(json_object_get(answer, "incomplete"))) {
        fputs("ikigai: the oldest changes are no longer recorded (undo_max_bytes)\n", stderr);
    }
    if (ik_cli_args_has(running->args, "--json")) {
        json_t *object = json_pack("{s:s, s:O}", "session", running->session_id, "files",
                                   json_object_get(answer, "files"));
        ik_cli_print_json(object);
        json_decref(object);
    } else {
        print_text(running, answer);
    }
}

static res_t diff_session(ik_cli_t *cli, ik_history_t *history, void *data)
{
    running_t *running = data;
    const ik_cli_args_t *args = running->args;
    ik_store_session_t session;
    ik_undo_place_t place = {.host = cli->host, .paths = cli->paths, .config = cli->config};
    TRY(ik_cli_history_read(cli, history, args->args[0], &session, &place.store));
    place.session_id = running->session_id = session.id;
    place.folder = session.cwd;
    ik_undo_format_t format = ik_cli_args_has(args, "--json")   ? IK_UNDO_JSON
                              : ik_cli_args_has(args, "--stat") ? IK_UNDO_STAT
                                                                : IK_UNDO_PATCH;
    ik_undo_start_diff(cli->ctx, &place, ik_cli_args_has(args, "--turn"), format, on_end, running);
    ik_loop_run_until(cli->loop, &running->done);
    return running->result;
}

static int run_diff(ik_cli_t *cli, const ik_cli_args_t *args)
{
    running_t running = {.cli = cli, .args = args};
    return ik_cli_history_run(cli, args, diff_session, &running);
}

const ik_cli_command_t ik_cli_session_diff = {
    .name = "session diff",
    .args = "ID",
    .help = "Prints what a session changed, as a patch.",
    .more = "From before the first change of the session to the end of its last turn, without "
            "later edits of others. `git apply` takes the patch.",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--turn", .help = "only the last turn"},
            {.name = "--stat", .help = "a line for each file instead of the patch"},
            {.name = "--json",
             .help = "print JSON",
             .more = "`{\"session\", \"files\": [{\"path\", \"status\", \"added\", \"removed\", "
                     "\"binary\"}]}`; the status is `added`, `modified` or `deleted`"},
            IK_CLI_DB_OPTION,
            {0}},
    .min_args = 1,
    .max_args = 1,
    .run = run_diff,
};
