/*
 * Writes a session to a file. JSON Lines hold everything and can be imported (import.h); Markdown
 * and HTML are for reading. There is one const entry per format. To add a format:
 *   1. write export_NAME.c with `const ik_export_t ik_export_NAME`,
 *   2. declare it below,
 *   3. list it in the table in export.c.
 */
#pragma once

#include <stdio.h>

#include "store/store.h"

/* What is exported. */
typedef struct {
    ik_store_t *store;
    const ik_store_session_t *session;
    const char *images; /* the folder of their blobs; NULL: images are only named */
    const char *patch;  /* what the session changed; NULL or "": nothing, or it is not known */
} ik_export_source_t;

typedef struct {
    const char *name;   /* "jsonl": what --format takes */
    bool shows_changes; /* ends with the patch */
    /* Writes the session and all its agents. The result covers reading the store; the caller
     * checks the stream for write errors. */
    res_t (*write)(FILE *out, const ik_export_source_t *source);
} ik_export_t;

extern const ik_export_t ik_export_jsonl;
extern const ik_export_t ik_export_markdown; /* "md" */
extern const ik_export_t ik_export_html;

/* NULL when the format does not exist. */
const ik_export_t *ik_export_find(const char *name);
/* "jsonl, md, html" */
extern const char ik_export_names[];
