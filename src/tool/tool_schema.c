#include "tool/tool_schema.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/host_protocol.h"
#include "base/json.h"
#include "base/json_clean.h"
#include "base/utf8.h"

enum { NAME_MAX_LENGTH = 64, TIMEOUT_MAX_SECONDS = 86400 };

bool ik_tool_schema_valid_name(const char *name)
{
    size_t len = strlen(name);
    if (len == 0 || len > NAME_MAX_LENGTH || isdigit((unsigned char)name[0])) {
        return false;
    }
    for (const char *c = name; *c != '\0'; c++) {
        if (!isalnum((unsigned char)*c) && *c != '_') {
            return false;
        }
    }
    return true;
}

char *ik_tool_schema_name_of_file(const void *ctx, const char *file_name)
{
    char *name = ik_strdup(ctx, file_name);
    for (char *c = name; *c != '\0'; c++) {
        if (*c == '-') {
            *c = '_';
        }
    }
    return name;
}

static bool are_schemas(json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (!json_is_object(value) && !json_is_boolean(value)) {
            return false;
        }
    }
    return true;
}

/* A parameter of the short form may be called "type" or "properties". Only a type that is a string,
 * or properties whose values are schemas, make a JSON Schema. */
static bool is_json_schema(json_t *parameters)
{
    json_t *properties = json_object_get(parameters, "properties");
    return json_is_string(json_object_get(parameters, "type")) ||
           (json_is_object(properties) && are_schemas(properties));
}

/* New reference. */
static json_t *convert_short_form(json_t *parameters, ik_tool_schema_findings_t *findings)
{
    json_t *properties = json_object();
    json_t *required = json_array();
    const char *name;
    json_t *value;
    json_object_foreach(parameters, name, value)
    {
        if (!json_is_object(value)) {
            ik_tool_schema_add_fault(findings, "parameter '%.60s' is not an object", name);
            continue;
        }
        json_t *property = json_copy(value);
        if (json_is_true(json_object_get(value, "required"))) {
            json_array_append_new(required, json_string(name));
        }
        /* In a nested object "required" is a list and stays. */
        if (json_is_boolean(json_object_get(value, "required"))) {
            json_object_del(property, "required");
        }
        json_object_set_new(properties, name, property);
    }
    return json_pack("{s:s, s:o, s:o}", "type", "object", "properties", properties, "required",
                     required);
}

static bool holds_key(json_t *value, const char *wanted)
{
    const char *key;
    json_t *each;
    size_t i;
    json_array_foreach(value, i, each)
    {
        if (holds_key(each, wanted)) {
            return true;
        }
    }
    json_object_foreach(value, key, each)
    {
        if (strcmp(key, wanted) == 0 || holds_key(each, wanted)) {
            return true;
        }
    }
    return false;
}

static void normalise_parameters(json_t *root, ik_tool_schema_findings_t *findings)
{
    json_t *parameters = json_object_get(root, "parameters");
    if (parameters == NULL || json_is_null(parameters)) {
        json_object_set_new(root, "parameters",
                            json_pack("{s:s, s:{}}", "type", "object", "properties"));
        return;
    }
    if (!json_is_object(parameters)) {
        ik_tool_schema_add_fault(findings, "parameters are not an object");
        return;
    }
    if (!is_json_schema(parameters)) {
        json_object_set_new(root, "parameters", convert_short_form(parameters, findings));
    }
    ik_tool_schema_repair_parameters(json_object_get(root, "parameters"), findings);
}

/* The description of the result is only shown to people. If it is faulty, it is left out and the
 * tool is used without it. */
static void normalise_returns(const void *ctx, json_t *root, ik_tool_schema_findings_t *findings)
{
    json_t *returns = json_object_get(root, "returns");
    ik_tool_schema_findings_t own = {.ctx = ctx, .all = findings->all};
    if (json_is_null(returns)) {
        json_object_del(root, "returns");
    }
    if (returns == NULL || json_is_null(returns)) {
        return;
    }
    if (!json_is_object(returns)) {
        ik_tool_schema_add_fault(findings, "returns is not an object");
        return;
    }
    if (!is_json_schema(returns)) { /* a bare map of fields */
        json_object_set_new(root, "returns",
                            json_pack("{s:s, s:O}", "type", "object", "properties", returns));
        returns = json_object_get(root, "returns");
    }
    ik_tool_schema_repair(returns, "returns", &own);
    if (own.fault_count == 0 && !json_is_string(json_object_get(returns, "type"))) {
        ik_tool_schema_add_fault(&own, "returns has no type");
    }
    if (own.fault_count == 0 && holds_key(returns, "$ref")) {
        /* returns becomes a part of the envelope's schema, where references would not resolve. */
        ik_tool_schema_add_fault(&own, "returns: $ref is not supported here");
    }
    for (size_t i = 0; i < own.repair_count; i++) {
        ik_tool_schema_add_repair(findings, "%s", own.repairs[i]);
    }
    for (size_t i = 0; i < own.fault_count; i++) {
        ik_tool_schema_add_repair(findings, "%s; returns is left out", own.faults[i]);
    }
    if (own.fault_count > 0) {
        json_object_del(root, "returns");
    }
}

