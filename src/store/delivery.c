/*
 * The two threads share a post_t: orders go to the worker, messages to the loop. Either thread may
 * be the last to leave (the worker can hang in a name lookup, which cannot be interrupted), so the
 * post counts its users. The mutex guards everything in it; neither thread holds it during an
 * operation that takes time.
 */
#include "store/delivery.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "store/postgres/store_postgres.h"
#include "store/sqlite/store_sqlite.h"

enum {
    RETRY_FIRST_MS = 1000,
    RETRY_MOST_MS = 60000,
    ASK_AGAIN_MS = 1000, /* a question causes an attempt, but not sooner after the last one */
    LEAVE_MS = 500,
    CONNECT_MS = 3000, /* not longer than callers wait, so that they get the reason */
};

typedef struct order {
    struct order *next;
    ik_delivery_fn answer;
    void *question; /* without a talloc parent, because its owner changes */
    res_t result;
    bool done;
    bool abandoned; /* no caller waits: the worker frees it */
    bool by_loop;   /* the loop waits, and must be woken */
} order_t;

/* A message to the loop: a notice, a question about withheld sessions, or a renamed session. */
typedef struct word {
    struct word *next;
    char *line;       /* a notice, or NULL */
    int64_t withheld; /* sessions the user is to be asked about, or 0 */
    char from[IK_STORE_ID_LEN + 1];
    char to[IK_STORE_ID_LEN + 1];
} word_t;

typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int users;
    char *url;
    char *address;
    char *file;
    bool asks;   /* the user can be asked about sessions that stay here */
    int wake_fd; /* readable when the worker must stop */
    int word_fd; /* readable when there are messages or answers for the loop */
    atomic_bool stop;
    bool poked; /* something may be undelivered */
    bool away;  /* the last attempt failed */
    order_t *orders;
    word_t *words;
    char held_id[IK_STORE_ID_LEN + 1]; /* "": none */
    ik_holder_t holder;
    bool held;                   /* on the server */
    ik_store_consent_t decision; /* of the user, not stored yet; UNDECIDED: none */
    /* used by the worker only */
    ik_store_t *local;
    ik_store_t *shared;
    bool reported_away;
    bool settled;     /* the user was asked about withheld sessions, if necessary */
    bool redelivered; /* everything, because the server had lost something */
    int64_t retry_ms;
    int64_t tried_ms;
} post_t;

struct ik_delivery {
    post_t *post;
    bool started;
    pthread_t thread;
    ik_watch_t *watch;
    ik_delivery_inquiry_t *inquiries; /* used by the loop only */
    ik_delivery_options_t options;
};

struct ik_delivery_inquiry {
    ik_delivery_inquiry_t *next;
    ik_delivery_t *delivery;
    order_t *order;
    ik_timer_t *timer; /* ends the waiting; restarted with 0 when there is an answer */
    ik_delivery_answer_fn on_answer;
    void *data;
};

/* --- the post ---------------------------------------------------------------------------- */

static post_t *create_post(const ik_delivery_options_t *options)
{
    post_t *post = ik_new(NULL, post_t);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&post->mutex, NULL);
    pthread_cond_init(&post->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    post->users = 1;
    post->url = ik_strdup(post, options->url);
    post->address = ik_strdup(post, options->address);
    post->file = ik_strdup(post, options->file);
    post->asks = options->on_withheld != NULL;
    post->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    post->word_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    post->poked = true; /* an earlier program may have left something */
    return post;
}

/* Called with the mutex held, which is unlocked. The last user frees the post. */
static void leave_post(post_t *post)
{
    bool last = --post->users == 0;
    pthread_mutex_unlock(&post->mutex);
    if (!last) {
        return;
    }
    close(post->wake_fd);
    close(post->word_fd);
    pthread_cond_destroy(&post->changed);
    pthread_mutex_destroy(&post->mutex);
    talloc_free(post);
}

static struct timespec deadline_in(int64_t ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    ms = ms < 0 ? 0 : ms;
    int64_t nsec = at.tv_nsec + ms % 1000 * 1000000;
    at.tv_sec += ms / 1000 + nsec / 1000000000;
    at.tv_nsec = nsec % 1000000000;
    return at;
}

/* --- messages to the loop ---------------------------------------------------------------- */

static void wake_loop(const post_t *post)
{
    uint64_t one = 1;
    ssize_t written = write(post->word_fd, &one, sizeof(one));
    (void)written; /* the counter cannot overflow */
}

