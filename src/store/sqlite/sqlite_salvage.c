/*
 * Two passes over the damaged file. The first finds the readable messages, from which follows how
 * each log is numbered without gaps and where its forks begin. The second copies them in the order
 * in which they were written. The new file looks as if the lost messages had never existed.
 */
#include "store/sqlite/sqlite_salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "store/sqlite/sqlite_state.h"
#include "store/sqlite/sqlite_wreck.h"
#include "store/sqlite/store_sqlite.h"

enum { BATCH_EVENTS = 1000, BATCH_BYTES = 1 << 20 };

/* An agent and its readable events. */
typedef struct {
    ik_store_agent_t before; /* as in the damaged file */
    ik_store_agent_t after;  /* renumbered; last_seq grows as events are copied */
    const ik_sqlite_wreck_row_t *rows;
    size_t count;
} log_t;

typedef struct {
    int64_t key;
    ik_store_session_t facts;
    log_t *logs; /* sorted by number */
    size_t log_count;
} survivor_t;

typedef struct {
    void *ctx;
    ik_sqlite_wreck_t *wreck;
    /* Readable messages by id and by log; in buffers because there may be millions. */
    ik_buffer_t by_id;
    ik_buffer_t by_log;
    size_t count;
    survivor_t *survivors; /* sorted by key */
    size_t survivor_count;
} salvage_t;

/* --- readable messages ------------------------------------------------------------------- */

static const ik_sqlite_wreck_row_t *rows_of(const ik_buffer_t *buffer)
{
    return (const ik_sqlite_wreck_row_t *)buffer->data;
}

