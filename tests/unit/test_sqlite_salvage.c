/* Damaged files of the SQLite store: all that can be read is saved, in order and numbered without
 * gaps, and the damaged file itself is as it was, under another name. */
#include <dirent.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <time.h>

#include "base/file.h"
#include "base/random.h"
#include "scratch.h"
#include "store/sqlite/sqlite_salvage.h"
#include "store/sqlite/sqlite_schema.h"
#include "store/sqlite/store_sqlite.h"
#include "store_log.h"

enum { PAGE = 4096, MANY = 1500 };

#define FORKED_ID "00000000000000f1"

static void *ctx;

static void set_up(void)
{
    scratch_empty();
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    struct rlimit size = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &size);
    talloc_free(ctx);
}

/* --- files ------------------------------------------------------------------------------- */

static const char *file(void)
{
    return scratch_path("history.db");
}

static ik_store_t *open_store(void)
{
    ik_store_t *store;
    log_assert_ok(ik_store_sqlite_open(ctx, file(), &store));
    return store;
}

static char *read_bytes(const char *path, size_t *len)
{
    char *bytes;
    log_assert_ok(ik_file_read(ctx, path, SIZE_MAX / 2, &bytes, len));
    return bytes;
}

static void write_bytes(const char *path, const char *bytes, size_t len)
{
    log_assert_ok(ik_file_write_private(path, bytes, len));
}

static void assert_same_bytes(const char *path, const char *bytes, size_t len)
{
    size_t now;
    char *there = read_bytes(path, &now);
    ck_assert_uint_eq(now, len);
    ck_assert_msg(memcmp(there, bytes, len) == 0, "%s has changed", path);
    talloc_free(there);
}

