/*
 * The schema that a tool prints for --schema, parsed and normalised: hyphens in the name become
 * underscores, the short form of parameters ("param": {"type": …, "required": true}) becomes a JSON
 * Schema, and the parameters are repaired so that every provider accepts them
 * (tool_schema_repair.h).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/display.h"
#include "base/effects.h"
#include "base/error.h"
#include "tool/tool_schema_repair.h"

typedef struct {
    char *name;
    char *description;    /* the name when the author gave none */
    json_t *root;         /* the normalised schema; owned by the struct */
    json_t *parameters;   /* borrowed from root; always a schema of type object */
    json_t *returns;      /* borrowed from root; NULL when not declared */
    long timeout_seconds; /* 0: not declared */
    bool parallel;
    bool declares_effects;
    ik_effects_t effects;
    const char *escalation; /* the parameter with which a call asks for more; NULL: none */
    ik_display_t display;   /* how a result is best shown */
    unsigned host;          /* what it asks ikigai for over the host channel: ik_host_op_t */
} ik_tool_schema_t;

/* The error's message is a short reason such as "invalid JSON: …" or "no name". */
res_t ik_tool_schema_parse(const void *ctx, const char *text, size_t len, ik_tool_schema_t **out);
/* As ik_tool_schema_parse, and reports all repairs and faults, for the author of the tool. The
 * caller sets findings->ctx. findings are also set on an error. */
res_t ik_tool_schema_examine(const void *ctx, const char *text, size_t len,
                             ik_tool_schema_findings_t *findings, ik_tool_schema_t **out);

/* [A-Za-z_][A-Za-z0-9_]{0,63} */
bool ik_tool_schema_valid_name(const char *name);

/* Guesses the name of a tool from its file name: hyphens become underscores. */
char *ik_tool_schema_name_of_file(const void *ctx, const char *file_name);
