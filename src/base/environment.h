/*
 * Every environment variable that ikigai reads or sets, for the manual. The program reads them
 * where they matter; a test checks this table against those places.
 */
#pragma once

#include <stddef.h>

typedef enum {
    IK_ENVIRONMENT_USER,     /* how the program behaves */
    IK_ENVIRONMENT_PROVIDER, /* keys and addresses of models */
    IK_ENVIRONMENT_NETWORK,  /* how servers are reached */
    IK_ENVIRONMENT_TOOL,     /* given to tools */
    IK_ENVIRONMENT_GROUP_COUNT,
} ik_environment_group_t;

typedef struct {
    const char *name;
    ik_environment_group_t group;
    const char *help; /* Markdown, half a line */
} ik_environment_t;

/* In the order of the manual, group by group; *count of them. */
const ik_environment_t *ik_environment_table(size_t *count);
