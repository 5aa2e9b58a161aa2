#include <string.h>

#include "base/alloc.h"
#include "store/store.h"

typedef struct {
    char *id;
    ik_conversation_t *log;
} session_t;

typedef struct {
    ik_store_t store;
    session_t *sessions;
    size_t count;
} memory_t;

static session_t *find(const memory_t *memory, const char *id)
{
    for (size_t i = 0; i < memory->count; i++) {
        if (strcmp(memory->sessions[i].id, id) == 0) {
            return &memory->sessions[i];
        }
    }
    return NULL;
}

static res_t begin_session(ik_store_t *store, const char *id)
{
    memory_t *memory = (memory_t *)store;
    if (find(memory, id) != NULL) {
        return ERR(CONFLICT, "There is a session %s already", id);
    }
    memory->sessions = ik_resize_array(memory, memory->sessions, session_t, memory->count + 1);
    memory->sessions[memory->count++] = (session_t){
        .id = ik_strdup(memory, id),
        .log = ik_conversation_create(memory),
    };
    return OK;
}

static void append_copy(ik_conversation_t *log, const ik_msg_t *message)
{
    ik_conversation_append(log,
                           ik_msg_create(log, message->kind, message->content, message->data_json));
}

static res_t append(ik_store_t *store, const char *id, const ik_msg_t *message,
                    ik_store_safety_t safety)
{
    (void)safety;
    session_t *session = find((memory_t *)store, id);
    if (session == NULL) {
        return ERR(NOT_FOUND, "There is no session %s", id);
    }
    append_copy(session->log, message);
    return OK;
}

static res_t load(const void *ctx, ik_store_t *store, const char *id, ik_conversation_t **out)
{
    const session_t *session = find((memory_t *)store, id);
    if (session == NULL) {
        return ERR(NOT_FOUND, "There is no session %s", id);
    }
    *out = ik_conversation_create(ctx);
    for (size_t i = 0; i < session->log->count; i++) {
        append_copy(*out, session->log->messages[i]);
    }
    return OK;
}

static const ik_store_kind_t kind = {
    .begin_session = begin_session,
    .append = append,
    .load = load,
};

ik_store_t *ik_store_memory_create(const void *ctx)
{
    memory_t *memory = ik_new(ctx, memory_t);
    memory->store.kind = &kind;
    return &memory->store;
}
