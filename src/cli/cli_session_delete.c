/* `ikigai session delete` and `prune`: the only commands that delete messages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/json.h"
#include "base/print.h"
#include "cli/cli_history.h"
#include "cli/cli_session.h"
#include "conversation/figure.h"
#include "undo/blob_sweep.h"

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static bool confirm(const ik_history_t *history, bool yes, size_t count)
{
    char question[100];
    snprintf(question, sizeof(question), "Delete %s%s?", count == 1 ? "it" : "them",
             ik_history_is_shared(history) ? " for all machines of the shared history" : "");
    return yes || ik_cli_confirm(question);
}

/* Removes what only the deleted sessions needed. Sessions in another file than the usual one are
 * not known later, so that what they need cannot be told from the rest. */
static void sweep_blobs(ik_cli_t *cli, ik_history_t *history, const ik_cli_args_t *args)
{
    const char *named = ik_cli_args_value(args, "--db");
    const char *db = named == NULL ? cli->config->db : named;
    ik_store_t *store;
    if (strcmp(db, cli->paths->database) != 0 && !ik_history_is_shared(history)) {
        return;
    }
    res_t swept = ik_history_local(history, &store);
    if (is_ok(&swept)) {
        swept = ik_blob_sweep_run(cli->host, cli->paths, cli->config, store);
    }
    if (is_err(&swept)) {
        ik_cli_fail(
            ik_sprintf(cli->ctx, "Contents kept for undo were not removed: %s", swept.message));
    }
}

/* --- delete ------------------------------------------------------------------------------ */

typedef struct {
    const ik_cli_args_t *args;
    ik_store_session_t *sessions;
    size_t count;
    bool failed; /* a message said why */
} deletion_t;

static bool is_chosen(const deletion_t *deletion, const char *id)
{
    for (size_t i = 0; i < deletion->count; i++) {
        if (strcmp(deletion->sessions[i].id, id) == 0) {
            return true;
        }
    }
    return false;
}

/* Finds all sessions before the first is deleted: a typing error in the third id must not cost the
 * first two. */
static res_t choose(ik_cli_t *cli, ik_history_t *history, deletion_t *deletion)
{
    const ik_cli_args_t *args = deletion->args;
    deletion->sessions = ik_new_array(cli->ctx, ik_store_session_t, (size_t)args->count);
    for (int i = 0; i < args->count; i++) {
        ik_store_session_t found;
        TRY(ik_history_find(cli->ctx, history, args->args[i], &found));
        if (!is_chosen(deletion, found.id)) {
            deletion->sessions[deletion->count++] = found;
        }
    }
    return OK;
}

static void print_outcome(const ik_store_session_t *session, const res_t *gone, bool last)
{
    ik_buffer_t object;
    ik_buffer_init(&object, NULL, IK_BUFFER_UNLIMITED); /* bounded by the error message */
    ik_json_add_text(&object, "id", session->id);
    ik_json_begin_member(&object, "deleted");
    ik_buffer_append_text(&object, is_ok(gone) ? "true" : "false");
    if (is_err(gone)) {
        ik_json_add_text(&object, "error", gone->message);
    }
    ik_buffer_append_text(&object, last ? "}" : "},");
    ik_print_json(stdout, object.data, object.len);
    ik_buffer_reset(&object);
}

/* Continues after an error. */
static size_t remove_chosen(ik_history_t *history, deletion_t *deletion, bool json)
{
    size_t removed = 0;
    for (size_t i = 0; i < deletion->count; i++) {
        res_t gone = ik_history_remove(history, deletion->sessions[i].id);
        if (json) {
            print_outcome(&deletion->sessions[i], &gone, i + 1 == deletion->count);
        } else if (is_err(&gone)) {
            ik_cli_fail(gone.message);
        }
        deletion->failed = deletion->failed || is_err(&gone);
        removed += is_ok(&gone);
    }
    return removed;
}

static res_t delete_sessions(ik_cli_t *cli, ik_history_t *history, void *data)
{
    deletion_t *deletion = data;
    TRY(choose(cli, history, deletion));
    if (ik_cli_args_has(deletion->args, "--json")) {
        puts("[");
        remove_chosen(history, deletion, true);
        puts("]");
        sweep_blobs(cli, history, deletion->args);
        return OK;
    }
    puts("About to delete:");
    for (size_t i = 0; i < deletion->count; i++) {
        ik_cli_session_print_line(&deletion->sessions[i]);
    }
    if (!confirm(history, ik_cli_args_has(deletion->args, "--yes"), deletion->count)) {
        puts("Nothing was deleted.");
        deletion->failed = true;
        return OK;
    }
    size_t removed = remove_chosen(history, deletion, false);
    printf("%zu session%s deleted.\n", removed, plural(removed));
    sweep_blobs(cli, history, deletion->args);
    return OK;
}

static int run_delete(ik_cli_t *cli, const ik_cli_args_t *args)
{
    deletion_t deletion = {.args = args};
    if (ik_cli_args_has(args, "--json") && !ik_cli_args_has(args, "--yes")) {
        return ik_cli_misuse(args->command, "--json needs --yes");
    }
    int status = ik_cli_history_run(cli, args, delete_sessions, &deletion);
    return deletion.failed ? IK_CLI_FAILED : status;
}

const ik_cli_command_t ik_cli_session_delete = {
    .name = "session delete",
    .args = "ID...",
    .help = "Deletes sessions after showing them and asking.",
    .options =
        (const ik_cli_option_t[]){
            IK_CLI_YES_OPTION,
            {.name = "--json", .help = "print the outcome for each session as JSON; needs --yes"},
            IK_CLI_DB_OPTION,
            {0}},
    .min_args = 1,
    .max_args = IK_CLI_ANY_NUMBER,
    .run = run_delete,
};

