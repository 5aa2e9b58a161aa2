#include "cli/cli_doctor_sessions.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "conversation/figure.h"
#include "store/history.h"
#include "store/postgres/store_postgres.h"
#include "store/sqlite/sqlite_salvage.h"
#include "store/sqlite/sqlite_survey.h"
#include "store/sqlite/store_sqlite.h"

enum { SERVER_PATIENCE_MS = 5000 };

#define CHOOSE "; nothing can be saved there: mend it, or choose another file with --db"

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* --- the file ---------------------------------------------------------------------------- */

static void report_library(ik_cli_checkup_t *checkup)
{
    char *library;
    res_t described = ik_sqlite_survey_library(checkup->cli->ctx, &library);
    if (is_ok(&described)) {
        ik_cli_checkup_say("  kept by     %s", library);
    } else {
        ik_cli_checkup_complain(checkup, "%s", described.message);
    }
}

/* Part of it may stand in the log of changes yet. */
static size_t size_of(const char *path, const struct stat *status)
{
    struct stat log;
    char *name = ik_sprintf(NULL, "%s-wal", path);
    bool there = stat(name, &log) == 0;
    talloc_free(name);
    return (size_t)status->st_size + (there ? (size_t)log.st_size : 0);
}

/* The folder in which the first thing would have to be made. */
static char *find_existing_folder(const void *ctx, const char *path)
{
    char *folder = ik_file_folder(ctx, path);
    while (access(folder, F_OK) != 0 && errno == ENOENT && strcmp(folder, ".") != 0) {
        folder = ik_file_folder(ctx, folder);
    }
    return folder;
}

static void report_missing(ik_cli_checkup_t *checkup, const char *path)
{
    struct stat status;
    const char *folder = find_existing_folder(checkup->cli->ctx, path);
    if (lstat(path, &status) == 0) {
        ik_cli_checkup_complain(checkup, "%s: it is a link that leads nowhere" CHOOSE, path);
    } else if (access(folder, W_OK | X_OK) != 0) {
        ik_cli_checkup_complain(checkup, "%s: it cannot be made in %s: %s" CHOOSE, path, folder,
                                strerror(errno));
    } else {
        ik_cli_checkup_say("  file        %s: not there yet: begun with the first session", path);
    }
}

/* False when there is nothing to open. */
static bool report_file(ik_cli_checkup_t *checkup, const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0) {
        ik_cli_checkup_say("  file        %s (%s, mode %04o)", path,
                           ik_figure_of_size(size_of(path, &status)).text,
                           (unsigned)(status.st_mode & 07777));
        return true;
    }
    if (errno == ENOENT) {
        report_missing(checkup, path);
    } else {
        ik_cli_checkup_complain(checkup, "%s: %s" CHOOSE, path, strerror(errno));
    }
    return false;
}

static void report_survey(ik_cli_checkup_t *checkup, ik_store_t *store)
{
    ik_sqlite_survey_t survey;
    res_t surveyed = ik_sqlite_survey(checkup->cli->ctx, store, &survey);
    if (is_err(&surveyed)) {
        ik_cli_checkup_complain(checkup, "%s", surveyed.message);
        return;
    }
    ik_cli_checkup_say("  holds       %" PRId64 " session%s, %" PRId64 " message%s",
                       survey.sessions, plural(survey.sessions), survey.messages,
                       plural(survey.messages));
    for (size_t i = 0; i < survey.use_count; i++) {
        const ik_sqlite_survey_use_t *use = &survey.uses[i];
        ik_cli_checkup_say("  in use      session %s by pid %" PRId64 " on %s", use->session_id,
                           use->holder.pid, use->holder.host);
    }
}

/* --- a damaged file ---------------------------------------------------------------------- */

static void report_lost(const ik_sqlite_salvage_t *report)
{
    if (report->lost > 0) {
        ik_cli_checkup_say("  lost        %" PRId64 " message%s", report->lost,
                           plural(report->lost));
    } else if (report->lost < 0) {
        ik_cli_checkup_say(
            "  lost        it cannot be told how much: see the file that was set aside");
    }
}

static bool salvage(ik_cli_checkup_t *checkup, const char *path)
{
    ik_sqlite_salvage_t report;
    res_t saved = ik_sqlite_salvage(checkup->cli->ctx, path, &report);
    if (is_err(&saved)) {
        ik_cli_checkup_complain(checkup, "nothing was saved, and nothing changed: %s",
                                saved.message);
        return false;
    }
    ik_cli_checkup_say("  set aside   as %s", report.aside);
    if (report.messages == 0) {
        ik_cli_checkup_say(
            "  saved       nothing, because nothing of it can be read; a new one has begun");
    } else {
        ik_cli_checkup_say("  saved       %" PRId64 " session%s with %" PRId64
                           " message%s, carried over into a new file",
                           report.sessions, plural(report.sessions), report.messages,
                           plural(report.messages));
    }
    report_lost(&report);
    return true;
}

