/*
 * Input bytes and the keys they decode to, in a short notation: 'text', C-a, M-C-x, S-Up, F5,
 * paste[…], and after " | " the keys when the timer fires. Every row is fed whole, byte by byte and
 * split at every byte; the keys must be the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "suite.h"
#include "terminal/decoder.h"

#define LEN(array) (sizeof(array) / sizeof((array)[0]))
#define B(text) text, sizeof(text) - 1

typedef struct {
    const char *bytes;
    size_t len;
    const char *keys;
} row_t;

static const row_t text_rows[] = {
    {B("hello, world"), "'hello, world'"},
    {B("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x99\x82"),
     "'gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x99\x82'"},
    {B("a\rb"), "'a' Enter 'b'"},
    /* Each maximal invalid part is replaced (the WHATWG practice). */
    {B("a\xff"
       "b"),
     "'a\xef\xbf\xbd"
     "b'"},
    {B("\xe2\x82"
       "x"),
     "'\xef\xbf\xbdx'"},
    {B("\xe2\xe2\x82\xac"), "'\xef\xbf\xbd\xe2\x82\xac'"},
    {B("\xc0\xaf"), "'\xef\xbf\xbd\xef\xbf\xbd'"},
    {B("\xed\xa0\x80"), "'\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd'"},
    {B("\xf4\x90\x80\x80"), "'\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd'"},
    {B("\xe2\x82\r"), "'\xef\xbf\xbd' Enter"},
    {B("\xf0\x9f\x1b[A"), "'\xef\xbf\xbd' Up"},
    /* C1 controls are not printable. */
    {B("a\xc2\x9b"
       "5b"),
     "'a5b'"},
    {B("a\xc2\x85\xc2\xa0"), "'a\xc2\xa0'"},
    /* An incomplete character waits for the rest, not for the timer. */
    {B("a\xe2\x82"), "'a'"},
};

static const row_t control_rows[] = {
    {B("\x01\x02\x1a"), "C-a C-b C-z"},
    {B("\x03\x04\x07"), "C-c C-d C-g"},
    {B("\0"), "C-space"},
    {B("\x1c\x1d\x1e\x1f"), "C-\\ C-] C-^ C-_"},
    {B("\r\n"), "Enter C-j"},
    {B("\t\x7f\x08"), "Tab Backspace Backspace"},
    {B("\x1b"), " | Escape"},
    {B("\x1b\x1b"), " | Escape Escape"},
    {B("\x1b\x1b\x1b"), "Escape | Escape Escape"},
    {B("\x1b"
       "f"),
     "M-f"},
    {B("\x1b"
       "F\x1b "),
     "M-F M-space"},
    {B("\x1b\r\x1b\n\x1b\t\x1b\x7f\x1b\b"), "M-Enter M-C-j M-Tab M-Backspace M-Backspace"},
    {B("\x1b\x06\x1b\0"), "M-C-f M-C-space"},
    {B("\x1b\xc3\xbc"), "M-u+fc"},
    {B("\x1b\xf0\x9f\x99\x82x"), "M-u+1f642 'x'"},
    {B("\x1b\xff"), "'\xef\xbf\xbd'"},
    {B("\x1b\xc2\x9b"), ""},
    {B("\x1b\x1bx"), "Escape M-x"},
    {B("\x1b\x1b\r"), "Escape M-Enter"},
    {B("\x1b["), " | M-["},
    {B("\x1bO"), " | M-O"},
    {B("\x1b]\x1b"), " | "}, /* an unfinished string with an ESC in it */
    {B("\x1bP"), " | M-P"},
    {B("\x1b_"), " | M-_"},
    {B("\x1b\x1b["), " | Escape M-["},
    {B("\x1b\\"), "M-\\"},
};

