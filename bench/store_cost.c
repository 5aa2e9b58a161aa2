/*
 * Measures the store, for bench_store.py:
 *
 *   store_cost append FOLDER EVENTS TEXTS...        microseconds per event: a bare INSERT, ours
 *   store_cost fill FILE EVENTS SESSIONS TEXTS...   creates a history; prints the size of its text
 *   store_cost resume FILE ID                       seconds to read the rows, seconds to resume,
 *                                                   bytes of text, bytes of memory
 *   store_cost search FILE QUERY...                 milliseconds of each, the best of five
 *
 * Messages are made from the files TEXTS. The text of a history is content and data_json of its
 * messages.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "conversation/conversation.h"
#include "store/session.h"
#include "store/sqlite/sqlite_link.h"
#include "store/sqlite/store_sqlite.h"

static void require(res_t result)
{
    if (is_err(&result)) {
        fprintf(stderr, "store_cost: %s\n", result.message);
        exit(1);
    }
}

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

/* --- messages ---------------------------------------------------------------------------- */

static ik_buffer_t texts;
static uint64_t seed = 1;

static uint64_t random_number(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void load_texts(char **paths)
{
    ik_buffer_init(&texts, NULL, IK_BUFFER_UNLIMITED);
    for (; *paths != NULL; paths++) {
        char *bytes;
        size_t len;
        require(ik_file_read(NULL, *paths, 64 << 20, &bytes, &len));
        for (size_t i = 0; i < len; i++) { /* must stay text wherever it is cut */
            bytes[i] = (bytes[i] & 0x80) != 0 ? '?' : bytes[i];
        }
        ik_buffer_append(&texts, bytes, len);
        talloc_free(bytes);
    }
}

static char *piece(const void *ctx, size_t len)
{
    return ik_strndup(ctx, texts.data + random_number() % (texts.len - len), len);
}

static ik_msg_t *make_call(const void *ctx, const char *id)
{
    char *arguments =
        ik_sprintf(ctx, "{\"file_path\":\"src/store/%" PRIx64 ".c\"}", random_number() % 4096);
    ik_msg_call_t call = {.id = id,
                          .name = "file_read",
                          .arguments = arguments,
                          .arguments_len = strlen(arguments),
                          .provider = "openai"};
    ik_msg_step_t step = {.model = "openai/gpt-5",
                          .stop = "tool_use",
                          .usage = {40000, 38000, IK_USAGE_UNKNOWN, 200, 64}};
    return ik_msg_create_call(ctx, &call, &step);
}

static ik_msg_t *make_result(const void *ctx, const char *id)
{
    ik_buffer_t output;
    ik_buffer_init(&output, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&output, "{\"tool_success\":true,\"result\":{\"output\":");
    ik_json_append_text(&output, piece(ctx, 200 + random_number() % 3000));
    ik_buffer_append_text(&output, "}}");
    ik_msg_result_t result = {.call_id = id,
                              .name = "file_read",
                              .provider = "openai",
                              .output = output.data,
                              .success = true,
                              .wall_ms = 2,
                              .cpu_us = 900,
                              .max_rss_kb = 2000};
    return ik_msg_create_result(ctx, &result);
}

/* The n-th message of a session: a turn is a question, five calls and an answer. */
static ik_msg_t *make_message(const void *ctx, int64_t n)
{
    enum { TURN = 12 };
    char *id = ik_sprintf(ctx, "call_%" PRId64, n / 2);
    switch (n % TURN) {
    case 0:
        return ik_msg_create(ctx, IK_MSG_USER, piece(ctx, 40 + random_number() % 200), NULL);
    case TURN - 1:
        return ik_msg_create_assistant(ctx, piece(ctx, 200 + random_number() % 1200),
                                       &(ik_msg_step_t){.model = "openai/gpt-5",
                                                        .stop = "end",
                                                        .usage = {42000, 41000, -1, 300, 100}});
    default:
        return n % TURN % 2 == 1 ? make_call(ctx, id)
                                 : make_result(ctx, ik_sprintf(ctx, "call_%" PRId64, (n - 1) / 2));
    }
}

static size_t text_of(const ik_msg_t *message)
{
    return (message->content == NULL ? 0 : strlen(message->content)) + message->data_len;
}

/* --- append ------------------------------------------------------------------------------ */

static sqlite3_stmt *prepare_bare(const char *folder)
{
    sqlite3 *db;
    sqlite3_stmt *insert;
    char *path = ik_sprintf(NULL, "%s/bare.db", folder);
    require(ik_sqlite_open(path, &db));
    require(ik_sqlite_run(db, "PRAGMA journal_mode=WAL"));
    require(ik_sqlite_run(db, "CREATE TABLE messages(id INTEGER PRIMARY KEY,"
                              " session INTEGER NOT NULL, agent INTEGER NOT NULL,"
                              " seq INTEGER NOT NULL, kind TEXT NOT NULL, content, data_json,"
                              " created_at INTEGER NOT NULL, UNIQUE(session, agent, seq))"));
    require(ik_sqlite_prepare(db, "INSERT INTO messages VALUES(NULL, 1, 1, ?1, ?2, ?3, ?4, ?5)",
                              &insert));
    return insert;
}

static void insert_bare(sqlite3_stmt *insert, int64_t seq, const ik_msg_t *message)
{
    sqlite3_bind_int64(insert, 1, seq);
    sqlite3_bind_text(insert, 2, message->kind, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 3, message->content, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 4, message->data_json, -1, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 5, ik_store_now_us());
    require(ik_sqlite_execute(insert));
}

/* Alternates every few hundred events, so that both run under the same conditions. */
static void measure_append(const char *folder, int64_t events)
{
    enum { ROUND = 240 };
    sqlite3_stmt *bare = prepare_bare(folder);
    ik_loop_t *loop;
    require(ik_loop_create(NULL, &loop));
    ik_history_options_t options = {.db = ik_sprintf(NULL, "%s/ours.db", folder), .loop = loop};
    ik_history_t *history = ik_history_create(NULL, &options);
    ik_session_t *session = ik_session_create(
        NULL, history, &(ik_session_facts_t){.cwd = "/project", .model = "openai/gpt-5"});
    double spent_bare = 0;
    double spent_ours = 0;
    for (int64_t n = 0; n < events; n += ROUND) {
        void *ctx = talloc_new(NULL);
        ik_msg_t *messages[ROUND];
        for (int64_t i = 0; i < ROUND; i++) {
            messages[i] = make_message(ctx, n + i);
        }
        double begin = now();
        for (int64_t i = 0; i < ROUND; i++) {
            insert_bare(bare, n + i + 1, messages[i]);
        }
        double middle = now();
        for (int64_t i = 0; i < ROUND; i++) {
            require(
                ik_session_append(session, IK_STORE_ROOT_AGENT, &messages[i], 1, IK_STORE_NORMAL));
        }
        spent_bare += middle - begin;
        spent_ours += now() - middle;
        talloc_free(ctx);
    }
    printf("%.3f %.3f\n", spent_bare / (double)events * 1e6, spent_ours / (double)events * 1e6);
    sqlite3 *db = sqlite3_db_handle(bare);
    sqlite3_finalize(bare);
    sqlite3_close(db);
    talloc_free(session);
    talloc_free(history);
}

/* --- fill -------------------------------------------------------------------------------- */

enum { BATCH = 1000 };

static void write_batch(ik_store_t *store, ik_store_event_t *events, size_t *count)
{
    require(ik_store_write(store, &(ik_store_batch_t){.events = events, .event_count = *count}));
    *count = 0;
}

static size_t fill_session(ik_store_t *store, const char *id, int64_t created, int64_t count)
{
    ik_store_session_t session = {.id = id,
                                  .cwd = "/home/me/project",
                                  .host = "here",
                                  .model = "openai/gpt-5",
                                  .created_us = created};
    ik_store_agent_t agent = {.session_id = id, .number = 1, .created_us = created};
    ik_store_event_t events[BATCH];
    size_t waiting = 0;
    size_t bytes = 0;
    void *ctx = talloc_new(NULL);
    require(ik_store_write(
        store, &(ik_store_batch_t){
                   .sessions = &session, .session_count = 1, .agents = &agent, .agent_count = 1}));
    for (int64_t n = 0; n < count; n++) {
        const ik_msg_t *message = make_message(ctx, n);
        bytes += text_of(message);
        events[waiting++] = (ik_store_event_t){.session_id = id,
                                               .agent = 1,
                                               .seq = n + 1,
                                               .created_us = created + n,
                                               .kind = message->kind,
                                               .content = message->content,
                                               .data_json = message->data_json};
        if (waiting == BATCH) {
            write_batch(store, events, &waiting);
            talloc_free_children(ctx);
        }
    }
    write_batch(store, events, &waiting);
    talloc_free(ctx);
    return bytes;
}

static void fill(const char *path, int64_t events, int64_t sessions)
{
    ik_store_t *store;
    size_t bytes = 0;
    require(ik_store_sqlite_open(NULL, path, &store));
    for (int64_t i = 0; i < sessions; i++) {
        char id[IK_STORE_ID_LEN + 1];
        snprintf(id, sizeof(id), "%016" PRIx64, i);
        bytes += fill_session(store, id, 1700000000000000 + i * 1000000, events / sessions);
    }
    double begin = now();
    require(ik_store_sqlite_index(store, 0, NULL));
    printf("%zu %.3f\n", bytes, now() - begin);
    talloc_free(store);
}

/* --- resume ------------------------------------------------------------------------------ */

/* A line of /proc/self/status, in bytes. */
static size_t memory(const char *name)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    size_t kb = 0;
    while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            kb = strtoul(line + strlen(name) + 1, NULL, 10);
        }
    }
    if (status != NULL) {
        fclose(status);
    }
    return kb * 1024;
}

