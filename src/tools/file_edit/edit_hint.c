/*
 * There are two stages. First both texts are folded, which removes differences of one kind (line
 * endings, then trailing white space, …), and searched again. Folding keeps every '\n', so the
 * number of newlines before a match gives the line in the real file. If no folding helps, the
 * longest line of the wanted text is compared with every line of the file, by Dice's coefficient
 * of their byte pairs.
 */
#include "tools/file_edit/edit_hint.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "tools/common/newline.h"

enum {
    EXAMINED_MAX = 16 * 1024 * 1024, /* bytes of the file and of the wanted text */
    WANTED_LINES_MAX = 64,           /* lines among which the longest is chosen */
    COMPARED_MAX = 256,              /* bytes of a line that are compared */
    SHOWN_MAX = 160,                 /* bytes of a line that are shown */
};

static ik_edit_text_t slice(ik_edit_text_t text, size_t from, size_t to)
{
    return (ik_edit_text_t){.bytes = text.bytes + from, .len = to - from};
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* --- lines -------------------------------------------------------------------------------- */

/* Fills *line with the line at *at, without its '\n', and advances *at; false at the end. */
static bool next_line(ik_edit_text_t text, size_t *at, ik_edit_text_t *line)
{
    if (*at >= text.len) {
        return false;
    }
    const char *end = memchr(text.bytes + *at, '\n', text.len - *at);
    size_t stop = end == NULL ? text.len : (size_t)(end - text.bytes);
    *line = slice(text, *at, stop);
    *at = stop + 1;
    return true;
}

static ik_edit_text_t trim(ik_edit_text_t line)
{
    while (line.len > 0 && isspace((unsigned char)line.bytes[line.len - 1])) {
        line.len--;
    }
    while (line.len > 0 && isspace((unsigned char)line.bytes[0])) {
        line = slice(line, 1, line.len);
    }
    return line;
}

/* The text from the beginning of the nth line (1-based) on. */
static ik_edit_text_t from_line(ik_edit_text_t text, size_t number)
{
    uint64_t skip = number - 1;
    return slice(text, ik_newline_skip(text.bytes, text.len, &skip), text.len);
}

/* --- folding ------------------------------------------------------------------------------ */

enum {
    FOLD_LINE_ENDS = 1, /* "\r\n" is "\n" */
    FOLD_TRAILING = 2,  /* removes blanks at the end of lines */
    FOLD_INDENT = 4,    /* removes blanks at the start of lines */
    FOLD_CASE = 8,      /* makes A to Z lower case */
};

static void fold_line(ik_buffer_t *out, ik_edit_text_t line, unsigned how)
{
    if ((how & FOLD_LINE_ENDS) && line.len > 0 && line.bytes[line.len - 1] == '\r') {
        line.len--;
    }
    while ((how & FOLD_TRAILING) && line.len > 0 && is_blank(line.bytes[line.len - 1])) {
        line.len--;
    }
    while ((how & FOLD_INDENT) && line.len > 0 && is_blank(line.bytes[0])) {
        line = slice(line, 1, line.len);
    }
    size_t start = out->len;
    ik_buffer_append(out, line.bytes, line.len);
    for (size_t i = start; (how & FOLD_CASE) && i < out->len; i++) {
        bool capital = out->data[i] >= 'A' && out->data[i] <= 'Z';
        out->data[i] = (char)(out->data[i] + (capital ? 'a' - 'A' : 0));
    }
}

static ik_edit_text_t fold(ik_buffer_t *out, ik_edit_text_t text, unsigned how)
{
    ik_buffer_reserve(out, text.len);
    size_t at = 0;
    ik_edit_text_t line;
    while (next_line(text, &at, &line)) {
        fold_line(out, line, how);
        if (at <= text.len) {
            ik_buffer_append_byte(out, '\n');
        }
    }
    return (ik_edit_text_t){.bytes = out->data, .len = out->len};
}

/* The number of the line at which folded wanted occurs in folded file; 0: it does not. */
static size_t find_folded(const void *ctx, ik_edit_text_t file, ik_edit_text_t wanted, unsigned how)
{
    ik_buffer_t folded_file;
    ik_buffer_t folded_wanted;
    ik_buffer_init(&folded_file, ctx, EXAMINED_MAX);
    ik_buffer_init(&folded_wanted, ctx, EXAMINED_MAX);
    ik_edit_text_t needle = fold(&folded_wanted, wanted, how);
    size_t number = 0;
    if (trim(needle).len > 0) {
        ik_edit_text_t hay = fold(&folded_file, file, how);
        const char *found = memmem(hay.bytes, hay.len, needle.bytes, needle.len);
        number = found == NULL ? 0 : ik_newline_count(hay.bytes, (size_t)(found - hay.bytes)) + 1;
    }
    ik_buffer_reset(&folded_file);
    ik_buffer_reset(&folded_wanted);
    return number;
}

static bool has_crlf(ik_edit_text_t text)
{
    return memmem(text.bytes, text.len, "\r\n", 2) != NULL;
}

static char *describe_line_ends(const void *ctx, ik_edit_text_t file, ik_edit_text_t wanted,
                                size_t number)
{
    uint64_t lines = ik_newline_count(wanted.bytes, wanted.len);
    ik_edit_text_t found = from_line(file, number);
    found = slice(found, 0, ik_newline_skip(found.bytes, found.len, &lines));
    if (has_crlf(found) == has_crlf(wanted)) {
        return ik_sprintf(
            ctx,
            "The text is at line %zu, but the carriage returns (\\r) at the ends of its "
            "lines differ.",
            number);
    }
    if (has_crlf(found)) {
        return ik_sprintf(ctx,
                          "The file uses CRLF line endings: the text is at line %zu, but its lines "
                          "end in \\r\\n, those of old_string in \\n.",
                          number);
    }
    return ik_sprintf(ctx,
                      "The line endings differ: the text is at line %zu, but old_string has CRLF "
                      "line endings (\\r\\n) where the file has LF (\\n).",
                      number);
}

static bool indents_with_tab(ik_edit_text_t text, size_t lines)
{
    size_t at = 0;
    ik_edit_text_t line;
    while (lines-- > 0 && next_line(text, &at, &line)) {
        for (size_t i = 0; i < line.len && is_blank(line.bytes[i]); i++) {
            if (line.bytes[i] == '\t') {
                return true;
            }
        }
    }
    return false;
}

static char *describe_indent(const void *ctx, ik_edit_text_t file, ik_edit_text_t wanted,
                             size_t number)
{
    size_t lines = ik_newline_count(wanted.bytes, wanted.len) + 1;
    bool file_tabs = indents_with_tab(from_line(file, number), lines);
    bool wanted_tabs = indents_with_tab(wanted, lines);
    const char *how = "its width differs";
    if (file_tabs != wanted_tabs) {
        how = file_tabs ? "the file has tabs where old_string has spaces"
                        : "the file has spaces where old_string has tabs";
    }
    return ik_sprintf(ctx, "The text is at line %zu with different indentation: %s.", number, how);
}

static char *find_equal_but(const void *ctx, ik_edit_text_t file, ik_edit_text_t wanted)
{
    const unsigned white = FOLD_LINE_ENDS | FOLD_TRAILING;
    size_t number;
    if ((number = find_folded(ctx, file, wanted, FOLD_LINE_ENDS)) > 0) {
        return describe_line_ends(ctx, file, wanted, number);
    }
    if ((number = find_folded(ctx, file, wanted, white)) > 0) {
        return ik_sprintf(ctx,
                          "The text is at line %zu, but trailing white space differs at the end of "
                          "a line.",
                          number);
    }
    if ((number = find_folded(ctx, file, wanted, white | FOLD_INDENT)) > 0) {
        return describe_indent(ctx, file, wanted, number);
    }
    if ((number = find_folded(ctx, file, wanted, FOLD_CASE)) > 0) {
        return ik_sprintf(ctx, "The text is at line %zu with different letter case.", number);
    }
    if ((number = find_folded(ctx, file, wanted, white | FOLD_INDENT | FOLD_CASE)) > 0) {
        return ik_sprintf(
            ctx, "The text is at line %zu with different letter case and white space.", number);
    }
    return NULL;
}

/* --- closest line ------------------------------------------------------------------------- */

/* How often each pair of adjacent bytes occurs in the wanted line, in a hash table. With left and
 * stamp the table need not be cleared for every line of the file. */
typedef struct {
    struct {
        uint16_t count;
        uint16_t left;
        size_t stamp; /* the line for which left is valid */
    } slots[1024];
    size_t pairs;
} pairs_t;

static size_t slot_of(const char *pair)
{
    unsigned both = (unsigned)(unsigned char)pair[0] << 8 | (unsigned char)pair[1];
    return both * 40503u >> 6 & 1023;
}

static size_t pair_count(ik_edit_text_t line)
{
    return line.len < 2 ? 0 : line.len - 1;
}

static ik_edit_text_t comparable(ik_edit_text_t line)
{
    line = trim(line);
    line.len = line.len < COMPARED_MAX ? line.len : COMPARED_MAX;
    return line;
}

/* Dice's coefficient of the pairs of both lines, in thousandths. 0 if the line has less than a
 * quarter of the wanted pairs, as unrelated lines may. */
static size_t similarity(pairs_t *pairs, ik_edit_text_t line, size_t stamp)
{
    size_t total = pair_count(line);
    size_t shared = 0;
    for (size_t i = 0; i < total; i++) {
        size_t slot = slot_of(line.bytes + i);
        if (pairs->slots[slot].stamp != stamp) {
            pairs->slots[slot].stamp = stamp;
            pairs->slots[slot].left = pairs->slots[slot].count;
        }
        if (pairs->slots[slot].left > 0) {
            pairs->slots[slot].left--;
            shared++;
        }
    }
    bool by_chance = 4 * shared < pairs->pairs;
    return by_chance || total == 0 ? 0 : 2000 * shared / (total + pairs->pairs);
}

/* The longest line of the wanted text, and its index from 0. */
static ik_edit_text_t longest_line(ik_edit_text_t wanted, size_t *index)
{
    ik_edit_text_t longest = slice(wanted, 0, 0);
    ik_edit_text_t line;
    size_t at = 0;
    *index = 0;
    for (size_t i = 0; i < WANTED_LINES_MAX && next_line(wanted, &at, &line); i++) {
        line = trim(line);
        if (line.len > longest.len) {
            longest = line;
            *index = i;
        }
    }
    return longest;
}

static size_t closest_line(const void *ctx, ik_edit_text_t file, ik_edit_text_t wanted_line)
{
    pairs_t *pairs = ik_new(ctx, pairs_t);
    wanted_line = comparable(wanted_line);
    pairs->pairs = pair_count(wanted_line);
    for (size_t i = 0; i < pairs->pairs; i++) {
        pairs->slots[slot_of(wanted_line.bytes + i)].count++;
    }
    size_t best = 0;
    size_t best_number = 0;
    size_t number = 0;
    size_t at = 0;
    ik_edit_text_t line;
    while (next_line(file, &at, &line)) {
        number++;
        size_t score = similarity(pairs, comparable(line), number);
        if (score > best) {
            best = score;
            best_number = number;
        }
    }
    talloc_free(pairs);
    return best_number;
}

static char *quote_line(const void *ctx, ik_edit_text_t file, size_t number)
{
    size_t at = 0;
    ik_edit_text_t line = {.bytes = "", .len = 0};
    next_line(from_line(file, number), &at, &line);
    line = trim(line);
    size_t shown = ik_utf8_cut(line.bytes, line.len, SHOWN_MAX);
    char *text = ik_strndup(ctx, line.bytes, shown);
    return ik_sprintf(ctx, "%s%s", text, shown < line.len ? "..." : "");
}

/* Compares the wanted text with the file from line number on. Returns the number of the first line
 * that differs; 0 if none does. The wanted text may begin and end in the middle of a line. */
static size_t first_difference(ik_edit_text_t file, ik_edit_text_t wanted, size_t number)
{
    ik_edit_text_t rest = from_line(file, number);
    size_t file_at = 0;
    size_t wanted_at = 0;
    ik_edit_text_t ours;
    ik_edit_text_t theirs;
    for (bool first = true; next_line(wanted, &wanted_at, &ours); first = false, number++) {
        if (!next_line(rest, &file_at, &theirs)) {
            return number;
        }
        bool last = wanted_at > wanted.len;
        size_t surplus = theirs.len > ours.len ? theirs.len - ours.len : 0;
        theirs =
            slice(theirs, first ? surplus : 0, last && !first ? theirs.len - surplus : theirs.len);
        if (ours.len != theirs.len || memcmp(ours.bytes, theirs.bytes, ours.len) != 0) {
            return number;
        }
    }
    return 0;
}

static char *describe_closest(const void *ctx, ik_edit_text_t file, ik_edit_text_t wanted)
{
    size_t index;
    ik_edit_text_t line = longest_line(wanted, &index);
    size_t number = line.len == 0 ? 0 : closest_line(ctx, file, line);
    if (number == 0) {
        return ik_strdup(ctx, "No line of the file resembles old_string.");
    }
    size_t lines = ik_newline_count(file.bytes, file.len) + 1;
    if (number > index && index + 1 < lines) {
        size_t start = number - index;
        size_t differs = first_difference(file, wanted, start);
        if (differs > start && differs <= lines && differs != number) {
            return ik_sprintf(ctx,
                              "The closest match begins at line %zu; the first line that differs "
                              "is line %zu: %s",
                              start, differs, quote_line(ctx, file, differs));
        }
    }
    return ik_sprintf(ctx, "The closest line is line %zu: %s", number,
                      quote_line(ctx, file, number));
}

char *ik_edit_hint_find(const void *ctx, ik_edit_text_t file, ik_edit_text_t wanted)
{
    if (file.len == 0) {
        return ik_strdup(ctx, "The file is empty.");
    }
    file.len = file.len < EXAMINED_MAX ? file.len : EXAMINED_MAX;
    wanted.len = wanted.len < EXAMINED_MAX ? wanted.len : EXAMINED_MAX;
    char *hint = find_equal_but(ctx, file, wanted);
    return hint != NULL ? hint : describe_closest(ctx, file, wanted);
}
