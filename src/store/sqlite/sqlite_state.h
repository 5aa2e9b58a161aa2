/* What the SQLite store consists of, for the files sqlite_*.c and store_sqlite.c. */
#pragma once

#include "store/sqlite/packed_text.h"
#include "store/sqlite/sqlite_link.h"
#include "store/store.h"

/* Statements that are needed again and again, prepared once. */
typedef enum {
    IK_SQLITE_BEGIN,
    IK_SQLITE_COMMIT,
    IK_SQLITE_INSERT_SESSION,
    IK_SQLITE_INSERT_AGENT,
    IK_SQLITE_INSERT_MESSAGE,
    IK_SQLITE_INSERT_USAGE,
    IK_SQLITE_ADD_TURN,
    IK_SQLITE_ADD_ANSWER,
    IK_SQLITE_SELECT_KEY,
    IK_SQLITE_SELECT_AGENT,
    IK_SQLITE_SELECT_LAST,
    IK_SQLITE_SELECT_MESSAGE,
    IK_SQLITE_STATEMENTS,
} ik_sqlite_statement_t;

typedef struct {
    ik_store_t store;
    sqlite3 *db;
    ik_packer_t *packer;
    sqlite3_stmt *statements[IK_SQLITE_STATEMENTS];
    /* The end of the log written last, which is most likely the next to be written. */
    char session_id[IK_STORE_ID_LEN + 1];
    int64_t session;
    int64_t agent;
    int64_t first_seq;
    int64_t last_seq;
} ik_sqlite_t;

/* sessions.key of an id; IK_ERR_NOT_FOUND. */
res_t ik_sqlite_find_key(ik_sqlite_t *sqlite, const char *session_id, int64_t *key);

/* ik_store_kind_t.write and .transact */
res_t ik_sqlite_write(ik_store_t *store, const ik_store_batch_t *batch);
res_t ik_sqlite_transact_writes(ik_store_t *store, ik_store_work_fn work, void *data);
