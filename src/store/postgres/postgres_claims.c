#include "store/postgres/postgres_claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "store/postgres/postgres_text.h"

typedef struct {
    char id[IK_STORE_ID_LEN + 1];
    ik_holder_t holder;
} claim_t;

struct ik_postgres_claims {
    ik_pq_link_t *link;
    claim_t *held;
    size_t count;
};

ik_postgres_claims_t *ik_postgres_claims_create(const void *ctx, ik_pq_link_t *link)
{
    ik_postgres_claims_t *claims = ik_new(ctx, ik_postgres_claims_t);
    claims->link = link;
    return claims;
}

/* --- the list ---------------------------------------------------------------------------- */

static claim_t *find(const ik_postgres_claims_t *claims, const char *session_id)
{
    for (size_t i = 0; i < claims->count; i++) {
        if (strcmp(claims->held[i].id, session_id) == 0) {
            return &claims->held[i];
        }
    }
    return NULL;
}

static void remember(ik_postgres_claims_t *claims, const claim_t *claim)
{
    claim_t *known = find(claims, claim->id);
    if (known == NULL) {
        claims->held = ik_resize_array(claims, claims->held, claim_t, claims->count + 1);
        known = &claims->held[claims->count++];
    }
    *known = *claim;
}

static void forget(ik_postgres_claims_t *claims, claim_t *claim)
{
    *claim = claims->held[--claims->count];
}

/* --- locks ------------------------------------------------------------------------------- */

/* $1 to $4 are the id, pid, start and host. */
static res_t run_with_holder(const void *ctx, const ik_postgres_claims_t *claims,
                             const claim_t *claim, const char *sql)
{
    ik_pq_params_t params;
    ik_pq_params_init(&params, ctx);
    ik_pq_params_add_text(&params, claim->id);
    ik_pq_params_add_number(&params, claim->holder.pid);
    ik_pq_params_add_number(&params, claim->holder.started);
    ik_pq_params_add_text(&params, ik_postgres_text_clean(ctx, claim->holder.host));
    return ik_pq_link_run(ctx, claims->link, sql, &params, NULL);
}

/* $1 is the number of the lock. */
static res_t run_with_number(const void *ctx, const ik_postgres_claims_t *claims,
                             const char *session_id, const char *sql, ik_pq_rows_t **rows)
{
    ik_pq_params_t params;
    ik_pq_params_init(&params, ctx);
    ik_pq_params_add_number(&params, (int64_t)strtoull(session_id, NULL, 16));
    return ik_pq_link_run(ctx, claims->link, sql, &params, rows);
}

static res_t unlock(const void *ctx, const ik_postgres_claims_t *claims, const char *session_id)
{
    return run_with_number(ctx, claims, session_id, "SELECT pg_advisory_unlock($1::bigint)", NULL);
}

/* Takes the lock and notes the holder; a lock whose holder cannot be noted is given back. */
static res_t lock(const void *ctx, const ik_postgres_claims_t *claims, const claim_t *claim,
                  bool *taken)
{
    ik_pq_rows_t *rows;
    TRY(run_with_number(ctx, claims, claim->id, "SELECT pg_try_advisory_lock($1::bigint)", &rows));
    *taken = ik_pq_rows_bool(rows, 0, 0);
    if (!*taken) {
        return OK;
    }
    res_t noted = run_with_holder(ctx, claims, claim,
                                  "INSERT INTO ikigai.holders(session_id, pid, started, host)"
                                  " VALUES($1, $2, $3, $4) ON CONFLICT (session_id) DO UPDATE SET"
                                  " pid = $2, started = $3, host = $4");
    if (is_err(&noted)) {
        *taken = false;
        res_t unlocked = unlock(ctx, claims, claim->id);
        if (is_err(&unlocked)) {
            ik_pq_link_close(claims->link);
        }
    }
    return noted;
}

