/*
 * Restores the terminal at any time, even from a signal handler. A process has one terminal, so the
 * state is global. Handlers for the signals that end a program at once (a crash, a panic, an alarm)
 * restore the terminal and then let the signal take its usual effect.
 */
#pragma once

#include <stdbool.h>
#include <termios.h>

/* Install and remove the signal handlers. Ignored signals stay ignored. */
void ik_tty_restore_install(void);
void ik_tty_restore_uninstall(void);

/* The state to restore. The flags of a descriptor are -1 when we opened it ourselves. */
typedef struct {
    int in; /* the settings belong to this descriptor */
    int out;
    int in_flags;
    int out_flags;
    struct termios settings;
} ik_tty_found_t;

/* Call before any setting is changed. */
void ik_tty_restore_arm(const ik_tty_found_t *found);
/* Sets which optional modes are on. Call before they are switched on and after they are off. */
void ik_tty_restore_set_modes(bool kitty, bool alternate, bool shape);
/* Has the window's title restored as well. Call before saving it; false when it is saved already.
 */
bool ik_tty_restore_owe_title(void);
/* Has the wrapping of long rows (DECAWM) restored as well. Call before it is ever switched off. */
void ik_tty_restore_owe_wrapping(void);
/* Gives up the terminal: nothing is restored any more. */
void ik_tty_restore_disarm(void);

/* Restores everything if the program is in the foreground; a program in the background must not
 * touch the terminal. The settings are restored once more when the program ends, in case another
 * program that used the terminal meanwhile left it in disorder. */
void ik_tty_restore_run(void);
