/*
 * The terminal of the interactive front end: finished rows, the live area (activity, draft, status
 * line), keys, the pager and the external editor. Plain mode has only rows and lines of input. The
 * view does not depend on agents: it asks its listener for the content of the live area when it
 * draws a frame.
 *
 * Keys are drawn at once, other changes at most every 16 ms, and nothing while nothing changes; a
 * spinner turns four times a second while the front end is busy. Nothing is drawn while the window
 * is being resized, because a frame for the old width could erase finished rows.
 */
#pragma once

#include "base/paths.h"
#include "io/loop.h"
#include "io/process.h"
#include "terminal/pager.h"
#include "terminal/prompt.h"
#include "terminal/rows.h"

typedef struct ik_view ik_view_t;

/* All functions are called from the loop. */
typedef struct {
    /* A message, command or answer was entered; text is valid inside the callback only. */
    void (*on_submit)(void *data, const char *text);
    /* ESCAPE, CANCEL, END, PAGER, TOOL_OUTPUT, IMAGE, MODE or ANSWER; in plain mode also CHOSEN,
     * after a line took a row of a list. The view handles the others. */
    void (*on_action)(void *data, ik_prompt_action_t action);
    void (*on_draft)(void *data); /* the draft changed */
    /* Save and leave: a signal came, or the terminal is gone (SIGHUP). */
    void (*on_leave)(void *data, int signal);
    /* Draws the rows above the draft; only the last max_rows of them are shown. */
    void (*draw_activity)(void *data, int max_rows, ik_rows_fn on_row, void *row_data);
    void (*draw_status)(void *data, ik_row_t *row);
    void *data;
} ik_view_listener_t;

typedef struct {
    ik_loop_t *loop;
    ik_process_host_t *host; /* for previews of images that need a program; NULL: without them */
    const ik_paths_t *paths;
    const ik_config_t *config; /* theme, notify */
    bool plain;
    bool vi; /* vi keys */
    ik_completion_source_t completion;
    ik_view_listener_t listener;
} ik_view_options_t;

/* Draws nothing. */
res_t ik_view_create(const void *ctx, const ik_view_options_t *options, ik_view_t **out);
/* Takes the terminal and draws the first frame. */
void ik_view_open(ik_view_t *view);
/* Prints the remaining rows, restores the terminal and ends drawing. Freeing the view does so, too.
 */
void ik_view_close(ik_view_t *view);
/* Ends the external editor, if there is one. What it has saved is the draft. */
void ik_view_end_editor(ik_view_t *view);

/* The target for rows, which are printed with the next frame and wrapped for its width. */
ik_rows_t ik_view_rows(ik_view_t *view);
/* Sets `brief` of these rows; what is already printed stays as it is. */
void ik_view_set_brief(ik_view_t *view, bool brief);
/* Whether the terminal itself echoes input, as in plain mode. */
bool ik_view_echoes(const ik_view_t *view);
/* Separates what follows by one empty row, unless there is one. */
void ik_view_begin_block(ik_view_t *view);
/* As ik_view_begin_block, for one row; such rows are not separated from each other. */
void ik_view_begin_item(ik_view_t *view);
/* Rows of the window. */
int ik_view_height(const ik_view_t *view);
const ik_theme_t *ik_view_theme(const ik_view_t *view);

/* Whether a picture among the rows (ik_backlog_add_picture) may be shown. */
bool ik_view_may_show_pictures(const ik_view_t *view);

/* Shows so many rows of the activity, if it has them, before empty rows and the status line: it is
 * a question. 0, as at the start, for none. */
void ik_view_reserve_activity(ik_view_t *view, int rows);
/* Redraws the live area soon, because it changed. */
void ik_view_touch(ik_view_t *view);
/* Turns the spinner while busy. */
void ik_view_set_busy(ik_view_t *view, bool busy);
const char *ik_view_spinner(const ik_view_t *view);

/* The draft; NULL in plain mode. */
ik_prompt_t *ik_view_prompt(ik_view_t *view);
/* Asks a question instead of reading a message; NULL: reads messages again. */
void ik_view_ask(ik_view_t *view, const char *question);
/* As ik_view_ask, for an answer that is one of these keys or a text; see ik_prompt_ask_keys. */
void ik_view_ask_keys(ik_view_t *view, const char *question, const char *keys);
/* When the last key came; 0: none yet. */
int64_t ik_view_key_ms(const ik_view_t *view);
/* Asks for a secret: the answer is neither shown nor kept, and on_submit gets it. Plain mode
 * switches the terminal's echo off. The next call of ik_view_ask ends it. */
void ik_view_ask_secret(ik_view_t *view, const char *question);
/* Switches the echo of plain mode off already before the text that asks for a secret is printed: a
 * quick answer must not be echoed. */
void ik_view_hide_input(ik_view_t *view);

/* Prints the mark for the next line in plain mode, once. */
void ik_view_want_line(ik_view_t *view);

/* Does nothing in plain mode, and while another program has the terminal. */
void ik_view_open_pager(ik_view_t *view, const ik_pager_source_t *source, const char *title);
/* Closes the pager, if it is open, before its source is freed. */
void ik_view_close_pager(ik_view_t *view);
/* Notifies the user, as the configuration says, if the window is known not to have the focus. The
 * text is sanitised, cut and shown after the name of the program. */
void ik_view_notify(ik_view_t *view, const char *text);
void ik_view_set_title(ik_view_t *view, const char *title);
/* Copies text to the clipboard (OSC 52). */
void ik_view_copy(ik_view_t *view, const char *text, size_t len);
