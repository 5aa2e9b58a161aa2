#include "extend/extension_catalogue.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/utf8.h"

enum {
    LEFT_OUT_MAX = 100, /* bytes of the last line */
};

static const char skill_heading[] =
    "Skills are instructions for particular tasks. If a task matches the description of a skill, "
    "read its file before you begin and follow it; relative paths in it start at its folder.\n";

static const char agent_heading[] =
    "Agents that the tool agent can start by name, for tasks that match their description:\n";

char *ik_extension_catalogue_format(const void *ctx, const ik_extensions_t *found,
                                    ik_extension_kind_t kind)
{
    bool skills = kind == IK_EXTENSION_SKILL;
    ik_buffer_t out;
    size_t left_out = 0;
    size_t listed = 0;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded below */
    ik_buffer_append_text(&out, skills ? skill_heading : agent_heading);
    for (size_t i = 0; i < found->count; i++) {
        const ik_extension_t *item = &found->items[i];
        if (!item->used || item->hides) {
            continue;
        }
        size_t len = strlen(item->description);
        size_t shown = ik_extension_described(item);
        char *line = ik_sprintf(ctx, "- %s: %.*s%s%s%s%s\n", item->name, (int)shown,
                                item->description, shown < len ? "…" : "", skills ? " (" : "",
                                skills ? item->path : "", skills ? ")" : "");
        if (left_out > 0 || out.len + strlen(line) + LEFT_OUT_MAX > IK_EXTENSION_CATALOGUE_MAX) {
            left_out++;
        } else {
            ik_utf8_append_clean(&out, line, strlen(line));
            listed++;
        }
        talloc_free(line);
    }
    if (left_out > 0) {
        ik_buffer_append_format(&out, "%zu more %s%s left out: the list is full.\n", left_out,
                                ik_extension_kind_name(kind), left_out == 1 ? " is" : "s are");
    }
    if (listed + left_out == 0) {
        ik_buffer_reset(&out);
        return NULL;
    }
    return ik_buffer_finish(&out);
}
