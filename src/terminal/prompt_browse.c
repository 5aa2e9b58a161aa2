#include "base/alloc.h"
#include "terminal/prompt_state.h"

/* The draft as text, as it is shown. Borrowed until it changes. */
static const char *shown_text(const ik_prompt_t *prompt)
{
    size_t len;
    size_t cursor;
    return ik_editor_raw(prompt->editor, &len, &cursor);
}

static bool is_browsing(const ik_prompt_t *prompt)
{
    const ik_prompt_browse_t *browse = &prompt->browse;
    return browse->prefix != NULL && browse->version == ik_editor_version(prompt->editor);
}

/* Before the newest: one step to older ones is the first of them. */
static void begin(ik_prompt_t *prompt)
{
    talloc_free(prompt->browse.prefix);
    prompt->browse.prefix = ik_strdup(prompt, shown_text(prompt));
    prompt->browse.index = SIZE_MAX;
    prompt->browse.version = ik_editor_version(prompt->editor);
}

static void end(ik_prompt_t *prompt)
{
    ik_editor_browse(prompt->editor, NULL);
    talloc_free(prompt->browse.prefix);
    prompt->browse = (ik_prompt_browse_t){0};
}

static void show(ik_prompt_t *prompt, size_t index)
{
    ik_editor_browse(prompt->editor, ik_recall_entry(prompt->recall, index));
    prompt->browse.index = index;
    prompt->browse.version = ik_editor_version(prompt->editor);
    prompt->browse.direct = true;
}

void ik_prompt_browse(ik_prompt_t *prompt, bool older)
{
    ik_prompt_browse_t *browse = &prompt->browse;
    if (!is_browsing(prompt)) {
        if (!older) {
            return;
        }
        begin(prompt);
    }
    size_t next = older ? browse->index + 1 : browse->index - 1;
    size_t found =
        ik_recall_find_prefix(prompt->recall, next, older, browse->prefix, shown_text(prompt));
    if (found != SIZE_MAX) {
        show(prompt, found);
    } else if (!older) {
        end(prompt);
    }
}
