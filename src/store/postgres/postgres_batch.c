#include "store/postgres/postgres_batch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "store/postgres/postgres_text.h"

void ik_postgres_batch_init(const ik_postgres_batch_t *batch, ik_pq_array_t *columns,
                            const char *letters)
{
    for (size_t i = 0; letters[i] != '\0'; i++) {
        ik_pq_array_kind_t kind = letters[i] == 't'   ? IK_PQ_ARRAY_TEXT
                                  : letters[i] == 'n' ? IK_PQ_ARRAY_NUMBER
                                                      : IK_PQ_ARRAY_REAL;
        ik_pq_array_init(&columns[i], batch->scratch, kind);
    }
}

res_t ik_postgres_batch_run(const ik_postgres_batch_t *batch, const char *sql,
                            ik_pq_array_t *columns, size_t count, ik_pq_rows_t **rows)
{
    ik_pq_params_t params;
    ik_pq_params_init(&params, batch->scratch);
    for (size_t i = 0; i < count; i++) {
        ik_pq_params_add_array(&params, &columns[i]);
    }
    return ik_pq_link_run_large(batch->scratch, batch->link, sql, &params, rows);
}

/* --- sessions ---------------------------------------------------------------------------- */

static res_t check_id(const char *id)
{
    bool valid = strlen(id) == IK_STORE_ID_LEN && strspn(id, "0123456789abcdef") == IK_STORE_ID_LEN;
    return valid ? OK : ERR(INVALID, "'%.32s' is no id of a session", id);
}

/* Ids come in runs. */
static void add_id(ik_pq_array_t *ids, const char **last, const char *id)
{
    if (*last == NULL || strcmp(*last, id) != 0) {
        ik_pq_array_add_text(ids, id);
        *last = id;
    }
}

/* All ids the batch names. */
static res_t collect_ids(const ik_postgres_batch_t *batch, ik_pq_array_t *ids)
{
    const ik_store_batch_t *given = batch->given;
    const char *last = NULL;
    ik_postgres_batch_init(batch, ids, "t");
    for (size_t i = 0; i < given->session_count; i++) {
        TRY(check_id(given->sessions[i].id));
        add_id(ids, &last, given->sessions[i].id);
    }
    for (size_t i = 0; i < given->agent_count; i++) {
        TRY(check_id(given->agents[i].session_id));
        add_id(ids, &last, given->agents[i].session_id);
    }
    for (size_t i = 0; i < given->event_count; i++) {
        TRY(check_id(given->events[i].session_id));
        add_id(ids, &last, given->events[i].session_id);
    }
    return OK;
}

enum { QUEUES = 256, QUEUE_CLASS = 0x696b };

/* Which of the queues an id belongs to: its last two digits. */
static size_t queue_of(const char *id)
{
    return strtoul(id + IK_STORE_ID_LEN - 2, NULL, 16);
}

/* Whoever writes to the same sessions goes one after the other. Rows alone cannot see to that: some
 * are there and locked in order, others are being inserted, and two who have one of each wait for
 * each other. Advisory locks, taken in one order before anything else, can. */
static res_t queue_up(const ik_postgres_batch_t *batch)
{
    static const char sql[] = "SELECT pg_advisory_xact_lock($2::integer, queue::integer)"
                              " FROM unnest($1::bigint[]) AS queue";
    const ik_store_batch_t *given = batch->given;
    bool wanted[QUEUES] = {false};
    ik_pq_array_t queues;
    ik_pq_params_t params;
    for (size_t i = 0; i < given->session_count; i++) {
        wanted[queue_of(given->sessions[i].id)] = true;
    }
    for (size_t i = 0; i < given->agent_count; i++) {
        wanted[queue_of(given->agents[i].session_id)] = true;
    }
    for (size_t i = 0; i < given->event_count; i++) {
        wanted[queue_of(given->events[i].session_id)] = true;
    }
    ik_postgres_batch_init(batch, &queues, "n");
    for (size_t i = 0; i < QUEUES; i++) {
        if (wanted[i]) {
            ik_pq_array_add_number(&queues, (int64_t)i);
        }
    }
    ik_pq_params_init(&params, batch->scratch);
    ik_pq_params_add_array(&params, &queues);
    ik_pq_params_add_number(&params, QUEUE_CLASS);
    return ik_pq_link_run_large(batch->scratch, batch->link, sql, &params, NULL);
}