static void post_word(post_t *post, word_t *word)
{
    pthread_mutex_lock(&post->mutex);
    word_t **end = &post->words;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = word;
    pthread_mutex_unlock(&post->mutex);
    wake_loop(post);
}

__attribute__((format(printf, 2, 3))) static void say(post_t *post, const char *format, ...)
{
    va_list args;
    word_t *word = ik_new(NULL, word_t);
    va_start(args, format);
    word->line = ik_vsprintf(word, format, args);
    va_end(args);
    post_word(post, word);
}

static void on_words(void *data)
{
    const ik_delivery_t *delivery = data;
    uint64_t count;
    ssize_t got = read(delivery->post->word_fd, &count, sizeof(count));
    (void)got; /* the count does not matter: all messages are taken */
    pthread_mutex_lock(&delivery->post->mutex);
    word_t *word = delivery->post->words;
    delivery->post->words = NULL;
    /* Answers are given by timers and not from here, because this may run in ik_delivery_ask. */
    for (ik_delivery_inquiry_t *i = delivery->inquiries; i != NULL; i = i->next) {
        if (i->order->done) {
            ik_timer_start(i->timer, 0);
        }
    }
    pthread_mutex_unlock(&delivery->post->mutex);
    while (word != NULL) {
        word_t *next = word->next;
        if (word->line != NULL) {
            delivery->options.on_notice(delivery->options.data, word->line);
        } else if (word->withheld > 0) {
            delivery->options.on_withheld(delivery->options.data, word->withheld);
        } else {
            delivery->options.on_renamed(delivery->options.data, word->from, word->to);
        }
        talloc_free(word);
        word = next;
    }
}

/* --- the worker: the connection ---------------------------------------------------------- */

static void set_away(post_t *post, bool away)
{
    pthread_mutex_lock(&post->mutex);
    post->away = away;
    pthread_cond_broadcast(&post->changed);
    pthread_mutex_unlock(&post->mutex);
}

/* The user is notified once, before callers stop waiting. */
static void on_failure(post_t *post, const res_t *failure)
{
    int64_t longer = post->reported_away ? 2 * post->retry_ms : RETRY_FIRST_MS;
    post->retry_ms = longer > RETRY_MOST_MS ? RETRY_MOST_MS : longer;
    post->tried_ms = ik_clock_now_ms();
    if (!post->reported_away && !post->stop) {
        post->reported_away = true;
        say(post,
            "The shared history is out of reach (%s). Everything is kept in %s and delivered "
            "later.",
            failure->message, post->file);
    }
    set_away(post, true);
}

static void on_success(post_t *post)
{
    set_away(post, false);
    if (post->reported_away) {
        post->reported_away = false;
        say(post, "The shared history is back; nothing was lost.");
    }
}

static res_t connect_both(post_t *post)
{
    if (post->local == NULL) {
        TRY(ik_store_sqlite_open(post, post->file, &post->local));
    }
    if (post->shared != NULL) { /* kept, because it knows what it has claimed */
        return ik_store_postgres_reach(post->shared);
    }
    ik_store_postgres_options_t options = {
        .url = post->url, .wake_fd = post->wake_fd, .connect_ms = CONNECT_MS};
    return ik_store_postgres_open(post, &options, &post->shared);
}

/* --- the worker: the session that is being written --------------------------------------- */

static bool read_held(post_t *post, char *id, ik_holder_t *self)
{
    pthread_mutex_lock(&post->mutex);
    bool due = post->held_id[0] != '\0' && !post->held;
    memcpy(id, post->held_id, sizeof(post->held_id));
    *self = post->holder;
    pthread_mutex_unlock(&post->mutex);
    return due;
}

/* Another process may hold the session: if both write it, part_ways renames ours. */
static res_t hold_session(post_t *post)
{
    char id[IK_STORE_ID_LEN + 1];
    ik_holder_t self;
    ik_holder_t other;
    if (!read_held(post, id, &self)) {
        return OK;
    }
    res_t claimed = ik_store_claim(post->shared, id, &self, &other);
    if (is_err(&claimed) && claimed.code != IK_ERR_CONFLICT) {
        return claimed;
    }
    pthread_mutex_lock(&post->mutex);
    post->held = post->held || strcmp(post->held_id, id) == 0;
    pthread_mutex_unlock(&post->mutex);
    return OK;
}

