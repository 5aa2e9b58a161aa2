/*
 * How a sub-agent was started: the first event of its log, a record. It has no message of its
 * parent; its conversation begins with a system prompt and its task, which is a user message.
 */
#pragma once

#include "conversation/message.h"

typedef struct {
    const char *name;         /* of the file that describes the agent; NULL: none does */
    const char *call_id;      /* the call of its parent that started it */
    const char *const *tools; /* that it is limited to, NULL-terminated; NULL: no limit */
} ik_delegation_t;

ik_msg_t *ik_delegation_create(const void *ctx, const ik_delegation_t *delegation);
/* Reads the data of such an event, on ctx; NULL: kind is another one, or the data is not valid. */
const ik_delegation_t *ik_delegation_parse(const void *ctx, const char *kind,
                                           const char *data_json);
