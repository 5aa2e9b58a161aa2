/*
 * A history with bytes that are not what was written, and perhaps without its end: it is refused or
 * read, never both; what was refused as damaged is saved, and what was saved is whole.
 *
 * Input: a byte, odd when the file is cut where the first change is; changes, each an offset of
 * three bytes and what stands there now.
 */
#include <dirent.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "folder.h"
#include "store/sqlite/sqlite_salvage.h"
#include "store/sqlite/sqlite_survey.h"
#include "store/sqlite/store_sqlite.h"

enum { MESSAGES = 60, LONGEST = 6000 };

static char *good;
static size_t good_len;

/* --- the history -------------------------------------------------------------------------- */

/* Short ones, long ones, and such as do not get shorter when they are packed. */
static char *make_text(const void *ctx, int64_t seq)
{
    size_t len = seq % 7 == 0 ? LONGEST : (size_t)seq % 50;
    char *text = ik_strndup(ctx, "", 0);
    uint32_t noise = (uint32_t)seq;
    text = ik_resize_array(ctx, text, char, len + 1);
    for (size_t i = 0; i < len; i++) {
        noise = noise * 1664525 + 1013904223;
        text[i] = seq % 2 == 0 ? 'a' : (char)(' ' + (noise >> 24) % 95);
    }
    text[len] = '\0';
    return text;
}

static void write_session(ik_store_t *store, const char *id)
{
    ik_store_session_t session = {
        .id = id, .cwd = "/work", .host = "here", .created_us = 1, .model = "p/m"};
    ik_store_agent_t root = {.session_id = id, .number = IK_STORE_ROOT_AGENT, .created_us = 1};
    ik_store_event_t events[MESSAGES];
    for (int64_t i = 0; i < MESSAGES; i++) {
        events[i] = (ik_store_event_t){.session_id = id,
                                       .agent = IK_STORE_ROOT_AGENT,
                                       .seq = i + 1,
                                       .created_us = i,
                                       .kind = i % 2 == 0 ? "user" : "assistant",
                                       .content = make_text(store, i),
                                       .data_json = i % 5 == 0 ? "{\"model\":\"p/m\"}" : NULL};
    }
    res_t written = ik_store_write(store, &(ik_store_batch_t){.sessions = &session,
                                                              .session_count = 1,
                                                              .agents = &root,
                                                              .agent_count = 1,
                                                              .events = events,
                                                              .event_count = MESSAGES});
    REQUIRE(is_ok(&written));
}

static void make_good(const char *path)
{
    ik_store_t *store;
    res_t opened = ik_store_sqlite_open(NULL, path, &store);
    REQUIRE(is_ok(&opened));
    write_session(store, "00000000000000a1");
    write_session(store, "00000000000000a2");
    ik_store_sqlite_index(store, 0, NULL);
    talloc_free(store);
    opened = ik_file_read(NULL, path, SIZE_MAX / 2, &good, &good_len);
    REQUIRE(is_ok(&opened));
}

/* --- the damage --------------------------------------------------------------------------- */

static void write_damaged(const void *ctx, const char *path, const uint8_t *bytes, size_t len)
{
    char *damaged = ik_strndup(ctx, good, good_len);
    size_t size = good_len;
    for (size_t at = 1; at + 4 <= len; at += 4) {
        size_t offset = (size_t)bytes[at] << 16 | (size_t)bytes[at + 1] << 8 | bytes[at + 2];
        offset %= good_len;
        damaged[offset] = (char)bytes[at + 3];
        size = at == 1 && bytes[0] % 2 == 1 ? offset : size;
    }
    folder_write(path, damaged, size);
}

static res_t on_event(void *data, const ik_store_event_t *event)
{
    (void)data;
    REQUIRE(event->kind != NULL);
    return OK;
}

/* All there is, as far as it goes. */
static res_t read_all(const void *ctx, ik_store_t *store)
{
    ik_store_list_t *list;
    TRY(ik_store_list(ctx, store, &(ik_store_filter_t){.limit = 0}, &list));
    for (size_t i = 0; i < list->count; i++) {
        TRY(ik_store_read_all(store, list->sessions[i].id, IK_STORE_ROOT_AGENT, on_event, NULL));
    }
    ik_store_hits_t *hits;
    return ik_store_search(ctx, store, &(ik_store_search_t){.text = "aa", .limit = 5}, &hits);
}

static void check_saved(const void *ctx, const char *path)
{
    ik_history_salvage_t report;
    ik_store_t *store;
    res_t saved = ik_sqlite_salvage(ctx, path, &report);
    if (is_err(&saved)) {
        /* A newer program's, as it says, or one that SQLite reads and does not write. */
        REQUIRE(saved.code == IK_ERR_CONFLICT || saved.code == IK_ERR_DENIED);
        return;
    }
    REQUIRE(report.messages <= 2 * MESSAGES);
    saved = ik_store_sqlite_open(ctx, path, &store);
    REQUIRE(is_ok(&saved));
    saved = ik_sqlite_survey_check(store);
    REQUIRE(is_ok(&saved));
    saved = read_all(ctx, store);
    REQUIRE(is_ok(&saved));
    talloc_free(store);
}

/* Nothing of the last run is to be seen by the next one. */
static void empty(const char *folder)
{
    DIR *dir = opendir(folder);
    REQUIRE(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        unlinkat(dirfd(dir), entry->d_name, 0);
    }
    closedir(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    void *ctx = talloc_new(NULL);
    char *folder = folder_path(ctx, "store");
    char *path = folder_path(ctx, "store/history.db");
    ik_store_t *store;
    if (good == NULL) {
        REQUIRE(mkdir(folder, 0700) == 0);
        make_good(path);
    }
    empty(folder);
    if (len > 0) {
        write_damaged(ctx, path, bytes, len);
        res_t opened = ik_store_sqlite_open(ctx, path, &store);
        bool damaged = opened.code == IK_ERR_DAMAGED;
        if (is_ok(&opened)) {
            read_all(ctx, store);
            res_t checked = ik_sqlite_survey_check(store);
            damaged = is_err(&checked);
            talloc_free(store);
        }
        if (damaged) {
            check_saved(ctx, path);
        }
    }
    talloc_free(ctx);
    return 0;
}