static const row_t cursor_rows[] = {
    {B("\x1b[A\x1b[B\x1b[C\x1b[D"), "Up Down Right Left"},
    {B("\x1bOA\x1bOB\x1bOC\x1bOD"), "Up Down Right Left"},
    {B("\x1b[H\x1b[F\x1bOH\x1bOF"), "Home End Home End"},
    {B("\x1b[1~\x1b[4~\x1b[7~\x1b[8~"), "Home End Home End"},
    {B("\x1b[2~\x1b[3~\x1b[5~\x1b[6~"), "Insert Delete PageUp PageDown"},
    {B("\x1b[1;2A\x1b[1;3A\x1b[1;5A\x1b[1;6A\x1b[1;8A"), "S-Up M-Up C-Up C-S-Up M-C-S-Up"},
    {B("\x1b[1;5C\x1b[1;5D"), "C-Right C-Left"},
    {B("\x1b[3;5~\x1b[5;2~\x1b[6;3~"), "C-Delete S-PageUp M-PageDown"},
    {B("\x1b[1;33A"), "M-Up"},             /* Meta */
    {B("\x1b[1;9A\x1b[1;17A"), ""},        /* Super and Hyper belong to the window manager */
    {B("\x1b[1;65A\x1b[1;129A"), "Up Up"}, /* Caps Lock, Num Lock */
    {B("\x1b[1;1:1A\x1b[1;1:2A\x1b[1;1:3A"), "Up Up"}, /* pressed, repeated, released */
    {B("\x1b[Z\x1b[1;5Z"), "S-Tab C-S-Tab"},
    {B("\x1b\x1b[A\x1b\x1bOC\x1b\x1b[3~"), "M-Up M-Right M-Delete"},
    {B("\x1bO5A\x1bO1;5A"), "C-Up C-Up"},
    {B("\x1b[a\x1b[b\x1bOa\x1bOd"), "S-Up S-Down C-Up C-Left"}, /* rxvt */
    {B("\x1b[7$\x1b[8^\x1b[3@\x1b[5$x"), "S-Home C-End C-S-Delete S-PageUp 'x'"},
    {B("\x1b[12;7R"), ""}, /* a cursor position report */
};

static const row_t function_rows[] = {
    {B("\x1bOP\x1bOQ\x1bOR\x1bOS"), "F1 F2 F3 F4"},
    {B("\x1b[P\x1b[Q\x1b[R\x1b[S"), "F1 F2 F3 F4"},
    {B("\x1b[1;2P\x1b[1;5R"), "S-F1 C-F3"},
    {B("\x1b[[A\x1b[[B\x1b[[C\x1b[[D\x1b[[E"), "F1 F2 F3 F4 F5"},
    {B("\x1b[11~\x1b[12~\x1b[13~\x1b[14~\x1b[15~"), "F1 F2 F3 F4 F5"},
    {B("\x1b[17~\x1b[18~\x1b[19~\x1b[20~\x1b[21~"), "F6 F7 F8 F9 F10"},
    {B("\x1b[23~\x1b[24~\x1b[25~\x1b[26~\x1b[28~\x1b[29~"), "F11 F12 F13 F14 F15 F16"},
    {B("\x1b[31~\x1b[34~\x1b[15;5~\x1b[24;2~"), "F17 F20 C-F5 S-F12"},
    {B("\x1b[16~\x1b[22~\x1b[99~\x1b[~"), ""},
    {B("\x1b\x1b[[A\x1b[[Z"), "M-F1"},
    {B("\x1b[[\rx\x1b[["), "Enter 'x' | "},
    {B("\x1bOM\x1bOI\x1bOp\x1bOy\x1bOk\x1bOX\x1bO "), "Enter Tab '09+= '"}, /* keypad */
    {B("\x1bO5k"), "C-+"},
};

