/*
 * The one way of foreign bytes to a terminal, or to a model: an allow-list VT machine. Printable
 * text, newline and tab are kept; colours and attributes (SGR) are understood and become styles;
 * everything else a terminal could obey is dropped: CSI, OSC, DCS, APC, PM and SOS with all that is
 * in them, other escapes (RIS …), C0, DEL, and U+0080 to U+009F, each of which goes alone (text in
 * a wrong encoding is full of them, and what follows is still text). A sequence that never ends is
 * dropped up to a newline or IK_SANITISER_SEQUENCE_MAX bytes of it; the rest is text again.
 *
 * What cannot be seen but changes what is seen (bidi controls, zero-width characters, tags, line
 * and paragraph separators, fillers), what is no character at all, and U+10FF00 and beyond, which
 * the editor uses for itself, is written out as <U+202E>. Joiners and variation selectors stay
 * where a script or an emoji needs them. Bytes that are no UTF-8, a bare C1 byte among them, become
 * U+FFFD, one per maximal invalid part. "\r\n" is a newline; a "\r" alone begins the line anew,
 * which is shown as a newline, too, unless nothing stands in the line yet.
 *
 * The same bytes give the same text in whatever chunks they come.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/style.h"

enum { IK_SANITISER_SEQUENCE_MAX = 4096 };

/* text has no control characters but '\n' and '\t' and ends between characters. */
typedef void (*ik_sanitiser_fn)(void *data, ik_style_t style, const char *text, size_t len);

/* Plain memory of the caller, nothing to free. Its fields are sanitiser.c's. */
typedef struct {
    int state;
    bool for_reader; /* who sees no screen: nothing is written out */
    ik_style_t style;
    char held[64]; /* an unfinished character, or the parameters of a sequence */
    size_t held_len;
    size_t dropped;    /* bytes of the sequence so far */
    bool after_return; /* a '\r' was shown as a newline, and nothing since */
    int32_t previous;  /* the last character shown */
    int32_t joiner;    /* waits for the character behind it; 0: none */
} ik_sanitiser_t;

void ik_sanitiser_init(ik_sanitiser_t *sanitiser);
void ik_sanitiser_feed(ik_sanitiser_t *sanitiser, const char *bytes, size_t len,
                       ik_sanitiser_fn on_text, void *data);
/* Nothing more comes: what is held is shown as far as it can be. Ready for other bytes afterwards,
 * in the plain style. */
void ik_sanitiser_end(ik_sanitiser_t *sanitiser, ik_sanitiser_fn on_text, void *data);

/* Whole texts, without styles. */
void ik_sanitise_append(ik_buffer_t *out, const char *bytes, size_t len);
/* As exactly one line: newlines and tabs become spaces. On ctx. */
char *ik_sanitise_line(const void *ctx, const char *text);
/* True when ik_sanitise_append would change nothing: the cheap question asked first. Any piece of a
 * clean text is clean: what a joiner at its beginning or end belongs to may be in another one. */
bool ik_sanitise_is_clean(const char *bytes, size_t len);

/* The same for a reader who sees characters and no screen, as a model does: only sequences
 * are dropped, and U+0080 to U+009F, which begin some. Everything else stays as it is: files have
 * "\r", and a NUL in a result is a fact. */
void ik_sanitise_append_for_reader(ik_buffer_t *out, const char *bytes, size_t len);
bool ik_sanitise_is_clean_for_reader(const char *bytes, size_t len);
