/*
 * Makes the JSON Schema of a tool one that every provider accepts. A provider refuses the whole
 * request, and with it every turn, because of one odd keyword in one tool. What can mean only one
 * thing is repaired ("required": true inside a property, an array without items, the
 * exclusiveMinimum of draft 4). Anything else is a fault, for which the tool is skipped.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Lines such as "parameters.path: unknown type 'strng'; did you mean 'string'?", owned by ctx. */
typedef struct {
    const void *ctx;
    bool all;       /* keep every line; otherwise the first few of each kind */
    char **repairs; /* what was repaired, and the author should correct */
    size_t repair_count;
    char **faults; /* what could not be repaired */
    size_t fault_count;
} ik_tool_schema_findings_t;

void ik_tool_schema_add_repair(ik_tool_schema_findings_t *findings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ik_tool_schema_add_fault(ik_tool_schema_findings_t *findings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Repairs a schema, an object, in place; a second call changes nothing. label names the schema in
 * the findings. References are looked up inside the schema. */
void ik_tool_schema_repair(json_t *schema, const char *label, ik_tool_schema_findings_t *findings);

/* Repairs the parameters of a tool, for which providers have further rules: an object at the top
 * level, no choice between schemas beside it, and names that all providers accept. */
void ik_tool_schema_repair_parameters(json_t *parameters, ik_tool_schema_findings_t *findings);
