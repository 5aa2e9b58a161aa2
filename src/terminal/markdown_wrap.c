#include "terminal/markdown_wrap.h"

#include "base/width.h"

void ik_markdown_wrap_init(ik_markdown_wrap_t *wrap, const char *text, size_t from, size_t to,
                           size_t width)
{
    *wrap =
        (ik_markdown_wrap_t){.text = text, .at = from, .end = to, .width = width == 0 ? 1 : width};
}

/* Decodes a grapheme of one or three bytes, the lengths of the punctuation below; others give 0. */
static unsigned character_of(const char *text, size_t len)
{
    const unsigned char *bytes = (const unsigned char *)text;
    return len == 1   ? bytes[0]
           : len == 3 ? (bytes[0] & 0x0fu) << 12 | (bytes[1] & 0x3fu) << 6 | (bytes[2] & 0x3fu)
                      : 0;
}

/* Punctuation that must not begin a row. */
static bool is_closing(const char *text, size_t len)
{
    switch (character_of(text, len)) {
    case '!':
    case ')':
    case ',':
    case '.':
    case ':':
    case ';':
    case '?':
    case ']':
    case '}':
    case 0x2026: /* … */
    case 0x3001: /* 、 */
    case 0x3002: /* 。 */
    case 0x3005: /* 々 */
    case 0x3009: /* 〉 */
    case 0x300b: /* 》 */
    case 0x300d: /* 」 */
    case 0x300f: /* 』 */
    case 0x3011: /* 】 */
    case 0x3015: /* 〕 */
    case 0x30fc: /* ー */
    case 0xff01: /* ！ */
    case 0xff09: /* ） */
    case 0xff0c: /* ， */
    case 0xff0e: /* ． */
    case 0xff1a: /* ： */
    case 0xff1b: /* ； */
    case 0xff1f: /* ？ */
    case 0xff3d: /* ］ */
    case 0xff5d: /* ｝ */
        return true;
    default:
        return false;
    }
}

static ik_grapheme_t grapheme_at(const ik_markdown_wrap_t *wrap, size_t at)
{
    const unsigned char *bytes = (const unsigned char *)wrap->text + at;
    if (bytes[0] < 0x80 && (at + 1 == wrap->end || bytes[1] < 0x80)) { /* nothing combines */
        return (ik_grapheme_t){.len = 1, .columns = 1};
    }
    return ik_width_grapheme(wrap->text + at, wrap->end - at);
}

/* The row being filled. */
typedef struct {
    ik_markdown_wrap_line_t line;   /* up to the last grapheme that is not a space */
    ik_markdown_wrap_line_t broken; /* the row if it ends at the last possible break */
    size_t width;                   /* with trailing spaces */
    bool can_break;
    bool after_wide;
} filling_t;

static void keep_break(filling_t *filling)
{
    filling->broken = filling->line;
    filling->can_break = filling->line.to > filling->line.from;
}

/* Adds a grapheme to the row; false if it does not fit. */
static bool take(filling_t *filling, const ik_markdown_wrap_t *wrap, size_t at,
                 ik_grapheme_t grapheme)
{
    bool is_wide = grapheme.columns == 2;
    if ((is_wide || filling->after_wide) && !is_closing(wrap->text + at, grapheme.len)) {
        keep_break(filling);
    }
    filling->after_wide = is_wide;
    size_t width = filling->width + (size_t)grapheme.columns;
    if (width > wrap->width && at > filling->line.from) {
        return false;
    }
    filling->line.to = at + grapheme.len;
    filling->line.width = filling->width = width;
    return true;
}

bool ik_markdown_wrap_next(ik_markdown_wrap_t *wrap, ik_markdown_wrap_line_t *line)
{
    size_t at = wrap->at;
    while (at < wrap->end && wrap->text[at] == ' ') {
        at++;
    }
    filling_t filling = {.line = {.from = at, .to = at}};
    if (at == wrap->end) {
        return false;
    }
    while (at < wrap->end && wrap->text[at] != '\n') {
        if (wrap->text[at] == ' ') {
            keep_break(&filling);
            filling.width++;
            at++;
            continue;
        }
        ik_grapheme_t grapheme = grapheme_at(wrap, at);
        if (!take(&filling, wrap, at, grapheme)) {
            *line = filling.can_break ? filling.broken : filling.line;
            wrap->at = line->to;
            return true;
        }
        at += grapheme.len;
    }
    *line = filling.line;
    wrap->at = at < wrap->end ? at + 1 : at;
    return true;
}

size_t ik_markdown_wrap_count(ik_markdown_wrap_t wrap, size_t *widest)
{
    ik_markdown_wrap_line_t line;
    size_t count = 0;
    for (*widest = 0; ik_markdown_wrap_next(&wrap, &line); count++) {
        *widest = line.width > *widest ? line.width : *widest;
    }
    return count;
}
