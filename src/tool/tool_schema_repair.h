/*
 * Makes a tool's JSON Schema one that every provider accepts. A provider refuses the whole request,
 * and with it every turn, because of one odd keyword in one tool. So what can be understood in only
 * one way is put right here ("required": true inside of a property, an array without items, the
 * draft-4 exclusiveMinimum), and what cannot is a fault, for which the tool is skipped.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Lines such as "parameters.path: unknown type 'strng'; did you mean 'string'?", owned by ctx. Of a
 * schema that is wrong everywhere only the first few are kept. */
typedef struct {
    const void *ctx;
    char **repairs; /* what was put right, and should be by the author */
    size_t repair_count;
    char **faults; /* what could not be */
    size_t fault_count;
} ik_tool_schema_findings_t;

void ik_tool_schema_add_repair(ik_tool_schema_findings_t *findings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ik_tool_schema_add_fault(ik_tool_schema_findings_t *findings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Repairs a schema, an object, in place; doing so twice changes nothing more. label names it in the
 * findings. Its references point into itself. */
void ik_tool_schema_repair(json_t *schema, const char *label, ik_tool_schema_findings_t *findings);

/* The same for the parameters of a tool, where providers want more: an object at the top, nothing
 * beside it that chooses between schemas, and names that all of them take. */
void ik_tool_schema_repair_parameters(json_t *parameters, ik_tool_schema_findings_t *findings);
