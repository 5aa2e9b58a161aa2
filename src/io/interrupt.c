#include "io/interrupt.h"

#include <signal.h>

#include "base/alloc.h"
#include "io/loop_uv.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNAL_COUNT = sizeof(signals) / sizeof(*signals) };

struct ik_interrupt {
    uv_signal_t *handles[SIGNAL_COUNT]; /* NULL: ignored */
    ik_interrupt_fn on_interrupt;
    void *data;
};

static void on_closed(uv_handle_t *handle)
{
    talloc_free(handle);
}

static int close_interrupt(ik_interrupt_t *interrupt)
{
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        if (interrupt->handles[i] != NULL) {
            interrupt->handles[i]->data = NULL;
            uv_close((uv_handle_t *)interrupt->handles[i], on_closed);
        }
    }
    return 0;
}

static void on_signal(uv_signal_t *handle, int signal)
{
    ik_interrupt_t *interrupt = handle->data;
    if (interrupt != NULL) {
        interrupt->on_interrupt(interrupt->data, signal);
    }
}

static bool is_ignored(int signal)
{
    struct sigaction action;
    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static uv_signal_t *watch(ik_interrupt_t *interrupt, ik_loop_t *loop, int signal)
{
    uv_signal_t *handle = ik_new(NULL, uv_signal_t);
    if (uv_signal_init(ik_loop_uv(loop), handle) != 0) {
        PANIC("signals cannot be watched");
    }
    handle->data = interrupt;
    uv_signal_start(handle, on_signal, signal);
    uv_unref((uv_handle_t *)handle); /* waiting for a signal alone is no reason to wait */
    return handle;
}

ik_interrupt_t *ik_interrupt_create(const void *ctx, ik_loop_t *loop, ik_interrupt_fn on_interrupt,
                                    void *data)
{
    ik_interrupt_t *interrupt = ik_new(ctx, ik_interrupt_t);
    interrupt->on_interrupt = on_interrupt;
    interrupt->data = data;
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        if (!is_ignored(signals[i])) {
            interrupt->handles[i] = watch(interrupt, loop, signals[i]);
        }
    }
    talloc_set_destructor(interrupt, close_interrupt);
    return interrupt;
}
