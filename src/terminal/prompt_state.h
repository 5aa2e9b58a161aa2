/*
 * What the parts of the prompt share; nobody else includes it.
 *
 *   prompt.c          keys and actions
 *   prompt_browse.c   Up and Down through earlier messages
 *   prompt_list.c     completion
 *   prompt_search.c   Ctrl-R
 *   prompt_draw.c     rows
 */
#pragma once

#include "terminal/choice.h"
#include "terminal/prompt.h"

/* What can be completed where the cursor is. */
typedef enum {
    IK_PROMPT_PLACE_NONE,
    IK_PROMPT_PLACE_COMMAND,
    IK_PROMPT_PLACE_ARGUMENT,
    IK_PROMPT_PLACE_FILE,
} ik_prompt_place_kind_t;

typedef struct {
    ik_prompt_place_kind_t kind;
    size_t from; /* where what is replaced begins; it ends at the cursor */
    int word;    /* of an argument, from 1 */
} ik_prompt_place_t;

typedef struct {
    ik_prompt_place_t place;
    bool open; /* asked for; it may still have nothing to show */
    bool dismissed;
    ik_completions_t found;
    const char **texts; /* of found, as they are matched */
    ik_choice_t *choice;
} ik_prompt_list_t;

typedef struct {
    bool open;
    ik_buffer_t pattern;
    const char **texts;           /* earlier messages, newest first, or those of items */
    const ik_completion_t *items; /* a list of the program's; NULL: earlier messages */
    char *mark;                   /* of that list */
    size_t taken;                 /* of it; SIZE_MAX: none */
    ik_choice_t *choice;
} ik_prompt_search_t;

typedef struct {
    bool direct;      /* the last key did it: the next one goes on, whatever row the cursor is in */
    uint64_t version; /* of the draft that it put there; another one: it is over */
    size_t index;
    char *prefix;
} ik_prompt_browse_t;

struct ik_prompt {
    const ik_theme_t *theme;
    ik_recall_t *recall;
    ik_completion_source_t source;
    ik_editor_t *editor;
    char *aside; /* the draft while a question is asked; NULL: none is */
    char *mark;
    char *hint;
    bool after_ctrl_x;
    ik_prompt_browse_t browse;
    ik_prompt_list_t list;
    ik_prompt_search_t search;
    ik_row_t row; /* being drawn */
};

/* --- prompt_browse.c ----------------------------------------------------------------------- */

/* To the next older or newer message that begins as the draft did; behind the newest stands the
 * draft itself. */
void ik_prompt_browse(ik_prompt_t *prompt, bool older);

/* --- prompt_list.c ------------------------------------------------------------------------- */

/* The draft or the cursor changed; typed: so that a list may open by itself. */
void ik_prompt_list_update(ik_prompt_t *prompt, bool typed);
bool ik_prompt_list_is_open(const ik_prompt_t *prompt);
/* Tab: takes what is chosen, or opens the list. */
void ik_prompt_list_complete(ik_prompt_t *prompt);
/* Closed until another place is reached, or Tab. */
void ik_prompt_list_dismiss(ik_prompt_t *prompt);
/* Closed until something is typed. */
void ik_prompt_list_close(ik_prompt_t *prompt);

/* --- prompt_search.c ----------------------------------------------------------------------- */

void ik_prompt_search_open(ik_prompt_t *prompt);
void ik_prompt_search_close(ik_prompt_t *prompt);
/* While it is open. False: it has closed, and the key is still to be obeyed. */
bool ik_prompt_search_key(ik_prompt_t *prompt, const ik_key_t *key);
/* A list of the program's is open. */
bool ik_prompt_search_chooses(const ik_prompt_t *prompt);
