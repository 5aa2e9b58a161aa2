#include "tools/common/warning_list.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"

enum { PATH_SHOWN = 1000 }; /* bytes at the end of a path */

void ik_warning_list_init(ik_warning_list_t *list, const void *ctx)
{
    *list = (ik_warning_list_t){.ctx = ctx};
}

void ik_warning_list_add_text(ik_warning_list_t *list, const char *text)
{
    list->total++;
    size_t at = list->count;
    while (at > 0 && strcmp(list->items[at - 1], text) > 0) {
        at--;
    }
    if (at == IK_WARNING_LIST_MAX) {
        return;
    }
    memmove(&list->items[at + 1], &list->items[at], (list->count - at) * sizeof(list->items[0]));
    list->items[at] = ik_strdup(list->ctx, text);
    list->count++;
    if (list->count > IK_WARNING_LIST_MAX) {
        talloc_free(list->items[--list->count]);
    }
}

void ik_warning_list_add(ik_warning_list_t *list, const char *kind, const char *folder,
                         const char *name, int error)
{
    char *path = ik_sprintf(list->ctx, "%s%s", folder, name);
    size_t len = strlen(path);
    size_t from = len > PATH_SHOWN ? ik_utf8_cut_front(path, len, PATH_SHOWN) : 0;
    char *text = ik_sprintf(list->ctx, "Cannot read %s %s%s: %s", kind, from > 0 ? "..." : "",
                            path + from, strerror(error));
    ik_warning_list_add_text(list, text);
    talloc_free(text);
    talloc_free(path);
}

void ik_warning_list_join(ik_warning_list_t *list, const ik_warning_list_t *other)
{
    for (size_t i = 0; i < other->count; i++) {
        ik_warning_list_add_text(list, other->items[i]);
    }
    list->total += other->total - other->count;
}

void ik_warning_list_append(const ik_warning_list_t *list, ik_buffer_t *answer)
{
    if (list->count == 0) {
        return;
    }
    ik_buffer_append_text(answer, ",\"warnings\":[");
    for (size_t i = 0; i < list->count; i++) {
        ik_buffer_append_text(answer, i == 0 ? "" : ",");
        ik_json_append_text(answer, list->items[i]);
    }
    if (list->total > list->count) {
        ik_buffer_append_format(answer, ",\"%" PRIu64 " more\"", list->total - list->count);
    }
    ik_buffer_append_byte(answer, ']');
}
