/*
 * Nearly all text is ASCII: a word of it is found by one table and folded by one bit. A word with
 * anything else in it is read again from its beginning, code point by code point.
 */
#include "store/search/search_words.h"

#include <string.h>
#include <utf8proc.h>

#include "base/array.h"
#include "base/json.h"
#include "base/utf8.h"
#include "conversation/message.h"

/* --- characters -------------------------------------------------------------------------- */

enum { SEPARATOR, ALNUM, WIDE };

static const unsigned char class_of[256] = {
    ['0' ... '9'] = ALNUM,
    ['A' ... 'Z'] = ALNUM,
    ['a' ... 'z'] = ALNUM,
    [0x80 ... 0xff] = WIDE,
};

/* Writing without spaces between words; the blocks of Han that are still free among them. */
static const struct {
    int32_t first;
    int32_t last;
} unspaced[] = {
    {0x0e00, 0x0eff},   /* Thai, Lao */
    {0x1000, 0x109f},   /* Burmese */
    {0x1780, 0x17ff},   /* Khmer */
    {0x1950, 0x19df},   /* Tai Le, New Tai Lue */
    {0x1a20, 0x1aaf},   /* Tai Tham */
    {0x2e80, 0x312f},   /* radicals, kana, bopomofo */
    {0x31a0, 0x31bf},   /* more bopomofo */
    {0x31f0, 0x31ff},   /* more katakana */
    {0x3400, 0x4dbf},   /* Han */
    {0x4e00, 0xa4cf},   /* Han, Yi */
    {0xa9e0, 0xa9ff},   /* more Burmese */
    {0xaa60, 0xaadf},   /* more Burmese, Tai Viet */
    {0xf900, 0xfaff},   /* Han */
    {0xff66, 0xff9f},   /* narrow katakana */
    {0x16fe0, 0x18dff}, /* Tangut, Khitan */
    {0x1aff0, 0x1b2ff}, /* more kana, Nushu */
    {0x20000, 0x3ffff}, /* Han */
};

static bool is_unspaced(int32_t code)
{
    size_t low = 0;
    size_t high = IK_LENGTH(unspaced);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (code > unspaced[middle].last) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < IK_LENGTH(unspaced) && code >= unspaced[low].first;
}

typedef enum {
    BREAK,  /* stands between words */
    LETTER, /* or digit */
    SIGN,   /* a mark that makes another letter: vowel signs, viramas, voicing of kana */
    NOTHING /* a mark that only dresses a letter, and what cannot be seen */
} role_t;

static role_t role_of_mark(const utf8proc_property_t *property)
{
    enum { OVERLAY = 1, FIRST_FIXED_POSITION = 10 };
    bool dress = property->category == UTF8PROC_CATEGORY_ME ||
                 property->combining_class == OVERLAY ||
                 property->combining_class >= FIRST_FIXED_POSITION;
    return dress ? NOTHING : SIGN;
}

static role_t role_of(int32_t code)
{
    enum { NARROW_VOICED = 0xff9e, NARROW_SEMIVOICED = 0xff9f }; /* letters by category alone */
    if (code == NARROW_VOICED || code == NARROW_SEMIVOICED) {
        return SIGN;
    }
    const utf8proc_property_t *property = utf8proc_get_property(code);
    if (property->ignorable) {
        return NOTHING;
    }
    switch (property->category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return LETTER;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        return role_of_mark(property);
    default:
        return BREAK;
    }
}

/* --- words of any script ----------------------------------------------------------------- */

/* The code points of a word, folded and decomposed. They are more than the bytes it may have at
 * the end: composing makes one of up to three. */
typedef struct {
    int32_t codes[4 * IK_SEARCH_WORD_MAX];
    size_t count;
} letters_t;

/* A character that decomposes into others may bring marks and punctuation along. */
static void add_letter(letters_t *letters, int32_t code)
{
    enum { MOST = 32 }; /* Unicode's longest decomposition has 18 */
    int32_t parts[MOST];
    int boundary;
    utf8proc_ssize_t count = utf8proc_decompose_char(
        code, parts, MOST, UTF8PROC_COMPAT | UTF8PROC_DECOMPOSE | UTF8PROC_CASEFOLD, &boundary);
    for (utf8proc_ssize_t i = 0; i < count && i < MOST; i++) {
        role_t role = role_of(parts[i]);
        if ((role == LETTER || role == SIGN) && letters->count < IK_LENGTH(letters->codes)) {
            letters->codes[letters->count++] = parts[i];
        }
    }
}

/* Composed, because a Hangul syllable has nine bytes in parts and three as one. */
static size_t write_form(letters_t *letters, char *form)
{
    utf8proc_ssize_t count = utf8proc_normalize_utf32(
        letters->codes, (utf8proc_ssize_t)letters->count, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    size_t len = 0;
    for (utf8proc_ssize_t i = 0; i < count; i++) {
        char bytes[4];
        size_t step = ik_utf8_encode(bytes, (uint32_t)letters->codes[i]);
        if (len + step > IK_SEARCH_WORD_MAX) {
            break;
        }
        memcpy(form + len, bytes, step);
        len += step;
    }
    return len;
}

/* What stands at text, and its length; a byte that is not UTF-8 is a break. */
static size_t read_code(const char *text, size_t len, int32_t *code, role_t *role)
{
    bool valid;
    size_t step = ik_utf8_step(text, len, &valid);
    *role = BREAK;
    if (valid) {
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)step, code);
        *role = role_of(*code);
    }
    return step;
}