static void rename_held(post_t *post, const char *from, const char *to)
{
    pthread_mutex_lock(&post->mutex);
    if (strcmp(post->held_id, from) == 0) {
        snprintf(post->held_id, sizeof(post->held_id), "%s", to);
        post->held = false;
    }
    pthread_mutex_unlock(&post->mutex);
}

/* --- the worker: what the server may have ------------------------------------------------ */

/* Shares the sessions that the server already has. The local file does not know that they were
 * delivered when it was saved from a damaged one. */
static res_t share_known(post_t *post, const char *server)
{
    void *scratch = talloc_new(NULL);
    ik_store_list_t *list;
    ik_store_session_t here;
    res_t shared =
        ik_store_list(scratch, post->shared, &(ik_store_filter_t){.uncounted = true}, &list);
    for (size_t i = 0; is_ok(&shared) && i < list->count; i++) {
        res_t found = ik_store_find(scratch, post->local, list->sessions[i].id, &here);
        if (is_ok(&found)) {
            shared = ik_store_sqlite_share(post->local, server, list->sessions[i].id);
        }
    }
    talloc_free(scratch);
    return shared;
}

/* The decision is kept until it is stored. */
static res_t write_decision(post_t *post, const char *server)
{
    pthread_mutex_lock(&post->mutex);
    ik_store_consent_t decision = post->decision;
    pthread_mutex_unlock(&post->mutex);
    if (decision == IK_STORE_SHARE_UNDECIDED) {
        return OK;
    }
    TRY(ik_store_sqlite_set_consent(post->local, server, decision));
    pthread_mutex_lock(&post->mutex);
    if (post->decision == decision) {
        post->decision = IK_STORE_SHARE_UNDECIDED;
    }
    pthread_mutex_unlock(&post->mutex);
    return OK;
}

static res_t ask_about_withheld(post_t *post, const char *server)
{
    ik_store_consent_t consent;
    int64_t count;
    TRY(ik_store_sqlite_read_consent(post->local, server, &consent, &count));
    if (count == 0 || consent == IK_STORE_SHARE_NEW) {
        return OK;
    }
    if (post->asks) {
        word_t *word = ik_new(NULL, word_t);
        word->withheld = count;
        post_word(post, word);
    } else if (consent == IK_STORE_SHARE_UNDECIDED) {
        say(post,
            "%lld earlier session%s of this machine stay%s here: `ikigai session deliver --all` "
            "delivers %s to the shared history, too.",
            (long long)count, count == 1 ? "" : "s", count == 1 ? "s" : "",
            count == 1 ? "it" : "them");
        return ik_store_sqlite_set_consent(post->local, server, IK_STORE_SHARE_NOTIFIED);
    }
    return OK;
}

/* The user is asked at most once per program. */
static res_t settle_sharing(post_t *post)
{
    const char *server = ik_store_postgres_identity(post->shared);
    bool first;
    TRY(ik_store_sqlite_adopt(post->local, post->address, server, &first));
    if (first) {
        TRY(share_known(post, server));
    }
    TRY(write_decision(post, server));
    if (!post->settled) {
        TRY(ask_about_withheld(post, server));
        post->settled = true;
    }
    return OK;
}

/* --- the worker: delivering -------------------------------------------------------------- */

/* Two different sessions have one id, because it was continued here and elsewhere. Both are kept.
 */
static res_t part_ways(post_t *post, const res_t *conflict)
{
    char from[IK_STORE_ID_LEN + 1];
    char *to = ik_store_new_id(post);
    snprintf(from, sizeof(from), "%.16s", conflict->message); /* which begins with the id */
    res_t renamed = ik_store_sqlite_rename(post->local, from, to);
    if (renamed.code == IK_ERR_NOT_FOUND) {
        renamed = *conflict; /* another kind of conflict, not about a session of ours */
    }
    if (is_ok(&renamed)) {
        rename_held(post, from, to);
        word_t *word = ik_new(NULL, word_t);
        snprintf(word->from, sizeof(word->from), "%s", from);
        snprintf(word->to, sizeof(word->to), "%s", to);
        post_word(post, word);
        say(post, "Session %s was continued elsewhere, too; what was said here is session %s now.",
            from, to);
    }
    talloc_free(to);
    return renamed;
}

