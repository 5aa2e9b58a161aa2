/*
 * Every known keyword has a rule that looks at its value: the value stays, is put right, is taken
 * out, or is a fault. Rules change the schema they are given, so the walk copies the keys first.
 * References are looked at in a second pass, when nothing moves any more.
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
#include "base/nearest.h"

enum { DEPTH_MAX = 32, FINDINGS_MAX = 20, HOPS_MAX = 64, PATTERN_DEPTH_MAX = 32, SHOWN_MAX = 60 };

typedef struct {
    ik_tool_schema_findings_t *findings;
    void *scratch;
    json_t *root;
    int depth;
} walk_t;

/* One schema on the walk. */
typedef struct {
    walk_t *walk;
    json_t *schema;
    const char *place;
} node_t;

/* --- findings ---------------------------------------------------------------------------- */

static void add_line(const void *ctx, char ***lines, size_t *count, const char *format,
                     va_list args)
{
    if (*count < FINDINGS_MAX) {
        *lines = ik_resize_array(ctx, *lines, char *, *count + 1);
        (*lines)[(*count)++] = ik_vsprintf(ctx, format, args);
    }
}

void ik_tool_schema_add_repair(ik_tool_schema_findings_t *findings, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_line(findings->ctx, &findings->repairs, &findings->repair_count, format, args);
    va_end(args);
}

void ik_tool_schema_add_fault(ik_tool_schema_findings_t *findings, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_line(findings->ctx, &findings->faults, &findings->fault_count, format, args);
    va_end(args);
}

#define REPAIRED(node_, format_, ...)                                                              \
    ik_tool_schema_add_repair((node_)->walk->findings, "%.200s: " format_,                         \
                              (node_)->place __VA_OPT__(, ) __VA_ARGS__)
#define FAULT(node_, format_, ...)                                                                 \
    ik_tool_schema_add_fault((node_)->walk->findings, "%.200s: " format_,                          \
                             (node_)->place __VA_OPT__(, ) __VA_ARGS__)

/* --- types ------------------------------------------------------------------------------- */

static const char *const types[] = {"string", "number", "integer", "boolean",
                                    "array",  "object", "null"};

/* What other languages call them. */
static const struct {
    const char *alias;
    const char *type;
} aliases[] = {
    {"str", "string"},   {"text", "string"},   {"int", "integer"},  {"long", "integer"},
    {"float", "number"}, {"double", "number"}, {"bool", "boolean"}, {"list", "array"},
    {"tuple", "array"},  {"dict", "object"},   {"map", "object"},   {"none", "null"},
};

/* The type that a name stands for, or NULL. */
static const char *find_type(const char *name)
{
    for (size_t i = 0; i < IK_LENGTH(types); i++) {
        if (strcasecmp(name, types[i]) == 0) {
            return types[i];
        }
    }
    for (size_t i = 0; i < IK_LENGTH(aliases); i++) {
        if (strcasecmp(name, aliases[i].alias) == 0) {
            return aliases[i].type;
        }
    }
    return NULL;
}

/* The type as it is written, a new reference; NULL after a fault. */
static json_t *repair_type_name(const node_t *node, json_t *name)
{
    const char *given = json_string_value(name);
    const char *type = given == NULL ? NULL : find_type(given);
    if (given == NULL) {
        FAULT(node, "type is not a string");
        return NULL;
    }
    if (type == NULL) {
        ik_nearest_t nearest;
        ik_nearest_init(&nearest, given, strlen(given));
        for (size_t i = 0; i < IK_LENGTH(types); i++) {
            ik_nearest_offer(&nearest, types[i]);
        }
        if (nearest.found != NULL) {
            FAULT(node, "unknown type '%.*s'; did you mean '%s'?", SHOWN_MAX, given, nearest.found);
        } else {
            FAULT(node, "unknown type '%.*s'", SHOWN_MAX, given);
        }
        return NULL;
    }
    if (strcmp(type, given) != 0) {
        REPAIRED(node, "type '%s' is written '%s'", given, type);
        return json_string(type);
    }
    return json_incref(name);
}