/* Reads the word that begins with the letter at *at; a character of unspaced writing is one, with
 * the signs behind it. Returns the length of its form, which may be 0. */
static size_t read_letters(const char *text, size_t len, size_t *at, char *form)
{
    letters_t letters;
    bool inside = false;
    bool alone = false;
    letters.count = 0;
    for (size_t step; *at < len; *at += step) {
        int32_t code = 0;
        role_t role;
        step = read_code(text + *at, len - *at, &code, &role);
        bool begins = role == LETTER && (alone || is_unspaced(code));
        if (role == BREAK || (inside && begins)) {
            break;
        }
        alone = alone || begins;
        inside = true;
        if (role != NOTHING) {
            add_letter(&letters, code);
        }
    }
    return write_form(&letters, form);
}

/* --- words ------------------------------------------------------------------------------- */

/* The end of the ASCII word at at; its form, if it is a whole word. */
static size_t read_ascii(const char *text, size_t len, size_t at, char *form, size_t *form_len)
{
    size_t n = 0;
    while (at < len && n < IK_SEARCH_WORD_MAX && class_of[(unsigned char)text[at]] == ALNUM) {
        form[n++] = (char)(text[at++] | 0x20); /* digits have the bit already */
    }
    while (at < len && class_of[(unsigned char)text[at]] == ALNUM) {
        at++;
    }
    *form_len = n;
    return at;
}

/* Steps over what is no word, from at on. */
static size_t skip_breaks(const char *text, size_t len, size_t at)
{
    while (at < len) {
        unsigned char kind = class_of[(unsigned char)text[at]];
        if (kind == ALNUM) {
            break;
        }
        size_t step = 1;
        if (kind == WIDE) {
            int32_t code;
            role_t role;
            step = read_code(text + at, len - at, &code, &role);
            if (role == LETTER) {
                break;
            }
        }
        at += step;
    }
    return at;
}

/* The next word from *at on; false at the end. form has room for the longest. */
static inline bool next_word(const char *text, size_t len, size_t *at, char *form,
                             ik_search_word_t *word)
{
    while ((*at = skip_breaks(text, len, *at)) < len) {
        size_t start = *at;
        size_t form_len;
        *at = read_ascii(text, len, start, form, &form_len);
        if (*at < len && class_of[(unsigned char)text[*at]] == WIDE) {
            *at = start;
            form_len = read_letters(text, len, at, form);
        }
        if (form_len > 0) {
            *word = (ik_search_word_t){form, form_len, start, *at - start};
            return true;
        }
    }
    return false;
}

void ik_search_words(const char *text, size_t len, ik_search_word_fn on_word, void *data)
{
    char form[IK_SEARCH_WORD_MAX];
    ik_search_word_t word;
    size_t at = 0;
    while (next_word(text, len, &at, form, &word) && on_word(data, &word)) {
    }
}

/* Words are written where they stay. */
void ik_search_words_append(ik_buffer_t *out, const char *text, size_t len)
{
    enum { MOST = 1 + IK_SEARCH_WORD_MAX };
    ik_search_word_t word;
    size_t at = 0;
    bool space = out->len > 0;
    while (ik_buffer_reserve(out, MOST) >= MOST &&
           next_word(text, len, &at, out->data + out->len + space, &word)) {
        out->data[out->len] = space ? ' ' : out->data[out->len];
        out->len += space + word.len;
        space = true;
    }
    out->data[out->len] = '\0';
}

/* --- what of an event is searched -------------------------------------------------------- */

/* Parts of text, a line each, until the room is used up. */
typedef struct {
    ik_buffer_t *out;
    size_t start;
} parts_t;

static size_t room_left(const parts_t *parts)
{
    size_t used = parts->out->len - parts->start;
    return used < IK_SEARCH_TEXT_MAX ? IK_SEARCH_TEXT_MAX - used : 0;
}

/* Returns the room behind the line break that may be needed. */
static size_t begin_part(parts_t *parts)
{
    if (parts->out->len > parts->start && room_left(parts) > 0) {
        ik_buffer_append_byte(parts->out, '\n');
    }
    return room_left(parts);
}

static void add_text(parts_t *parts, const char *text, size_t len)
{
    if (len > 0) {
        size_t room = begin_part(parts);
        ik_buffer_append(parts->out, text, ik_utf8_cut(text, len, room));
    }
}

/* The beginning of a literal that decodes to no more than room; one quote at its end is made up,
 * which nobody reads. */
