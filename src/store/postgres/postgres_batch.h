/*
 * What a batch touches: the sessions it names, held until the end of the transaction, and their
 * agents. Whoever writes a session holds its row, so what is read about it, where its logs end for
 * instance, stays true meanwhile. Rows are held in the order of their ids, so that of two writers
 * with several sessions one waits for the other, and not both.
 */
#pragma once

#include "store/postgres/pq_link.h"

/* A session as it is there, and what the batch adds to it. */
typedef struct {
    const char *id;
    bool deleted;
    bool touched;
    int64_t turns;
    int64_t messages;
    int64_t updated_us;
    int64_t answered_us; /* 0: not in this batch */
    const char *model;   /* NULL: as it was */
    const char *title;   /* the same */
    ik_usage_t usage;
    double cost;
} ik_postgres_session_t;

/* An agent as it is there; last_seq counts what the batch adds. */
typedef struct {
    const char *session_id;
    int64_t number;
    int64_t parent;
    int64_t forked_at;
    int64_t last_seq;
} ik_postgres_agent_t;

typedef struct {
    void *scratch; /* everything is on it */
    ik_pq_link_t *link;
    const ik_store_batch_t *given;
    ik_pq_array_t ids;               /* of all sessions it names */
    ik_postgres_session_t *sessions; /* by id */
    size_t session_count;
    ik_postgres_agent_t *agents; /* by session and number */
    size_t agent_count;
} ik_postgres_batch_t;

/* Inside a transaction: writes the sessions and agents that are new, and fills in the rest. */
res_t ik_postgres_batch_begin(ik_postgres_batch_t *batch);

/* The session something is to be written to; NULL when it was deleted, and what is written to it is
 * dropped. IK_ERR_NOT_FOUND. */
res_t ik_postgres_batch_session(const ik_postgres_batch_t *batch, const char *id,
                                ik_postgres_session_t **out);
/* NULL when there is none. */
ik_postgres_agent_t *ik_postgres_batch_agent(const ik_postgres_batch_t *batch,
                                             const char *session_id, int64_t number);

/* Rows on their way, by columns, for unnest(). Of each column a letter: t text, n number, r real.
 */
void ik_postgres_batch_init(const ik_postgres_batch_t *batch, ik_pq_array_t *columns,
                            const char *letters);
/* Runs a statement whose parameters are the columns. sql stays where it is; rows may be NULL. */
res_t ik_postgres_batch_run(const ik_postgres_batch_t *batch, const char *sql,
                            ik_pq_array_t *columns, size_t count, ik_pq_rows_t **rows);
