#include "base/alloc.h"
#include "terminal/prompt_state.h"

/* The draft as shown. Borrowed until it changes. */
static const char *shown_text(const ik_prompt_t *prompt)
{
    size_t len;
    size_t cursor;
    return ik_editor_raw(prompt->editor, &len, &cursor);
}

void ik_prompt_browse(ik_prompt_t *prompt, bool older)
{
    ik_prompt_browse_t *browse = &prompt->browse;
    bool browsing = browse->prefix != NULL && browse->version == ik_editor_version(prompt->editor);
    if (!browsing && !older) {
        return;
    }
    if (!browsing) {
        talloc_free(browse->prefix);
        browse->prefix = ik_strdup(prompt, shown_text(prompt));
        browse->index = SIZE_MAX; /* one before the newest */
    }
    size_t next = older ? browse->index + 1 : browse->index - 1;
    size_t found =
        ik_recall_find_prefix(prompt->recall, next, older, browse->prefix, shown_text(prompt));
    if (found != SIZE_MAX) {
        ik_editor_browse(prompt->editor, ik_recall_entry(prompt->recall, found));
        browse->index = found;
        browse->direct = true;
    } else if (!older) {
        ik_editor_browse(prompt->editor, NULL);
        talloc_free(browse->prefix);
        *browse = (ik_prompt_browse_t){0};
        return;
    }
    browse->version = ik_editor_version(prompt->editor);
}
