/*
 * Undo is a list of replacements, each with the removed and the inserted text. Typing is joined
 * into words, consecutive erasing into one step, and browsing into one step. The oldest changes are
 * dropped when the list holds too many bytes.
 */
#include <string.h>

#include "base/alloc.h"
#include "terminal/editor_state.h"

enum {
    BYTES_MAX = 64 * 1024 * 1024,
    TYPED_MAX = 4096, /* bytes joined, so that typing stays cheap in an endless word */
};

typedef struct {
    char *text; /* NULL if empty */
    size_t len;
} piece_t;

struct ik_editor_change {
    size_t at;
    piece_t removed;
    piece_t inserted;
    size_t cursor; /* before the change */
    ik_editor_action_t action;
};

/* --- the text ---------------------------------------------------------------------------- */

/* Changes the text without recording it. */
static void splice(ik_editor_t *editor, size_t from, size_t to, const char *inserted, size_t len)
{
    ik_buffer_t *text = &editor->text;
    ik_editor_layout_forget(editor, from);
    editor->pasted -= ik_pastes_count_bytes(editor->pastes, text->data + from, to - from);
    editor->pasted += ik_pastes_count_bytes(editor->pastes, inserted, len);
    size_t tail = text->len - to;
    if (len > to - from) {
        ik_buffer_reserve(text, len - (to - from));
    }
    if (tail > 0) {
        memmove(text->data + from + len, text->data + to, tail);
    }
    if (len > 0) {
        memcpy(text->data + from, inserted, len);
    }
    text->len = from + len + tail;
    text->data[text->len] = '\0';
    editor->version++;
}

/* A change may have merged the graphemes around the cursor. */
static void place_cursor(ik_editor_t *editor, size_t at)
{
    editor->cursor = ik_editor_text_boundary(editor, at);
}

static bool fits(const ik_editor_t *editor, size_t from, size_t to, const char *text, size_t len)
{
    size_t removed = to - from;
    removed += ik_pastes_count_bytes(editor->pastes, editor->text.data + from, to - from);
    size_t kept = editor->text.len + editor->pasted - removed;
    return len <= IK_EDITOR_MAX &&
           kept + len + ik_pastes_count_bytes(editor->pastes, text, len) <= IK_EDITOR_MAX;
}

/* --- the list ---------------------------------------------------------------------------- */

static size_t change_size(const ik_editor_change_t *change)
{
    return sizeof(*change) + change->removed.len + change->inserted.len;
}

static void drop(ik_editor_changes_t *changes, size_t index)
{
    changes->bytes -= change_size(changes->list[index]);
    talloc_free(changes->list[index]);
}

static void drop_undone(ik_editor_changes_t *changes)
{
    while (changes->count > changes->done) {
        drop(changes, --changes->count);
    }
}

static void drop_oldest(ik_editor_changes_t *changes)
{
    size_t gone = 0;
    while (changes->bytes > BYTES_MAX && gone + 1 < changes->count) {
        drop(changes, gone++);
    }
    if (gone == 0) {
        return;
    }
    changes->count -= gone;
    changes->done -= gone;
    memmove(changes->list, changes->list + gone, changes->count * sizeof(changes->list[0]));
}

/* --- recording --------------------------------------------------------------------------- */

static piece_t make_piece(ik_editor_change_t *change, const char *text, size_t len)
{
    return (piece_t){.text = len == 0 ? NULL : ik_strndup(change, text, len), .len = len};
}

