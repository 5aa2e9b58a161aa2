/*
 * Where events go before anything else happens with them. A store keeps sessions, each an ordered
 * log of messages; what was appended can be loaded again and is all there is to a session.
 *
 * One interface, several stores: a store is a const table of functions and its own data.
 */
#pragma once

#include "base/error.h"
#include "conversation/conversation.h"

typedef struct ik_store ik_store_t;

/* How much must be safe when append returns. */
typedef enum {
    IK_STORE_NORMAL, /* survives the end of the program */
    IK_STORE_FULL,   /* survives the end of the machine: what the user said, the end of a turn */
} ik_store_safety_t;

typedef struct {
    res_t (*begin_session)(ik_store_t *store, const char *session_id);
    res_t (*append)(ik_store_t *store, const char *session_id, const ik_msg_t *message,
                    ik_store_safety_t safety);
    res_t (*load)(const void *ctx, ik_store_t *store, const char *session_id,
                  ik_conversation_t **out);
} ik_store_kind_t;

struct ik_store {
    const ik_store_kind_t *kind;
};

/* A new session; its id is 16 hexadecimal digits on ctx. */
res_t ik_store_begin_session(const void *ctx, ik_store_t *store, char **session_id);
res_t ik_store_append(ik_store_t *store, const char *session_id, const ik_msg_t *message,
                      ik_store_safety_t safety);
/* The log as it was appended; whoever wants to send it to a model repairs it first. */
res_t ik_store_load(const void *ctx, ik_store_t *store, const char *session_id,
                    ik_conversation_t **out);

/* Keeps everything in memory and loses it with the program. */
ik_store_t *ik_store_memory_create(const void *ctx);
