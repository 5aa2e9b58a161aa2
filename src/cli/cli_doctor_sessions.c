#include "cli/cli_doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "conversation/figure.h"
#include "store/history.h"
#include "store/history_survey.h"

#define CHOOSE "; no session can be saved there: repair it, or choose another file with --db"

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* --- the file ---------------------------------------------------------------------------- */

/* The size of the database and of the log of changes that SQLite has not yet moved into it. */
static size_t size_of(const char *path, const struct stat *status)
{
    struct stat log;
    char *name = ik_sprintf(NULL, "%s-wal", path);
    bool has_log = stat(name, &log) == 0;
    talloc_free(name);
    return (size_t)status->st_size + (has_log ? (size_t)log.st_size : 0);
}

static void report_missing(ik_cli_doctor_t *doctor, const char *path)
{
    struct stat status = {0};
    const char *place = path; /* then the folder in which the first missing one would be created */
    while (lstat(place, &status) != 0 && errno == ENOENT && strcmp(place, ".") != 0) {
        place = ik_file_folder(doctor->cli->ctx, place);
    }
    if (S_ISLNK(status.st_mode) && access(place, F_OK) != 0) {
        ik_cli_doctor_complain(doctor, "%s: the symbolic link is broken" CHOOSE, place);
    } else if (access(place, W_OK | X_OK) != 0) {
        ik_cli_doctor_complain(doctor, "%s cannot be created in %s: %s" CHOOSE, path, place,
                               strerror(errno));
    } else {
        ik_cli_doctor_say("  file        %s: not there yet; the first session creates it", path);
    }
}

/* Returns false when there is no file to open. */
static bool report_file(ik_cli_doctor_t *doctor, const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0) {
        ik_cli_doctor_say("  file        %s (%s, mode %04o)", path,
                          ik_figure_of_size(size_of(path, &status)).text,
                          (unsigned)(status.st_mode & 07777));
        return true;
    }
    if (errno == ENOENT) {
        report_missing(doctor, path);
    } else {
        ik_cli_doctor_complain(doctor, "%s: %s" CHOOSE, path, strerror(errno));
    }
    return false;
}

static void report_survey(ik_cli_doctor_t *doctor, ik_store_t *store)
{
    ik_history_survey_t survey;
    res_t surveyed = ik_history_survey_local(doctor->cli->ctx, store, &survey);
    if (is_err(&surveyed)) {
        ik_cli_doctor_complain(doctor, "%s", surveyed.message);
        return;
    }
    ik_cli_doctor_say("  holds       %" PRId64 " session%s, %" PRId64 " message%s", survey.sessions,
                      plural(survey.sessions), survey.messages, plural(survey.messages));
    for (size_t i = 0; i < survey.use_count; i++) {
        const ik_history_use_t *use = &survey.uses[i];
        ik_cli_doctor_say("  in use      session %s by pid %" PRId64 " on %s", use->session_id,
                          use->holder.pid, use->holder.host);
    }
}

/* --- the contents that sessions refer to --------------------------------------------------- */

/* A folder that is missing is made when it is needed. */
static void check_contents(ik_cli_doctor_t *doctor)
{
    static const char *const parts[] = {"", "/files", "/states", "/images"};
    static const char so[] = "so files cannot be kept for undo, or images for sessions";
    for (size_t i = 0; i < IK_LENGTH(parts); i++) {
        const char *folder =
            ik_sprintf(doctor->cli->ctx, "%s%s", doctor->cli->paths->blobs, parts[i]);
        struct stat status;
        if (lstat(folder, &status) != 0) {
            continue;
        }
        if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode)) {
            ik_cli_doctor_complain(doctor, "%s is not a folder, %s: move it away", folder, so);
        } else if (access(folder, R_OK | W_OK | X_OK) != 0) {
            ik_cli_doctor_complain(doctor, "%s cannot be written, %s: %s", folder, so,
                                   status.st_uid == geteuid() ? "chmod u+rwx it"
                                                              : "chown it to yourself");
        }
    }
}

/* --- a damaged file ---------------------------------------------------------------------- */

static bool salvage(ik_cli_doctor_t *doctor, const char *path)
{
    ik_history_salvage_t report;
    res_t saved = ik_history_survey_salvage(doctor->cli->ctx, path, &report);
    if (is_err(&saved)) {
        ik_cli_doctor_complain(doctor, "nothing was saved, and the file is unchanged: %s",
                               saved.message);
        return false;
    }
    ik_cli_doctor_say("  set aside   as %s", report.aside);
    if (report.messages == 0) {
        ik_cli_doctor_say("  saved       nothing: no message can be read; a new file was created");
    } else {
        ik_cli_doctor_say("  saved       %" PRId64 " session%s with %" PRId64
                          " message%s, copied into a new file",
                          report.sessions, plural(report.sessions), report.messages,
                          plural(report.messages));
    }
    if (report.lost > 0) {
        ik_cli_doctor_say("  lost        %" PRId64 " message%s", report.lost, plural(report.lost));
    } else if (report.lost < 0) {
        ik_cli_doctor_say("  lost        an unknown number of messages: see the file set aside");
    }
    return true;
}

