#include "agent/call_gate.h"

#include "base/alloc.h"

ik_call_verdict_t *ik_call_verdict_copy(const void *ctx, const ik_call_verdict_t *verdict)
{
    ik_call_verdict_t *copy = ik_new(ctx, ik_call_verdict_t);
    *copy = *verdict;
    if (verdict->arguments != NULL) {
        copy->arguments = talloc_memdup(copy, verdict->arguments, verdict->arguments_len + 1);
    }
    copy->confined = verdict->confined == NULL ? NULL : ik_strdup(copy, verdict->confined);
    copy->said = verdict->said == NULL ? NULL : ik_strdup(copy, verdict->said);
    return copy;
}

static void *decide(void *gate, const void *ctx, const ik_call_t *call,
                    ik_call_verdict_fn on_verdict, void *data)
{
    (void)gate;
    (void)ctx;
    on_verdict(data, &(ik_call_verdict_t){.may_write = call->entry != NULL});
    return NULL;
}

const ik_call_gate_t ik_call_gate_open = {.decide = decide};
