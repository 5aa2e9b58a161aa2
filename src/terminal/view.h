/*
 * The terminal as the interactive front end uses it: finished rows, the live area (what goes on,
 * the draft, the status line), keys, the pager and the external editor. In plain mode there are
 * rows and lines of input and nothing else. It knows nothing of agents; what the live area shows is
 * asked for when a frame is drawn.
 *
 * Keys are answered at once. Everything else is drawn at most every 16 ms, and nothing at all
 * while nothing changes; only while somebody is busy a spinner turns four times a second. While the
 * window is being resized nothing is drawn: a frame for a width that is gone could erase rows of
 * the history.
 */
#pragma once

#include "base/paths.h"
#include "io/loop.h"
#include "terminal/pager.h"
#include "terminal/prompt.h"
#include "terminal/rows.h"

typedef struct ik_view ik_view_t;

/* All from the loop. */
typedef struct {
    /* A message, command or answer was entered; text is the receiver's to copy. */
    void (*on_submit)(void *data, const char *text);
    /* ESCAPE, CANCEL, END, PAGER or CHOSEN; the rest is done here. */
    void (*on_action)(void *data, ik_prompt_action_t action);
    void (*on_draft)(void *data); /* it changed */
    /* A signal asks for it, or the terminal is gone (SIGHUP): save and leave. */
    void (*on_leave)(void *data, int signal);
    /* Rows of the live area above the draft: at most max_rows, the last ones count. */
    void (*draw_activity)(void *data, int max_rows, ik_rows_fn on_row, void *row_data);
    void (*draw_status)(void *data, ik_row_t *row);
    void *data;
} ik_view_listener_t;

typedef struct {
    ik_loop_t *loop;
    const ik_paths_t *paths;
    bool plain;
    ik_completion_source_t completion;
    ik_view_listener_t listener;
} ik_view_options_t;

/* Nothing is drawn yet. */
res_t ik_view_create(const void *ctx, const ik_view_options_t *options, ik_view_t **out);
/* Takes the terminal and draws the first frame. */
void ik_view_open(ik_view_t *view);
/* The terminal as it was, with all rows printed; drawing is over. Freeing it does the same. */
void ik_view_close(ik_view_t *view);

/* Where rows go: they are printed with the next frame, text wrapped for the width it has then. */
ik_rows_t ik_view_rows(ik_view_t *view);
/* What was entered stands there already: the terminal itself echoes it in plain mode. */
bool ik_view_echoes(const ik_view_t *view);
/* What follows stands apart: one empty row, unless there is one. */
void ik_view_begin_block(ik_view_t *view);
const ik_theme_t *ik_view_theme(const ik_view_t *view);

/* The live area changed; it is drawn soon. */
void ik_view_touch(ik_view_t *view);
/* While busy the spinner turns. */
void ik_view_set_busy(ik_view_t *view, bool busy);
const char *ik_view_spinner(const ik_view_t *view);

/* The draft; NULL in plain mode. */
ik_prompt_t *ik_view_prompt(ik_view_t *view);
/* What is asked for instead of a message; NULL: a message again. */
void ik_view_ask(ik_view_t *view, const char *question);

/* Nothing more is going on: in plain mode the next line is asked for, once. */
void ik_view_want_line(ik_view_t *view);

/* Nothing in plain mode, and while somebody else has the terminal. */
void ik_view_open_pager(ik_view_t *view, const ik_pager_source_t *source, const char *title);
/* What it shows is about to go; nothing when there is none. */
void ik_view_close_pager(ik_view_t *view);
/* Attention: a turn that took long is over. Nothing while the window has the focus. */
void ik_view_notify(ik_view_t *view, const char *text);
void ik_view_set_title(ik_view_t *view, const char *title);
/* Puts text into the clipboard by OSC 52. */
void ik_view_copy(ik_view_t *view, const char *text, size_t len);
