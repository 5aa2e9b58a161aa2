/* Tests of the SQLite file itself: permissions, old, foreign and damaged files, full disks and
 * locks.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/file.h"
#include "store/sqlite/sqlite_schema.h"
#include "store_backend.h"
#include "store_log.h"

enum { NOBODY = 65534 };

static void *ctx;

static void set_up(void)
{
    scratch_empty();
    ctx = talloc_new(NULL);
}

/* First of all, become root again for the next test. */
static void tear_down(void)
{
    struct rlimit size = {RLIM_INFINITY, RLIM_INFINITY};
    if (getuid() == 0) {
        ck_assert_int_eq(seteuid(0), 0);
    }
    setrlimit(RLIMIT_FSIZE, &size);
    umask(022);
    talloc_free(ctx);
}

static ik_store_t *open_store(void)
{
    return backend_open_file(ctx, backend_file());
}

static res_t try_open(const char *path)
{
    ik_store_t *store;
    return ik_store_sqlite_open(ctx, path, &store);
}

/* The bytes of a database that all programs have closed. */
static void make_store(void)
{
    ik_store_t *store = open_store();
    log_say(store, LOG_ID, "hello");
    talloc_free(store);
}

/* Runs SQL behind the store's back. */
static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db;
    char *problem = NULL;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_exec(db, sql, NULL, NULL, &problem);
    ck_assert_msg(problem == NULL, "%s", problem);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

static int query_number(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    ck_assert_int_eq(sqlite3_open(backend_file(), &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    int number = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return number;
}

static char *read_file(const char *path, size_t *len)
{
    char *bytes;
    log_assert_ok(ik_file_read(ctx, path, 64 << 20, &bytes, len));
    return bytes;
}

/* --- privacy ----------------------------------------------------------------------------- */

START_TEST(the_file_is_private_whatever_the_umask)
{
    umask(0);
    ik_store_t *store = backend_open_file(ctx, scratch_path("new/folder/history.db"));
    log_say(store, LOG_ID, "hello");
    ck_assert_uint_eq(scratch_mode("new"), 0700);
    ck_assert_uint_eq(scratch_mode("new/folder"), 0700);
    ck_assert_uint_eq(scratch_mode("new/folder/history.db"), 0600);
    ck_assert_uint_eq(scratch_mode("new/folder/history.db-wal"), 0600);
    ck_assert_uint_eq(scratch_mode("new/folder/history.db-shm"), 0600);
}
END_TEST

START_TEST(a_file_that_others_may_read_becomes_private)
{
    make_store();
    ck_assert_int_eq(chmod(backend_file(), 0644), 0);
    talloc_free(open_store());
    ck_assert_uint_eq(scratch_mode("history.db"), 0600);
}
END_TEST

START_TEST(a_file_in_memory_leaves_nothing)
{
    ik_store_t *store = backend_open_file(ctx, ":memory:");
    log_say(store, LOG_ID, "hello");
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).messages, 1);
    ck_assert_str_eq(log_dump_all(ctx, backend_open_file(ctx, ":memory:")), "");
    ck_assert_int_ne(access(":memory:", F_OK), 0);
}
END_TEST

/* --- foreign and damaged files ----------------------------------------------------------- */

/* Refused with a line that names the file, which is unchanged and has no companions. */
static void check_refused(ik_error_code_t code, const char *reason)
{
    size_t len_before;
    size_t len;
    ck_assert_int_eq(chmod(backend_file(), 0644), 0);
    char *before = read_file(backend_file(), &len_before);
    for (int times = 0; times < 2; times++) {
        res_t opened = try_open(backend_file());
        log_assert_code(opened, code);
        ck_assert_msg(strstr(opened.message, "history.db") != NULL &&
                          strstr(opened.message, reason) != NULL,
                      "%s", opened.message);
    }
    char *after = read_file(backend_file(), &len);
    ck_assert_uint_eq(len, len_before);
    ck_assert(memcmp(after, before, len) == 0);
    ck_assert_uint_eq(scratch_mode("history.db"), 0644);
    ck_assert_int_ne(access(scratch_path("history.db-wal"), F_OK), 0);
    ck_assert_int_ne(access(scratch_path("history.db-journal"), F_OK), 0);
}

