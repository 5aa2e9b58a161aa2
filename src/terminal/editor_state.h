/*
 * Private to the files of the editor:
 *
 *   editor.c          the draft as a whole
 *   editor_text.c     positions in the text: graphemes, words, lines
 *   editor_change.c   all changes of the text, with undo and redo
 *   editor_layout.c   rows
 *   editor_keys.c     commands and their keys
 *   editor_vi.c       vi's commands and their keys
 *
 * The text is one contiguous buffer. An insertion moves what follows it: 2 µs for 100 KB, a quarter
 * of a millisecond for the maximum of 16 MB. A gap buffer or a rope would save that and complicate
 * everything else (finding lines, handing out the text, drawing), and long pastes are kept outside
 * the text anyway.
 */
#pragma once

#include "base/sanitiser.h"
#include "base/width.h"
#include "terminal/editor.h"
#include "terminal/kill_ring.h"
#include "terminal/pastes.h"

/* What a key does. Consecutive actions of one kind can belong together: they are one step of undo,
 * one piece of the kill ring, or keep one column. */
typedef enum {
    IK_EDITOR_ACTION_OTHER,
    IK_EDITOR_ACTION_TYPE,
    IK_EDITOR_ACTION_ERASE_BACK,
    IK_EDITOR_ACTION_ERASE_FORWARD,
    IK_EDITOR_ACTION_KILL,
    IK_EDITOR_ACTION_YANK,
    IK_EDITOR_ACTION_VERTICAL,
    IK_EDITOR_ACTION_BROWSE,
} ik_editor_action_t;

typedef struct ik_editor_change ik_editor_change_t;

/* The undo list. */
typedef struct {
    ik_editor_change_t **list;
    size_t count;
    size_t capacity;
    size_t done;  /* changes in effect; those behind them were undone */
    size_t bytes; /* memory of all changes */
} ik_editor_changes_t;

/* Row starts, computed lazily: a change discards those after it, and only the rows to be shown are
 * computed again. */
typedef struct {
    int columns;
    size_t *starts; /* offsets; the first is 0 */
    size_t count;
    size_t capacity;
    bool complete; /* all rows are known */
    size_t top;    /* first visible row */
} ik_editor_rows_t;

/* Vi keys. What was typed of an unfinished command is kept here. */
typedef struct {
    bool on;
    bool normal;        /* normal mode; always false unless on */
    char operator;      /* d, c or y, which waits for a motion; NUL: none */
    char waiting;       /* a command that waits for a character, or the first of two; NUL: none */
    int count;          /* 0: none */
    int operator_count; /* the count before the operator; 0: none */
    int times;          /* the count of the running command, at least 1 */
    char find_way;      /* the last of f, F, t and T, for ; and ,; NUL: none */
    char find_text[64]; /* its argument, a grapheme */
    size_t find_len;
} ik_editor_vi_t;

struct ik_editor {
    ik_buffer_t text; /* sanitised UTF-8 with newlines and tabs; long pastes as marks; data is
                         never NULL */
    size_t cursor;    /* at a grapheme boundary */
    uint64_t version;
    ik_pastes_t *pastes;
    size_t pasted; /* bytes of the pastes whose marks are in text */
    ik_kill_ring_t *kills;
    ik_editor_changes_t changes;
    ik_editor_rows_t rows;
    ik_editor_action_t last_action; /* of the previous key or call */
    ik_editor_action_t action;      /* of this one */
    ik_editor_effect_t effect;
    size_t yanked_at;     /* start of the last yank, which ends at the cursor */
    int wanted_column;    /* kept during consecutive vertical moves */
    ik_sanitiser_t typed; /* may hold back a joiner until the next key */
    ik_editor_vi_t vi;
};

/* Starts a key or a call: action becomes last_action. */
void ik_editor_begin(ik_editor_t *editor);

/* --- editor_text.c ------------------------------------------------------------------------- */

/* The grapheme or paste mark at an offset. A mark has 0 columns here. */
ik_grapheme_t ik_editor_text_piece(const ik_editor_t *editor, size_t at);
bool ik_editor_text_is_mark(const ik_editor_t *editor, size_t at);
/* The next and previous boundary. At the end or beginning of the text, at itself. */
size_t ik_editor_text_next(const ik_editor_t *editor, size_t at);
size_t ik_editor_text_previous(const ik_editor_t *editor, size_t at);
/* at itself if it is a boundary, else the end of the grapheme around it. */
size_t ik_editor_text_boundary(const ik_editor_t *editor, size_t at);

/* Words consist of letters and digits, as in Emacs. */
bool ik_editor_text_is_word(const ik_editor_t *editor, size_t at);
size_t ik_editor_text_word_end(const ik_editor_t *editor, size_t at);
size_t ik_editor_text_word_start(const ik_editor_t *editor, size_t at);
/* The start of the previous run of non-blanks, as in the shell's Ctrl-W. */
size_t ik_editor_text_chunk_start(const ik_editor_t *editor, size_t at);
/* The ends of the line around at, without its newline. */
size_t ik_editor_text_line_start(const ik_editor_t *editor, size_t at);
size_t ik_editor_text_line_end(const ik_editor_t *editor, size_t at);

/* --- editor_change.c ----------------------------------------------------------------------- */

/* Replaces [from, to) by sanitised text and puts the cursor after it. Returns false, without a
 * change, if the draft would become too long. */
bool ik_editor_change(ik_editor_t *editor, size_t from, size_t to, const char *text, size_t len);
void ik_editor_change_undo(ik_editor_t *editor);
void ik_editor_change_redo(ik_editor_t *editor);
/* Undoes browsing, without a redo. */
void ik_editor_change_undo_browsing(ik_editor_t *editor);
void ik_editor_change_forget_all(ik_editor_t *editor);

/* --- editor_layout.c ----------------------------------------------------------------------- */

/* Discards the row starts that a change at this offset can affect. */
void ik_editor_layout_forget(ik_editor_t *editor, size_t at);
/* Moves the cursor up (-1) or down (1) one row. Returns false if there is none. */
bool ik_editor_layout_step(ik_editor_t *editor, int direction);

/* --- editor_vi.c --------------------------------------------------------------------------- */

/* Handles a key of vi and sets the effect. False: the key has its usual meaning. */
bool ik_editor_vi_key(ik_editor_t *editor, const ik_key_t *key);
/* In normal mode, moves the cursor from the end of a line onto its last character. */
void ik_editor_vi_settle(ik_editor_t *editor);
