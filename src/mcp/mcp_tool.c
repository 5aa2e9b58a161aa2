#include "mcp/mcp_tool.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/utf8.h"

enum {
    NAME_MAX_LENGTH = 64,
    SUFFIX_LENGTH = 7,
    RAW_MAX = 1024,
    DEPTH_MAX = 64,
    CHOICES_MAX = 100, /* that are looked at in one schema */
};

/* --- names ------------------------------------------------------------------------------- */

/* One '_' stands for a character, however many bytes it has. */
static void append_safe(ik_buffer_t *out, const char *text)
{
    bool valid;
    for (size_t left = strlen(text), step; left > 0; left -= step, text += step) {
        step = ik_utf8_step(text, left, &valid);
        bool safe = isascii((unsigned char)*text) && isalnum((unsigned char)*text);
        ik_buffer_append_byte(out, safe ? *text : '_');
    }
}

/* "_" and six hexadecimal digits that stand for the server and its tool. */
static void append_suffix(ik_buffer_t *out, const char *server, const char *tool)
{
    char *both = ik_sprintf(NULL, "%s/%s", server, tool);
    uint64_t hash = ik_hash_bytes(both, strlen(both));
    talloc_free(both);
    ik_buffer_append_format(out, "_%06" PRIx64, hash & 0xffffff);
}

char *ik_mcp_tool_rename(const void *ctx, const char *name, const char *server, const char *tool)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, NAME_MAX_LENGTH);
    size_t len = strlen(name);
    size_t kept = NAME_MAX_LENGTH - SUFFIX_LENGTH;
    ik_buffer_append(&out, name, len < kept ? len : kept);
    append_suffix(&out, server, tool);
    return ik_buffer_finish(&out);
}

char *ik_mcp_tool_name(const void *ctx, const char *server, const char *tool)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the names */
    ik_buffer_append_text(&out, isdigit((unsigned char)*server) ? "_" : "");
    append_safe(&out, server);
    ik_buffer_append_text(&out, "__");
    append_safe(&out, tool);
    char *name = ik_buffer_finish(&out);
    if (strlen(name) <= NAME_MAX_LENGTH) {
        return name;
    }
    char *shorter = ik_mcp_tool_rename(ctx, name, server, tool);
    talloc_free(name);
    return shorter;
}

/* '*' matches any text. */
static bool matches(const char *pattern, const char *name)
{
    const char *star = NULL;
    const char *retry = NULL;
    while (*name != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            retry = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star + 1;
            name = ++retry;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

static bool is_listed(const char *const *patterns, const char *tool)
{
    for (; patterns != NULL && *patterns != NULL; patterns++) {
        if (matches(*patterns, tool)) {
            return true;
        }
    }
    return false;
}

bool ik_mcp_tool_is_enabled(const ik_config_server_t *server, const char *tool)
{
    bool allowed = server->allow_tools == NULL || is_listed(server->allow_tools, tool);
    return allowed && !is_listed(server->deny_tools, tool);
}

/* --- schemas ----------------------------------------------------------------------------- */

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words != NULL && strcmp(*words, word) != 0) {
        words++;
    }
    return *words != NULL;
}

/* What stands under properties has to be a schema; anything else would make a provider refuse the
 * whole request. What another address describes is not fetched: it may be any value. A parameter or
 * definition may be called like a keyword. */
static void drop_no_schemas(json_t *schema, int depth)
{
    static const char *const maps[] = {
        "properties", "$defs", "definitions", "patternProperties", "dependentSchemas", NULL};
    static const char *const data[] = {"enum", "const", "default", "example", "examples", NULL};
    const char *key;
    const char *name;
    json_t *value;
    json_t *each;
    void *next;
    size_t i;
    if (depth > DEPTH_MAX) {
        return;
    }
    const char *reference = json_string_value(json_object_get(schema, "$ref"));
    if (reference != NULL && *reference != '#') {
        json_object_del(schema, "$ref");
    }
    json_t *properties = json_object_get(schema, "properties");
    if (properties != NULL && !json_is_object(properties)) {
        json_object_del(schema, "properties"); /* and frees it */
        properties = NULL;
    }
    json_object_foreach_safe(properties, next, key, value)
    {
        if (!json_is_object(value) && !json_is_boolean(value)) {
            json_object_del(properties, key);
        }
    }
    json_object_foreach(schema, key, value)
    {
        if (is_one_of(key, maps)) {
            json_object_foreach(value, name, each)
            {
                drop_no_schemas(each, depth + 1);
            }
        } else if (!is_one_of(key, data)) {
            drop_no_schemas(value, depth + 1);
            json_array_foreach(value, i, each)
            {
                drop_no_schemas(each, depth + 1);
            }
        }
    }
}

