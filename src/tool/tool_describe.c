#include "tool/tool_describe.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/host_protocol.h"
#include "base/utf8.h"
#include "tool/tool_wrapper.h"

/* Keeps descriptions, names and paths on one line, whatever the author wrote. */
static void append_one_line(ik_buffer_t *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        ik_buffer_append_byte(out, *c == '\n' || *c == '\r' || *c == '\t' ? ' ' : *c);
    }
}

/* The length of the first sentence, without its period, which a capital follows: "e.g. this" is no
 * end. */
static size_t first_sentence(const char *text)
{
    for (const char *at = text; (at = strstr(at, ". ")) != NULL; at += 2) {
        if (isupper((unsigned char)at[2])) {
            return (size_t)(at - text);
        }
    }
    return strlen(text);
}

char *ik_tool_describe_list(const void *ctx, const ik_tool_registry_t *registry)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the registry */
    size_t width = 0;
    for (size_t i = 0; i < registry->count; i++) {
        size_t len = strlen(registry->entries[i]->name);
        width = len > width ? len : width;
    }
    ik_buffer_append_text(&out, "Available tools:\n");
    for (size_t i = 0; i < registry->count; i++) {
        const ik_tool_registry_entry_t *entry = registry->entries[i];
        ik_buffer_append_format(&out, "  %-*s  ", (int)width, entry->name);
        const char *description = entry->schema->description;
        char *summary = ik_strndup(NULL, description, first_sentence(description));
        append_one_line(&out, summary);
        talloc_free(summary);
        if (entry->source == IK_TOOL_SERVER) {
            ik_buffer_append_format(&out, " (server %s)", entry->server);
        } else if (entry->source != IK_TOOL_SYSTEM) {
            ik_buffer_append_format(&out, " (%s)", ik_tool_source_name(entry->source));
        }
        ik_buffer_append_byte(&out, '\n');
    }
    return ik_buffer_finish(&out);
}

static bool is_required(json_t *parameters, const char *name)
{
    size_t i;
    json_t *required;
    json_array_foreach(json_object_get(parameters, "required"), i, required)
    {
        if (strcmp(json_string_value(required), name) == 0) {
            return true;
        }
    }
    return false;
}

/* The type, a name or a list of names, as text; "any" when there is none. */
static char *format_type(const void *ctx, json_t *property)
{
    json_t *type = json_object_get(property, "type");
    if (json_is_string(type)) {
        return ik_strdup(ctx, json_string_value(type));
    }
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the schema */
    size_t i;
    json_t *name;
    json_array_foreach(type, i, name)
    {
        if (json_is_string(name)) {
            ik_buffer_append_format(&out, "%s%s", out.len == 0 ? "" : "|", json_string_value(name));
        }
    }
    return out.len == 0 ? ik_strdup(ctx, "any") : ik_buffer_finish(&out);
}

static void append_parameters(ik_buffer_t *out, json_t *parameters)
{
    json_t *properties = json_object_get(parameters, "properties");
    const char *name;
    json_t *property;
    ik_buffer_append_text(out, "Parameters:\n");
    json_object_foreach(properties, name, property)
    {
        char *type = format_type(out->ctx, property);
        ik_buffer_append_text(out, "  ");
        append_one_line(out, name);
        ik_buffer_append_text(out, " (");
        append_one_line(out, type);
        ik_buffer_append_text(out, is_required(parameters, name) ? ", required)\n" : ")\n");
        talloc_free(type);
        const char *description = json_string_value(json_object_get(property, "description"));
        if (description != NULL) {
            ik_buffer_append_text(out, "    ");
            append_one_line(out, description);
            ik_buffer_append_byte(out, '\n');
        }
    }
    if (json_object_size(properties) == 0) {
        ik_buffer_append_text(out, "  none\n");
    }
}

static void append_returns(ik_buffer_t *out, json_t *returns)
{
    json_t *envelope = ik_tool_wrap_returns(returns);
    char *text = json_dumps(json_object_get(envelope, "properties"), JSON_INDENT(2));
    if (text == NULL) {
        PANIC("an envelope cannot be written");
    }
    ik_buffer_append_text(out, "\nReturns:\n");
    for (char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        ik_buffer_append_text(out, "  ");
        ik_buffer_append(out, line, len);
        ik_buffer_append_byte(out, '\n');
        line += len + (line[len] == '\n');
    }
    free(text);
    json_decref(envelope);
}

