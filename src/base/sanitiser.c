/*
 * Text takes a fast path: the longest harmless stretch is passed on in one piece, and the character
 * that ends it is examined. Sequences are parsed byte by byte and dropped; the parameters of a CSI
 * are held in case it is SGR.
 */
#include "base/sanitiser.h"

#include <stdio.h>
#include <string.h>

#include "base/invisible.h"
#include "base/sgr.h"
#include "base/utf8.h"

enum { BEL = 0x07, CAN = 0x18, SUB = 0x1a, ESC = 0x1b, DEL = 0x7f, REPLACED = 0xfffd };
enum { C1_LAST = 0x9f, OWN_FIRST = 0x10ff00 };

typedef enum { TEXT, ESCAPE, INTERMEDIATE, CSI, STRING } state_t;

typedef struct {
    ik_sanitiser_t *machine;
    ik_sanitiser_fn on_text;
    void *data;
} feed_t;

/* --- characters -------------------------------------------------------------------------- */

static bool is_shown(const ik_sanitiser_t *machine, int32_t code)
{
    bool is_noncharacter = (code & 0xfffe) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef);
    return code > C1_LAST &&
           (machine->for_reader || (!is_noncharacter && code < OWN_FIRST && !ik_invisible(code)));
}

static bool is_plain(char byte)
{
    return (byte >= ' ' && byte < DEL) || byte == '\n' || byte == '\t';
}

/* The loop over a block has no branches, so that the compiler can vectorise it. */
static size_t count_plain(const char *bytes, size_t len)
{
    enum { BLOCK = 64 };
    size_t n = 0;
    for (; n + BLOCK <= len; n += BLOCK) {
        unsigned char odd = 0;
        for (size_t i = 0; i < BLOCK; i++) {
            odd |= (unsigned char)!is_plain(bytes[n + i]);
        }
        if (odd) {
            break;
        }
    }
    while (n < len && is_plain(bytes[n])) {
        n++;
    }
    return n;
}

/* The number of bytes that are shown unchanged. Sets *last to the last character of them. */
static size_t count_shown(const ik_sanitiser_t *machine, const char *bytes, size_t len,
                          int32_t *last)
{
    size_t n = 0;
    while (n < len) {
        bool shown;
        size_t step;
        if ((unsigned char)bytes[n] <= DEL) {
            step = count_plain(bytes + n, len - n);
            shown = step > 0;
            *last = shown ? bytes[n + step - 1] : *last;
        } else {
            step = ik_utf8_step(bytes + n, len - n, &shown);
            int32_t code = shown ? ik_utf8_decode(bytes + n, step) : 0;
            shown = is_shown(machine, code);
            *last = shown ? code : *last;
        }
        if (!shown) {
            break;
        }
        n += step;
    }
    return n;
}

/* --- showing ----------------------------------------------------------------------------- */

static void show(const feed_t *feed, const char *text, size_t len, int32_t last)
{
    feed->machine->after_return = false;
    feed->machine->previous = last;
    feed->on_text(feed->data, feed->machine->style, text, len);
}

static void show_code(const feed_t *feed, int32_t code)
{
    char text[4];
    show(feed, text, ik_utf8_encode(text, (uint32_t)code), code);
}

static void write_out(const feed_t *feed, int32_t code)
{
    char text[16];
    int len = snprintf(text, sizeof(text), "<U+%04X>", (unsigned)code);
    show(feed, text, (size_t)len, '>');
}

/* Shows or writes out the joiner held back, now that the next character is known (0: none). */
static void settle_joiner(const feed_t *feed, int32_t next)
{
    int32_t joiner = feed->machine->joiner;
    feed->machine->joiner = 0;
    if (joiner != 0) {
        (ik_invisible_fits_before(joiner, next) ? show_code : write_out)(feed, joiner);
    }
}

/* Takes a complete non-ASCII character. */
static void feed_character(const feed_t *feed, int32_t code)
{
    settle_joiner(feed, code);
    if (is_shown(feed->machine, code)) {
        show_code(feed, code);
        return;
    }
    if (code <= C1_LAST) {
        if (feed->machine->writes_out) {
            write_out(feed, code);
        }
        return;
    }
    switch (ik_invisible_after(feed->machine->previous, code)) {
    case IK_INVISIBLE_FITS:
        show_code(feed, code);
        break;
    case IK_INVISIBLE_DEPENDS:
        feed->machine->joiner = code;
        break;
    case IK_INVISIBLE_STRAY:
        write_out(feed, code);
        break;
    }
}

static void feed_invalid(const feed_t *feed)
{
    settle_joiner(feed, 0);
    show(feed, IK_UTF8_REPLACEMENT, sizeof(IK_UTF8_REPLACEMENT) - 1, REPLACED);
}

/* --- sequences --------------------------------------------------------------------------- */

static void begin_sequence(ik_sanitiser_t *machine)
{
    machine->state = ESCAPE;
    machine->held_len = machine->dropped = 0;
    /* no character before the sequence combines with one after it */
    machine->previous = machine->previous == '\n' ? '\n' : 0;
}

