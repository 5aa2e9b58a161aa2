/*
 * What one complete escape sequence means: a key, an answer of the terminal, or nothing that we
 * know. The same key gives the same result in every encoding: Ctrl-Shift-A is 'a' with CTRL and
 * SHIFT, Alt-Shift-A is 'A' with ALT, Ctrl-I is Tab as it is without an escape sequence, and Ctrl
 * with a letter of another script is the Latin letter on that key where the terminal tells it.
 */
#pragma once

#include "terminal/key.h"

enum { IK_KEY_SEQUENCE_TEXT_MAX = 64 };

typedef struct {
    ik_key_t key;
    char text[IK_KEY_SEQUENCE_TEXT_MAX]; /* where key.text may point to */
} ik_key_sequence_t;

/* body is what stood between the introducer and the final byte, or the terminator of a string;
 * key.text may point into it. False: not known, or of no interest. */
bool ik_key_sequence_parse_csi(const char *body, size_t len, char final, ik_key_sequence_t *out);
bool ik_key_sequence_parse_ss3(const char *body, size_t len, char final, ik_key_sequence_t *out);
/* introducer: ']' of OSC, 'P' of DCS, 'X', '^' or '_'. */
bool ik_key_sequence_parse_string(char introducer, const char *body, size_t len,
                                  ik_key_sequence_t *out);
