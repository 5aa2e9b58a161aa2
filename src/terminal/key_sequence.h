/*
 * Parses one complete escape sequence into a key or a reply of the terminal. Every encoding of a
 * key gives the same result: Ctrl-Shift-A is 'a' with CTRL and SHIFT, Alt-Shift-A is 'A' with ALT,
 * Ctrl-I is Tab, as it is without an escape sequence, and Ctrl with a non-Latin letter is the Latin
 * letter on that key, if the terminal reports it.
 */
#pragma once

#include "terminal/key.h"

enum { IK_KEY_SEQUENCE_TEXT_MAX = 64 };

typedef struct {
    ik_key_t key;
    char text[IK_KEY_SEQUENCE_TEXT_MAX]; /* storage for key.text */
} ik_key_sequence_t;

/* body is what stands between the introducer and the final byte or string terminator; key.text may
 * point into it. Return false for unknown sequences and those to be ignored. */
bool ik_key_sequence_parse_csi(const char *body, size_t len, char final, ik_key_sequence_t *out);
bool ik_key_sequence_parse_ss3(const char *body, size_t len, char final, ik_key_sequence_t *out);
/* introducer: ']' (OSC), 'P' (DCS), 'X' (SOS), '^' (PM) or '_' (APC). */
bool ik_key_sequence_parse_string(char introducer, const char *body, size_t len,
                                  ik_key_sequence_t *out);
