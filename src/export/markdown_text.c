#include "export/markdown_text.h"

#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

enum { MOST_TICKS = 16 }; /* around a code span; renderers have limits, too */

/* C0, DEL, and C1, which UTF-8 writes as C2 80 to C2 9F. */
static bool is_control(const char *bytes, size_t len)
{
    unsigned char c = (unsigned char)bytes[0];
    bool usual = c == '\n' || c == '\t';
    return len == 2 ? c == 0xc2 && (unsigned char)bytes[1] < 0xa0
                    : (c < 0x20 && !usual) || c == 0x7f;
}

void ik_markdown_text_append_clean(ik_buffer_t *out, const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        bool valid;
        size_t step = ik_utf8_step(text + at, len - at, &valid);
        bool line_end = text[at] == '\r' && at + 1 < len && text[at + 1] == '\n';
        if (!valid || (is_control(text + at, step) && !line_end)) {
            ik_buffer_append_text(out, IK_UTF8_REPLACEMENT);
        } else if (!line_end) {
            ik_buffer_append(out, text + at, step);
        }
        at += step;
    }
}

/* Cleans the text and turns line ends and tabs into spaces. */
static char *make_line(const void *ctx, const char *text)
{
    ik_buffer_t line;
    ik_buffer_init(&line, ctx, IK_BUFFER_UNLIMITED); /* bounded by the text */
    ik_buffer_append_text(&line, "");
    ik_markdown_text_append_clean(&line, text, strlen(text));
    for (size_t i = 0; i < line.len; i++) {
        line.data[i] = line.data[i] == '\n' || line.data[i] == '\t' ? ' ' : line.data[i];
    }
    return ik_buffer_finish(&line);
}

void ik_markdown_text_append_line(ik_buffer_t *out, const char *text)
{
    char *line = make_line(NULL, text);
    for (const char *c = line; *c != '\0'; c++) {
        if (strchr("\\`*_{}[]<>#|~&$", *c) != NULL) {
            ik_buffer_append_byte(out, '\\');
        }
        ik_buffer_append_byte(out, *c);
    }
    talloc_free(line);
}

/* Returns the length of the longest run of backticks. */
static size_t longest_run(const char *text, size_t len)
{
    size_t longest = 0;
    size_t run = 0;
    for (size_t i = 0; i < len; i++) {
        run = text[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void append_ticks(ik_buffer_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ik_buffer_append_byte(out, '`');
    }
}

static void append_code(ik_buffer_t *out, const char *text, const char *bar)
{
    char *line = make_line(NULL, text);
    size_t ticks = longest_run(line, strlen(line)) + 1;
    if (ticks > MOST_TICKS) {
        ik_markdown_text_append_line(out, line);
    } else if (*line != '\0') {
        /* Renderers remove one space at each edge, which separates backticks there. */
        const char *space = line[0] == '`' || line[strlen(line) - 1] == '`' ? " " : "";
        append_ticks(out, ticks);
        ik_buffer_append_text(out, space);
        for (const char *c = line; *c != '\0'; c++) {
            ik_buffer_append(out, *c == '|' ? bar : c, *c == '|' ? strlen(bar) : 1);
        }
        ik_buffer_append_text(out, space);
        append_ticks(out, ticks);
    }
    talloc_free(line);
}

void ik_markdown_text_append_code(ik_buffer_t *out, const char *text)
{
    append_code(out, text, "|");
}

void ik_markdown_text_append_cell_code(ik_buffer_t *out, const char *text)
{
    append_code(out, text, "\\|");
}

void ik_markdown_text_append_fenced(ik_buffer_t *out, const char *language, const char *text,
                                    size_t len)
{
    size_t run = longest_run(text, len);
    size_t ticks = run < 3 ? 3 : run + 1;
    append_ticks(out, ticks);
    ik_buffer_append_format(out, "%s\n", language);
    ik_markdown_text_append_clean(out, text, len);
    ik_buffer_append_text(out, len > 0 && text[len - 1] != '\n' ? "\n" : "");
    append_ticks(out, ticks);
    ik_buffer_append_byte(out, '\n');
}