START_TEST(a_newer_file_is_refused)
{
    make_store();
    run_sql(backend_file(), "INSERT INTO schema_version VALUES(99)");
    check_refused(IK_ERR_CONFLICT, "newer");
}
END_TEST

START_TEST(a_database_of_others_is_refused)
{
    run_sql(backend_file(), "CREATE TABLE sessions(id); INSERT INTO sessions VALUES(1)");
    check_refused(IK_ERR_CONFLICT, "of another application");
}
END_TEST

START_TEST(no_database_at_all_is_refused)
{
    char *text = ik_new_array(ctx, char, 100001);
    scratch_write("history.db", "Dear diary,\ntoday I wrote a file that is no database.\n");
    check_refused(IK_ERR_DAMAGED, "damaged");
    memset(text, 'x', 100000);
    scratch_write("history.db", text);
    check_refused(IK_ERR_DAMAGED, "damaged");
}
END_TEST

/* The first page says what kind of file it is, the second and further ones hold tables. */
static void overwrite(off_t offset, size_t len)
{
    char *noise = ik_new_array(ctx, char, len);
    memset(noise, 0x5a, len);
    int fd = open(backend_file(), O_WRONLY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, noise, len, offset), len);
    close(fd);
}

START_TEST(a_file_that_lost_its_beginning_is_refused)
{
    make_store();
    overwrite(0, 100);
    check_refused(IK_ERR_DAMAGED, "damaged");
}
END_TEST

static void fill_store(void)
{
    ik_store_t *store = open_store();
    log_assert_ok(log_begin(store, LOG_ID));
    for (int64_t seq = 1; seq <= 500; seq++) {
        char *words = ik_sprintf(ctx, "%" PRId64 " words that fill a few pages of the file", seq);
        log_assert_ok(log_write_one(store, log_event(LOG_ID, seq, "user", words, NULL)));
    }
    log_assert_ok(ik_store_sqlite_check(store));
    talloc_free(store);
}

START_TEST(damage_in_the_middle_is_seen_by_the_check)
{
    ik_store_t *store;
    fill_store();
    overwrite(8192, 60000);
    res_t checked = ik_store_sqlite_open(ctx, backend_file(), &store);
    if (is_ok(&checked)) {
        checked = ik_store_sqlite_check(store);
    }
    log_assert_code(checked, IK_ERR_DAMAGED);
    ck_assert_ptr_nonnull(strstr(checked.message, "history.db"));
}
END_TEST

/* --- earlier schemas --------------------------------------------------------------------- */

/* What both fixtures hold. */
static const char migrated[] =
    "00000000000000a2 5:/else 5:there 5:p/new 12:second words 1700000100000000 1700000100000004"
    " turns 2 messages 4 120 80 -1 34 5 0.75\n"
    "  agent 1 of 0 at 0 1700000100000000 to 3 1700000100000003\n"
    "    1/1 1700000100000001 4:user 12:second words none\n"
    "    1/2 1700000100000002 9:assistant 6:answer"
    " 86:{\"model\":\"p/old\",\"usage\":{\"in\":100,\"cached\":80,\"out\":30,\"reasoning\":5},"
    "\"cost_usd\":0.5}\n"
    "    1/3 1700000100000003 4:user 5:again none\n"
    "  agent 2 of 1 at 2 1700000100000000 to 3 1700000100000004\n"
    "    2/3 1700000100000004 9:assistant none"
    " 59:{\"model\":\"p/new\",\"usage\":{\"in\":20,\"out\":4},\"cost_usd\":0.25}\n"
    "00000000000000a1 5:/work 4:here 8:p/chosen 19:Gr\xc3\xb6\xc3\x9f"
    "e of a needle"
    " 1700000000000000 1700000000000001 turns 1 messages 2 -1 -1 -1 -1 -1 -1\n"
    "  agent 1 of 0 at 0 1700000000000000 to 2 1700000000000002\n"
    "    1/1 1700000000000001 4:user 19:Gr\xc3\xb6\xc3\x9f"
    "e of a needle none\n"
    "    1/2 1700000000000002 11:tool_result 1000:";

