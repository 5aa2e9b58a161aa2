#include "workspace/extension_status.h"

#include <string.h>

#include "agent/instructions.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/sanitiser.h"
#include "base/utf8.h"

/* In the order in which they are shown. */
static const char *const groups[] = {"instructions", "skills", "commands", "hooks", "agents", NULL};

/* A name of a file need not be UTF-8. */
static json_t *text(const char *bytes)
{
    ik_buffer_t clean;
    ik_buffer_init(&clean, NULL, IK_BUFFER_UNLIMITED); /* bounded by the text */
    ik_utf8_append_clean(&clean, bytes, strlen(bytes));
    json_t *string = json_stringn(clean.data == NULL ? "" : clean.data, clean.len);
    ik_buffer_reset(&clean);
    return string;
}

static void add(json_t *list, const ik_extension_t *item)
{
    json_t *entry = json_pack("{s:o, s:o, s:s, s:o, s:b, s:o}", "name", text(item->name), "path",
                              text(item->path), "source", item->of_project ? "project" : "user",
                              "description", text(item->description), "used", item->used, "reason",
                              item->reason == NULL ? json_null() : text(item->reason));
    if (item->event != NULL) {
        json_object_set_new(entry, "event", text(item->event));
    }
    json_array_append_new(list, entry);
}

static json_t *list_instructions(const ik_paths_t *paths)
{
    void *scratch = talloc_new(NULL);
    json_t *list = json_array();
    ik_instructions_t *found = NULL;
    res_t searched = ik_instructions_find(scratch, paths->user_agents_md, paths->cwd, &found);
    for (size_t i = 0; is_ok(&searched) && i < found->count + found->problem_count; i++) {
        bool usable = i < found->count;
        const ik_instruction_t *file = usable ? &found->files[i] : NULL;
        const char *path = usable ? file->path : found->problems[i - found->count].path;
        const char *slash = strrchr(path, '/');
        add(list,
            &(ik_extension_t){.name = slash == NULL ? path : slash + 1,
                              .path = path,
                              .of_project = strcmp(path, paths->user_agents_md) != 0,
                              .description = "",
                              .used = usable && !file->left_out,
                              .reason = !usable          ? found->problems[i - found->count].text
                                        : file->left_out ? "the nearer files take all the room"
                                        : file->cut      ? "it is cut: it is too long"
                                                         : NULL});
    }
    talloc_free(scratch);
    return list;
}

static json_t *list_kind(const ik_extension_options_t *options, ik_extension_kind_t kind)
{
    void *scratch = talloc_new(NULL);
    json_t *list = json_array();
    const ik_extensions_t *found = ik_extensions_find(scratch, options, kind);
    for (size_t i = 0; i < found->count; i++) {
        add(list, &found->items[i]);
    }
    talloc_free(scratch);
    return list;
}

json_t *ik_extension_status_create(const ik_extension_options_t *options)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "instructions", list_instructions(options->paths),
                     "skills", list_kind(options, IK_EXTENSION_SKILL), "commands",
                     list_kind(options, IK_EXTENSION_COMMAND), "hooks",
                     list_kind(options, IK_EXTENSION_HOOK), "agents",
                     list_kind(options, IK_EXTENSION_AGENT));
}

static const char *value(const json_t *entry, const char *key)
{
    const char *found = json_string_value(json_object_get(entry, key));
    return found == NULL ? "" : found;
}

char *ik_extension_status_format(const void *ctx, const json_t *status)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by what was found */
    for (size_t i = 0; groups[i] != NULL; i++) {
        const json_t *list = json_object_get(status, groups[i]);
        size_t index;
        json_t *entry;
        ik_buffer_append_format(&out, "%s:%s\n", groups[i],
                                json_array_size(list) == 0 ? " none" : "");
        json_array_foreach(list, index, entry)
        {
            const char *description = value(entry, "description");
            const char *reason = value(entry, "reason");
            bool used = json_is_true(json_object_get(entry, "used"));
            char *line = ik_sprintf(ctx, "  %s%s%s (%s%s)%s%s", value(entry, "event"),
                                    *value(entry, "event") == '\0' ? "" : "/", value(entry, "name"),
                                    value(entry, "source"), used ? "" : ", not used",
                                    *description == '\0' ? "" : ": ", description);
            char *place = ik_sprintf(ctx, "    %s%s%s", value(entry, "path"),
                                     *reason == '\0' ? "" : ": ", reason);
            char *shown = ik_sanitise_line(ctx, line);
            char *shown_place = ik_sanitise_line(ctx, place);
            ik_buffer_append_format(&out, "%s\n%s\n", shown, shown_place);
            talloc_free(shown_place);
            talloc_free(shown);
            talloc_free(place);
            talloc_free(line);
        }
    }
    return ik_buffer_finish(&out);
}
