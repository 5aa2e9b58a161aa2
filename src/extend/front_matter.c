#include "extend/front_matter.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/utf8.h"

/* One line without its end. */
typedef struct {
    const char *text;
    size_t len;
    size_t indent; /* blanks before the text */
    bool blank;
} line_t;

typedef struct {
    ik_front_matter_t *matter;
    line_t *lines; /* between the two "---" */
    size_t count;
    size_t at; /* the line that is read next */
} parser_t;

/* --- lines ------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static line_t read_line(const char *text, const char *end, const char **next)
{
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    line_t line = {.text = text, .len = (size_t)((newline == NULL ? end : newline) - text)};
    *next = newline == NULL ? end : newline + 1;
    while (line.len > 0 && (is_blank(text[line.len - 1]) || text[line.len - 1] == '\r')) {
        line.len--;
    }
    while (line.indent < line.len && is_blank(text[line.indent])) {
        line.indent++;
    }
    line.blank = line.indent == line.len;
    return line;
}

static bool is_fence(const line_t *line)
{
    return line->len == 3 && memcmp(line->text, "---", 3) == 0;
}

static void complain(parser_t *parser, size_t line, const char *what)
{
    ik_front_matter_t *matter = parser->matter;
    if (matter->problem == NULL) {
        matter->problem = ik_sprintf(matter, "line %zu of the front matter %s", line + 1, what);
    }
}

/* --- values ------------------------------------------------------------------------------ */

/* The length of a plain text, which a comment ends. */
static size_t plain_length(const char *text, size_t len)
{
    for (size_t i = 1; i < len; i++) {
        if (text[i] == '#' && is_blank(text[i - 1])) {
            len = i;
        }
    }
    while (len > 0 && is_blank(text[len - 1])) {
        len--;
    }
    return len;
}

static void append_escape(ik_buffer_t *out, const char **at, const char *end)
{
    static const char names[] = "nt\"\\/0abefrv";
    static const char values[] = "\n\t\"\\/ \a\b\x1b\f\r\v";
    char c = **at;
    size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    const char *name = c == '\0' ? NULL : strchr(names, c);
    (*at)++;
    if (digits > 0 && (size_t)(end - *at) >= digits) {
        char hex[9] = {0};
        char encoded[4];
        memcpy(hex, *at, digits);
        if (strspn(hex, "0123456789abcdefABCDEF") == digits) {
            unsigned long code = strtoul(hex, NULL, 16);
            bool valid = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
            size_t len = ik_utf8_encode(encoded, valid ? (uint32_t)code : 0xfffd);
            ik_buffer_append(out, encoded, len);
            *at += digits;
            return;
        }
    }
    ik_buffer_append_byte(out, name != NULL ? values[name - names] : c);
}

/* Reads a quoted text at `at`. Returns the position after it, or NULL if it is not closed. */
static const char *read_quoted(ik_buffer_t *out, const char *at, const char *end)
{
    char quote = *at++;
    while (at < end) {
        char c = *at++;
        if (c == quote && quote == '\'' && at < end && *at == '\'') {
            ik_buffer_append_byte(out, *at++);
        } else if (c == quote) {
            return at;
        } else if (c == '\\' && quote == '"' && at < end) {
            append_escape(out, &at, end);
        } else {
            ik_buffer_append_byte(out, c);
        }
    }
    return NULL;
}

/* A text on one line, quoted or plain. Text that follows the closing quote makes it a plain one. */
static char *read_scalar(const void *ctx, const char *text, size_t len)
{
    if (len > 0 && (*text == '"' || *text == '\'')) {
        ik_buffer_t out;
        ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the text */
        ik_buffer_append_text(&out, "");
        const char *after = read_quoted(&out, text, text + len);
        size_t skipped = 0;
        while (after != NULL && after + skipped < text + len && is_blank(after[skipped])) {
            skipped++;
        }
        bool comment = skipped > 0 && after + skipped < text + len && after[skipped] == '#';
        if (after != NULL && (after + skipped == text + len || comment)) {
            return ik_buffer_finish(&out);
        }
        ik_buffer_reset(&out);
    }
    return ik_strndup(ctx, text, plain_length(text, len));
}

static void add_item(parser_t *parser, ik_front_matter_entry_t *entry, const char *text, size_t len)
{
    ik_front_matter_t *matter = parser->matter;
    if (entry->item_count == IK_FRONT_MATTER_MAX_ITEMS) {
        complain(parser, parser->at, "adds too many items");
        return;
    }
    char *item = read_scalar(matter, text, len);
    if (*item != '\0') {
        entry->items = ik_resize_array(matter, entry->items, const char *, entry->item_count + 1);
        entry->items[entry->item_count++] = item;
    }
}