/* How many entries the scratch folder has. */
static int count_files(void)
{
    DIR *folder = opendir(scratch_folder);
    ck_assert_ptr_nonnull(folder);
    int count = -2;
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

/* Past the store; foreign keys are off. */
static void run_sql(const char *sql)
{
    sqlite3 *db;
    char *problem = NULL;
    ck_assert_int_eq(sqlite3_open(file(), &db), SQLITE_OK);
    sqlite3_exec(db, sql, NULL, NULL, &problem);
    ck_assert_msg(problem == NULL, "%s", problem);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

/* --- histories --------------------------------------------------------------------------- */

static ik_store_event_t numbered(const char *id, int64_t agent, int64_t seq)
{
    ik_store_event_t event = log_event(id, seq, seq % 2 == 1 ? "user" : "assistant",
                                       ik_sprintf(ctx, "%" PRId64 "/%" PRId64, agent, seq), NULL);
    event.agent = agent;
    return event;
}

/* Events of an agent from one seq to another. */
static void append(ik_store_t *store, const char *id, int64_t agent, int64_t from, int64_t to)
{
    ik_store_event_t *events = ik_new_array(ctx, ik_store_event_t, (size_t)(to - from + 1));
    for (int64_t seq = from; seq <= to; seq++) {
        events[seq - from] = numbered(id, agent, seq);
    }
    log_assert_ok(log_write(store, events, (size_t)(to - from + 1)));
    talloc_free(events);
}

static void begin_session(ik_store_t *store, const char *id, int64_t messages)
{
    log_assert_ok(log_begin(store, id));
    append(store, id, IK_STORE_ROOT_AGENT, 1, messages);
}

static void fork_agent(ik_store_t *store, int64_t number, int64_t parent, int64_t forked_at)
{
    ik_store_agent_t agent = {.session_id = FORKED_ID,
                              .number = number,
                              .parent = parent,
                              .forked_at = forked_at,
                              .created_us = LOG_TIME};
    log_assert_ok(ik_store_write(store, &(ik_store_batch_t){.agents = &agent, .agent_count = 1}));
}

/* 2 goes on from the sixth event of 1, 3 from the fourth, which 2 has from 1, 4 from what 2 said
 * itself, 5 from 1 again; and they take turns. */
static void make_forks(ik_store_t *store)
{
    begin_session(store, FORKED_ID, 8);
    fork_agent(store, 2, 1, 6);
    append(store, FORKED_ID, 2, 7, 8);
    append(store, FORKED_ID, 1, 9, 10);
    append(store, FORKED_ID, 2, 9, 10);
    fork_agent(store, 3, 2, 4);
    append(store, FORKED_ID, 3, 5, 6);
    fork_agent(store, 4, 2, 9);
    append(store, FORKED_ID, 4, 10, 12);
    fork_agent(store, 5, 1, 9);
    append(store, FORKED_ID, 5, 10, 10);
    append(store, FORKED_ID, 1, 11, 11);
}

/* A text that does not get shorter when it is packed, so that it fills pages. */
static char *make_noise(size_t len)
{
    char *text = ik_strndup(ctx, "", 0);
    text = ik_resize_array(ctx, text, char, len + 1);
    for (size_t i = 0; i < len; i++) {
        text[i] = (char)(' ' + ik_random() % 95);
    }
    text[len] = '\0';
    return text;
}

/* What an agent knows as words with a space behind each. */
static res_t add_word(void *data, const ik_store_event_t *event)
{
    ik_buffer_append_format(data, "%s ", event->content);
    return OK;
}

static char *known_words(ik_store_t *store, const char *id, int64_t agent)
{
    ik_buffer_t words;
    ik_buffer_init(&words, ctx, IK_BUFFER_UNLIMITED);
    log_assert_ok(ik_store_read_all(store, id, agent, add_word, &words));
    return ik_buffer_finish(&words);
}

static ik_store_agent_t find_agent(ik_store_t *store, const char *id, int64_t number)
{
    ik_store_agents_t *agents;
    log_assert_ok(ik_store_agents(ctx, store, id, &agents));
    for (size_t i = 0; i < agents->count; i++) {
        if (agents->agents[i].number == number) {
            return agents->agents[i];
        }
    }
    ck_abort_msg("no agent %" PRId64, number);
}

static ik_store_list_t *list_sessions(ik_store_t *store)
{
    ik_store_list_t *list;
    log_assert_ok(ik_store_list(ctx, store, &(ik_store_filter_t){.limit = 0}, &list));
    return list;
}

/* --- saving ------------------------------------------------------------------------------ */

/* Salvages and checks what holds always; opens what was saved. */
static ik_store_t *save(ik_history_salvage_t *report)
{
    size_t len;
    char *before = read_bytes(file(), &len);
    log_assert_ok(ik_sqlite_salvage(ctx, file(), report));
    assert_same_bytes(report->aside, before, len);
    talloc_free(before);
    ck_assert_uint_eq(scratch_mode("history.db"), 0600);
    ck_assert_int_eq(access(scratch_path("history.db-wal"), F_OK), -1);
    ik_store_t *store = open_store();
    log_assert_ok(ik_store_sqlite_check(store));
    return store;
}

static void expect(const ik_history_salvage_t *report, int64_t sessions, int64_t messages,
                   int64_t lost)
{
    ck_assert_int_eq(report->sessions, sessions);
    ck_assert_int_eq(report->messages, messages);
    ck_assert_int_eq(report->lost, lost);
}

START_TEST(a_whole_file_is_carried_over_as_it_is)
{
    ik_history_salvage_t report;
    ik_store_t *store = open_store();
    make_forks(store);
    begin_session(store, LOG_ID, 5);
    log_assert_ok(log_write_one(
        store, log_event(LOG_ID, 6, "assistant", make_noise(20000),
                         "{\"model\":\"p/m\",\"usage\":{\"in\":7,\"out\":2},\"cost_usd\":0.5}")));
    char *before = log_dump_all(ctx, store);
    talloc_free(store);
    store = save(&report);
    expect(&report, 2, 27, 0);
    log_assert_same(log_dump_all(ctx, store), before);
    talloc_free(store);
    ck_assert_int_eq(count_files(), 2);
}
END_TEST

START_TEST(the_name_of_a_folder_need_not_be_utf8)
{
    ik_history_salvage_t report;
    ik_store_session_t found;
    ik_store_session_t session = log_session(LOG_ID);
    ik_store_t *store = open_store();
    session.cwd = "/work/\xe9t\xe9";
    log_assert_ok(
        ik_store_write(store, &(ik_store_batch_t){.sessions = &session, .session_count = 1}));
    begin_session(store, LOG_ID, 2);
    talloc_free(store);
    store = save(&report);
    expect(&report, 1, 2, 0);
    log_assert_ok(ik_store_find(ctx, store, LOG_ID, &found));
    ck_assert_str_eq(found.cwd, session.cwd);
}
END_TEST

START_TEST(what_is_saved_can_be_searched_and_continued)
{
    ik_history_salvage_t report;
    ik_store_hits_t *hits;
    ik_store_t *store = open_store();
    log_say(store, LOG_ID, "a needle in the hay");
    talloc_free(store);
    store = save(&report);
    log_assert_ok(log_write_one(store, numbered(LOG_ID, IK_STORE_ROOT_AGENT, 2)));
    ik_store_search_t search = {.text = "needle", .limit = 5};
    log_assert_ok(ik_store_search(ctx, store, &search, &hits));
    ck_assert_uint_eq(hits->count, 1);
    ck_assert_str_eq(hits->hits[0].session_id, LOG_ID);
}
END_TEST

START_TEST(the_order_across_sessions_stays)
{
    ik_history_salvage_t report;
    ik_store_batch_t batch;
    ik_store_delivered_t mark;
    ik_store_t *store = open_store();
    begin_session(store, FORKED_ID, 2);
    begin_session(store, LOG_ID, 2);
    append(store, FORKED_ID, IK_STORE_ROOT_AGENT, 3, 3);
    talloc_free(store);
    store = save(&report);
    log_assert_ok(ik_store_sqlite_set_consent(store, "anybody", IK_STORE_SHARE_ALL));
    log_assert_ok(ik_store_sqlite_undelivered(ctx, store, "anybody", &batch, &mark));
    static const char *const order[] = {FORKED_ID, FORKED_ID, LOG_ID, LOG_ID, FORKED_ID};
    ck_assert_uint_eq(batch.event_count, 5);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_str_eq(batch.events[i].session_id, order[i]);
    }
}
END_TEST

/* --- broken pages ------------------------------------------------------------------------ */

static void break_page(size_t page, char filling)
{
    char bytes[PAGE];
    FILE *damaged = fopen(file(), "r+");
    ck_assert_ptr_nonnull(damaged);
    memset(bytes, filling, sizeof(bytes));
    ck_assert_int_eq(fseek(damaged, (long)((page - 1) * PAGE), SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(bytes, 1, PAGE, damaged), PAGE);
    ck_assert_int_eq(fclose(damaged), 0);
}

typedef struct {
    int64_t saved;
    int64_t holes; /* places where something is missing between two that are there */
    int64_t first;
    int64_t last;
} left_t;

/* Messages of the one session, which say what their number was, in order; now they are numbered
 * without gaps. */
static res_t on_left(void *data, const ik_store_event_t *event)
{
    left_t *left = data;
    int64_t was = strtoll(event->content + 2, NULL, 10);
    ck_assert_int_eq(event->seq, left->saved + 1);
    ck_assert_int_gt(was, left->last);
    left->holes += left->saved > 0 && was != left->last + 1;
    left->first = left->saved == 0 ? was : left->first;
    left->last = was;
    left->saved++;
    return OK;
}

static left_t find_left(ik_store_t *store, const ik_history_salvage_t *report)
{
    left_t left = {0};
    ik_store_list_t *list = list_sessions(store);
    ck_assert_uint_eq(list->count, (size_t)report->sessions);
    if (list->count == 1) {
        log_assert_ok(
            ik_store_read_all(store, list->sessions[0].id, IK_STORE_ROOT_AGENT, on_left, &left));
    }
    ck_assert_int_eq(left.saved, report->messages);
    return left;
}

/* A file of one long session with many pages. */
static char *make_long(size_t *len)
{
    ik_store_t *store = open_store();
    begin_session(store, LOG_ID, MANY);
    log_assert_ok(ik_store_sqlite_index(store, 0, NULL));
    talloc_free(store);
    return read_bytes(file(), len);
}

/* Whichever page is lost, it costs no more than what stood on it; except the few pages that say
 * where the others are. */
START_TEST(a_broken_page_costs_what_stood_on_it)
{
    size_t len;
    int all_lost = 0;
    int part_lost = 0;
    char *whole = make_long(&len);
    for (size_t page = 1; page <= len / PAGE; page++) {
        ik_history_salvage_t report;
        write_bytes(file(), whole, len);
        break_page(page, page % 2 == 0 ? '\0' : (char)0xa5);
        ik_store_t *store = save(&report);
        left_t left = find_left(store, &report);
        talloc_free(store);
        if (left.saved == 0) {
            all_lost++;
            ck_assert_msg(report.lost == -1 || report.lost == MANY, "%" PRId64, report.lost);
        } else {
            ck_assert_msg(left.saved >= MANY - 400, "page %zu left %" PRId64, page, left.saved);
            ck_assert_int_eq(report.lost, MANY - left.saved);
            ck_assert_int_le(left.holes, 1);
            part_lost += left.saved < MANY;
        }
        scratch_empty();
    }
    ck_assert_int_le(all_lost, 6);
    ck_assert_int_ge(part_lost, 10);
}
END_TEST

/* The page of the table that holds a text. */
static size_t find_page(const char *bytes, size_t len, const char *text)
{
    const char *found = memmem(bytes, len, text, strlen(text));
    ck_assert_ptr_nonnull(found);
    return (size_t)(found - bytes) / PAGE + 1;
}

/* A page in the middle of two wide holes is not stepped over. */
START_TEST(what_stands_between_two_holes_is_saved)
{
    size_t len;
    ik_history_salvage_t report;
    char *whole = make_long(&len);
    size_t between = find_page(whole, len, "user1/801");
    for (int seq = 201; seq <= 1401; seq += 2) {
        size_t page = find_page(whole, len, ik_sprintf(ctx, "user1/%d", seq));
        if (page != between) {
            break_page(page, '\0');
        }
    }
    ik_store_t *store = save(&report);
    left_t left = find_left(store, &report);
    ck_assert_int_eq(left.holes, 2);
    ck_assert_int_eq(left.first, 1);
    ck_assert_int_eq(left.last, MANY);
    ck_assert_int_eq(report.lost, MANY - left.saved);
    ck_assert_ptr_nonnull(strstr(known_words(store, LOG_ID, 1), " 1/801 "));
}
END_TEST

START_TEST(where_ids_lie_far_apart_the_other_side_is_found)
{
    size_t len;
    ik_history_salvage_t report;
    make_long(&len);
    run_sql("UPDATE messages SET id = id + 1000000000000 WHERE id > 600");
    char *whole = read_bytes(file(), &len);
    break_page(find_page(whole, len, "user1/601"), '\0');
    ik_store_t *store = save(&report);
    left_t left = find_left(store, &report);
    ck_assert_int_eq(left.first, 1);
    ck_assert_int_eq(left.last, MANY);
    ck_assert_int_ge(left.saved, MANY - 400);
    ck_assert_int_eq(report.lost, MANY - left.saved);
}
END_TEST

/* A page that was written to the place of another: what is not found for it counts as
 * lost. */
START_TEST(a_page_in_the_wrong_place)
{
    size_t len;
    ik_history_salvage_t report;
    char *whole = make_long(&len);
    size_t from = find_page(whole, len, "user1/1001");
    size_t to = find_page(whole, len, "user1/501");
    memcpy(whole + (to - 1) * PAGE, whole + (from - 1) * PAGE, PAGE);
    write_bytes(file(), whole, len);
    ik_store_t *store = save(&report);
    left_t left = find_left(store, &report);
    ck_assert_int_gt(left.saved, MANY / 3);
    ck_assert_int_eq(report.lost, MANY - left.saved);
}
END_TEST

START_TEST(the_rest_of_a_long_text_is_missing)
{
    size_t len;
    ik_history_salvage_t report;
    ik_store_t *store = open_store();
    begin_session(store, LOG_ID, 4);
    char *noise = make_noise(40000);
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 5, "tool_result", noise, NULL)));
    append(store, LOG_ID, 1, 6, 8);
    talloc_free(store);
    read_bytes(file(), &len);
    break_page(len / PAGE - 3, '\0'); /* the last ones hold only this text */
    store = save(&report);
    expect(&report, 1, 7, 1);
    ck_assert_str_eq(known_words(store, LOG_ID, 1), "1/1 1/2 1/3 1/4 1/6 1/7 1/8 ");
    ck_assert_int_eq(find_agent(store, LOG_ID, 1).last_seq, 7);
}
END_TEST