static const row_t kitty_rows[] = {
    {B("\x1b[13;2u\x1b[13;5u\x1b[13u"), "S-Enter C-Enter Enter"},
    {B("\x1b[27u\x1b[9;2u\x1b[127;5u"), "Escape S-Tab C-Backspace"},
    {B("\x1b[97;5u\x1b[97;6u\x1b[97;3u\x1b[97;7u"), "C-a C-S-a M-a M-C-a"},
    {B("\x1b[97;4u\x1b[97:65;4u"), "M-A M-A"},
    {B("\x1b[44:60;4u\x1b[44;4u"),
     "M-< M-S-,"}, /* without the shifted character the modifier stays */
    {B("\x1b[45:95;6u\x1b[47;5u\x1b[32;5u\x1b[50:64;6u"), "C-_ C-_ C-space C-space"},
    {B("\x1b[105;5u\x1b[109;5u\x1b[91;5u\x1b[104;5u\x1b[106;5u"), "Tab Enter Escape Backspace C-j"},
    {B("\x1b[109;7u\x1b[105;6u"), "M-Enter C-S-i"},
    {B("\x1b[1089::99;5u\x1b[1057:1057:99;6u\x1b[1089;5u"), "C-c C-S-c C-u+441"},
    {B("\x1b[1089::99;3u"), "M-u+441"},
    {B("\x1b[97u\x1b[97;2u\x1b[49:33;2u\x1b[228;;228u"), "'aA!\xc3\xa4'"},
    {B("\x1b[97;;97:98:8364u\x1b[0;;229u"), "'ab\xe2\x82\xac\xc3\xa5'"},
    {B("\x1b[97;5;97u"), "C-a"},
    {B("\x1b[97;;27:155u"), "'a'"}, /* no control characters in the text */
    {B("\x1b[97;5:1u\x1b[97;5:2u\x1b[97;5:3u"), "C-a C-a"},
    {B("\x1b[99;9u\x1b[99;17u"), ""},
    {B("\x1b[57399u\x1b[57408u\x1b[57413u\x1b[57414u\x1b[57414;2u"), "'09+' Enter S-Enter"},
    {B("\x1b[57417u\x1b[57420;5u\x1b[57421u\x1b[57426u"), "Left C-Down PageUp Delete"},
    {B("\x1b[57376u\x1b[57387;5u\x1b[57388u"), "F13 C-F24"},
    {B("\x1b[57358u\x1b[57441u\x1b[57428u"), ""}, /* Caps Lock, Shift, play */
    {B("\x1b[99999999999999999999u\x1b[u\x1b[1u\x1b[55296u"), ""},
    {B("\x1b\x1b[97;5u"), "M-C-a"},
};

static const row_t other_key_rows[] = {
    {B("\x1b[27;2;13~\x1b[27;5;13~\x1b[27;3;13~"), "S-Enter C-Enter M-Enter"},
    {B("\x1b[27;5;97~\x1b[27;6;65~\x1b[27;4;65~\x1b[27;3;97~"), "C-a C-S-a M-A M-a"},
    {B("\x1b[27;6;95~\x1b[27;4;60~\x1b[27;5;47~"), "C-_ M-< C-_"},
    {B("\x1b[27;5;9~\x1b[27;2;127~\x1b[27;2;65~\x1b[27;2;33~"), "C-Tab S-Backspace 'A!'"},
    {B("\x1b[27;5~\x1b[27~"), ""},
};

static const row_t paste_rows[] = {
    {B("\x1b[200~hello\x1b[201~x"), "paste[hello] 'x'"},
    {B("\x1b[200~a\x1b[A\r\n\0\xff\x1b[20\x1b[201\x1b[201~"), "paste[a^[[A^M^J^@\xff^[[20^[[201]"},
    {B("\x1b[200~\x1b\x1b[201~"), "paste[^[]"},
    {B("\x1b[200~\x1b[200~\x1b[201~"), "paste[^[[200~]"},
    {B("\x1b[200~\x1b[201~x"), "'x'"},
    {B("\x1b[200~never ending\x1b[201"), ""},
    {B("\x1b[201~x"), "'x'"},
    {B("\x1b\x1b[200~p\x1b[201~"), "Escape paste[p]"},
};