static bool contains(json_t *array, json_t *wanted)
{
    size_t i;
    json_t *each;
    json_array_foreach(array, i, each)
    {
        if (json_equal(each, wanted)) {
            return true;
        }
    }
    return false;
}

/* The list without what stands in it twice, a new reference. */
static json_t *without_doubles(const node_t *node, const char *key, json_t *list)
{
    json_t *kept = json_array();
    size_t i;
    json_t *each;
    json_array_foreach(list, i, each)
    {
        if (!contains(kept, each)) {
            json_array_append(kept, each);
        }
    }
    if (json_array_size(kept) < json_array_size(list)) {
        REPAIRED(node, "%s holds a value twice", key);
    }
    return kept;
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
    json_object_set_new(node->schema, key, without_doubles(node, key, list));
    json_decref(list);
}

static bool has_type(json_t *schema, const char *name)
{
    json_t *type = json_object_get(schema, "type");
    size_t i;
    json_t *each;
    json_array_foreach(type, i, each)
    {
        if (json_is_string(each) && strcmp(json_string_value(each), name) == 0) {
            return true;
        }
    }
    return json_is_string(type) && strcmp(json_string_value(type), name) == 0;
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
    if (!json_is_string(value)) {
        FAULT(node, "%s is not a string", key);
    }
}

static void apply_flag(node_t *node, const char *key, json_t *value)
{
    if (!json_is_boolean(value)) {
        FAULT(node, "%s is not true or false", key);
    }
}

static void apply_number(node_t *node, const char *key, json_t *value)
{
    if (!json_is_number(value)) {
        FAULT(node, "%s is not a number", key);
    }
}

/* Until draft 4 it was a flag beside the limit. */
static void apply_exclusive(node_t *node, const char *key, json_t *value)
{
    const char *limit_key = strcmp(key, "exclusiveMinimum") == 0 ? "minimum" : "maximum";
    json_t *limit = json_object_get(node->schema, limit_key);
    if (!json_is_boolean(value)) {
        apply_number(node, key, value);
        return;
    }
    if (json_is_true(value) && !json_is_number(limit)) {
        FAULT(node, "%s is not a number", key);
        return;
    }
    REPAIRED(node, "%s is a number, the limit itself", key);
    if (json_is_true(value)) {
        json_object_set(node->schema, key, limit);
        json_object_del(node->schema, limit_key);
    } else {
        json_object_del(node->schema, key);
    }
}

static void apply_multiple(node_t *node, const char *key, json_t *value)
{
    if (!json_is_number(value) || json_number_value(value) <= 0) {
        FAULT(node, "%s is not a number above 0", key);
    }
}

static void apply_size(node_t *node, const char *key, json_t *value)
{
    double number = json_number_value(value);
    if (!json_is_number(value) || number < 0 || number != floor(number) || number > 1e15) {
        FAULT(node, "%s is not a whole number from 0 on", key);
    } else if (json_is_real(value)) {
        json_object_set_new(node->schema, key, json_integer((json_int_t)number));
    }
}

static void apply_examples(node_t *node, const char *key, json_t *value)
{
    if (!json_is_array(value)) {
        REPAIRED(node, "%s is a list", key);
        json_object_set_new(node->schema, key, json_pack("[O]", value));
    }
}

static void apply_enum(node_t *node, const char *key, json_t *value)
{
    if (!json_is_array(value)) {
        FAULT(node, "%s is not a list of values", key);
    } else if (json_array_size(value) == 0) {
        FAULT(node, "%s is empty: no value is allowed", key);
    } else {
        json_object_set_new(node->schema, key, without_doubles(node, key, value));
    }
}

