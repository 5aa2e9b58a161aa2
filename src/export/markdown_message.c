#include "export/markdown_message.h"

#include <md4c.h>
#include <string.h>

#include "base/alloc.h"
#include "export/markdown_text.h"

/* What was HTML may have hidden Markdown that now counts, and more HTML in it: a few rounds. */
enum { LONGEST = 256 * 1024, ROUNDS = 8, DEEPEST = 6 };

/* --- headings ---------------------------------------------------------------------------- */

typedef struct {
    ik_buffer_t *out;
    int level;
    char fence; /* of the block of code we are in; NUL: none */
    size_t fence_len;
    bool after_text; /* the line before was not blank */
} lines_t;

static size_t count_indent(const char *line, size_t len)
{
    size_t n = 0;
    while (n < len && line[n] == ' ') {
        n++;
    }
    return n;
}

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

/* Follows fences; true when the line is one or stands within. */
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

/* A line of one character only, under a line of text: that makes a heading of the text. */
static bool is_underline(const lines_t *lines, const char *line, size_t len, char c)
{
    size_t run = count_run(line, len, c);
    return lines->after_text && run > 0 && is_blank(line + run, len - run);
}

static void append_signs(lines_t *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ik_buffer_append_byte(lines->out, '#');
    }
}

/* line is without its indent. What is added goes before it. */
static void demote(lines_t *lines, const char *line, size_t len)
{
    size_t signs = count_run(line, len, '#');
    bool heading = signs >= 1 && signs <= DEEPEST &&
                   (signs == len || line[signs] == ' ' || line[signs] == '\t');
    if (heading) {
        size_t wanted = signs + (size_t)lines->level;
        append_signs(lines, (wanted < DEEPEST ? wanted : DEEPEST) - signs);
    } else if (is_underline(lines, line, len, '=')) {
        ik_buffer_append_byte(lines->out, '\\');
    } else if (is_underline(lines, line, len, '-')) {
        ik_buffer_append_byte(lines->out, '\n');
    }
}

static void append_line(lines_t *lines, const char *line, size_t len)
{
    size_t indent = count_indent(line, len);
    if (indent < 4 && !is_code(lines, line + indent, len - indent)) {
        demote(lines, line + indent, len - indent);
    }
    lines->after_text = !is_blank(line, len) && lines->fence == '\0';
    ik_buffer_append(lines->out, line, len);
    ik_buffer_append_byte(lines->out, '\n');
}

/* With its headings below level and its last fence closed. */
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

/* --- what md4c sees ---------------------------------------------------------------------- */

static const char sentinel[] = "\n\n# x\n";

typedef struct {
    const char *text;
    size_t len;       /* without the sentinel */
    ik_buffer_t html; /* offsets of what opens a tag, size_t each */
    int depth;
    bool top_heading;
    bool closed; /* the sentinel was seen as the heading it is */
} seen_t;

static int on_enter_block(MD_BLOCKTYPE type, void *detail, void *data)
{
    seen_t *seen = data;
    (void)detail;
    seen->depth++; /* the document itself is the first */
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

/* Text is a piece of what is parsed, unless it is white space that md4c made up. */
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

/* Offsets come in order. */
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

/* One round; *settled when there was nothing to do. False when it cannot be told what is seen. */
static bool mend(ik_buffer_t *text, bool *settled)
{
    size_t len = text->len;
    ik_buffer_append_text(text, sentinel);
    seen_t seen = {.text = text->data, .len = len};
    ik_buffer_init(&seen.html, NULL, IK_BUFFER_UNLIMITED);
    bool parsed = md_parse(text->data, (MD_SIZE)text->len, &parser, &seen) == 0;
    *settled = seen.html.len == 0;
    if (!*settled) {
        ik_buffer_t mended;
        ik_buffer_init(&mended, text->ctx, text->max);
        escape_html(&mended, text->data, len, &seen.html);
        ik_buffer_reset(text);
        *text = mended;
    } else {
        text->len = len;
    }
    ik_buffer_reset(&seen.html);
    return parsed && (!*settled || seen.closed);
}

/* What is indented may be code by itself and text behind a list that an earlier message left open:
 * only what stands at the margin ends that. */
static bool begins_indented(const char *text)
{
    size_t blank = strspn(text, " \t\n\r\v\f");
    return blank > 0 && text[blank] != '\0' && text[blank - 1] != '\n';
}

static bool make_message(ik_buffer_t *out, const char *text, int level)
{
    bool settled = false;
    bool told = strlen(text) <= LONGEST && !begins_indented(text);
    append_lines(out, told ? text : "", level);
    for (int round = 0; told && !settled && round < ROUNDS; round++) {
        told = mend(out, &settled);
    }
    return told && settled;
}

void ik_markdown_message_append(ik_buffer_t *out, const char *text, size_t len, int level)
{
    void *scratch = talloc_new(NULL);
    ik_buffer_t clean;
    ik_buffer_t message;
    ik_buffer_init(&clean, scratch, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&message, scratch, IK_BUFFER_UNLIMITED);
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
