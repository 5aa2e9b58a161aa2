#include "terminal/decoder.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"
#include "terminal/key_sequence.h"

enum {
    BODY_MAX = 512, /* longer than any sequence we know */
    MOUSE_BYTES = 3,
    ESC = 0x1b,
    BEL = 0x07,
    CAN = 0x18,
    SUB = 0x1a,
    DEL = 0x7f,
};
static const char paste_end[] = "\x1b[201~";

typedef enum {
    GROUND,
    CHARACTER,      /* inside a UTF-8 character */
    ESCAPED,        /* after ESC */
    CSI,            /* after ESC [ */
    CONSOLE,        /* after ESC [ [, the Linux console's prefix of F1 to F5 */
    MOUSE,          /* after ESC [ M, which three bytes of any value follow */
    SS3,            /* after ESC O */
    STRING,         /* inside OSC, DCS, SOS, PM or APC */
    STRING_ESCAPED, /* inside one, after an ESC that may end it */
    PASTE,
} state_t;

struct ik_decoder {
    ik_decoder_fn on_key;
    void *data;
    state_t state;
    bool splits;     /* ESC and a character are two keys */
    bool alt;        /* an ESC precedes: Alt if a key follows, else the Escape key */
    char introducer; /* '[' of CSI, 'O' of SS3, ']' of OSC … */
    char body[BODY_MAX];
    size_t len;       /* bytes in body; in held while CHARACTER; bytes skipped while MOUSE */
    bool overflowing; /* the body does not fit */
    char held[4];
    ik_buffer_t paste;
    size_t matched; /* bytes of paste_end seen and not yet appended to paste */
};

/* --- keys ---------------------------------------------------------------------------------- */

static void emit(ik_decoder_t *decoder, const ik_key_t *key)
{
    decoder->on_key(decoder->data, key);
}

static void emit_key(ik_decoder_t *decoder, ik_key_kind_t kind, unsigned modifiers, uint32_t code)
{
    emit(decoder, &(ik_key_t){.kind = kind, .modifiers = modifiers, .code = code});
}

static void emit_text(ik_decoder_t *decoder, ik_key_kind_t kind, const char *text, size_t len)
{
    emit(decoder, &(ik_key_t){.kind = kind, .text = text, .len = len});
}

static void emit_control(ik_decoder_t *decoder, char byte, unsigned modifiers)
{
    switch (byte) {
    case '\r':
        emit_key(decoder, IK_KEY_ENTER, modifiers, 0);
        break;
    case '\t':
        emit_key(decoder, IK_KEY_TAB, modifiers, 0);
        break;
    case '\b':
    case DEL:
        emit_key(decoder, IK_KEY_BACKSPACE, modifiers, 0);
        break;
    case '\0':
        emit_key(decoder, IK_KEY_CHAR, modifiers | IK_KEY_CTRL, ' ');
        break;
    default: /* 1 is Ctrl-A … 31 is Ctrl-_ */
        emit_key(decoder, IK_KEY_CHAR, modifiers | IK_KEY_CTRL,
                 (uint32_t)byte + (byte <= 26 ? 'a' - 1 : '@'));
    }
}

static void enter(ik_decoder_t *decoder, state_t state)
{
    decoder->state = state;
    decoder->len = 0;
    decoder->overflowing = false;
}

static void enter_ground(ik_decoder_t *decoder)
{
    enter(decoder, GROUND);
    decoder->alt = false;
}

/* --- text ---------------------------------------------------------------------------------- */

static bool is_control(char byte)
{
    return (unsigned char)byte < 0x20 || byte == DEL;
}

/* U+0080 to U+009F. */
static bool is_c1(const char *character, size_t len)
{
    return len == 2 && character[0] == '\xc2' && (unsigned char)character[1] < 0xa0;
}

/* Length of the complete printable characters that bytes begins with. */
static size_t measure_text(const char *bytes, size_t len)
{
    size_t i = 0;
    while (i < len && !is_control(bytes[i])) {
        bool valid;
        size_t step = ik_utf8_step(bytes + i, len - i, &valid);
        if (!valid || is_c1(bytes + i, step)) {
            break;
        }
        i += step;
    }
    return i;
}