static void apply_required(node_t *node, const char *key, json_t *value)
{
    json_t *properties = json_object_get(node->schema, "properties");
    const char *name = json_string_value(value);
    if (name != NULL && json_object_get(properties, name) != NULL) {
        REPAIRED(node, "%s is a list of names", key);
        json_object_set_new(node->schema, key, json_pack("[O]", value));
        return;
    }
    if (json_is_false(value)) {
        REPAIRED(node, "%s is a list of names", key);
        json_object_del(node->schema, key);
        return;
    }
    size_t i;
    json_t *each;
    bool names = json_is_array(value);
    json_array_foreach(value, i, each)
    {
        names = names && json_is_string(each);
    }
    if (names) {
        json_object_set_new(node->schema, key, without_doubles(node, key, value));
    } else {
        FAULT(node, "%s is not a list of names", key);
    }
}

static void apply_dependent_required(node_t *node, const char *key, json_t *value)
{
    bool good = json_is_object(value);
    const char *name;
    json_t *list;
    json_object_foreach(value, name, list)
    {
        size_t i;
        json_t *each;
        good = good && json_is_array(list);
        json_array_foreach(list, i, each)
        {
            good = good && json_is_string(each);
        }
    }
    if (!good) {
        FAULT(node, "%s is not an object of lists of names", key);
    }
}

/* --- patterns ---------------------------------------------------------------------------- */

/* Providers check patterns, each with another engine. This is what all of them agree on. */
typedef struct {
    const char *at;
    int depth;
} pattern_t;

static bool read_alternatives(pattern_t *pattern);

static bool read_escape(pattern_t *pattern, const char *letters)
{
    char escaped = pattern->at[1];
    if (escaped == '\0' || (!ispunct((unsigned char)escaped) && strchr(letters, escaped) == NULL)) {
        return false;
    }
    pattern->at += 2;
    return true;
}

/* One end of a range, or a whole class such as \d, which has no place in a range. */
static bool read_class_part(pattern_t *pattern, int *code)
{
    unsigned char c = (unsigned char)*pattern->at;
    if (c == '\0' || c == '[' || c == '&' || c == '~' || c == '|') {
        return false; /* some engines take these for nested classes and set operations */
    }
    if (c != '\\') {
        *code = c < 0x80 ? c : -1;
        pattern->at++;
        return true;
    }
    unsigned char escaped = (unsigned char)pattern->at[1];
    *code = ispunct(escaped) ? escaped : -1;
    return read_escape(pattern, "dDwWsSnrtfv");
}

static bool read_class(pattern_t *pattern)
{
    pattern->at += pattern->at[1] == '^' ? 2 : 1;
    if (*pattern->at == ']') {
        return false;
    }
    while (*pattern->at != ']') {
        int from;
        int to;
        if (!read_class_part(pattern, &from)) {
            return false;
        }
        if (pattern->at[0] == '-' && pattern->at[1] != ']') {
            pattern->at++;
            if (!read_class_part(pattern, &to) || from < 0 || to < from) {
                return false;
            }
        }
    }
    pattern->at++;
    return true;
}

static bool read_group(pattern_t *pattern)
{
    static const char *const heads[] = {"(?:", "(?=", "(?!", "("};
    size_t i = 0;
    while (strncmp(pattern->at, heads[i], strlen(heads[i])) != 0) {
        i++;
    }
    pattern->at += strlen(heads[i]);
    if (*pattern->at == '?' || ++pattern->depth > PATTERN_DEPTH_MAX ||
        !read_alternatives(pattern) || *pattern->at != ')') {
        return false;
    }
    pattern->depth--;
    pattern->at++;
    return true;
}

/* {2}, {2,} or {2,5} */
static bool read_bounds(pattern_t *pattern)
{
    char *end;
    long least = 0;
    long most = -1;
    pattern->at++;
    if (!isdigit((unsigned char)*pattern->at)) {
        return false;
    }
    least = strtol(pattern->at, &end, 10);
    most = least;
    if (*end == ',') {
        bool open = end[1] == '}';
        if (!open && !isdigit((unsigned char)end[1])) {
            return false;
        }
        most = open ? least : strtol(end + 1, &end, 10);
        end += open ? 1 : 0;
    }
    pattern->at = end + 1;
    return *end == '}' && least <= most && most <= 1000;
}