/* The pid is 0 when no holder is noted. */
static res_t read_holder(const void *ctx, const ik_postgres_claims_t *claims,
                         const char *session_id, ik_holder_t *holder)
{
    ik_pq_params_t params;
    ik_pq_rows_t *rows;
    ik_pq_params_init(&params, ctx);
    ik_pq_params_add_text(&params, session_id);
    TRY(ik_pq_link_run(ctx, claims->link,
                       "SELECT pid, started, host FROM ikigai.holders WHERE session_id = $1",
                       &params, &rows));
    *holder = (ik_holder_t){0};
    if (rows->count > 0) {
        holder->pid = ik_pq_rows_number(rows, 0, 0, 0);
        holder->started = ik_pq_rows_number(rows, 0, 1, 0);
        snprintf(holder->host, sizeof(holder->host), "%s", ik_pq_rows_text(rows, 0, 2));
    }
    return OK;
}

/* --- taking and releasing ---------------------------------------------------------------- */

static res_t refuse(const char *session_id, const ik_holder_t *holder)
{
    return ERR(CONFLICT, "Session %s is %s", session_id, ik_holder_describe_use(holder).text);
}

static res_t take(const void *ctx, ik_postgres_claims_t *claims, const claim_t *claim,
                  ik_holder_t *other)
{
    enum { TRIES = 40, PAUSE_MS = 50 };
    for (int i = 0; i < TRIES; i++) {
        bool taken = false;
        TRY(lock(ctx, claims, claim, &taken));
        if (taken) {
            remember(claims, claim);
            return OK;
        }
        TRY(read_holder(ctx, claims, claim->id, other));
        /* The server notices the end of a connection with delay, and a holder is noted a moment
         * after it took the lock. So only a holder that may be alive ends the waiting. */
        if (other->pid != 0 && ik_holder_may_live(other)) {
            break;
        }
        TRY(ik_pq_link_pause(claims->link, PAUSE_MS));
    }
    return refuse(claim->id, other);
}

/* A connection can take an advisory lock twice, so claims->held decides whether it is taken. */
res_t ik_postgres_claims_take(ik_postgres_claims_t *claims, const char *session_id,
                              const ik_holder_t *self, ik_holder_t *other)
{
    if (strlen(session_id) != IK_STORE_ID_LEN ||
        strspn(session_id, "0123456789abcdef") != IK_STORE_ID_LEN) {
        return ERR(INVALID, "'%.32s' is not a session id", session_id);
    }
    const claim_t *held = find(claims, session_id);
    if (held != NULL && ik_holder_equal(&held->holder, self)) {
        return OK;
    }
    if (held != NULL) {
        *other = held->holder;
        return refuse(session_id, other);
    }
    void *scratch = talloc_new(NULL);
    claim_t claim = {.holder = *self};
    memcpy(claim.id, session_id, IK_STORE_ID_LEN);
    res_t taken = take(scratch, claims, &claim, other);
    talloc_free(scratch);
    return taken;
}

res_t ik_postgres_claims_release(ik_postgres_claims_t *claims, const char *session_id,
                                 const ik_holder_t *self)
{
    claim_t *held = find(claims, session_id);
    if (held == NULL || !ik_holder_equal(&held->holder, self)) {
        return OK;
    }
    claim_t claim = *held;
    forget(claims, held);
    if (!ik_pq_link_is_up(claims->link)) {
        return OK;
    }
    void *scratch = talloc_new(NULL);
    res_t released = run_with_holder(scratch, claims, &claim,
                                     "DELETE FROM ikigai.holders WHERE session_id = $1 AND pid = $2"
                                     " AND started = $3 AND host = $4");
    if (is_ok(&released)) {
        released = unlock(scratch, claims, claim.id);
    }
    talloc_free(scratch);
    if (is_err(&released)) {
        ik_pq_link_close(claims->link); /* which releases the lock */
    }
    return released;
}

res_t ik_postgres_claims_renew(ik_postgres_claims_t *claims)
{
    void *scratch = talloc_new(NULL);
    res_t renewed = OK;
    for (size_t i = 0; i < claims->count && is_ok(&renewed);) {
        bool taken = false;
        renewed = lock(scratch, claims, &claims->held[i], &taken);
        if (is_ok(&renewed) && !taken) {
            forget(claims, &claims->held[i]);
        } else {
            i++;
        }
    }
    talloc_free(scratch);
    return renewed;
}
