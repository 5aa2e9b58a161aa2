/*
 * The state of the prompt, private to its parts:
 *
 *   prompt.c          keys, actions and earlier messages
 *   prompt_list.c     completion
 *   prompt_search.c   Ctrl-R
 *   prompt_secret.c   answers that are not shown
 *   prompt_draw.c     rows
 */
#pragma once

#include "terminal/prompt.h"

/* What can be completed at the cursor. */
typedef enum {
    IK_PROMPT_CONTEXT_NONE,
    IK_PROMPT_CONTEXT_COMMAND,
    IK_PROMPT_CONTEXT_ARGUMENT,
    IK_PROMPT_CONTEXT_FILE,
} ik_prompt_context_kind_t;

typedef struct {
    ik_prompt_context_kind_t kind;
    size_t from; /* start of the replaced text, which ends at the cursor */
    int word;    /* number of the argument, from 1 */
} ik_prompt_context_t;

typedef struct {
    ik_prompt_context_t context;
    bool open; /* the source was asked; there may be nothing to show */
    bool dismissed;
    ik_completions_t found;
    ik_choice_t *choice;
} ik_prompt_list_t;

/* The search in earlier messages, or a list of ik_prompt_choose. */
typedef struct {
    bool open;
    bool chooses; /* a list of ik_prompt_choose */
    ik_buffer_t pattern;
    const ik_choice_row_t *rows;
    ik_choice_row_t *messages; /* rows of the earlier messages, newest first */
    ik_choice_t *choice;
    /* of ik_prompt_choose: */
    char *mark;
    char *hint;
    bool pending;
    bool has_second;
    bool numbered;
    bool passes_text;
    size_t taken; /* index in rows; SIZE_MAX: none */
    bool second;  /* taken with the second key */
} ik_prompt_search_t;

typedef struct {
    bool direct;      /* the last key browsed: Up and Down browse on from any row */
    uint64_t version; /* of the draft that browsing set; any other ends it */
    size_t index;
    char *prefix;
} ik_prompt_browse_t;

struct ik_prompt {
    const ik_theme_t *theme;
    ik_recall_t *recall;
    ik_completion_source_t source;
    ik_editor_t *editor;
    ik_editor_t *aside; /* the draft during a question; NULL: no question */
    char *keys;         /* that answer it while the answer is empty; NULL: none */
    char answer;        /* the last of them */
    char *secret;       /* the answer to ik_prompt_ask_secret; NULL: none is asked for */
    size_t secret_len;
    char *mark;
    char *hint;
    bool after_ctrl_x;
    bool working; /* the agent works */
    bool waiting; /* sent text waits */
    ik_prompt_browse_t browse;
    ik_prompt_list_t list;
    ik_prompt_search_t search;
    ik_row_t row; /* scratch row for drawing */
};

/* --- prompt_list.c ------------------------------------------------------------------------- */

/* Call it after the draft or the cursor changed. typed: the user typed, so that a list may open. */
void ik_prompt_list_update(ik_prompt_t *prompt, bool typed);
bool ik_prompt_list_is_open(const ik_prompt_t *prompt);
/* Tab: completes the chosen row, or opens the list. */
void ik_prompt_list_complete(ik_prompt_t *prompt);
/* Enter: takes the chosen row. Returns true if it was only completed: a file, or a command that
 * needs an argument. Otherwise the draft is to be sent. */
bool ik_prompt_list_take(ik_prompt_t *prompt);
/* Closes the list until the cursor is in another word, or Tab is pressed. */
void ik_prompt_list_dismiss(ik_prompt_t *prompt);
/* Closes the list until the user types. */
void ik_prompt_list_close(ik_prompt_t *prompt);

/* --- prompt_search.c ----------------------------------------------------------------------- */

void ik_prompt_search_open(ik_prompt_t *prompt);
void ik_prompt_search_close(ik_prompt_t *prompt);
/* Handles a key while the search is open. False: it closed, and the key is still to be handled. */
bool ik_prompt_search_key(ik_prompt_t *prompt, const ik_key_t *key);

/* --- prompt_secret.c ----------------------------------------------------------------------- */

void ik_prompt_secret_open(ik_prompt_t *prompt);
/* Overwrites and forgets the answer. */
void ik_prompt_secret_close(ik_prompt_t *prompt);
char *ik_prompt_secret_take(const void *ctx, ik_prompt_t *prompt);
ik_prompt_action_t ik_prompt_secret_key(ik_prompt_t *prompt, const ik_key_t *key);
size_t ik_prompt_secret_characters(const ik_prompt_t *prompt);