static bool read_quantifier(pattern_t *pattern)
{
    if (*pattern->at == '{') {
        if (!read_bounds(pattern)) {
            return false;
        }
    } else if (*pattern->at != '\0' && strchr("*+?", *pattern->at) != NULL) {
        pattern->at++;
    } else {
        return true;
    }
    pattern->at += *pattern->at == '?';
    return *pattern->at == '\0' || strchr("*+?{", *pattern->at) == NULL;
}

static bool read_atom(pattern_t *pattern)
{
    switch (*pattern->at) {
    case '(':
        return read_group(pattern) && read_quantifier(pattern);
    case '[':
        return read_class(pattern) && read_quantifier(pattern);
    case '\\':
        if (pattern->at[1] == 'b' || pattern->at[1] == 'B') {
            pattern->at += 2; /* matches no character: nothing to repeat */
            return *pattern->at == '\0' || strchr("*+?{", *pattern->at) == NULL;
        }
        return read_escape(pattern, "dDwWsSnrtfv") && read_quantifier(pattern);
    case '^':
    case '$':
        pattern->at++;
        return *pattern->at == '\0' || strchr("*+?{", *pattern->at) == NULL;
    case '*':
    case '+':
    case '?':
    case '{':
    case '}':
    case ']':
        return false;
    default:
        pattern->at++;
        return read_quantifier(pattern);
    }
}

static bool read_alternatives(pattern_t *pattern)
{
    while (*pattern->at != '\0' && *pattern->at != ')') {
        if (*pattern->at == '|') {
            pattern->at++;
        } else if (!read_atom(pattern)) {
            return false;
        }
    }
    return true;
}

static bool is_common_pattern(const char *text, size_t len)
{
    enum { PATTERN_MAX = 1000 };
    pattern_t pattern = {.at = text};
    return strlen(text) == len && len <= PATTERN_MAX && read_alternatives(&pattern) &&
           *pattern.at == '\0';
}

/* The tool checks its input in any case; the model reads the description. */
static void apply_pattern(node_t *node, const char *key, json_t *value)
{
    if (!json_is_string(value)) {
        FAULT(node, "%s is not a string", key);
        return;
    }
    const char *pattern = json_string_value(value);
    if (is_common_pattern(pattern, json_string_length(value))) {
        return;
    }
    REPAIRED(node, "not every provider understands the pattern; it is told in the description");
    json_t *old = json_object_get(node->schema, "description");
    const char *before = json_is_string(old) ? json_string_value(old) : "";
    json_object_set_new(
        node->schema, "description",
        json_sprintf("%s%s(pattern: %s)", before, *before == '\0' ? "" : " ", pattern));
    json_object_del(node->schema, key);
}

/* --- schemas in schemas ------------------------------------------------------------------ */

static void repair(walk_t *walk, json_t *schema, const char *place);

/* The schema at a place inside of another one, a new reference; NULL after a fault. true and false
 * are schemas, too, which providers do not know. */
static json_t *repair_part(const node_t *node, json_t *value, const char *place)
{
    node_t part = {.walk = node->walk, .place = place};
    if (json_is_boolean(value)) {
        return json_is_true(value) ? json_object() : json_pack("{s:{}}", "not");
    }
    if (!json_is_object(value)) {
        FAULT(&part, "is not a schema, an object");
        return NULL;
    }
    if (json_is_boolean(json_object_get(value, "required"))) {
        /* Those of properties were lifted; elsewhere there is nothing they could be about. */
        REPAIRED(&part, "required is a list of names");
        json_object_del(value, "required");
    }
    repair(node->walk, value, place);
    return json_incref(value);
}

