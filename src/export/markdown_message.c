#include "export/markdown_message.h"

#include <md4c.h>
#include <string.h>

#include "base/alloc.h"
#include "export/markdown_text.h"

/* Escaping HTML may uncover Markdown with more HTML in it, so it takes a few rounds. */
enum { LONGEST = 256 * 1024, ROUNDS = 8, DEEPEST = 6 };

/* --- headings ---------------------------------------------------------------------------- */

typedef struct {
    ik_buffer_t *out;
    int level;
    char fence; /* character of the open fence; NUL: none */
    size_t fence_len;
    bool after_text; /* the previous line was text */
} lines_t;

static size_t count_run(const char *line, size_t len, char c)
{
    size_t n = 0;
    while (n < len && line[n] == c) {
        n++;
    }
    return n;
}

static bool is_blank(const char *line, size_t len)
{
    return strspn(line, " \t") >= len;
}

/* Keeps track of fences. True when the line is a fence or inside one. */
static bool is_code(lines_t *lines, const char *line, size_t len)
{
    char c = len > 0 ? *line : '\0';
    size_t run = c == '`' || c == '~' ? count_run(line, len, c) : 0;
    if (lines->fence != '\0') {
        if (c == lines->fence && run >= lines->fence_len && is_blank(line + run, len - run)) {
            lines->fence = '\0';
        }
        return true;
    }
    bool opens = run >= 3 && (c == '~' || memchr(line + run, '`', len - run) == NULL);
    if (opens) {
        lines->fence = c;
        lines->fence_len = run;
    }
    return opens;
}

/* A setext underline: a line of one character only makes the text above it a heading. */
static bool is_underline(const lines_t *lines, const char *line, size_t len, char c)
{
    size_t run = count_run(line, len, c);
    return lines->after_text && run > 0 && is_blank(line + run, len - run);
}

/* Writes what must come before the line, which is without its indent, to lower a heading. */
static void demote(lines_t *lines, const char *line, size_t len)
{
    size_t signs = count_run(line, len, '#');
    bool heading = signs >= 1 && signs <= DEEPEST &&
                   (signs == len || line[signs] == ' ' || line[signs] == '\t');
    if (heading) {
        size_t wanted = signs + (size_t)lines->level;
        for (size_t i = signs; i < wanted && i < DEEPEST; i++) {
            ik_buffer_append_byte(lines->out, '#');
        }
    } else if (is_underline(lines, line, len, '=')) {
        ik_buffer_append_byte(lines->out, '\\');
    } else if (is_underline(lines, line, len, '-')) {
        ik_buffer_append_byte(lines->out, '\n');
    }
}

static void append_line(lines_t *lines, const char *line, size_t len)
{
    size_t indent = count_run(line, len, ' ');
    if (indent < 4 && !is_code(lines, line + indent, len - indent)) {
        demote(lines, line + indent, len - indent);
    }
    lines->after_text = !is_blank(line, len) && lines->fence == '\0';
    ik_buffer_append(lines->out, line, len);
    ik_buffer_append_byte(lines->out, '\n');
}

/* Appends the text with its headings below level and its last fence closed. */
static void append_lines(ik_buffer_t *out, const char *text, int level)
{
    lines_t lines = {.out = out, .level = level};
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        append_line(&lines, text, len);
        text += text[len] == '\n' ? len + 1 : len;
    }
    for (size_t i = 0; lines.fence != '\0' && i < lines.fence_len; i++) {
        ik_buffer_append_byte(out, lines.fence);
    }
    ik_buffer_append_text(out, lines.fence != '\0' ? "\n" : "");
}

/* --- checking with md4c ------------------------------------------------------------------ */

/* A heading after the message. When md4c does not see it as one at the top level, the message has
 * left something open. */

static const char sentinel[] = "\n\n# x\n";

typedef struct {
    const char *text;
    size_t len;       /* without the sentinel */
    ik_buffer_t html; /* offsets of "<" in HTML, size_t each */
    int depth;
    bool top_heading; /* in a heading at the top level */
    bool closed;      /* the sentinel is one */
} seen_t;

static int on_enter_block(MD_BLOCKTYPE type, void *detail, void *data)
{
    seen_t *seen = data;
    (void)detail;
    seen->depth++; /* the document itself is 1 */
    seen->top_heading = type == MD_BLOCK_H && seen->depth == 2;
    return 0;
}

