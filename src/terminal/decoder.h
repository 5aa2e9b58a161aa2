/*
 * Input bytes to keys: UTF-8, C0, CSI and SS3 keys of every terminal in use (xterm, VT, rxvt,
 * linux), xterm's modifyOtherKeys, the kitty keyboard protocol (flag 1, "CSI u"), bracketed paste,
 * focus, and the answers to our questions (DA1, kitty flags, DECRPM, OSC 11, XTVERSION). What it
 * does not know is dropped as a whole: a sequence never leaks into the text. Any split of the same
 * bytes gives the same keys (adjacent TEXT keys may be divided differently).
 *
 * A lone ESC could be the beginning of a sequence: it is a key when nothing follows for a moment,
 * which the caller's clock decides (ik_decoder_expire).
 */
#pragma once

#include "terminal/key.h"

typedef struct ik_decoder ik_decoder_t;

/* May call back into anything but the decoder. */
typedef void (*ik_decoder_fn)(void *data, const ik_key_t *key);

/* A paste longer than this many bytes comes as several PASTE keys. */
enum { IK_DECODER_PASTE_MAX = 16 * 1024 * 1024 };

ik_decoder_t *ik_decoder_create(const void *ctx, ik_decoder_fn on_key, void *data);
void ik_decoder_feed(ik_decoder_t *decoder, const char *bytes, size_t len);
/* Something is held that only time can decide: an ESC, or a sequence that broke off. Never so
 * inside a paste. */
bool ik_decoder_is_waiting(const ik_decoder_t *decoder);
/* Time is up: a held ESC is the key, ESC [ is Alt-[ (and so with all that begins a sequence), any
 * other unfinished sequence is dropped. */
void ik_decoder_expire(ik_decoder_t *decoder);