/* "parameters.a" for a property, "parameters.a.items" for what else has a name. */
static const char *place_of(const node_t *node, const char *name)
{
    return ik_sprintf(node->walk->scratch, "%s.%.*s", node->place, SHOWN_MAX, name);
}

static void apply_schema(node_t *node, const char *key, json_t *value)
{
    json_t *part = repair_part(node, value, place_of(node, key));
    if (part != NULL) {
        json_object_set_new(node->schema, key, part);
    }
}

/* Here true and false mean something that providers know. */
static void apply_additional(node_t *node, const char *key, json_t *value)
{
    if (!json_is_boolean(value)) {
        apply_schema(node, key, value);
    }
}

static void apply_schema_list(node_t *node, const char *key, json_t *value)
{
    if (json_is_object(value)) {
        REPAIRED(node, "%s is a list", key);
        json_object_set_new(node->schema, key, json_pack("[O]", value));
        value = json_object_get(node->schema, key);
    }
    if (!json_is_array(value) || json_array_size(value) == 0) {
        FAULT(node, "%s is not a list of schemas", key);
        return;
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *place = ik_sprintf(node->walk->scratch, "%s.%s[%zu]", node->place, key, i);
        json_t *part = repair_part(node, json_array_get(value, i), place);
        if (part != NULL) {
            json_array_set_new(value, i, part);
        }
    }
}

static void apply_schema_map(node_t *node, const char *key, json_t *value)
{
    bool silent = strcmp(key, "properties") == 0; /* not a part of a property's name */
    const char *name;
    json_t *each;
    void *next;
    if (!json_is_object(value)) {
        FAULT(node, "%s is not an object of schemas", key);
        return;
    }
    json_object_foreach_safe(value, next, name, each)
    {
        const char *place = silent ? place_of(node, name)
                                   : ik_sprintf(node->walk->scratch, "%s.%s.%.*s", node->place, key,
                                                SHOWN_MAX, name);
        json_t *part = repair_part(node, each, place);
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
        if (!is_common_pattern(name, strlen(name))) {
            FAULT(node, "%s: not every provider understands '%.*s'", key, SHOWN_MAX, name);
        }
    }
    apply_schema_map(node, key, value);
}

/* A list was a tuple until prefixItems came. */
static void apply_items(node_t *node, const char *key, json_t *value)
{
    if (!json_is_array(value)) {
        apply_schema(node, key, value);
        return;
    }
    json_t *rest = json_incref(json_object_get(node->schema, "additionalItems"));
    REPAIRED(node, "items is one schema; a list of them is called prefixItems");
    if (json_array_size(value) > 0) {
        json_object_set(node->schema, "prefixItems", value);
        apply_schema_list(node, "prefixItems", value);
    }
    json_object_set_new(node->schema, key, rest == NULL ? json_object() : rest);
    apply_schema(node, key, json_object_get(node->schema, key));
}

/* "required": true inside of a property belongs into the list of the object around it. */
static void lift_required(node_t *node)
{
    json_t *required = json_object_get(node->schema, "required");
    const char *name;
    json_t *property;
    json_object_foreach(json_object_get(node->schema, "properties"), name, property)
    {
        json_t *flag = json_object_get(property, "required");
        const char *word = json_string_value(flag);
        bool truth = json_is_true(flag) || (word != NULL && strcasecmp(word, "true") == 0);
        bool is_flag =
            json_is_boolean(flag) || truth || (word != NULL && strcasecmp(word, "false") == 0);
        if (!is_flag) {
            continue;
        }
        ik_tool_schema_add_repair(node->walk->findings,
                                  "%.200s: required belongs into the list of the object around it",
                                  place_of(node, name));
        json_object_del(property, "required");
        if (truth && required == NULL) {
            required = json_array();
            json_object_set_new(node->schema, "required", required);
        }
        json_t *string = json_string(name);
        if (truth && json_is_array(required) && !contains(required, string)) {
            json_array_append(required, string);
        }
        json_decref(string);
    }
}

