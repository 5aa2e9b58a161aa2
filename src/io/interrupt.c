#include "io/interrupt.h"

#include <signal.h>

#include "base/alloc.h"
#include "base/array.h"
#include "io/signal_watch.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

/* Owns the watches. */
struct ik_interrupt {
    ik_interrupt_fn on_interrupt;
    void *data;
};

static void on_signal(void *data, int signal)
{
    const ik_interrupt_t *interrupt = data;
    interrupt->on_interrupt(interrupt->data, signal);
}

ik_interrupt_t *ik_interrupt_create(const void *ctx, ik_loop_t *loop, ik_interrupt_fn on_interrupt,
                                    void *data)
{
    ik_interrupt_t *interrupt = ik_new(ctx, ik_interrupt_t);
    interrupt->on_interrupt = on_interrupt;
    interrupt->data = data;
    for (size_t i = 0; i < IK_LENGTH(signals); i++) {
        ik_signal_watch_create(interrupt, loop, signals[i], on_signal, interrupt);
    }
    return interrupt;
}
