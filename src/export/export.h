/*
 * A session as a file for others: JSON Lines hold everything and can be read back (import.h),
 * Markdown and the HTML page are for people. One const entry per format, one table; to add one:
 *   1. write export_NAME.c with `const ik_export_t ik_export_NAME`,
 *   2. declare it below,
 *   3. list it in the table in export.c.
 */
#pragma once

#include <stdio.h>

#include "store/store.h"

typedef struct {
    const char *name; /* "jsonl": what --format takes */
    /* Writes the session and all its agents. Whether the stream took it, the caller asks it. */
    res_t (*write)(FILE *out, ik_store_t *store, const ik_store_session_t *session);
} ik_export_t;

extern const ik_export_t ik_export_jsonl;
extern const ik_export_t ik_export_markdown; /* "md" */
extern const ik_export_t ik_export_html;

/* NULL when there is no such format. */
const ik_export_t *ik_export_find(const char *name);
/* "jsonl, md, html" */
extern const char ik_export_names[];
