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

/* "2026-01-31 09:05 UTC"; "" when it is no time a calendar knows. */
char *ik_export_facts_time(const void *ctx, int64_t us);
/* "2026-01-31T09:05:07Z", likewise. */
char *ik_export_facts_datetime(const void *ctx, int64_t us);
/* "12,345 in (12,000 cached), 678 out": what is known of the tokens; "" when nothing is. */
char *ik_export_facts_usage(const void *ctx, const ik_usage_t *usage);
/* "$0.12"; "" when it is not known. */
char *ik_export_facts_cost(const void *ctx, double cost);
/* "34 ms", "2.5 s", "3 min 20 s" */
char *ik_export_facts_duration(const void *ctx, int64_t ms);
/* "1,234" */
char *ik_export_facts_number(const void *ctx, int64_t number);
/* "9 bytes", "12 KB", "3.4 MB" */
char *ik_export_facts_size(const void *ctx, size_t bytes);
