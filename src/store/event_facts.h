/* What an event adds to the title and the figures of its session. */
#pragma once

#include "store/store.h"

typedef struct {
    bool user; /* a message of the user: a turn begins */
    /* The first message of an answer, a summary, or the result of a tool that asked a model: usage,
     * cost and model are set. */
    bool answer;
    ik_usage_t usage;
    double cost; /* USD; negative: unknown */
    char *model; /* provider/model, or NULL */
    char *title; /* of a session that begins with this message, or NULL */
} ik_event_facts_t;

/* The strings belong to ctx. */
ik_event_facts_t ik_event_facts(const void *ctx, const ik_store_event_t *event);