/* "[a, 'b, c']", which may extend over several lines. False if it is not closed. */
static bool read_flow_list(parser_t *parser, ik_front_matter_entry_t *entry, const char *text,
                           size_t len)
{
    const char *end = text + len;
    const char *item = NULL;
    char quote = '\0';
    if (len == 0 || end[-1] != ']') {
        return false;
    }
    for (const char *at = text + 1; at < end; at++) {
        if (quote != '\0') {
            quote = *at == quote ? '\0' : quote;
            continue;
        }
        if (*at == ',' || at == end - 1) {
            size_t item_len = item == NULL ? 0 : (size_t)(at - item);
            add_item(parser, entry, item, item_len);
            item = NULL;
        } else if (item == NULL && !is_blank(*at)) {
            item = at;
            quote = *at == '"' || *at == '\'' ? *at : '\0';
        }
    }
    return true;
}

/* --- values of several lines ------------------------------------------------------------- */

/* The text after | or >. Folding joins lines by blanks; an empty line is a newline, and lines with
 * more indentation stay lines. */
static char *read_block(parser_t *parser, bool folds)
{
    ik_buffer_t out;
    size_t indent = 0;
    size_t empty = 0;       /* lines since the last text */
    bool was_deeper = true; /* the last line was not to be folded; also before the first one */
    ik_buffer_init(&out, parser->matter, IK_BUFFER_UNLIMITED); /* bounded by the lines */
    ik_buffer_append_text(&out, "");
    for (; parser->at < parser->count; parser->at++) {
        const line_t *line = &parser->lines[parser->at];
        if (line->blank) {
            empty++;
            continue;
        }
        if (line->indent == 0) {
            break;
        }
        indent = indent == 0 ? line->indent : indent;
        bool deeper = line->indent > indent;
        size_t skip = line->indent < indent ? line->indent : indent;
        if (out.len > 0) {
            bool joins = folds && !deeper && !was_deeper;
            for (size_t i = joins ? 0 : (size_t)-1; i != empty; i++) {
                ik_buffer_append_byte(&out, '\n');
            }
            if (joins && empty == 0) {
                ik_buffer_append_byte(&out, ' ');
            }
        }
        ik_buffer_append(&out, line->text + skip, line->len - skip);
        empty = 0;
        was_deeper = deeper;
    }
    return ik_buffer_finish(&out);
}

/* Joins the text with the indented lines that follow it by blanks. */
static char *read_continued(parser_t *parser, const char *text, size_t len)
{
    ik_buffer_t out;
    bool quoted = len > 0 && (*text == '"' || *text == '\'');
    ik_buffer_init(&out, parser->matter, IK_BUFFER_UNLIMITED); /* bounded by the lines */
    ik_buffer_append(&out, text, quoted ? len : plain_length(text, len));
    for (; parser->at < parser->count; parser->at++) {
        const line_t *line = &parser->lines[parser->at];
        bool comment = !quoted && !line->blank && line->text[line->indent] == '#';
        if (!line->blank && line->indent == 0) {
            break;
        }
        if (line->blank || comment) {
            continue;
        }
        const char *more = line->text + line->indent;
        size_t more_len = line->len - line->indent;
        ik_buffer_append_text(&out, out.len == 0 ? "" : " ");
        ik_buffer_append(&out, more, quoted ? more_len : plain_length(more, more_len));
    }
    ik_buffer_append_text(&out, "");
    return ik_buffer_finish(&out);
}

static bool is_item(const line_t *line)
{
    const char *text = line->text + line->indent;
    size_t len = line->len - line->indent;
    return len > 0 && *text == '-' && (len == 1 || is_blank(text[1]));
}

static void read_items(parser_t *parser, ik_front_matter_entry_t *entry)
{
    for (; parser->at < parser->count; parser->at++) {
        const line_t *line = &parser->lines[parser->at];
        if (line->blank || line->text[line->indent] == '#') {
            continue;
        }
        if (!is_item(line)) {
            if (line->indent == 0) {
                break;
            }
            continue; /* more of an item: not needed by anything */
        }
        size_t skip = line->indent + 1;
        while (skip < line->len && is_blank(line->text[skip])) {
            skip++;
        }
        add_item(parser, entry, line->text + skip, line->len - skip);
    }
}

/* The length of the key that a line begins with; 0: none. */
static size_t key_length(const char *text, size_t len)
{
    size_t key = 0;
    while (key < len &&
           (text[key] == '-' || text[key] == '_' || text[key] == '.' ||
            (text[key] >= '0' && text[key] <= '9') || (text[key] >= 'A' && text[key] <= 'Z') ||
            (text[key] >= 'a' && text[key] <= 'z'))) {
        key++;
    }
    bool ends = key < len && text[key] == ':' && (key + 1 == len || is_blank(text[key + 1]));
    return ends ? key : 0;
}

static bool is_block(const char *text, size_t len)
{
    len = plain_length(text, len);
    bool block = len > 0 && (*text == '|' || *text == '>');
    for (size_t i = 1; i < len; i++) {
        block = block && (text[i] == '+' || text[i] == '-' || (text[i] >= '0' && text[i] <= '9'));
    }
    return block;
}