static const row_t answer_rows[] = {
    {B("\x1b[I\x1b[O"), "focus unfocus"},
    {B("\x1b[?62;22c\x1b[?c"), "attributes attributes"},
    {B("\x1b_Gi=31;OK\x1b\\\x1b_Gi=31;EINVAL:no\x1b\\x"), "graphics31=1 graphics31=0 'x'"},
    {B("\x1b_Gi=1;\x1b\\\x1b_G\x1b\\\x1b_x\x1b\\"), "graphics1=0"},
    {B("\x1b[?1u\x1b[?0u"), "kitty=1 kitty=0"},
    {B("\x1b[?2026;2$y\x1b[?2026;1$y\x1b[?2027;9$y\x1b[?5y"), "mode2026=2 mode2026=1"},
    {B("\x1b]11;rgb:1e1e/1E1E/2e2e\x07"), "background=1e1e2e"},
    {B("\x1b]11;rgb:ffff/8080/0000\x1b\\x"), "background=ff8000 'x'"},
    {B("\x1b]11;rgb:ff/80/00\x07\x1b]11;rgb:f/8/0\x07"), "background=ff8000 background=ff8800"},
    {B("\x1b]11;rgba:1000/2000/3000/ffff\x1b\\"), "background=0f1f2f"},
    {B("\x1b]11;rgb:12/34\x07\x1b]11;rgb:12345/1/1\x07\x1b]11;?\x07\x1b]11;rgb:1/2/3x\x07"), ""},
    {B("\x1b]11;rgb://\x07\x1b]10;rgb:1/2/3\x07\x1b]11\x07"), ""},
    {B("\x1bP>|XTerm(370)\x1b\\"), "version[XTerm(370)]"},
    {B("\x1bP>|\x1b\\"), "version[]"},
    {B("\x1b\x1b[?1u\x1b\x1b[I"), "Escape kitty=1 Escape focus"}, /* Esc, then a reply */
    {B("\x1b\x1bP>|x\x1b\\"), "Escape version[x]"},
};

static const row_t dropped_rows[] = {
    {B("\x1b]0;a title\x07x"), "'x'"},
    {B("\x1b]52;c;aGVs\x1b\\x"), "'x'"},
    {B("\x1bP1$r0m\x1b\\x\x1b_Ga=1;OK\x1b\\y\x1b^z\x1b\\\x1bXs\x07s\x1b\\"), "'xy'"},
    {B("\x1b]0;a\rb\nc\td\x07x"), "'x'"},
    {B("\x1bPa\x07"
       "b\x1b\\x"),
     "'x'"}, /* BEL ends an OSC only */
    {B("\x1b]0;a\x18x\x1b]0;b\x1ay"), "'xy'"},
    {B("\x1b]0;a\x1b[Bx"), "Down 'x'"},
    {B("\x1b]0;a\x1b\x1b\\x"), "'x'"},
    {B("\x1b]0;a\x1b"
       "fx"),
     "M-f 'x'"},
    {B("\x1b]11;rgb:1/2"), " | "},
    {B("\x1b[<35;10;20M\x1b[<0;1;1mx"), "'x'"}, /* unsolicited mouse reports */
    {B("\x1b[M\x1b[Ax"), "'x'"},
    {B("\x1b[M !"), " | "},
    {B("\x1b[48;24;80;0;0t\x1b[?997;1nx\x1b[>0;1;2c"), "'x'"},
    {B("\x1b[1;5"), " | "},
    {B("\x1b[1;\r"), "Enter"},
    {B("\x1b[1\x1b[A"), "Up"},
    {B("\x1b[1\xc3\xbc"), "'\xc3\xbc'"},
    {B("\x1b[1\x7f\x1bO\x03"), "Backspace C-c"},
    {B("\x1bO1"), " | "},
    {B("\x1b[5 q\x1b[?25$p\x1b[!px\x1b[1?A"), "'x'"},
    {B("\x1bO!x\x1bOzx\x1bOE"), "'xx'"},
};

