/*
 * The draft and its editing keys: Emacs or vi motions, several lines, undo, a kill ring, and long
 * pastes that are collapsed to a label. The editor knows only the width of the screen, which
 * decides where the rows of the draft begin. The cost of a key depends on the size of its change,
 * not on the length of the draft.
 *
 * A long paste is one private-use character in the draft, its mark, which no input can produce. It
 * is shown as a label, moved over and deleted as one character, and replaced by the pasted text
 * when the text is read.
 */
#pragma once

#include "terminal/binding.h"
#include "terminal/row.h"

typedef struct ik_editor ik_editor_t;

enum {
    IK_EDITOR_MAX = 16 * 1024 * 1024, /* bytes of a draft, including pastes */
    IK_EDITOR_PASTE_LINES = 10,       /* longer pastes are collapsed */
    IK_EDITOR_PASTE_CHARACTERS = 1000,
};

ik_editor_t *ik_editor_create(const void *ctx);

/* What a key did. */
typedef enum {
    IK_EDITOR_UNKNOWN, /* not an editing key */
    IK_EDITOR_DONE,    /* handled, with or without a change */
    IK_EDITOR_FIRST,   /* Up on the first row; nothing changed */
    IK_EDITOR_LAST,    /* Down on the last row; nothing changed */
    IK_EDITOR_UP,      /* vi's k: handle it as ik_editor_times presses of Up; nothing changed */
    IK_EDITOR_DOWN,    /* vi's j: as Down */
} ik_editor_effect_t;

/* Handles text, motions, deletions, kills, yanks, undo, redo and newlines. Plain Enter is an
 * editing key only after a backslash, which it replaces by a newline. Up and Down move by the rows
 * of the last layout. */
ik_editor_effect_t ik_editor_key(ik_editor_t *editor, const ik_key_t *key);
/* The keys above, and those of vi's normal mode; see ik_binding_rows_fn. */
bool ik_editor_bindings_at(size_t index, ik_binding_row_t *out);
bool ik_editor_vi_bindings_at(size_t index, ik_binding_row_t *out);

/* Switches to vi keys, in insert mode. Esc then leaves insert mode; it does not edit in normal
 * mode, unless it cancels an unfinished command. */
void ik_editor_use_vi(ik_editor_t *editor);
/* Whether vi's normal mode is on. Each key of text must then be a single grapheme. */
bool ik_editor_is_normal(const ik_editor_t *editor);
void ik_editor_begin_insert(ik_editor_t *editor);
int ik_editor_times(const ik_editor_t *editor);

bool ik_editor_is_empty(const ik_editor_t *editor);
/* A number that differs after every change of the text. */
uint64_t ik_editor_version(const ik_editor_t *editor);
/* The whole text, with pastes expanded, on ctx. */
char *ik_editor_text(const void *ctx, const ik_editor_t *editor);
/* The text with pastes as marks, and the offset of the cursor, for completion. Valid until the next
 * change. */
const char *ik_editor_raw(const ik_editor_t *editor, size_t *len, size_t *cursor);

/* These three sanitise the text, show it in full however long it is, and leave the cursor after it.
 * Each call is one step of undo. */
/* Replaces bytes of the raw text. */
void ik_editor_replace(ik_editor_t *editor, size_t from, size_t to, const char *text, size_t len);
/* Replaces the whole draft. */
void ik_editor_set_text(ik_editor_t *editor, const char *text);
/* Replaces the whole draft while the user browses texts: consecutive calls without another change
 * between them are one step of undo. NULL restores the draft from before the first. */
void ik_editor_browse(ik_editor_t *editor, const char *text);

/* Empties the draft after it was sent: undo and pastes are forgotten, the kill ring is kept. Begins
 * insert mode. */
void ik_editor_reset(ik_editor_t *editor);

/* The visible rows: at most max_rows, including the cursor's. */
typedef struct {
    int rows;       /* at least 1 */
    int cursor_row; /* among these, from 0 */
    int cursor_column;
    bool above; /* more rows above */
    bool below; /* more rows below */
} ik_editor_layout_t;
ik_editor_layout_t ik_editor_layout(ik_editor_t *editor, int columns, int max_rows);
/* Appends one visible row, counted from 0, to row. Valid after a layout, until the next key. */
void ik_editor_draw(const ik_editor_t *editor, int index, ik_row_t *row);