static ik_json_span_t cut_literal(ik_json_span_t literal, size_t room)
{
    if (literal.len - 2 <= room) {
        return literal;
    }
    const char *at = literal.text + 1;
    const char *end = literal.text + literal.len - 1;
    while (at < end) {
        size_t decoded;
        size_t step = ik_json_step(at, end, &decoded);
        if (decoded > room) {
            break;
        }
        room -= decoded;
        at += step;
    }
    return (ik_json_span_t){literal.text, (size_t)(at + 1 - literal.text)};
}

static void add_literal(parts_t *parts, ik_json_span_t literal)
{
    if (ik_json_has_text(literal)) {
        size_t room = begin_part(parts);
        ik_json_append_decoded(parts->out, cut_literal(literal, room));
    }
}

/* The end of the string that begins at text, in scanned JSON. */
static const char *skip_string(const char *text)
{
    for (text++; *text != '"'; text++) {
        text += *text == '\\';
    }
    return text + 1;
}

static bool is_key(const char *behind, const char *end)
{
    while (behind < end && strchr(" \t\r\n", *behind) != NULL) {
        behind++;
    }
    return behind < end && *behind == ':';
}

/* The strings and numbers of scanned JSON, however deep, without the names of members. One pass:
 * going down through spans would read the innermost once per level. */
static void add_values(parts_t *parts, ik_json_span_t json)
{
    const char *end = json.text + json.len;
    for (const char *at = json.text; at < end && room_left(parts) > 0;) {
        const char *start = at;
        if (*at == '"') {
            at = skip_string(at);
            if (!is_key(at, end)) {
                add_literal(parts, (ik_json_span_t){start, (size_t)(at - start)});
            }
        } else if (*at == '-' || (*at >= '0' && *at <= '9')) {
            at += strspn(at, "+-.0123456789Ee");
            add_text(parts, start, (size_t)(at - start));
        } else {
            at++;
        }
    }
}

/* A string that should hold JSON. */
static void add_json_text(parts_t *parts, ik_json_span_t literal)
{
    if (!ik_json_has_text(literal)) {
        return;
    }
    ik_buffer_t text;
    ik_json_span_t json;
    ik_buffer_init(&text, NULL, IK_BUFFER_UNLIMITED);
    ik_json_append_decoded(&text, literal);
    if (ik_json_scan(text.data, text.len, &json, NULL)) {
        add_values(parts, json);
    } else {
        add_text(parts, text.data, text.len);
    }
    ik_buffer_reset(&text);
}

/* Members of data_json, which may be anything, or missing; false when it is no object. */
static bool find_members(const ik_store_event_t *event, const char *const *names, size_t count,
                         ik_json_span_t *values)
{
    ik_json_span_t data;
    if (event->data_json == NULL ||
        !ik_json_scan(event->data_json, strlen(event->data_json), &data, NULL)) {
        return false;
    }
    ik_json_find_members(data, names, count, values);
    return ik_json_kind(data) == IK_JSON_OBJECT;
}

static void add_content(parts_t *parts, const ik_store_event_t *event)
{
    if (event->content != NULL) {
        add_text(parts, event->content, strlen(event->content));
    }
}

static void add_answer(parts_t *parts, const ik_store_event_t *event)
{
    static const char *const names[] = {"reasoning"};
    ik_json_span_t reasoning;
    add_content(parts, event);
    if (find_members(event, names, 1, &reasoning)) {
        add_literal(parts, reasoning);
    }
}

static void add_call(parts_t *parts, const ik_store_event_t *event)
{
    static const char *const names[] = {"function", "reasoning"};
    static const char *const function_names[] = {"name", "arguments"};
    ik_json_span_t values[2];
    ik_json_span_t function[2];
    if (!find_members(event, names, 2, values)) {
        add_content(parts, event);
        return;
    }
    ik_json_find_members(values[0], function_names, 2, function);
    add_literal(parts, function[0]);
    add_json_text(parts, function[1]);
    add_literal(parts, values[1]);
}

static void add_result(parts_t *parts, const ik_store_event_t *event)
{
    static const char *const names[] = {"output"};
    ik_json_span_t output;
    if (!find_members(event, names, 1, &output)) {
        add_content(parts, event);
        return;
    }
    add_json_text(parts, output);
}

void ik_search_text_append(ik_buffer_t *out, const ik_store_event_t *event)
{
    static const struct {
        const char *kind;
        void (*add)(parts_t *parts, const ik_store_event_t *event);
    } kinds[] = {
        {IK_MSG_ASSISTANT, add_answer},   {IK_MSG_TOOL_CALL, add_call},
        {IK_MSG_TOOL_RESULT, add_result}, {IK_MSG_SYSTEM, NULL},
        {IK_MSG_COMPACTION, NULL},
    };
    parts_t parts = {.out = out, .start = out->len};
    for (size_t i = 0; i < IK_LENGTH(kinds); i++) {
        if (strcmp(event->kind, kinds[i].kind) == 0) {
            if (kinds[i].add != NULL) {
                kinds[i].add(&parts, event);
            }
            return;
        }
    }
    add_content(&parts, event);
}
