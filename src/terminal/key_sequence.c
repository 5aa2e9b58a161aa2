#include "terminal/key_sequence.h"

#include <string.h>

#include "base/array.h"
#include "base/utf8.h"

enum {
    NUMBER_MAX = 0x110000, /* above every code point; larger numbers are clamped to it */
    /* Bits of the modifier parameter minus 1. IK_KEY_SHIFT, ALT and CTRL have the protocol's
     * values. The bits above these, Caps Lock and Num Lock, are ignored. */
    MODIFIER_SUPER = 8,
    MODIFIER_HYPER = 16,
    MODIFIER_META = 32,
    EVENT_RELEASE = 3,
    MODIFY_OTHER = 27, /* "CSI 27 ; modifiers ; code ~" */
    ATTRIBUTE_SIXEL = 4,
    ATTRIBUTES_MAX = 32,
    CELL_SIZE = 6, /* "CSI 6 ; height ; width t" */
};

/* The kitty protocol uses private-use code points for keys that type no character. */
enum {
    KITTY_FIRST = 57344,
    KITTY_F13 = 57376,
    KITTY_F24 = 57387,
    KITTY_KEYPAD_0 = 57399,
    KITTY_LAST = 63743,
};
static const char kitty_keypad[] = "0123456789./*-+\r=,";

typedef struct {
    uint32_t code;
    ik_key_kind_t kind;
} code_row_t;

static const code_row_t code_rows[] = {
    {8, IK_KEY_BACKSPACE},  {9, IK_KEY_TAB},         {13, IK_KEY_ENTER},
    {27, IK_KEY_ESCAPE},    {127, IK_KEY_BACKSPACE}, {57414, IK_KEY_ENTER},
    {57417, IK_KEY_LEFT},   {57418, IK_KEY_RIGHT},   {57419, IK_KEY_UP},
    {57420, IK_KEY_DOWN},   {57421, IK_KEY_PAGE_UP}, {57422, IK_KEY_PAGE_DOWN},
    {57423, IK_KEY_HOME},   {57424, IK_KEY_END},     {57425, IK_KEY_INSERT},
    {57426, IK_KEY_DELETE},
};

/* "CSI number ~". Terminals differ in Home (1 or 7) and End (4 or 8). */
static const code_row_t number_rows[] = {
    {1, IK_KEY_HOME}, {2, IK_KEY_INSERT},  {3, IK_KEY_DELETE},    {4, IK_KEY_END},
    {7, IK_KEY_HOME}, {5, IK_KEY_PAGE_UP}, {6, IK_KEY_PAGE_DOWN}, {8, IK_KEY_END},
};
/* F1 to F20, with the gaps of the VT220's keyboard. */
static const uint8_t function_numbers[] = {11, 12, 13, 14, 15, 17, 18, 19, 20, 21,
                                           23, 24, 25, 26, 28, 29, 31, 32, 33, 34};

typedef struct {
    char final;
    ik_key_kind_t kind;
    uint32_t code;
} letter_row_t;

static const letter_row_t letter_rows[] = {
    {'A', IK_KEY_UP, 0},       {'B', IK_KEY_DOWN, 0},     {'C', IK_KEY_RIGHT, 0},
    {'D', IK_KEY_LEFT, 0},     {'F', IK_KEY_END, 0},      {'H', IK_KEY_HOME, 0},
    {'P', IK_KEY_FUNCTION, 1}, {'Q', IK_KEY_FUNCTION, 2}, {'R', IK_KEY_FUNCTION, 3},
    {'S', IK_KEY_FUNCTION, 4},
};

/* --- parameters ---------------------------------------------------------------------------- */

