/*
 * The terminal as a device: raw mode, size, input and non-blocking output. However the program
 * ends, the terminal is restored. Handlers are installed before any mode is set, and constant
 * strings (tty_restore.c) undo every mode that this program sets. They are written on leaving, on
 * SIGTERM, SIGHUP, SIGINT and SIGQUIT from outside, on SIGTSTP and on every other signal that ends
 * a program (SIGSEGV, SIGABRT and thus a panic, SIGUSR1 …); the terminal settings are restored as
 * well.
 *
 * Input and output use descriptors opened from the terminal's name, so that making them
 * non-blocking does not affect the shell. Where that fails, the standard descriptors are made
 * non-blocking and restored later.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "io/loop.h"

typedef struct ik_tty ik_tty_t;

/* All callbacks come from the loop; on_continued also from inside ik_tty_suspend. */
typedef struct {
    void (*on_input)(void *data, const char *bytes, size_t len);
    /* The terminal has accepted all queued output. */
    void (*on_drained)(void *data);
    /* The window's size has settled after one or more changes; it may be the same as before. */
    void (*on_resize)(void *data);
    /* SIGTERM, SIGHUP, SIGINT or SIGQUIT arrived: save and leave. */
    void (*on_signal)(void *data, int signal);
    /* The terminal is gone: reading or writing failed, or the other end hung up. Called once. */
    void (*on_gone)(void *data);
    /* The program was stopped and continues. The modes are set again; redraw everything, possibly
     * in a new size. */
    void (*on_continued)(void *data);
    /* SIGTSTP arrived: finish drawing and call ik_tty_suspend. */
    void (*on_stop)(void *data);
    void *data;
} ik_tty_listener_t;

/* Opens the terminal behind fd a second time, so that the new descriptor shares no flags with fd,
 * and sets *flags to -1. Where that fails (another user's terminal, no /dev), returns fd itself and
 * sets *flags to its flags, to be restored. */
int ik_tty_open_own(int fd, int *flags);

/* Fails unless standard input and output are a terminal. Does not change its settings yet. */
res_t ik_tty_create(const void *ctx, ik_loop_t *loop, const ik_tty_listener_t *listener,
                    ik_tty_t **out);

/* Sets raw mode, bracketed paste and focus reports, and starts input. */
void ik_tty_enter(ik_tty_t *tty);
/* Restores the terminal and stops input. Waits up to patience_ms for pending output, then drops it.
 * Freeing the tty leaves as well. */
void ik_tty_leave(ik_tty_t *tty, int patience_ms);

/* Whether there is input that on_input has not brought yet. */
bool ik_tty_has_input(const ik_tty_t *tty);

/* The current size. */
void ik_tty_size(ik_tty_t *tty, int *columns, int *rows);
/* The size of a character cell in pixels; false if the terminal does not say. */
bool ik_tty_cell_size(ik_tty_t *tty, int *width, int *height);
/* False while the window may be changing its size, when a drawing might be for an outdated width;
 * on_resize follows. Compares the last result of ik_tty_size with the kernel's, so it can notice a
 * change before its signal arrives. */
bool ik_tty_is_settled(ik_tty_t *tty);
/* How long after the last change the size counts as settled. Initially 300 ms: tmux rewraps its
 * rows for a new width at once but reports at most one change in 250 ms. */
void ik_tty_set_settling(ik_tty_t *tty, int settling_ms);
/* Queues output and writes it as the terminal accepts it. Output is kept while the terminal is left
 * or in use by another program. */
void ik_tty_write(ik_tty_t *tty, const char *bytes, size_t len);
bool ik_tty_is_drained(const ik_tty_t *tty);

/* Asks for unambiguous key reports: by the kitty protocol if the terminal supports it, else by
 * xterm's modifyOtherKeys. */
void ik_tty_use_keyboard(ik_tty_t *tty, bool kitty);
/* Sets the shape of the cursor until the terminal is left, which restores the terminal's own. Only
 * for a terminal that is known to understand the sequence. */
typedef enum { IK_TTY_CURSOR_OWN, IK_TTY_CURSOR_BLOCK, IK_TTY_CURSOR_BAR } ik_tty_cursor_t;
void ik_tty_set_cursor(ik_tty_t *tty, ik_tty_cursor_t cursor);
/* Switches to the alternate screen and back; back restores the main screen and its cursor. */
void ik_tty_use_alternate(ik_tty_t *tty, bool alternate);

/* Sets the window's title until the terminal is left, which restores the previous one. The title
 * must not contain control characters. */
void ik_tty_set_title(ik_tty_t *tty, const char *title);

/* Leaves, stops the process group as Ctrl-Z does, and enters again when the program continues. */
void ik_tty_suspend(ik_tty_t *tty);