static int on_leave_block(MD_BLOCKTYPE type, void *detail, void *data)
{
    (void)type;
    (void)detail;
    ((seen_t *)data)->depth--;
    return 0;
}

static int on_span(MD_SPANTYPE type, void *detail, void *data)
{
    (void)type;
    (void)detail;
    (void)data;
    return 0;
}

/* The text points into the source, except for white space that md4c inserts. */
static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE len, void *data)
{
    seen_t *seen = data;
    bool inside = text >= seen->text && text < seen->text + seen->len + sizeof(sentinel);
    size_t offset = inside ? (size_t)(text - seen->text) : 0;
    if (inside && offset >= seen->len) {
        seen->closed = seen->closed || seen->top_heading;
    }
    for (size_t i = 0; inside && type == MD_TEXT_HTML && i < len; i++) {
        size_t at = offset + i;
        if (text[i] == '<') {
            ik_buffer_append(&seen->html, (const char *)&at, sizeof(at));
        }
    }
    return 0;
}

static const MD_PARSER parser = {
    .flags = MD_DIALECT_GITHUB,
    .enter_block = on_enter_block,
    .leave_block = on_leave_block,
    .enter_span = on_span,
    .leave_span = on_span,
    .text = on_text,
};

/* Writes a backslash before each offset. They are in ascending order. */
static void escape_html(ik_buffer_t *out, const char *text, size_t len, const ik_buffer_t *html)
{
    size_t done = 0;
    for (size_t i = 0; i < html->len; i += sizeof(size_t)) {
        size_t at;
        memcpy(&at, html->data + i, sizeof(at));
        ik_buffer_append(out, text + done, at - done);
        ik_buffer_append_byte(out, '\\');
        done = at;
    }
    ik_buffer_append(out, text + done, len - done);
}

/* One round of escaping; *settled when there was none to do. False when the message cannot be
 * parsed or leaves something open. */
static bool escape_round(ik_buffer_t *text, bool *settled)
{
    size_t len = text->len;
    ik_buffer_append_text(text, sentinel);
    seen_t seen = {.text = text->data, .len = len};
    ik_buffer_init(&seen.html, NULL, IK_BUFFER_UNLIMITED); /* bounded by LONGEST */
    bool parsed = md_parse(text->data, (MD_SIZE)text->len, &parser, &seen) == 0;
    *settled = seen.html.len == 0;
    if (!*settled) {
        ik_buffer_t escaped;
        ik_buffer_init(&escaped, text->ctx, text->max);
        escape_html(&escaped, text->data, len, &seen.html);
        ik_buffer_reset(text);
        *text = escaped;
    } else {
        text->len = len;
    }
    ik_buffer_reset(&seen.html);
    return parsed && (!*settled || seen.closed);
}

/* Indented text at the start may continue a list that an earlier message left open; only text at
 * the margin ends the list. */
static bool begins_indented(const char *text)
{
    size_t blank = strspn(text, " \t\n\r\v\f");
    return blank > 0 && text[blank] != '\0' && text[blank - 1] != '\n';
}

static bool make_message(ik_buffer_t *out, const char *text, int level)
{
    bool settled = false;
    bool safe = strlen(text) <= LONGEST && !begins_indented(text);
    append_lines(out, safe ? text : "", level);
    for (int round = 0; safe && !settled && round < ROUNDS; round++) {
        safe = escape_round(out, &settled);
    }
    return safe && settled;
}

void ik_markdown_message_append(ik_buffer_t *out, const char *text, size_t len, int level)
{
    void *scratch = talloc_new(NULL);
    ik_buffer_t clean;
    ik_buffer_t message;
    ik_buffer_init(&clean, scratch, IK_BUFFER_UNLIMITED);   /* bounded by the message */
    ik_buffer_init(&message, scratch, IK_BUFFER_UNLIMITED); /* likewise */
    ik_buffer_append_text(&clean, "");
    ik_buffer_append_text(&message, "");
    ik_markdown_text_append_clean(&clean, text, len);
    if (make_message(&message, clean.data, level)) {
        ik_buffer_append(out, message.data, message.len);
    } else {
        ik_markdown_text_append_fenced(out, "", clean.data, clean.len);
    }
    talloc_free(scratch);
}