/* With split Alt, as vi keys need it. */
static const row_t split_rows[] = {
    {B("\x1b"), " | Escape"},
    {B("\x1b"
       "k"),
     "Escape 'k'"},
    {B("\x1b"
       "0dwx"),
     "Escape '0dwx'"},
    {B("\x1b\x1b"), " | Escape Escape"},
    {B("\x1b\x1bx"), "Escape Escape 'x'"},
    {B("\x1b\xc3\xbc"), "Escape '\xc3\xbc'"},
    {B("\x1b\xff"), "Escape '\xef\xbf\xbd'"},
    {B("\x1b^x\x1bX\x1b_"), "Escape '^x' Escape 'X' | Escape '_'"},
    {B("\x1b_x\x1b_Gi=7;OK\x1b\\"), "Escape '_x' graphics7=1"},
    {B("\x1bO"), " | Escape 'O'"},
    {B("\x1bO|\x1bO\r\x1bO\xc3\xbc"), "Escape 'O|' Escape 'O' Enter Escape 'O\xc3\xbc'"},
    {B("\x1bP"), " | Escape 'P'"},
    {B("\x1bPx\x1bP\x1b"), "Escape 'Px' Escape 'P' | Escape"},
    {B("\x1bP>|x(1)\x1b\\"), "version[x(1)]"},
    {B("\x1bP1$r0m\x1b\\x"), "'x'"},
    {B("\x1b["), " | Escape '['"},
    {B("\x1b[A\x1bOB\x1b[3~"), "Up Down Delete"},
    {B("\x1b\x1b[A"), "M-Up"},
    {B("\x1b\r\x1b\x7f\x1b\x06"), "M-Enter M-Backspace Escape C-f"},
    {B("\x1b[97;3u"), "M-a"},
    {B("\x1b]11;rgb:ffff/ffff/ffff\x07x"), "background=ffffff 'x'"},
    {B("\x1b]0;a\x1b"
       "fx"),
     "Escape 'fx'"},
};

static void *ctx;
static bool splits;

/* --- the notation -------------------------------------------------------------------------- */

typedef struct {
    ik_buffer_t log;
    bool in_text;
    size_t pastes;
    size_t paste_bytes;
} listener_t;

static const char *const names[] = {
    [IK_KEY_ENTER] = "Enter",
    [IK_KEY_TAB] = "Tab",
    [IK_KEY_BACKSPACE] = "Backspace",
    [IK_KEY_ESCAPE] = "Escape",
    [IK_KEY_UP] = "Up",
    [IK_KEY_DOWN] = "Down",
    [IK_KEY_LEFT] = "Left",
    [IK_KEY_RIGHT] = "Right",
    [IK_KEY_HOME] = "Home",
    [IK_KEY_END] = "End",
    [IK_KEY_PAGE_UP] = "PageUp",
    [IK_KEY_PAGE_DOWN] = "PageDown",
    [IK_KEY_INSERT] = "Insert",
    [IK_KEY_DELETE] = "Delete",
    [IK_KEY_FOCUS_IN] = "focus",
    [IK_KEY_FOCUS_OUT] = "unfocus",
    [IK_KEY_ATTRIBUTES] = "attributes",
};

static void end_text(listener_t *listener)
{
    if (listener->in_text) {
        ik_buffer_append_byte(&listener->log, '\'');
    }
    listener->in_text = false;
}

static void log_text(listener_t *listener, const ik_key_t *key)
{
    ck_assert(key->len > 0 && key->modifiers == 0);
    if (!listener->in_text) {
        ik_buffer_append_text(&listener->log, listener->log.len > 0 ? " '" : "'");
    }
    ik_buffer_append(&listener->log, key->text, key->len);
    listener->in_text = true;
}

static void log_foreign(ik_buffer_t *log, const char *label, const ik_key_t *key)
{
    ik_buffer_append_format(log, "%s[", label);
    for (size_t i = 0; i < key->len; i++) {
        unsigned char byte = (unsigned char)key->text[i];
        if (byte < 0x20) {
            ik_buffer_append_byte(log, '^');
        }
        ik_buffer_append_byte(log, (char)(byte < 0x20 ? byte + '@' : byte));
    }
    ik_buffer_append_byte(log, ']');
}

