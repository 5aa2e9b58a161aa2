#include "tool/tool_registry.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "tool/tool_editor.h"
#include "tool/tool_external.h"

ik_tool_registry_t *ik_tool_registry_create(const void *ctx)
{
    return ik_new(ctx, ik_tool_registry_t);
}

const char *ik_tool_source_name(ik_tool_source_t source)
{
    static const char *const names[] = {"system", "user", "project", "server"};
    return names[source];
}

/* Returns the index of the name, or where to insert it. */
static size_t find(const ik_tool_registry_t *registry, const char *name, bool *found)
{
    size_t low = 0;
    size_t high = registry->count;
    *found = false;
    while (low < high && !*found) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, registry->entries[middle]->name);
        *found = order == 0;
        if (order > 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return *found ? high : low;
}

/* An entry for the tool of a schema, which it takes over. */
static ik_tool_registry_entry_t *adopt_schema(ik_tool_registry_t *registry,
                                              ik_tool_schema_t *schema)
{
    ik_tool_registry_entry_t *entry = ik_new(registry, ik_tool_registry_entry_t);
    entry->schema = talloc_steal(entry, schema);
    entry->name = schema->name;
    return entry;
}

static ik_tool_registry_entry_t *create_entry(ik_tool_registry_t *registry, const char *path,
                                              const char *origin, ik_tool_source_t source,
                                              bool cached, ik_tool_schema_t *schema)
{
    ik_tool_registry_entry_t *entry = adopt_schema(registry, schema);
    entry->runner =
        ik_tool_editor_serves(entry->name, source) ? &ik_tool_editor_runner : &ik_tool_external;
    entry->path = ik_strdup(entry, path);
    entry->origin = ik_strdup(entry, origin);
    entry->source = source;
    entry->cached = cached;
    return entry;
}

static void insert(ik_tool_registry_t *registry, size_t at, ik_tool_registry_entry_t *entry)
{
    registry->entries = ik_resize_array(registry, registry->entries, ik_tool_registry_entry_t *,
                                        registry->count + 1);
    memmove(registry->entries + at + 1, registry->entries + at,
            (registry->count - at) * sizeof(*registry->entries));
    registry->entries[at] = entry;
    registry->count++;
}

res_t ik_tool_registry_add(ik_tool_registry_t *registry, const char *path, const char *origin,
                           ik_tool_source_t source, bool cached, ik_tool_schema_t *schema)
{
    bool found;
    size_t at = find(registry, schema->name, &found);
    if (found) {
        ik_tool_registry_entry_t *hidden = registry->entries[at];
        if (hidden->source >= source) {
            return ERR(CONFLICT, "%s already provides '%s'", hidden->origin, hidden->name);
        }
        ik_tool_registry_entry_t *entry =
            create_entry(registry, path, origin, source, cached, schema);
        entry->overrides = ik_strdup(entry, hidden->origin);
        registry->entries[at] = entry;
        talloc_free(hidden);
        return OK;
    }
    insert(registry, at, create_entry(registry, path, origin, source, cached, schema));
    return OK;
}

void ik_tool_registry_add_server(ik_tool_registry_t *registry, const ik_tool_runner_t *runner,
                                 void *peer, const char *server, const char *tool, bool cached,
                                 ik_tool_schema_t *schema)
{
    bool found;
    size_t at = find(registry, schema->name, &found);
    ik_tool_registry_entry_t *entry = adopt_schema(registry, schema);
    entry->runner = runner;
    entry->peer = peer;
    entry->server = ik_strdup(entry, server);
    entry->tool = ik_strdup(entry, tool);
    entry->source = IK_TOOL_SERVER;
    entry->cached = cached;
    insert(registry, at, entry);
}

void ik_tool_registry_add_built_in(ik_tool_registry_t *registry, const ik_tool_runner_t *runner,
                                   void *peer, ik_tool_schema_t *schema)
{
    bool found;
    size_t at = find(registry, schema->name, &found);
    ik_tool_registry_entry_t *entry =
        create_entry(registry, "", "built in", IK_TOOL_SYSTEM, false, schema);
    entry->runner = runner;
    entry->peer = peer;
    insert(registry, at, entry);
}

void ik_tool_registry_remove_disabled(ik_tool_registry_t *registry, const ik_config_t *config)
{
    size_t kept = 0;
    for (size_t i = 0; i < registry->count; i++) {
        ik_tool_registry_entry_t *entry = registry->entries[i];
        if (ik_config_tool_enabled(config, entry->name)) {
            registry->entries[kept++] = entry;
        } else {
            talloc_free(entry);
        }
    }
    registry->count = kept;
}

