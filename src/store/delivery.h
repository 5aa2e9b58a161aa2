/*
 * The worker that talks to the shared history: one thread with a connection of its own to the local
 * file and one to the server. It delivers what the local file has and the server does not, in
 * order, whenever it is told that there is something, and answers questions. While nothing is to be
 * done it sleeps; while the server is away it tries again, ever more rarely.
 *
 * Nothing here waits for the server but ik_delivery_ask and _finish, and these not for long.
 */
#pragma once

#include "io/loop.h"
#include "store/store.h"

typedef struct ik_delivery ik_delivery_t;

typedef struct {
    const char *url;
    const char *address; /* the URL without its password: what stands for it in the file */
    const char *file;
    ik_loop_t *loop;
    /* One line for the user, from the loop: the server went or returned. */
    void (*on_notice)(void *data, const char *line);
    /* From the loop: what was said here and elsewhere under one id differs, so that the session of
     * this machine has another one now. */
    void (*on_renamed)(void *data, const char *from, const char *to);
    /* From the loop: so many sessions that were begun without this server stay here, and the user
     * was never asked about them: ik_delivery_decide. NULL: nobody can be asked, and a notice says
     * so once per server. */
    void (*on_withheld)(void *data, int64_t count);
    void *data;
} ik_delivery_options_t;

/* The thread begins with the first thing to do. Freeing stops it; what is undelivered stays so. */
ik_delivery_t *ik_delivery_create(const void *ctx, const ik_delivery_options_t *options);

/* Whether sessions that were begun without this server are delivered, too; remembered in the local
 * file as soon as the server answers. */
void ik_delivery_decide(ik_delivery_t *delivery, bool all);

/* There is something new in the local file. */
void ik_delivery_poke(ik_delivery_t *delivery);

/* Something to be done by the worker, when all is delivered: question is a talloc tree that holds
 * all the function needs and everything it finds. */
typedef res_t (*ik_delivery_fn)(void *question, ik_store_t *local, ik_store_t *shared);

/* Waits for the answer, at most so long, and hands out what there is to be told. IK_ERR_GONE when
 * there was none: then, when the worker is still at it, *question belongs to it and is NULL here;
 * what it has not begun by then is not done any more. */
res_t ik_delivery_ask(ik_delivery_t *delivery, ik_delivery_fn answer, void **question,
                      int patience_ms);

/* The same without waiting. The question is the inquiry's; the answer comes from the loop, later
 * and never from inside a call of this interface. result and question are as after
 * ik_delivery_ask: a question that is not NULL belongs to the callback. The inquiry is freed when
 * it returns; freeing it earlier, and before the delivery, means that there is no answer. */
typedef struct ik_delivery_inquiry ik_delivery_inquiry_t;
typedef void (*ik_delivery_answer_fn)(void *data, const res_t *result, void *question);
ik_delivery_inquiry_t *ik_delivery_ask_start(const void *ctx, ik_delivery_t *delivery,
                                             ik_delivery_fn answer, void *question, int patience_ms,
                                             ik_delivery_answer_fn on_answer, void *data);

/* For what nobody wants an answer to: the question is the worker's. */
void ik_delivery_tell(ik_delivery_t *delivery, ik_delivery_fn answer, void *question);

/* This process writes the session: it is claimed on the server, too, now or as soon as that
 * answers. One at a time: the last one counts. */
void ik_delivery_hold(ik_delivery_t *delivery, const char *session_id, const ik_holder_t *self);
/* It is written no more; nothing when another one is held by now. */
void ik_delivery_let_go(ik_delivery_t *delivery, const char *session_id);

/* Waits until all is delivered, at most so long, and not for a server that does not answer:
 * IK_ERR_GONE. */
res_t ik_delivery_finish(ik_delivery_t *delivery, int patience_ms);