static const char mark[] = "x-mcp-header";

static size_t count_marks(json_t *value)
{
    const char *key;
    json_t *each;
    size_t i;
    size_t count = 0;
    json_object_foreach(value, key, each)
    {
        count += (strcmp(key, mark) == 0) + count_marks(each);
    }
    json_array_foreach(value, i, each)
    {
        count += count_marks(each);
    }
    return count;
}

/* What "#/$defs/name" in root leads to, borrowed; the schema itself if it has no reference. NULL:
 * it leads to nothing. */
static json_t *follow(json_t *root, json_t *schema)
{
    const char *reference = json_string_value(json_object_get(schema, "$ref"));
    for (int depth = 0; reference != NULL; depth++) {
        schema = strncmp(reference, "#/", 2) == 0 && depth < DEPTH_MAX ? root : NULL;
        for (const char *at = reference + 1; schema != NULL && *at == '/';) {
            size_t len = strcspn(++at, "/");
            char *key = ik_strndup(NULL, at, len);
            schema = json_object_get(schema, key);
            talloc_free(key);
            at += len;
        }
        reference = json_string_value(json_object_get(schema, "$ref"));
    }
    return schema;
}

/* Adds the properties of a choice to found: name → the different schemas that it has there. left
 * bounds the work, because choices may refer to each other. */
static void collect(json_t *root, json_t *choice, json_t *found, int *left)
{
    static const char *const keys[] = {"anyOf", "oneOf", "allOf"};
    const char *name;
    json_t *property;
    json_t *schema = --*left < 0 ? NULL : follow(root, choice);
    json_object_foreach(json_object_get(schema, "properties"), name, property)
    {
        json_t *list = json_object_get(found, name);
        if (list == NULL) {
            list = json_array();
            json_object_set_new(found, name, list);
        }
        if (!ik_json_array_has(list, property)) {
            json_array_append(list, property);
        }
    }
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        json_t *each;
        size_t j;
        json_array_foreach(json_object_get(schema, keys[i]), j, each)
        {
            collect(root, each, found, left);
        }
    }
}

/* What the schema requires is required at the top. */
static void add_required(json_t *parameters, json_t *schema)
{
    json_t *wanted = json_object_get(schema, "required");
    json_t *known = json_object_get(parameters, "required");
    json_t *name;
    size_t i;
    if (!json_is_array(wanted) || wanted == known) {
        return;
    }
    if (!json_is_array(known)) {
        known = json_array();
        json_object_set_new(parameters, "required", known);
    }
    json_t *listed = json_object();
    json_array_foreach(known, i, name)
    {
        ik_json_set_add(listed, name);
    }
    json_array_foreach(wanted, i, name)
    {
        if (json_is_string(name) && ik_json_set_add(listed, name)) {
            json_array_append(known, name);
        }
    }
    json_decref(listed);
}

/* Providers want all parameters under properties, so those of a reference or of choices at the top
 * go there. Which of them go together is left to the server. */
static void flatten(json_t *parameters)
{
    static const char *const keys[] = {"$ref", "anyOf", "oneOf", "allOf"};
    json_t *found = json_object();
    const char *name;
    json_t *list;
    json_t *properties = json_object_get(parameters, "properties");
    json_t *each;
    size_t j;
    int left = CHOICES_MAX;
    collect(parameters, parameters, found, &left);
    add_required(parameters, follow(parameters, parameters));
    json_array_foreach(json_object_get(parameters, "allOf"), j, each)
    {
        add_required(parameters, follow(parameters, each));
    }
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        json_object_del(parameters, keys[i]);
    }
    if (properties == NULL) {
        properties = json_object();
        json_object_set_new(parameters, "properties", properties);
    }
    json_object_foreach(found, name, list)
    {
        if (json_object_get(properties, name) == NULL) {
            json_object_set_new(properties, name,
                                json_array_size(list) == 1
                                    ? json_deep_copy(json_array_get(list, 0))
                                    : json_pack("{s:o}", "anyOf", json_deep_copy(list)));
        }
    }
    json_decref(found);
}