ik_tool_registry_t *ik_tool_registry_select(const void *ctx, const ik_tool_registry_t *registry,
                                            const char *const *names)
{
    ik_tool_registry_t *selected = ik_tool_registry_create(ctx);
    selected->entries = ik_new_array(selected, ik_tool_registry_entry_t *, registry->count + 1);
    for (size_t i = 0; i < registry->count; i++) {
        size_t k = 0;
        while (names[k] != NULL && strcmp(names[k], registry->entries[i]->name) != 0) {
            k++;
        }
        if (names[k] != NULL) {
            selected->entries[selected->count++] = registry->entries[i];
        }
    }
    return selected;
}

const ik_tool_registry_entry_t *ik_tool_registry_lookup(const ik_tool_registry_t *registry,
                                                        const char *name)
{
    bool found;
    size_t at = find(registry, name, &found);
    return found ? registry->entries[at] : NULL;
}

const ik_tool_registry_entry_t *ik_tool_registry_find_typed(const ik_tool_registry_t *registry,
                                                            const char *name)
{
    const ik_tool_registry_entry_t *entry = ik_tool_registry_lookup(registry, name);
    if (entry == NULL) {
        char *spelled = ik_tool_schema_name_of_file(NULL, name);
        entry = ik_tool_registry_lookup(registry, spelled);
        talloc_free(spelled);
    }
    return entry;
}

/* --- what changed ------------------------------------------------------------------------ */

typedef bool differs_fn(const ik_tool_registry_entry_t *entry,
                        const ik_tool_registry_entry_t *other);

static bool is_missing(const ik_tool_registry_entry_t *entry, const ik_tool_registry_entry_t *other)
{
    (void)entry;
    return other == NULL;
}

static bool is_changed(const ik_tool_registry_entry_t *entry, const ik_tool_registry_entry_t *other)
{
    bool moved = other != NULL && (entry->origin == NULL || other->origin == NULL
                                       ? entry->peer != other->peer
                                       : strcmp(entry->origin, other->origin) != 0);
    return other != NULL && (moved || !json_equal(entry->schema->root, other->schema->root));
}

static void append_names(ik_buffer_t *out, const char *title, const ik_tool_registry_t *all,
                         const ik_tool_registry_t *others, differs_fn *differs)
{
    const char *separator = title;
    for (size_t i = 0; all != NULL && i < all->count; i++) {
        const ik_tool_registry_entry_t *entry = all->entries[i];
        if (differs(entry, others == NULL ? NULL : ik_tool_registry_lookup(others, entry->name))) {
            bool opens = separator == title;
            ik_buffer_append_format(out, "%s%s%s", opens && out->len > 0 ? " " : "", separator,
                                    entry->name);
            separator = ", ";
        }
    }
    if (separator != title) {
        ik_buffer_append_byte(out, '.');
    }
}

char *ik_tool_registry_describe_changes(const void *ctx, const ik_tool_registry_t *before,
                                        const ik_tool_registry_t *after)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the registries */
    append_names(&out, "New: ", after, before, is_missing);
    append_names(&out, "Gone: ", before, after, is_missing);
    append_names(&out, "Changed: ", after, before, is_changed);
    return out.len == 0 ? NULL : ik_buffer_finish(&out);
}

bool ik_tool_registry_declares_more(const ik_tool_registry_entry_t *entry)
{
    const ik_tool_schema_t *schema = entry->schema;
    return schema->declares_effects &&
           (schema->effects.write == IK_WRITE_ANYWHERE || schema->effects.network);
}

unsigned ik_tool_registry_host(const ik_tool_registry_entry_t *entry)
{
    return entry->source != IK_TOOL_PROJECT || entry->host_granted ? entry->schema->host : 0;
}

bool ik_tool_registry_effects(const ik_tool_registry_entry_t *entry, ik_effects_t *effects)
{
    bool of_project = entry->source == IK_TOOL_PROJECT;
    *effects = (ik_effects_t){.write = IK_WRITE_PROJECT};
    if (!entry->schema->declares_effects) {
        return of_project;
    }
    if (!of_project || entry->more_granted || !ik_tool_registry_declares_more(entry)) {
        *effects = entry->schema->effects;
    }
    return true;
}