static void load_fixture(const char *name)
{
    size_t len;
    run_sql(backend_file(), read_file(ik_sprintf(ctx, "tests/store/%s.sql", name), &len));
}

static size_t count_hits(ik_store_t *store, const char *text)
{
    ik_store_hits_t *hits;
    log_assert_ok(
        ik_store_search(ctx, store, &(ik_store_search_t){.text = text, .limit = 10}, &hits));
    return hits->count;
}

static void check_migrated(void)
{
    ik_store_t *store = open_store();
    char *all = log_dump_all(ctx, store);
    ck_assert_msg(strncmp(all, migrated, strlen(migrated)) == 0, "%s", all);
    ck_assert_uint_eq(strspn(all + strlen(migrated), "x"), 1000); /* was stored packed */
    ck_assert_uint_eq(count_hits(store, "needle"), 1);
    ck_assert_uint_eq(count_hits(store, "second words"), 1);
    ck_assert_uint_eq(count_hits(store, "again"), 1);
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 3, "user", "newest", NULL)));
    ck_assert_uint_eq(count_hits(store, "newest"), 1);
    log_assert_ok(ik_store_sqlite_check(store));
    talloc_free(store);
    ck_assert_int_eq(query_number("SELECT max(version) FROM schema_version"), IK_SQLITE_SCHEMA);
    ck_assert_int_eq(query_number("SELECT count(*) FROM schema_version"), IK_SQLITE_SCHEMA);
}

START_TEST(schema_1_is_brought_up_to_date)
{
    load_fixture("schema_1");
    check_migrated();
}
END_TEST

START_TEST(schema_2_is_brought_up_to_date)
{
    load_fixture("schema_2");
    check_migrated();
}
END_TEST

/* A server that got everything before the migration still gets everything. */
START_TEST(schema_3_is_brought_up_to_date)
{
    ik_store_consent_t consent;
    int64_t withheld;
    load_fixture("schema_3");
    check_migrated();
    ik_store_t *store = open_store();
    log_assert_ok(ik_store_sqlite_read_consent(store, "a server", &consent, &withheld));
    ck_assert_int_eq(consent, IK_STORE_SHARE_ALL);
    ck_assert_int_eq(withheld, 0);
    log_assert_ok(ik_store_sqlite_read_consent(store, "another", &consent, &withheld));
    ck_assert_int_eq(consent, IK_STORE_SHARE_UNDECIDED);
    ck_assert_int_eq(withheld, 2);
    talloc_free(store);
}
END_TEST

START_TEST(schema_4_is_brought_up_to_date)
{
    load_fixture("schema_4");
    check_migrated();
    ck_assert_int_eq(query_number("SELECT count(*) FROM sqlite_master WHERE name = 'records'"), 1);
}
END_TEST

/* There is a fixture for each version but the current one. */
START_TEST(no_earlier_schema_is_forgotten)
{
    for (int version = 1; version <= IK_SQLITE_SCHEMA; version++) {
        char *path = ik_sprintf(ctx, "tests/store/schema_%d.sql", version);
        ck_assert_msg((access(path, R_OK) == 0) == (version < IK_SQLITE_SCHEMA), "%s", path);
    }
}
END_TEST

/* --- several programs -------------------------------------------------------------------- */

/* Runs work in that many processes at once; all must end well. */
static void run_processes(int count, void (*work)(int number))
{
    pid_t children[16];
    for (int i = 0; i < count; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            work(i);
            talloc_free(ctx);
            _exit(0);
        }
    }
    for (int i = 0; i < count; i++) {
        int status;
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_int_eq(status, 0);
    }
}

/* Used in a child, where a failed assertion would continue with the next test. Not getting a lock
 * in time, as on a busy machine, is no failure: the writer tries again. */
static bool must_try_again(res_t result)
{
    static int tries;
    if (is_err(&result) && (strstr(result.message, "lock") == NULL || ++tries > 100)) {
        fprintf(stderr, "%s\n", result.message);
        _exit(1);
    }
    return is_err(&result);
}

