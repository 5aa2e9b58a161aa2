#include "export/html_code.h"

#include <string.h>

#include "base/patch_lines.h"
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

/* The first class makes the line a block, so that its colour reaches the edge. */
static void on_line_piece(void *data, ik_code_class_t kind, bool changed, const char *text,
                          size_t len)
{
    ik_buffer_t *out = data;
    ik_buffer_append_text(out, changed ? "<mark>" : "");
    on_piece(out, changed ? IK_CODE_PLAIN : kind, text, len);
    ik_buffer_append_text(out, changed ? "</mark>" : "");
}

static void on_line(void *data, const ik_patch_line_t *line)
{
    static const char *const kinds[] = {
        [IK_PATCH_KEPT] = "l",      [IK_PATCH_REMOVED] = "l del", [IK_PATCH_ADDED] = "l add",
        [IK_PATCH_HUNK] = "l hunk", [IK_PATCH_NAME] = "l file",   [IK_PATCH_OTHER] = "l file",
    };
    ik_buffer_t *out = data;
    ik_buffer_append_format(out, "<span class=\"%s\">", kinds[line->kind]);
    if (line->kind <= IK_PATCH_ADDED) {
        ik_buffer_append_byte(out, " -+"[line->kind]);
        ik_patch_lines_split(line, on_line_piece, out);
    } else {
        ik_html_escape(out, line->text, line->len);
    }
    ik_buffer_append_text(out, "\n</span>");
}

void ik_html_code_append_diff(ik_buffer_t *out, const char *text, size_t len)
{
    ik_patch_place_t place = {0};
    ik_patch_lines_read(&place, text, len, on_line, out);
}

void ik_html_code_append_change(ik_buffer_t *out, const ik_code_language_t *language,
                                const char *before, size_t before_len, const char *after,
                                size_t after_len)
{
    ik_patch_lines_compare(language, before, before_len, after, after_len, on_line, out);
}