static size_t feed_ground(ik_decoder_t *decoder, const char *bytes, size_t len)
{
    size_t text = measure_text(bytes, len);
    if (text > 0) {
        emit_text(decoder, IK_KEY_TEXT, bytes, text);
        return text;
    }
    if (bytes[0] == ESC) {
        enter(decoder, ESCAPED);
        return 1;
    }
    if (is_control(bytes[0])) {
        emit_control(decoder, bytes[0], 0);
        return 1;
    }
    enter(decoder, CHARACTER);
    return 0;
}

static void emit_character(ik_decoder_t *decoder, const char *bytes, size_t len)
{
    if (is_c1(bytes, len)) {
        return;
    }
    if (decoder->alt) {
        emit_key(decoder, IK_KEY_CHAR, IK_KEY_ALT, (uint32_t)ik_utf8_decode(bytes, len));
    } else {
        emit_text(decoder, IK_KEY_TEXT, bytes, len);
    }
}

/* Adds a byte to an incomplete or invalid character. */
static size_t feed_character(ik_decoder_t *decoder, char byte)
{
    bool valid;
    decoder->held[decoder->len++] = byte;
    size_t step = ik_utf8_step(decoder->held, decoder->len, &valid);
    unsigned char first = (unsigned char)decoder->held[0];
    size_t whole = first < 0xc2 || first > 0xf4 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (!valid && step == decoder->len && decoder->len < whole) {
        return 1;
    }
    if (valid) {
        emit_character(decoder, decoder->held, decoder->len);
    } else {
        emit_text(decoder, IK_KEY_TEXT, IK_UTF8_REPLACEMENT, 3);
    }
    size_t taken = step == decoder->len ? 1 : 0; /* else the byte starts something new */
    enter_ground(decoder);
    return taken;
}

/* --- sequences ----------------------------------------------------------------------------- */

/* The preceding ESC turned out to be the Escape key. */
static void emit_held_escape(ik_decoder_t *decoder)
{
    if (decoder->alt) {
        emit_key(decoder, IK_KEY_ESCAPE, 0, 0);
    }
}

static size_t feed_escaped(ik_decoder_t *decoder, char byte)
{
    if (byte == ESC) {
        emit_held_escape(decoder);
        decoder->alt = true;
        return 1;
    }
    const char *introducers = decoder->splits ? "[O]P_" : "[O]PX^_"; /* no reply begins with X^ */
    if (byte != '\0' && strchr(introducers, byte) != NULL) {
        enter(decoder, byte == '[' ? CSI : byte == 'O' ? SS3 : STRING);
        decoder->introducer = byte;
        return 1;
    }
    emit_held_escape(decoder);
    bool named = byte != '\0' && strchr("\r\n\t\b\x7f", byte) != NULL; /* as Alt-Enter */
    if (decoder->splits && !named) {
        emit_key(decoder, IK_KEY_ESCAPE, 0, 0);
        enter_ground(decoder);
        return 0;
    }
    decoder->alt = true;
    if ((unsigned char)byte >= 0x80) {
        enter(decoder, CHARACTER);
        return 0;
    }
    if (is_control(byte)) {
        emit_control(decoder, byte, IK_KEY_ALT);
    } else {
        emit_character(decoder, &byte, 1);
    }
    enter_ground(decoder);
    return 1;
}

static void keep(ik_decoder_t *decoder, const char *bytes, size_t len)
{
    if (len > sizeof(decoder->body) - decoder->len) {
        decoder->overflowing = true;
        return;
    }
    memcpy(decoder->body + decoder->len, bytes, len);
    decoder->len += len;
}

/* '$' is the final byte of rxvt's "CSI 7 $" (Shift-Home); elsewhere a final byte follows it. */
static bool is_final_dollar(const ik_decoder_t *decoder, char byte)
{
    size_t digits = 0;
    while (digits < decoder->len && decoder->body[digits] >= '0' && decoder->body[digits] <= '9') {
        digits++;
    }
    return byte == '$' && digits > 0 && digits == decoder->len;
}

static void emit_found(ik_decoder_t *decoder, ik_key_t *key)
{
    if (ik_key_is_pressed(key)) {
        key->modifiers |= decoder->alt ? IK_KEY_ALT : 0;
    } else {
        emit_held_escape(decoder);
    }
    emit(decoder, key);
}