static void open_and_write(int number)
{
    enum { EVENTS = 50 };
    ik_store_t *store;
    char *id = ik_sprintf(ctx, "00000000000000d%x", number);
    while (must_try_again(ik_store_sqlite_open(ctx, backend_file(), &store))) {
    }
    while (must_try_again(log_begin(store, id))) {
    }
    for (int64_t seq = 1; seq <= EVENTS; seq++) {
        while (must_try_again(log_write_one(store, log_event(id, seq, "user", "words", NULL)))) {
        }
    }
}

static void check_all_written(size_t sessions, size_t others)
{
    ik_store_list_t *list;
    ik_store_t *store = open_store();
    log_assert_ok(ik_store_list(ctx, store, &(ik_store_filter_t){.limit = 0}, &list));
    ck_assert_uint_eq(list->count, sessions + others);
    for (size_t i = 0; i < sessions; i++) {
        ck_assert_int_eq(log_find(ctx, store, ik_sprintf(ctx, "00000000000000d%zx", i)).turns, 50);
    }
    log_assert_ok(ik_store_sqlite_check(store));
}

START_TEST(many_programs_begin_a_file_at_once)
{
    run_processes(8, open_and_write);
    check_all_written(8, 0);
    ck_assert_int_eq(query_number("SELECT count(*) FROM schema_version"), IK_SQLITE_SCHEMA);
}
END_TEST

START_TEST(many_programs_bring_a_file_up_to_date_at_once)
{
    load_fixture("schema_1");
    run_processes(8, open_and_write);
    check_all_written(8, 2);
    ck_assert_int_eq(query_number("SELECT count(*) FROM schema_version"), IK_SQLITE_SCHEMA);
}
END_TEST

/* --- when it cannot be written ----------------------------------------------------------- */

/* Becomes a user to whom permissions apply. */
static void be_ordinary(void)
{
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(scratch_folder, NOBODY, NOBODY), 0);
        ck_assert_int_eq(seteuid(NOBODY), 0);
    }
}

static void check_denied(res_t result)
{
    ck_assert(is_err(&result));
    ck_assert_msg(strstr(result.message, "history.db") != NULL &&
                      (strstr(result.message, "read-only") != NULL ||
                       strstr(result.message, "Permission denied") != NULL),
                  "%s", result.message);
}

START_TEST(a_read_only_file_can_be_read)
{
    be_ordinary();
    make_store();
    ck_assert_int_eq(chmod(backend_file(), 0400), 0);
    ik_store_t *store = open_store();
    ck_assert_str_eq(log_find(ctx, store, LOG_ID).title, "hello");
    res_t written = log_write_one(store, log_event(LOG_ID, 2, "user", "x", NULL));
    check_denied(written);
    ck_assert_int_eq(written.code, IK_ERR_DENIED);
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).messages, 1);
}
END_TEST

START_TEST(a_file_that_may_not_be_read_is_refused)
{
    be_ordinary();
    make_store();
    ck_assert_int_eq(chmod(backend_file(), 0), 0);
    check_denied(try_open(backend_file()));
}
END_TEST

START_TEST(a_folder_that_may_not_be_written_is_named)
{
    be_ordinary();
    scratch_make_folder("closed");
    ck_assert_int_eq(chmod(scratch_path("closed"), 0500), 0);
    check_denied(try_open(scratch_path("closed/history.db")));
}
END_TEST

START_TEST(a_folder_is_no_file)
{
    scratch_make_folder("history.db");
    res_t opened = try_open(backend_file());
    ck_assert(is_err(&opened));
    ck_assert_ptr_nonnull(strstr(opened.message, "history.db"));
}
END_TEST

START_TEST(a_locked_file_is_written_later)
{
    ik_store_t *store = open_store();
    sqlite3 *locker;
    log_say(store, LOG_ID, "hello");
    ck_assert_int_eq(sqlite3_open(backend_file(), &locker), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(locker, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    res_t written = log_write_one(store, log_event(LOG_ID, 2, "user", "x", NULL));
    ck_assert(is_err(&written));
    ck_assert_ptr_nonnull(strstr(written.message, "lock"));
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).messages, 1);
    ck_assert_int_eq(sqlite3_exec(locker, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(locker);
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 2, "user", "x", NULL)));
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).messages, 2);
}
END_TEST

