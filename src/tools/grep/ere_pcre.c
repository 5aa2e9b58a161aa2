#include "tools/grep/ere_pcre.h"

#include <ctype.h>

#include "base/array.h"
#include "base/utf8.h"

typedef struct {
    ik_buffer_t *out;
    bool ignore_case;
    bool characters;
    bool backrefs;
} writer_t;

#define NEVER "(?!)"

/* The members of each class, as PCRE2 writes them, without the newline. Beyond ASCII they follow
 * Unicode categories, as in the C library's UTF-8 locales. */
static const struct {
    ik_ere_class_t class;
    const char *bytes;
    const char *beyond;
} classes[] = {
    {IK_ERE_ALNUM, "0-9A-Za-z", "\\p{L}\\p{M}\\p{N}"},
    {IK_ERE_ALPHA, "A-Za-z", "\\p{L}\\p{M}\\p{Nl}"},
    {IK_ERE_BLANK, "\\t\\x20", "\\x{1680}\\x{2000}-\\x{2006}\\x{2008}-\\x{200a}\\x{205f}\\x{3000}"},
    {IK_ERE_CNTRL, "\\x00-\\x09\\x0b-\\x1f\\x7f", "\\x{80}-\\x{9f}\\x{2028}\\x{2029}"},
    {IK_ERE_DIGIT, "0-9", ""},
    {IK_ERE_GRAPH, "!-~", "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}"},
    {IK_ERE_LOWER, "a-z", "\\p{Ll}"},
    {IK_ERE_PRINT, "\\x20-~", "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}\\p{Zs}"},
    {IK_ERE_PUNCT, "!-\\/:-@\\[-`{-~", "\\p{P}\\p{S}"},
    {IK_ERE_SPACE, "\\t\\x0b-\\r\\x20",
     "\\x{1680}\\x{2000}-\\x{2006}\\x{2008}-\\x{200a}\\x{205f}\\x{3000}\\x{2028}\\x{2029}"},
    {IK_ERE_UPPER, "A-Z", "\\p{Lu}\\p{Lt}"},
    {IK_ERE_XDIGIT, "0-9A-Fa-f", ""},
    {IK_ERE_WORD, "0-9A-Za-z_", "\\p{L}\\p{N}"},
};

static void write_text(writer_t *w, const char *text)
{
    ik_buffer_append_text(w->out, text);
}

/* Writes a literal character, inside or outside of a class. */
static void write_code(writer_t *w, uint32_t c)
{
    if (c < 0x80 && (isalnum((int)c) || c == '_')) {
        ik_buffer_append_byte(w->out, (char)c);
    } else if (c < 0x80) {
        ik_buffer_append_format(w->out, "\\x%02x", c);
    } else {
        char bytes[4];
        ik_buffer_append(w->out, bytes, ik_utf8_encode(bytes, c));
    }
}

static void write_char(writer_t *w, uint32_t c)
{
    if (c == '\n') {
        write_text(w, NEVER);
    } else if (w->ignore_case && c < 0x80 && isalpha((int)c)) {
        ik_buffer_append_format(w->out, "[%c%c]", toupper((int)c), tolower((int)c));
    } else if (w->ignore_case && c >= 0x80) {
        write_text(w, "(?i:");
        write_code(w, c);
        write_text(w, ")");
    } else {
        write_code(w, c);
    }
}

/* --- sets -------------------------------------------------------------------------------- */

static void write_range(writer_t *w, uint32_t low, uint32_t high)
{
    if (low <= '\n' && '\n' <= high) {
        if (low < '\n') {
            write_range(w, low, '\n' - 1);
        }
        if ('\n' < high) {
            write_range(w, '\n' + 1, high);
        }
        return;
    }
    write_code(w, low);
    if (high > low) {
        write_text(w, "-");
        write_code(w, high);
    }
}

/* Writes the part of range within [from, to], moved by shift. */
static void write_other_case(writer_t *w, ik_ere_range_t range, int from, int to, int shift)
{
    uint32_t low = range.low > (uint32_t)from ? range.low : (uint32_t)from;
    uint32_t high = range.high < (uint32_t)to ? range.high : (uint32_t)to;
    if (low <= high) {
        write_range(w, low + (uint32_t)shift, high + (uint32_t)shift);
    }
}

static void write_classes(writer_t *w, unsigned wanted)
{
    unsigned cased = IK_ERE_UPPER | IK_ERE_LOWER;
    if (w->ignore_case && (wanted & cased)) {
        wanted |= cased;
    }
    for (size_t i = 0; i < IK_LENGTH(classes); i++) {
        if (wanted & classes[i].class) {
            write_text(w, classes[i].bytes);
            write_text(w, w->characters ? classes[i].beyond : "");
        }
    }
}

