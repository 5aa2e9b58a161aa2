/* What an event says about its session: the figures of a list are sums of these. */
#pragma once

#include "store/store.h"

typedef struct {
    bool user;   /* the user's words: a turn begins */
    bool answer; /* the first message of an answer: the next three are known */
    ik_usage_t usage;
    double cost; /* USD; negative: not known */
    char *model; /* provider/model, or NULL */
    char *title; /* what a session that begins with these words is called, or NULL */
} ik_event_facts_t;

/* Strings on ctx. */
ik_event_facts_t ik_event_facts(const void *ctx, const ik_store_event_t *event);
