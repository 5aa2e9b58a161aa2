/*
 * Sanitises foreign bytes before they reach a terminal or a model: a VT parser with an allow-list.
 * Printable text, newline and tab are kept. Colours and attributes (SGR) become styles. Everything
 * else that a terminal could obey is dropped: CSI, OSC, DCS, APC, PM and SOS with their contents,
 * other escapes (RIS …), C0 and DEL. U+0080 to U+009F are dropped one by one, without what follows:
 * text in a wrong encoding is full of them. An unterminated sequence is dropped up to a newline or
 * IK_SANITISER_SEQUENCE_MAX bytes; the rest is text again.
 *
 * Invisible characters (invisible.h), noncharacters, and code points from U+10FF00 on, which the
 * editor reserves, are written out as <U+202E>. Joiners and variation selectors are kept where a
 * script or an emoji needs them. Invalid UTF-8, including bare C1 bytes, becomes U+FFFD, one per
 * maximal invalid part. "\r\n" is a newline; "\r" alone is a newline as well, unless the line is
 * still empty.
 *
 * The result does not depend on how the bytes are chunked.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/style.h"

enum { IK_SANITISER_SEQUENCE_MAX = 4096 };

/* text contains whole characters, and no control characters except '\n' and '\t'. */
typedef void (*ik_sanitiser_fn)(void *data, ik_style_t style, const char *text, size_t len);

/* Plain data, nothing to free. The fields are private. */
typedef struct {
    int state;
    bool for_reader; /* see ik_sanitise_append_for_reader */
    bool writes_out; /* see ik_sanitise_write_out */
    ik_style_t style;
    char held[64]; /* an incomplete character, or the parameters of a sequence */
    size_t held_len;
    size_t dropped;    /* bytes of the current sequence */
    bool after_return; /* a '\r' was just shown as a newline */
    int32_t previous;  /* the last character shown */
    int32_t joiner;    /* held back until the next character; 0: none */
} ik_sanitiser_t;

void ik_sanitiser_init(ik_sanitiser_t *sanitiser);
void ik_sanitiser_feed(ik_sanitiser_t *sanitiser, const char *bytes, size_t len,
                       ik_sanitiser_fn on_text, void *data);
/* Ends the text: flushes what is held back. The sanitiser is then ready for another text. */
void ik_sanitiser_end(ik_sanitiser_t *sanitiser, ik_sanitiser_fn on_text, void *data);

/* Sanitises a whole text, without styles. */
void ik_sanitise_append(ik_buffer_t *out, const char *bytes, size_t len);
/* Sanitises a text as one line, on ctx: newlines and tabs become spaces. */
char *ik_sanitise_line(const void *ctx, const char *text);
/* Sanitises a text that the user decides about, on ctx: control characters except newline and tab
 * are written out as <U+001B> instead of dropped, so that nothing in the text stays hidden. */
char *ik_sanitise_write_out(const void *ctx, const char *bytes, size_t len);
/* Whether ik_sanitise_append would change nothing; a cheap check to do first. Any piece of a clean
 * text is clean: joiners at its ends may belong to characters outside it. */
bool ik_sanitise_is_clean(const char *bytes, size_t len);

/* For a reader without a terminal, such as a model: drops only escape sequences and U+0080 to
 * U+009F, which may start one. Invalid UTF-8 is replaced; everything else is kept, including "\r"
 * and NUL. */
void ik_sanitise_append_for_reader(ik_buffer_t *out, const char *bytes, size_t len);
bool ik_sanitise_is_clean_for_reader(const char *bytes, size_t len);