static void log_char(ik_buffer_t *log, uint32_t code)
{
    if (code == ' ') {
        ik_buffer_append_text(log, "space");
    } else if (code < 0x80) {
        ik_buffer_append_byte(log, (char)code);
    } else {
        ik_buffer_append_format(log, "u+%x", (unsigned)code);
    }
}

static void log_key(ik_buffer_t *log, const ik_key_t *key)
{
    ik_buffer_append_text(log, log->len > 0 ? " " : "");
    ik_buffer_append_text(log, (key->modifiers & IK_KEY_ALT) != 0 ? "M-" : "");
    ik_buffer_append_text(log, (key->modifiers & IK_KEY_CTRL) != 0 ? "C-" : "");
    ik_buffer_append_text(log, (key->modifiers & IK_KEY_SHIFT) != 0 ? "S-" : "");
    switch (key->kind) {
    case IK_KEY_CHAR:
        log_char(log, key->code);
        break;
    case IK_KEY_PASTE:
        log_foreign(log, "paste", key);
        break;
    case IK_KEY_VERSION:
        log_foreign(log, "version", key);
        break;
    case IK_KEY_FUNCTION:
        ik_buffer_append_format(log, "F%u", (unsigned)key->code);
        break;
    case IK_KEY_KITTY:
        ik_buffer_append_format(log, "kitty=%u", (unsigned)key->code);
        break;
    case IK_KEY_MODE:
        ik_buffer_append_format(log, "mode%u=%d", (unsigned)key->code, key->value);
        break;
    case IK_KEY_GRAPHICS:
        ik_buffer_append_format(log, "graphics%u=%d", (unsigned)key->code, key->value);
        break;
    case IK_KEY_BACKGROUND:
        ik_buffer_append_format(log, "background=%06x", (unsigned)key->code);
        break;
    default:
        ik_buffer_append_text(log, names[key->kind]);
    }
}

static void on_key(void *data, const ik_key_t *key)
{
    listener_t *listener = data;
    if (key->kind == IK_KEY_TEXT) {
        log_text(listener, key);
    } else {
        end_text(listener);
        log_key(&listener->log, key);
    }
}

/* --- feeding ------------------------------------------------------------------------------- */