static void append_field(ik_buffer_t *out, const char *label, const char *text)
{
    ik_buffer_append_format(out, "%s: ", label);
    append_one_line(out, text);
    ik_buffer_append_byte(out, '\n');
}

char *ik_tool_describe_effects(const void *ctx, const ik_effects_t *effects)
{
    return effects == NULL
               ? ik_strdup(ctx, "not declared, runs unconfined")
               : ik_sprintf(ctx, "write %s, network %s", ik_effects_write_name(effects->write),
                            effects->network ? "yes" : "no");
}

char *ik_tool_describe_host(const void *ctx, unsigned host)
{
    ik_buffer_t out;
    const char *name;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* a few names */
    ik_buffer_append_text(&out, host == 0 ? "nothing" : "");
    for (size_t i = 0; (name = ik_host_op_name(host, i)) != NULL; i++) {
        ik_buffer_append_format(&out, "%s%s", i == 0 ? "" : ", ", name);
    }
    return ik_buffer_finish(&out);
}

json_t *ik_tool_describe_host_json(unsigned host)
{
    json_t *names = json_array();
    const char *name;
    for (size_t i = 0; (name = ik_host_op_name(host, i)) != NULL; i++) {
        json_array_append_new(names, json_string(name));
    }
    return names;
}

char *ik_tool_describe_entry(const void *ctx, const ik_tool_registry_entry_t *entry)
{
    const ik_tool_schema_t *schema = entry->schema;
    ik_effects_t effects;
    bool confined = ik_tool_registry_effects(entry, &effects);
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the schema */
    ik_buffer_append_format(&out, "%s - ", entry->name);
    append_one_line(&out, schema->description);
    ik_buffer_append_text(&out, "\n\n");
    append_parameters(&out, schema->parameters);
    append_returns(&out, schema->returns);
    ik_buffer_append_byte(&out, '\n');
    append_field(&out, "Effects", ik_tool_describe_effects(ctx, confined ? &effects : NULL));
    if (schema->host != 0) {
        append_field(&out, "Asks ikigai for", ik_tool_describe_host(ctx, schema->host));
    }
    if (entry->server != NULL) {
        append_field(&out, "Server", entry->server);
        append_field(&out, "Tool", entry->tool);
    } else {
        append_field(&out, "File", entry->origin);
    }
    append_field(&out, "Source", ik_tool_source_name(entry->source));
    if (entry->server == NULL && strcmp(entry->path, entry->origin) != 0) {
        append_field(&out, "Runs from", entry->path);
    }
    if (entry->overrides != NULL) {
        append_field(&out, "Overrides", entry->overrides);
    }
    return ik_buffer_finish(&out);
}

json_t *ik_tool_describe_path_json(const char *path)
{
    if (path == NULL) {
        return json_null();
    }
    ik_buffer_t clean;
    ik_buffer_init(&clean, NULL, IK_BUFFER_UNLIMITED); /* bounded by the path */
    ik_utf8_append_clean(&clean, path, strlen(path));
    json_t *text = json_stringn(clean.len > 0 ? clean.data : "", clean.len);
    ik_buffer_reset(&clean);
    return text;
}

json_t *ik_tool_describe_entry_json(const ik_tool_registry_entry_t *entry)
{
    const ik_tool_schema_t *schema = entry->schema;
    ik_effects_t effects;
    bool confined = ik_tool_registry_effects(entry, &effects);
    json_t *described = json_pack(
        "{s:s, s:o, s:s, s:s, s:b, s:o, s:o}", "name", entry->name, "path",
        ik_tool_describe_path_json(entry->origin), "source", ik_tool_source_name(entry->source),
        "description", schema->description, "cached", entry->cached, "overrides",
        ik_tool_describe_path_json(entry->overrides), "effects",
        confined ? json_pack("{s:s, s:b}", "write", ik_effects_write_name(effects.write), "network",
                             effects.network)
                 : json_null());
    if (entry->server != NULL) {
        json_object_set_new(described, "server", json_string(entry->server));
        json_object_set_new(described, "tool", json_string(entry->tool));
    }
    return described;
}

json_t *ik_tool_describe_list_json(const ik_tool_registry_t *registry)
{
    json_t *list = json_array();
    for (size_t i = 0; i < registry->count; i++) {
        json_array_append_new(list, ik_tool_describe_entry_json(registry->entries[i]));
    }
    return list;
}