static res_t hold_sessions(ik_postgres_batch_t *batch)
{
    static const char sql[] = "SELECT id, deleted_at IS NOT NULL FROM ikigai.sessions"
                              " WHERE id = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE";
    ik_pq_rows_t *rows;
    TRY(ik_postgres_batch_run(batch, sql, &batch->ids, 1, &rows));
    batch->sessions = ik_new_array(batch->scratch, ik_postgres_session_t, (size_t)rows->count);
    batch->session_count = (size_t)rows->count;
    for (int i = 0; i < rows->count; i++) {
        batch->sessions[i] = (ik_postgres_session_t){.id = ik_pq_rows_text(rows, i, 0),
                                                     .deleted = ik_pq_rows_bool(rows, i, 1),
                                                     .usage = IK_USAGE_NONE,
                                                     .cost = -1};
    }
    return OK;
}

static int compare_id_to_row(const void *id, const void *row)
{
    return strcmp(id, ((const ik_postgres_session_t *)row)->id);
}

static ik_postgres_session_t *find_session(const ik_postgres_batch_t *batch, const char *id)
{
    return bsearch(id, batch->sessions, batch->session_count, sizeof(*batch->sessions),
                   compare_id_to_row);
}

static void add_session(const ik_postgres_batch_t *batch, ik_pq_array_t *columns,
                        const ik_store_session_t *session)
{
    const char *model = session->model == NULL ? "" : session->model;
    ik_pq_array_add_text(&columns[0], session->id);
    ik_pq_array_add_text(&columns[1], ik_postgres_text_clean(batch->scratch, session->cwd));
    ik_pq_array_add_text(&columns[2], ik_postgres_text_clean(batch->scratch, session->host));
    ik_pq_array_add_text(&columns[3], ik_postgres_text_clean(batch->scratch, model));
    ik_pq_array_add_number(&columns[4], session->created_us);
}

/* In the order of their ids, because each waits for who is inserting the same. */
static res_t insert_sessions(ik_postgres_batch_t *batch)
{
    static const char sql[] =
        "INSERT INTO ikigai.sessions(id, cwd, host, model, created_at, updated_at)"
        " SELECT id, cwd, host, model, created_at, created_at"
        " FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])"
        "   AS new(id, cwd, host, model, created_at)"
        " ORDER BY id ON CONFLICT (id) DO NOTHING";
    ik_pq_array_t columns[5];
    ik_postgres_batch_init(batch, columns, "ttttn");
    for (size_t i = 0; i < batch->given->session_count; i++) {
        if (find_session(batch, batch->given->sessions[i].id) == NULL) {
            add_session(batch, columns, &batch->given->sessions[i]);
        }
    }
    if (columns[0].count == 0) {
        return OK;
    }
    TRY(ik_postgres_batch_run(batch, sql, columns, 5, NULL));
    return hold_sessions(batch);
}

res_t ik_postgres_batch_session(const ik_postgres_batch_t *batch, const char *id,
                                ik_postgres_session_t **out)
{
    ik_postgres_session_t *row = find_session(batch, id);
    if (row == NULL) {
        return ERR(NOT_FOUND, "There is no session %s", id);
    }
    *out = row->deleted ? NULL : row;
    return OK;
}

/* --- agents ------------------------------------------------------------------------------ */