static void set_up(void)
{
    ctx = talloc_new(NULL);
    splits = false;
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* Copies each piece, so that ASan sees reads beyond its end. */
static void feed(ik_decoder_t *decoder, const char *bytes, size_t len)
{
    char *piece = malloc(len == 0 ? 1 : len);
    memcpy(piece, bytes, len);
    ik_decoder_feed(decoder, piece, len);
    free(piece);
}

static void let_time_pass(ik_decoder_t *decoder, listener_t *listener)
{
    end_text(listener);
    if (ik_decoder_is_waiting(decoder)) {
        ik_buffer_append_text(&listener->log, " |");
        size_t before = listener->log.len;
        ik_decoder_expire(decoder);
        end_text(listener);
        ik_buffer_append_text(&listener->log, listener->log.len == before ? " " : "");
    }
    ck_assert(!ik_decoder_is_waiting(decoder));
    ik_decoder_expire(decoder); /* a second time changes nothing */
}

/* sizes: of the pieces; the rest is the last piece. */
static void check_pieces(const row_t *row, const size_t *sizes, size_t count)
{
    listener_t listener = {0};
    ik_buffer_init(&listener.log, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append(&listener.log, "", 0);
    ik_decoder_t *decoder = ik_decoder_create(ctx, on_key, &listener);
    if (splits) {
        ik_decoder_split_alt(decoder);
    }
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        feed(decoder, row->bytes + at, sizes[i]);
        at += sizes[i];
    }
    feed(decoder, row->bytes + at, row->len - at);
    let_time_pass(decoder, &listener);
    if (strcmp(listener.log.data, row->keys) != 0) {
        ck_abort_msg("in %zu pieces: got\n<%s> wanted\n<%s>", count + 1, listener.log.data,
                     row->keys);
    }
    talloc_free(decoder);
    ik_buffer_reset(&listener.log);
}

static void check_row(const row_t *row)
{
    size_t ones[256];
    ck_assert_uint_le(row->len, LEN(ones));
    for (size_t i = 0; i < LEN(ones); i++) {
        ones[i] = 1;
    }
    check_pieces(row, NULL, 0);
    check_pieces(row, ones, row->len);
    for (size_t cut = 0; cut <= row->len; cut++) {
        check_pieces(row, &cut, 1);
        for (size_t second = 0; second <= row->len - cut; second++) {
            check_pieces(row, (size_t[]){cut, second}, 2);
        }
    }
}

#define ROWS_TEST(name, rows)                                                                      \
    START_TEST(name)                                                                               \
    {                                                                                              \
        check_row(&(rows)[_i]);                                                                    \
    }                                                                                              \
    END_TEST

ROWS_TEST(text, text_rows)
ROWS_TEST(controls, control_rows)
ROWS_TEST(cursor_keys, cursor_rows)
ROWS_TEST(function_keys, function_rows)
ROWS_TEST(kitty_keys, kitty_rows)
ROWS_TEST(other_keys, other_key_rows)
ROWS_TEST(pastes, paste_rows)
ROWS_TEST(answers, answer_rows)
ROWS_TEST(what_is_dropped, dropped_rows)

START_TEST(split_alt)
{
    splits = true;
    check_row(&split_rows[_i]);
}
END_TEST

/* --- properties ---------------------------------------------------------------------------- */

static void count_key(void *data, const ik_key_t *key)
{
    ck_assert_int_eq(key->kind, IK_KEY_TEXT);
    (*(size_t *)data)++;
}

START_TEST(typed_text_is_one_key)
{
    size_t keys = 0;
    ik_decoder_t *decoder = ik_decoder_create(ctx, count_key, &keys);
    feed(decoder, B("typed at once, \xc3\xbc\xe2\x82\xac and more"));
    ck_assert_uint_eq(keys, 1);
}
END_TEST

static void append_random(ik_buffer_t *bytes, const row_t *rows, size_t count)
{
    const row_t *row = &rows[(size_t)random() % count];
    ik_buffer_append(bytes, row->bytes, row->len);
}

/* Feeds rows one after the other, also where an unfinished row is continued by the next. */
static row_t make_random_row(void)
{
    ik_buffer_t bytes;
    ik_buffer_init(&bytes, ctx, IK_BUFFER_UNLIMITED);
    for (int i = 0; i < 6; i++) {
        append_random(&bytes, text_rows, LEN(text_rows));
        append_random(&bytes, control_rows, LEN(control_rows));
        append_random(&bytes, cursor_rows, LEN(cursor_rows));
        append_random(&bytes, function_rows, LEN(function_rows));
        append_random(&bytes, kitty_rows, LEN(kitty_rows));
        append_random(&bytes, answer_rows, LEN(answer_rows));
        append_random(&bytes, dropped_rows, LEN(dropped_rows));
        append_random(&bytes, paste_rows, LEN(paste_rows));
    }
    return (row_t){.bytes = bytes.data, .len = bytes.len};
}

static char *decode_whole(const row_t *row)
{
    listener_t listener = {0};
    ik_buffer_init(&listener.log, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append(&listener.log, "", 0);
    ik_decoder_t *decoder = ik_decoder_create(ctx, on_key, &listener);
    feed(decoder, row->bytes, row->len);
    let_time_pass(decoder, &listener);
    return listener.log.data;
}

START_TEST(random_pieces_make_the_same_keys)
{
    srandom((unsigned)_i + 1);
    row_t row = make_random_row();
    row.keys = decode_whole(&row);
    for (int round = 0; round < 50; round++) {
        size_t sizes[4096];
        size_t count = 0;
        for (size_t left = row.len; left > 0; count++) {
            ck_assert_uint_lt(count, LEN(sizes));
            sizes[count] = (size_t)random() % 12;
            sizes[count] = sizes[count] < left ? sizes[count] : left;
            left -= sizes[count];
        }
        check_pieces(&row, sizes, count);
    }
}
END_TEST

static void count_paste(void *data, const ik_key_t *key)
{
    listener_t *listener = data;
    ck_assert_int_eq(key->kind, IK_KEY_PASTE);
    ck_assert_uint_le(key->len, IK_DECODER_PASTE_MAX);
    listener->pastes++;
    listener->paste_bytes += key->len;
}

/* A long paste is split at the same offsets however it is chunked. */
START_TEST(a_long_paste_comes_in_parts)
{
    enum { CHUNK = 4095, CHUNKS = 2 * IK_DECODER_PASTE_MAX / CHUNK + 10 };
    static char chunk[CHUNK];
    listener_t listener = {0};
    memset(chunk, 'p', sizeof(chunk));
    ik_decoder_t *decoder = ik_decoder_create(ctx, count_paste, &listener);
    feed(decoder, B("\x1b[200~"));
    size_t blocks = talloc_total_blocks(ctx);
    for (size_t i = 0; i < CHUNKS; i++) {
        ik_decoder_feed(decoder, chunk, sizeof(chunk));
        ck_assert(!ik_decoder_is_waiting(decoder));
        ck_assert_uint_eq(listener.paste_bytes,
                          (i + 1) * CHUNK / IK_DECODER_PASTE_MAX * IK_DECODER_PASTE_MAX);
    }
    feed(decoder, B("\x1b[201~"));
    ck_assert_uint_eq(listener.pastes, 3);
    ck_assert_uint_eq(listener.paste_bytes, (size_t)CHUNKS * CHUNK);
    ck_assert_uint_eq(talloc_total_blocks(ctx), blocks); /* the memory is released */
}
END_TEST

/* Endless sequences are skipped without being stored. */
START_TEST(endless_sequences_need_no_memory)
{
    static const char *const beginnings[] = {"\x1b[", "\x1bO", "\x1b]11;", "\x1bP>|", "\x1b_"};
    listener_t listener = {0};
    ik_buffer_init(&listener.log, ctx, IK_BUFFER_UNLIMITED);
    ik_decoder_t *decoder = ik_decoder_create(ctx, on_key, &listener);
    size_t before = talloc_total_size(ctx);
    feed(decoder, beginnings[_i], strlen(beginnings[_i]));
    for (int i = 0; i < 100000; i++) {
        feed(decoder, "1234567890;", 11);
    }
    ck_assert_uint_eq(talloc_total_size(ctx), before);
    ck_assert(ik_decoder_is_waiting(decoder));
    feed(decoder, B("A\x1b\\"));
    ck_assert(!ik_decoder_is_waiting(decoder));
    /* The end of a string, ESC \, is Alt-\ after the sequence of a key. */
    bool string = _i >= 2;
    ck_assert_str_eq(listener.log.len == 0 ? "" : listener.log.data, string ? "" : "M-\\");
}
END_TEST

#define ADD_ROWS(name, rows) tcase_add_loop_test(tests, name, 0, (int)LEN(rows))

int main(void)
{
    Suite *suite = suite_create("decoder");
    TCase *tests = tcase_create("decoder");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    ADD_ROWS(text, text_rows);
    ADD_ROWS(controls, control_rows);
    ADD_ROWS(cursor_keys, cursor_rows);
    ADD_ROWS(function_keys, function_rows);
    ADD_ROWS(kitty_keys, kitty_rows);
    ADD_ROWS(other_keys, other_key_rows);
    ADD_ROWS(pastes, paste_rows);
    ADD_ROWS(answers, answer_rows);
    ADD_ROWS(what_is_dropped, dropped_rows);
    ADD_ROWS(split_alt, split_rows);
    tcase_add_test(tests, typed_text_is_one_key);
    tcase_add_loop_test(tests, random_pieces_make_the_same_keys, 0, 40);
    tcase_add_test(tests, a_long_paste_comes_in_parts);
    tcase_add_loop_test(tests, endless_sequences_need_no_memory, 0, 5);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
