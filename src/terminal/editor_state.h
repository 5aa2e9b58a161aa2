/*
 * What the parts of the editor share; nobody else includes it.
 *
 *   editor.c          the draft as a whole
 *   editor_text.c     steps in the text: graphemes, words, lines
 *   editor_change.c   every change of the text goes through here: undo, redo
 *   editor_layout.c   rows
 *   editor_keys.c     what each key does
 *
 * The text is one piece of memory, and an insertion moves what stands behind it: 2 µs for 100 KB,
 * a quarter of a millisecond for the 16 MB that a draft may have. A gap or a tree would make that
 * nothing and everything else (searching lines, handing out the text, drawing) harder; long pastes
 * are not in the text anyway.
 */
#pragma once

#include "base/sanitiser.h"
#include "base/width.h"
#include "terminal/editor.h"
#include "terminal/kill_ring.h"
#include "terminal/pastes.h"

/* What a key does: several of one kind in a row belong together. */
typedef enum {
    IK_EDITOR_DEED_OTHER,
    IK_EDITOR_DEED_TYPE,
    IK_EDITOR_DEED_ERASE_BACK,
    IK_EDITOR_DEED_ERASE_FORWARD,
    IK_EDITOR_DEED_KILL,
    IK_EDITOR_DEED_YANK,
    IK_EDITOR_DEED_VERTICAL,
    IK_EDITOR_DEED_BROWSE,
} ik_editor_deed_t;

typedef struct ik_editor_change ik_editor_change_t;

/* What was done to the text; the first `done` of them are in it, the others were undone. */
typedef struct {
    ik_editor_change_t **list;
    size_t count;
    size_t capacity;
    size_t done;
    size_t bytes;
} ik_editor_changes_t;

/* Where rows begin, as far as that is known: changes forget what is behind them, and only what
 * must be shown is found out. */
typedef struct {
    int columns;
    size_t *starts; /* the first is 0 */
    size_t count;
    size_t capacity;
    bool complete; /* there are no more */
    size_t top;    /* the first that is shown */
} ik_editor_rows_t;

struct ik_editor {
    ik_buffer_t text; /* clean UTF-8 with newlines and tabs; long pastes as marks */
    size_t cursor;    /* at a boundary of graphemes */
    uint64_t version;
    ik_pastes_t *pastes;
    size_t pasted; /* bytes that the marks in text stand for */
    ik_kill_ring_t *kills;
    ik_editor_changes_t changes;
    ik_editor_rows_t rows;
    ik_editor_deed_t did;   /* by the key before */
    ik_editor_deed_t doing; /* by this one */
    ik_editor_effect_t effect;
    size_t yanked_at;     /* where the last yank stands, up to the cursor */
    int wanted_column;    /* of a series of vertical steps */
    ik_sanitiser_t typed; /* a joiner may wait for the next key */
};

/* A key or a call begins: what came before it is `did` from now on. */
void ik_editor_begin(ik_editor_t *editor);

/* --- editor_text.c ------------------------------------------------------------------------- */

/* What stands at a place as one: a grapheme, or the mark of a paste, of which columns is 0. */
ik_grapheme_t ik_editor_text_piece(const ik_editor_t *editor, size_t at);
bool ik_editor_text_is_mark(const ik_editor_t *editor, size_t at);
/* The next and the previous boundary; the end and the beginning stay where they are. */
size_t ik_editor_text_next(const ik_editor_t *editor, size_t at);
size_t ik_editor_text_previous(const ik_editor_t *editor, size_t at);
/* The place itself, or the end of the grapheme that it is in. */
size_t ik_editor_text_boundary(const ik_editor_t *editor, size_t at);

/* Letters and digits are words, as Emacs has it. */
bool ik_editor_text_is_word(const ik_editor_t *editor, size_t at);
size_t ik_editor_text_word_end(const ik_editor_t *editor, size_t at);
size_t ik_editor_text_word_start(const ik_editor_t *editor, size_t at);
/* Where what stands before, up to white space, begins. */
size_t ik_editor_text_chunk_start(const ik_editor_t *editor, size_t at);
/* Of the line, without its newline. */
size_t ik_editor_text_line_start(const ik_editor_t *editor, size_t at);
size_t ik_editor_text_line_end(const ik_editor_t *editor, size_t at);

/* --- editor_change.c ----------------------------------------------------------------------- */

/* Replaces from…to by text, which is clean; the cursor stands behind it. False: the draft would be
 * too long, and is as it was. */
bool ik_editor_change(ik_editor_t *editor, size_t from, size_t to, const char *text, size_t len);
void ik_editor_change_undo(ik_editor_t *editor);
void ik_editor_change_redo(ik_editor_t *editor);
/* What was browsed is gone, and cannot be redone. */
void ik_editor_change_take_back(ik_editor_t *editor);
void ik_editor_change_forget_all(ik_editor_t *editor);

/* --- editor_layout.c ----------------------------------------------------------------------- */

/* The text changes from here on. */
void ik_editor_layout_forget(ik_editor_t *editor, size_t at);
/* Up (-1) or down (1) a row; false: there is none. */
bool ik_editor_layout_step(ik_editor_t *editor, int direction);