static res_t count_text(void *data, const ik_store_event_t *event)
{
    size_t *bytes = data;
    *bytes += event->content == NULL ? 0 : strlen(event->content);
    *bytes += event->data_json == NULL ? 0 : strlen(event->data_json);
    return OK;
}

static void measure_resume(const char *path, const char *id)
{
    ik_loop_t *loop;
    ik_store_t *local;
    ik_session_t *session;
    ik_conversation_t *stored;
    size_t bytes = 0;
    require(ik_loop_create(NULL, &loop));
    ik_history_t *history =
        ik_history_create(NULL, &(ik_history_options_t){.db = path, .loop = loop});
    require(ik_history_local(history, &local));
    double begin = now();
    require(ik_store_read_all(local, id, IK_STORE_ROOT_AGENT, count_text, &bytes));
    double read = now() - begin;
    size_t before = memory("VmRSS");
    begin = now();
    require(ik_session_open(NULL, history, id, &session));
    require(ik_session_load(NULL, session, IK_STORE_ROOT_AGENT, &stored));
    ik_conversation_t *conversation = ik_conversation_take_repaired(NULL, stored);
    printf("%.4f %.4f %zu %zu\n", read, now() - begin, bytes, memory("VmHWM") - before);
    talloc_free(conversation);
    talloc_free(session);
    talloc_free(history);
}

