/*
 * The table `rules` has a rule for every known keyword. A rule looks at the keyword's value, and
 * keeps, repairs or removes it, or reports a fault. References are checked in a second pass, when
 * the schema does not change any more.
 */
#include "tool/tool_schema_repair.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/json.h"
#include "base/nearest.h"
#include "tool/tool_schema_pattern.h"

enum { DEPTH_MAX = 32, FINDINGS_MAX = 20, HOPS_MAX = 64, SHOWN_MAX = 60 };

typedef struct {
    ik_tool_schema_findings_t *findings;
    void *scratch; /* owns the paths */
    json_t *root;
    int depth;
} walk_t;

/* One schema on the walk, and its path for findings: "parameters.a.items". */
typedef struct {
    walk_t *walk;
    json_t *schema;
    const char *path;
} node_t;

/* --- findings ---------------------------------------------------------------------------- */

static void add_line(const ik_tool_schema_findings_t *findings, char ***lines, size_t *count,
                     const char *format, va_list args)
{
    if (findings->all || *count < FINDINGS_MAX) {
        *lines = ik_resize_array(findings->ctx, *lines, char *, *count + 1);
        (*lines)[(*count)++] = ik_vsprintf(findings->ctx, format, args);
    }
}

void ik_tool_schema_add_repair(ik_tool_schema_findings_t *findings, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_line(findings, &findings->repairs, &findings->repair_count, format, args);
    va_end(args);
}

void ik_tool_schema_add_fault(ik_tool_schema_findings_t *findings, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_line(findings, &findings->faults, &findings->fault_count, format, args);
    va_end(args);
}

#define REPAIRED(node_, format_, ...)                                                              \
    ik_tool_schema_add_repair((node_)->walk->findings, "%.200s: " format_,                         \
                              (node_)->path __VA_OPT__(, ) __VA_ARGS__)
#define FAULT(node_, format_, ...)                                                                 \
    ik_tool_schema_add_fault((node_)->walk->findings, "%.200s: " format_,                          \
                             (node_)->path __VA_OPT__(, ) __VA_ARGS__)

static bool expect(const node_t *node, const char *key, bool fulfilled, const char *expected)
{
    if (!fulfilled) {
        FAULT(node, "%s is not %s", key, expected);
    }
    return fulfilled;
}

/* --- lists ------------------------------------------------------------------------------- */

/* names ends with NULL. */
static bool is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(name, *names) != 0) {
        names++;
    }
    return *names != NULL;
}

static void set_without_duplicates(node_t *node, const char *key, json_t *list)
{
    json_t *kept = json_array();
    json_t *known = json_object();
    size_t i;
    json_t *each;
    json_array_foreach(list, i, each)
    {
        if (ik_json_set_add(known, each)) {
            json_array_append(kept, each);
        }
    }
    json_decref(known);
    if (json_array_size(kept) < json_array_size(list)) {
        REPAIRED(node, "%s holds a value twice", key);
    }
    json_object_set_new(node->schema, key, kept);
}

static bool is_list_of_names(json_t *value)
{
    size_t i;
    json_t *each;
    bool names = json_is_array(value);
    json_array_foreach(value, i, each)
    {
        names = names && json_is_string(each);
    }
    return names;
}

/* --- types ------------------------------------------------------------------------------- */

enum { TYPE_COUNT = 7 };

/* The types of JSON Schema, then what other languages call them. */
static const struct {
    const char *name;
    const char *type;
} types[] = {
    {"string", "string"}, {"number", "number"}, {"integer", "integer"}, {"boolean", "boolean"},
    {"array", "array"},   {"object", "object"}, {"null", "null"},       {"str", "string"},
    {"text", "string"},   {"int", "integer"},   {"long", "integer"},    {"float", "number"},
    {"double", "number"}, {"bool", "boolean"},  {"list", "array"},      {"tuple", "array"},
    {"dict", "object"},   {"map", "object"},    {"none", "null"},
};