/* Parameters with sub-parameters, such as "1;5:3". */
typedef struct {
    const char *body;
    size_t len;
} params_t;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The value of a (sub-)parameter, counted from 0; absent if it is missing or empty. */
static uint32_t number(const params_t *params, int param, int sub, uint32_t absent)
{
    uint32_t value = 0;
    bool given = false;
    for (size_t i = 0; i < params->len && param >= 0; i++) {
        char c = params->body[i];
        if (c == ';') {
            param--;
        } else if (c == ':' && param == 0) {
            sub--;
        } else if (is_digit(c) && param == 0 && sub == 0) {
            given = true;
            value = value * 10 + (uint32_t)(c - '0');
            value = value > NUMBER_MAX ? NUMBER_MAX : value;
        }
    }
    return given ? value : absent;
}

/* Adds the modifiers in this parameter. Returns false if the event is to be ignored: a release, or
 * a combination with Super or Hyper, which belong to the window manager. */
static bool parse_modifiers(const params_t *params, int param, unsigned *modifiers)
{
    uint32_t given = number(params, param, 0, 1);
    uint32_t bits = given == 0 ? 0 : given - 1;
    *modifiers |= bits & (IK_KEY_SHIFT | IK_KEY_ALT | IK_KEY_CTRL);
    *modifiers |= (bits & MODIFIER_META) != 0 ? IK_KEY_ALT : 0;
    return (bits & (MODIFIER_SUPER | MODIFIER_HYPER)) == 0 &&
           number(params, param, 1, 0) != EVENT_RELEASE;
}

/* --- characters ---------------------------------------------------------------------------- */

/* A character key as reported by the terminal; 0 for what it did not report. */
typedef struct {
    uint32_t code;
    uint32_t shifted; /* with Shift */
    uint32_t base;    /* on a Latin keyboard */
} cap_t;

static bool is_printable(uint32_t code)
{
    return code >= 0x20 && !(code >= 0x7f && code < 0xa0) && !(code >= 0xd800 && code < 0xe000) &&
           code < 0x110000;
}

static bool is_lower(uint32_t code)
{
    return code >= 'a' && code <= 'z';
}

static void add_text(ik_key_sequence_t *out, uint32_t code)
{
    if (is_printable(code) && out->key.len + 4 <= sizeof(out->text)) {
        out->key.len += ik_utf8_encode(out->text + out->key.len, code);
    }
}

/* A key without Ctrl and Alt: the text that the terminal reports for it, or its character. */
static bool make_text(const params_t *params, const cap_t *cap, ik_key_sequence_t *out)
{
    uint32_t code = cap->code;
    if ((out->key.modifiers & IK_KEY_SHIFT) != 0) {
        code = cap->shifted != 0 ? cap->shifted : is_lower(code) ? code - 0x20 : code;
    }
    uint32_t part;
    for (int i = 0; (part = number(params, 2, i, 0)) != 0; i++) {
        add_text(out, part);
    }
    if (out->key.len == 0) {
        add_text(out, code);
    }
    out->key.kind = IK_KEY_TEXT;
    out->key.modifiers = 0;
    out->key.text = out->text;
    return out->key.len > 0;
}

/* Folds Shift into the character ("Alt-Shift-a" is Alt-A), except for letters with Ctrl, which are
 * always lower-case and keep the modifier. */
static void fold_shift(const cap_t *cap, ik_key_t *key)
{
    bool control = (key->modifiers & IK_KEY_CTRL) != 0;
    bool shift = (key->modifiers & IK_KEY_SHIFT) != 0;
    if (is_lower(key->code | 0x20)) {
        key->code = control ? key->code | 0x20 : shift ? key->code & ~0x20U : key->code;
        key->modifiers &= control ? ~0U : ~(unsigned)IK_KEY_SHIFT;
    } else if (shift && cap->shifted != 0) {
        key->code = cap->shifted;
        key->modifiers &= ~(unsigned)IK_KEY_SHIFT;
    }
}

