/*
 * The terminal as a device: raw mode, size, input, output that never blocks, and the certainty that
 * it is as before when the program is gone, however it goes. Handlers are installed before any mode
 * is set; constant strings (tty_restore.c) undo every mode that this program ever sets; they are
 * written on leaving, on SIGTERM, SIGHUP, SIGINT and SIGQUIT from outside, on SIGTSTP, on every
 * other signal that ends a program (SIGSEGV, SIGABRT and thus a panic, SIGUSR1 …), with the
 * terminal settings put back as they were found.
 *
 * Output goes through a descriptor of its own, opened anew from the terminal's name, so that making
 * it non-blocking does not touch the shell's; where that cannot be, the standard one is switched
 * and switched back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "io/loop.h"

typedef struct ik_tty ik_tty_t;

/* All from the loop, and on_continued also from inside ik_tty_suspend. */
typedef struct {
    void (*on_input)(void *data, const char *bytes, size_t len);
    /* All that was written has been taken. */
    void (*on_drained)(void *data);
    /* The size of the window is settled after a change or a series of them; it may be the one it
     * was before. */
    void (*on_resize)(void *data);
    /* SIGTERM, SIGHUP, SIGINT or SIGQUIT from outside: to save and leave. */
    void (*on_signal)(void *data, int signal);
    /* The terminal vanished: reading or writing fails, or the other end hung up. Once. */
    void (*on_gone)(void *data);
    /* The program was stopped and goes on: modes are set again, everything is to be drawn anew, and
     * the size may be another one. */
    void (*on_continued)(void *data);
    /* SIGTSTP from outside: whoever draws ends properly and calls ik_tty_suspend. */
    void (*on_stop)(void *data);
    void *data;
} ik_tty_listener_t;

/* Standard input and output are a terminal. Nothing is changed yet. */
res_t ik_tty_create(const void *ctx, ik_loop_t *loop, const ik_tty_listener_t *listener,
                    ik_tty_t **out);

/* Raw mode, and bracketed paste and focus reports on. Once per visit; input begins to flow. */
void ik_tty_enter(ik_tty_t *tty);
/* Everything as it was found. Waits for pending output at most as long as given, then drops it.
 * Input stops. Freeing the tty does the same. */
void ik_tty_leave(ik_tty_t *tty, int patience_ms);

/* As it is now. */
void ik_tty_size(ik_tty_t *tty, int *columns, int *rows);
/* False while the window may be changing its size: what is drawn now may be drawn for a width that
 * is gone; on_resize follows. Compares what ik_tty_size told last with what the kernel knows, which
 * may be before the signal of a change is seen. */
bool ik_tty_is_settled(ik_tty_t *tty);
/* How long after the last change the size counts as settled. At first 300 ms: tmux wraps its rows
 * for a new width at once, but tells of at most one change in 250 ms. */
void ik_tty_set_settling(ik_tty_t *tty, int settling_ms);
/* Written as the terminal takes it, in order; while the terminal is left or somebody else's, it is
 * kept. */
void ik_tty_write(ik_tty_t *tty, const char *bytes, size_t len);
bool ik_tty_is_drained(const ik_tty_t *tty);

/* Keys are told apart better: the kitty protocol when it was answered, else xterm's
 * modifyOtherKeys. */
void ik_tty_use_keyboard(ik_tty_t *tty, bool kitty);
/* The alternate screen; leaving it brings the main one back as it was, with the cursor. */
void ik_tty_use_alternate(ik_tty_t *tty, bool alternate);

/* The window's title while the terminal is ours; the one it had comes back. No control characters.
 */
void ik_tty_set_title(ik_tty_t *tty, const char *title);

/* Leaves, stops the program as Ctrl-Z does (its whole process group), and enters again when it goes
 * on. */
void ik_tty_suspend(ik_tty_t *tty);