/* Whether the file was named by mistake: it does not begin as databases do, and is not the one in
 * the home of ikigai. */
static bool is_foreign(const ik_cli_doctor_t *doctor, const char *path)
{
    static const char magic[] = "SQLite format 3"; /* with its NUL */
    char begin[sizeof(magic)] = "";
    if (strcmp(path, doctor->cli->paths->database) == 0) {
        return false;
    }
    FILE *file = fopen(path, "re");
    size_t len = file == NULL ? 0 : fread(begin, 1, sizeof(begin), file);
    if (file != NULL) {
        fclose(file);
    }
    return len > 0 && memcmp(begin, magic, sizeof(magic)) != 0;
}

/* Opens the file, after salvaging it if it is damaged. Returns NULL if it cannot be opened. */
static ik_store_t *open_store(ik_cli_doctor_t *doctor, const char *path)
{
    ik_store_t *store = NULL;
    res_t opened = ik_history_survey_open(doctor->cli->ctx, path, &store);
    if (opened.code == IK_ERR_DAMAGED && is_foreign(doctor, path)) {
        ik_cli_doctor_complain(doctor, "%s is not a database, and was left alone" CHOOSE, path);
        return NULL;
    }
    if (opened.code == IK_ERR_DAMAGED) {
        ik_cli_doctor_complain(doctor, "%s", opened.message);
        if (!salvage(doctor, path)) {
            return NULL;
        }
        opened = ik_history_survey_open(doctor->cli->ctx, path, &store);
    }
    if (is_err(&opened)) {
        /* The message of a conflict already says what to do. */
        ik_cli_doctor_complain(doctor, "%s%s", opened.message,
                               opened.code == IK_ERR_CONFLICT ? "" : CHOOSE);
        return NULL;
    }
    ik_cli_doctor_say("  integrity   everything can be read");
    if (access(path, W_OK) != 0) {
        ik_cli_doctor_complain(doctor,
                               "%s is read-only, so no session can be saved: run chmod u+w '%s', "
                               "or choose another file with --db",
                               path, path);
    }
    return store;
}

/* --- the shared history ------------------------------------------------------------------ */

/* identity is NULL when the server does not answer. */
static void report_undelivered(ik_cli_doctor_t *doctor, ik_store_t *local, const char *identity,
                               const char *address)
{
    int64_t count;
    int64_t withheld;
    res_t counted = ik_history_survey_undelivered(local, identity, address, &count, &withheld);
    if (is_err(&counted)) {
        ik_cli_doctor_complain(doctor, "%s", counted.message);
        return;
    }
    if (count > 0) {
        ik_cli_doctor_say("  waiting     %" PRId64 " message%s to be delivered", count,
                          plural(count));
    } else {
        ik_cli_doctor_say("  waiting     nothing: everything is delivered");
    }
    if (withheld > 0) {
        ik_cli_doctor_say("  not shared  %" PRId64 " session%s; ikigai session deliver lists %s",
                          withheld, plural(withheld), withheld == 1 ? "it" : "them");
    }
}

/* local is NULL when the file is missing or cannot be opened: there is nothing to deliver. */
static void report_server(ik_cli_doctor_t *doctor, const char *url, ik_store_t *local)
{
    char *library;
    char *identity = NULL;
    char *address = ik_config_hide_password(doctor->cli->ctx, url);
    ik_cli_doctor_say("  shared      %s", address);
    res_t ready = ik_history_survey_libpq(doctor->cli->ctx, &library);
    if (is_ok(&ready)) {
        ik_cli_doctor_say("  client      %s", library);
        ready = ik_history_survey_server(doctor->cli->ctx, url, &identity);
    }
    if (is_err(&ready)) {
        ik_cli_doctor_complain(doctor, "%s", ready.message);
    } else {
        ik_cli_doctor_say("  answers     yes");
    }
    if (local == NULL) {
        ik_cli_doctor_say("  waiting     nothing: everything is delivered");
    } else {
        report_undelivered(doctor, local, identity, address);
    }
}

void ik_cli_doctor_sessions(ik_cli_doctor_t *doctor, const char *db)
{
    const char *path = ik_history_local_file(db, doctor->cli->paths->database);
    ik_store_t *store = NULL;
    char *library;
    ik_cli_doctor_begin(doctor, "Sessions");
    res_t described = ik_history_survey_sqlite(doctor->cli->ctx, &library);
    if (is_ok(&described)) {
        ik_cli_doctor_say("  library     %s", library);
    } else {
        ik_cli_doctor_complain(doctor, "%s", described.message);
    }
    res_t usable = ik_history_check_db(db, doctor->cli->paths->database);
    if (is_err(&usable)) {
        ik_cli_doctor_complain(doctor, "%s", usable.message);
    } else if (report_file(doctor, path)) {
        store = open_store(doctor, path);
    }
    if (store != NULL) {
        report_survey(doctor, store);
    }
    check_contents(doctor);
    if (strcmp(path, db) != 0) { /* db is a URL */
        report_server(doctor, db, store);
    }
    talloc_free(store);
}