/* --- search ------------------------------------------------------------------------------ */

static void measure_search(const char *path, char **queries)
{
    ik_store_t *store;
    require(ik_store_sqlite_open(NULL, path, &store));
    for (; *queries != NULL; queries++) {
        double best = 1e9;
        size_t found = 0;
        for (int round = 0; round < 5; round++) {
            ik_store_hits_t *hits;
            void *ctx = talloc_new(NULL);
            double begin = now();
            ik_store_search_t search = {.text = *queries, .limit = 20};
            require(ik_store_search(ctx, store, &search, &hits));
            double spent = now() - begin;
            best = spent < best ? spent : best;
            found = hits->count;
            talloc_free(ctx);
        }
        printf("%.3f %zu\n", best * 1e3, found);
    }
    talloc_free(store);
}

int main(int argc, char **argv)
{
    if (argc > 4 && strcmp(argv[1], "append") == 0) {
        load_texts(argv + 4);
        measure_append(argv[2], atoll(argv[3]));
    } else if (argc > 5 && strcmp(argv[1], "fill") == 0) {
        load_texts(argv + 5);
        fill(argv[2], atoll(argv[3]), atoll(argv[4]));
    } else if (argc == 4 && strcmp(argv[1], "resume") == 0) {
        measure_resume(argv[2], argv[3]);
    } else if (argc > 3 && strcmp(argv[1], "search") == 0) {
        measure_search(argv[2], argv + 3);
    } else {
        fputs("store_cost: wrong arguments\n", stderr);
        return 2;
    }
    return 0;
}