/* The type under its own name, a new reference; NULL after a fault. */
static json_t *repair_type_name(const node_t *node, json_t *name)
{
    const char *given = json_string_value(name);
    if (!expect(node, "type", given != NULL, "a string")) {
        return NULL;
    }
    for (size_t i = 0; i < IK_LENGTH(types); i++) {
        if (strcasecmp(given, types[i].name) == 0) {
            if (strcmp(given, types[i].type) != 0) {
                REPAIRED(node, "type '%s' must be written '%s'", given, types[i].type);
            }
            return json_string(types[i].type);
        }
    }
    ik_nearest_t nearest;
    ik_nearest_init(&nearest, given, strlen(given));
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        ik_nearest_offer(&nearest, types[i].type);
    }
    if (nearest.found != NULL) {
        FAULT(node, "unknown type '%.*s'; did you mean '%s'?", SHOWN_MAX, given, nearest.found);
    } else {
        FAULT(node, "unknown type '%.*s'", SHOWN_MAX, given);
    }
    return NULL;
}

static void apply_type(node_t *node, const char *key, json_t *value)
{
    if (json_is_string(value) && strcasecmp(json_string_value(value), "any") == 0) {
        REPAIRED(node, "there is no type 'any'; leave the type out");
        json_object_del(node->schema, key);
        return;
    }
    if (!json_is_array(value)) {
        json_t *type = repair_type_name(node, value);
        if (type != NULL) {
            json_object_set_new(node->schema, key, type);
        }
        return;
    }
    json_t *list = json_array();
    size_t i;
    json_t *each;
    json_array_foreach(value, i, each)
    {
        json_t *type = repair_type_name(node, each);
        if (type != NULL) {
            json_array_append_new(list, type);
        }
    }
    if (json_array_size(value) == 0) {
        FAULT(node, "type is an empty list");
    }
    set_without_duplicates(node, key, list);
    json_decref(list);
}

static bool has_type(json_t *schema, const char *name)
{
    json_t *type = json_object_get(schema, "type");
    json_t *wanted = json_string(name);
    bool has = json_equal(type, wanted) || ik_json_array_has(type, wanted);
    json_decref(wanted);
    return has;
}

static const char *type_of(json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "integer";
    case JSON_REAL:
        return json_real_value(value) == floor(json_real_value(value)) ? "integer" : "number";
    case JSON_NULL:
        return "null";
    default:
        return "boolean";
    }
}

static bool is_of_type(json_t *schema, json_t *value)
{
    const char *type = type_of(value);
    return json_object_get(schema, "type") == NULL || has_type(schema, type) ||
           (strcmp(type, "integer") == 0 && has_type(schema, "number"));
}

/* --- simple values ----------------------------------------------------------------------- */

static void remove_key(node_t *node, const char *key, json_t *value)
{
    (void)value;
    json_object_del(node->schema, key);
}

static void apply_text(node_t *node, const char *key, json_t *value)
{
    expect(node, key, json_is_string(value), "a string");
}

static void apply_flag(node_t *node, const char *key, json_t *value)
{
    expect(node, key, json_is_boolean(value), "true or false");
}

static void apply_number(node_t *node, const char *key, json_t *value)
{
    expect(node, key, json_is_number(value), "a number");
}

static void apply_multiple(node_t *node, const char *key, json_t *value)
{
    expect(node, key, json_number_value(value) > 0, "a number above 0");
}

static void apply_size(node_t *node, const char *key, json_t *value)
{
    double number = json_number_value(value);
    bool whole = json_is_number(value) && number >= 0 && number == floor(number) && number <= 1e15;
    if (expect(node, key, whole, "a whole number of 0 or more") && json_is_real(value)) {
        json_object_set_new(node->schema, key, json_integer((json_int_t)number));
    }
}

/* Up to draft 4 this was a flag beside the limit. */
static void apply_exclusive(node_t *node, const char *key, json_t *value)
{
    const char *limit_key = strcmp(key, "exclusiveMinimum") == 0 ? "minimum" : "maximum";
    json_t *limit = json_object_get(node->schema, limit_key);
    if (!json_is_boolean(value) || (json_is_true(value) && !json_is_number(limit))) {
        apply_number(node, key, value);
        return;
    }
    REPAIRED(node, "%s must be a number, the limit itself", key);
    if (json_is_true(value)) {
        json_object_set(node->schema, key, limit);
        json_object_del(node->schema, limit_key);
    } else {
        json_object_del(node->schema, key);
    }
}

