/*
 * Whatever a tool prints as its schema: it is refused with a reason, or it has a valid name, a
 * description and parameters that are an object schema without odd types, lists and references, and
 * does not change when normalised once more.
 */
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "pieces.h"
#include "tool/tool_schema.h"
#include "tool/tool_wrapper.h"

static bool is_type(json_t *type)
{
    static const char *const names[] = {"string", "number", "integer", "boolean",
                                        "array",  "object", "null"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (json_is_string(type) && strcmp(json_string_value(type), names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* What every provider refuses, wherever a schema can stand. */
static void check_schema(json_t *schema)
{
    static const char *const maps[] = {"properties", "$defs"};
    static const char *const lists[] = {"anyOf", "oneOf", "allOf", "prefixItems"};
    size_t i;
    const char *name;
    json_t *each;
    REQUIRE(json_is_object(schema));
    json_t *type = json_object_get(schema, "type");
    json_array_foreach(type, i, each)
    {
        REQUIRE(is_type(each));
    }
    REQUIRE(type == NULL || json_array_size(type) > 0 || is_type(type));
    json_t *required = json_object_get(schema, "required");
    REQUIRE(required == NULL || json_is_array(required));
    json_t *reference = json_object_get(schema, "$ref");
    REQUIRE(reference == NULL || json_string_value(reference)[0] == '#');
    for (size_t k = 0; k < 2; k++) {
        json_t *map = json_object_get(schema, maps[k]);
        REQUIRE(map == NULL || json_is_object(map));
        json_object_foreach(map, name, each)
        {
            check_schema(each);
        }
    }
    for (size_t k = 0; k < 4; k++) {
        json_t *list = json_object_get(schema, lists[k]);
        REQUIRE(list == NULL || json_array_size(list) > 0);
        json_array_foreach(list, i, each)
        {
            check_schema(each);
        }
    }
    if (json_is_string(type) && strcmp(json_string_value(type), "array") == 0) {
        REQUIRE(json_object_get(schema, "items") != NULL ||
                json_object_get(schema, "prefixItems") != NULL);
    }
    if (json_object_get(schema, "items") != NULL) {
        check_schema(json_object_get(schema, "items"));
    }
}

static void check_parameters(const ik_tool_schema_t *schema)
{
    const char *type = json_string_value(json_object_get(schema->parameters, "type"));
    REQUIRE(type != NULL && strcmp(type, "object") == 0);
    json_t *properties = json_object_get(schema->parameters, "properties");
    REQUIRE(json_is_object(properties));
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(schema->parameters, "required"), i, name)
    {
        REQUIRE(json_is_string(name));
    }
    check_schema(schema->parameters);
}

static void check_again(const void *ctx, const ik_tool_schema_t *schema)
{
    char *text = ik_json_format(ctx, schema->root);
    ik_tool_schema_t *again;
    res_t parsed = ik_tool_schema_parse(ctx, text, strlen(text), &again);
    REQUIRE(is_ok(&parsed));
    REQUIRE(json_equal(again->root, schema->root));
    REQUIRE(strcmp(again->name, schema->name) == 0);
    REQUIRE(again->timeout_seconds == schema->timeout_seconds);
    REQUIRE(again->parallel == schema->parallel);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    void *ctx = talloc_new(NULL);
    ik_tool_schema_t *schema;
    res_t parsed = ik_tool_schema_parse(ctx, (const char *)bytes, len, &schema);
    if (is_err(&parsed)) {
        REQUIRE(parsed.message[0] != '\0');
    } else {
        REQUIRE(ik_tool_schema_valid_name(schema->name));
        REQUIRE(schema->description[0] != '\0' && schema->timeout_seconds >= 0);
        check_parameters(schema);
        check_again(ctx, schema);
        json_t *returns = ik_tool_wrap_returns(schema->returns);
        REQUIRE(json_is_object(returns));
        json_decref(returns);
    }
    talloc_free(ctx);
    return 0;
}
