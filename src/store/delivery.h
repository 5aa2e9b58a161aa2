/*
 * The worker that talks to the shared history: one thread with its own connections to the local
 * file and to the server. It delivers, in order, what the local file has and the server lacks, and
 * answers questions. It sleeps while there is nothing to do; while the server cannot be reached, it
 * retries at growing intervals.
 *
 * Only ik_delivery_ask and ik_delivery_finish wait for the server, and only for a given time.
 * Callbacks are called from the loop, or from inside these two functions.
 */
#pragma once

#include "io/loop.h"
#include "store/store.h"

typedef struct ik_delivery ik_delivery_t;

typedef struct {
    const char *url;
    const char *address; /* the URL without its password, which names it in the local file */
    const char *file;
    ik_loop_t *loop;
    /* One line for the user: the server cannot be reached, or can be reached again. */
    void (*on_notice)(void *data, const char *line);
    /* A session was continued here and elsewhere; the one of this machine has a new id now. */
    void (*on_renamed)(void *data, const char *from, const char *to);
    /* count sessions were begun without this server and stay here, and the user was never asked
     * about them: answer with ik_delivery_decide. NULL: the user cannot be asked, and one notice
     * per server says that they stay here. */
    void (*on_withheld)(void *data, int64_t count);
    void *data;
} ik_delivery_options_t;

/* The thread starts when there is something to do. Freeing stops it; the next program delivers what
 * is left. */
ik_delivery_t *ik_delivery_create(const void *ctx, const ik_delivery_options_t *options);

/* Decides whether sessions that were begun without this server are delivered, too. The decision is
 * stored in the local file as soon as the server answers. */
void ik_delivery_decide(ik_delivery_t *delivery, bool all);

/* To be called after a write to the local file. */
void ik_delivery_poke(ik_delivery_t *delivery);

/* Runs in the worker when everything is delivered. question is a talloc tree with everything the
 * function needs, to which it adds what it finds. */
typedef res_t (*ik_delivery_fn)(void *question, ik_store_t *local, ik_store_t *shared);

/* Waits at most patience_ms for the answer, and calls pending callbacks. IK_ERR_GONE when there is
 * no answer. If the worker has started on the question by then, it keeps it and *question becomes
 * NULL; otherwise the question is withdrawn. */
res_t ik_delivery_ask(ik_delivery_t *delivery, ik_delivery_fn answer, void **question,
                      int patience_ms);

/* Asks without waiting; takes ownership of question. on_answer is called later, from the loop and
 * never from inside a function of this interface. Its result and question are as after
 * ik_delivery_ask; a question that is not NULL belongs to the callback. The inquiry is freed when
 * the callback returns. Freeing it earlier, which must be before the delivery is freed, cancels the
 * callback. */
typedef struct ik_delivery_inquiry ik_delivery_inquiry_t;
typedef void (*ik_delivery_answer_fn)(void *data, const res_t *result, void *question);
ik_delivery_inquiry_t *ik_delivery_ask_start(const void *ctx, ik_delivery_t *delivery,
                                             ik_delivery_fn answer, void *question, int patience_ms,
                                             ik_delivery_answer_fn on_answer, void *data);

/* Submits a question whose answer is not needed; takes ownership of it. */
void ik_delivery_submit(ik_delivery_t *delivery, ik_delivery_fn answer, void *question);

/* Claims the session on the server, now or as soon as the server answers, because this process
 * writes it. Only one session is held at a time: the last one. */
void ik_delivery_hold(ik_delivery_t *delivery, const char *session_id, const ik_holder_t *self);
/* Stops holding the session; does nothing if another one is held. */
void ik_delivery_let_go(ik_delivery_t *delivery, const char *session_id);

/* Waits at most patience_ms until everything is delivered. IK_ERR_GONE when it is not, and at once
 * when the server cannot be reached. */
res_t ik_delivery_finish(ik_delivery_t *delivery, int patience_ms);