/* Folds the keys that are one control character in terminals without these protocols. */
static void fold_control(ik_key_t *key)
{
    static const struct {
        uint32_t code;
        ik_key_kind_t kind;
        uint32_t same;
        unsigned keeps;
    } rows[] = {
        {'h', IK_KEY_BACKSPACE, 0, 0},
        {'i', IK_KEY_TAB, 0, 0},
        {'m', IK_KEY_ENTER, 0, 0},
        {'[', IK_KEY_ESCAPE, 0, 0},
        {'/', IK_KEY_CHAR, '_', IK_KEY_CTRL},
        {'@', IK_KEY_CHAR, ' ', IK_KEY_CTRL},
    };
    if ((key->modifiers & (IK_KEY_CTRL | IK_KEY_SHIFT)) != IK_KEY_CTRL) {
        return;
    }
    for (size_t i = 0; i < IK_LENGTH(rows); i++) {
        if (rows[i].code == key->code) {
            key->kind = rows[i].kind;
            key->code = rows[i].same;
            key->modifiers = (key->modifiers & IK_KEY_ALT) | rows[i].keeps;
            return;
        }
    }
}

static bool make_character(const params_t *params, const cap_t *cap, ik_key_sequence_t *out)
{
    ik_key_t *key = &out->key;
    if ((key->modifiers & (IK_KEY_CTRL | IK_KEY_ALT)) == 0) {
        return make_text(params, cap, out);
    }
    bool foreign = (key->modifiers & IK_KEY_CTRL) != 0 && cap->code >= 0x80;
    key->kind = IK_KEY_CHAR;
    key->code = foreign && cap->base > ' ' && cap->base < 0x7f ? cap->base : cap->code;
    fold_shift(cap, key);
    fold_control(key);
    return key->kind != IK_KEY_CHAR || is_printable(key->code);
}

static bool find_code(const code_row_t *rows, size_t count, uint32_t code, ik_key_kind_t *kind)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].code == code) {
            *kind = rows[i].kind;
            return true;
        }
    }
    return false;
}

/* A key reported by its code, as in the kitty protocol and modifyOtherKeys. */
static bool make_coded(const params_t *params, cap_t cap, ik_key_sequence_t *out)
{
    if (find_code(code_rows, IK_LENGTH(code_rows), cap.code, &out->key.kind)) {
        return true;
    }
    if (cap.code >= KITTY_F13 && cap.code <= KITTY_F24) {
        out->key.kind = IK_KEY_FUNCTION;
        out->key.code = 13 + cap.code - KITTY_F13;
        return true;
    }
    if (cap.code >= KITTY_KEYPAD_0 && cap.code < KITTY_KEYPAD_0 + strlen(kitty_keypad)) {
        cap = (cap_t){.code = (uint32_t)kitty_keypad[cap.code - KITTY_KEYPAD_0]};
    }
    if (cap.code >= KITTY_FIRST && cap.code <= KITTY_LAST) {
        return false;
    }
    return make_character(params, &cap, out);
}

/* --- CSI ----------------------------------------------------------------------------------- */

/* Replies of the terminal, "CSI ? …". */
static bool parse_reply(const params_t *params, char final, ik_key_t *key)
{
    bool dollar = params->len > 0 && params->body[params->len - 1] == '$';
    key->code = number(params, 0, 0, 0);
    if (final == 'c') {
        key->kind = IK_KEY_ATTRIBUTES;
        key->code = 0;
        for (int i = 1; i < ATTRIBUTES_MAX; i++) { /* the first number is the terminal's class */
            key->value |= number(params, i, 0, 0) == ATTRIBUTE_SIXEL;
        }
        return true;
    }
    if (final == 'u') {
        key->kind = IK_KEY_KITTY;
        return true;
    }
    if (final == 'S') { /* of the colours (1), without an error (0) */
        key->kind = IK_KEY_COLOURS;
        bool known = key->code == 1 && number(params, 1, 0, 1) == 0;
        key->code = number(params, 2, 0, 0);
        return known;
    }
    key->kind = IK_KEY_MODE;
    key->value = (int)number(params, 1, 0, 0);
    return final == 'y' && dollar && key->value <= 4;
}