static bool is_between(unsigned char byte, unsigned char first, unsigned char last)
{
    return byte >= first && byte <= last;
}

static void hold(ik_sanitiser_t *machine, char byte)
{
    if (machine->held_len < sizeof(machine->held)) {
        machine->held[machine->held_len++] = byte;
    }
}

/* Each of these takes a byte of the sequence, or returns false if the byte cannot belong to it. */

static bool feed_escape(ik_sanitiser_t *machine, unsigned char byte)
{
    if (byte == '[') {
        machine->state = CSI;
    } else if (byte != '\0' && strchr("]PX^_", byte) != NULL) {
        machine->state = STRING;
    } else if (is_between(byte, ' ', '/')) {
        machine->state = INTERMEDIATE;
    } else {
        machine->state = TEXT;
        return is_between(byte, '0', '~');
    }
    return true;
}

/* Parameters that fill `held` may be incomplete, so they are ignored. */
static bool feed_csi(ik_sanitiser_t *machine, unsigned char byte)
{
    if (is_between(byte, ' ', '?')) {
        hold(machine, (char)byte);
        return true;
    }
    if (byte == 'm' && machine->held_len < sizeof(machine->held)) {
        ik_sgr_apply(&machine->style, machine->held, machine->held_len);
    }
    machine->held_len = 0;
    machine->state = TEXT;
    return is_between(byte, '@', '~');
}

/* A string ends with BEL or ST (ESC \ or U+009C). The first byte of U+009C is held. */
static bool feed_string(ik_sanitiser_t *machine, unsigned char byte)
{
    bool is_st = byte == 0x9c && machine->held_len == 1;
    machine->held_len = 0;
    if (byte == 0xc2) {
        hold(machine, (char)byte);
    } else if (byte == BEL || is_st) {
        machine->state = TEXT;
    }
    return true;
}

static bool feed_sequence(ik_sanitiser_t *machine, unsigned char byte)
{
    if (byte == ESC) {
        begin_sequence(machine);
        return true;
    }
    bool cancelled = byte == CAN || byte == SUB;
    if (cancelled || byte == '\n' || machine->dropped++ == IK_SANITISER_SEQUENCE_MAX) {
        machine->state = TEXT;
        machine->held_len = 0;
        return cancelled;
    }
    switch ((state_t)machine->state) {
    case ESCAPE:
        return feed_escape(machine, byte);
    case INTERMEDIATE:
        machine->state = is_between(byte, ' ', '/') ? INTERMEDIATE : TEXT;
        return is_between(byte, ' ', '~');
    case CSI:
        return feed_csi(machine, byte);
    default:
        return feed_string(machine, byte);
    }
}

/* --- text -------------------------------------------------------------------------------- */

/* Takes C0 and DEL. A line overwritten after "\r" is kept, so the "\r" becomes a newline. */
static void feed_control(const feed_t *feed, char byte)
{
    settle_joiner(feed, 0);
    if (feed->machine->writes_out) {
        write_out(feed, byte);
    } else if (byte == ESC) {
        begin_sequence(feed->machine);
    } else if (feed->machine->for_reader) {
        show(feed, &byte, 1, byte);
    } else if (byte == '\r' && feed->machine->previous != '\n') {
        show(feed, "\n", 1, '\n');
        feed->machine->after_return = true;
    }
}

/* Takes what ended a stretch of text and returns its length. */
static size_t feed_odd(const feed_t *feed, const char *bytes, size_t len)
{
    if ((unsigned char)bytes[0] <= DEL) {
        feed_control(feed, bytes[0]);
        return 1;
    }
    bool valid;
    size_t step = ik_utf8_step(bytes, len, &valid);
    if (valid) {
        feed_character(feed, ik_utf8_decode(bytes, step));
    } else if (step == len && is_between((unsigned char)bytes[0], 0xc2, 0xf4)) { /* incomplete */
        memcpy(feed->machine->held, bytes, step);
        feed->machine->held_len = step;
    } else {
        feed_invalid(feed);
    }
    return step;
}

static size_t feed_text(const feed_t *feed, const char *bytes, size_t len)
{
    if (feed->machine->after_return && bytes[0] == '\n') {
        feed->machine->after_return = false;
        return 1;
    }
    int32_t last = 0;
    size_t shown = count_shown(feed->machine, bytes, len, &last);
    if (shown == 0) {
        return feed_odd(feed, bytes, len);
    }
    if (feed->machine->joiner != 0) {
        bool valid;
        settle_joiner(feed, ik_utf8_decode(bytes, ik_utf8_step(bytes, len, &valid)));
    }
    show(feed, bytes, shown, last);
    return shown;
}

