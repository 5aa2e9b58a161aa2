#include "tool/tool_review.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/sanitiser.h"
#include "base/utf8.h"
#include "tool/tool_describe.h"

const char ik_tool_review_question[] = "Trust them?";
const char ik_tool_review_granted[] = "Trusted. Any change in the folder revokes the trust.";
const char ik_tool_review_declined[] = "Not trusted.";
const char ik_tool_review_effects_question[] = "Allow these effects?";
const char ik_tool_review_effects_allowed[] = "Allowed.";
const char ik_tool_review_effects_declined[] =
    "Not allowed: these tools write in the project only and have no network.";

/* A name as part of one line. Control characters become U+FFFD: if they were dropped, the name
 * could look like another one. */
char *ik_tool_review_show_name(const void *ctx, const char *name)
{
    ik_buffer_t shown;
    size_t len = strlen(name);
    ik_buffer_init(&shown, ctx, IK_BUFFER_UNLIMITED); /* bounded by the name */
    for (size_t i = 0; i < len;) {
        bool valid;
        size_t step = ik_utf8_step(name + i, len - i, &valid);
        unsigned char byte = (unsigned char)name[i];
        bool is_c1 = step == 2 && byte == 0xc2 && (unsigned char)name[i + 1] < 0xa0;
        bool control = !valid || byte < 0x20 || byte == 0x7f || is_c1;
        if (control) {
            ik_buffer_append_text(&shown, IK_UTF8_REPLACEMENT);
        } else {
            ik_buffer_append(&shown, name + i, step);
        }
        i += step;
    }
    char *text = ik_buffer_finish(&shown);
    char *line = ik_sanitise_line(ctx, text);
    talloc_free(text);
    return line;
}

char *ik_tool_review_obstacle(const void *ctx, const char *folder, const ik_trust_status_t *status)
{
    switch (status->state) {
    case IK_TRUST_ABSENT:
        return ik_sprintf(ctx, "There are no tools in %s.", folder);
    case IK_TRUST_REFUSED:
        return ik_sprintf(ctx, "Cannot trust %s: %s", folder, status->reason);
    case IK_TRUST_GIVEN:
        return ik_strdup(ctx, "Already trusted.");
    case IK_TRUST_NEVER:
    case IK_TRUST_CHANGED:
        break;
    }
    return NULL;
}

static void append_file(ik_buffer_t *out, const void *scratch, const ik_trust_snapshot_file_t *file)
{
    const char *name = ik_tool_review_show_name(scratch, file->path);
    if (file->target != NULL) {
        ik_buffer_append_format(out, "  %-30s -> %s\n", name,
                                ik_tool_review_show_name(scratch, file->target));
    } else {
        ik_buffer_append_format(out, "  %-30s %9lld bytes  mode %04o  sha256 %.16s\n", name,
                                (long long)file->size, (unsigned)file->mode, file->hash);
    }
}

/* The file that a tool of this name would override, or NULL. Names are guessed from file names,
 * because nothing may be run before it is trusted. */
static const char *find_hidden(const void *scratch, const ik_tool_registry_t *registry,
                               const char *name)
{
    const ik_tool_registry_entry_t *entry =
        registry == NULL ? NULL : ik_tool_registry_lookup(registry, name);
    if (entry == NULL) {
        return NULL;
    }
    const char *hidden = entry->source == IK_TOOL_PROJECT ? entry->overrides : entry->origin;
    return hidden == NULL ? NULL : ik_tool_review_show_name(scratch, hidden);
}

static void append_overrides(ik_buffer_t *out, const void *scratch,
                             const ik_trust_snapshot_t *snapshot,
                             const ik_tool_registry_t *registry)
{
    for (size_t i = 0; i < snapshot->tool_count; i++) {
        char *name = ik_tool_schema_name_of_file(scratch, snapshot->tools[i]);
        const char *hidden = find_hidden(scratch, registry, name);
        if (hidden != NULL) {
            ik_buffer_append_format(out, "Overrides %s (%s)\n", name, hidden);
        }
    }
}

static void append_files(ik_buffer_t *out, const void *scratch, const ik_trust_status_t *status)
{
    const ik_trust_snapshot_t *snapshot = status->snapshot;
    ik_buffer_append_format(out, "About to trust %s:\n",
                            ik_tool_review_show_name(scratch, snapshot->folder));
    if (status->state == IK_TRUST_CHANGED) {
        ik_buffer_append_format(out, "(trusted before; %s)\n",
                                ik_tool_review_show_name(scratch, status->changed));
    }
    for (size_t i = 0; i < snapshot->count; i++) {
        append_file(out, scratch, &snapshot->files[i]);
    }
}