/* --- truncated files and no files -------------------------------------------------------- */

START_TEST(of_a_truncated_file_the_beginning_is_saved)
{
    size_t len;
    int64_t most = 0;
    char *whole = make_long(&len);
    for (size_t left_len = len - 1; left_len > 20 * PAGE; left_len -= 3 * PAGE + 77) {
        ik_history_salvage_t report;
        write_bytes(file(), whole, left_len);
        ik_store_t *store = save(&report);
        left_t left = find_left(store, &report);
        talloc_free(store);
        most = left.saved > most ? left.saved : most;
        ck_assert_msg(left.saved > 0 && left.first == 1, "nothing of %zu bytes", left_len);
        scratch_empty();
    }
    ck_assert_int_eq(most, MANY); /* the end is the search index */
}
END_TEST

static void expect_nothing(const char *bytes, size_t len)
{
    ik_history_salvage_t report;
    write_bytes(file(), bytes, len);
    ik_store_t *store = save(&report);
    expect(&report, 0, 0, -1);
    log_say(store, LOG_ID, "from here on");
    talloc_free(store);
    ck_assert_int_eq(count_files(), 2);
    scratch_empty();
}

START_TEST(of_no_database_at_all_nothing_is_left)
{
    size_t len;
    char *whole = make_long(&len);
    scratch_empty();
    expect_nothing(make_noise(50000), 50000);
    expect_nothing("no database", 11);
    expect_nothing(whole, 50);
    expect_nothing(whole, 99);
    memset(whole, 0, 100);
    expect_nothing(whole, len);
}
END_TEST