static void apply_examples(node_t *node, const char *key, json_t *value)
{
    if (!json_is_array(value)) {
        REPAIRED(node, "%s must be a list", key);
        json_object_set_new(node->schema, key, json_pack("[O]", value));
    }
}

static void apply_enum(node_t *node, const char *key, json_t *value)
{
    if (!expect(node, key, json_is_array(value), "a list of values")) {
        return;
    }
    if (json_array_size(value) == 0) {
        FAULT(node, "%s is empty: no value is allowed", key);
    } else {
        set_without_duplicates(node, key, value);
    }
}

static void apply_required(node_t *node, const char *key, json_t *value)
{
    json_t *properties = json_object_get(node->schema, "properties");
    const char *name = json_string_value(value);
    if (name != NULL && json_object_get(properties, name) != NULL) {
        REPAIRED(node, "%s must be a list of names", key);
        json_object_set_new(node->schema, key, json_pack("[O]", value));
    } else if (json_is_false(value)) {
        REPAIRED(node, "%s must be a list of names", key);
        json_object_del(node->schema, key);
    } else if (expect(node, key, is_list_of_names(value), "a list of names")) {
        set_without_duplicates(node, key, value);
    }
}

static void apply_dependent_required(node_t *node, const char *key, json_t *value)
{
    bool good = json_is_object(value);
    const char *name;
    json_t *list;
    json_object_foreach(value, name, list)
    {
        good = good && is_list_of_names(list);
    }
    expect(node, key, good, "an object of lists of names");
}

/* A pattern that not every provider understands is moved to the description, which the model reads.
 * The tool checks its input in any case. */
static void apply_pattern(node_t *node, const char *key, json_t *value)
{
    const char *pattern = json_string_value(value);
    if (!expect(node, key, pattern != NULL, "a string") ||
        ik_tool_schema_pattern_is_portable(pattern, json_string_length(value))) {
        return;
    }
    REPAIRED(node, "not every provider understands the pattern; it was moved to the description");
    const char *before = json_string_value(json_object_get(node->schema, "description"));
    json_object_set_new(node->schema, "description",
                        json_sprintf("%s%s(pattern: %s)", before == NULL ? "" : before,
                                     before == NULL || *before == '\0' ? "" : " ", pattern));
    json_object_del(node->schema, key);
}

static void refuse_reference(node_t *node, const char *key, json_t *value)
{
    (void)value;
    FAULT(node, "providers do not support %s; use $ref", key);
}

/* --- schemas in schemas ------------------------------------------------------------------ */

static void repair(walk_t *walk, json_t *schema, const char *path);

/* A schema inside another one, a new reference; NULL after a fault. true and false are schemas,
 * too, but providers do not know them. */
static json_t *repair_part(const node_t *node, json_t *value, const char *path)
{
    node_t part = {.walk = node->walk, .path = path};
    if (json_is_boolean(value)) {
        return json_is_true(value) ? json_object() : json_pack("{s:{}}", "not");
    }
    if (!json_is_object(value)) {
        FAULT(&part, "expected a schema, an object");
        return NULL;
    }
    if (json_is_boolean(json_object_get(value, "required"))) {
        /* apply_properties has moved the flags of properties; elsewhere they mean nothing. */
        REPAIRED(&part, "required must be a list of names");
        json_object_del(value, "required");
    }
    repair(node->walk, value, path);
    return json_incref(value);
}

static const char *path_of(const node_t *node, const char *name)
{
    return ik_sprintf(node->walk->scratch, "%s.%.*s", node->path, SHOWN_MAX, name);
}

static void apply_schema(node_t *node, const char *key, json_t *value)
{
    json_t *part = repair_part(node, value, path_of(node, key));
    if (part != NULL) {
        json_object_set_new(node->schema, key, part);
    }
}

/* Providers know true and false as values of these keywords. */
static void apply_additional(node_t *node, const char *key, json_t *value)
{
    if (!json_is_boolean(value)) {
        apply_schema(node, key, value);
    }
}

