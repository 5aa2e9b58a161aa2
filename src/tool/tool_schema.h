/*
 * What a tool says about itself, parsed and normalised: the name's hyphens are underscores, the
 * parameters are a JSON Schema object also where the author wrote the short form
 * ("param": {"type": …, "required": true}), and every provider accepts them (tool_schema_repair.h).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "tool/tool_schema_repair.h"

typedef struct {
    char *name;
    char *description;    /* the name where the author gave none */
    json_t *root;         /* the normalised schema; owned by the struct */
    json_t *parameters;   /* borrowed from root; always an object schema */
    json_t *returns;      /* borrowed from root; NULL when not declared */
    long timeout_seconds; /* 0: not declared */
    bool parallel;
} ik_tool_schema_t;

/* The error's message is a short reason such as "invalid JSON: …" or "no name". */
res_t ik_tool_schema_parse(const void *ctx, const char *text, size_t len, ik_tool_schema_t **out);
/* For the author: the same, with everything that was found on the way. findings->ctx is the
 * caller's; findings may be there also when it fails. */
res_t ik_tool_schema_examine(const void *ctx, const char *text, size_t len,
                             ik_tool_schema_findings_t *findings, ik_tool_schema_t **out);

/* [A-Za-z_][A-Za-z0-9_]{0,63} */
bool ik_tool_schema_valid_name(const char *name);

/* A file name as a tool name: hyphens become underscores. A guess: the schema decides. */
char *ik_tool_schema_name_of_file(const void *ctx, const char *file_name);