static void finish_sequence(ik_decoder_t *decoder, char final)
{
    ik_key_sequence_t found = {0};
    bool csi = decoder->state == CSI;
    bool is_200 = decoder->len == 3 && memcmp(decoder->body, "200", 3) == 0;
    if (csi && final == '~' && is_200) {
        emit_held_escape(decoder);
        enter_ground(decoder);
        decoder->state = PASTE;
        return;
    }
    bool known = !decoder->overflowing &&
                 (csi ? ik_key_sequence_parse_csi
                      : ik_key_sequence_parse_ss3)(decoder->body, decoder->len, final, &found);
    if (known) {
        emit_found(decoder, &found.key);
    }
    enter_ground(decoder);
}

/* A control character or a non-ASCII byte ends an unfinished sequence. */
static bool aborts_sequence(char byte)
{
    return is_control(byte) || (unsigned char)byte >= 0x80;
}

static size_t feed_csi(ik_decoder_t *decoder, char byte)
{
    if (aborts_sequence(byte)) {
        enter_ground(decoder);
        return 0;
    }
    if (decoder->len == 0 && (byte == '[' || byte == 'M')) {
        enter(decoder, byte == '[' ? CONSOLE : MOUSE);
    } else if (byte >= '@' || is_final_dollar(decoder, byte)) {
        finish_sequence(decoder, byte);
    } else {
        keep(decoder, &byte, 1);
    }
    return 1;
}

/* The introducer turned out to be typed after the Escape key. */
static void emit_split(ik_decoder_t *decoder)
{
    emit_held_escape(decoder);
    emit_key(decoder, IK_KEY_ESCAPE, 0, 0);
    emit_text(decoder, IK_KEY_TEXT, &decoder->introducer, 1);
    enter_ground(decoder);
}

static size_t feed_ss3(ik_decoder_t *decoder, char byte)
{
    ik_key_sequence_t found;
    bool parameter = byte == ';' || (byte >= '0' && byte <= '9');
    if (decoder->splits && decoder->len == 0 && !parameter &&
        (aborts_sequence(byte) || !ik_key_sequence_parse_ss3("", 0, byte, &found))) {
        emit_split(decoder);
        return 0;
    }
    if (aborts_sequence(byte)) {
        enter_ground(decoder);
        return 0;
    }
    if (parameter) {
        keep(decoder, &byte, 1);
    } else {
        finish_sequence(decoder, byte);
    }
    return 1;
}

static size_t feed_console(ik_decoder_t *decoder, char byte)
{
    unsigned modifiers = decoder->alt ? IK_KEY_ALT : 0;
    enter_ground(decoder);
    if (aborts_sequence(byte)) {
        return 0;
    }
    if (byte >= 'A' && byte <= 'E') {
        emit_key(decoder, IK_KEY_FUNCTION, modifiers, (uint32_t)(byte - 'A' + 1));
    }
    return 1;
}

static void finish_string(ik_decoder_t *decoder)
{
    ik_key_sequence_t found = {0};
    if (!decoder->overflowing &&
        ik_key_sequence_parse_string(decoder->introducer, decoder->body, decoder->len, &found)) {
        emit_found(decoder, &found.key);
    }
    enter_ground(decoder);
}

/* Every DCS that a terminal sends begins with a sign or a digit, every APC with the G of the kitty
 * graphics protocol. */
static bool is_typed(const ik_decoder_t *decoder, char byte)
{
    bool first = decoder->len == 0 && !decoder->overflowing;
    const char *begins = decoder->introducer == 'P' ? ">!0123456789" : "G";
    return decoder->splits && decoder->introducer != ']' && first &&
           (byte == '\0' || strchr(begins, byte) == NULL);
}

static size_t feed_string(ik_decoder_t *decoder, const char *bytes, size_t len)
{
    if (is_typed(decoder, bytes[0])) {
        emit_split(decoder);
        return 0;
    }
    size_t i = 0;
    while (i < len && bytes[i] != ESC && bytes[i] != BEL && bytes[i] != CAN && bytes[i] != SUB) {
        i++;
    }
    keep(decoder, bytes, i);
    if (i == len) {
        return len;
    }
    if (bytes[i] == ESC) {
        decoder->state = STRING_ESCAPED;
    } else if (bytes[i] != BEL) {
        enter_ground(decoder);
    } else if (decoder->introducer == ']') {
        finish_string(decoder);
    }
    return i + 1;
}

static size_t feed_string_escaped(ik_decoder_t *decoder, char byte)
{
    if (byte == '\\') {
        finish_string(decoder);
        return 1;
    }
    if (byte == ESC) {
        return 1;
    }
    enter_ground(decoder);
    enter(decoder, ESCAPED);
    return 0;
}