/* Closed again when it is damaged: it cannot be replaced while somebody has it open. */
static res_t open_whole(const void *ctx, const char *path, ik_store_t **store)
{
    TRY(ik_store_sqlite_open(ctx, path, store));
    res_t checked = ik_sqlite_survey_check(*store);
    if (is_err(&checked)) {
        TALLOC_FREE(*store);
    }
    return checked;
}

/* What the program would say of the file, and what to do about it. */
static void report_unopened(ik_cli_checkup_t *checkup, const res_t *opened)
{
    bool advises = opened->code == IK_ERR_CONFLICT;
    ik_cli_checkup_complain(checkup, "%s%s", opened->message, advises ? "" : CHOOSE);
}

/* NULL when it cannot be had. */
static ik_store_t *open_store(ik_cli_checkup_t *checkup, const char *path)
{
    ik_store_t *store = NULL;
    res_t opened = open_whole(checkup->cli->ctx, path, &store);
    if (opened.code == IK_ERR_DAMAGED) {
        ik_cli_checkup_complain(checkup, "%s", opened.message);
        if (!salvage(checkup, path)) {
            return NULL;
        }
        opened = open_whole(checkup->cli->ctx, path, &store);
    }
    if (is_err(&opened)) {
        report_unopened(checkup, &opened);
        return NULL;
    }
    ik_cli_checkup_say("  integrity   everything can be read");
    if (access(path, W_OK) != 0) {
        ik_cli_checkup_complain(
            checkup,
            "%s: it is read-only, so that nothing can be saved: chmod u+w it, or choose "
            "another file with --db",
            path);
    }
    return store;
}

/* --- the shared history ------------------------------------------------------------------ */

/* server is NULL when it does not answer. */
static void report_undelivered(ik_cli_checkup_t *checkup, ik_store_t *local, const char *server,
                               const char *address)
{
    ik_store_consent_t consent;
    int64_t count = 0;
    int64_t withheld = 0;
    res_t counted =
        local == NULL ? OK : ik_sqlite_survey_undelivered(local, server, address, &count);
    if (is_ok(&counted) && local != NULL && server != NULL) {
        counted = ik_store_sqlite_read_consent(local, server, &consent, &withheld);
    }
    if (is_err(&counted)) {
        ik_cli_checkup_complain(checkup, "%s", counted.message);
        return;
    }
    if (count > 0) {
        ik_cli_checkup_say("  waiting     %" PRId64 " message%s to be delivered", count,
                           plural(count));
    } else {
        ik_cli_checkup_say("  waiting     nothing: all is delivered");
    }
    if (withheld > 0) {
        ik_cli_checkup_say("  staying     %" PRId64 " session%s held without the shared history; "
                           "ikigai session deliver lists %s",
                           withheld, plural(withheld), withheld == 1 ? "it" : "them");
    }
}

static void report_server(ik_cli_checkup_t *checkup, const char *url, ik_store_t *local)
{
    ik_store_t *server;
    char *library;
    ik_store_postgres_options_t options = {
        .url = url, .wake_fd = -1, .connect_ms = SERVER_PATIENCE_MS};
    char *address = ik_config_hide_password(checkup->cli->ctx, url);
    ik_cli_checkup_say("  shared      %s", address);
    res_t ready = ik_store_postgres_describe(checkup->cli->ctx, &library);
    if (is_ok(&ready)) {
        ik_cli_checkup_say("  asked with  %s", library);
        ready = ik_store_postgres_open(checkup->cli->ctx, &options, &server);
    }
    if (is_err(&ready)) {
        ik_cli_checkup_complain(checkup, "%s", ready.message);
        report_undelivered(checkup, local, NULL, address);
        return;
    }
    ik_cli_checkup_say("  answers     yes");
    report_undelivered(checkup, local, ik_store_postgres_identity(server), address);
    talloc_free(server);
}

/* --- all of it --------------------------------------------------------------------------- */

static bool is_shared(const ik_cli_t *cli, const char *db)
{
    ik_history_options_t options = {.db = db, .file = cli->paths->database, .loop = cli->loop};
    ik_history_t *history = ik_history_create(cli->ctx, &options);
    bool shared = ik_history_is_shared(history);
    talloc_free(history);
    return shared;
}

void ik_cli_doctor_sessions(ik_cli_checkup_t *checkup, const char *db)
{
    bool shared = is_shared(checkup->cli, db);
    const char *path = shared ? checkup->cli->paths->database : db;
    ik_store_t *store = NULL;
    ik_cli_checkup_begin("Sessions");
    report_library(checkup);
    if (report_file(checkup, path)) {
        store = open_store(checkup, path);
    }
    if (store != NULL) {
        report_survey(checkup, store);
    }
    if (shared) {
        report_server(checkup, db, store);
    }
    talloc_free(store);
}
