#include "export/html_escape.h"

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
    bool markup;      /* tags are allowed */
    int32_t previous; /* character; 0: ASCII or none */
} escaper_t;

/* Counts the bytes that need no escaping. */
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

/* Decodes the character at bytes; 0 when it is not valid. */
static int32_t code_at(const char *bytes, size_t len)
{
    bool valid = false;
    size_t step = len == 0 ? 0 : ik_utf8_step(bytes, len, &valid);
    return valid ? ik_utf8_decode(bytes, step) : 0;
}

static bool is_visible(int32_t code)
{
    return code >= 0xa0 && !ik_invisible(code);
}

/* Joiners between two visible non-ASCII characters and variation selectors after one are a normal
 * part of scripts and emoji. Code and addresses have no use for them. */
static bool is_legitimate(int32_t previous, int32_t code, int32_t next)
{
    switch (code) {
    case ZERO_WIDTH_JOINER:
    case ZERO_WIDTH_NON_JOINER:
        return (is_visible(previous) || previous == EMOJI_STYLE) && is_visible(next);
    case TEXT_STYLE:
    case EMOJI_STYLE:
        return is_visible(previous) || next == 0x20e3; /* a key cap */
    default:
        return false;
    }
}

/* CRLF becomes LF; other control characters have no meaning in a page. */
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
               !is_legitimate(escaper->previous, code, code_at(bytes + step, len - step))) {
        ik_buffer_append_format(escaper->out,
                                escaper->markup ? "<span class=\"u\">U+%04X</span>" : "[U+%04X]",
                                (unsigned)code);
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