/* --- prune: how old ---------------------------------------------------------------------- */

/* Parses a day; *us is its first moment in local time. */
static bool parse_day(const char *text, int64_t *us)
{
    struct tm day = {.tm_isdst = -1};
    const char *end = strptime(text, "%Y-%m-%d", &day);
    if (end == NULL || *end != '\0') {
        return false;
    }
    int wanted = day.tm_mday;
    *us = (int64_t)mktime(&day) * 1000000;
    return day.tm_mday == wanted; /* mktime turns February 30 into a day in March */
}

/* Parses "30d"; *us is that long before now. */
static bool parse_span(const char *text, int64_t now_us, int64_t *us)
{
    static const struct {
        char name;
        int64_t seconds;
    } units[] = {{'m', 60},
                 {'h', 60 * 60},
                 {'d', 24 * 60 * 60},
                 {'w', 7 * 24 * 60 * 60},
                 {'y', 365 * 24 * 60 * 60}};
    enum { MOST = 100000 }; /* years: their microseconds fit into 64 bits */
    char *end;
    long count = strtol(text, &end, 10);
    if (end == text || count < 1 || count > MOST || end[0] == '\0' || end[1] != '\0') {
        return false;
    }
    for (size_t i = 0; i < IK_LENGTH(units); i++) {
        if (units[i].name == *end) {
            *us = now_us - count * units[i].seconds * 1000000;
            return true;
        }
    }
    return false;
}

/* --- prune ------------------------------------------------------------------------------- */

typedef struct {
    const ik_cli_args_t *args;
    int64_t before_us;
    bool failed;
} pruning_t;

/* Counts the sessions last used before a moment, from the end of the list, which is sorted by last
 * use. */
static size_t count_old(const ik_store_list_t *list, int64_t before_us)
{
    size_t count = 0;
    while (count < list->count && list->sessions[list->count - 1 - count].updated_us < before_us) {
        count++;
    }
    return count;
}

static void print_plan(const ik_store_list_t *list, size_t old, const pruning_t *pruning)
{
    printf("%zu of %zu session%s %s last used before %s", old, list->count, plural(list->count),
           old == 1 || list->count == 1 ? "was" : "were",
           ik_figure_of_local_time(pruning->before_us).text);
    if (old > 0) {
        int64_t oldest_us = list->sessions[list->count - 1].updated_us;
        printf(", the oldest %s", ik_figure_of_local_time(oldest_us).text);
    }
    puts(".");
}

/* Skips sessions in use; stops when the server is lost. */
static res_t remove_old(ik_history_t *history, const ik_store_list_t *list, size_t old)
{
    size_t used = 0;
    for (size_t i = 0; i < old; i++) {
        res_t gone = ik_history_remove(history, list->sessions[list->count - 1 - i].id);
        if (gone.code == IK_ERR_CONFLICT) {
            used++;
        } else if (gone.code != IK_ERR_NOT_FOUND) { /* deleted by another program */
            TRY(gone);
        }
    }
    printf("%zu session%s deleted", old - used, plural(old - used));
    if (used > 0) {
        printf(", %zu in use kept", used);
    }
    puts(".");
    return OK;
}

static res_t prune_sessions(ik_cli_t *cli, ik_history_t *history, void *data)
{
    pruning_t *pruning = data;
    ik_store_list_t *list;
    TRY(ik_history_list(cli->ctx, history, &(ik_store_filter_t){0}, &list));
    size_t old = count_old(list, pruning->before_us);
    print_plan(list, old, pruning);
    if (ik_cli_args_has(pruning->args, "--dry-run")) {
        for (size_t i = list->count - old; i < list->count; i++) {
            ik_cli_session_print_line(&list->sessions[i]);
        }
        return OK;
    }
    if (old > 0 && !confirm(history, ik_cli_args_has(pruning->args, "--yes"), old)) {
        puts("Nothing was deleted.");
        pruning->failed = true;
        return OK;
    }
    TRY(remove_old(history, list, old));
    sweep_blobs(cli, history, pruning->args);
    return ik_history_shrink(history);
}

static int run_prune(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *age = ik_cli_args_value(args, "--older-than");
    pruning_t pruning = {.args = args};
    if (age == NULL) {
        return ik_cli_misuse(args->command, "Missing option: --older-than AGE");
    }
    if (!parse_span(age, ik_store_now_us(), &pruning.before_us) &&
        !parse_day(age, &pruning.before_us)) {
        return ik_cli_misuse(args->command,
                             ik_sprintf(cli->ctx,
                                        "--older-than needs an age such as 30d (m, h, d, w or y) "
                                        "or a day such as 2026-03-01, not '%s'",
                                        age));
    }
    int status = ik_cli_history_run(cli, args, prune_sessions, &pruning);
    return pruning.failed ? IK_CLI_FAILED : status;
}

const ik_cli_command_t ik_cli_session_prune = {
    .name = "session prune",
    .help = "Deletes sessions that were not used for some time (30d, 8w, 1y) or since a day "
            "(2026-03-01).",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--older-than",
             .value = "AGE",
             .help = "an age in m, h, d, w or y, such as 30d, or a day: 2026-03-01",
             .more = "a year has 365 days",
             .required = true},
            {.name = "--dry-run", .help = "only show what would be deleted"},
            IK_CLI_YES_OPTION,
            IK_CLI_DB_OPTION,
            {0}},
    .run = run_prune,
};
