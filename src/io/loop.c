#include "io/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "io/loop_uv.h"

struct ik_loop {
    uv_loop_t uv;
    uv_prepare_t before_sleep; /* closed before the loop's memory is freed */
    const bool *done;          /* of the innermost ik_loop_run_until */
};

/* libuv uses a handle's memory until its close callback, which may come after the owner was freed.
 * Handles are therefore separate allocations, freed in on_closed. */
struct ik_timer {
    uv_timer_t *handle;
    ik_timer_fn on_timer;
    void *data;
};

struct ik_watch {
    uv_poll_t *handle;
    int fd;
    bool borrowed;
    ik_watch_fn on_ready;
    void *data;
};

static void on_closed(uv_handle_t *handle)
{
    talloc_free(handle);
}

/* A round of libuv runs timers and then sleeps. If a timer has set *done, it must not sleep. */
static void on_before_sleep(uv_prepare_t *handle)
{
    const ik_loop_t *loop = handle->data;
    if (*loop->done) {
        uv_stop(handle->loop);
    }
}

static int close_loop(ik_loop_t *loop)
{
    uv_close((uv_handle_t *)&loop->before_sleep, NULL);
    /* Runs pending close callbacks and waits for a worker thread that is still running; nothing
     * else can be active. */
    while (uv_loop_close(&loop->uv) == UV_EBUSY) {
        uv_run(&loop->uv, UV_RUN_ONCE);
    }
    return 0;
}

/* libuv aborts if it cannot make the pipe for its signals. */
static bool has_descriptors(void)
{
    int pipes[2][2];
    size_t count = 0;
    while (count < IK_LENGTH(pipes) && pipe2(pipes[count], O_CLOEXEC) == 0) {
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
    return count == IK_LENGTH(pipes);
}

res_t ik_loop_create(const void *ctx, ik_loop_t **out)
{
    if (!has_descriptors()) {
        return ERR(SYSTEM, "Cannot create the event loop: %s", strerror(errno));
    }
    ik_loop_t *loop = ik_new(ctx, ik_loop_t);
    int error = uv_loop_init(&loop->uv);
    if (error != 0) {
        talloc_free(loop);
        return ERR(SYSTEM, "Cannot create the event loop: %s", uv_strerror(error));
    }
    uv_prepare_init(&loop->uv, &loop->before_sleep);
    loop->before_sleep.data = loop;
    talloc_set_destructor(loop, close_loop);
    *out = loop;
    return OK;
}

uv_loop_t *ik_loop_uv(ik_loop_t *loop)
{
    return &loop->uv;
}

bool ik_loop_run_until(ik_loop_t *loop, const bool *done)
{
    const bool *outer = loop->done;
    bool alive = true;
    loop->done = done;
    uv_prepare_start(&loop->before_sleep, on_before_sleep);
    uv_unref((uv_handle_t *)&loop->before_sleep); /* it must not keep the loop alive */
    while (!*done && alive) {
        alive = uv_run(&loop->uv, UV_RUN_ONCE) != 0;
    }
    if (outer == NULL) {
        uv_prepare_stop(&loop->before_sleep);
    }
    loop->done = outer;
    return *done;
}

/* libuv's handler of signals writes to this pipe; there is no function that returns it. */
int ik_loop_signal_fd(ik_loop_t *loop)
{
    return loop->uv.signal_pipefd[0];
}

static int close_timer(ik_timer_t *timer)
{
    timer->handle->data = NULL;
    uv_close((uv_handle_t *)timer->handle, on_closed);
    return 0;
}

static void on_uv_timer(uv_timer_t *handle)
{
    ik_timer_t *timer = handle->data;
    if (timer != NULL) {
        timer->on_timer(timer->data);
    }
}

ik_timer_t *ik_timer_create(const void *ctx, ik_loop_t *loop, ik_timer_fn on_timer, void *data)
{
    ik_timer_t *timer = ik_new(ctx, ik_timer_t);
    timer->handle = ik_new(NULL, uv_timer_t);
    timer->on_timer = on_timer;
    timer->data = data;
    uv_timer_init(&loop->uv, timer->handle);
    timer->handle->data = timer;
    talloc_set_destructor(timer, close_timer);
    return timer;
}

void ik_timer_start(ik_timer_t *timer, int64_t after_ms)
{
    /* libuv's cached time may lag behind a long callback. */
    uv_update_time(timer->handle->loop);
    uv_timer_start(timer->handle, on_uv_timer, after_ms < 0 ? 0 : (uint64_t)after_ms, 0);
}

void ik_timer_stop(ik_timer_t *timer)
{
    uv_timer_stop(timer->handle);
}

static int close_watch(ik_watch_t *watch)
{
    watch->handle->data = NULL;
    uv_poll_stop(watch->handle);
    uv_close((uv_handle_t *)watch->handle, on_closed);
    if (!watch->borrowed) {
        close(watch->fd);
    }
    return 0;
}

static void on_uv_poll(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    ik_watch_t *watch = handle->data;
    if (watch != NULL) {
        watch->on_ready(watch->data);
    }
}

static ik_watch_t *create_watch(const void *ctx, ik_loop_t *loop, int fd, int events,
                                ik_watch_fn on_ready, void *data)
{
    ik_watch_t *watch = ik_new(ctx, ik_watch_t);
    watch->handle = ik_new(NULL, uv_poll_t);
    watch->fd = fd;
    watch->on_ready = on_ready;
    watch->data = data;
    if (uv_poll_init(&loop->uv, watch->handle, fd) != 0) {
        PANIC("descriptor %d cannot be watched", fd);
    }
    watch->handle->data = watch;
    uv_poll_start(watch->handle, events, on_uv_poll);
    talloc_set_destructor(watch, close_watch);
    return watch;
}

ik_watch_t *ik_watch_create(const void *ctx, ik_loop_t *loop, int fd, ik_watch_fn on_readable,
                            void *data)
{
    return create_watch(ctx, loop, fd, UV_READABLE | UV_DISCONNECT, on_readable, data);
}

ik_watch_t *ik_watch_create_borrowed(const void *ctx, ik_loop_t *loop, int fd,
                                     ik_watch_event_t event, ik_watch_fn on_ready, void *data)
{
    int events = event == IK_WATCH_WRITABLE ? UV_WRITABLE : UV_READABLE | UV_DISCONNECT;
    ik_watch_t *watch = create_watch(ctx, loop, fd, events, on_ready, data);
    watch->borrowed = true;
    return watch;
}

int ik_watch_fd(const ik_watch_t *watch)
{
    return watch->fd;
}