static void apply_schema_list(node_t *node, const char *key, json_t *value)
{
    if (json_is_object(value)) {
        REPAIRED(node, "%s must be a list", key);
        json_object_set_new(node->schema, key, json_pack("[O]", value));
        value = json_object_get(node->schema, key);
    }
    expect(node, key, json_array_size(value) > 0, "a list of schemas");
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *path = ik_sprintf(node->walk->scratch, "%s.%s[%zu]", node->path, key, i);
        json_t *part = repair_part(node, json_array_get(value, i), path);
        if (part != NULL) {
            json_array_set_new(value, i, part);
        }
    }
}

static void apply_schema_map(node_t *node, const char *key, json_t *value)
{
    node_t map = *node;
    const char *name;
    json_t *each;
    void *next;
    expect(node, key, json_is_object(value), "an object of schemas");
    if (strcmp(key, "properties") != 0) { /* the path of a property names the property only */
        map.path = path_of(node, key);
    }
    json_object_foreach_safe(value, next, name, each)
    {
        json_t *part = repair_part(&map, each, path_of(&map, name));
        if (part != NULL) {
            json_object_set_new(value, name, part);
        }
    }
}

static void apply_pattern_map(node_t *node, const char *key, json_t *value)
{
    const char *name;
    json_t *each;
    json_object_foreach(value, name, each)
    {
        if (!ik_tool_schema_pattern_is_portable(name, strlen(name))) {
            FAULT(node, "%s: not every provider understands '%.*s'", key, SHOWN_MAX, name);
        }
    }
    apply_schema_map(node, key, value);
}

/* Before prefixItems existed, a list of schemas described a tuple. */
static void apply_items(node_t *node, const char *key, json_t *value)
{
    if (!json_is_array(value)) {
        apply_schema(node, key, value);
        return;
    }
    json_t *rest = json_incref(json_object_get(node->schema, "additionalItems"));
    REPAIRED(node, "items must be one schema; a list of schemas is called prefixItems");
    if (json_array_size(value) > 0) {
        json_object_set(node->schema, "prefixItems", value);
        apply_schema_list(node, "prefixItems", value);
    }
    json_object_set_new(node->schema, key, rest == NULL ? json_object() : rest);
    apply_schema(node, key, json_object_get(node->schema, key));
}

/* Moves "required": true of a property to the list of the object that has the property. */
static void apply_properties(node_t *node, const char *key, json_t *value)
{
    json_t *required = json_object_get(node->schema, "required");
    json_t *listed = json_object();
    const char *name;
    json_t *property;
    size_t i;
    json_t *each;
    json_array_foreach(required, i, each)
    {
        ik_json_set_add(listed, each);
    }
    json_object_foreach(value, name, property)
    {
        json_t *flag = json_object_get(property, "required");
        const char *word = json_is_string(flag) ? json_string_value(flag) : "";
        bool is_true = json_is_true(flag) || strcasecmp(word, "true") == 0;
        if (!is_true && !json_is_false(flag) && strcasecmp(word, "false") != 0) {
            continue;
        }
        ik_tool_schema_add_repair(node->walk->findings,
                                  "%.200s: required belongs in the list of the enclosing object",
                                  path_of(node, name));
        json_object_del(property, "required");
        if (is_true && required == NULL) {
            required = json_array();
            json_object_set_new(node->schema, "required", required);
        }
        json_t *string = json_string(name);
        if (is_true && json_is_array(required) && ik_json_set_add(listed, string)) {
            json_array_append(required, string);
        }
        json_decref(string);
    }
    json_decref(listed);
    apply_schema_map(node, key, value);
}

/* --- the rules --------------------------------------------------------------------------- */

/* In the order in which they are applied. Keywords that are not listed have no meaning for
 * providers and are kept. */
