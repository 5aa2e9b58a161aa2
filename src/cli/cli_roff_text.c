#include "cli/cli_roff_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/utf8.h"

enum { LONGEST_LINE = 78, TAB = 4 /* md4c's */ };

/* --- characters -------------------------------------------------------------------------- */

static const char *escape_of(uint32_t code)
{
    switch (code) {
    case '\\':
        return "\\(rs";
    case '-': /* so that options can be copied: a bare one becomes a hyphen */
        return "\\-";
    case '\'': /* these three would be typeset as quotes and accents */
        return "\\(aq";
    case '`':
        return "\\(ga";
    case '^':
        return "\\(ha";
    case '~':
        return "\\(ti";
    case 0xa0:
        return "\\~";
    case 0xad:
        return "\\%";
    default:
        return NULL;
    }
}

static void append_character(ik_buffer_t *out, uint32_t code)
{
    const char *escape = escape_of(code);
    if (escape != NULL) {
        ik_buffer_append_text(out, escape);
    } else if (code >= ' ' && code < 0x7f) {
        ik_buffer_append_byte(out, (char)code);
    } else {
        bool is_control = code < 0xa0;
        ik_buffer_append_format(out, "\\[u%04X]", is_control ? 0xfffd : code);
    }
}

/* Behind a period roff takes several spaces for the end of a sentence and makes them one, unless
 * something, be it nothing, stands between. */
static void append_spaces(ik_buffer_t *out, size_t count, bool is_indent)
{
    ik_buffer_append_format(out, "%s%*s", count > 1 && !is_indent ? "\\&" : "", (int)count, "");
}

/* Takes the character at bytes and returns its length. */
static size_t next_character(const char *bytes, size_t len, uint32_t *code)
{
    bool valid;
    size_t step = ik_utf8_step(bytes, len, &valid);
    *code = valid ? (uint32_t)ik_utf8_decode(bytes, step) : 0xfffd;
    return step;
}

/* --- words ------------------------------------------------------------------------------- */

void ik_cli_roff_text_init(ik_cli_roff_text_t *text, ik_buffer_t *out)
{
    *text = (ik_cli_roff_text_t){.out = out, .line = out->len};
}

static bool is_at_line_start(const ik_cli_roff_text_t *text)
{
    return text->out->len == text->line;
}

static void set_font(ik_cli_roff_text_t *text, int font)
{
    static const char *const names[] = {"\\fR", "\\fB", "\\fI", "\\f(BI"};
    if (text->written != font) {
        ik_buffer_append_text(text->out, names[font]);
        text->written = font;
    }
}

static void end_line(ik_cli_roff_text_t *text)
{
    ik_buffer_append_byte(text->out, '\n');
    text->line = text->out->len;
}

/* What is between the last word and the next one, which has so many bytes. */
static void write_gap(ik_cli_roff_text_t *text, size_t word)
{
    size_t line = text->out->len - text->line + text->spaces + word;
    if (is_at_line_start(text)) {
        /* nothing */
    } else if (text->is_broken) {
        end_line(text);
        ik_buffer_append_text(text->out, ".br\n");
        text->line = text->out->len;
    } else if (text->spaces > 0 && line > LONGEST_LINE && !text->is_one_line) {
        text->columns++;
        end_line(text);
    } else if (text->spaces > 0) {
        text->columns += text->spaces;
        append_spaces(text->out, text->spaces, false);
    }
    text->spaces = 0;
    text->is_broken = false;
}

static void write_character(ik_cli_roff_text_t *text, uint32_t code)
{
    if (text->is_capitals && !text->is_literal) {
        code = (uint32_t)utf8proc_toupper((utf8proc_int32_t)code);
    }
    if (code == '.' && is_at_line_start(text)) {
        ik_buffer_append_text(text->out, "\\&");
    }
    if (code == '"' && text->is_one_line) {
        ik_buffer_append_text(text->out, "\\(dq");
    } else {
        append_character(text->out, code);
    }
    text->columns++;
}

static void write_word(ik_cli_roff_text_t *text, const char *word, size_t len)
{
    uint32_t code;
    if (text->written != text->font) {
        set_font(text, IK_CLI_ROFF_ROMAN); /* the space behind emphasis is not underlined */
    }
    write_gap(text, len);
    set_font(text, text->font);
    for (size_t at = 0; at < len;) {
        at += next_character(word + at, len - at, &code);
        write_character(text, code);
    }
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t word_len(const char *words, size_t len)
{
    size_t n = 0;
    while (n < len && !is_space(words[n])) {
        n++;
    }
    return n;
}

void ik_cli_roff_text_add(ik_cli_roff_text_t *text, const char *words, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t word = word_len(words + at, len - at);
        if (word > 0) {
            write_word(text, words + at, word);
            at += word;
        } else {
            text->spaces = text->is_literal ? text->spaces + 1 : 1;
            at++;
        }
    }
}

void ik_cli_roff_text_break(ik_cli_roff_text_t *text)
{
    text->is_broken = !text->is_one_line;
    text->spaces = 1;
}

void ik_cli_roff_text_end(ik_cli_roff_text_t *text)
{
    set_font(text, IK_CLI_ROFF_ROMAN);
    text->spaces = 0;
    text->is_broken = false;
}

/* --- code -------------------------------------------------------------------------------- */

