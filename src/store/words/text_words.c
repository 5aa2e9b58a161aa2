/*
 * Nearly all text is ASCII, so the fast path finds an ASCII word with one table and folds it with
 * one bit. When a word turns out to contain anything else, it is read again from its beginning,
 * code point by code point.
 */
#include "store/words/text_words.h"

#include <string.h>
#include <utf8proc.h>

#include "base/array.h"
#include "base/utf8.h"

/* --- characters -------------------------------------------------------------------------- */

enum { SEPARATOR, ALNUM, WIDE };

static const unsigned char class_of[256] = {
    ['0' ... '9'] = ALNUM,
    ['A' ... 'Z'] = ALNUM,
    ['a' ... 'z'] = ALNUM,
    [0x80 ... 0xff] = WIDE,
};

/* Scripts written without spaces, sorted. The last range includes planes reserved for Han. */
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
    BREAK,  /* separates words */
    LETTER, /* or digit */
    SIGN,   /* a mark that makes another letter: vowel signs, viramas, voicing of kana */
    IGNORED /* an accent or another mark that does not, and invisible characters */
} role_t;

static role_t role_of(int32_t code)
{
    enum { NARROW_VOICED = 0xff9e, NARROW_SEMIVOICED = 0xff9f }; /* Unicode calls them letters */
    enum { OVERLAY = 1, FIRST_FIXED_POSITION = 10 };             /* combining classes of accents */
    if (code == NARROW_VOICED || code == NARROW_SEMIVOICED) {
        return SIGN;
    }
    const utf8proc_property_t *property = utf8proc_get_property(code);
    if (property->ignorable) {
        return IGNORED;
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
    case UTF8PROC_CATEGORY_ME:
        return IGNORED;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
        return property->combining_class == OVERLAY ||
                       property->combining_class >= FIRST_FIXED_POSITION
                   ? IGNORED
                   : SIGN;
    default:
        return BREAK;
    }
}

/* --- words of any script ----------------------------------------------------------------- */

/* The code points of a word, folded and decomposed. There is room for more than the bytes of the
 * final form: composing joins up to three into one. */
typedef struct {
    int32_t codes[4 * IK_TEXT_WORD_MAX];
    size_t count;
} letters_t;

/* Decomposing a character may yield marks and punctuation, which are left out. */
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

/* Composes the letters: a Hangul syllable has nine bytes decomposed and three composed. */
static size_t write_form(letters_t *letters, char *form)
{
    utf8proc_ssize_t count = utf8proc_normalize_utf32(
        letters->codes, (utf8proc_ssize_t)letters->count, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    size_t len = 0;
    for (utf8proc_ssize_t i = 0; i < count; i++) {
        char bytes[4];
        size_t step = ik_utf8_encode(bytes, (uint32_t)letters->codes[i]);
        if (len + step > IK_TEXT_WORD_MAX) {
            break;
        }
        memcpy(form + len, bytes, step);
        len += step;
    }
    return len;
}

/* Decodes the character at text and returns its length. A byte that is not UTF-8 is a BREAK. */
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

/* Reads the word that begins with the letter at *at. A character of an unspaced script is a word by
 * itself, with the signs that follow it. Returns the length of the form, which may be 0. */
static size_t read_letters(const char *text, size_t len, size_t *at, char *form)
{
    letters_t letters;
    bool inside = false; /* the word has begun */
    bool alone = false;  /* with a character of an unspaced script */
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
        if (role != IGNORED) {
            add_letter(&letters, code);
        }
    }
    return write_form(&letters, form);
}

/* --- words ------------------------------------------------------------------------------- */

/* Reads ASCII letters and digits and returns where they end. */
static size_t read_ascii(const char *text, size_t len, size_t at, char *form, size_t *form_len)
{
    size_t n = 0;
    while (at < len && n < IK_TEXT_WORD_MAX && class_of[(unsigned char)text[at]] == ALNUM) {
        form[n++] = (char)(text[at++] | 0x20); /* digits have the bit already */
    }
    while (at < len && class_of[(unsigned char)text[at]] == ALNUM) {
        at++;
    }
    *form_len = n;
    return at;
}

/* Returns where the next word begins, or len. */
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

/* Finds the next word from *at on; false at the end. form has room for IK_TEXT_WORD_MAX bytes. */
static inline bool next_word(const char *text, size_t len, size_t *at, char *form,
                             ik_text_word_t *word)
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
            *word = (ik_text_word_t){form, form_len, start, *at - start};
            return true;
        }
    }
    return false;
}

void ik_text_words(const char *text, size_t len, ik_text_word_fn on_word, void *data)
{
    char form[IK_TEXT_WORD_MAX];
    ik_text_word_t word;
    size_t at = 0;
    while (next_word(text, len, &at, form, &word) && on_word(data, &word)) {
    }
}

void ik_text_words_append(ik_buffer_t *out, const char *text, size_t len)
{
    enum { MOST = 1 + IK_TEXT_WORD_MAX };
    ik_text_word_t word;
    size_t at = 0;
    bool space = out->len > 0;
    /* The forms are written into the buffer itself, without a copy. */
    while (ik_buffer_reserve(out, MOST) >= MOST &&
           next_word(text, len, &at, out->data + out->len + space, &word)) {
        out->data[out->len] = space ? ' ' : out->data[out->len];
        out->len += space + word.len;
        space = true;
    }
    out->data[out->len] = '\0';
}
