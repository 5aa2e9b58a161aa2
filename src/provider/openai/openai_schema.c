/*
 * The transform is conservative: a strict schema that OpenAI refuses fails the whole request, while
 * a schema sent as non-strict costs little. Only keywords known to be accepted make a strict
 * schema.
 */
#include "provider/openai/openai_schema.h"

#include <string.h>

#include "base/alloc.h"

/* OpenAI's limits for strict schemas: the first and lowest that were published. */
enum { DEPTH_MAX = 5, PROPERTIES_MAX = 100, ENUM_MAX = 500 };

typedef struct {
    size_t properties;
    size_t enum_values;
} budget_t;

static bool is_one_of(const char *const *words, const char *word)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

/* --- what strict mode accepts ------------------------------------------------------------- */

static const char *const accepted_keywords[] = {"type",
                                                "description",
                                                "title",
                                                "properties",
                                                "required",
                                                "items",
                                                "enum",
                                                "const",
                                                "anyOf",
                                                "$ref",
                                                "$defs",
                                                "additionalProperties",
                                                "minimum",
                                                "maximum",
                                                "exclusiveMinimum",
                                                "exclusiveMaximum",
                                                "multipleOf",
                                                "pattern",
                                                "format",
                                                "minItems",
                                                "maxItems",
                                                NULL};
/* These do not constrain a value and are removed from the strict form. */
static const char *const dropped_keywords[] = {"$schema", "$id", "$comment", NULL};
/* Keywords that may stand beside a reference. */
static const char *const annotations[] = {"$ref", "description", "title", "$comment", NULL};
static const char *const formats[] = {"date-time", "time", "date", "duration", "email",
                                      "hostname",  "ipv4", "ipv6", "uuid",     NULL};
static const char *const types[] = {"object",  "array",   "string", "number",
                                    "integer", "boolean", "null",   NULL};

static bool has_accepted_keywords(json_t *schema)
{
    const char *name;
    json_t *value;
    json_object_foreach(schema, name, value)
    {
        if (!is_one_of(accepted_keywords, name) && !is_one_of(dropped_keywords, name)) {
            return false;
        }
    }
    json_t *format = json_object_get(schema, "format");
    return format == NULL ||
           (json_is_string(format) && is_one_of(formats, json_string_value(format)));
}

static bool is_type(json_t *type)
{
    return json_is_string(type) && is_one_of(types, json_string_value(type));
}

/* Every schema needs a type, an anyOf or a reference. */
static bool has_valid_type(json_t *schema)
{
    json_t *type = json_object_get(schema, "type");
    if (!json_is_array(type)) {
        return is_type(type) || (type == NULL && (json_object_get(schema, "anyOf") != NULL ||
                                                  json_object_get(schema, "$ref") != NULL));
    }
    size_t i;
    json_t *each;
    json_array_foreach(type, i, each)
    {
        if (!is_type(each)) {
            return false;
        }
    }
    return json_array_size(type) > 0;
}

static bool has_type(json_t *schema, const char *name)
{
    json_t *type = json_object_get(schema, "type");
    if (json_is_string(type)) {
        return strcmp(json_string_value(type), name) == 0;
    }
    size_t i;
    json_t *each;
    json_array_foreach(type, i, each)
    {
        if (strcmp(json_string_value(each), name) == 0) {
            return true;
        }
    }
    return false;
}

/* JSON Schema ignores a keyword that does not apply to the type; OpenAI refuses it. */
static bool has_fitting_keywords(json_t *schema)
{
    bool of_object = json_object_get(schema, "properties") != NULL ||
                     json_object_get(schema, "required") != NULL ||
                     json_object_get(schema, "additionalProperties") != NULL;
    bool of_array = json_object_get(schema, "items") != NULL;
    return (!of_object || has_type(schema, "object")) && (!of_array || has_type(schema, "array"));
}

