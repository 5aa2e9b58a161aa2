/* What the readable formats say about a session as a whole. */
#pragma once

#include "store/store.h"

enum { IK_EXPORT_FACTS_MAX = 9 };

typedef struct {
    const char *name;
    char *value;
    bool is_code; /* a path, id or name, to be set in a fixed-width font */
} ik_export_fact_t;

/* Fills in what is known of a session besides its title and returns the number of facts. Values are
 * on ctx. */
size_t ik_export_facts(const void *ctx, const ik_store_session_t *session,
                       ik_export_fact_t facts[IK_EXPORT_FACTS_MAX]);

/* The title, or a placeholder for a session without one. */
const char *ik_export_facts_title(const ik_store_session_t *session);
