#include "store/sqlite/sqlite_link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/random.h"

enum {
    BUSY_MS = 2000,       /* longer than any transaction of ours; blocks the loop */
    BUSY_MOST_MS = 60000, /* while others commit: hundreds of programs may start at once */
    BUSY_STEP_MS = 40,    /* between two attempts; up to twice that at random */
};

/* --- errors ------------------------------------------------------------------------------ */

/* SQLite says that a file is missing when it cannot create it there. */
static bool is_on_read_only_disk(const char *path)
{
    char *folder = ik_file_folder(NULL, path);
    bool read_only = access(folder, W_OK) != 0 && errno == EROFS;
    talloc_free(folder);
    return read_only;
}

res_t ik_sqlite_error_at(sqlite3 *db, const char *path)
{
    int number = sqlite3_system_errno(db);
    switch (sqlite3_errcode(db) & 0xff) {
    case SQLITE_FULL:
        return ERR(SYSTEM, "%s: the disk is full", path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ERR(SYSTEM, "%s: another program holds the lock on it", path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return ERR(DENIED, "%s: it is read-only", path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ERR(DAMAGED, "%s: it is damaged (%s); `ikigai doctor` saves what can be read", path,
                   sqlite3_errmsg(db));
    case SQLITE_CONSTRAINT:
        return sqlite3_extended_errcode(db) == SQLITE_CONSTRAINT_FOREIGNKEY
                   ? ERR(NOT_FOUND, "%s: the session or agent no longer exists", path)
                   : ERR(CONFLICT, "%s: %s", path, sqlite3_errmsg(db));
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
        if (is_on_read_only_disk(path)) {
            return ERR(DENIED, "%s: the file system is read-only", path);
        }
        return ERR(SYSTEM, "%s: %s", path, number == 0 ? sqlite3_errmsg(db) : strerror(number));
    default:
        return ERR(SYSTEM, "%s: %s", path, sqlite3_errmsg(db));
    }
}

res_t ik_sqlite_error(sqlite3 *db)
{
    const char *file = sqlite3_db_filename(db, "main");
    return ik_sqlite_error_at(db, file == NULL || *file == '\0' ? "the database" : file);
}

/* --- statements -------------------------------------------------------------------------- */

res_t ik_sqlite_run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? OK : ik_sqlite_error(db);
}

res_t ik_sqlite_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out)
{
    int prepared = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
    return prepared == SQLITE_OK ? OK : ik_sqlite_error(db);
}

res_t ik_sqlite_step(sqlite3_stmt *statement, bool *row)
{
    int stepped = sqlite3_step(statement);
    *row = stepped == SQLITE_ROW;
    if (*row) {
        return OK;
    }
    res_t failed = stepped == SQLITE_DONE ? OK : ik_sqlite_error(sqlite3_db_handle(statement));
    sqlite3_reset(statement);
    return failed;
}

char *ik_sqlite_copy_text(const void *ctx, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return ik_strdup(ctx, text == NULL ? "" : text);
}

res_t ik_sqlite_execute(sqlite3_stmt *statement)
{
    bool row;
    TRY(ik_sqlite_step(statement, &row));
    if (row) {
        sqlite3_reset(statement);
    }
    return OK;
}

void ik_sqlite_roll_back(sqlite3 *db)
{
    if (!sqlite3_get_autocommit(db)) {
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    }
}

res_t ik_sqlite_transact(sqlite3 *db, ik_sqlite_work_fn work, void *data)
{
    TRY(ik_sqlite_run(db, "BEGIN IMMEDIATE"));
    res_t done = work(data);
    if (is_ok(&done)) {
        done = ik_sqlite_run(db, "COMMIT");
    }
    if (is_err(&done)) {
        ik_sqlite_roll_back(db);
    }
    return done;
}

/* --- opening ----------------------------------------------------------------------------- */

/* SQLite creates -wal and -shm with the mode of the file. If the file was read-only then, they
 * would keep it from being written even after it is writable again. */
static void free_companions(const char *path)
{
    static const char *const companions[] = {"-wal", "-shm"};
    for (size_t i = 0; i < IK_LENGTH(companions); i++) {
        char *name = ik_sprintf(NULL, "%s%s", path, companions[i]);
        if (access(name, W_OK) != 0 && errno == EACCES) {
            chmod(name, 0600);
        }
        talloc_free(name);
    }
}

/* A device is refused, because SQLite would create a journal beside it. */
static res_t check_file(const char *path, const struct stat *status)
{
    if (!S_ISREG(status->st_mode)) {
        return ERR(SYSTEM, "%s: it is not a regular file", path);
    }
    if ((status->st_mode & 0200) != 0) {
        free_companions(path);
    }
    return OK;
}

static res_t make_file(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0) {
        return check_file(path, &status);
    }
    char *folder = ik_file_folder(NULL, path);
    res_t made = ik_file_make_private_folder(folder);
    talloc_free(folder);
    TRY(made);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return errno == EEXIST ? OK : ERR(SYSTEM, "%s: %s", path, strerror(errno));
    }
    fchmod(fd, 0600);
    close(fd);
    return OK;
}