/* New reference. */
static json_t *make_parameters(json_t *input)
{
    json_t *parameters = json_is_object(input) ? json_deep_copy(input) : json_object();
    drop_no_schemas(parameters, 0);
    bool has_choices = json_object_get(parameters, "$ref") != NULL ||
                       json_object_get(parameters, "anyOf") != NULL ||
                       json_object_get(parameters, "oneOf") != NULL ||
                       json_object_get(parameters, "allOf") != NULL;
    if (has_choices && count_marks(parameters) == 0) { /* marks are valid at their own place only */
        flatten(parameters);
    }
    if (!json_is_string(json_object_get(parameters, "type"))) {
        json_object_set_new(parameters, "type", json_string("object"));
    }
    if (json_object_get(parameters, "properties") == NULL) {
        json_object_set_new(parameters, "properties", json_object());
    }
    return parameters;
}

/* The title of a tool, for one that has no description. */
static json_t *describe(json_t *tool)
{
    json_t *annotations = json_object_get(tool, "annotations");
    json_t *candidates[] = {json_object_get(tool, "description"), json_object_get(tool, "title"),
                            json_object_get(annotations, "title")};
    for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
        if (json_is_string(candidates[i]) && json_string_length(candidates[i]) > 0) {
            return json_incref(candidates[i]);
        }
    }
    return json_null();
}

ik_mcp_tools_t *ik_mcp_tools_create(const void *ctx)
{
    return ik_new(ctx, ik_mcp_tools_t);
}

static void leave_out(ik_mcp_tools_t *tools, const char *what)
{
    if (tools->problem == NULL) {
        tools->problem = ik_strdup(tools, what);
    }
}

/* The schema is a child of tools. */
static void append(ik_mcp_tools_t *tools, const char *name, char *schema)
{
    tools->list = ik_resize_array(tools, tools->list, ik_mcp_tool_t, tools->count + 1);
    tools->list[tools->count++] = (ik_mcp_tool_t){.tool = ik_strdup(tools, name), .schema = schema};
    tools->bytes += strlen(schema);
}

void ik_mcp_tools_add(ik_mcp_tools_t *tools, const char *server, json_t *tool)
{
    json_t *name = json_object_get(tool, "name");
    const char *text = json_string_value(name);
    if (text == NULL || *text == '\0' || strlen(text) != json_string_length(name) ||
        strlen(text) > RAW_MAX) {
        leave_out(tools, "a tool without a usable name is left out");
        return;
    }
    const char *tasks =
        json_string_value(json_object_get(json_object_get(tool, "execution"), "taskSupport"));
    if (tasks != NULL && strcmp(tasks, "required") == 0) {
        leave_out(tools, "a tool that runs only as a task is left out");
        return;
    }
    if (tools->count >= IK_MCP_TOOLS_MAX) {
        leave_out(tools, "it has too many tools; the rest is left out");
        return;
    }
    char *shown = ik_mcp_tool_name(NULL, server, text);
    json_t *schema = json_pack("{s:s, s:o, s:o}", "name", shown, "description", describe(tool),
                               "parameters", make_parameters(json_object_get(tool, "inputSchema")));
    if (json_is_null(json_object_get(schema, "description"))) {
        json_object_del(schema, "description");
    }
    char *formatted = ik_json_format(tools, schema);
    size_t len = strlen(formatted);
    if (len <= IK_MCP_TOOL_SCHEMA_BYTES && tools->bytes + len <= IK_MCP_TOOLS_BYTES) {
        append(tools, text, formatted);
    } else {
        leave_out(tools, len > IK_MCP_TOOL_SCHEMA_BYTES
                             ? "a tool that is described with more than 1 MB is left out"
                             : "its tools are described with more than 8 MB; some are left out");
        talloc_free(formatted);
    }
    json_decref(schema);
    talloc_free(shown);
}

/* --- parameters in headers --------------------------------------------------------------- */

