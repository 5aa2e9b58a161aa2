/*
 * Each key of a schema has a rule that writes its meaning into a node. Composition (the only option
 * of an anyOf, allOf, a reference) applies the rules of the composed schema to the same node. After
 * all keys are read the node is written: the server requires a type everywhere, together with only
 * those keys that belong to the type.
 */
#include "provider/google/google_schema.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/json.h"

/* References may be circular, and a schema may be nested without end. */
enum { REFERENCES_MAX = 64, DEPTH_MAX = 100, NOTE_MAX = 400 };

typedef struct {
    json_t *root;   /* the schema that references point into */
    int references; /* followed so far */
    int depth;
    bool exact; /* nothing was lost so far */
} pass_t;

typedef struct {
    pass_t *pass;
    json_t *types; /* the allowed types except null */
    bool nullable;
    json_t *keys; /* of the result, except type, nullable and required */
    json_t *required;
    json_t *notes; /* lost keys with their values, for the description */
} node_t;

typedef void (*rule_fn)(node_t *node, const char *key, json_t *value);

static void apply_schema(node_t *node, json_t *schema);
static json_t *convert(pass_t *pass, json_t *schema);

/* --- rules ------------------------------------------------------------------------------- */

static void lose(node_t *node, const char *key, json_t *value)
{
    node->pass->exact = false;
    json_object_set(node->notes, key, value);
}

static void skip(node_t *node, const char *key, json_t *value)
{
    (void)node;
    (void)key;
    (void)value;
}

static void copy(node_t *node, const char *key, json_t *value)
{
    json_object_set(node->keys, key, value);
}

static void copy_string(node_t *node, const char *key, json_t *value)
{
    (json_is_string(value) ? copy : lose)(node, key, value);
}

static void copy_number(node_t *node, const char *key, json_t *value)
{
    (json_is_number(value) ? copy : lose)(node, key, value);
}

static void copy_size(node_t *node, const char *key, json_t *value)
{
    (json_is_integer(value) && json_integer_value(value) >= 0 ? copy : lose)(node, key, value);
}

static bool holds(json_t *strings, const char *wanted)
{
    size_t i;
    json_t *each;
    json_array_foreach(strings, i, each)
    {
        if (strcmp(json_string_value(each), wanted) == 0) {
            return true;
        }
    }
    return false;
}

static void add_once(json_t *strings, json_t *string)
{
    if (!holds(strings, json_string_value(string))) {
        json_array_append(strings, string);
    }
}