static res_t read_name(ik_tool_schema_t *schema)
{
    json_t *name = json_object_get(schema->root, "name");
    if (!json_is_string(name)) {
        return ERR(INVALID, "no name");
    }
    if (strlen(json_string_value(name)) != json_string_length(name)) {
        return ERR(INVALID, "invalid name");
    }
    schema->name = ik_tool_schema_name_of_file(schema, json_string_value(name));
    if (!ik_tool_schema_valid_name(schema->name)) {
        return ERR(INVALID,
                   "invalid name '%.80s': letters, digits and underscores, at most 64, not "
                   "beginning with a digit",
                   schema->name);
    }
    json_object_set_new(schema->root, "name", json_string(schema->name));
    return OK;
}

/* Models choose tools by their descriptions, and some providers refuse a tool without one. */
static void read_description(ik_tool_schema_t *schema, ik_tool_schema_findings_t *findings)
{
    json_t *description = json_object_get(schema->root, "description");
    if (description != NULL && !json_is_null(description) && !json_is_string(description)) {
        ik_tool_schema_add_fault(findings, "description is not a string");
    }
    const char *text = json_string_value(description);
    if (text == NULL || text[strspn(text, " \t\r\n")] == '\0') {
        ik_tool_schema_add_repair(findings,
                                  "description is missing; the model chooses tools by it");
        text = schema->name;
        json_object_set_new(schema->root, "description", json_string(text));
    }
    schema->description = ik_strdup(schema, text);
}

static void read_options(ik_tool_schema_t *schema, ik_tool_schema_findings_t *findings)
{
    json_t *timeout = json_object_get(schema->root, "timeout_seconds");
    json_t *parallel = json_object_get(schema->root, "parallel");
    if (timeout != NULL && (!json_is_integer(timeout) || json_integer_value(timeout) < 1 ||
                            json_integer_value(timeout) > TIMEOUT_MAX_SECONDS)) {
        ik_tool_schema_add_fault(findings,
                                 "timeout_seconds is not a whole number of seconds from 1 to %d",
                                 TIMEOUT_MAX_SECONDS);
    }
    if (parallel != NULL && !json_is_boolean(parallel)) {
        ik_tool_schema_add_fault(findings, "parallel is not true or false");
    }
    schema->timeout_seconds = (long)json_integer_value(timeout);
    schema->parallel = json_is_true(parallel);
}

static bool is_text(json_t *value, const char *text)
{
    return json_is_string(value) && json_string_length(value) == strlen(text) &&
           strcmp(json_string_value(value), text) == 0;
}

/* A member that is missing has the stricter value; one that is not known could ask for less
 * confinement in a way that we do not understand. */
static void read_effects(ik_tool_schema_t *schema, ik_tool_schema_findings_t *findings)
{
    json_t *effects = json_object_get(schema->root, "effects");
    if (effects == NULL) {
        return;
    }
    schema->declares_effects = true;
    bool known = json_is_object(effects);
    const char *key;
    json_t *value;
    json_object_foreach(effects, key, value)
    {
        bool named = false;
        if (strcmp(key, "network") == 0) {
            named = json_is_boolean(value);
            schema->effects.network = json_is_true(value);
        } else if (strcmp(key, "write") == 0) {
            for (ik_write_t write = IK_WRITE_NONE; write <= IK_WRITE_ANYWHERE; write++) {
                if (is_text(value, ik_effects_write_name(write))) {
                    named = true;
                    schema->effects.write = write;
                }
            }
        }
        known = known && named;
    }
    if (!known) {
        ik_tool_schema_add_fault(findings, "effects is not {\"write\": \"none\", \"project\" or "
                                           "\"anywhere\", \"network\": true or false}");
    }
}

/* "string", or a list of "string" and "null": optional parameters are written so for some
 * providers.
 */
