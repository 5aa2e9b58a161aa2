/*
 * Decodes terminal input into keys: UTF-8, C0, CSI and SS3 keys of all common terminals (xterm, VT,
 * rxvt, Linux console), xterm's modifyOtherKeys, the kitty keyboard protocol (flag 1, "CSI u"),
 * bracketed paste, focus reports, and replies (DA1, kitty flags, DECRPM, OSC 11, XTVERSION). An
 * unknown sequence is dropped as a whole and never becomes text. Splitting the input at any byte
 * gives the same keys, except that TEXT keys may be divided differently.
 *
 * A lone ESC may be the key or the beginning of a sequence. It counts as the key when nothing
 * follows in time; the caller keeps the clock and calls ik_decoder_expire.
 */
#pragma once

#include "terminal/key.h"

typedef struct ik_decoder ik_decoder_t;

/* Called from feed and expire. Must not call the decoder. */
typedef void (*ik_decoder_fn)(void *data, const ik_key_t *key);

/* A longer paste is delivered as several PASTE keys. */
enum { IK_DECODER_PASTE_MAX = 16 * 1024 * 1024 };

ik_decoder_t *ik_decoder_create(const void *ctx, ik_decoder_fn on_key, void *data);
/* Decodes ESC and a character as the Escape key and that character instead of Alt, for vi keys,
 * with which people type Esc and a command in quick succession. Alt with Enter, Tab or Backspace,
 * and Alt that the terminal reports by a sequence of its own, are still understood. */
void ik_decoder_split_alt(ik_decoder_t *decoder);
void ik_decoder_feed(ik_decoder_t *decoder, const char *bytes, size_t len);
/* Whether an ESC or an unfinished sequence is pending, so that the caller must set its timer. Never
 * true inside a paste. */
bool ik_decoder_is_waiting(const ik_decoder_t *decoder);
/* The timer fired: a pending ESC is the Escape key, ESC [ (or any other introducer) is Alt-[, any
 * longer unfinished sequence is dropped. */
void ik_decoder_expire(ik_decoder_t *decoder);
