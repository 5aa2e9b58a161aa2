/* `ikigai session undo` and `redo`: take back the last turns of a session, with the files that they
 * changed, and bring them back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/print.h"
#include "cli/cli_history.h"
#include "cli/cli_session.h"
#include "undo/undo.h"

typedef struct {
    ik_cli_t *cli;
    const ik_cli_args_t *args;
    ik_undo_request_t request;
    bool redo;
    const char *session_id;
    bool failed; /* conflicts are left */
    bool done;
    res_t result;
} running_t;

/* --- printing ---------------------------------------------------------------------------- */

static void print_json(const running_t *running, const ik_undo_outcome_t *outcome)
{
    ik_buffer_t object;
    ik_buffer_init(&object, running->cli->ctx, IK_BUFFER_UNLIMITED); /* bounded by the outcome */
    ik_json_add_text(&object, "session", running->session_id);
    ik_json_add_number(&object, "turns", (int64_t)outcome->turns);
    ik_json_add_text(&object, "prompt", outcome->prompt);
    ik_undo_outcome_add_files(&object, "restored", &outcome->restored);
    ik_undo_outcome_add_files(&object, "conflicts", &outcome->conflicts);
    ik_buffer_append_byte(&object, '}');
    ik_print_json(stdout, object.data, object.len);
}

static void print_text(const running_t *running, const ik_undo_outcome_t *outcome)
{
    ik_print_text(stdout, ik_undo_outcome_describe(running->cli->ctx, outcome, true));
    if (ik_undo_outcome_can_force(outcome) && !running->redo && !outcome->dry_run) {
        printf("To restore them as well: ikigai session undo %.8s --force\n", running->session_id);
    }
}

static void on_end(void *data, const res_t *result, const ik_undo_outcome_t *outcome)
{
    running_t *running = data;
    running->done = true;
    running->result = *result;
    if (outcome != NULL) {
        running->failed = outcome->conflicts.count > 0;
        if (ik_cli_args_has(running->args, "--json")) {
            print_json(running, outcome);
        } else {
            print_text(running, outcome);
        }
    }
}

/* --- running ----------------------------------------------------------------------------- */

static res_t run_task(ik_cli_t *cli, ik_history_t *history, void *data)
{
    running_t *running = data;
    ik_store_session_t found;
    ik_undo_place_t place = {.host = cli->host, .paths = cli->paths, .config = cli->config};
    TRY(ik_history_find(cli->ctx, history, running->args->args[0], &found));
    TRY(ik_session_open(cli->ctx, history, found.id, &place.session));
    res_t local = ik_history_local(history, &place.store);
    if (is_ok(&local)) {
        place.session_id = running->session_id = found.id;
        place.folder = found.cwd;
        if (running->redo) {
            ik_undo_start_redo(cli->ctx, &place, on_end, running);
        } else {
            ik_undo_start(cli->ctx, &place, &running->request, on_end, running);
        }
        ik_loop_run_until(cli->loop, &running->done);
        local = running->result;
    }
    talloc_free(place.session);
    if (is_ok(&local) && !running->request.dry_run) {
        ik_cli_history_settle(history);
    }
    return local;
}

static int run(ik_cli_t *cli, running_t *running)
{
    int status = ik_cli_history_run(cli, running->args, run_task, running);
    return running->failed ? IK_CLI_FAILED : status;
}

/* A number is the number of turns; a file of that name is written "./3". */
static bool is_number(const char *word)
{
    return *word != '\0' && strspn(word, "0123456789") == strlen(word);
}

static int run_undo(ik_cli_t *cli, const ik_cli_args_t *args)
{
    running_t running = {.cli = cli,
                         .args = args,
                         .request = {.force = ik_cli_args_has(args, "--force"),
                                     .dry_run = ik_cli_args_has(args, "--dry-run")}};
    const char **names = ik_new_array(cli->ctx, const char *, (size_t)args->count);
    size_t count = 0;
    for (int i = 1; i < args->count; i++) {
        const char *word = args->args[i];
        if (*word == '\0') {
            return ik_cli_misuse(args->command,
                                 "a PATH is empty; write . for all files of the folder");
        }
        if (!is_number(word)) {
            names[count++] = word;
            continue;
        }
        if (i > 1) {
            return ik_cli_misuse(
                args->command,
                ik_sprintf(cli->ctx, "N comes first; write ./%s for a file of that name", word));
        }
        errno = 0;
        unsigned long long turns = strtoull(word, NULL, 10);
        if (turns == 0) {
            return ik_cli_misuse(args->command, "N is a positive number of turns, not 0");
        }
        running.request.turns = errno == 0 ? (size_t)turns : SIZE_MAX;
    }
    running.request.names = count == 0 ? NULL : names;
    return run(cli, &running);
}

const ik_cli_command_t ik_cli_session_undo = {
    .name = "session undo",
    .args = "ID [N] [PATH...]",
    .help = "Takes back the last turn, or the last N: the files and the conversation.",
    .more =
        "A file that was changed since is a conflict and stays as it is. After an undo that "
        "left conflicts, `--force` or names finish that undo. Otherwise names restrict the undo "
        "to these files, whether they were changed since or not, and the conversation stays. "
        "A number is N; write `./3` for a file of that name.",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--force", .help = "restore files that were changed since, too"},
            {.name = "--dry-run", .help = "only show what would be restored"},
            {.name = "--json",
             .help = "print JSON",
             .more = "`{\"session\", \"turns\", \"prompt\", \"restored\": [{\"path\"}], "
                     "\"conflicts\": [{\"path\", \"reason\"}]}`"},
            IK_CLI_DB_OPTION,
            {0}},
    .min_args = 1,
    .max_args = IK_CLI_ANY_NUMBER,
    .run = run_undo,
};

static int run_redo(ik_cli_t *cli, const ik_cli_args_t *args)
{
    running_t running = {.cli = cli, .args = args, .redo = true};
    return run(cli, &running);
}

const ik_cli_command_t ik_cli_session_redo = {
    .name = "session redo",
    .args = "ID",
    .help = "Brings back what the last undo took, unless a message followed it.",
    .options = (const ik_cli_option_t[]){IK_CLI_JSON_OPTION, IK_CLI_DB_OPTION, {0}},
    .min_args = 1,
    .max_args = 1,
    .run = run_redo,
};