static res_t deliver_batch(post_t *post, const void *scratch, bool *all)
{
    const char *server = ik_store_postgres_identity(post->shared);
    ik_store_batch_t batch;
    ik_store_delivered_t mark;
    TRY(ik_store_sqlite_undelivered(scratch, post->local, server, &batch, &mark));
    *all = mark.last == 0;
    if (*all) {
        return OK;
    }
    res_t written = batch.event_count == 0 ? OK : ik_store_write(post->shared, &batch);
    switch (written.code) {
    case IK_ERR_NONE:
        return ik_store_sqlite_mark_delivered(post->local, server, &mark);
    case IK_ERR_CONFLICT:
        return part_ways(post, &written);
    case IK_ERR_INVALID: /* the server lacks what it once had, as after a restored backup */
        if (post->redelivered) {
            return written;
        }
        post->redelivered = true;
        return ik_store_sqlite_redeliver(post->local, server);
    default:
        return written;
    }
}

static res_t deliver_all(post_t *post)
{
    bool all = false;
    res_t delivered = OK;
    while (is_ok(&delivered) && !all && !post->stop) {
        void *scratch = talloc_new(NULL);
        delivered = deliver_batch(post, scratch, &all);
        talloc_free(scratch);
    }
    return delivered;
}

/* --- the worker: orders ------------------------------------------------------------------ */

static bool may_try(const post_t *post, bool asked)
{
    int64_t wait = asked ? ASK_AGAIN_MS : post->retry_ms;
    return !post->reported_away || ik_clock_now_ms() - post->tried_ms >= wait;
}

static void finish_order(post_t *post, order_t *order, res_t result)
{
    pthread_mutex_lock(&post->mutex);
    order->result = result;
    order->done = true;
    bool mine = order->abandoned;
    bool by_loop = order->by_loop;
    pthread_cond_broadcast(&post->changed);
    pthread_mutex_unlock(&post->mutex);
    if (mine) {
        talloc_free(order->question);
        talloc_free(order);
    } else if (by_loop) {
        wake_loop(post);
    }
}

/* Delivers everything, then asks the server. *answer is the answer. */
static res_t reach_server(post_t *post, const order_t *order, res_t *answer)
{
    TRY(connect_both(post));
    TRY(settle_sharing(post));
    TRY(deliver_all(post));
    TRY(hold_session(post));
    if (order != NULL) {
        *answer = order->answer(order->question, post->local, post->shared);
    }
    return answer->code == IK_ERR_GONE ? *answer : OK;
}

static void work(post_t *post, order_t *order)
{
    res_t answer = ERR(GONE, "the shared history is out of reach");
    if (may_try(post, order != NULL)) {
        answer = OK;
        res_t reached = reach_server(post, order, &answer);
        if (is_err(&reached)) {
            on_failure(post, &reached);
            answer = ERR(GONE, "%s", reached.message);
        } else {
            on_success(post);
        }
    }
    if (answer.code == IK_ERR_GONE) {
        pthread_mutex_lock(&post->mutex);
        post->poked = true; /* there is still something to do */
        pthread_mutex_unlock(&post->mutex);
    }
    if (order != NULL) {
        finish_order(post, order, answer);
    }
}

/* Sleeps until there is something to do, and returns the order if that is one. Called with the
 * mutex held. */
static order_t *await_work(post_t *post)
{
    while (!post->stop && post->orders == NULL && (!post->poked || post->reported_away)) {
        if (!post->poked) {
            pthread_cond_wait(&post->changed, &post->mutex);
            continue;
        }
        struct timespec until = deadline_in(post->tried_ms + post->retry_ms - ik_clock_now_ms());
        if (pthread_cond_timedwait(&post->changed, &post->mutex, &until) == ETIMEDOUT) {
            break;
        }
    }
    order_t *order = post->orders;
    if (order != NULL) {
        post->orders = order->next;
    }
    post->poked = false;
    return order;
}

static void *run_worker(void *data)
{
    post_t *post = data;
    pthread_mutex_lock(&post->mutex);
    for (;;) {
        order_t *order = await_work(post);
        if (post->stop && order == NULL) {
            break;
        }
        pthread_mutex_unlock(&post->mutex);
        work(post, order);
        pthread_mutex_lock(&post->mutex);
    }
    TALLOC_FREE(post->shared);
    TALLOC_FREE(post->local);
    leave_post(post);
    return NULL;
}

/* --- the loop's side --------------------------------------------------------------------- */