static const struct {
    void (*apply)(node_t *node, const char *key, json_t *value);
    const char *keys[9]; /* ends with NULL */
} rules[] = {
    {remove_key, {"$schema", "$id", "$comment", "$vocabulary", "dependencies"}},
    {apply_type, {"type"}},
    {apply_text,
     {"description", "title", "format", "contentEncoding", "contentMediaType", "$anchor"}},
    {apply_flag, {"deprecated", "readOnly", "writeOnly", "uniqueItems", "nullable"}},
    {apply_exclusive, {"exclusiveMinimum", "exclusiveMaximum"}},
    {apply_number, {"minimum", "maximum"}},
    {apply_multiple, {"multipleOf"}},
    {apply_size,
     {"minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains",
      "minProperties", "maxProperties"}},
    {apply_pattern, {"pattern"}},
    {apply_enum, {"enum"}},
    {apply_examples, {"examples"}},
    {apply_properties, {"properties"}}, /* adds to required */
    {apply_required, {"required"}},
    {apply_dependent_required, {"dependentRequired"}},
    {apply_items, {"items"}}, /* reads additionalItems */
    {remove_key, {"additionalItems"}},
    {apply_schema_list, {"prefixItems"}},
    {apply_schema, {"contains"}},
    {apply_additional, {"unevaluatedItems", "additionalProperties", "unevaluatedProperties"}},
    {apply_pattern_map, {"patternProperties"}},
    {apply_schema, {"propertyNames"}},
    {apply_schema_map, {"dependentSchemas"}},
    {apply_schema_list, {"anyOf", "oneOf", "allOf"}},
    {apply_schema, {"not", "if", "then", "else", "contentSchema"}},
    {apply_schema_map, {"$defs", "definitions"}},
    {refuse_reference, {"$dynamicRef", "$recursiveRef"}},
};

/* Adds a type where only one is possible, and the keywords that providers want for it. */
static void add_missing(node_t *node)
{
    static const char *const typed[] = {"type", "anyOf", "oneOf", "allOf", "$ref",
                                        "enum", "const", "not",   "if",    NULL};
    json_t *schema = node->schema;
    bool has_properties = json_object_get(schema, "properties") != NULL;
    bool has_items = json_object_get(schema, "items") != NULL;
    bool is_typed = false;
    for (size_t i = 0; typed[i] != NULL; i++) {
        is_typed = is_typed || json_object_get(schema, typed[i]) != NULL;
    }
    if (!is_typed && (has_properties || has_items)) {
        json_object_set_new(schema, "type", json_string(has_properties ? "object" : "array"));
    }
    if (has_type(schema, "array") && !has_items && json_object_get(schema, "prefixItems") == NULL) {
        REPAIRED(node, "an array needs items");
        json_object_set_new(schema, "items", json_object());
    }
    if (has_type(schema, "object") && !has_properties) {
        json_object_set_new(schema, "properties", json_object());
    }
}

/* Values must match the type. null in enum means that the type allows null. */
static void check_values(node_t *node)
{
    json_t *constant = json_object_get(node->schema, "const");
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(node->schema, "enum"), i, each)
    {
        if (is_of_type(node->schema, each)) {
            continue;
        }
        if (json_is_null(each)) {
            json_t *type = json_object_get(node->schema, "type");
            json_t *list = json_is_array(type) ? json_incref(type) : json_pack("[O]", type);
            REPAIRED(node, "enum allows null, so the type must allow it, too");
            json_array_append_new(list, json_string("null"));
            json_object_set_new(node->schema, "type", list);
        } else {
            FAULT(node, "enum holds a value of type %s, which the type does not allow",
                  type_of(each));
        }
    }
    if (constant != NULL && !is_of_type(node->schema, constant)) {
        FAULT(node, "const is of type %s, which the type does not allow", type_of(constant));
    }
}

static void repair(walk_t *walk, json_t *schema, const char *path)
{
    node_t node = {.walk = walk, .schema = schema, .path = path};
    if (walk->depth == DEPTH_MAX) {
        FAULT(&node, "is nested more than %d levels deep", DEPTH_MAX);
        return;
    }
    walk->depth++;
    for (size_t i = 0; i < IK_LENGTH(rules); i++) {
        for (const char *const *key = rules[i].keys; *key != NULL; key++) {
            json_t *value = json_incref(json_object_get(schema, *key));
            if (json_is_null(value)) { /* as some generators write it */
                REPAIRED(&node, "%s has no value; leave it out", *key);
                json_object_del(schema, *key);
            } else if (value != NULL) {
                rules[i].apply(&node, *key, value);
            }
            json_decref(value);
        }
    }
    add_missing(&node);
    check_values(&node);
    walk->depth--;
}