static void apply_properties(node_t *node, const char *key, json_t *value)
{
    lift_required(node);
    apply_schema_map(node, key, value);
}

static void refuse_reference(node_t *node, const char *key, json_t *value)
{
    (void)value;
    FAULT(node, "%s is not understood by providers; use $ref", key);
}

/* --- the rules --------------------------------------------------------------------------- */

typedef void (*rule_fn)(node_t *node, const char *key, json_t *value);

/* In the order in which they are applied. A key that is not here says nothing to providers and
 * stays. */
static const struct {
    const char *key;
    rule_fn apply;
} rules[] = {
    {"$schema", remove_key},
    {"$id", remove_key},
    {"$comment", remove_key},
    {"$vocabulary", remove_key},
    {"dependencies", remove_key},
    {"type", apply_type},
    {"description", apply_text},
    {"title", apply_text},
    {"format", apply_text},
    {"contentEncoding", apply_text},
    {"contentMediaType", apply_text},
    {"$anchor", apply_text},
    {"deprecated", apply_flag},
    {"readOnly", apply_flag},
    {"writeOnly", apply_flag},
    {"uniqueItems", apply_flag},
    {"nullable", apply_flag},
    {"exclusiveMinimum", apply_exclusive},
    {"exclusiveMaximum", apply_exclusive},
    {"minimum", apply_number},
    {"maximum", apply_number},
    {"multipleOf", apply_multiple},
    {"minLength", apply_size},
    {"maxLength", apply_size},
    {"minItems", apply_size},
    {"maxItems", apply_size},
    {"minContains", apply_size},
    {"maxContains", apply_size},
    {"minProperties", apply_size},
    {"maxProperties", apply_size},
    {"pattern", apply_pattern},
    {"enum", apply_enum},
    {"examples", apply_examples},
    {"properties", apply_properties}, /* adds to required */
    {"required", apply_required},
    {"dependentRequired", apply_dependent_required},
    {"items", apply_items}, /* reads additionalItems */
    {"additionalItems", remove_key},
    {"prefixItems", apply_schema_list},
    {"contains", apply_schema},
    {"unevaluatedItems", apply_additional},
    {"additionalProperties", apply_additional},
    {"unevaluatedProperties", apply_additional},
    {"patternProperties", apply_pattern_map},
    {"propertyNames", apply_schema},
    {"dependentSchemas", apply_schema_map},
    {"anyOf", apply_schema_list},
    {"oneOf", apply_schema_list},
    {"allOf", apply_schema_list},
    {"not", apply_schema},
    {"if", apply_schema},
    {"then", apply_schema},
    {"else", apply_schema},
    {"contentSchema", apply_schema},
    {"$defs", apply_schema_map},
    {"definitions", apply_schema_map},
    {"$dynamicRef", refuse_reference},
    {"$recursiveRef", refuse_reference},
};

/* A keyword without a value, as some generators write it. */
static void drop_null(node_t *node, const char *key)
{
    REPAIRED(node, "%s has no value; leave it out", key);
    json_object_del(node->schema, key);
}

/* --- what is missing --------------------------------------------------------------------- */

