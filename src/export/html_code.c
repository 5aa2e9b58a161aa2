#include "export/html_code.h"

#include <string.h>

#include "base/line_diff.h"
#include "export/html_escape.h"

/* --- code -------------------------------------------------------------------------------- */

static const char *const classes[] = {
    [IK_CODE_PLAIN] = NULL, [IK_CODE_COMMENT] = "c", [IK_CODE_STRING] = "s",
    [IK_CODE_NUMBER] = "n", [IK_CODE_KEYWORD] = "k", [IK_CODE_NAME] = "p",
};

static void on_piece(void *data, ik_code_class_t kind, const char *text, size_t len)
{
    ik_buffer_t *out = data;
    if (classes[kind] == NULL) {
        ik_html_escape(out, text, len);
        return;
    }
    ik_buffer_append_format(out, "<span class=\"%s\">", classes[kind]);
    ik_html_escape(out, text, len);
    ik_buffer_append_text(out, "</span>");
}

void ik_html_code_append(ik_buffer_t *out, const ik_code_language_t *language, const char *text,
                         size_t len)
{
    ik_code_colour_run(language, text, len, on_piece, out);
}

/* --- diffs ------------------------------------------------------------------------------- */

static bool begins(const char *text, size_t len, const char *with)
{
    size_t with_len = strlen(with);
    return len >= with_len && memcmp(text, with, with_len) == 0;
}

/* The length of the first line, with its line end. */
static size_t line_length(const char *text, size_t len)
{
    const char *end = memchr(text, '\n', len);
    return end == NULL ? len : (size_t)(end - text) + 1;
}

/* A pair of file names (---, +++) and then a hunk header (@@ -). */
bool ik_html_code_is_diff(const char *text, size_t len)
{
    bool named = false;
    while (len > 0) {
        size_t line = line_length(text, len);
        const char *next = text + line;
        if (begins(text, len, "--- ") && begins(next, len - line, "+++ ")) {
            named = true;
        }
        if (named && begins(text, line, "@@ -")) {
            return true;
        }
        text = next;
        len -= line;
    }
    return false;
}

/* The class makes the line a block, so that its colour reaches the edge. */
static void append_line(ik_buffer_t *out, const char *class, const char *mark, const char *line,
                        size_t len)
{
    ik_buffer_append_format(out, "<span class=\"%s\">%s", class, mark);
    ik_html_escape(out, line, len);
    if (len == 0 || line[len - 1] != '\n') {
        ik_buffer_append_byte(out, '\n');
    }
    ik_buffer_append_text(out, "</span>");
}

/* Inside a hunk the first character decides; lines outside name files. */
static const char *class_of_line(const char *line, size_t len, bool *in_hunk)
{
    if (begins(line, len, "@@")) {
        *in_hunk = true;
        return "l hunk";
    }
    if (begins(line, len, "diff ") || begins(line, len, "index ")) {
        *in_hunk = false;
    }
    if (!*in_hunk) {
        return "l file";
    }
    return *line == '+' ? "l add" : *line == '-' ? "l del" : "l";
}

void ik_html_code_append_diff(ik_buffer_t *out, const char *text, size_t len)
{
    /* A diff in an answer may lack file names and hunk headers: then all of it is a hunk. */
    bool in_hunk = !begins(text, len, "@@") && memmem(text, len, "\n@@", 3) == NULL;
    while (len > 0) {
        size_t line = line_length(text, len);
        append_line(out, class_of_line(text, line, &in_hunk), "", text, line);
        text += line;
        len -= line;
    }
}

static void on_changed_line(void *data, ik_line_change_t change, const char *line, size_t len)
{
    static const char *const changes[] = {
        [IK_LINE_KEPT] = "l", [IK_LINE_REMOVED] = "l del", [IK_LINE_ADDED] = "l add"};
    static const char *const marks[] = {
        [IK_LINE_KEPT] = " ", [IK_LINE_REMOVED] = "-", [IK_LINE_ADDED] = "+"};
    append_line(data, changes[change], marks[change], line, len);
}

void ik_html_code_append_change(ik_buffer_t *out, const char *before, size_t before_len,
                                const char *after, size_t after_len)
{
    ik_line_diff_run(before, before_len, after, after_len, on_changed_line, out);
}
