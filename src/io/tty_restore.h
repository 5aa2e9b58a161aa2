/*
 * Putting the terminal back, from anywhere: from a signal handler too, in whatever state the
 * program is. There is one terminal per process, so this is the process's own state. Handlers for
 * the signals that end a program at once (a crash, a panic, an alarm) put it back and let the
 * signal do what it would have done.
 */
#pragma once

#include <stdbool.h>
#include <termios.h>

/* Signals that are ignored stay so. */
void ik_tty_restore_install(void);
void ik_tty_restore_uninstall(void);

/* What is put back. The flags of a descriptor are -1 when it is of our own. */
typedef struct {
    int in; /* the settings are this one's */
    int out;
    int in_flags;
    int out_flags;
    struct termios settings;
} ik_tty_found_t;

/* From now on there is something to put back. To be called before anything is changed. */
void ik_tty_restore_arm(const ik_tty_found_t *found);
/* Which modes beyond the usual ones are on; before they are, and after they are not any more. */
void ik_tty_restore_set_modes(bool kitty, bool alternate);
/* From now on the window's title is put back as well; to be called before it is saved. False when
 * it is saved already. */
bool ik_tty_restore_owe_title(void);
/* It is no longer ours to put back. */
void ik_tty_restore_disarm(void);

/* Puts everything back, if the terminal is ours: a program in the background leaves it alone. The
 * settings are put back once more when the program ends later, in case another one, to which the
 * terminal was lent, left it in disorder. */
void ik_tty_restore_run(void);