/* --- lost texts, agents, sessions -------------------------------------------------------- */

START_TEST(a_text_that_cannot_be_unpacked_is_lost)
{
    static const char *const damages[] = {
        "content = x'28b52ffd00'",
        "content = zeroblob(700)",
        "content = CAST(x'41ff42' AS TEXT)",
        "content = CAST(x'410042' AS TEXT)",
        "data_json = x'010203'",
        "data_json = '{\"model\":'",
        "kind = x'75736572'",
    };
    for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
        ik_history_salvage_t report;
        ik_store_t *store = open_store();
        begin_session(store, LOG_ID, 4);
        talloc_free(store);
        run_sql(ik_sprintf(ctx, "UPDATE messages SET %s WHERE seq = 2", damages[i]));
        store = save(&report);
        ck_assert_msg(report.lost == 1, "%s lost %" PRId64, damages[i], report.lost);
        expect(&report, 1, 3, 1);
        ck_assert_str_eq(known_words(store, LOG_ID, 1), "1/1 1/3 1/4 ");
        talloc_free(store);
        scratch_empty();
    }
}
END_TEST

/* What the agents of make_forks know when the third event of 1 and the eighth, of 2, are gone. */
static void check_forks(ik_store_t *store, const char *id)
{
    ck_assert_str_eq(known_words(store, id, 1), "1/1 1/2 1/4 1/5 1/6 1/7 1/8 1/9 1/10 1/11 ");
    ck_assert_str_eq(known_words(store, id, 2), "1/1 1/2 1/4 1/5 1/6 2/7 2/9 2/10 ");
    ck_assert_str_eq(known_words(store, id, 3), "1/1 1/2 1/4 3/5 3/6 ");
    ck_assert_str_eq(known_words(store, id, 4), "1/1 1/2 1/4 1/5 1/6 2/7 2/9 4/10 4/11 4/12 ");
    ck_assert_str_eq(known_words(store, id, 5), "1/1 1/2 1/4 1/5 1/6 1/7 1/8 1/9 5/10 ");
    ck_assert_int_eq(find_agent(store, id, 2).forked_at, 5);
    ck_assert_int_eq(find_agent(store, id, 3).forked_at, 3);
    ck_assert_int_eq(find_agent(store, id, 4).forked_at, 7);
    ck_assert_int_eq(find_agent(store, id, 4).last_seq, 10);
}