static bool is_newline_only(const ik_ere_set_t *set)
{
    for (size_t i = 0; i < set->range_count; i++) {
        if (set->ranges[i].low != '\n' || set->ranges[i].high != '\n') {
            return false;
        }
    }
    return set->classes == 0;
}

static void write_set(writer_t *w, const ik_ere_set_t *set)
{
    if (is_newline_only(set) && !set->negated) {
        write_text(w, NEVER);
        return;
    }
    bool foreign = false;
    for (size_t i = 0; i < set->range_count; i++) {
        foreign |= set->ranges[i].high >= 0x80;
    }
    bool fold_foreign = foreign && w->ignore_case;
    write_text(w, fold_foreign ? "(?i:[" : "[");
    write_text(w, set->negated ? "^\\n" : "");
    for (size_t i = 0; i < set->range_count; i++) {
        write_range(w, set->ranges[i].low, set->ranges[i].high);
        if (w->ignore_case) {
            write_other_case(w, set->ranges[i], 'a', 'z', 'A' - 'a');
            write_other_case(w, set->ranges[i], 'A', 'Z', 'a' - 'A');
        }
    }
    write_classes(w, set->classes);
    write_text(w, fold_foreign ? "])" : "]");
}

/* --- structure --------------------------------------------------------------------------- */

static void write_node(writer_t *w, const ik_ere_node_t *node);

static void write_children(writer_t *w, const ik_ere_node_t *node, const char *separator)
{
    for (const ik_ere_node_t *child = node->first; child != NULL; child = child->next) {
        write_node(w, child);
        write_text(w, child->next != NULL ? separator : "");
    }
}

static void write_quantifier(writer_t *w, uint32_t min, uint32_t max)
{
    if (max == IK_ERE_UNBOUNDED && min <= 1) {
        write_text(w, min == 0 ? "*" : "+");
    } else if (max == IK_ERE_UNBOUNDED) {
        ik_buffer_append_format(w->out, "{%u,}", min);
    } else if (min == 0 && max == 1) {
        write_text(w, "?");
    } else {
        ik_buffer_append_format(w->out, "{%u,%u}", min, max);
    }
}

static void write_anchor(writer_t *w, ik_ere_anchor_t anchor)
{
    static const char *const texts[] = {
        [IK_ERE_LINE_START] = "^",          [IK_ERE_LINE_END] = "$",
        [IK_ERE_WORD_EDGE] = "\\b",         [IK_ERE_NO_WORD_EDGE] = "\\B",
        [IK_ERE_WORD_START] = "\\b(?=\\w)", [IK_ERE_WORD_END] = "\\b(?<=\\w)",
    };
    write_text(w, texts[anchor]);
}

static void write_node(writer_t *w, const ik_ere_node_t *node)
{
    switch (node->kind) {
    case IK_ERE_EMPTY:
        break;
    case IK_ERE_CHAR:
        write_char(w, node->code);
        break;
    case IK_ERE_ANY:
        write_text(w, ".");
        break;
    case IK_ERE_SET:
        write_set(w, &node->set);
        break;
    case IK_ERE_ANCHOR:
        write_anchor(w, (ik_ere_anchor_t)node->code);
        break;
    case IK_ERE_BACKREF:
        ik_buffer_append_format(w->out, w->ignore_case ? "(?i:\\g{%u})" : "\\g{%u}", node->code);
        break;
    case IK_ERE_GROUP:
        write_text(w, w->backrefs && node->code > 0 ? "(" : "(?:");
        write_node(w, node->first);
        write_text(w, ")");
        break;
    case IK_ERE_CONCAT:
        write_children(w, node, "");
        break;
    case IK_ERE_ALT:
        write_children(w, node, "|");
        break;
    case IK_ERE_REPEAT: {
        bool nested = node->first->kind == IK_ERE_REPEAT;
        write_text(w, nested ? "(?:" : "");
        write_node(w, node->first);
        write_text(w, nested ? ")" : "");
        write_quantifier(w, node->min, node->max);
        break;
    }
    }
}

void ik_ere_pcre_format(const ik_ere_t *ere, bool ignore_case, bool characters, ik_buffer_t *out)
{
    writer_t w = {.out = out,
                  .ignore_case = ignore_case,
                  .characters = characters,
                  .backrefs = ere->backrefs};
    write_node(&w, ere->root);
}
