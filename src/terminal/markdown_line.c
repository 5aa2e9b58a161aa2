#include "terminal/markdown_line.h"

#include <string.h>

enum { TAB = 4, NUMBER_DIGITS = 9, FENCE_MIN = 3, LEVEL_MAX = 6 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

size_t ik_markdown_line_count_same(const char *text, size_t len, char c)
{
    size_t count = 0;
    while (count < len && text[count] == c) {
        count++;
    }
    return count;
}

static size_t skip_blanks(const char *text, size_t len, size_t at)
{
    while (at < len && is_blank(text[at])) {
        at++;
    }
    return at;
}

/* --- cursor ------------------------------------------------------------------------------ */

void ik_markdown_cursor_init(ik_markdown_cursor_t *cursor, const char *line, size_t len)
{
    *cursor = (ik_markdown_cursor_t){.text = line, .len = len};
}

size_t ik_markdown_cursor_indent(const ik_markdown_cursor_t *cursor)
{
    size_t column = cursor->column;
    size_t at = cursor->at;
    for (; at < cursor->len && is_blank(cursor->text[at]); at++) {
        column += cursor->text[at] == ' ' ? 1 : TAB - column % TAB;
    }
    return cursor->spare + column - cursor->column;
}

void ik_markdown_cursor_skip(ik_markdown_cursor_t *cursor, size_t columns)
{
    size_t used = columns < cursor->spare ? columns : cursor->spare;
    cursor->spare -= used;
    columns -= used;
    while (columns > 0 && cursor->at < cursor->len && is_blank(cursor->text[cursor->at])) {
        size_t step = cursor->text[cursor->at++] == ' ' ? 1 : TAB - cursor->column % TAB;
        cursor->column += step;
        cursor->spare = step > columns ? step - columns : 0;
        columns -= step - cursor->spare;
    }
}

bool ik_markdown_cursor_is_blank(const ik_markdown_cursor_t *cursor)
{
    return skip_blanks(cursor->text, cursor->len, cursor->at) == cursor->len;
}

void ik_markdown_cursor_advance(ik_markdown_cursor_t *cursor, size_t bytes)
{
    cursor->at += bytes;
    cursor->column += bytes;
    cursor->spare = 0;
}

/* --- lines ------------------------------------------------------------------------------- */

int ik_markdown_line_heading(const char *text, size_t len)
{
    size_t level = ik_markdown_line_count_same(text, len, '#');
    bool is_heading = level >= 1 && level <= LEVEL_MAX && (level == len || is_blank(text[level]));
    return is_heading ? (int)level : 0;
}

void ik_markdown_line_trim_heading(const char *text, size_t *from, size_t *to)
{
    while (*to > *from && is_blank(text[*to - 1])) {
        --*to;
    }
    size_t end = *to;
    while (end > *from && text[end - 1] == '#') {
        end--;
    }
    if (end == *from || is_blank(text[end - 1])) {
        *to = end;
    }
    while (*to > *from && is_blank(text[*to - 1])) {
        --*to;
    }
}

int ik_markdown_line_underline(const char *text, size_t len)
{
    if (len == 0 || (text[0] != '=' && text[0] != '-')) {
        return 0;
    }
    bool is_all = skip_blanks(text, len, ik_markdown_line_count_same(text, len, text[0])) == len;
    return !is_all ? 0 : text[0] == '=' ? 1 : 2;
}

bool ik_markdown_line_is_rule(const char *text, size_t len)
{
    size_t count = 0;
    if (len == 0 || (text[0] != '-' && text[0] != '*' && text[0] != '_')) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (text[i] != text[0] && !is_blank(text[i])) {
            return false;
        }
        count += text[i] == text[0];
    }
    return count >= 3;
}

bool ik_markdown_line_fence(const char *text, size_t len, ik_markdown_fence_t *fence)
{
    if (len == 0 || (text[0] != '`' && text[0] != '~')) {
        return false;
    }
    size_t length = ik_markdown_line_count_same(text, len, text[0]);
    if (length < FENCE_MIN ||
        (text[0] == '`' && memchr(text + length, '`', len - length) != NULL)) {
        return false;
    }
    size_t word = skip_blanks(text, len, length);
    size_t end = word;
    while (end < len && !is_blank(text[end])) {
        end++;
    }
    *fence = (ik_markdown_fence_t){
        .mark = text[0], .length = length, .info = text + word, .info_len = end - word};
    return true;
}

bool ik_markdown_line_closes(const char *text, size_t len, const ik_markdown_fence_t *fence)
{
    size_t length = ik_markdown_line_count_same(text, len, fence->mark);
    return length >= fence->length && skip_blanks(text, len, length) == len;
}

bool ik_markdown_line_marker(const char *text, size_t len, ik_markdown_marker_t *marker)
{
    *marker = (ik_markdown_marker_t){0};
    size_t digits = 0;
    while (digits < len && digits < NUMBER_DIGITS && text[digits] >= '0' && text[digits] <= '9') {
        marker->number = marker->number * 10 + (unsigned)(text[digits++] - '0');
    }
    if (digits == len || strchr(digits > 0 ? ".)" : "-+*", text[digits]) == NULL) {
        return false;
    }
    marker->mark = text[digits];
    marker->len = digits + 1;
    return marker->len == len || is_blank(text[marker->len]);
}