/* --- paste --------------------------------------------------------------------------------- */

static void flush_paste(ik_decoder_t *decoder)
{
    if (decoder->paste.len > 0) {
        emit_text(decoder, IK_KEY_PASTE, decoder->paste.data, decoder->paste.len);
    }
    ik_buffer_reset(&decoder->paste);
}

static void append_paste(ik_decoder_t *decoder, const char *bytes, size_t len)
{
    while (len > 0) {
        size_t room = IK_DECODER_PASTE_MAX - decoder->paste.len;
        size_t part = len < room ? len : room;
        ik_buffer_append(&decoder->paste, bytes, part);
        bytes += part;
        len -= part;
        if (part == room) {
            flush_paste(decoder);
        }
    }
}

/* Everything up to the complete end marker is data. */
static size_t feed_paste(ik_decoder_t *decoder, const char *bytes, size_t len)
{
    if (decoder->matched == 0 && bytes[0] != ESC) {
        const char *escape = memchr(bytes, ESC, len);
        size_t data = escape == NULL ? len : (size_t)(escape - bytes);
        append_paste(decoder, bytes, data);
        return data;
    }
    if (bytes[0] != paste_end[decoder->matched]) {
        append_paste(decoder, paste_end, decoder->matched);
        decoder->matched = 0;
        return 0;
    }
    decoder->matched++;
    if (decoder->matched == strlen(paste_end)) {
        decoder->matched = 0;
        enter_ground(decoder);
        flush_paste(decoder);
    }
    return 1;
}

/* --- interface ----------------------------------------------------------------------------- */

ik_decoder_t *ik_decoder_create(const void *ctx, ik_decoder_fn on_key, void *data)
{
    ik_decoder_t *decoder = ik_new(ctx, ik_decoder_t);
    decoder->on_key = on_key;
    decoder->data = data;
    ik_buffer_init(&decoder->paste, decoder, IK_DECODER_PASTE_MAX);
    return decoder;
}

void ik_decoder_split_alt(ik_decoder_t *decoder)
{
    decoder->splits = true;
}

/* Returns how many bytes were consumed. If none were, the state has changed. */
static size_t feed_some(ik_decoder_t *decoder, const char *bytes, size_t len)
{
    switch (decoder->state) {
    case GROUND:
        return feed_ground(decoder, bytes, len);
    case CHARACTER:
        return feed_character(decoder, bytes[0]);
    case ESCAPED:
        return feed_escaped(decoder, bytes[0]);
    case CSI:
        return feed_csi(decoder, bytes[0]);
    case CONSOLE:
        return feed_console(decoder, bytes[0]);
    case MOUSE:
        if (++decoder->len == MOUSE_BYTES) {
            enter_ground(decoder);
        }
        return 1;
    case SS3:
        return feed_ss3(decoder, bytes[0]);
    case STRING:
        return feed_string(decoder, bytes, len);
    case STRING_ESCAPED:
        return feed_string_escaped(decoder, bytes[0]);
    case PASTE:
        return feed_paste(decoder, bytes, len);
    }
    PANIC("no such state: %d", decoder->state);
}

void ik_decoder_feed(ik_decoder_t *decoder, const char *bytes, size_t len)
{
    while (len > 0) {
        size_t taken = feed_some(decoder, bytes, len);
        bytes += taken;
        len -= taken;
    }
}

bool ik_decoder_is_waiting(const ik_decoder_t *decoder)
{
    return decoder->state != GROUND && decoder->state != CHARACTER && decoder->state != PASTE;
}

void ik_decoder_expire(ik_decoder_t *decoder)
{
    bool introduced = decoder->state == CSI || decoder->state == SS3 || decoder->state == STRING;
    if (!ik_decoder_is_waiting(decoder)) {
        return;
    }
    if (decoder->state == ESCAPED) {
        emit_held_escape(decoder);
        emit_key(decoder, IK_KEY_ESCAPE, 0, 0);
    } else if (introduced && decoder->len == 0 && !decoder->overflowing) {
        if (decoder->splits) {
            emit_split(decoder);
        } else {
            emit_held_escape(decoder);
            emit_key(decoder, IK_KEY_CHAR, IK_KEY_ALT, (uint32_t)decoder->introducer);
        }
    }
    enter_ground(decoder);
}
