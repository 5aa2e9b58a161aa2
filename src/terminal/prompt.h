/*
 * The input prompt: the draft (editor.h), earlier messages (Up and Down with a prefix match, Ctrl-R
 * with a fuzzy search), and completion lists for /commands, their arguments and @files. It takes
 * keys, and returns actions for the program and rows for the live area.
 */
#pragma once

#include "terminal/choice.h"
#include "terminal/editor.h"
#include "terminal/recall.h"

typedef struct ik_prompt ik_prompt_t;

typedef enum {
    IK_PROMPT_NONE,    /* only the draft or the lists changed */
    IK_PROMPT_SUBMIT,  /* Enter: take the text with ik_prompt_take */
    IK_PROMPT_QUEUE,   /* Alt-Enter while the agent works: likewise, for after the turn */
    IK_PROMPT_RECOVER, /* Up in an empty draft while sent text waits: return it to the draft */
    IK_PROMPT_ESCAPE,  /* Esc while no list is open, and not in vi's insert mode */
    IK_PROMPT_CANCEL,  /* Ctrl-C on an empty draft; another draft is cleared, which undo reverts */
    IK_PROMPT_END,     /* Ctrl-D on an empty draft */
    IK_PROMPT_SUSPEND,
    IK_PROMPT_EDITOR, /* edit the draft in an external editor */
    IK_PROMPT_PAGER,  /* show the transcript */
    IK_PROMPT_REDRAW,
    IK_PROMPT_TOOL_OUTPUT, /* switch between full and short results of tools */
    IK_PROMPT_IMAGE,       /* attach the image in the clipboard */
    IK_PROMPT_MODE,        /* Shift-Tab while no list is open: the next mode */
    IK_PROMPT_ANSWER,      /* a key of ik_prompt_ask_keys: take it with ik_prompt_answer */
    IK_PROMPT_CHOSEN,      /* the list of ik_prompt_choose is closed */
} ik_prompt_action_t;

/* The text of a row is inserted into the draft, followed by a space unless it ends in '/'. */
typedef struct {
    ik_choice_row_t *items;
    size_t count;
    bool pending; /* more will follow: call ik_prompt_refresh then */
} ik_completions_t;

/* The sources of completions, called when a list opens and when the cursor moves to another word;
 * the prompt ranks the items as the user types. Strings must stay valid until the next call. */
typedef struct {
    /* Command names with their '/', for a draft that begins with '/'. */
    void (*commands)(void *data, ik_completions_t *out);
    /* Values for an argument of a command, which is given without its '/'. word 1 is the first
     * argument. */
    void (*arguments)(void *data, const char *command, int word, ik_completions_t *out);
    /* Paths in the project without '@', for a word that begins with '@'. */
    void (*files)(void *data, ik_completions_t *out);
    /* How many bytes at the start of a text may be kept among the earlier messages: the rest may be
     * a secret. */
    size_t (*kept)(void *data, const char *text);
    /* What a paste is replaced by, on ctx: "@FILE" for the path of an image. NULL: it stays. */
    char *(*pasted)(void *data, const void *ctx, const char *text, size_t len);
    void *data;
} ik_completion_source_t;

/* recall is borrowed, source is copied; source and each of its functions may be NULL. */
ik_prompt_t *ik_prompt_create(const void *ctx, const ik_theme_t *theme, ik_recall_t *recall,
                              const ik_completion_source_t *source);
ik_prompt_action_t ik_prompt_key(ik_prompt_t *prompt, const ik_key_t *key);
/* Edits the draft with vi keys, in insert mode first. */
void ik_prompt_use_vi(ik_prompt_t *prompt);
/* Whether vi's normal mode is on. Each key of text must then be a single grapheme. */
bool ik_prompt_is_normal(const ik_prompt_t *prompt);

/* The first character of a draft that is a command; for a file, of a word in the draft. */
enum {
    IK_PROMPT_SIGN_COMMAND = '/',
    IK_PROMPT_SIGN_FILE = '@',
    IK_PROMPT_SIGN_SHELL = '!',
    IK_PROMPT_SIGN_MEMORY = '#', /* and a blank */
};

/* The keys of the prompt, of lists and of the search, and the signs; see ik_binding_rows_fn.
 * editor.h has the keys that edit the draft. */
bool ik_prompt_bindings_at(size_t index, ik_binding_row_t *out);
bool ik_prompt_list_bindings_at(size_t index, ik_binding_row_t *out);
bool ik_prompt_search_bindings_at(size_t index, ik_binding_row_t *out);
bool ik_prompt_signs_at(size_t index, ik_binding_row_t *out);