static bool is_string_type(json_t *type)
{
    bool has_string = is_text(type, "string");
    size_t i;
    json_t *each;
    json_array_foreach(type, i, each)
    {
        has_string = has_string || is_text(each, "string");
        if (!is_text(each, "string") && !is_text(each, "null")) {
            return false;
        }
    }
    return has_string;
}

static void read_escalation(ik_tool_schema_t *schema, ik_tool_schema_findings_t *findings)
{
    json_t *escalation = json_object_get(schema->root, "escalation");
    if (escalation == NULL) {
        return;
    }
    json_t *parameter = json_object_get(escalation, "parameter");
    const char *name = json_string_value(parameter);
    bool named = name != NULL && strlen(name) == json_string_length(parameter);
    json_t *properties = json_object_get(schema->parameters, "properties");
    json_t *property = named ? json_object_get(properties, name) : NULL;
    if (json_object_size(escalation) != 1 || !is_string_type(json_object_get(property, "type"))) {
        ik_tool_schema_add_fault(
            findings,
            "escalation is not {\"parameter\": NAME}, the name of a parameter of type string");
        return;
    }
    schema->escalation = ik_strdup(schema, name);
}

/* A way to show results that is not known does no harm: the tool is used without it. */
static void read_display(ik_tool_schema_t *schema, ik_tool_schema_findings_t *findings)
{
    json_t *display = json_object_get(schema->root, "display");
    for (ik_display_t known = IK_DISPLAY_DIFF; known < IK_DISPLAY_COUNT; known++) {
        if (is_text(display, ik_display_name(known))) {
            schema->display = known;
        }
    }
    if (display != NULL && schema->display == IK_DISPLAY_USUAL) {
        ik_tool_schema_add_repair(findings, "display is not \"diff\", \"checklist\", \"table\", "
                                            "\"markdown\", \"code\" or \"image\"; it is left out");
    }
}

static void read_host(ik_tool_schema_t *schema, ik_tool_schema_findings_t *findings)
{
    json_t *host = json_object_get(schema->root, "host");
    bool known = host == NULL || json_is_array(host);
    size_t i;
    json_t *each;
    json_array_foreach(host, i, each)
    {
        const char *name = json_string_value(each);
        unsigned op =
            name == NULL || strlen(name) != json_string_length(each) ? 0 : ik_host_op_parse(name);
        known = known && op != 0;
        schema->host |= op;
    }
    if (!known) {
        ik_tool_schema_add_fault(findings,
                                 "host is not a list of \"ask\", \"agent\", \"complete\" and "
                                 "\"job\"");
    }
}

/* Returns an error where nothing else can be checked; other faults are collected in findings. */
static res_t fill(ik_tool_schema_t *schema, const char *text, size_t len,
                  ik_tool_schema_findings_t *findings)
{
    json_error_t error;
    ik_json_span_t value;
    json_t *root = ik_json_parse(text, len, &error);
    if (root == NULL && ik_utf8_valid(text, len) && ik_json_scan(text, len, &value, NULL)) {
        root = ik_json_parse_clean(value);
    }
    if (root == NULL) {
        return ERR(INVALID, "invalid JSON: %s", error.text);
    }
    schema->root = ik_json_adopt(schema, root);
    if (!json_is_object(root)) {
        return ERR(INVALID, "the schema is not a JSON object");
    }
    TRY(read_name(schema));
    read_description(schema, findings);
    read_options(schema, findings);
    normalise_parameters(root, findings);
    normalise_returns(schema, root, findings);
    schema->parameters = json_object_get(root, "parameters");
    schema->returns = json_object_get(root, "returns");
    read_effects(schema, findings);
    read_escalation(schema, findings);
    read_display(schema, findings);
    read_host(schema, findings);
    return OK;
}

res_t ik_tool_schema_examine(const void *ctx, const char *text, size_t len,
                             ik_tool_schema_findings_t *findings, ik_tool_schema_t **out)
{
    ik_tool_schema_t *schema = ik_new(ctx, ik_tool_schema_t);
    res_t filled = fill(schema, text, len, findings);
    if (is_ok(&filled) && findings->fault_count > 0) {
        filled = ERR(INVALID, "%s", findings->faults[0]);
    }
    if (is_err(&filled)) {
        talloc_free(schema);
        return filled;
    }
    *out = schema;
    return OK;
}

res_t ik_tool_schema_parse(const void *ctx, const char *text, size_t len, ik_tool_schema_t **out)
{
    ik_tool_schema_findings_t findings = {.ctx = talloc_new(NULL)};
    res_t parsed = ik_tool_schema_examine(ctx, text, len, &findings, out);
    talloc_free((void *)findings.ctx);
    return parsed;
}