/* A file that may not grow is like a disk that is full. */
START_TEST(a_full_disk_costs_nothing_that_was_there)
{
    enum { SIZE = 1 << 20 };
    ik_store_t *store = open_store();
    struct rlimit size = {.rlim_cur = 200 * 1024, .rlim_max = RLIM_INFINITY};
    char *text = ik_new_array(ctx, char, SIZE + 1);
    uint32_t noise = 5;
    for (size_t i = 0; i < SIZE; i++) {
        noise = noise * 1664525 + 1013904223;
        text[i] = (char)('!' + (noise >> 16) % 90);
    }
    log_say(store, LOG_ID, "hello");
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &size), 0);
    res_t written = log_write_one(store, log_event(LOG_ID, 2, "user", text, NULL));
    ck_assert(is_err(&written));
    ck_assert_msg(strstr(written.message, "history.db") != NULL, "%s", written.message);
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).messages, 1);
    size.rlim_cur = RLIM_INFINITY;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &size), 0);
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 2, "user", text, NULL)));
    log_assert_ok(ik_store_sqlite_check(store));
}
END_TEST

/* Even if the space is not returned. */
START_TEST(what_is_deleted_is_overwritten)
{
    size_t len;
    fill_store();
    char *bytes = read_file(backend_file(), &len);
    ck_assert_ptr_nonnull(memmem(bytes, len, "few pages", 9));
    ik_store_t *store = open_store();
    log_assert_ok(ik_store_remove(store, LOG_ID));
    talloc_free(store);
    bytes = read_file(backend_file(), &len);
    ck_assert_ptr_null(memmem(bytes, len, "few pages", 9));
}
END_TEST

START_TEST(what_is_deleted_is_given_back)
{
    size_t full;
    size_t less;
    size_t empty;
    ik_store_t *store = open_store();
    log_say(store, "00000000000000b1", "stays");
    talloc_free(store);
    read_file(backend_file(), &empty);
    fill_store();
    read_file(backend_file(), &full);
    store = open_store();
    log_assert_ok(ik_store_remove(store, LOG_ID));
    log_assert_ok(ik_store_sqlite_shrink(store));
    talloc_free(store);
    read_file(backend_file(), &less);
    ck_assert_uint_ge(full, empty + 20000);
    ck_assert_uint_le(less, empty + 10000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_file");
    TCase *tests = tcase_create("file");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, the_file_is_private_whatever_the_umask);
    tcase_add_test(tests, a_file_that_others_may_read_becomes_private);
    tcase_add_test(tests, a_file_in_memory_leaves_nothing);
    tcase_add_test(tests, a_newer_file_is_refused);
    tcase_add_test(tests, a_database_of_others_is_refused);
    tcase_add_test(tests, no_database_at_all_is_refused);
    tcase_add_test(tests, a_file_that_lost_its_beginning_is_refused);
    tcase_add_test(tests, damage_in_the_middle_is_seen_by_the_check);
    tcase_add_test(tests, schema_1_is_brought_up_to_date);
    tcase_add_test(tests, schema_2_is_brought_up_to_date);
    tcase_add_test(tests, schema_3_is_brought_up_to_date);
    tcase_add_test(tests, schema_4_is_brought_up_to_date);
    tcase_add_test(tests, no_earlier_schema_is_forgotten);
    tcase_add_test(tests, many_programs_begin_a_file_at_once);
    tcase_add_test(tests, many_programs_bring_a_file_up_to_date_at_once);
    tcase_add_test(tests, a_read_only_file_can_be_read);
    tcase_add_test(tests, a_file_that_may_not_be_read_is_refused);
    tcase_add_test(tests, a_folder_that_may_not_be_written_is_named);
    tcase_add_test(tests, a_folder_is_no_file);
    tcase_add_test(tests, a_locked_file_is_written_later);
    tcase_add_test(tests, a_full_disk_costs_nothing_that_was_there);
    tcase_add_test(tests, what_is_deleted_is_overwritten);
    tcase_add_test(tests, what_is_deleted_is_given_back);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
