/* Figures in words: the same in every format that is for people. */
#pragma once

#include "store/store.h"

enum { IK_EXPORT_FACTS_MAX = 9 };

typedef struct {
    const char *name;
    char *value;
    bool is_code; /* a path, an id, a name: to be shown as such */
} ik_export_fact_t;

/* What is known of a session beside its title, strings on ctx. Returns how many. */
size_t ik_export_facts(const void *ctx, const ik_store_session_t *session,
                       ik_export_fact_t facts[IK_EXPORT_FACTS_MAX]);

/* What a session is called, also one without a title. */
const char *ik_export_facts_title(const ik_store_session_t *session);
