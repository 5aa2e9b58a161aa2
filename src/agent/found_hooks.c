#include "agent/found_hooks.h"

#include "base/alloc.h"

size_t ik_found_hooks_set(ik_hooks_t *hooks, const ik_extension_options_t *options)
{
    void *scratch = talloc_new(NULL);
    const ik_extensions_t *found = ik_extensions_find(scratch, options, IK_EXTENSION_HOOK);
    ik_hook_t *list = ik_new_array(scratch, ik_hook_t, found->count);
    size_t count = 0;
    size_t untrusted = 0;
    for (size_t i = 0; i < found->count; i++) {
        const ik_extension_t *item = &found->items[i];
        ik_hook_event_t event;
        untrusted += item->untrusted;
        if (item->used && ik_hook_event_parse(item->event, &event)) {
            list[count++] = (ik_hook_t){.event = event,
                                        .name = item->name,
                                        .file = item->file,
                                        .of_project = item->of_project};
        }
    }
    ik_hooks_set(hooks, list, count);
    talloc_free(scratch);
    return untrusted;
}