/* Adds a byte to the incomplete character. Returns 0 if the byte does not belong to it. */
static size_t feed_held(const feed_t *feed, char byte)
{
    ik_sanitiser_t *machine = feed->machine;
    hold(machine, byte);
    bool valid;
    size_t len = machine->held_len;
    size_t step = ik_utf8_step(machine->held, len, &valid);
    if (!valid && step == len) {
        return 1;
    }
    machine->held_len = 0;
    if (valid) {
        feed_character(feed, ik_utf8_decode(machine->held, len));
        return 1;
    }
    feed_invalid(feed);
    return 0;
}

/* --- interface --------------------------------------------------------------------------- */

void ik_sanitiser_init(ik_sanitiser_t *sanitiser)
{
    /* previous: a text starts like a line */
    *sanitiser = (ik_sanitiser_t){.state = TEXT, .previous = '\n'};
}

void ik_sanitiser_feed(ik_sanitiser_t *sanitiser, const char *bytes, size_t len,
                       ik_sanitiser_fn on_text, void *data)
{
    feed_t feed = {sanitiser, on_text, data};
    for (size_t at = 0; at < len;) {
        if (sanitiser->state != TEXT) {
            at += feed_sequence(sanitiser, (unsigned char)bytes[at]) ? 1 : 0;
        } else if (sanitiser->held_len > 0) {
            at += feed_held(&feed, bytes[at]);
        } else {
            at += feed_text(&feed, bytes + at, len - at);
        }
    }
}

void ik_sanitiser_end(ik_sanitiser_t *sanitiser, ik_sanitiser_fn on_text, void *data)
{
    feed_t feed = {sanitiser, on_text, data};
    if (sanitiser->state == TEXT && sanitiser->held_len > 0) {
        feed_invalid(&feed);
    }
    settle_joiner(&feed, 0);
    ik_sanitiser_t before = *sanitiser;
    ik_sanitiser_init(sanitiser);
    sanitiser->for_reader = before.for_reader;
    sanitiser->writes_out = before.writes_out;
}

/* --- whole texts ------------------------------------------------------------------------- */

static void sanitise(bool for_reader, const char *bytes, size_t len, ik_sanitiser_fn on_text,
                     void *data)
{
    ik_sanitiser_t machine;
    ik_sanitiser_init(&machine);
    machine.for_reader = for_reader;
    ik_sanitiser_feed(&machine, bytes, len, on_text, data);
    ik_sanitiser_end(&machine, on_text, data);
}

static void on_appended(void *data, ik_style_t style, const char *text, size_t len)
{
    (void)style;
    ik_buffer_append(data, text, len);
}

void ik_sanitise_append(ik_buffer_t *out, const char *bytes, size_t len)
{
    sanitise(false, bytes, len, on_appended, out);
}

void ik_sanitise_append_for_reader(ik_buffer_t *out, const char *bytes, size_t len)
{
    sanitise(true, bytes, len, on_appended, out);
}

char *ik_sanitise_line(const void *ctx, const char *text)
{
    ik_buffer_t line;
    ik_buffer_init(&line, ctx, IK_BUFFER_UNLIMITED); /* bounded by the text */
    ik_sanitise_append(&line, text, strlen(text));
    for (size_t i = 0; i < line.len; i++) {
        line.data[i] = line.data[i] == '\n' || line.data[i] == '\t' ? ' ' : line.data[i];
    }
    return ik_buffer_finish(&line);
}

char *ik_sanitise_write_out(const void *ctx, const char *bytes, size_t len)
{
    ik_sanitiser_t machine;
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the text */
    ik_sanitiser_init(&machine);
    machine.writes_out = true;
    ik_sanitiser_feed(&machine, bytes, len, on_appended, &out);
    ik_sanitiser_end(&machine, on_appended, &out);
    return ik_buffer_finish(&out);
}

/* Compares the output with the input. */
typedef struct {
    const char *at;
    size_t left;
    bool same;
} comparison_t;

static void on_compared(void *data, ik_style_t style, const char *text, size_t len)
{
    (void)style;
    comparison_t *rest = data;
    rest->same =
        rest->same && rest->left >= len && (text == rest->at || memcmp(rest->at, text, len) == 0);
    if (rest->same) {
        rest->at += len;
        rest->left -= len;
    }
}

static bool is_same(bool for_reader, const char *bytes, size_t len)
{
    comparison_t rest = {bytes, len, true};
    ik_sanitiser_t machine;
    ik_sanitiser_init(&machine);
    machine.for_reader = for_reader;
    machine.previous = IK_INVISIBLE_ANY;
    ik_sanitiser_feed(&machine, bytes, len, on_compared, &rest);
    settle_joiner(&(feed_t){&machine, on_compared, &rest}, IK_INVISIBLE_ANY);
    ik_sanitiser_end(&machine, on_compared, &rest);
    return rest.same && rest.left == 0;
}

bool ik_sanitise_is_clean(const char *bytes, size_t len)
{
    return is_same(false, bytes, len);
}

bool ik_sanitise_is_clean_for_reader(const char *bytes, size_t len)
{
    return is_same(true, bytes, len);
}