static void find_rows(salvage_t *salvage)
{
    ik_sqlite_wreck_row_t row;
    ik_store_event_t event;
    while (ik_sqlite_wreck_next(salvage->wreck, &row)) {
        if (ik_sqlite_wreck_read(salvage->wreck, &row, &event)) {
            ik_buffer_append(&salvage->by_id, (const char *)&row, sizeof(row));
            salvage->count++;
        }
    }
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_rows(const void *a, const void *b)
{
    const ik_sqlite_wreck_row_t *one = a;
    const ik_sqlite_wreck_row_t *other = b;
    int by_session = compare_numbers(one->session, other->session);
    int by_agent = compare_numbers(one->agent, other->agent);
    int by_id = compare_numbers(one->id, other->id);
    return by_session != 0 ? by_session : by_agent != 0 ? by_agent : by_id;
}

static int64_t time_of(salvage_t *salvage, const ik_sqlite_wreck_row_t *row)
{
    ik_store_event_t event;
    return ik_sqlite_wreck_read(salvage->wreck, row, &event) ? event.created_us : 0;
}

/* --- the agents of a session ------------------------------------------------------------- */

static log_t *find_log(const survivor_t *survivor, int64_t number)
{
    for (size_t i = 0; i < survivor->log_count; i++) {
        if (survivor->logs[i].before.number == number) {
            return &survivor->logs[i];
        }
    }
    return NULL;
}

static log_t *add_log(salvage_t *salvage, survivor_t *survivor, const ik_store_agent_t *agent)
{
    survivor->logs = ik_resize_array(salvage->ctx, survivor->logs, log_t, survivor->log_count + 1);
    log_t *log = &survivor->logs[survivor->log_count++];
    *log = (log_t){.before = *agent};
    return log;
}

/* rows are those of one session, sorted by agent. */
static void find_logs(salvage_t *salvage, survivor_t *survivor, const ik_sqlite_wreck_row_t *rows,
                      size_t count)
{
    ik_store_agents_t *agents = ik_sqlite_wreck_agents(salvage->ctx, salvage->wreck, survivor->key);
    for (size_t i = 0; i < agents->count; i++) {
        if (agents->agents[i].number >= IK_STORE_ROOT_AGENT &&
            find_log(survivor, agents->agents[i].number) == NULL) {
            add_log(salvage, survivor, &agents->agents[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        log_t *log = find_log(survivor, rows[i].agent);
        if (log == NULL) {
            /* The row of the agent is lost; its first event says where it was forked. */
            log = add_log(salvage, survivor,
                          &(ik_store_agent_t){.number = rows[i].agent,
                                              .parent = IK_STORE_ROOT_AGENT,
                                              .forked_at = rows[i].seq - 1,
                                              .created_us = time_of(salvage, &rows[i])});
        }
        log->rows = log->count == 0 ? &rows[i] : log->rows;
        log->count++;
    }
    if (find_log(survivor, IK_STORE_ROOT_AGENT) == NULL) {
        add_log(salvage, survivor,
                &(ik_store_agent_t){.number = IK_STORE_ROOT_AGENT,
                                    .created_us = survivor->facts.created_us});
    }
}

static int compare_logs(const void *a, const void *b)
{
    return compare_numbers(((const log_t *)a)->before.number, ((const log_t *)b)->before.number);
}

/* --- renumbering ------------------------------------------------------------------------- */

/* Returns the new number of the last readable event up to seq, which may belong to an ancestor of
 * the log's agent. */
static int64_t renumber(const survivor_t *survivor, const log_t *log, int64_t seq)
{
    while (log->before.parent != 0 && seq <= log->before.forked_at) {
        log = find_log(survivor, log->before.parent);
    }
    int64_t number = log->after.forked_at;
    for (size_t i = 0; i < log->count && log->rows[i].seq <= seq; i++) {
        number++;
    }
    return number;
}

static void settle_logs(survivor_t *survivor)
{
    qsort(survivor->logs, survivor->log_count, sizeof(log_t), compare_logs);
    for (size_t i = 0; i < survivor->log_count; i++) {
        log_t *log = &survivor->logs[i];
        ik_store_agent_t *agent = &log->before;
        /* A parent has a smaller number than its child. An agent that contradicts this, or whose
         * parent is lost, becomes a child of the root. */
        if (agent->number == IK_STORE_ROOT_AGENT) {
            agent->parent = 0;
            agent->forked_at = 0;
        } else if (agent->parent < IK_STORE_ROOT_AGENT || agent->parent >= agent->number ||
                   find_log(survivor, agent->parent) == NULL) {
            agent->parent = IK_STORE_ROOT_AGENT;
        }
        log->after = log->before;
        log->after.session_id = survivor->facts.id;
        if (log->before.parent != 0) {
            log->after.forked_at =
                renumber(survivor, find_log(survivor, log->before.parent), log->before.forked_at);
        }
        log->after.last_seq = log->after.forked_at;
    }
}

/* --- the sessions ------------------------------------------------------------------------ */

static void add_survivor(salvage_t *salvage, const ik_sqlite_wreck_row_t *rows, size_t count)
{
    salvage->survivors =
        ik_resize_array(salvage->ctx, salvage->survivors, survivor_t, salvage->survivor_count + 1);
    survivor_t *survivor = &salvage->survivors[salvage->survivor_count++];
    *survivor = (survivor_t){.key = rows->session};
    if (!ik_sqlite_wreck_session(salvage->ctx, salvage->wreck, survivor->key, &survivor->facts)) {
        survivor->facts = (ik_store_session_t){.id = ik_store_new_id(salvage->ctx),
                                               .cwd = "",
                                               .host = "",
                                               .model = "",
                                               .created_us = time_of(salvage, rows)};
    }
    find_logs(salvage, survivor, rows, count);
    settle_logs(survivor);
}

static void find_survivors(salvage_t *salvage)
{
    ik_buffer_append(&salvage->by_log, salvage->by_id.data, salvage->by_id.len);
    qsort(salvage->by_log.data, salvage->count, sizeof(ik_sqlite_wreck_row_t), compare_rows);
    const ik_sqlite_wreck_row_t *rows = rows_of(&salvage->by_log);
    for (size_t begin = 0, end; begin < salvage->count; begin = end) {
        end = begin + 1;
        while (end < salvage->count && rows[end].session == rows[begin].session) {
            end++;
        }
        add_survivor(salvage, rows + begin, end - begin);
    }
}

static int compare_survivors(const void *a, const void *b)
{
    return compare_numbers(((const survivor_t *)a)->key, ((const survivor_t *)b)->key);
}

static survivor_t *find_survivor(const salvage_t *salvage, int64_t key)
{
    survivor_t wanted = {.key = key};
    return bsearch(&wanted, salvage->survivors, salvage->survivor_count, sizeof(survivor_t),
                   compare_survivors);
}

/* --- copying ----------------------------------------------------------------------------- */

/* A damaged unique index may have let an id in twice. */
static void make_id_unique(salvage_t *salvage, survivor_t *survivor, ik_store_t *store)
{
    ik_store_agents_t *agents;
    res_t there = ik_store_agents(salvage->ctx, store, survivor->facts.id, &agents);
    if (is_ok(&there)) {
        survivor->facts.id = ik_store_new_id(salvage->ctx);
        for (size_t i = 0; i < survivor->log_count; i++) {
            survivor->logs[i].after.session_id = survivor->facts.id;
        }
    }
}

static res_t write_survivor(salvage_t *salvage, survivor_t *survivor, ik_store_t *store)
{
    make_id_unique(salvage, survivor, store);
    ik_store_agent_t *agents = ik_new_array(salvage->ctx, ik_store_agent_t, survivor->log_count);
    for (size_t i = 0; i < survivor->log_count; i++) {
        agents[i] = survivor->logs[i].after;
    }
    return ik_store_write(store, &(ik_store_batch_t){.sessions = &survivor->facts,
                                                     .session_count = 1,
                                                     .agents = agents,
                                                     .agent_count = survivor->log_count});
}

/* Events to be written; texts owns their strings. */
typedef struct {
    ik_store_t *store;
    void *texts;
    ik_store_event_t events[BATCH_EVENTS];
    size_t count;
    size_t bytes;
} load_t;

static res_t unload(load_t *load)
{
    res_t written = ik_store_write(
        load->store, &(ik_store_batch_t){.events = load->events, .event_count = load->count});
    talloc_free_children(load->texts);
    load->count = 0;
    load->bytes = 0;
    return written;
}

static const char *load_text(load_t *load, const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);
    load->bytes += len;
    return text == NULL ? NULL : ik_strndup(load->texts, text, len);
}

static res_t copy_row(salvage_t *salvage, const ik_sqlite_wreck_row_t *row, load_t *load)
{
    log_t *log = find_log(find_survivor(salvage, row->session), row->agent);
    ik_store_event_t *event = &load->events[load->count++];
    if (!ik_sqlite_wreck_read(salvage->wreck, row, event)) {
        return ERR(SYSTEM, "a message became unreadable while it was copied");
    }
    event->session_id = log->after.session_id;
    event->seq = ++log->after.last_seq;
    event->kind = load_text(load, event->kind);
    event->content = load_text(load, event->content);
    event->data_json = load_text(load, event->data_json);
    return load->count == BATCH_EVENTS || load->bytes >= BATCH_BYTES ? unload(load) : OK;
}

static res_t copy_all(salvage_t *salvage, ik_store_t *store)
{
    load_t *load = ik_new(salvage->ctx, load_t);
    load->store = store;
    load->texts = talloc_new(load);
    for (size_t i = 0; i < salvage->survivor_count; i++) {
        TRY(write_survivor(salvage, &salvage->survivors[i], store));
    }
    for (size_t i = 0; i < salvage->count; i++) {
        TRY(copy_row(salvage, &rows_of(&salvage->by_id)[i], load));
    }
    return unload(load);
}

/* --- files ------------------------------------------------------------------------------- */

static const char *const companions[] = {"-wal", "-shm"};

enum { COMPANIONS = IK_LENGTH(companions) };

static void remove_file(const char *path)
{
    unlink(path);
    for (size_t i = 0; i < COMPANIONS; i++) {
        char *companion = ik_sprintf(NULL, "%s%s", path, companions[i]);
        unlink(companion);
        talloc_free(companion);
    }
}

/* Empties the write-ahead log, which would not be renamed with the file. */
static res_t complete(ik_store_t *store)
{
    sqlite3 *db = ((ik_sqlite_t *)store)->db;
    TRY(ik_store_sqlite_index(store, 0, NULL));
    int done = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return done == SQLITE_OK ? OK : ik_sqlite_error(db);
}

static res_t sync_path(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool synced = fd >= 0 && fsync(fd) == 0;
    res_t result = synced ? OK : ERR(SYSTEM, "%s: %s", path, strerror(errno));
    if (fd >= 0) {
        close(fd);
    }
    return result;
}

static res_t build(salvage_t *salvage, const char *path)
{
    ik_store_t *store;
    TRY(ik_store_sqlite_open(salvage->ctx, path, &store));
    res_t built = copy_all(salvage, store);
    if (is_ok(&built)) {
        built = complete(store);
    }
    talloc_free(store);
    return is_ok(&built) ? sync_path(path) : built;
}

/* Chooses a name that does not exist. */
static char *choose_aside(const void *ctx, const char *path)
{
    char when[32];
    time_t now = time(NULL);
    struct tm local;
    strftime(when, sizeof(when), "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    char *name = ik_sprintf(ctx, "%s.damaged-%s", path, when);
    for (int i = 2; access(name, F_OK) == 0; i++) {
        talloc_free(name);
        name = ik_sprintf(ctx, "%s.damaged-%s-%d", path, when, i);
    }
    return name;
}

static res_t rename_file(const char *from, const char *to)
{
    return rename(from, to) == 0 ? OK : ERR(SYSTEM, "%s: %s", from, strerror(errno));
}

static res_t rename_companions(const char *from, const char *to)
{
    res_t renamed = OK;
    for (size_t i = 0; i < COMPANIONS && is_ok(&renamed); i++) {
        char *old = ik_sprintf(NULL, "%s%s", from, companions[i]);
        char *new = ik_sprintf(NULL, "%s%s", to, companions[i]);
        renamed = access(old, F_OK) == 0 ? rename_file(old, new) : OK;
        talloc_free(old);
        talloc_free(new);
    }
    return renamed;
}

/* Renames the companions first: SQLite would apply them to another file of that name. */
static res_t set_aside(const char *path, const char *aside)
{
    res_t renamed = rename_companions(path, aside);
    if (is_ok(&renamed)) {
        renamed = rename_file(path, aside);
    }
    if (is_err(&renamed)) {
        (void)rename_companions(aside, path);
    }
    return renamed;
}

/* The saved file is complete and synced by now, so a crash in between loses nothing. */
static res_t take_place(const char *path, const char *aside, const char *saved)
{
    TRY(set_aside(path, aside));
    res_t placed = rename_file(saved, path);
    if (is_err(&placed)) {
        (void)set_aside(aside, path);
        return placed;
    }
    char *folder = ik_file_folder(NULL, path);
    (void)sync_path(folder); /* some file systems cannot sync a folder */
    talloc_free(folder);
    return OK;
}

/* --- all of it --------------------------------------------------------------------------- */

static res_t save(salvage_t *salvage, const char *path, const char *saved,
                  ik_history_salvage_t *report)
{
    TRY(ik_sqlite_wreck_open(salvage->ctx, path, &salvage->wreck));
    find_rows(salvage);
    find_survivors(salvage);
    TRY(build(salvage, saved));
    int64_t held = ik_sqlite_wreck_count(salvage->wreck);
    report->sessions = (int64_t)salvage->survivor_count;
    report->messages = (int64_t)salvage->count;
    report->lost = held < 0 ? -1 : held - report->messages;
    TALLOC_FREE(salvage->wreck);
    return take_place(path, report->aside, saved);
}

res_t ik_sqlite_salvage(const void *ctx, const char *path, ik_history_salvage_t *report)
{
    char real[PATH_MAX];
    if (realpath(path, real) ==
        NULL) { /* companions lie beside the file, not beside a link to it */
        return ERR(SYSTEM, "%s: %s", path, strerror(errno));
    }
    salvage_t salvage = {.ctx = talloc_new(NULL)};
    ik_buffer_init(&salvage.by_id, salvage.ctx, IK_BUFFER_UNLIMITED);  /* bounded by the file */
    ik_buffer_init(&salvage.by_log, salvage.ctx, IK_BUFFER_UNLIMITED); /* likewise */
    char *saved = ik_sprintf(salvage.ctx, "%s.saved-XXXXXX", real);    /* in the same folder */
    report->aside = choose_aside(ctx, real);
    int fd = mkostemp(saved, O_CLOEXEC); /* mode 0600 */
    if (fd >= 0) {
        close(fd);
    }
    res_t done = fd < 0 ? ERR(SYSTEM, "%s: %s", saved, strerror(errno))
                        : save(&salvage, real, saved, report);
    TALLOC_FREE(salvage.wreck);
    if (is_err(&done)) {
        remove_file(saved);
    }
    talloc_free(salvage.ctx);
    return done;
}
