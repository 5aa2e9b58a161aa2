#include "terminal/editor.h"

#include <string.h>

#include "base/alloc.h"
#include "terminal/editor_state.h"

enum { FIRST_COLUMNS = 80 };

/* Reserves memory at once, so that text.data is never NULL. */
static void empty_text(ik_editor_t *editor)
{
    ik_buffer_reset(&editor->text);
    ik_buffer_reserve(&editor->text, 0);
    editor->cursor = editor->pasted = 0;
}

ik_editor_t *ik_editor_create(const void *ctx)
{
    ik_editor_t *editor = ik_new(ctx, ik_editor_t);
    ik_buffer_init(&editor->text, editor, IK_EDITOR_MAX);
    empty_text(editor);
    editor->pastes = ik_pastes_create(editor);
    editor->kills = ik_kill_ring_create(editor);
    editor->rows.columns = FIRST_COLUMNS;
    ik_sanitiser_init(&editor->typed);
    return editor;
}

void ik_editor_begin(ik_editor_t *editor)
{
    editor->last_action = editor->action;
    editor->action = IK_EDITOR_ACTION_OTHER;
}

/* --- reading ----------------------------------------------------------------------------- */

bool ik_editor_is_empty(const ik_editor_t *editor)
{
    return editor->text.len == 0;
}

uint64_t ik_editor_version(const ik_editor_t *editor)
{
    return editor->version;
}

char *ik_editor_text(const void *ctx, const ik_editor_t *editor)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_EDITOR_MAX);
    ik_buffer_reserve(&out, editor->text.len + editor->pasted);
    ik_pastes_append_expanded(editor->pastes, &out, editor->text.data, editor->text.len);
    return ik_buffer_finish(&out);
}

const char *ik_editor_raw(const ik_editor_t *editor, size_t *len, size_t *cursor)
{
    *len = editor->text.len;
    *cursor = editor->cursor;
    return editor->text.data;
}

/* --- replacing --------------------------------------------------------------------------- */

static void change_sanitised(ik_editor_t *editor, size_t from, size_t to, const char *text,
                             size_t len)
{
    if (ik_sanitise_is_clean(text, len)) {
        ik_editor_change(editor, from, to, text, len);
        return;
    }
    ik_buffer_t clean;
    ik_buffer_init(&clean, NULL, IK_BUFFER_UNLIMITED); /* bounded by the text */
    ik_sanitise_append(&clean, text, len);
    ik_editor_change(editor, from, to, clean.data, clean.len);
    ik_buffer_reset(&clean);
}

void ik_editor_replace(ik_editor_t *editor, size_t from, size_t to, const char *text, size_t len)
{
    ik_editor_begin(editor);
    change_sanitised(editor, from, to, text, len);
    ik_editor_vi_settle(editor);
}

void ik_editor_set_text(ik_editor_t *editor, const char *text)
{
    ik_editor_begin(editor);
    change_sanitised(editor, 0, editor->text.len, text, strlen(text));
    ik_editor_vi_settle(editor);
}

void ik_editor_browse(ik_editor_t *editor, const char *text)
{
    ik_editor_begin(editor);
    if (text != NULL) {
        editor->action = IK_EDITOR_ACTION_BROWSE;
        change_sanitised(editor, 0, editor->text.len, text, strlen(text));
    } else {
        ik_editor_change_undo_browsing(editor);
    }
    ik_editor_vi_settle(editor);
}

/* The kill ring outlives the pastes, so the marks in it are expanded. */
static void expand_kills(ik_editor_t *editor)
{
    for (size_t i = 0; i < ik_kill_ring_count(editor->kills); i++) {
        size_t len;
        const char *text = ik_kill_ring_piece(editor->kills, i, &len);
        if (ik_pastes_find_mark(text, len) < len) {
            ik_buffer_t expanded;
            ik_buffer_init(&expanded, NULL, IK_BUFFER_UNLIMITED); /* bounded by the pastes */
            ik_pastes_append_expanded(editor->pastes, &expanded, text, len);
            ik_kill_ring_replace(editor->kills, i, expanded.data, expanded.len);
            ik_buffer_reset(&expanded);
        }
    }
}

void ik_editor_reset(ik_editor_t *editor)
{
    ik_editor_begin(editor);
    expand_kills(editor);
    ik_pastes_clear(editor->pastes);
    ik_editor_change_forget_all(editor);
    ik_editor_layout_forget(editor, 0);
    editor->rows.top = 0;
    empty_text(editor);
    ik_editor_begin_insert(editor);
    editor->version++;
}
