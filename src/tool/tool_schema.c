#include "tool/tool_schema.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

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

static bool all_objects(json_t *object)
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

/* A parameter may itself be called "type" or "properties": only a type that is a string, or
 * properties that look like properties, make a JSON Schema. */
static bool is_json_schema(json_t *parameters)
{
    json_t *properties = json_object_get(parameters, "properties");
    return json_is_string(json_object_get(parameters, "type")) ||
           (json_is_object(properties) && all_objects(properties));
}

static res_t convert_short_form(json_t *parameters, json_t **out)
{
    json_t *properties = json_object();
    json_t *required = json_array();
    *out = json_pack("{s:s, s:o, s:o}", "type", "object", "properties", properties, "required",
                     required);
    const char *name;
    json_t *value;
    json_object_foreach(parameters, name, value)
    {
        if (!json_is_object(value)) {
            json_decref(*out);
            return ERR(INVALID, "parameter '%s' is not an object", name);
        }
        json_t *property = json_copy(value);
        if (json_is_true(json_object_get(value, "required"))) {
            json_array_append_new(required, json_string(name));
        }
        /* In a nested object schema "required" is a list and stays. */
        if (json_is_boolean(json_object_get(value, "required"))) {
            json_object_del(property, "required");
        }
        json_object_set_new(properties, name, property);
    }
    return OK;
}

static res_t check_json_schema(json_t *parameters)
{
    json_t *type = json_object_get(parameters, "type");
    json_t *properties = json_object_get(parameters, "properties");
    json_t *required = json_object_get(parameters, "required");
    if (type != NULL && (!json_is_string(type) || strcmp(json_string_value(type), "object") != 0)) {
        return ERR(INVALID, "parameters are not of type object");
    }
    if (properties != NULL && (!json_is_object(properties) || !all_objects(properties))) {
        return ERR(INVALID, "properties of the parameters are not objects");
    }
    if (required != NULL && !json_is_array(required)) {
        return ERR(INVALID, "required is not a list of names");
    }
    size_t i;
    json_t *name;
    json_array_foreach(required, i, name)
    {
        if (!json_is_string(name)) {
            return ERR(INVALID, "required is not a list of names");
        }
    }
    return OK;
}

static res_t normalise_parameters(json_t *root)
{
    json_t *parameters = json_object_get(root, "parameters");
    if (parameters == NULL || json_is_null(parameters)) {
        json_object_set_new(root, "parameters",
                            json_pack("{s:s, s:{}}", "type", "object", "properties"));
        return OK;
    }
    if (!json_is_object(parameters)) {
        return ERR(INVALID, "parameters are not an object");
    }
    if (!is_json_schema(parameters)) {
        json_t *converted;
        TRY(convert_short_form(parameters, &converted));
        json_object_set_new(root, "parameters", converted);
        return OK;
    }
    TRY(check_json_schema(parameters));
    if (json_object_get(parameters, "type") == NULL) {
        json_object_set_new(parameters, "type", json_string("object"));
    }
    if (json_object_get(parameters, "properties") == NULL) {
        json_object_set_new(parameters, "properties", json_object());
    }
    return OK;
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

static res_t read_options(ik_tool_schema_t *schema)
{
    json_t *description = json_object_get(schema->root, "description");
    json_t *timeout = json_object_get(schema->root, "timeout_seconds");
    json_t *parallel = json_object_get(schema->root, "parallel");
    if (description != NULL && !json_is_string(description)) {
        return ERR(INVALID, "description is not a string");
    }
    if (timeout != NULL && (!json_is_integer(timeout) || json_integer_value(timeout) < 1 ||
                            json_integer_value(timeout) > TIMEOUT_MAX_SECONDS)) {
        return ERR(INVALID, "timeout_seconds is not a whole number of seconds from 1 to %d",
                   TIMEOUT_MAX_SECONDS);
    }
    if (parallel != NULL && !json_is_boolean(parallel)) {
        return ERR(INVALID, "parallel is not true or false");
    }
    schema->description =
        ik_strdup(schema, description == NULL ? "" : json_string_value(description));
    schema->timeout_seconds = timeout == NULL ? 0 : (long)json_integer_value(timeout);
    schema->parallel = json_is_true(parallel);
    return OK;
}

static res_t fill(ik_tool_schema_t *schema, const char *text, size_t len)
{
    json_error_t error;
    json_t *root = ik_json_parse(text, len, &error);
    if (root == NULL) {
        return ERR(INVALID, "invalid JSON: %s", error.text);
    }
    schema->root = ik_json_adopt(schema, root);
    if (!json_is_object(root)) {
        return ERR(INVALID, "the schema is not a JSON object");
    }
    TRY(read_name(schema));
    TRY(read_options(schema));
    TRY(normalise_parameters(root));
    json_t *returns = json_object_get(root, "returns");
    if (returns != NULL && !json_is_object(returns)) {
        return ERR(INVALID, "returns is not an object");
    }
    schema->parameters = json_object_get(root, "parameters");
    schema->returns = returns;
    return OK;
}

res_t ik_tool_schema_parse(const void *ctx, const char *text, size_t len, ik_tool_schema_t **out)
{
    ik_tool_schema_t *schema = ik_new(ctx, ik_tool_schema_t);
    res_t filled = fill(schema, text, len);
    if (is_err(&filled)) {
        talloc_free(schema);
        return filled;
    }
    *out = schema;
    return OK;
}