char *ik_tool_review_format(const void *ctx, const ik_trust_status_t *status,
                            const ik_tool_registry_t *registry)
{
    const ik_trust_snapshot_t *snapshot = status->snapshot;
    void *scratch = talloc_new(NULL);
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the snapshot */
    append_files(&out, scratch, status);
    append_overrides(&out, scratch, snapshot, registry);
    ik_buffer_append_format(&out,
                            "%zu tool%s, %zu file%s, %lld bytes. They will run from a copy of "
                            "these bytes, confined to what they declare.\n",
                            snapshot->tool_count, snapshot->tool_count == 1 ? "" : "s",
                            snapshot->count, snapshot->count == 1 ? "" : "s",
                            (long long)snapshot->bytes);
    talloc_free(scratch);
    return ik_buffer_finish(&out);
}

char *ik_tool_review_format_files(const void *ctx, const ik_trust_status_t *status,
                                  const char *kind)
{
    const ik_trust_snapshot_t *snapshot = status->snapshot;
    void *scratch = talloc_new(NULL);
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the snapshot */
    append_files(&out, scratch, status);
    ik_buffer_append_format(&out,
                            "Folder of %ss: %zu file%s, %lld bytes, used from a copy of these "
                            "bytes.\n",
                            kind, snapshot->count, snapshot->count == 1 ? "" : "s",
                            (long long)snapshot->bytes);
    talloc_free(scratch);
    return ik_buffer_finish(&out);
}

/* What the tools of the project declare besides writing in it, and the user has to know of. */
typedef enum { EFFECTS, HOST } declared_t;

static bool declares(const ik_tool_registry_entry_t *entry, declared_t what)
{
    return what == EFFECTS ? ik_tool_registry_declares_more(entry)
                           : entry->source == IK_TOOL_PROJECT && entry->schema->host != 0;
}

static char *list_declared(const void *ctx, const ik_tool_registry_t *registry, declared_t what)
{
    static const char *const headings[] = {
        [EFFECTS] = "These tools want more than to write in the project:\n",
        [HOST] = "These tools ask ikigai for something while they run:\n",
    };
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the registry */
    for (size_t i = 0; i < registry->count; i++) {
        const ik_tool_registry_entry_t *entry = registry->entries[i];
        if (declares(entry, what) && !(what == EFFECTS && entry->more_granted)) {
            char *text = what == EFFECTS ? ik_tool_describe_effects(NULL, &entry->schema->effects)
                                         : ik_tool_describe_host(NULL, entry->schema->host);
            ik_buffer_append_format(&out, "%s  %s: %s%s\n", out.len == 0 ? headings[what] : "",
                                    entry->name, what == HOST ? "host " : "", text);
            talloc_free(text);
        }
    }
    return out.len == 0 ? NULL : ik_buffer_finish(&out);
}

static res_t allow_declared(const ik_paths_t *paths, const ik_trust_snapshot_t *snapshot,
                            const ik_tool_registry_t *registry, declared_t what)
{
    ik_trust_extra_t *extras = ik_new_array(NULL, ik_trust_extra_t, registry->count);
    size_t count = 0;
    for (size_t i = 0; i < registry->count; i++) {
        const ik_tool_registry_entry_t *entry = registry->entries[i];
        if (declares(entry, what)) {
            extras[count++] = (ik_trust_extra_t){.tool = entry->name,
                                                 .effects = entry->schema->effects,
                                                 .host = entry->schema->host};
        }
    }
    res_t recorded = what == EFFECTS ? ik_trust_grant_extras(paths, snapshot, extras, count)
                                     : ik_trust_grant_host(paths, snapshot, extras, count);
    talloc_free(extras);
    return recorded;
}

char *ik_tool_review_effects(const void *ctx, const ik_tool_registry_t *registry)
{
    return list_declared(ctx, registry, EFFECTS);
}

res_t ik_tool_review_allow_effects(const ik_paths_t *paths, const ik_trust_snapshot_t *snapshot,
                                   const ik_tool_registry_t *registry)
{
    return allow_declared(paths, snapshot, registry, EFFECTS);
}

char *ik_tool_review_host(const void *ctx, const ik_tool_registry_t *registry)
{
    return list_declared(ctx, registry, HOST);
}

res_t ik_tool_review_allow_host(const ik_paths_t *paths, const ik_trust_snapshot_t *snapshot,
                                const ik_tool_registry_t *registry)
{
    return allow_declared(paths, snapshot, registry, HOST);
}