/* "CSI number ; modifiers ~"; rxvt encodes the modifiers in the final byte instead. */
static bool parse_numbered(const params_t *params, char final, ik_key_sequence_t *out)
{
    uint32_t code = number(params, 0, 0, 0);
    ik_key_t *key = &out->key;
    key->modifiers |= final == '^' || final == '@' ? IK_KEY_CTRL : 0;
    key->modifiers |= final == '$' || final == '@' ? IK_KEY_SHIFT : 0;
    if (!parse_modifiers(params, 1, &key->modifiers)) {
        return false;
    }
    if (code == MODIFY_OTHER && final == '~') { /* xterm has applied Shift to this character */
        static const params_t no_text = {0};
        uint32_t character = number(params, 2, 0, 0);
        return make_coded(&no_text, (cap_t){.code = character, .shifted = character}, out);
    }
    if (find_code(number_rows, IK_LENGTH(number_rows), code, &key->kind)) {
        return true;
    }
    for (size_t i = 0; i < sizeof(function_numbers); i++) {
        if (function_numbers[i] == code) {
            key->kind = IK_KEY_FUNCTION;
            key->code = (uint32_t)i + 1;
            return true;
        }
    }
    return false;
}

static bool find_letter(char final, ik_key_t *key)
{
    for (size_t i = 0; i < IK_LENGTH(letter_rows); i++) {
        if (letter_rows[i].final == final) {
            key->kind = letter_rows[i].kind;
            key->code = letter_rows[i].code;
            return true;
        }
    }
    return false;
}

/* "CSI 1 ; modifiers letter", or the letter alone. */
static bool parse_lettered(const params_t *params, char final, ik_key_t *key)
{
    if (!parse_modifiers(params, 1, &key->modifiers)) {
        return false;
    }
    if (final == 'Z') {
        key->kind = IK_KEY_TAB;
        key->modifiers |= IK_KEY_SHIFT;
        return true;
    }
    if (final >= 'a' && final <= 'd') { /* rxvt */
        key->modifiers |= IK_KEY_SHIFT;
        return find_letter((char)(final - 0x20), key);
    }
    /* The first parameter tells F3 from a cursor position report, "CSI 12;1R". */
    return number(params, 0, 0, 1) == 1 && find_letter(final, key);
}

bool ik_key_sequence_parse_csi(const char *body, size_t len, char final, ik_key_sequence_t *out)
{
    params_t params = {.body = body, .len = len};
    out->key = (ik_key_t){0};
    if (len > 0 && body[0] >= '<' && body[0] <= '?') {
        return body[0] == '?' && parse_reply(&params, final, &out->key);
    }
    for (size_t i = 0; i < len; i++) {
        if (!is_digit(body[i]) && body[i] != ';' && body[i] != ':') {
            return false;
        }
    }
    if (final == 'u') { /* the kitty protocol */
        cap_t cap = {
            .code = number(&params, 0, 0, 1),
            .shifted = number(&params, 0, 1, 0),
            .base = number(&params, 0, 2, 0),
        };
        return parse_modifiers(&params, 1, &out->key.modifiers) && make_coded(&params, cap, out);
    }
    if (strchr("~^$@", final) != NULL) {
        return parse_numbered(&params, final, out);
    }
    if (len == 0 && (final == 'I' || final == 'O')) {
        out->key.kind = final == 'I' ? IK_KEY_FOCUS_IN : IK_KEY_FOCUS_OUT;
        return true;
    }
    if (final == 't') {
        out->key.kind = IK_KEY_CELL;
        out->key.value = (int)number(&params, 1, 0, 0);
        out->key.code = number(&params, 2, 0, 0);
        return number(&params, 0, 0, 0) == CELL_SIZE;
    }
    return parse_lettered(&params, final, &out->key);
}

/* --- SS3 ----------------------------------------------------------------------------------- */

