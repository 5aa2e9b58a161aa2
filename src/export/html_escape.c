#include "export/html_escape.h"

#include <stdio.h>
#include <string.h>

#include "base/invisible.h"
#include "base/utf8.h"

enum {
    ZERO_WIDTH_NON_JOINER = 0x200c,
    ZERO_WIDTH_JOINER = 0x200d,
    TEXT_STYLE = 0xfe0e,
    EMOJI_STYLE = 0xfe0f,
};

typedef struct {
    ik_buffer_t *out;
    bool markup;      /* spans may be made */
    int32_t previous; /* the character before; 0: none */
} escaper_t;

/* How many bytes from here on mean themselves. */
static size_t count_plain(const char *bytes, size_t len)
{
    size_t n = 0;
    while (n < len && bytes[n] >= ' ' && bytes[n] < 0x7f && strchr("&<>\"'", bytes[n]) == NULL) {
        n++;
    }
    return n;
}

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* The character at bytes, or 0. */
static int32_t code_at(const char *bytes, size_t len)
{
    bool valid = false;
    size_t step = len == 0 ? 0 : ik_utf8_step(bytes, len, &valid);
    return valid ? ik_utf8_decode(bytes, step) : 0;
}

static bool has_shape(int32_t code)
{
    return code >= 0xa0 && !ik_invisible(code);
}

/* Where scripts and emoji need them, joiners are as good as letters: between two characters that
 * show, or, a style, behind one. Code and addresses are not written in such. */
static bool belongs(int32_t previous, int32_t code, int32_t next)
{
    switch (code) {
    case ZERO_WIDTH_JOINER:
    case ZERO_WIDTH_NON_JOINER:
        return (has_shape(previous) || previous == EMOJI_STYLE) && has_shape(next);
    case TEXT_STYLE:
    case EMOJI_STYLE:
        return has_shape(previous) || next == 0x20e3; /* a key cap */
    default:
        return false;
    }
}

static void show_number(escaper_t *escaper, int32_t code)
{
    const char *format = escaper->markup ? "<span class=\"u\">U+%04X</span>" : "[U+%04X]";
    char text[64];
    snprintf(text, sizeof(text), format, (unsigned)code);
    ik_buffer_append_text(escaper->out, text);
}

/* A line end of two bytes is one; the other control characters have no meaning in a page. */
static size_t append_ascii(escaper_t *escaper, const char *bytes, size_t len)
{
    const char *escaped = entity(*bytes);
    bool pair = *bytes == '\r' && len > 1 && bytes[1] == '\n';
    if (escaped != NULL) {
        ik_buffer_append_text(escaper->out, escaped);
    } else if (pair || *bytes == '\n' || *bytes == '\t') {
        ik_buffer_append_byte(escaper->out, pair ? '\n' : *bytes);
    } else {
        ik_buffer_append_text(escaper->out, IK_UTF8_REPLACEMENT);
    }
    return pair ? 2 : 1;
}

static size_t append_wide(escaper_t *escaper, const char *bytes, size_t len)
{
    bool valid;
    size_t step = ik_utf8_step(bytes, len, &valid);
    int32_t code = valid ? code_at(bytes, len) : 0;
    if (!valid || code < 0xa0) {
        ik_buffer_append_text(escaper->out, IK_UTF8_REPLACEMENT);
    } else if (ik_invisible(code) &&
               !belongs(escaper->previous, code, code_at(bytes + step, len - step))) {
        show_number(escaper, code);
    } else {
        ik_buffer_append(escaper->out, bytes, step);
    }
    escaper->previous = code;
    return step;
}

static void escape(escaper_t *escaper, const char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t plain = count_plain(bytes + at, len - at);
        ik_buffer_append(escaper->out, bytes + at, plain);
        at += plain;
        if (at == len) {
            return;
        }
        if ((unsigned char)bytes[at] >= 0x80) {
            escaper->previous = plain > 0 ? 0 : escaper->previous;
            at += append_wide(escaper, bytes + at, len - at);
        } else {
            escaper->previous = 0;
            at += append_ascii(escaper, bytes + at, len - at);
        }
    }
}

void ik_html_escape(ik_buffer_t *out, const char *bytes, size_t len)
{
    escape(&(escaper_t){.out = out, .markup = true}, bytes, len);
}

void ik_html_escape_text(ik_buffer_t *out, const char *text)
{
    ik_html_escape(out, text, strlen(text));
}

void ik_html_escape_attribute(ik_buffer_t *out, const char *bytes, size_t len)
{
    escape(&(escaper_t){.out = out}, bytes, len);
}
