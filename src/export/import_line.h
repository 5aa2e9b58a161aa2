/* Parses one line of an export (export_jsonl.c; docs/export.md). */
#pragma once

#include "base/blob.h"
#include "base/error.h"
#include "store/store.h"

enum { IK_IMPORT_VERSION = 1 };

/* The bytes of an image, which are an image and have this name. */
typedef struct {
    ik_blob_name_t name;
    const char *bytes;
    size_t len;
} ik_import_image_t;

typedef enum { IK_IMPORT_SESSION, IK_IMPORT_AGENT, IK_IMPORT_MESSAGE } ik_import_type_t;

/* Only the member that type names is filled in. Agents and messages belong to the session whose
 * line came last; their session_id is NULL. */
typedef struct {
    ik_import_type_t type;
    ik_store_session_t session;
    ik_store_agent_t agent;
    ik_store_event_t event;
    ik_import_image_t *images; /* of the message */
    size_t image_count;
} ik_import_line_t;

/* Strings are on ctx. An error says what was expected. */
res_t ik_import_line_parse(const void *ctx, const char *text, size_t len, ik_import_line_t *out);