static bool is_header_name(const char *name)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    bool valid = name != NULL && *name != '\0';
    for (; valid && *name != '\0'; name++) {
        unsigned char c = (unsigned char)*name;
        valid = isascii(c) && (isalnum(c) || strchr(marks, c) != NULL);
    }
    return valid;
}

/* Counts the marks that can be followed: names that are not taken, at plain values that only
 * properties lead to. */
static size_t count_good_marks(json_t *schema, json_t *names, int depth)
{
    const char *key;
    json_t *property;
    size_t count = 0;
    json_object_foreach(json_object_get(schema, "properties"), key, property)
    {
        json_t *name = json_object_get(property, mark);
        const char *type = json_string_value(json_object_get(property, "type"));
        bool plain = type != NULL && (strcmp(type, "string") == 0 || strcmp(type, "integer") == 0 ||
                                      strcmp(type, "boolean") == 0);
        if (plain && is_header_name(json_string_value(name))) {
            char *lower = ik_strdup(NULL, json_string_value(name));
            for (char *c = lower; *c != '\0'; c++) {
                *c = (char)tolower((unsigned char)*c);
            }
            count += json_object_get(names, lower) == NULL;
            json_object_set_new(names, lower, json_true());
            talloc_free(lower);
        }
        count += depth < DEPTH_MAX ? count_good_marks(property, names, depth + 1) : 0;
    }
    return count;
}

void ik_mcp_tools_drop_bad_headers(ik_mcp_tools_t *tools)
{
    size_t kept = 0;
    for (size_t i = 0; i < tools->count; i++) {
        const char *text = tools->list[i].schema;
        json_t *schema =
            strstr(text, mark) == NULL ? NULL : ik_json_parse(text, strlen(text), NULL);
        json_t *parameters = json_object_get(schema, "parameters");
        json_t *names = json_object();
        bool bad =
            schema != NULL && count_marks(parameters) != count_good_marks(parameters, names, 0);
        json_decref(names);
        json_decref(schema);
        if (bad) {
            leave_out(tools, "a tool whose x-mcp-header is not valid is left out");
        } else {
            tools->list[kept++] = tools->list[i];
        }
    }
    tools->count = kept;
}

/* --- lists ------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    return strcmp(((const ik_mcp_tool_t *)a)->tool, ((const ik_mcp_tool_t *)b)->tool);
}

void ik_mcp_tools_sort(ik_mcp_tools_t *tools)
{
    if (tools->count < 2) {
        return;
    }
    qsort(tools->list, tools->count, sizeof(*tools->list), compare);
    size_t kept = 1;
    for (size_t i = 1; i < tools->count; i++) {
        if (strcmp(tools->list[i].tool, tools->list[kept - 1].tool) == 0) {
            leave_out(tools, "two of its tools have the same name; one is left out");
        } else {
            tools->list[kept++] = tools->list[i];
        }
    }
    tools->count = kept;
}

bool ik_mcp_tools_equal(const ik_mcp_tools_t *a, const ik_mcp_tools_t *b)
{
    bool equal = a->count == b->count;
    for (size_t i = 0; equal && i < a->count; i++) {
        equal = strcmp(a->list[i].tool, b->list[i].tool) == 0 &&
                strcmp(a->list[i].schema, b->list[i].schema) == 0;
    }
    return equal;
}

json_t *ik_mcp_tools_to_json(const ik_mcp_tools_t *tools)
{
    json_t *list = json_array();
    for (size_t i = 0; i < tools->count; i++) {
        json_array_append_new(list, json_pack("{s:s, s:s}", "tool", tools->list[i].tool, "schema",
                                              tools->list[i].schema));
    }
    return list;
}

ik_mcp_tools_t *ik_mcp_tools_from_json(const void *ctx, json_t *list)
{
    ik_mcp_tools_t *tools = ik_mcp_tools_create(ctx);
    size_t i;
    json_t *each;
    json_array_foreach(list, i, each)
    {
        const char *tool = json_string_value(json_object_get(each, "tool"));
        const char *schema = json_string_value(json_object_get(each, "schema"));
        if (tool != NULL && schema != NULL && tools->count < IK_MCP_TOOLS_MAX) {
            append(tools, tool, ik_strdup(tools, schema));
        }
    }
    return tools;
}