static bool is_type(const char *name)
{
    static const char *const names[] = {"string",  "number", "integer",
                                        "boolean", "array",  "object"};
    for (size_t i = 0; i < IK_LENGTH(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void add_type(node_t *node, const char *key, json_t *value)
{
    if (json_is_string(value) && strcmp(json_string_value(value), "null") == 0) {
        node->nullable = true;
    } else if (json_is_string(value) && is_type(json_string_value(value))) {
        add_once(node->types, value);
    } else {
        lose(node, key, value);
    }
}

static void apply_type(node_t *node, const char *key, json_t *value)
{
    size_t i;
    json_t *each;
    if (!json_is_array(value)) {
        add_type(node, key, value);
        return;
    }
    json_array_foreach(value, i, each)
    {
        add_type(node, key, each);
    }
}

static void apply_nullable(node_t *node, const char *key, json_t *value)
{
    (void)key;
    node->nullable = node->nullable || json_is_true(value);
}

/* The server accepts only non-empty strings as values. */
static void apply_enum(node_t *node, const char *key, json_t *value)
{
    json_t *strings = json_array();
    bool null = false;
    size_t i;
    json_t *each;
    json_array_foreach(value, i, each)
    {
        if (json_string_length(each) > 0) {
            json_array_append(strings, each);
        }
        null = null || json_is_null(each);
    }
    if (json_array_size(strings) > 0 &&
        json_array_size(strings) + (null ? 1 : 0) == json_array_size(value)) {
        json_object_set(node->keys, key, strings);
        node->nullable = node->nullable || null;
    } else {
        lose(node, key, value);
    }
    json_decref(strings);
}

static void apply_const(node_t *node, const char *key, json_t *value)
{
    if (json_string_length(value) > 0) {
        json_object_set_new(node->keys, "enum", json_pack("[O]", value));
    } else {
        lose(node, key, value);
    }
}

static void apply_items(node_t *node, const char *key, json_t *value)
{
    if (json_is_object(value)) {
        json_object_set_new(node->keys, key, convert(node->pass, value));
    } else {
        lose(node, key, value);
    }
}

static void apply_properties(node_t *node, const char *key, json_t *value)
{
    json_t *properties = json_object_get(node->keys, key);
    const char *name;
    json_t *property;
    if (properties == NULL) {
        properties = json_object();
        json_object_set_new(node->keys, key, properties);
    }
    json_object_foreach(value, name, property)
    {
        json_object_set_new(properties, name, convert(node->pass, property));
    }
}

static void apply_required(node_t *node, const char *key, json_t *value)
{
    size_t i;
    json_t *name;
    (void)key;
    json_array_foreach(value, i, name)
    {
        if (json_is_string(name)) {
            add_once(node->required, name);
        }
    }
}

/* The server does not distinguish closed from open objects; a schema for the other members cannot
 * be expressed. */
static void apply_additional(node_t *node, const char *key, json_t *value)
{
    if (!json_is_boolean(value)) {
        lose(node, key, value);
    }
}

static void apply_any_of(node_t *node, const char *key, json_t *value)
{
    json_t *options = json_array();
    size_t i;
    json_t *each;
    json_array_foreach(value, i, each)
    {
        const char *type = json_string_value(json_object_get(each, "type"));
        if (type != NULL && strcmp(type, "null") == 0) {
            node->nullable = true;
        } else {
            json_array_append(options, each);
        }
    }
    if (json_array_size(options) == 1) {
        apply_schema(node, json_array_get(options, 0));
    } else if (json_array_size(options) > 1) {
        json_t *converted = json_array();
        json_array_foreach(options, i, each)
        {
            json_array_append_new(converted, convert(node->pass, each));
        }
        json_object_set_new(node->keys, "anyOf", converted);
    } else {
        lose(node, key, value);
    }
    json_decref(options);
}

static void apply_one_of(node_t *node, const char *key, json_t *value)
{
    node->pass->exact = false;
    apply_any_of(node, key, value);
}

static void apply_all_of(node_t *node, const char *key, json_t *value)
{
    size_t i;
    json_t *each;
    (void)key;
    node->pass->exact = false;
    json_array_foreach(value, i, each)
    {
        apply_schema(node, each);
    }
}

/* "#/$defs/name" */
static json_t *find_reference(json_t *root, const char *reference)
{
    json_t *found = root;
    if (reference == NULL || reference[0] != '#') {
        return NULL;
    }
    for (const char *at = reference + 1; *at == '/' && found != NULL;) {
        size_t len = strcspn(at + 1, "/");
        char *name = ik_strndup(NULL, at + 1, len);
        found = json_object_get(found, name);
        at += 1 + len;
        talloc_free(name);
    }
    return found;
}

static void apply_reference(node_t *node, const char *key, json_t *value)
{
    json_t *target = find_reference(node->pass->root, json_string_value(value));
    node->pass->exact = false;
    if (target != NULL && node->pass->references < REFERENCES_MAX) {
        node->pass->references++;
        apply_schema(node, target);
    } else {
        lose(node, key, value);
    }
}

/* A key without a rule is lost. */
static const struct {
    const char *key;
    rule_fn apply;
} rules[] = {
    {"$anchor", skip},
    {"$comment", skip},
    {"$defs", skip},
    {"$id", skip},
    {"$ref", apply_reference},
    {"$schema", skip},
    {"additionalProperties", apply_additional},
    {"allOf", apply_all_of},
    {"anyOf", apply_any_of},
    {"const", apply_const},
    {"default", copy},
    {"definitions", skip},
    {"deprecated", skip},
    {"description", copy_string},
    {"enum", apply_enum},
    {"example", copy},
    {"examples", skip},
    {"format", copy_string},
    {"items", apply_items},
    {"maxItems", copy_size},
    {"maxLength", copy_size},
    {"maxProperties", copy_size},
    {"maximum", copy_number},
    {"minItems", copy_size},
    {"minLength", copy_size},
    {"minProperties", copy_size},
    {"minimum", copy_number},
    {"nullable", apply_nullable},
    {"oneOf", apply_one_of},
    {"pattern", copy_string},
    {"properties", apply_properties},
    {"propertyOrdering", copy},
    {"readOnly", skip},
    {"required", apply_required},
    {"title", copy_string},
    {"type", apply_type},
    {"writeOnly", skip},
};

static rule_fn rule_of(const char *key)
{
    for (size_t i = 0; i < IK_LENGTH(rules); i++) {
        if (strcmp(key, rules[i].key) == 0) {
            return rules[i].apply;
        }
    }
    return lose;
}

/* The schemas true and false cannot be expressed. */
static void apply_schema(node_t *node, json_t *schema)
{
    pass_t *pass = node->pass;
    const char *key;
    json_t *value;
    if (!json_is_object(schema) || pass->depth == DEPTH_MAX) {
        pass->exact = false;
        return;
    }
    pass->depth++;
    json_object_foreach(schema, key, value)
    {
        rule_of(key)(node, key, value);
    }
    pass->depth--;
}

/* --- types ------------------------------------------------------------------------------- */

/* Keys that have a meaning for one type only. */
static const struct {
    const char *key;
    const char *type;
} owners[] = {
    {"properties", "object"},    {"propertyOrdering", "object"}, {"minProperties", "object"},
    {"maxProperties", "object"}, {"required", "object"},         {"items", "array"},
    {"minItems", "array"},       {"maxItems", "array"},          {"enum", "string"},
    {"pattern", "string"},       {"minLength", "string"},        {"maxLength", "string"},
    {"minimum", "number"},       {"maximum", "number"},
};

static bool belongs(const char *key, const char *type)
{
    for (size_t i = 0; i < IK_LENGTH(owners); i++) {
        if (strcmp(key, owners[i].key) == 0) {
            return strcmp(owners[i].type, type) == 0 ||
                   (strcmp(owners[i].type, "number") == 0 && strcmp(type, "integer") == 0);
        }
    }
    return true;
}

static bool is_owned(const char *key)
{
    return !belongs(key, "");
}

/* Adds the type that a schema without one implies; string when it implies none. */
static void infer_type(node_t *node)
{
    static const char *const keys[] = {"properties", "items", "enum"};
    static const char *const types[] = {"object", "array", "string"};
    for (size_t i = 0; i < 3 && json_array_size(node->types) == 0; i++) {
        if (json_object_get(node->keys, keys[i]) != NULL) {
            json_array_append_new(node->types, json_string(types[i]));
        }
    }
    if (json_array_size(node->types) == 0 && json_object_get(node->keys, "anyOf") == NULL) {
        node->pass->exact = false;
        json_array_append_new(node->types, json_string("string"));
    }
}

static const char *const formats[][2] = {
    {"string", "date-time"}, {"string", "enum"},  {"integer", "int32"},
    {"integer", "int64"},    {"number", "float"}, {"number", "double"},
};

/* The server refuses unknown formats. A format is only a hint, so it becomes a note. */
static void check_format(node_t *node, json_t *out, const char *type)
{
    json_t *format = json_object_get(out, "format");
    for (size_t i = 0; format != NULL && i < IK_LENGTH(formats); i++) {
        if (strcmp(type, formats[i][0]) == 0 &&
            strcmp(json_string_value(format), formats[i][1]) == 0) {
            return;
        }
    }
    if (format != NULL) {
        json_object_set(node->notes, "format", format);
        json_object_del(out, "format");
    }
}

/* The server refuses required names that are not properties. */
static void add_required(node_t *node, json_t *out)
{
    json_t *properties = json_object_get(out, "properties");
    json_t *required = json_array();
    size_t i;
    json_t *name;
    json_array_foreach(node->required, i, name)
    {
        if (json_object_get(properties, json_string_value(name)) != NULL) {
            json_array_append(required, name);
        } else {
            node->pass->exact = false;
        }
    }
    if (json_array_size(required) > 0) {
        json_object_set(out, "required", required);
    }
    json_decref(required);
}

/* The server requires items in every array and at least one member in properties. */
static void complete(node_t *node, json_t *out, const char *type)
{
    if (strcmp(type, "array") == 0 && json_object_get(out, "items") == NULL) {
        node->pass->exact = false;
        json_object_set_new(out, "items", json_pack("{s:s}", "type", "string"));
    }
    if (strcmp(type, "object") == 0) {
        if (json_object_size(json_object_get(out, "properties")) == 0) {
            node->pass->exact = false;
            json_object_del(out, "properties");
        }
        add_required(node, out);
    }
}

/* Writes the node as a schema of one type, without the keys that belong to other types. only_own:
 * without the keys that belong to no type, too. */
static json_t *write_type(node_t *node, const char *type, bool only_own)
{
    json_t *out = json_pack("{s:s}", "type", type);
    const char *key;
    json_t *value;
    json_object_foreach(node->keys, key, value)
    {
        if (belongs(key, type) && strcmp(key, "anyOf") != 0 && (is_owned(key) || !only_own)) {
            json_object_set(out, key, value);
        }
    }
    check_format(node, out, type);
    complete(node, out, type);
    return out;
}

/* Writes a union: an anyOf in which each type has its own keys; keys of no type stand beside it. */
static json_t *write_union(node_t *node)
{
    json_t *out = json_object();
    json_t *options = json_array();
    const char *key;
    json_t *value;
    size_t i;
    node->pass->exact = false;
    json_array_foreach(node->types, i, value)
    {
        json_array_append_new(options, write_type(node, json_string_value(value), true));
    }
    json_object_set_new(out, "anyOf", options);
    json_object_foreach(node->keys, key, value)
    {
        if (!is_owned(key) && strcmp(key, "anyOf") != 0 && strcmp(key, "format") != 0) {
            json_object_set(out, key, value);
        }
    }
    return out;
}

/* Writes an anyOf without a type beside it. */
static json_t *write_options(node_t *node)
{
    json_t *out = json_object();
    const char *key;
    json_t *value;
    json_object_foreach(node->keys, key, value)
    {
        if (is_owned(key) || strcmp(key, "format") == 0) {
            lose(node, key, value);
        } else {
            json_object_set(out, key, value);
        }
    }
    return out;
}

static json_t *write_node(node_t *node)
{
    infer_type(node);
    size_t types = json_array_size(node->types);
    bool options = json_object_get(node->keys, "anyOf") != NULL;
    if (types > 0 && options) {
        node->pass->exact = false; /* the server takes a type or anyOf, not both */
    }
    if (types > 1) {
        return write_union(node);
    }
    if (types == 1) {
        return write_type(node, json_string_value(json_array_get(node->types, 0)), false);
    }
    return write_options(node);
}

/* --- notes ------------------------------------------------------------------------------- */

/* "How many. (exclusiveMinimum: 0, multipleOf: 5)" */
static void append_notes(const node_t *node, json_t *out)
{
    void *scratch = talloc_new(NULL);
    const char *description = json_string_value(json_object_get(out, "description"));
    const char *separator = description == NULL ? "(" : " (";
    char *text = ik_strdup(scratch, description == NULL ? "" : description);
    const char *key;
    json_t *value;
    json_object_foreach(node->notes, key, value)
    {
        char *json = ik_json_format(scratch, value);
        if (strlen(json) <= NOTE_MAX) {
            text = ik_sprintf(scratch, "%s%s%s: %s", text, separator, key, json);
            separator = ", ";
        }
    }
    if (strcmp(separator, ", ") == 0) {
        text = ik_sprintf(scratch, "%s)", text);
        json_object_set_new(out, "description", json_string(text));
    }
    talloc_free(scratch);
}

static json_t *convert(pass_t *pass, json_t *schema)
{
    node_t node = {.pass = pass,
                   .types = json_array(),
                   .keys = json_object(),
                   .required = json_array(),
                   .notes = json_object()};
    apply_schema(&node, schema);
    json_t *out = write_node(&node);
    if (node.nullable) {
        json_object_set_new(out, "nullable", json_true());
    }
    append_notes(&node, out);
    json_decref(node.types);
    json_decref(node.keys);
    json_decref(node.required);
    json_decref(node.notes);
    return out;
}

json_t *ik_google_schema_convert(json_t *schema, bool *exact)
{
    pass_t pass = {.root = schema, .exact = true};
    json_t *converted = convert(&pass, schema);
    *exact = pass.exact;
    return converted;
}

/* --- schemas sent as JSON Schema --------------------------------------------------------- */

static bool all_honoured(json_t *schemas)
{
    const char *key;
    json_t *each;
    size_t i;
    json_object_foreach(schemas, key, each)
    {
        if (!ik_google_schema_is_honoured(each)) {
            return false;
        }
    }
    json_array_foreach(schemas, i, each)
    {
        if (!ik_google_schema_is_honoured(each)) {
            return false;
        }
    }
    return true;
}

static bool is_known_type(json_t *type)
{
    const char *name = json_string_value(type);
    size_t i;
    json_t *each;
    json_array_foreach(type, i, each)
    {
        if (!is_known_type(each)) {
            return false;
        }
    }
    return type == NULL || json_is_array(type) ||
           (name != NULL && (is_type(name) || strcmp(name, "null") == 0));
}

bool ik_google_schema_is_honoured(json_t *schema)
{
    static const char *const values[] = {"$id",      "$ref",
                                         "$anchor",  "type",
                                         "format",   "title",
                                         "enum",     "description",
                                         "minItems", "maxItems",
                                         "minimum",  "maximum",
                                         "required", "propertyOrdering"};
    static const char *const one[] = {"items", "additionalProperties"};
    static const char *const several[] = {"$defs", "prefixItems", "anyOf", "oneOf", "properties"};
    const char *key;
    json_t *value;
    if (!json_is_object(schema) || !is_known_type(json_object_get(schema, "type"))) {
        return json_is_boolean(schema);
    }
    json_object_foreach(schema, key, value)
    {
        bool known = false;
        for (size_t i = 0; i < IK_LENGTH(values); i++) {
            known = known || strcmp(key, values[i]) == 0;
        }
        for (size_t i = 0; i < IK_LENGTH(one); i++) {
            known = known || (strcmp(key, one[i]) == 0 && ik_google_schema_is_honoured(value));
        }
        for (size_t i = 0; i < IK_LENGTH(several); i++) {
            known = known || (strcmp(key, several[i]) == 0 && all_honoured(value));
        }
        if (!known) {
            return false;
        }
    }
    return true;
}

bool ik_google_schema_has_members(json_t *schema)
{
    static const char *const silent[] = {"type", "title", "description", "$schema", "required"};
    const char *key;
    json_t *value;
    json_object_foreach(schema, key, value)
    {
        bool says = !json_is_false(value) || strcmp(key, "additionalProperties") != 0;
        says = says && (strcmp(key, "properties") != 0 || json_object_size(value) > 0);
        for (size_t i = 0; i < IK_LENGTH(silent); i++) {
            says = says && strcmp(key, silent[i]) != 0;
        }
        if (says) {
            return true;
        }
    }
    return false;
}