#define LOSE_TWO                                                                                   \
    "UPDATE messages SET content = x'00' WHERE agent = 1 AND seq = 3 OR agent = 2 AND seq = 8;"

static ik_store_t *save_forks(const char *damage, ik_history_salvage_t *report)
{
    ik_store_t *store = open_store();
    make_forks(store);
    talloc_free(store);
    run_sql(ik_sprintf(ctx, LOSE_TWO "%s", damage));
    return save(report);
}

START_TEST(forks_begin_where_they_did)
{
    ik_history_salvage_t report;
    ik_store_t *store = save_forks("", &report);
    expect(&report, 1, 19, 2);
    check_forks(store, FORKED_ID);
    ck_assert_int_eq(find_agent(store, FORKED_ID, 3).parent, 2);
}
END_TEST

/* What an agent was forked from is lost with it; it probably was a fork. */
START_TEST(lost_agents_are_made_up_for)
{
    ik_history_salvage_t report;
    ik_store_t *store = save_forks("DELETE FROM agents WHERE number IN (1, 2)", &report);
    expect(&report, 1, 19, 2);
    check_forks(store, FORKED_ID);
    ck_assert_int_eq(find_agent(store, FORKED_ID, 2).parent, 1);
    ck_assert_int_eq(find_agent(store, FORKED_ID, 2).created_us, LOG_TIME + 7);
}
END_TEST

