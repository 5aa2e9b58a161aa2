#include "base/markdown_code.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { TAB = 4 }; /* columns between the stops, in Markdown */

void ik_markdown_code_init(ik_markdown_code_t *code, const void *ctx, const char *source,
                           size_t len)
{
    *code = (ik_markdown_code_t){.source = source, .source_len = len};
    ik_buffer_init(&code->text, ctx, IK_BUFFER_UNLIMITED); /* bounded by the source */
}

void ik_markdown_code_begin(ik_markdown_code_t *code)
{
    code->columns = 0;
    code->text.len = 0;
}

static size_t next_column(size_t column, char c)
{
    return c == '\t' ? (column / TAB + 1) * TAB : column + 1;
}

/* Where the white space before a place in the source begins that fills the columns; a tab that
 * reaches back into the indentation of a list counts whole. NULL: there is other text in it. */
static const char *find_indentation(const ik_markdown_code_t *code, const char *at)
{
    const char *line = at;
    while (line > code->source && line[-1] != '\n') {
        line--;
    }
    size_t end = 0;
    for (const char *p = line; p < at; p++) {
        end = next_column(end, *p);
    }
    const char *from = line;
    size_t column = 0;
    while (from < at && end - next_column(column, *from) >= code->columns) {
        column = next_column(column, *from++);
    }
    for (const char *p = from; p < at; p++) {
        if (*p != ' ' && *p != '\t') {
            return NULL;
        }
    }
    return from;
}

static void append_indentation(ik_markdown_code_t *code, const char *at)
{
    const char *from = at == NULL ? NULL : find_indentation(code, at);
    if (from != NULL) {
        ik_buffer_append(&code->text, from, (size_t)(at - from));
    } else {
        ik_buffer_append_format(&code->text, "%*s", (int)code->columns, "");
    }
    code->columns = 0;
}

void ik_markdown_code_append(ik_markdown_code_t *code, const char *piece, size_t len)
{
    bool written = (uintptr_t)piece - (uintptr_t)code->source <= code->source_len;
    if (!written && len > 0 && strspn(piece, " ") >= len) {
        code->columns += len;
        return;
    }
    if (code->columns > 0) {
        append_indentation(code, written ? piece : NULL);
    }
    ik_buffer_append(&code->text, piece, len);
}