static void extend(ik_editor_change_t *change, piece_t *piece, const char *text, size_t len,
                   bool before)
{
    if (len == 0) {
        return;
    }
    piece->text = ik_resize_array(change, piece->text, char, piece->len + len);
    if (before) {
        memmove(piece->text + len, piece->text, piece->len);
    }
    memcpy(piece->text + (before ? 0 : piece->len), text, len);
    piece->len += len;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

/* Whether a change continues the last one. */
static bool continues(const ik_editor_t *editor, size_t from, size_t to, const char *text,
                      size_t len)
{
    const ik_editor_changes_t *changes = &editor->changes;
    /* Moving the cursor in a browsed text does not end the browsing. */
    bool in_a_row =
        editor->last_action == editor->action || editor->action == IK_EDITOR_ACTION_BROWSE;
    if (!in_a_row || changes->done == 0 ||
        changes->list[changes->done - 1]->action != editor->action) {
        return false;
    }
    const ik_editor_change_t *last = changes->list[changes->done - 1];
    const piece_t *typed = &last->inserted;
    switch (editor->action) {
    case IK_EDITOR_ACTION_TYPE:
        if (len == 0 || typed->len + len > TYPED_MAX) {
            return false;
        }
        bool starts_word =
            typed->len > 0 && is_blank(typed->text[typed->len - 1]) && !is_blank(text[0]);
        return from == to && from == last->at + typed->len && !starts_word;
    case IK_EDITOR_ACTION_ERASE_BACK:
        return len == 0 && to == last->at;
    case IK_EDITOR_ACTION_ERASE_FORWARD:
        return len == 0 && from == last->at;
    case IK_EDITOR_ACTION_BROWSE:
        return true;
    default:
        return false;
    }
}

static void join(ik_editor_t *editor, ik_editor_change_t *last, size_t from, size_t to,
                 const char *text, size_t len)
{
    if (editor->action == IK_EDITOR_ACTION_BROWSE) {
        talloc_free(last->inserted.text);
        last->inserted = make_piece(last, text, len);
        return;
    }
    bool back = editor->action == IK_EDITOR_ACTION_ERASE_BACK;
    extend(last, &last->removed, editor->text.data + from, to - from, back);
    extend(last, &last->inserted, text, len, false);
    last->at = from < last->at ? from : last->at;
}

static void record(ik_editor_t *editor, size_t from, size_t to, const char *text, size_t len)
{
    ik_editor_changes_t *changes = &editor->changes;
    ik_editor_change_t *change;
    drop_undone(changes);
    if (continues(editor, from, to, text, len)) {
        change = changes->list[changes->done - 1];
        changes->bytes -= change_size(change);
        join(editor, change, from, to, text, len);
    } else {
        if (changes->count == changes->capacity) {
            changes->capacity = changes->capacity == 0 ? 64 : 2 * changes->capacity;
            changes->list =
                ik_resize_array(editor, changes->list, ik_editor_change_t *, changes->capacity);
        }
        change = ik_new(editor, ik_editor_change_t);
        change->at = from;
        change->removed = make_piece(change, editor->text.data + from, to - from);
        change->inserted = make_piece(change, text, len);
        change->cursor = editor->cursor;
        change->action = editor->action;
        changes->list[changes->count++] = change;
        changes->done = changes->count;
    }
    changes->bytes += change_size(change);
    drop_oldest(changes);
}

/* --- interface --------------------------------------------------------------------------- */

bool ik_editor_change(ik_editor_t *editor, size_t from, size_t to, const char *text, size_t len)
{
    if (!fits(editor, from, to, text, len)) {
        return false;
    }
    if (from < to || len > 0) {
        record(editor, from, to, text, len);
        splice(editor, from, to, text, len);
    }
    place_cursor(editor, from + len);
    return true;
}

void ik_editor_change_undo(ik_editor_t *editor)
{
    if (editor->changes.done == 0) {
        return;
    }
    const ik_editor_change_t *change = editor->changes.list[--editor->changes.done];
    splice(editor, change->at, change->at + change->inserted.len, change->removed.text,
           change->removed.len);
    editor->cursor = change->cursor;
}

void ik_editor_change_redo(ik_editor_t *editor)
{
    if (editor->changes.done == editor->changes.count) {
        return;
    }
    const ik_editor_change_t *change = editor->changes.list[editor->changes.done++];
    splice(editor, change->at, change->at + change->removed.len, change->inserted.text,
           change->inserted.len);
    place_cursor(editor, change->at + change->inserted.len);
}

void ik_editor_change_undo_browsing(ik_editor_t *editor)
{
    const ik_editor_changes_t *changes = &editor->changes;
    if (changes->done > 0 && changes->list[changes->done - 1]->action == IK_EDITOR_ACTION_BROWSE) {
        ik_editor_change_undo(editor);
        drop_undone(&editor->changes);
    }
}

void ik_editor_change_forget_all(ik_editor_t *editor)
{
    editor->changes.done = 0;
    drop_undone(&editor->changes);
}