/* The thread blocks all signals: the loop handles them. */
static void start_thread(ik_delivery_t *delivery)
{
    sigset_t all;
    sigset_t before;
    if (delivery->started) {
        return;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    delivery->post->users++;
    delivery->started = pthread_create(&delivery->thread, NULL, run_worker, delivery->post) == 0;
    delivery->post->users -= !delivery->started;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void ik_delivery_poke(ik_delivery_t *delivery)
{
    start_thread(delivery);
    pthread_mutex_lock(&delivery->post->mutex);
    if (!delivery->post->poked) {
        delivery->post->poked = true;
        pthread_cond_broadcast(&delivery->post->changed);
    }
    pthread_mutex_unlock(&delivery->post->mutex);
}

void ik_delivery_decide(ik_delivery_t *delivery, bool all)
{
    pthread_mutex_lock(&delivery->post->mutex);
    delivery->post->decision = all ? IK_STORE_SHARE_ALL : IK_STORE_SHARE_NEW;
    pthread_mutex_unlock(&delivery->post->mutex);
    ik_delivery_poke(delivery);
}

/* Returns with the mutex held. */
static order_t *give_order(ik_delivery_t *delivery, ik_delivery_fn answer, void *question)
{
    order_t *order = ik_new(NULL, order_t);
    order->answer = answer;
    order->question = question;
    start_thread(delivery);
    order_t **end = &delivery->post->orders;
    pthread_mutex_lock(&delivery->post->mutex);
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = order;
    pthread_cond_broadcast(&delivery->post->changed);
    return order;
}

/* Withdraws an order; false when the worker has taken it. Called with the mutex held. */
static bool take_back(post_t *post, const order_t *order)
{
    for (order_t **link = &post->orders; *link != NULL; link = &(*link)->next) {
        if (*link == order) {
            *link = order->next;
            return true;
        }
    }
    return false;
}

/* Ends the waiting for an order. The question goes back to the caller, unless the worker is busy
 * with it. Called with the mutex held, which is unlocked. */
static res_t end_waiting(post_t *post, order_t *order, void **question)
{
    res_t result =
        order->done ? order->result : ERR(GONE, "the shared history did not answer in time");
    bool mine = order->done || take_back(post, order);
    order->abandoned = !mine;
    *question = mine ? order->question : NULL;
    pthread_mutex_unlock(&post->mutex);
    if (mine) {
        talloc_free(order);
    }
    return result;
}

res_t ik_delivery_ask(ik_delivery_t *delivery, ik_delivery_fn answer, void **question,
                      int patience_ms)
{
    post_t *post = delivery->post;
    struct timespec until = deadline_in(patience_ms);
    order_t *order = give_order(delivery, answer, *question);
    int waited = delivery->started ? 0 : ETIMEDOUT;
    while (!order->done && waited == 0) {
        waited = pthread_cond_timedwait(&post->changed, &post->mutex, &until);
    }
    res_t result = end_waiting(post, order, question);
    on_words(delivery);
    return result;
}

/* --- asking without waiting -------------------------------------------------------------- */

static res_t end_inquiry(ik_delivery_inquiry_t *inquiry, void **question)
{
    ik_delivery_inquiry_t **link = &inquiry->delivery->inquiries;
    while (*link != inquiry) {
        link = &(*link)->next;
    }
    *link = inquiry->next;
    pthread_mutex_lock(&inquiry->delivery->post->mutex);
    return end_waiting(inquiry->delivery->post, inquiry->order, question);
}

static int abandon_inquiry(ik_delivery_inquiry_t *inquiry)
{
    void *question;
    end_inquiry(inquiry, &question);
    talloc_free(question);
    return 0;
}

static void on_inquiry_timer(void *data)
{
    ik_delivery_inquiry_t *inquiry = data;
    void *question;
    res_t result = end_inquiry(inquiry, &question);
    /* on_answer may free the owner of the inquiry. */
    talloc_set_destructor(inquiry, (int (*)(ik_delivery_inquiry_t *))NULL);
    ik_alloc_take(inquiry);
    inquiry->on_answer(inquiry->data, &result, question);
    talloc_free(inquiry);
}

ik_delivery_inquiry_t *ik_delivery_ask_start(const void *ctx, ik_delivery_t *delivery,
                                             ik_delivery_fn answer, void *question, int patience_ms,
                                             ik_delivery_answer_fn on_answer, void *data)
{
    ik_delivery_inquiry_t *inquiry = ik_new(ctx, ik_delivery_inquiry_t);
    *inquiry = (ik_delivery_inquiry_t){
        .next = delivery->inquiries, .delivery = delivery, .on_answer = on_answer, .data = data};
    delivery->inquiries = inquiry;
    inquiry->timer = ik_timer_create(inquiry, delivery->options.loop, on_inquiry_timer, inquiry);
    inquiry->order = give_order(delivery, answer, question);
    inquiry->order->by_loop = true;
    pthread_mutex_unlock(&delivery->post->mutex);
    ik_timer_start(inquiry->timer, delivery->started ? patience_ms : 0);
    talloc_set_destructor(inquiry, abandon_inquiry);
    return inquiry;
}

/* --- without an answer ------------------------------------------------------------------- */

void ik_delivery_hold(ik_delivery_t *delivery, const char *session_id, const ik_holder_t *self)
{
    post_t *post = delivery->post;
    start_thread(delivery);
    pthread_mutex_lock(&post->mutex);
    snprintf(post->held_id, sizeof(post->held_id), "%s", session_id);
    post->holder = *self;
    post->held = false;
    post->poked = true;
    pthread_cond_broadcast(&post->changed);
    pthread_mutex_unlock(&post->mutex);
}

void ik_delivery_let_go(ik_delivery_t *delivery, const char *session_id)
{
    post_t *post = delivery->post;
    pthread_mutex_lock(&post->mutex);
    if (strcmp(post->held_id, session_id) == 0) {
        post->held_id[0] = '\0';
    }
    pthread_mutex_unlock(&post->mutex);
}

void ik_delivery_submit(ik_delivery_t *delivery, ik_delivery_fn answer, void *question)
{
    give_order(delivery, answer, question)->abandoned = true;
    pthread_mutex_unlock(&delivery->post->mutex);
}

static res_t answer_nothing(void *question, ik_store_t *local, ik_store_t *shared)
{
    (void)question;
    (void)local;
    (void)shared;
    return OK;
}

/* Asks an empty question, which is answered when everything is delivered, or cannot be. */
res_t ik_delivery_finish(ik_delivery_t *delivery, int patience_ms)
{
    res_t finished = ERR(GONE, "the shared history is out of reach");
    pthread_mutex_lock(&delivery->post->mutex);
    bool away = delivery->post->away;
    pthread_mutex_unlock(&delivery->post->mutex);
    if (!away) {
        void *question = talloc_new(NULL);
        finished = ik_delivery_ask(delivery, answer_nothing, &question, patience_ms);
        talloc_free(question);
    }
    on_words(delivery);
    return finished;
}

/* --- beginning and end ------------------------------------------------------------------- */

/* Drops orders and messages. Called with the mutex held. */
static void empty_post(post_t *post)
{
    while (post->orders != NULL) {
        order_t *next = post->orders->next;
        talloc_free(post->orders->question);
        talloc_free(post->orders);
        post->orders = next;
    }
    while (post->words != NULL) {
        word_t *next = post->words->next;
        talloc_free(post->words);
        post->words = next;
    }
}

static int stop_worker(ik_delivery_t *delivery)
{
    post_t *post = delivery->post;
    uint64_t one = 1;
    assert(delivery->inquiries == NULL);
    pthread_mutex_lock(&post->mutex);
    post->stop = true;
    empty_post(post);
    pthread_cond_broadcast(&post->changed);
    pthread_mutex_unlock(&post->mutex);
    ssize_t written = write(post->wake_fd, &one, sizeof(one));
    (void)written;
    if (delivery->started) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until); /* the clock of pthread_timedjoin_np */
        until.tv_sec += (until.tv_nsec + LEAVE_MS * 1000000L) / 1000000000L;
        until.tv_nsec = (until.tv_nsec + LEAVE_MS * 1000000L) % 1000000000L;
        if (pthread_timedjoin_np(delivery->thread, NULL, &until) != 0) {
            pthread_detach(delivery->thread);
        }
    }
    pthread_mutex_lock(&post->mutex);
    empty_post(post);
    leave_post(post);
    return 0;
}

ik_delivery_t *ik_delivery_create(const void *ctx, const ik_delivery_options_t *options)
{
    ik_delivery_t *delivery = ik_new(ctx, ik_delivery_t);
    delivery->options = *options;
    delivery->post = create_post(options);
    int fd =
        fcntl(delivery->post->word_fd, F_DUPFD_CLOEXEC, 0); /* the watch closes its descriptor */
    delivery->watch = ik_watch_create(delivery, options->loop, fd, on_words, delivery);
    talloc_set_destructor(delivery, stop_worker);
    return delivery;
}