/* The keypad in application mode, which another program may have left switched on. */
static bool parse_keypad(char final, ik_key_sequence_t *out)
{
    static const char characters[] = "*+,-./0123456789"; /* 'j' to 'y' */
    char character = final == 'X' ? '=' : final == ' ' ? ' ' : '\0';
    if (final >= 'j' && final <= 'y') {
        character = characters[final - 'j'];
    }
    if (final == 'M' || final == 'I') {
        out->key.kind = final == 'M' ? IK_KEY_ENTER : IK_KEY_TAB;
        return true;
    }
    const params_t no_text = {0};
    cap_t cap = {.code = (uint32_t)character};
    return character != '\0' && make_character(&no_text, &cap, out);
}

bool ik_key_sequence_parse_ss3(const char *body, size_t len, char final, ik_key_sequence_t *out)
{
    params_t params = {.body = body, .len = len};
    out->key = (ik_key_t){0};
    /* Some terminals send "SS3 1;5 P", others "SS3 5 P". */
    int param = memchr(body, ';', len) != NULL ? 1 : 0;
    if (!parse_modifiers(&params, param, &out->key.modifiers)) {
        return false;
    }
    if (final >= 'a' && final <= 'd') { /* rxvt */
        out->key.modifiers |= IK_KEY_CTRL;
        return find_letter((char)(final - 0x20), &out->key);
    }
    return find_letter(final, &out->key) || parse_keypad(final, out);
}

/* --- strings ------------------------------------------------------------------------------- */

static int hex_value(char c)
{
    char lower = (char)(c | 0x20);
    return is_digit(c) ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Parses one to four hexadecimal digits, scaled to eight bits; returns their number. */
static size_t parse_channel(const char *text, size_t len, uint32_t *channel)
{
    uint32_t value = 0;
    uint32_t max = 0;
    size_t i = 0;
    for (; i < len && i < 4 && hex_value(text[i]) >= 0; i++) {
        value = value << 4 | (uint32_t)hex_value(text[i]);
        max = max << 4 | 0xf;
    }
    *channel = max == 0 ? 0 : value * 255 / max;
    return i;
}

static bool skip(const char **text, size_t *len, const char *prefix)
{
    size_t prefix_len = strlen(prefix);
    bool found = *len >= prefix_len && memcmp(*text, prefix, prefix_len) == 0;
    *text += found ? prefix_len : 0;
    *len -= found ? prefix_len : 0;
    return found;
}

/* "rgb:RRRR/GGGG/BBBB", or "rgba:…", whose alpha is ignored. */
static bool parse_colour(const char *text, size_t len, uint32_t *colour)
{
    if (!skip(&text, &len, "rgb:") && !skip(&text, &len, "rgba:")) {
        return false;
    }
    *colour = 0;
    for (int i = 0; i < 3; i++) {
        uint32_t channel;
        size_t digits = parse_channel(text, len, &channel);
        text += digits;
        len -= digits;
        *colour = *colour << 8 | channel;
        if (digits == 0 || (i < 2 && !skip(&text, &len, "/"))) {
            return false;
        }
    }
    return len == 0 || text[0] == '/';
}

bool ik_key_sequence_parse_string(char introducer, const char *body, size_t len,
                                  ik_key_sequence_t *out)
{
    out->key = (ik_key_t){0};
    if (introducer == ']' && skip(&body, &len, "11;")) {
        out->key.kind = IK_KEY_BACKGROUND;
        return parse_colour(body, len, &out->key.code);
    }
    if (introducer == '_' && skip(&body, &len, "Gi=")) {
        params_t id = {.body = body, .len = len};
        const char *text = memchr(body, ';', len);
        out->key.kind = IK_KEY_GRAPHICS;
        out->key.code = number(&id, 0, 0, 0);
        out->key.value =
            text != NULL && (size_t)(body + len - text) == 3 && memcmp(text, ";OK", 3) == 0;
        return true;
    }
    if (introducer == 'P' && skip(&body, &len, ">|")) {
        out->key.kind = IK_KEY_VERSION;
        out->key.text = body;
        out->key.len = len;
        return true;
    }
    return false;
}