/* --- references -------------------------------------------------------------------------- */

/* Decodes ~0, ~1 and %41 in one part of a JSON pointer in place. */
static void decode_part(char *part)
{
    char *to = part;
    for (const char *from = part; *from != '\0'; from++) {
        if (from[0] == '%' && isxdigit((unsigned char)from[1]) &&
            isxdigit((unsigned char)from[2])) {
            char digits[3] = {from[1], from[2], '\0'};
            *to++ = (char)strtol(digits, NULL, 16);
            from += 2;
        } else if (from[0] == '~' && (from[1] == '0' || from[1] == '1')) {
            *to++ = from[1] == '0' ? '~' : '/';
            from++;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* Returns what a reference such as "#/$defs/name" points to, or NULL. */
static json_t *find_target(const walk_t *walk, const char *reference)
{
    json_t *found = reference[0] == '#' ? walk->root : NULL;
    const char *at = reference + 1;
    while (found != NULL && *at != '\0') {
        if (*at != '/') {
            return NULL;
        }
        size_t len = strcspn(at + 1, "/");
        char *part = ik_strndup(walk->scratch, at + 1, len);
        decode_part(part);
        bool is_index = json_is_array(found) && part[strspn(part, "0123456789")] == '\0';
        found = is_index ? json_array_get(found, strtoul(part, NULL, 10))
                         : json_object_get(found, part);
        at += 1 + len;
    }
    return found;
}

/* Follows the $ref of a schema. */
static void check_reference(walk_t *walk, json_t *schema, const char *path)
{
    node_t node = {.walk = walk, .schema = schema, .path = path};
    const char *first = json_string_value(json_object_get(schema, "$ref"));
    if (!expect(&node, "$ref", first != NULL, "a string")) {
        return;
    }
    json_t *target = schema;
    for (int hops = 0; hops < HOPS_MAX; hops++) {
        json_t *reference = json_object_get(target, "$ref");
        if (reference == NULL) {
            return;
        }
        const char *text = json_string_value(reference);
        target = text == NULL ? NULL : find_target(walk, text);
        if (!json_is_object(target)) {
            FAULT(&node, "$ref '%.*s' leads to nothing in this schema", SHOWN_MAX, first);
            return;
        }
    }
    FAULT(&node, "$ref '%.*s' leads back to itself", SHOWN_MAX, first);
}

/* Checks the references in a schema or a list of schemas, or, when is_map, in the values of a map
 * from names to schemas. */
static void check_references(walk_t *walk, json_t *value, const char *path, bool is_map)
{
    static const char *const maps[] = {
        "properties", "$defs", "definitions", "patternProperties", "dependentSchemas", NULL};
    static const char *const data[] = {"enum", "const", "default", "example", "examples", NULL};
    const char *key;
    json_t *each;
    size_t i;
    if (!is_map && json_object_get(value, "$ref") != NULL) {
        check_reference(walk, value, path);
    }
    json_array_foreach(value, i, each)
    {
        check_references(walk, each, ik_sprintf(walk->scratch, "%s[%zu]", path, i), false);
    }
    json_object_foreach(value, key, each)
    {
        if ((!json_is_object(each) && !json_is_array(each)) || (!is_map && is_one_of(key, data))) {
            continue;
        }
        bool is_properties = !is_map && strcmp(key, "properties") == 0;
        check_references(walk, each,
                         is_properties ? path
                                       : ik_sprintf(walk->scratch, "%s.%.*s", path, SHOWN_MAX, key),
                         !is_map && is_one_of(key, maps));
    }
}

static void rename_references(json_t *value)
{
    static const char old[] = "#/definitions/";
    const char *key;
    json_t *each;
    size_t i;
    const char *reference = json_string_value(json_object_get(value, "$ref"));
    if (reference != NULL && strncmp(reference, old, sizeof(old) - 1) == 0) {
        json_object_set_new(value, "$ref", json_sprintf("#/$defs/%s", reference + sizeof(old) - 1));
    }
    json_array_foreach(value, i, each)
    {
        rename_references(each);
    }
    json_object_foreach(value, key, each)
    {
        rename_references(each);
    }
}

/* --- whole schemas ----------------------------------------------------------------------- */

void ik_tool_schema_repair(json_t *schema, const char *label, ik_tool_schema_findings_t *findings)
{
    walk_t walk = {.findings = findings, .scratch = talloc_new(NULL), .root = schema};
    size_t before = findings->fault_count;
    json_t *definitions = json_object_get(schema, "definitions"); /* the old name of $defs */
    if (json_is_object(definitions) && json_object_get(schema, "$defs") == NULL) {
        json_object_set(schema, "$defs", definitions);
        json_object_del(schema, "definitions");
        rename_references(schema);
    }
    repair(&walk, schema, label);
    if (findings->fault_count == before) { /* so it is not nested too deeply, either */
        check_references(&walk, schema, label, false);
    }
    talloc_free(walk.scratch);
}

/* Whether the schemas of anyOf and the like only restrict parameters that are described elsewhere.
 */
static bool only_restricts(json_t *value, json_t *known)
{
    static const char *const harmless[] = {"required", "title", "description", "type",       "if",
                                           "then",     "else",  "not",         "properties", NULL};
    const char *key;
    json_t *each;
    size_t i;
    json_array_foreach(value, i, each)
    {
        if (!only_restricts(each, known)) {
            return false;
        }
    }
    json_object_foreach(value, key, each)
    {
        if (!is_one_of(key, harmless)) {
            return false;
        }
    }
    json_object_foreach(json_object_get(value, "properties"), key, each)
    {
        if (json_object_get(known, key) == NULL) {
            return false;
        }
    }
    return true;
}

/* Providers refuse these keywords beside the parameters. A restriction is dropped, because the tool
 * checks its input; a description of further parameters is a fault. */
static void remove_choices(json_t *parameters, ik_tool_schema_findings_t *findings)
{
    static const char *const keys[] = {"anyOf", "oneOf", "allOf", "not", "enum", "const"};
    enum { DESCRIBING = 3 }; /* the first ones may describe parameters */
    json_t *known = json_object_get(parameters, "properties");
    for (size_t i = 0; i < IK_LENGTH(keys); i++) {
        json_t *value = json_object_get(parameters, keys[i]);
        if (value == NULL) {
            continue;
        }
        if (i >= DESCRIBING || only_restricts(value, known)) {
            ik_tool_schema_add_repair(findings,
                                      "parameters: %s is not allowed at the top; say in the "
                                      "descriptions which parameters go together",
                                      keys[i]);
            json_object_del(parameters, keys[i]);
        } else {
            ik_tool_schema_add_fault(findings,
                                     "parameters: %s is not allowed at the top; describe all "
                                     "parameters in properties",
                                     keys[i]);
        }
    }
    if (json_object_get(parameters, "$ref") != NULL) {
        ik_tool_schema_add_fault(findings, "parameters: $ref is not allowed at the top");
    }
}

void ik_tool_schema_repair_parameters(json_t *parameters, ik_tool_schema_findings_t *findings)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    const char *name;
    json_t *property;
    remove_choices(parameters, findings);
    ik_tool_schema_repair(parameters, "parameters", findings);
    json_t *type = json_object_get(parameters, "type");
    if (type == NULL) {
        json_object_set_new(parameters, "type", json_string("object"));
    } else if (!json_is_string(type) || strcmp(json_string_value(type), "object") != 0) {
        ik_tool_schema_add_fault(findings, "parameters are not of type object");
    }
    if (json_object_get(parameters, "properties") == NULL) {
        json_object_set_new(parameters, "properties", json_object());
    }
    json_object_foreach(json_object_get(parameters, "properties"), name, property)
    {
        size_t len = strspn(name, allowed);
        if (len == 0 || len > 64 || name[len] != '\0') {
            ik_tool_schema_add_fault(findings,
                                     "parameter '%.*s' has a name that providers refuse: use at "
                                     "most 64 letters, digits, '_', '-' and '.'",
                                     SHOWN_MAX, name);
        }
    }
}
