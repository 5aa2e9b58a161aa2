#include "store/store.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/random.h"

res_t ik_store_begin_session(const void *ctx, ik_store_t *store, char **session_id)
{
    *session_id = ik_sprintf(ctx, "%016" PRIx64, ik_random());
    return store->kind->begin_session(store, *session_id);
}

res_t ik_store_append(ik_store_t *store, const char *session_id, const ik_msg_t *message,
                      ik_store_safety_t safety)
{
    return store->kind->append(store, session_id, message, safety);
}

res_t ik_store_load(const void *ctx, ik_store_t *store, const char *session_id,
                    ik_conversation_t **out)
{
    return store->kind->load(ctx, store, session_id, out);
}