START_TEST(agents_that_make_no_tree)
{
    ik_history_salvage_t report;
    ik_store_t *store = save_forks("UPDATE agents SET parent = 4, forked_at = 1 WHERE number = 1;"
                                   "UPDATE agents SET parent = 3 WHERE number = 2;"
                                   "UPDATE agents SET parent = 77 WHERE number = 3;",
                                   &report);
    check_forks(store, FORKED_ID);
}
END_TEST

START_TEST(of_the_root_nothing_is_left)
{
    ik_history_salvage_t report;
    ik_store_t *store = save_forks("DELETE FROM agents WHERE number = 1;"
                                   "DELETE FROM messages WHERE agent = 1;",
                                   &report);
    ck_assert_str_eq(known_words(store, FORKED_ID, 1), "");
    ck_assert_str_eq(known_words(store, FORKED_ID, 2), "2/7 2/9 2/10 ");
    ck_assert_str_eq(known_words(store, FORKED_ID, 3), "3/5 3/6 ");
    ck_assert_str_eq(known_words(store, FORKED_ID, 4), "2/7 2/9 4/10 4/11 4/12 ");
}
END_TEST

/* Each gets an id of its own, no folder, and its title from its words. */
START_TEST(messages_without_their_session)
{
    ik_history_salvage_t report;
    ik_store_t *store = open_store();
    begin_session(store, LOG_ID, 3);
    make_forks(store);
    log_say(store, "00000000000000a3", "stays");
    talloc_free(store);
    run_sql(LOSE_TWO "DELETE FROM sessions WHERE id <> '00000000000000a3'");
    store = save(&report);
    expect(&report, 3, 22, 3);
    ik_store_list_t *list = list_sessions(store);
    ck_assert_uint_eq(list->count, 3);
    for (size_t i = 0; i < 3; i++) {
        const ik_store_session_t *session = &list->sessions[i];
        if (strcmp(session->title, "stays") == 0) {
            ck_assert_str_eq(session->cwd, "/work");
            continue;
        }
        ck_assert_str_eq(session->title, "1/1");
        ck_assert_str_eq(session->cwd, "");
        ck_assert_int_eq(session->created_us, LOG_TIME + 1);
        ck_assert_str_ne(session->id, LOG_ID);
        if (session->messages > 3) {
            check_forks(store, session->id);
        }
    }
}
END_TEST

/* An id that cannot be one, text that is none, and the same id twice. */
START_TEST(sessions_that_cannot_be)
{
    static const char *const damages[] = {"id = 'x'", "id = x'00'", "cwd = x'ff'",
                                          "model = CAST(x'ff' AS TEXT)"};
    for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
        ik_history_salvage_t report;
        ik_store_t *store = open_store();
        begin_session(store, LOG_ID, 3);
        talloc_free(store);
        run_sql(ik_sprintf(ctx, "UPDATE sessions SET %s", damages[i]));
        store = save(&report);
        expect(&report, 1, 3, 0);
        ck_assert_msg(strcmp(list_sessions(store)->sessions[0].id, LOG_ID) != 0, "%s", damages[i]);
        talloc_free(store);
        scratch_empty();
    }
}
END_TEST

/* Takes the rule that ids are unique out of the file. */
START_TEST(the_same_id_twice)
{
    ik_history_salvage_t report;
    ik_store_t *store = open_store();
    begin_session(store, LOG_ID, 3);
    begin_session(store, FORKED_ID, 2);
    talloc_free(store);
    run_sql("PRAGMA writable_schema=ON;"
            "UPDATE sqlite_master SET sql = replace(sql, 'id TEXT NOT NULL UNIQUE', 'id TEXT')"
            " WHERE name = 'sessions';"
            "DELETE FROM sqlite_master WHERE name = 'sqlite_autoindex_sessions_1'");
    run_sql("UPDATE sessions SET id = '" LOG_ID "'");
    store = save(&report);
    expect(&report, 2, 5, 0);
    ck_assert_str_eq(known_words(store, LOG_ID, 1), "1/1 1/2 1/3 ");
    ck_assert_uint_eq(list_sessions(store)->count, 2);
}
END_TEST

/* --- what else stands beside the file ---------------------------------------------------- */

static void copy_file(const char *from, const char *to)
{
    size_t len;
    char *bytes = read_bytes(from, &len);
    write_bytes(to, bytes, len);
    talloc_free(bytes);
}

