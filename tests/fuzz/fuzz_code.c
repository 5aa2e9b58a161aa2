/*
 * Code to be coloured: all of it comes out, in order, as one text and line by line.
 *
 * Input: the name of a language up to a newline, the code.
 */
#include <stdint.h>

#include "base/code_colour.h"
#include "pieces.h"

typedef struct {
    const char *next;
    const char *end;
} walk_t;

static void on_piece(void *data, ik_code_class_t kind, const char *text, size_t len)
{
    walk_t *walk = data;
    REQUIRE(kind <= IK_CODE_NAME && len > 0);
    REQUIRE(text == walk->next && len <= (size_t)(walk->end - text));
    walk->next = text + len;
}

static void check_whole(const ik_code_language_t *language, const char *code, size_t len)
{
    walk_t walk = {code, code + len};
    ik_code_colour_run(language, code, len, on_piece, &walk);
    REQUIRE(walk.next == walk.end);
}

static void check_lines(const ik_code_language_t *language, const uint8_t *code, size_t len)
{
    ik_code_state_t state = {0};
    for (size_t at = 0; at < len;) {
        size_t line_len = pieces_find(code + at, len - at, '\n');
        char *line = pieces_copy(code + at, line_len);
        walk_t walk = {line, line + line_len};
        ik_code_colour_line(language, &state, line, line_len, on_piece, &walk);
        REQUIRE(walk.next == walk.end);
        free(line);
        at += line_len + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    size_t name_len = pieces_find(bytes, len, '\n');
    size_t code_len = name_len < len ? len - name_len - 1 : 0;
    const uint8_t *code = bytes + len - code_len;
    char *name = pieces_copy(bytes, name_len);
    const ik_code_language_t *language = ik_code_colour_find(name, name_len);
    free(name);
    char *copy = pieces_copy(code, code_len);
    check_whole(language, copy, code_len);
    free(copy);
    check_lines(language, code, code_len);
    return 0;
}