/* The next line that is neither blank nor a comment; NULL: there is none. */
static const line_t *next_text(const parser_t *parser)
{
    size_t at = parser->at;
    while (at < parser->count &&
           (parser->lines[at].blank || parser->lines[at].text[parser->lines[at].indent] == '#')) {
        at++;
    }
    return at < parser->count ? &parser->lines[at] : NULL;
}

/* Reads the value of a key whose line has been taken. */
static void read_value(parser_t *parser, ik_front_matter_entry_t *entry, const char *text,
                       size_t len)
{
    const line_t *next = next_text(parser);
    if (is_block(text, len)) {
        entry->text = read_block(parser, *text == '>');
        return;
    }
    if (plain_length(text, len) == 0 && next != NULL && is_item(next)) {
        read_items(parser, entry);
        return;
    }
    if (plain_length(text, len) == 0 && next != NULL && next->indent > 0 &&
        key_length(next->text + next->indent, next->len - next->indent) > 0) {
        entry->map = true;
        while (parser->at < parser->count &&
               (parser->lines[parser->at].blank || parser->lines[parser->at].indent > 0)) {
            parser->at++;
        }
        return;
    }
    char *joined = read_continued(parser, text, len);
    size_t joined_len = strlen(joined);
    if (*joined != '[' || !read_flow_list(parser, entry, joined, joined_len)) {
        entry->text = read_scalar(parser->matter, joined, joined_len);
    } else {
        entry->flow = joined;
    }
}

static void read_entries(parser_t *parser)
{
    ik_front_matter_t *matter = parser->matter;
    while (parser->at < parser->count) {
        size_t number = parser->at;
        const line_t *line = &parser->lines[parser->at++];
        if (line->blank || line->text[line->indent] == '#') {
            continue;
        }
        size_t key = line->indent > 0 ? 0 : key_length(line->text, line->len);
        if (key == 0) {
            complain(parser, number, "is not a key with a value");
            continue;
        }
        if (matter->count == IK_FRONT_MATTER_MAX_KEYS) {
            complain(parser, number, "adds too many keys");
            return;
        }
        size_t value = key + 1;
        while (value < line->len && is_blank(line->text[value])) {
            value++;
        }
        ik_front_matter_entry_t entry = {.key = ik_strndup(matter, line->text, key)};
        read_value(parser, &entry, line->text + value, line->len - value);
        matter->entries =
            ik_resize_array(matter, matter->entries, ik_front_matter_entry_t, matter->count + 1);
        matter->entries[matter->count++] = entry;
    }
}

/* --- the whole --------------------------------------------------------------------------- */

ik_front_matter_t *ik_front_matter_parse(const void *ctx, const char *text, size_t len)
{
    ik_front_matter_t *matter = ik_new(ctx, ik_front_matter_t);
    const char *end = text + len;
    const char *next = text;
    parser_t parser = {.matter = matter};
    size_t capacity = 0;
    bool closed = false;
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        next = text += 3;
    }
    matter->body = text;
    matter->body_len = (size_t)(end - text);
    line_t line = text == end ? (line_t){0} : read_line(text, end, &next);
    if (!is_fence(&line)) {
        return matter;
    }
    while (next < end && !closed) {
        line = read_line(next, end, &next);
        closed = is_fence(&line);
        if (parser.count == capacity) {
            capacity = capacity == 0 ? 16 : capacity * 2;
            parser.lines = ik_resize_array(matter, parser.lines, line_t, capacity);
        }
        parser.lines[parser.count] = line;
        parser.count += !closed;
    }
    if (closed) {
        matter->body = next;
        matter->body_len = (size_t)(end - next);
        read_entries(&parser);
    } else {
        matter->unclosed = true;
        matter->problem = "the closing --- of the front matter is missing";
    }
    talloc_free(parser.lines);
    return matter;
}

const ik_front_matter_entry_t *ik_front_matter_find(const ik_front_matter_t *matter,
                                                    const char *key)
{
    for (size_t i = 0; i < matter->count; i++) {
        if (strcmp(matter->entries[i].key, key) == 0) {
            return &matter->entries[i];
        }
    }
    return NULL;
}

const char *ik_front_matter_text(const ik_front_matter_t *matter, const char *key)
{
    const ik_front_matter_entry_t *entry = ik_front_matter_find(matter, key);
    if (entry == NULL || entry->text == NULL) {
        return NULL;
    }
    const char *text = entry->text + strspn(entry->text, " \t\n");
    size_t len = strlen(text);
    while (len > 0 && strchr(" \t\n", text[len - 1]) != NULL) {
        len--;
    }
    return len == 0 ? NULL : ik_strndup(matter, text, len);
}

bool ik_front_matter_is_true(const ik_front_matter_t *matter, const char *key)
{
    const char *text = ik_front_matter_text(matter, key);
    return text != NULL && (strcasecmp(text, "true") == 0 || strcasecmp(text, "yes") == 0 ||
                            strcasecmp(text, "on") == 0);
}