/* How many columns of white space begin at text, which stands in the given column; *len is how many
 * bytes they are. */
static size_t measure_spaces(const char *text, size_t max, size_t column, size_t *len)
{
    size_t end = column;
    for (*len = 0; *len < max && (text[*len] == ' ' || text[*len] == '\t'); ++*len) {
        end += text[*len] == '\t' ? TAB - end % TAB : 1;
    }
    return end - column;
}

static void append_code_line(ik_buffer_t *out, const char *line, size_t len)
{
    size_t column = 0;
    size_t step;
    uint32_t code;
    if (len == 0 || line[0] == '.') { /* an empty line is a request, too */
        ik_buffer_append_text(out, "\\&");
    }
    for (size_t at = 0; at < len; at += step) {
        size_t spaces = measure_spaces(line + at, len - at, column, &step);
        if (spaces > 0) {
            append_spaces(out, spaces, column == 0);
            column += spaces;
        } else {
            step = next_character(line + at, len - at, &code);
            append_character(out, code);
            column++;
        }
    }
    ik_buffer_append_byte(out, '\n');
}

void ik_cli_roff_text_append_code(ik_buffer_t *out, const char *code, size_t len)
{
    while (len > 0) {
        const char *end = memchr(code, '\n', len);
        size_t line = end == NULL ? len : (size_t)(end - code);
        append_code_line(out, code, line);
        line += end != NULL;
        code += line;
        len -= line;
    }
}

/* --- fallbacks --------------------------------------------------------------------------- */

/* What no decomposition leads to. Drawings keep their columns. */
static const struct {
    uint32_t from, to;
    const char *text;
} stand_ins[] = {
    {0xb7, 0xb7, "."},      {0xd7, 0xd7, "x"},      {0xdf, 0xdf, "ss"},     {0x2010, 0x2013, "-"},
    {0x2014, 0x2015, "--"}, {0x2018, 0x201b, "'"},  {0x201c, 0x201f, "\""}, {0x2022, 0x2022, "*"},
    {0x2190, 0x2190, "<-"}, {0x2191, 0x2191, "^"},  {0x2192, 0x2192, "->"}, {0x2193, 0x2193, "v"},
    {0x2264, 0x2264, "<="}, {0x2265, 0x2265, ">="}, {0x2500, 0x2501, "-"},  {0x2502, 0x2503, "|"},
    {0x250c, 0x254b, "+"},  {0x25b2, 0x25b3, "^"},  {0x25b6, 0x25b7, ">"},  {0x25bc, 0x25bd, "v"},
    {0x25c0, 0x25c1, "<"},  {0x25cf, 0x25cf, "*"},
};

static const char *find_stand_in(uint32_t code)
{
    for (size_t i = 0; i < IK_LENGTH(stand_ins); i++) {
        if (code >= stand_ins[i].from && code <= stand_ins[i].to) {
            return stand_ins[i].text;
        }
    }
    return NULL;
}

/* A letter without its marks, an ellipsis as three periods; false when that is not ASCII. */
static bool decompose(uint32_t code, char out[8])
{
    utf8proc_int32_t parts[8];
    utf8proc_ssize_t count =
        utf8proc_decompose_char((utf8proc_int32_t)code, parts, 7,
                                UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_STRIPMARK, NULL);
    if (count < 1 || count > 7) {
        return false;
    }
    for (utf8proc_ssize_t i = 0; i < count; i++) {
        if (parts[i] <= ' ' || parts[i] >= 0x7f) {
            return false;
        }
        out[i] = (char)parts[i];
    }
    out[count] = '\0';
    return true;
}

/* The condition is for readers other than groff, which know no .fchar and have fallbacks of their
 * own. */
static void append_fallback(ik_buffer_t *out, uint32_t code)
{
    char parts[8];
    const char *text = find_stand_in(code);
    text = text != NULL ? text : decompose(code, parts) ? parts : "?";
    ik_buffer_append_format(out, ".if \\n(.x .fchar \\[u%04X] ", code);
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            ik_buffer_append_text(out, "\\(dq");
        } else {
            append_character(out, (unsigned char)*text);
        }
    }
    ik_buffer_append_byte(out, '\n');
}

static int compare_codes(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one;
    uint32_t b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

/* All of them as often as they occur, on ctx. */
static uint32_t *find_codes(const void *ctx, const char *roff, size_t *count)
{
    uint32_t *codes = NULL;
    size_t room = 0;
    *count = 0;
    while ((roff = strstr(roff, "\\[u")) != NULL) {
        if (*count == room) {
            room = room == 0 ? 64 : room * 2;
            codes = ik_resize_array(ctx, codes, uint32_t, room);
        }
        roff += 3;
        codes[(*count)++] = (uint32_t)strtoul(roff, NULL, 16);
    }
    return codes;
}

void ik_cli_roff_text_append_fallbacks(ik_buffer_t *out, const char *roff)
{
    void *scratch = talloc_new(NULL);
    size_t count;
    uint32_t *codes = find_codes(scratch, roff, &count);
    if (count > 0) {
        qsort(codes, count, sizeof(*codes), compare_codes);
    }
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || codes[i] != codes[i - 1]) {
            append_fallback(out, codes[i]);
        }
    }
    talloc_free(scratch);
}
