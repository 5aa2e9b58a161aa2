#include "agent/found_hooks.h"

#include "base/alloc.h"

/* One line for all of them: a folder may hold other files as well. */
static char *format_warning(const void *ctx, const ik_extension_t *first, size_t count)
{
    char *more = count < 2 ? ik_strdup(ctx, "") : ik_sprintf(ctx, ", and %zu more", count - 1);
    char *line = ik_sprintf(ctx, "The hook %s/%s is not used: %s%s. See: ikigai status",
                            first->event, first->name, first->reason, more);
    talloc_free(more);
    return line;
}

size_t ik_found_hooks_set(const void *ctx, ik_hooks_t *hooks, const ik_extension_options_t *options,
                          char **warning)
{
    void *scratch = talloc_new(NULL);
    const ik_extensions_t *found = ik_extensions_find(scratch, options, IK_EXTENSION_HOOK);
    ik_hook_t *list = ik_new_array(scratch, ik_hook_t, found->count);
    const ik_extension_t *first = NULL;
    size_t count = 0;
    size_t untrusted = 0;
    size_t unusable = 0;
    for (size_t i = 0; i < found->count; i++) {
        const ik_extension_t *item = &found->items[i];
        ik_hook_event_t event;
        untrusted += item->untrusted;
        unusable += item->unusable;
        first = item->unusable && first == NULL ? item : first;
        if ((item->used || item->unusable) && ik_hook_event_parse(item->event, &event)) {
            list[count++] = (ik_hook_t){.event = event,
                                        .name = item->name,
                                        .file = item->file,
                                        .of_project = item->of_project,
                                        .unusable = item->unusable ? item->reason : NULL};
        }
    }
    ik_hooks_set(hooks, list, count);
    *warning = first == NULL ? NULL : format_warning(ctx, first, unusable);
    talloc_free(scratch);
    return untrusted;
}