static bool has_any(json_t *schema, const char *const *keys)
{
    for (size_t i = 0; keys[i] != NULL; i++) {
        if (json_object_get(schema, keys[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* What has properties is an object, what has items an array, unless something else says what it
 * is. */
static void add_type(node_t *node)
{
    static const char *const telling[] = {"type", "anyOf", "oneOf", "allOf", "$ref",
                                          "enum", "const", "not",   "if",    NULL};
    if (!has_any(node->schema, telling)) {
        const char *type = json_object_get(node->schema, "properties") != NULL ? "object"
                           : json_object_get(node->schema, "items") != NULL    ? "array"
                                                                               : NULL;
        if (type != NULL) {
            json_object_set_new(node->schema, "type", json_string(type));
        }
    }
}

static void add_parts(node_t *node)
{
    if (has_type(node->schema, "array") && json_object_get(node->schema, "items") == NULL &&
        json_object_get(node->schema, "prefixItems") == NULL) {
        REPAIRED(node, "an array needs items");
        json_object_set_new(node->schema, "items", json_object());
    }
    if (has_type(node->schema, "object") && json_object_get(node->schema, "properties") == NULL) {
        json_object_set_new(node->schema, "properties", json_object());
    }
}

static void allow_null(node_t *node)
{
    json_t *type = json_object_get(node->schema, "type");
    json_t *null = json_string("null");
    if (json_is_array(type)) {
        json_array_append(type, null);
    } else {
        json_object_set_new(node->schema, "type", json_pack("[O, O]", type, null));
    }
    json_decref(null);
}

/* Allowed values must be of the type; null among them means that it may be null. */
static void check_values(node_t *node)
{
    json_t *values = json_object_get(node->schema, "enum");
    json_t *constant = json_object_get(node->schema, "const");
    size_t i;
    json_t *each;
    if (json_object_get(node->schema, "type") == NULL) {
        return;
    }
    json_array_foreach(values, i, each)
    {
        if (is_of_type(node->schema, each)) {
            continue;
        }
        if (json_is_null(each)) {
            REPAIRED(node, "enum allows null, so the type must, too");
            allow_null(node);
        } else {
            FAULT(node, "enum holds a value of type %s, which the type does not allow",
                  type_of(each));
        }
    }
    if (constant != NULL && !is_of_type(node->schema, constant)) {
        FAULT(node, "const is of type %s, which the type does not allow", type_of(constant));
    }
}

static void repair(walk_t *walk, json_t *schema, const char *place)
{
    node_t node = {.walk = walk, .schema = schema, .place = place};
    if (walk->depth == DEPTH_MAX) {
        FAULT(&node, "is nested more than %d levels deep", DEPTH_MAX);
        return;
    }
    walk->depth++;
    for (size_t i = 0; i < IK_LENGTH(rules); i++) {
        json_t *value = json_incref(json_object_get(schema, rules[i].key));
        if (json_is_null(value)) {
            drop_null(&node, rules[i].key);
        } else if (value != NULL) {
            rules[i].apply(&node, rules[i].key, value);
        }
        json_decref(value);
    }
    add_type(&node);
    add_parts(&node);
    check_values(&node);
    walk->depth--;
}

/* --- references -------------------------------------------------------------------------- */

/* Decodes ~0, ~1 and %41 of one part of a JSON pointer in place. */
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

/* What "#/$defs/name" points to, or NULL. */
static json_t *find_target(const walk_t *walk, const char *reference)
{
    json_t *found = reference[0] == '#' ? walk->root : NULL;
    const char *at = reference + 1;
    while (found != NULL && *at != '\0') {
        size_t len = *at == '/' ? strcspn(at + 1, "/") : 0;
        char *part = ik_strndup(walk->scratch, at + (*at == '/'), len);
        decode_part(part);
        json_t *inside = NULL;
        if (*at == '/' && json_is_array(found) && part[strspn(part, "0123456789")] == '\0') {
            inside = json_array_get(found, strtoul(part, NULL, 10));
        } else if (*at == '/') {
            inside = json_object_get(found, part);
        }
        found = inside;
        at += 1 + len;
    }
    return found;
}

static void check_reference(walk_t *walk, json_t *schema, const char *place)
{
    node_t node = {.walk = walk, .schema = schema, .place = place};
    const char *first = json_string_value(json_object_get(schema, "$ref"));
    if (first == NULL) {
        FAULT(&node, "$ref is not a string");
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

/* Values of these are data, whatever they look like. */
static bool is_data(const char *key)
{
    static const char *const keys[] = {"enum", "const", "default", "example", "examples"};
    for (size_t i = 0; i < IK_LENGTH(keys); i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Goes through a schema, or a map or list of schemas; is_schema tells which. */
static void check_references(walk_t *walk, json_t *value, const char *place, bool is_schema)
{
    static const char *const maps[] = {"properties", "$defs", "definitions", "patternProperties",
                                       "dependentSchemas"};
    const char *key;
    json_t *each;
    size_t i;
    if (is_schema && json_object_get(value, "$ref") != NULL) {
        check_reference(walk, value, place);
    }
    json_array_foreach(value, i, each)
    {
        check_references(walk, each, ik_sprintf(walk->scratch, "%s[%zu]", place, i), true);
    }
    json_object_foreach(value, key, each)
    {
        bool map = false;
        for (i = 0; is_schema && i < IK_LENGTH(maps); i++) {
            map = map || strcmp(key, maps[i]) == 0;
        }
        bool inside = !is_schema || !is_data(key);
        if (inside && (json_is_object(each) || json_is_array(each))) {
            bool is_properties = is_schema && strcmp(key, "properties") == 0;
            check_references(
                walk, each,
                is_properties ? place : ik_sprintf(walk->scratch, "%s.%.*s", place, SHOWN_MAX, key),
                !map);
        }
    }
}

/* --- the whole --------------------------------------------------------------------------- */

/* The old name of $defs, where all references to it can be told. */
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

static void rename_definitions(json_t *schema)
{
    json_t *old = json_object_get(schema, "definitions");
    if (json_is_object(old) && json_object_get(schema, "$defs") == NULL) {
        json_object_set(schema, "$defs", old);
        json_object_del(schema, "definitions");
        rename_references(schema);
    }
}

void ik_tool_schema_repair(json_t *schema, const char *label, ik_tool_schema_findings_t *findings)
{
    walk_t walk = {.findings = findings, .scratch = talloc_new(NULL), .root = schema};
    size_t before = findings->fault_count;
    rename_definitions(schema);
    repair(&walk, schema, label);
    if (findings->fault_count == before) { /* also: it is not too deep */
        check_references(&walk, schema, label, true);
    }
    talloc_free(walk.scratch);
}

/* Whether schemas at the top only restrict parameters that are described elsewhere. */
static bool only_restricts(json_t *value, json_t *known)
{
    static const char *const harmless[] = {"required", "title", "description", "type",
                                           "if",       "then",  "else",        "not"};
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
        bool is_harmless = strcmp(key, "properties") == 0;
        for (i = 0; i < IK_LENGTH(harmless); i++) {
            is_harmless = is_harmless || strcmp(key, harmless[i]) == 0;
        }
        if (!is_harmless) {
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

/* Providers refuse these beside the parameters. What only restricts is left to the tool, which
 * checks its input; what describes parameters is not guessed. */
static void remove_choices(json_t *parameters, ik_tool_schema_findings_t *findings)
{
    static const char *const keys[] = {"anyOf", "oneOf", "allOf", "not", "enum", "const"};
    enum { WITH_SCHEMAS = 3 };
    json_t *known = json_object_get(parameters, "properties");
    for (size_t i = 0; i < IK_LENGTH(keys); i++) {
        json_t *value = json_object_get(parameters, keys[i]);
        if (value == NULL) {
            continue;
        }
        if (i >= WITH_SCHEMAS || only_restricts(value, known)) {
            ik_tool_schema_add_repair(findings,
                                      "parameters: %s is not allowed at the top; say in the "
                                      "descriptions what goes together",
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

static bool is_accepted_name(const char *name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    size_t len = strspn(name, allowed);
    return len > 0 && len <= 64 && name[len] == '\0';
}

void ik_tool_schema_repair_parameters(json_t *parameters, ik_tool_schema_findings_t *findings)
{
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
        if (!is_accepted_name(name)) {
            ik_tool_schema_add_fault(findings,
                                     "parameter '%.*s' has a name that providers refuse: letters, "
                                     "digits, '_', '-' and '.', at most 64",
                                     SHOWN_MAX, name);
        }
    }
}
