/* `ikigai session delete` and `prune`: the only ways in which something said is lost. */
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

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* Who has a shared history deletes for all machines, and is told so. */
static bool is_wanted(const ik_history_t *history, bool yes, size_t count)
{
    char question[100];
    snprintf(question, sizeof(question), "Delete %s%s?", count == 1 ? "it" : "them",
             ik_history_is_shared(history) ? " for all machines of the shared history" : "");
    return yes || ik_cli_confirm(question);
}

/* --- delete ------------------------------------------------------------------------------ */

typedef struct {
    const ik_cli_args_t *args;
    ik_store_session_t *sessions;
    size_t count;
    bool failed; /* some of it, and why was said */
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

/* All of them or none: a typing error in the third id must not cost the first two. */
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

/* For scripts: which of them are gone, and why others are not. */
static void print_fate(const ik_store_session_t *session, const res_t *gone, bool last)
{
    ik_buffer_t object;
    ik_buffer_init(&object, NULL, IK_BUFFER_UNLIMITED);
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

/* Whatever happens to one of them, the others go. */
static size_t remove_chosen(ik_history_t *history, deletion_t *deletion, bool json)
{
    size_t removed = 0;
    for (size_t i = 0; i < deletion->count; i++) {
        res_t gone = ik_history_remove(history, deletion->sessions[i].id);
        if (json) {
            print_fate(&deletion->sessions[i], &gone, i + 1 == deletion->count);
        } else if (is_err(&gone)) {
            ik_cli_fail(gone.message);
        }
        deletion->failed = deletion->failed || is_err(&gone);
        removed += is_ok(&gone);
    }
    return removed;
}

static void delete_in_json(ik_history_t *history, deletion_t *deletion)
{
    puts("[");
    remove_chosen(history, deletion, true);
    puts("]");
}

static res_t delete_sessions(ik_cli_t *cli, ik_history_t *history, void *data)
{
    deletion_t *deletion = data;
    TRY(choose(cli, history, deletion));
    if (ik_cli_args_has(deletion->args, "--json")) {
        delete_in_json(history, deletion);
        return OK;
    }
    puts("About to delete:");
    for (size_t i = 0; i < deletion->count; i++) {
        ik_cli_session_print_line(&deletion->sessions[i]);
    }
    if (!is_wanted(history, ik_cli_args_has(deletion->args, "--yes"), deletion->count)) {
        puts("Nothing was deleted.");
        deletion->failed = true;
        return OK;
    }
    size_t removed = remove_chosen(history, deletion, false);
    printf("%zu session%s deleted.\n", removed, plural(removed));
    return OK;
}

static int run_delete(ik_cli_t *cli, const ik_cli_args_t *args)
{
    deletion_t deletion = {.args = args};
    if (ik_cli_args_has(args, "--json") && !ik_cli_args_has(args, "--yes")) {
        return ik_cli_misuse(args->command, "--json asks nobody: it needs --yes");
    }
    int status = ik_cli_history_run(cli, args, delete_sessions, &deletion);
    return deletion.failed ? IK_CLI_FAILED : status;
}

const ik_cli_command_t ik_cli_session_delete = {
    .name = "session delete",
    .args = "ID...",
    .help = "Shows what would be deleted, asks, and deletes it.",
    .options = (const ik_cli_option_t[]){IK_CLI_YES_OPTION,
                                         {.name = "--json",
                                          .help = "print what became of each as JSON; needs --yes"},
                                         IK_CLI_DB_OPTION,
                                         {0}},
    .min_args = 1,
    .max_args = IK_CLI_ANY_NUMBER,
    .run = run_delete,
};

/* --- prune: how old ---------------------------------------------------------------------- */

/* Midnight at the beginning of a day, where the user is. */
static bool parse_day(const char *text, int64_t *us)
{
    struct tm day = {.tm_isdst = -1};
    const char *end = strptime(text, "%Y-%m-%d", &day);
    if (end == NULL || *end != '\0') {
        return false;
    }
    int wanted = day.tm_mday;
    *us = (int64_t)mktime(&day) * 1000000;
    return day.tm_mday == wanted; /* February 30 would be in March */
}

/* So many of a unit before now. */
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
    enum { MOST = 100000 }; /* so many years are still counted in microseconds */
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

/* The list ends with those that were not used for the longest time: how many of them are older than
 * that. */
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
           old == 1 ? "was" : "were", ik_figure_of_local_time(pruning->before_us).text);
    if (old > 0) {
        int64_t oldest_us = list->sessions[list->count - 1].updated_us;
        printf(", the oldest %s", ik_figure_of_local_time(oldest_us).text);
    }
    puts(".");
}

/* Those in use stay, and so does what a server that went away has left. */
static res_t remove_old(ik_history_t *history, const ik_store_list_t *list, size_t old)
{
    size_t used = 0;
    for (size_t i = 0; i < old; i++) {
        res_t gone = ik_history_remove(history, list->sessions[list->count - 1 - i].id);
        if (gone.code == IK_ERR_CONFLICT) {
            used++;
        } else if (gone.code != IK_ERR_NOT_FOUND) { /* another program was faster */
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
    if (old > 0 && !is_wanted(history, ik_cli_args_has(pruning->args, "--yes"), old)) {
        puts("Nothing was deleted.");
        pruning->failed = true;
        return OK;
    }
    TRY(remove_old(history, list, old));
    return ik_history_shrink(history);
}

static int run_prune(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *age = ik_cli_args_value(args, "--older-than");
    pruning_t pruning = {.args = args};
    if (age == NULL) {
        return ik_cli_misuse(args->command, "--older-than is missing");
    }
    if (!parse_span(age, ik_store_now_us(), &pruning.before_us) &&
        !parse_day(age, &pruning.before_us)) {
        return ik_cli_misuse(args->command,
                             ik_sprintf(cli->ctx,
                                        "--older-than is a number with m, h, d, w or y behind it, "
                                        "or a day like 2026-03-01, not '%s'",
                                        age));
    }
    int status = ik_cli_history_run(cli, args, prune_sessions, &pruning);
    return pruning.failed ? IK_CLI_FAILED : status;
}

const ik_cli_command_t ik_cli_session_prune = {
    .name = "session prune",
    .help = "Deletes sessions not used for so long (30d, 8w, 1y) or since a day (2026-03-01).",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--older-than",
             .value = "AGE",
             .help = "a number with m, h, d, w or y behind it, or a day: 2026-03-01",
             .more = "a year has 365 days",
             .required = true},
            {.name = "--dry-run", .help = "only show what would be deleted"},
            IK_CLI_YES_OPTION,
            IK_CLI_DB_OPTION,
            {0}},
    .run = run_prune,
};
