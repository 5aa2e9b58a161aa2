#include "agent/call_gate.h"

static void *decide(void *gate, const void *ctx, const ik_call_t *call,
                    ik_call_verdict_fn on_verdict, void *data)
{
    (void)gate;
    (void)ctx;
    on_verdict(data, &(ik_call_verdict_t){.may_write = call->entry != NULL});
    return NULL;
}

const ik_call_gate_t ik_call_gate_open = {.decide = decide};
