/*
 * The draft with all that helps to write it: editor.h, earlier messages (Up, Down with prefix
 * match; Ctrl-R, a fuzzy search), completion lists for /commands, arguments and @files. Keys go in;
 * rows for the live area and actions for the program come out.
 */
#pragma once

#include "terminal/editor.h"
#include "terminal/recall.h"

typedef struct ik_prompt ik_prompt_t;

typedef enum {
    IK_PROMPT_NONE,   /* only the draft or the lists changed */
    IK_PROMPT_SUBMIT, /* Enter: take the text with ik_prompt_take */
    IK_PROMPT_ESCAPE, /* Esc with nothing of ours open */
    IK_PROMPT_CANCEL, /* Ctrl-C with an empty draft (with a draft it is cleared, which undo brings
                         back) */
    IK_PROMPT_END,    /* Ctrl-D on an empty draft */
    IK_PROMPT_SUSPEND,
    IK_PROMPT_EDITOR, /* the draft in an editor of its own */
    IK_PROMPT_PAGER,  /* the transcript */
    IK_PROMPT_REDRAW,
    IK_PROMPT_CHOSEN, /* ik_prompt_choose has come to an end */
} ik_prompt_action_t;

/* One thing that could stand there. */
typedef struct {
    const char *text; /* what is put into the draft; a trailing '/' keeps the list open, otherwise a
                         space follows */
    const char *note; /* shown beside it; may be NULL */
} ik_completion_t;

typedef struct {
    ik_completion_t *items;
    size_t count;
    bool pending; /* more is being found: ik_prompt_refresh when it is there */
} ik_completions_t;

/* Where completions come from. Asked when the list opens and when the word's place changes; the
 * answer is ranked here as the user types. Strings stay valid until the next question. */
typedef struct {
    /* Names of commands with their '/', for a draft that begins with it. */
    void (*commands)(void *data, ik_completions_t *out);
    /* What may stand as the argument of a command, which comes without its '/': word 1 is the first
     * behind its name. */
    void (*arguments)(void *data, const char *command, int word, ik_completions_t *out);
    /* Paths below the project, for a word that begins with '@' (the '@' is not part of them). */
    void (*files)(void *data, ik_completions_t *out);
    void *data;
} ik_completion_source_t;

/* recall is borrowed, source copied; it and each of its functions may be NULL. */
ik_prompt_t *ik_prompt_create(const void *ctx, const ik_theme_t *theme, ik_recall_t *recall,
                              const ik_completion_source_t *source);
ik_prompt_action_t ik_prompt_key(ik_prompt_t *prompt, const ik_key_t *key);

/* What makes a draft more than text when it begins with it; of a file, a word of the draft. */
enum {
    IK_PROMPT_SIGN_COMMAND = '/',
    IK_PROMPT_SIGN_FILE = '@',
    IK_PROMPT_SIGN_SHELL = '!',
};

/* The keys of the prompt, those of the search, and the signs; see ik_binding_rows_fn. The draft has
 * its own in editor.h. */
bool ik_prompt_bindings_at(size_t index, ik_binding_row_t *out);
bool ik_prompt_search_bindings_at(size_t index, ik_binding_row_t *out);
bool ik_prompt_signs_at(size_t index, ik_binding_row_t *out);

/* The text as it is to be sent, on ctx; the draft is empty afterwards and the text is remembered.
 */
char *ik_prompt_take(const void *ctx, ik_prompt_t *prompt);
/* The draft alone, for saving and for an external editor. */
char *ik_prompt_text(const void *ctx, const ik_prompt_t *prompt);
uint64_t ik_prompt_version(const ik_prompt_t *prompt);
bool ik_prompt_is_empty(const ik_prompt_t *prompt);
/* Puts a text into the draft: instead of what is there, or before it, on lines of its own. */
void ik_prompt_set_text(ik_prompt_t *prompt, const char *text);
void ik_prompt_prepend_text(ik_prompt_t *prompt, const char *text);
/* Completions that were pending are there now. */
void ik_prompt_refresh(ik_prompt_t *prompt);

/* A question instead of a message: the draft is put aside, and what is typed is the answer, which
 * may be empty and is not remembered. NULL: the draft again. */
void ik_prompt_ask(ik_prompt_t *prompt, const char *question);

/* A list to choose from in the place of the draft, which stays as it is: what is typed narrows it,
 * Enter takes the chosen line. IK_PROMPT_CHOSEN says that it has ended; items are borrowed until
 * then. mark stands before what is typed and is copied. */
void ik_prompt_choose(ik_prompt_t *prompt, const char *mark, const ik_completion_t *items,
                      size_t count);
/* The index of the line that was taken last; SIZE_MAX: the user wanted none. */
size_t ik_prompt_chosen(const ik_prompt_t *prompt);

/* How the draft is introduced: "> " by default; shown in IK_ROLE_MARK. Copied. */
void ik_prompt_set_mark(ik_prompt_t *prompt, const char *mark);
/* Shown dimmed while the draft is empty; NULL: nothing. Copied. */
void ik_prompt_set_hint(ik_prompt_t *prompt, const char *hint);

/* Draws at most max_rows rows of at most columns - 1 columns: the draft (rows behind the first are
 * indented like it), and below it the open list. on_row gets each finished row. */
typedef void (*ik_prompt_row_fn)(void *data, const char *bytes, size_t len);
typedef struct {
    int rows;
    int cursor_row; /* among them */
    int cursor_column;
} ik_prompt_drawing_t;
ik_prompt_drawing_t ik_prompt_draw(ik_prompt_t *prompt, int columns, int max_rows,
                                   ik_prompt_row_fn on_row, void *data);