static bool is_valid_reference(json_t *schema)
{
    json_t *reference = json_object_get(schema, "$ref");
    if (reference == NULL) {
        return true;
    }
    const char *name;
    json_t *value;
    json_object_foreach(schema, name, value)
    {
        if (!is_one_of(annotations, name)) {
            return false;
        }
    }
    return json_is_string(reference) && json_string_value(reference)[0] == '#';
}

static bool is_required(json_t *schema, const char *name)
{
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(schema, "required"), i, each)
    {
        if (json_is_string(each) && strcmp(json_string_value(each), name) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether every required name is a property. */
static bool requires_known_only(json_t *schema)
{
    json_t *required = json_object_get(schema, "required");
    size_t i;
    json_t *name;
    json_array_foreach(required, i, name)
    {
        if (!json_is_string(name) || json_object_get(json_object_get(schema, "properties"),
                                                     json_string_value(name)) == NULL) {
            return false;
        }
    }
    return required == NULL || json_is_array(required);
}

/* --- making it strict: all of these change a copy in place --------------------------------- */

static bool make_strict(json_t *schema, size_t depth, budget_t *budget);

static void append_if_missing(json_t *array, json_t *value)
{
    if (ik_json_array_has(array, value)) {
        json_decref(value);
    } else {
        json_array_append_new(array, value);
    }
}

/* An enum that does not list null forbids it even if the type allows it; OpenAI requires the two to
 * agree. */
static void forbid_unlisted_null(json_t *schema)
{
    json_t *types_given = json_object_get(schema, "type");
    json_t *values = json_object_get(schema, "enum");
    json_t *null = json_null();
    if (values != NULL && json_is_array(types_given) && !ik_json_array_has(values, null)) {
        for (size_t i = json_array_size(types_given); i-- > 0;) {
            if (strcmp(json_string_value(json_array_get(types_given, i)), "null") == 0) {
                json_array_remove(types_given, i);
            }
        }
    }
}

static void allow_null_type(json_t *schema)
{
    json_t *type = json_object_get(schema, "type");
    if (json_is_array(type)) {
        append_if_missing(type, json_string("null"));
    } else if (!has_type(schema, "null")) {
        json_object_set_new(schema, "type", json_pack("[O, s]", type, "null"));
    }
    json_t *values = json_object_get(schema, "enum");
    if (values != NULL) {
        append_if_missing(values, json_null());
    }
}

/* Returns the schema that also accepts null, a new reference. */
static json_t *make_nullable(json_t *schema)
{
    json_t *choices = json_object_get(schema, "anyOf");
    if (choices != NULL) {
        append_if_missing(choices, json_pack("{s:s}", "type", "null"));
    } else if (json_object_get(schema, "type") != NULL &&
               json_object_get(schema, "const") == NULL) {
        allow_null_type(schema);
    } else {
        return json_pack("{s:[O, {s:s}]}", "anyOf", schema, "type", "null");
    }
    return json_incref(schema);
}

static bool make_properties_strict(json_t *schema, size_t depth, budget_t *budget)
{
    json_t *properties = json_object_get(schema, "properties");
    json_t *required = json_array();
    const char *name;
    json_t *property;
    void *next;
    bool ok = true;
    json_object_foreach_safe(properties, next, name, property)
    {
        ok = ok && make_strict(property, depth + 1, budget);
        if (ok && !is_required(schema, name)) {
            json_object_set_new(properties, name, make_nullable(property));
        }
        json_array_append_new(required, json_string(name));
    }
    budget->properties += json_object_size(properties);
    json_object_set_new(schema, "required", required);
    return ok;
}

/* Strict mode cannot express objects with arbitrary members. */
static bool is_closed_object(json_t *schema, size_t depth)
{
    json_t *properties = json_object_get(schema, "properties");
    json_t *more = json_object_get(schema, "additionalProperties");
    if (!json_is_object(properties) || (more != NULL && !json_is_false(more))) {
        return false;
    }
    return depth == 0 || more != NULL || json_object_size(properties) > 0;
}

static bool make_object_strict(json_t *schema, size_t depth, budget_t *budget)
{
    if (!is_closed_object(schema, depth) || !requires_known_only(schema) ||
        !make_properties_strict(schema, depth, budget)) {
        return false;
    }
    json_object_set_new(schema, "additionalProperties", json_false());
    return true;
}

static bool make_all_strict(json_t *schemas, size_t depth, budget_t *budget)
{
    size_t i;
    json_t *each;
    json_array_foreach(schemas, i, each)
    {
        if (!make_strict(each, depth, budget)) {
            return false;
        }
    }
    return json_array_size(schemas) > 0;
}

static bool make_definitions_strict(json_t *definitions, size_t depth, budget_t *budget)
{
    const char *name;
    json_t *each;
    json_object_foreach(definitions, name, each)
    {
        if (!make_strict(each, depth + 1, budget)) {
            return false;
        }
    }
    return json_is_object(definitions);
}

static bool make_parts_strict(json_t *schema, size_t depth, budget_t *budget)
{
    json_t *choices = json_object_get(schema, "anyOf");
    json_t *definitions = json_object_get(schema, "$defs");
    if (has_type(schema, "object") && !make_object_strict(schema, depth, budget)) {
        return false;
    }
    if (has_type(schema, "array") &&
        !make_strict(json_object_get(schema, "items"), depth + 1, budget)) {
        return false;
    }
    if (choices != NULL && !make_all_strict(choices, depth + 1, budget)) {
        return false;
    }
    return definitions == NULL || make_definitions_strict(definitions, depth, budget);
}

static bool make_strict(json_t *schema, size_t depth, budget_t *budget)
{
    json_t *values = json_object_get(schema, "enum");
    if (!json_is_object(schema) || depth > DEPTH_MAX || !has_accepted_keywords(schema) ||
        !has_valid_type(schema) || !has_fitting_keywords(schema) || !is_valid_reference(schema) ||
        (values != NULL && json_array_size(values) == 0)) {
        return false;
    }
    budget->enum_values += json_array_size(values);
    forbid_unlisted_null(schema);
    for (size_t i = 0; dropped_keywords[i] != NULL; i++) {
        json_object_del(schema, dropped_keywords[i]);
    }
    return make_parts_strict(schema, depth, budget) && budget->properties <= PROPERTIES_MAX &&
           budget->enum_values <= ENUM_MAX;
}

/* Strict mode wants a plain object at the top. */
static bool is_valid_root(json_t *parameters)
{
    json_t *type = json_object_get(parameters, "type");
    return json_is_string(type) && strcmp(json_string_value(type), "object") == 0 &&
           json_object_get(parameters, "anyOf") == NULL &&
           json_object_get(parameters, "enum") == NULL;
}

json_t *ik_openai_schema_make_strict(json_t *parameters)
{
    budget_t budget = {0};
    json_t *copy = json_deep_copy(parameters);
    if (copy == NULL || !is_valid_root(copy) || !make_strict(copy, 0, &budget)) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

/* --- removing nulls ------------------------------------------------------------------------ */

typedef struct {
    ik_buffer_t *out;
    json_t *root;
    bool removed;
} removal_t;

static void write_value(removal_t *removal, json_t *schema, ik_json_span_t value);

/* Follows references; NULL when one does not resolve or they are circular. */
static json_t *resolve(const removal_t *removal, json_t *schema)
{
    static const char local[] = "#/$defs/";
    enum { HOPS_MAX = 16 };
    for (int hop = 0; hop < HOPS_MAX; hop++) {
        const char *reference = json_string_value(json_object_get(schema, "$ref"));
        if (reference == NULL) {
            return schema;
        }
        if (strcmp(reference, "#") == 0) {
            return removal->root;
        }
        if (strncmp(reference, local, sizeof(local) - 1) != 0) {
            return NULL;
        }
        schema =
            json_object_get(json_object_get(removal->root, "$defs"), reference + sizeof(local) - 1);
    }
    return NULL;
}

/* The property that a key names, or NULL. */
static json_t *find_property(json_t *schema, ik_json_span_t key)
{
    size_t len;
    char *name = ik_json_decode(NULL, key, &len);
    json_t *property =
        strlen(name) == len ? json_object_get(json_object_get(schema, "properties"), name) : NULL;
    talloc_free(name);
    return property;
}

/* Strict arguments have exactly the members of their schema, which tells the alternatives of a
 * union apart. */
static bool has_members_of(json_t *schema, ik_json_span_t object)
{
    size_t position = 0;
    size_t count = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    while (ik_json_next_member(object, &position, &key, &value)) {
        if (find_property(schema, key) == NULL) {
            return false;
        }
        count++;
    }
    return count == json_object_size(json_object_get(schema, "properties"));
}

static bool fits(json_t *schema, ik_json_span_t value)
{
    switch (ik_json_kind(value)) {
    case IK_JSON_OBJECT:
        return has_type(schema, "object") && has_members_of(schema, value);
    case IK_JSON_ARRAY:
        return has_type(schema, "array");
    default:
        return false;
    }
}

/* The schema that describes the value: itself, or one of its alternatives. */
static json_t *choose(const removal_t *removal, json_t *schema, ik_json_span_t value)
{
    schema = resolve(removal, schema);
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(schema, "anyOf"), i, each)
    {
        json_t *choice = resolve(removal, each);
        if (choice != NULL && fits(choice, value)) {
            return choice;
        }
    }
    return schema;
}

static bool is_left_out(json_t *schema, ik_json_span_t key, ik_json_span_t value)
{
    if (ik_json_kind(value) != IK_JSON_NULL || find_property(schema, key) == NULL) {
        return false;
    }
    char *name = ik_json_decode(NULL, key, NULL);
    bool optional = !is_required(schema, name);
    talloc_free(name);
    return optional;
}

static void write_object(removal_t *removal, json_t *schema, ik_json_span_t object)
{
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    bool first = true;
    ik_buffer_append_byte(removal->out, '{');
    while (ik_json_next_member(object, &position, &key, &value)) {
        if (is_left_out(schema, key, value)) {
            removal->removed = true;
            continue;
        }
        ik_buffer_append_text(removal->out, first ? "" : ",");
        ik_buffer_append(removal->out, key.text, key.len);
        ik_buffer_append_byte(removal->out, ':');
        write_value(removal, find_property(schema, key), value);
        first = false;
    }
    ik_buffer_append_byte(removal->out, '}');
}

static void write_array(removal_t *removal, json_t *items, ik_json_span_t array)
{
    size_t position = 0;
    ik_json_span_t value;
    bool first = true;
    ik_buffer_append_byte(removal->out, '[');
    while (ik_json_next_element(array, &position, &value)) {
        ik_buffer_append_text(removal->out, first ? "" : ",");
        write_value(removal, items, value);
        first = false;
    }
    ik_buffer_append_byte(removal->out, ']');
}

static void write_value(removal_t *removal, json_t *schema, ik_json_span_t value)
{
    ik_json_kind_t kind = ik_json_kind(value);
    schema = schema == NULL ? NULL : choose(removal, schema, value);
    if (schema != NULL && kind == IK_JSON_OBJECT) {
        write_object(removal, schema, value);
    } else if (schema != NULL && kind == IK_JSON_ARRAY) {
        write_array(removal, json_object_get(schema, "items"), value);
    } else {
        ik_buffer_append(removal->out, value.text, value.len);
    }
}

bool ik_openai_schema_remove_nulls(ik_buffer_t *out, json_t *parameters, ik_json_span_t arguments)
{
    json_t *strict = ik_openai_schema_make_strict(parameters);
    if (strict == NULL) {
        return false;
    }
    json_decref(strict);
    size_t begin = out->len;
    removal_t removal = {.out = out, .root = parameters};
    write_value(&removal, parameters, arguments);
    if (!removal.removed && out->len > begin) {
        out->len = begin;
        out->data[begin] = '\0';
    }
    return removal.removed;
}
