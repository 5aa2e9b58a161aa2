/*
 * The draft and what keys do to it: Emacs keys, word motions, several lines, undo, a kill ring,
 * pastes that are collapsed to a label. Knows nothing of the screen but its width, which decides
 * where rows of the draft begin; a key costs what it changes, however long the draft is.
 *
 * A long paste is one character in the draft (a private one that no input can bring), shown as its
 * label, moved over and deleted as one, and replaced by what was pasted when the text is taken.
 */
#pragma once

#include "terminal/binding.h"
#include "terminal/row.h"

typedef struct ik_editor ik_editor_t;

enum {
    IK_EDITOR_MAX = 16 * 1024 * 1024, /* bytes of a draft, pastes included; more is refused */
    IK_EDITOR_PASTE_LINES = 10,       /* a paste with more lines or characters is collapsed */
    IK_EDITOR_PASTE_CHARACTERS = 1000,
};

ik_editor_t *ik_editor_create(const void *ctx);

/* What a key did. */
typedef enum {
    IK_EDITOR_UNKNOWN, /* it is no editing key */
    IK_EDITOR_DONE,    /* moved, changed, or nothing was to be done */
    IK_EDITOR_FIRST,   /* Up on the first row: the draft is as it was */
    IK_EDITOR_LAST,    /* Down on the last row */
} ik_editor_effect_t;

/* Text, motions, deletions, kills, yanks, undo and redo, newlines; Enter alone only when a
 * backslash stands before the cursor, which becomes the newline. The draft's rows are those of the
 * last layout. */
ik_editor_effect_t ik_editor_key(ik_editor_t *editor, const ik_key_t *key);
/* What they are; see ik_binding_rows_fn. */
bool ik_editor_bindings_at(size_t index, ik_binding_row_t *out);

bool ik_editor_is_empty(const ik_editor_t *editor);
/* Changes with every change of the text. */
uint64_t ik_editor_version(const ik_editor_t *editor);
/* The whole text, pastes in full, on ctx. */
char *ik_editor_text(const void *ctx, const ik_editor_t *editor);
/* The text as it is shown (pastes as private characters) and the cursor's place in it, borrowed
 * until the next change: for completion. */
const char *ik_editor_raw(const ik_editor_t *editor, size_t *len, size_t *cursor);
/* Replaces bytes of the raw text; the cursor stands behind the new ones. One step of undo. */
void ik_editor_replace(ik_editor_t *editor, size_t from, size_t to, const char *text, size_t len);
/* Another draft instead; the cursor at its end. One step of undo: what was there comes back by
 * undo. Foreign text is sanitised, and shown in full however long it is. */
void ik_editor_set_text(ik_editor_t *editor, const char *text);
/* The same for looking through texts: however many there are, with no other change between, they
 * are one step of undo. NULL: back to what was there before the first. */
void ik_editor_browse(ik_editor_t *editor, const char *text);
/* The draft was sent: empty, undo and pastes forgotten, the kill ring kept. */
void ik_editor_reset(ik_editor_t *editor);

/* The rows to show in so many columns: at most max_rows, with the cursor's among them. */
typedef struct {
    int rows;       /* that are shown; at least 1 */
    int cursor_row; /* from 0, of those */
    int cursor_column;
    bool above; /* there is more above, below */
    bool below;
} ik_editor_layout_t;
ik_editor_layout_t ik_editor_layout(ik_editor_t *editor, int columns, int max_rows);
/* One of them, from 0, appended to a row; after layout and before the next key. */
void ik_editor_draw(const ik_editor_t *editor, int index, ik_row_t *row);
