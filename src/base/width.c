#include "base/width.h"

#include <string.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "base/utf8.h"

static const char ellipsis[] = "…";

enum { ZERO_WIDTH_NON_JOINER = 0x200c, ZERO_WIDTH_JOINER = 0x200d, NONE = -1 };

/* --- characters -------------------------------------------------------------------------- */

static bool is_ascii(char byte)
{
    return (unsigned char)byte < 0x80;
}

/* Whether a character can be part of a grapheme. Sanitised text contains no others. */
static bool is_shown(utf8proc_int32_t code)
{
    switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    case UTF8PROC_CATEGORY_CF:
        return code == ZERO_WIDTH_NON_JOINER || code == ZERO_WIDTH_JOINER;
    default:
        return true;
    }
}

/* The first character of text and its length; NONE if it is invalid or not shown. */
static utf8proc_int32_t read_character(const char *text, size_t len, size_t *step)
{
    bool valid;
    utf8proc_int32_t code = NONE;
    *step = ik_utf8_step(text, len, &valid);
    if (valid) {
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)*step, &code);
    }
    return valid && is_shown(code) ? code : NONE;
}

/* The last character of text, likewise. */
static utf8proc_int32_t read_last_character(const char *text, size_t len, size_t *step)
{
    size_t back = 1;
    while (back < 4 && back < len && ((unsigned char)text[len - back] & 0xc0) == 0x80) {
        back++;
    }
    utf8proc_int32_t code = read_character(text + len - back, back, step);
    if (*step != back) { /* stray bytes count singly */
        code = NONE;
        *step = 1;
    }
    return code;
}

/* --- graphemes --------------------------------------------------------------------------- */

static ik_grapheme_t read_grapheme(const char *text, size_t len)
{
    size_t step;
    utf8proc_int32_t state = 0;
    utf8proc_int32_t code = read_character(text, len, &step);
    ik_grapheme_t grapheme = {step, 1};
    if (code == NONE) {
        return grapheme;
    }
    grapheme.columns = utf8proc_charwidth(code);
    while (grapheme.len < len && !is_ascii(text[grapheme.len])) {
        utf8proc_int32_t next = read_character(text + grapheme.len, len - grapheme.len, &step);
        if (next == NONE || utf8proc_grapheme_break_stateful(code, next, &state)) {
            break;
        }
        grapheme.len += step;
        grapheme.columns += utf8proc_charwidth(next);
        grapheme.columns = grapheme.columns > 2 ? 2 : grapheme.columns; /* families, flags */
        code = next;
    }
    return grapheme;
}

ik_grapheme_t ik_width_grapheme(const char *text, size_t len)
{
    if (is_ascii(text[0]) && (len == 1 || is_ascii(text[1]))) {
        return (ik_grapheme_t){1, 1};
    }
    return read_grapheme(text, len);
}

/* Whether there is a grapheme boundary between two characters, whatever precedes them. A joiner
 * (between emoji) or a virama (between consonants) may bind the next character, depending on what
 * precedes it. */
static bool is_boundary(utf8proc_int32_t before, utf8proc_int32_t code)
{
    enum { VIRAMA = 9 };
    if (before == NONE || code == NONE || code < 0x80) {
        return true;
    }
    bool may_bind =
        before == ZERO_WIDTH_JOINER || utf8proc_get_property(before)->combining_class == VIRAMA;
    return !may_bind && utf8proc_grapheme_break(before, code);
}

/* Goes back to a certain boundary, and forward from there. */
size_t ik_width_step_back(const char *text, size_t len)
{
    size_t step;
    utf8proc_int32_t code = read_last_character(text, len, &step);
    size_t start = len - step;
    while (start > 0) {
        utf8proc_int32_t before = read_last_character(text, start, &step);
        if (is_boundary(before, code)) {
            break;
        }
        start -= step;
        code = before;
    }
    size_t end = start;
    while (end < len) {
        start = end;
        end += ik_width_grapheme(text + start, len - start).len;
    }
    return start;
}

/* --- texts ------------------------------------------------------------------------------- */

/* The length of the ASCII run at the start, without its last character if something else follows:
 * that may combine with it. */
static size_t count_ascii(const char *text, size_t len)
{
    size_t n = 0;
    for (uint64_t word; n + sizeof(word) <= len; n += sizeof(word)) {
        memcpy(&word, text + n, sizeof(word));
        if (word & UINT64_C(0x8080808080808080)) {
            break;
        }
    }
    while (n < len && is_ascii(text[n])) {
        n++;
    }
    return n == len || n == 0 ? n : n - 1;
}

size_t ik_width_fit(const char *text, size_t len, size_t max, size_t *columns)
{
    size_t at = 0;
    size_t used = 0;
    while (at < len) {
        size_t room = max - used;
        size_t left = len - at;
        /* one more than fits, to see whether the last one combines with it */
        size_t plain = count_ascii(text + at, left <= room ? left : room + 1);
        plain = plain < room ? plain : room;
        if (plain == 0) {
            ik_grapheme_t next = ik_width_grapheme(text + at, left);
            if ((size_t)next.columns > room) {
                break;
            }
            at += next.len;
            used += (size_t)next.columns;
        }
        at += plain;
        used += plain;
    }
    if (columns != NULL) {
        *columns = used;
    }
    return at;
}

size_t ik_width(const char *text, size_t len)
{
    size_t columns;
    ik_width_fit(text, len, IK_WIDTH_UNLIMITED, &columns);
    return columns;
}

size_t ik_width_append(ik_buffer_t *out, const char *text, size_t max, ik_width_keep_t keep)
{
    char *line = ik_sanitise_line(NULL, text);
    size_t len = strlen(line);
    size_t all = ik_width(line, len);
    size_t columns = all;
    if (all <= max) {
        ik_buffer_append(out, line, len);
    } else if (max == 0) {
        columns = 0;
    } else if (keep == IK_WIDTH_KEEP_START) {
        size_t kept = ik_width_fit(line, len, max - 1, &columns);
        ik_buffer_append(out, line, kept);
        ik_buffer_append_text(out, ellipsis);
        columns++;
    } else {
        size_t excess = all - max + 1;
        size_t skipped;
        size_t start = ik_width_fit(line, len, excess, &skipped);
        if (skipped < excess) { /* a wide character straddles the cut */
            start += ik_width_grapheme(line + start, len - start).len;
        }
        ik_buffer_append_text(out, ellipsis);
        ik_buffer_append(out, line + start, len - start);
        columns = 1 + ik_width(line + start, len - start);
    }
    talloc_free(line);
    return columns;
}