/* As after a crash: the log of changes holds what the file does not. */
START_TEST(what_is_only_in_the_log_of_changes_is_saved)
{
    size_t len;
    ik_history_salvage_t report;
    ik_store_t *store;
    log_assert_ok(ik_store_sqlite_open(ctx, scratch_path("living.db"), &store));
    begin_session(store, LOG_ID, 3);
    copy_file(scratch_path("living.db"), file());
    copy_file(scratch_path("living.db-wal"), scratch_path("history.db-wal"));
    talloc_free(store);
    char *log = read_bytes(scratch_path("history.db-wal"), &len);
    ck_assert_uint_gt(len, 0);
    store = save(&report);
    expect(&report, 1, 3, 0);
    ck_assert_str_eq(known_words(store, LOG_ID, 1), "1/1 1/2 1/3 ");
    assert_same_bytes(ik_sprintf(ctx, "%s-wal", report.aside), log, len);
}
END_TEST

START_TEST(a_link_still_leads_to_the_file)
{
    ik_history_salvage_t report;
    struct stat status;
    ik_store_t *store = open_store();
    begin_session(store, LOG_ID, 3);
    talloc_free(store);
    scratch_make_folder("real");
    ck_assert_int_eq(rename(file(), scratch_path("real/other.db")), 0);
    ck_assert_int_eq(symlink("real/other.db", file()), 0);
    log_assert_ok(ik_sqlite_salvage(ctx, file(), &report));
    ck_assert_int_eq(lstat(file(), &status), 0);
    ck_assert(S_ISLNK(status.st_mode));
    char *prefix = ik_sprintf(ctx, "%s.damaged-", scratch_path("real/other.db"));
    ck_assert_msg(strncmp(report.aside, prefix, strlen(prefix)) == 0, "%s", report.aside);
    store = open_store();
    ck_assert_str_eq(known_words(store, LOG_ID, 1), "1/1 1/2 1/3 ");
}
END_TEST

START_TEST(every_damaged_file_has_a_name_of_its_own)
{
    ik_history_salvage_t reports[3];
    char before[32];
    time_t now = time(NULL);
    struct tm local;
    strftime(before, sizeof(before), "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    for (size_t i = 0; i < 3; i++) {
        write_bytes(file(), "garbage", 7);
        log_assert_ok(ik_sqlite_salvage(ctx, file(), &reports[i]));
        const char *when = reports[i].aside + strlen(file()) + strlen(".damaged-");
        ck_assert_msg(strncmp(when, before, 15) >= 0, "%s before %s", when, before);
    }
    ck_assert_int_eq(count_files(), 4);
}
END_TEST

START_TEST(files_of_earlier_programs)
{
    for (int version = 1; version < IK_SQLITE_SCHEMA; version++) {
        size_t len;
        ik_history_salvage_t report;
        char *path = ik_sprintf(ctx, "tests/store/schema_%d.sql", version);
        run_sql(read_bytes(path, &len));
        copy_file(file(), scratch_path("copy.db"));
        ik_store_t *store = save(&report);
        char *saved = log_dump_all(ctx, store);
        talloc_free(store);
        ck_assert_int_eq(report.lost, 0);
        ck_assert_int_eq(report.sessions, 2);
        copy_file(scratch_path("copy.db"), file());
        store = open_store();
        log_assert_same(log_dump_all(ctx, store), saved);
        talloc_free(store);
        scratch_empty();
    }
}
END_TEST

/* --- what is not to be touched ----------------------------------------------------------- */

static void refuse(ik_error_code_t code, const char *words)
{
    size_t len;
    ik_history_salvage_t report;
    char *before = read_bytes(file(), &len);
    int files = count_files();
    res_t refused = ik_sqlite_salvage(ctx, file(), &report);
    log_assert_code(refused, code);
    ck_assert_msg(strstr(refused.message, words) != NULL, "%s", refused.message);
    assert_same_bytes(file(), before, len);
    ck_assert_int_eq(count_files(), files);
}

static void make_small(void)
{
    ik_store_t *store = open_store();
    begin_session(store, LOG_ID, 3);
    talloc_free(store);
}

static void hold(const char *host, int64_t pid)
{
    run_sql(ik_sprintf(ctx, "INSERT INTO holders VALUES('" LOG_ID "', %" PRId64 ", 0, '%s')", pid,
                       host));
}

START_TEST(a_session_that_is_in_use_protects_the_file)
{
    make_small();
    ik_holder_t self = ik_holder_self();
    hold(self.host, getppid());
    refuse(IK_ERR_CONFLICT, ik_sprintf(ctx, "session " LOG_ID " is in use by pid %d on %s",
                                       (int)getppid(), self.host));
}
END_TEST