static res_t read_agents(ik_postgres_batch_t *batch)
{
    static const char sql[] =
        "SELECT session_id, number, coalesce(parent, 0), forked_at,"
        " coalesce((SELECT max(seq) FROM ikigai.messages m"
        "   WHERE m.session_id = a.session_id AND m.agent = a.number), forked_at)"
        " FROM ikigai.agents a WHERE session_id = ANY($1::text[]) ORDER BY session_id, number";
    ik_pq_array_t ids;
    ik_pq_rows_t *rows;
    ik_postgres_batch_init(batch, &ids, "t");
    for (size_t i = 0; i < batch->session_count; i++) {
        ik_pq_array_add_text(&ids, batch->sessions[i].id);
    }
    TRY(ik_postgres_batch_run(batch, sql, &ids, 1, &rows));
    batch->agents = ik_new_array(batch->scratch, ik_postgres_agent_t, (size_t)rows->count);
    batch->agent_count = (size_t)rows->count;
    for (int i = 0; i < rows->count; i++) {
        batch->agents[i] = (ik_postgres_agent_t){.session_id = ik_pq_rows_text(rows, i, 0),
                                                 .number = ik_pq_rows_number(rows, i, 1, 0),
                                                 .parent = ik_pq_rows_number(rows, i, 2, 0),
                                                 .forked_at = ik_pq_rows_number(rows, i, 3, 0),
                                                 .last_seq = ik_pq_rows_number(rows, i, 4, 0)};
    }
    return OK;
}

static int compare_agents(const void *a, const void *b)
{
    const ik_postgres_agent_t *left = a;
    const ik_postgres_agent_t *right = b;
    int order = strcmp(left->session_id, right->session_id);
    return order != 0 ? order : (left->number > right->number) - (left->number < right->number);
}

ik_postgres_agent_t *ik_postgres_batch_agent(const ik_postgres_batch_t *batch,
                                             const char *session_id, int64_t number)
{
    ik_postgres_agent_t wanted = {.session_id = session_id, .number = number};
    return bsearch(&wanted, batch->agents, batch->agent_count, sizeof(*batch->agents),
                   compare_agents);
}

/* Those that are not there, of sessions that are. */
static res_t collect_agents(const ik_postgres_batch_t *batch, ik_pq_array_t *columns)
{
    ik_postgres_batch_init(batch, columns, "tnnnn");
    for (size_t i = 0; i < batch->given->agent_count; i++) {
        const ik_store_agent_t *agent = &batch->given->agents[i];
        ik_postgres_session_t *session = NULL;
        TRY(ik_postgres_batch_session(batch, agent->session_id, &session));
        if (session == NULL ||
            ik_postgres_batch_agent(batch, agent->session_id, agent->number) != NULL) {
            continue;
        }
        ik_pq_array_add_text(&columns[0], agent->session_id);
        ik_pq_array_add_number(&columns[1], agent->number);
        ik_pq_array_add_number(&columns[2], agent->parent);
        ik_pq_array_add_number(&columns[3], agent->forked_at);
        ik_pq_array_add_number(&columns[4], agent->created_us);
    }
    return OK;
}

/* One that is twice in the batch is compared with itself afterwards. */
static res_t insert_agents(ik_postgres_batch_t *batch)
{
    static const char sql[] =
        "INSERT INTO ikigai.agents(session_id, number, parent, forked_at, created_at)"
        " SELECT session_id, number, nullif(parent, 0), forked_at, created_at"
        " FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])"
        "   AS new(session_id, number, parent, forked_at, created_at)"
        " ON CONFLICT (session_id, number) DO NOTHING";
    ik_pq_array_t columns[5];
    TRY(collect_agents(batch, columns));
    if (columns[0].count == 0) {
        return OK;
    }
    TRY(ik_postgres_batch_run(batch, sql, columns, 5, NULL));
    return read_agents(batch);
}

static res_t compare_given_agents(const ik_postgres_batch_t *batch)
{
    for (size_t i = 0; i < batch->given->agent_count; i++) {
        const ik_store_agent_t *agent = &batch->given->agents[i];
        const ik_postgres_agent_t *there =
            ik_postgres_batch_agent(batch, agent->session_id, agent->number);
        if (there != NULL &&
            (there->parent != agent->parent || there->forked_at != agent->forked_at)) {
            return ERR(CONFLICT, "%s: agent %" PRId64 " is another one", agent->session_id,
                       agent->number);
        }
    }
    return OK;
}

res_t ik_postgres_batch_begin(ik_postgres_batch_t *batch)
{
    TRY(collect_ids(batch, &batch->ids));
    TRY(queue_up(batch));
    TRY(hold_sessions(batch));
    TRY(insert_sessions(batch));
    TRY(read_agents(batch));
    TRY(insert_agents(batch));
    return compare_given_agents(batch);
}
