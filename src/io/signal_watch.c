#include "io/signal_watch.h"

#include <signal.h>

#include "base/alloc.h"
#include "io/loop_uv.h"

struct ik_signal_watch {
    uv_signal_t *handle; /* a separate allocation, as in io/loop.c */
    ik_signal_watch_fn on_signal;
    void *data;
};

static void on_closed(uv_handle_t *handle)
{
    talloc_free(handle);
}

static int close_watch(ik_signal_watch_t *watch)
{
    watch->handle->data = NULL;
    uv_close((uv_handle_t *)watch->handle, on_closed);
    return 0;
}

static void on_uv_signal(uv_signal_t *handle, int signal)
{
    ik_signal_watch_t *watch = handle->data;
    if (watch != NULL) {
        watch->on_signal(watch->data, signal);
    }
}

bool ik_signal_watch_is_ignored(int signal)
{
    struct sigaction action;
    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

ik_signal_watch_t *ik_signal_watch_create(const void *ctx, ik_loop_t *loop, int signal,
                                          ik_signal_watch_fn on_signal, void *data)
{
    if (ik_signal_watch_is_ignored(signal)) {
        return NULL;
    }
    ik_signal_watch_t *watch = ik_new(ctx, ik_signal_watch_t);
    watch->handle = ik_new(NULL, uv_signal_t);
    watch->on_signal = on_signal;
    watch->data = data;
    if (uv_signal_init(ik_loop_uv(loop), watch->handle) != 0) {
        PANIC("signals cannot be watched");
    }
    watch->handle->data = watch;
    uv_signal_start(watch->handle, on_uv_signal, signal);
    uv_unref((uv_handle_t *)watch->handle);
    talloc_set_destructor(watch, close_watch);
    return watch;
}