/* Locks the folder: a lock on the file would be lost with the first descriptor that SQLite closes,
 * and a lock file would be left behind. If the folder cannot be locked, SQLite's locks must do. */
int ik_sqlite_begin_making(const char *path)
{
    struct stat status;
    if (strcmp(path, ":memory:") == 0 || (stat(path, &status) == 0 && status.st_size > 0)) {
        return -1;
    }
    char *folder = ik_file_folder(NULL, path);
    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    talloc_free(folder);
    int64_t end = ik_clock_now_ms() + BUSY_MOST_MS;
    while (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || ik_clock_now_ms() >= end) {
            close(lock);
            return -1;
        }
        sqlite3_sleep(BUSY_STEP_MS / 4);
    }
    return lock;
}

void ik_sqlite_end_making(int lock)
{
    if (lock >= 0) {
        close(lock);
    }
}

/* Failures are ignored. */
void ik_sqlite_make_private(sqlite3 *db)
{
    static const char *const companions[] = {"", "-wal", "-shm"};
    const char *path = sqlite3_db_filename(db, "main");
    for (size_t i = 0; path != NULL && *path != '\0' && i < 3; i++) {
        struct stat status;
        char *name = ik_sprintf(NULL, "%s%s", path, companions[i]);
        bool mine =
            stat(name, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
        if (mine && (status.st_mode & 077) != 0) {
            chmod(name, 0600);
        }
        talloc_free(name);
    }
}

/* --- waiting for a lock -------------------------------------------------------------------- */

/* Changes with every commit of any program. */
static uint64_t fingerprint(sqlite3 *db)
{
    static const char *const companions[] = {"", "-wal"};
    const char *path = sqlite3_db_filename(db, "main");
    uint64_t sum = 0;
    for (size_t i = 0; i < IK_LENGTH(companions); i++) {
        struct stat status;
        char *name = ik_sprintf(NULL, "%s%s", path == NULL ? "" : path, companions[i]);
        if (stat(name, &status) == 0) {
            sum = 31 * sum + (uint64_t)status.st_size + (uint64_t)status.st_mtim.tv_sec;
            sum = 31 * sum + (uint64_t)status.st_mtim.tv_nsec;
        }
        talloc_free(name);
    }
    return sum;
}

/* Gives up soon if one program keeps the lock. As long as others commit, the lock changes hands and
 * this program gets it, too, so waiting longer is right. The time is counted in pauses as they were
 * meant: when the machine is so busy that they take longer, the holder of the lock needs longer,
 * too. */
static int on_busy(void *data, int count)
{
    static _Thread_local struct {
        int whole_ms;
        int still_ms; /* since the others last committed */
        uint64_t print;
    } wait; /* a thread waits for one lock at a time */
    uint64_t print = fingerprint(data);
    if (count == 0) {
        wait.whole_ms = 0;
    }
    if (count == 0 || print != wait.print) {
        wait.still_ms = 0;
        wait.print = print;
    }
    if (wait.still_ms >= BUSY_MS || wait.whole_ms >= BUSY_MOST_MS) {
        return 0;
    }
    /* Rare and random attempts, so that hundreds of waiting programs do not slow down the writer.
     */
    int step = count < BUSY_STEP_MS ? count + 1 : BUSY_STEP_MS;
    step += (int)(ik_random() % (uint64_t)step);
    sqlite3_sleep(step);
    wait.still_ms += step;
    wait.whole_ms += step;
    return 1;
}

static res_t set_up(sqlite3 *db)
{
    sqlite3_busy_handler(db, on_busy, db);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return ik_sqlite_run(db, "PRAGMA foreign_keys=ON; PRAGMA synchronous=NORMAL; "
                             "PRAGMA temp_store=MEMORY");
}

res_t ik_sqlite_open(const char *path, sqlite3 **db)
{
    if (strcmp(path, ":memory:") != 0) {
        TRY(make_file(path));
    }
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int opened = sqlite3_open_v2(path, db, flags, NULL);
    res_t ready = opened == SQLITE_OK ? set_up(*db) : ik_sqlite_error_at(*db, path);
    if (is_err(&ready)) {
        sqlite3_close_v2(*db);
        *db = NULL;
    }
    return ready;
}