START_TEST(who_is_gone_or_elsewhere_does_not)
{
    ik_history_salvage_t report;
    make_small();
    hold(ik_holder_self().host, 4194304 + 7); /* no pid is as large */
    save(&report);
    scratch_empty();
    make_small();
    hold("elsewhere", getppid());
    save(&report);
}
END_TEST

START_TEST(nobody_writes_meanwhile)
{
    sqlite3 *db;
    make_small();
    ck_assert_int_eq(sqlite3_open(file(), &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    refuse(IK_ERR_CONFLICT, "in use");
    sqlite3_close(db);
}
END_TEST

START_TEST(files_of_newer_programs_and_of_others)
{
    size_t len;
    make_small();
    run_sql("INSERT INTO schema_version VALUES(1000)");
    refuse(IK_ERR_CONFLICT, "newer");
    char *whole = read_bytes(file(), &len);
    write_bytes(file(), whole, len - PAGE); /* as it would be asked for */
    refuse(IK_ERR_CONFLICT, "newer");
    scratch_empty();
    run_sql("CREATE TABLE messages(id INTEGER PRIMARY KEY); INSERT INTO messages VALUES(1)");
    refuse(IK_ERR_CONFLICT, "not a history");
}
END_TEST

START_TEST(there_is_no_file)
{
    ik_history_salvage_t report;
    log_assert_code(ik_sqlite_salvage(ctx, file(), &report), IK_ERR_SYSTEM);
    ck_assert_int_eq(count_files(), 0);
}
END_TEST

START_TEST(a_full_disk_changes_nothing)
{
    size_t len;
    make_long(&len);
    struct rlimit size = {10 * PAGE, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &size), 0);
    refuse(IK_ERR_SYSTEM, "history.db");
}
END_TEST

/* SQLite cannot make what it needs to read the file: nothing is known about it. */
START_TEST(what_could_not_be_looked_at_is_not_given_up)
{
    size_t len;
    ik_history_salvage_t report;
    make_small();
    char *whole = read_bytes(file(), &len);
    scratch_make_folder("history.db-shm");
    log_assert_code(ik_sqlite_salvage(ctx, file(), &report), IK_ERR_DENIED);
    assert_same_bytes(file(), whole, len);
    ck_assert_int_eq(access(report.aside, F_OK), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sqlite_salvage");
    TCase *tests = tcase_create("salvage");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_whole_file_is_carried_over_as_it_is);
    tcase_add_test(tests, the_name_of_a_folder_need_not_be_utf8);
    tcase_add_test(tests, what_is_saved_can_be_searched_and_continued);
    tcase_add_test(tests, the_order_across_sessions_stays);
    tcase_add_test(tests, a_broken_page_costs_what_stood_on_it);
    tcase_add_test(tests, what_stands_between_two_holes_is_saved);
    tcase_add_test(tests, where_ids_lie_far_apart_the_other_side_is_found);
    tcase_add_test(tests, a_page_in_the_wrong_place);
    tcase_add_test(tests, the_rest_of_a_long_text_is_missing);
    tcase_add_test(tests, of_a_truncated_file_the_beginning_is_saved);
    tcase_add_test(tests, of_no_database_at_all_nothing_is_left);
    tcase_add_test(tests, a_text_that_cannot_be_unpacked_is_lost);
    tcase_add_test(tests, forks_begin_where_they_did);
    tcase_add_test(tests, lost_agents_are_made_up_for);
    tcase_add_test(tests, agents_that_make_no_tree);
    tcase_add_test(tests, of_the_root_nothing_is_left);
    tcase_add_test(tests, messages_without_their_session);
    tcase_add_test(tests, sessions_that_cannot_be);
    tcase_add_test(tests, the_same_id_twice);
    tcase_add_test(tests, what_is_only_in_the_log_of_changes_is_saved);
    tcase_add_test(tests, a_link_still_leads_to_the_file);
    tcase_add_test(tests, every_damaged_file_has_a_name_of_its_own);
    tcase_add_test(tests, files_of_earlier_programs);
    tcase_add_test(tests, a_session_that_is_in_use_protects_the_file);
    tcase_add_test(tests, who_is_gone_or_elsewhere_does_not);
    tcase_add_test(tests, nobody_writes_meanwhile);
    tcase_add_test(tests, files_of_newer_programs_and_of_others);
    tcase_add_test(tests, there_is_no_file);
    tcase_add_test(tests, a_full_disk_changes_nothing);
    tcase_add_test(tests, what_could_not_be_looked_at_is_not_given_up);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
