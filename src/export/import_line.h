/* One line of an export, as export_jsonl.c writes it and docs/export.md describes it. */
#pragma once

#include "base/error.h"
#include "store/store.h"

enum { IK_IMPORT_VERSION = 1 };

typedef enum { IK_IMPORT_SESSION, IK_IMPORT_AGENT, IK_IMPORT_MESSAGE } ik_import_type_t;

/* What the type says is filled in; to which session an agent or a message belongs, its place in
 * the file tells. */
typedef struct {
    ik_import_type_t type;
    ik_store_session_t session;
    ik_store_agent_t agent;
    ik_store_event_t event;
} ik_import_line_t;

/* Strings on ctx. An error says what was expected. */
res_t ik_import_line_parse(const void *ctx, const char *text, size_t len, ik_import_line_t *out);