/* Returns the text to send, on ctx, adds it to the earlier messages and empties the draft. */
char *ik_prompt_take(const void *ctx, ik_prompt_t *prompt);
/* The draft, for saving and for an external editor. */
char *ik_prompt_text(const void *ctx, const ik_prompt_t *prompt);
uint64_t ik_prompt_version(const ik_prompt_t *prompt);
bool ik_prompt_is_empty(const ik_prompt_t *prompt);
/* Replaces the draft, or inserts lines before it. */
void ik_prompt_set_text(ik_prompt_t *prompt, const char *text);
void ik_prompt_prepend_text(ik_prompt_t *prompt, const char *text);
/* Pastes at the cursor of the draft, even while a question or a list has the keys. A shell command
 * gets the path of an image as it is. */
void ik_prompt_paste(ik_prompt_t *prompt, const char *text, size_t len);
/* Pending completions have arrived: asks the source again. */
void ik_prompt_refresh(ik_prompt_t *prompt);

/* Asks a question: sets the draft aside and reads an answer, which may be empty and is not added to
 * the earlier messages. NULL: restores the draft. */
void ik_prompt_ask(ik_prompt_t *prompt, const char *question);
/* As ik_prompt_ask, for an answer that is one of these characters, which answers at once, or a text
 * that begins with another character, a space or a paste. */
void ik_prompt_ask_keys(ik_prompt_t *prompt, const char *question, const char *keys);
/* Whether a key answers at once now. */
bool ik_prompt_awaits_key(const ik_prompt_t *prompt);
char ik_prompt_answer(const ik_prompt_t *prompt);
/* As ik_prompt_ask, for an answer that is neither shown nor kept: ik_prompt_take returns it, and
 * the prompt forgets it. The next call of ik_prompt_ask ends it. */
void ik_prompt_ask_secret(ik_prompt_t *prompt, const char *question);

typedef struct {
    const char *mark; /* shown before the typed text */
    const char *hint; /* shown dimmed while nothing is typed; NULL: none */
    bool has_second;  /* Ctrl-S takes the chosen row, too; see ik_prompt_chosen */
    bool numbered;    /* a digit takes its row at once; text does not narrow the list */
    bool passes_text; /* numbered: text closes the list and goes into the draft */
    bool from_end;    /* the last row is chosen first */
    const ik_choice_row_t *rows;
    size_t count;
    bool pending; /* more will follow: call ik_prompt_choose_again then */
} ik_prompt_list_options_t;

/* Shows a list to choose from instead of the draft, which is kept. Typing narrows the list, Enter
 * takes the chosen row. IK_PROMPT_CHOSEN reports the end; rows are borrowed until then. */
void ik_prompt_choose(ik_prompt_t *prompt, const ik_prompt_list_options_t *options);
/* Replaces the rows of the open list. What was typed and the row that the user moved to stay. */
void ik_prompt_choose_again(ik_prompt_t *prompt, const ik_choice_row_t *rows, size_t count,
                            bool pending);
bool ik_prompt_is_choosing(const ik_prompt_t *prompt);
/* Whether any list is open below the draft or instead of it. */
bool ik_prompt_has_list(const ik_prompt_t *prompt);
/* Whether a numbered list is open, which should be shown as a whole. */
bool ik_prompt_is_numbered(const ik_prompt_t *prompt);
/* Closes the list without an action. */
void ik_prompt_choose_end(ik_prompt_t *prompt);
/* Index of the row taken last; SIZE_MAX: the user took none. second: with the second key. */
size_t ik_prompt_chosen(const ik_prompt_t *prompt, bool *second);

/* Tells whether the agent works, so that Alt-Enter queues the draft, and whether text that was sent
 * waits, so that Up in an empty draft recovers it. */
void ik_prompt_set_working(ik_prompt_t *prompt, bool working, bool waiting);

/* Sets the mark before the draft, "> " by default. Copied. */
void ik_prompt_set_mark(ik_prompt_t *prompt, const char *mark);
/* Sets a text shown dimmed while the draft is empty; NULL: none. Copied. */
void ik_prompt_set_hint(ik_prompt_t *prompt, const char *hint);

/* Draws at most max_rows rows of at most columns - 1 columns: the draft, whose further rows are
 * indented like the first, and below it the open list. on_row gets each finished row. */
typedef void (*ik_prompt_row_fn)(void *data, const char *bytes, size_t len);
typedef struct {
    int rows;
    int cursor_row; /* among the rows */
    int cursor_column;
} ik_prompt_drawing_t;
ik_prompt_drawing_t ik_prompt_draw(ik_prompt_t *prompt, int columns, int max_rows,
                                   ik_prompt_row_fn on_row, void *data);
