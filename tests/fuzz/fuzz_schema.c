/*
 * Whatever a tool prints as its schema: it is refused with a reason, or it has a valid name,
 * parameters that are an object schema, and does not change when normalised once more.
 */
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "pieces.h"
#include "tool/tool_schema.h"
#include "tool/tool_wrapper.h"

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
        REQUIRE(schema->description != NULL && schema->timeout_seconds >= 0);
        check_parameters(schema);
        check_again(ctx, schema);
        json_t *returns = ik_tool_wrap_returns(schema->returns);
        REQUIRE(json_is_object(returns));
        json_decref(returns);
    }
    talloc_free(ctx);
    return 0;
}
