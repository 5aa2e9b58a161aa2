/*
 * A recursive descent parser with the rules of the C library: ^ and $ are anchors everywhere and
 * take no quantifier, quantifiers may be stacked, a quantifier must follow something, and an
 * unmatched ) or a backslash in brackets is literal. Every pattern that regcomp accepts must be
 * parsed as regcomp parses it; every pattern that regcomp refuses must be refused.
 */
#include "tools/grep/ere.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/code_point.h"

enum {
    DEPTH_MAX = 300,      /* nested groups */
    ELEMENTS_MAX = 40000, /* with repetitions expanded */
    OPTIONAL_WEIGHT = 4,
    DUP_MAX = 0x7fff, /* RE_DUP_MAX */
};

typedef struct {
    const void *ctx;
    const char *start;
    const char *at;
    const char *end;
    size_t depth;
    size_t size;
    uint32_t groups;
    ik_ere_t *ere;
    ik_ere_result_t result;
} parser_t;

static const struct {
    const char *name;
    ik_ere_class_t class;
} class_names[] = {
    {"alnum", IK_ERE_ALNUM}, {"alpha", IK_ERE_ALPHA}, {"blank", IK_ERE_BLANK},
    {"cntrl", IK_ERE_CNTRL}, {"digit", IK_ERE_DIGIT}, {"graph", IK_ERE_GRAPH},
    {"lower", IK_ERE_LOWER}, {"print", IK_ERE_PRINT}, {"punct", IK_ERE_PUNCT},
    {"space", IK_ERE_SPACE}, {"upper", IK_ERE_UPPER}, {"xdigit", IK_ERE_XDIGIT},
};

static ik_ere_node_t *parse_alternatives(parser_t *p);

/* --- nodes ------------------------------------------------------------------------------- */

static ik_ere_node_t *fail(parser_t *p, ik_ere_result_t result)
{
    if (p->result == IK_ERE_OK) {
        p->result = result;
    }
    p->at = p->end;
    return NULL;
}

static ik_ere_node_t *new_node(parser_t *p, ik_ere_kind_t kind, uint32_t code)
{
    ik_ere_node_t *node = ik_new(p->ctx, ik_ere_node_t);
    node->kind = kind;
    node->code = code;
    node->size = 1;
    if (++p->size > ELEMENTS_MAX) {
        fail(p, IK_ERE_TOO_BIG);
    }
    return node;
}

static bool looking_at(const parser_t *p, const char *text)
{
    size_t len = strlen(text);
    return (size_t)(p->end - p->at) >= len && memcmp(p->at, text, len) == 0;
}

static uint32_t take_char(parser_t *p)
{
    uint32_t c = ik_code_point_take(&p->at, p->end);
    p->ere->ascii &= c < 0x80;
    return c;
}

/* --- brackets ---------------------------------------------------------------------------- */

/* Parses [:name:]. */
static bool take_class(parser_t *p, ik_ere_set_t *set)
{
    for (size_t i = 0; i < IK_LENGTH(class_names); i++) {
        size_t len = strlen(class_names[i].name);
        bool fits = (size_t)(p->end - p->at) >= len + 4;
        if (fits && memcmp(p->at + 2, class_names[i].name, len) == 0 &&
            memcmp(p->at + 2 + len, ":]", 2) == 0) {
            p->at += len + 4;
            set->classes |= class_names[i].class;
            return true;
        }
    }
    return false;
}

/* Parses a character, [.x.] or [=x=] in brackets. */
static bool take_member(parser_t *p, uint32_t *c)
{
    bool symbol = looking_at(p, "[.") || looking_at(p, "[=");
    char mark = symbol ? p->at[1] : '\0';
    p->at += symbol ? 2 : 0;
    if (p->at >= p->end) {
        return false;
    }
    *c = take_char(p);
    if (!symbol) {
        return true;
    }
    bool closed = p->end - p->at >= 2 && p->at[0] == mark && p->at[1] == ']';
    p->at += closed ? 2 : 0;
    return closed;
}

static bool take_range(parser_t *p, ik_ere_set_t *set)
{
    uint32_t low;
    if (!take_member(p, &low)) {
        return false;
    }
    uint32_t high = low;
    if (p->end - p->at >= 2 && p->at[0] == '-' && p->at[1] != ']') {
        p->at++;
        if (!take_member(p, &high) || high < low) {
            return false;
        }
    }
    set->ranges = ik_resize_array(p->ctx, set->ranges, ik_ere_range_t, set->range_count + 1);
    set->ranges[set->range_count++] = (ik_ere_range_t){.low = low, .high = high};
    return true;
}

/* Called after the [. */
static ik_ere_node_t *parse_bracket(parser_t *p)
{
    ik_ere_node_t *node = new_node(p, IK_ERE_SET, 0);
    if (looking_at(p, "^")) {
        node->set.negated = true;
        p->at++;
    }
    for (bool first = true; p->at < p->end; first = false) {
        if (*p->at == ']' && !first) {
            p->at++;
            return node;
        }
        bool taken = looking_at(p, "[:") ? take_class(p, &node->set) : take_range(p, &node->set);
        if (!taken) {
            break;
        }
    }
    return fail(p, IK_ERE_REFUSED);
}

/* --- escapes ----------------------------------------------------------------------------- */

static ik_ere_node_t *new_class(parser_t *p, ik_ere_class_t class, bool negated)
{
    ik_ere_node_t *node = new_node(p, IK_ERE_SET, 0);
    node->set.classes = class;
    node->set.negated = negated;
    return node;
}

/* Called after the backslash. */
static ik_ere_node_t *parse_escape(parser_t *p)
{
    if (p->at == p->end) {
        return fail(p, IK_ERE_REFUSED);
    }
    uint32_t c = take_char(p);
    switch (c) {
    case 'b':
        return new_node(p, IK_ERE_ANCHOR, IK_ERE_WORD_EDGE);
    case 'B':
        return new_node(p, IK_ERE_ANCHOR, IK_ERE_NO_WORD_EDGE);
    case '<':
        return new_node(p, IK_ERE_ANCHOR, IK_ERE_WORD_START);
    case '>':
        return new_node(p, IK_ERE_ANCHOR, IK_ERE_WORD_END);
    case '`':
        return new_node(p, IK_ERE_ANCHOR, IK_ERE_LINE_START);
    case '\'':
        return new_node(p, IK_ERE_ANCHOR, IK_ERE_LINE_END);
    case 'd':
    case 'D':
        return new_class(p, IK_ERE_DIGIT, c == 'D');
    case 's':
    case 'S':
        return new_class(p, IK_ERE_SPACE, c == 'S');
    case 'w':
    case 'W':
        return new_class(p, IK_ERE_WORD, c == 'W');
    case 't':
        return new_node(p, IK_ERE_CHAR, '\t');
    case 'r':
        return new_node(p, IK_ERE_CHAR, '\r');
    case 'n':
        return new_node(p, IK_ERE_CHAR, '\n');
    case 'f':
        return new_node(p, IK_ERE_CHAR, '\f');
    case 'v':
        return new_node(p, IK_ERE_CHAR, '\v');
    default:
        break;
    }
    if (c >= '1' && c <= '9') {
        p->ere->backrefs = true;
        return new_node(p, IK_ERE_BACKREF, c - '0');
    }
    return new_node(p, IK_ERE_CHAR, c);
}

/* --- repetition -------------------------------------------------------------------------- */

static bool is_digit(const parser_t *p)
{
    return p->at < p->end && *p->at >= '0' && *p->at <= '9';
}

static uint32_t take_number(parser_t *p)
{
    uint32_t number = 0;
    while (is_digit(p)) {
        number = number * 10 + (uint32_t)(*p->at++ - '0');
        number = number > DUP_MAX ? DUP_MAX + 1 : number;
    }
    return number;
}

/* Parses n}, n,}, ,m} or n,m} after the brace. */
static bool take_interval(parser_t *p, uint32_t *min, uint32_t *max)
{
    if (!is_digit(p) && !looking_at(p, ",")) {
        return false;
    }
    *min = take_number(p);
    *max = *min;
    if (looking_at(p, ",")) {
        p->at++;
        *max = is_digit(p) ? take_number(p) : IK_ERE_UNBOUNDED;
    }
    if (!looking_at(p, "}")) {
        return false;
    }
    p->at++;
    bool small = *min <= DUP_MAX && (*max <= DUP_MAX || *max == IK_ERE_UNBOUNDED);
    return *min <= *max && small;
}

static ik_ere_node_t *new_repeat(parser_t *p, ik_ere_node_t *child, uint32_t min, uint32_t max)
{
    /* Optional copies cost regcomp more than required ones. */
    size_t optional = max == IK_ERE_UNBOUNDED ? 1 : max - min;
    size_t copies = 1 + min + OPTIONAL_WEIGHT * optional;
    if (child->size * copies > ELEMENTS_MAX) {
        return fail(p, IK_ERE_TOO_BIG);
    }
    ik_ere_node_t *node = new_node(p, IK_ERE_REPEAT, 0);
    node->min = min;
    node->max = max;
    node->size = child->size * copies;
    node->first = child;
    return node;
}

static bool at_quantifier(const parser_t *p)
{
    return p->at < p->end && memchr("*+?{", *p->at, 4) != NULL;
}

static ik_ere_node_t *parse_quantifiers(parser_t *p, ik_ere_node_t *node)
{
    while (node != NULL && at_quantifier(p)) {
        char c = *p->at++;
        uint32_t min = c == '+';
        uint32_t max = c == '?' ? 1 : IK_ERE_UNBOUNDED;
        if (c == '{' && !take_interval(p, &min, &max)) {
            return fail(p, IK_ERE_REFUSED);
        }
        node = new_repeat(p, node, min, max);
    }
    return node;
}

/* --- structure --------------------------------------------------------------------------- */

/* Called after the (. */
static ik_ere_node_t *parse_group(parser_t *p)
{
    bool plain = looking_at(p, "?:");
    if (plain) {
        ik_ere_t *ere = p->ere;
        ere->plain = ik_resize_array(p->ctx, ere->plain, size_t, ere->plain_count + 1);
        ere->plain[ere->plain_count++] = (size_t)(p->at - p->start);
        p->at += 2;
    }
    ik_ere_node_t *node = new_node(p, IK_ERE_GROUP, plain ? 0 : ++p->groups);
    if (++p->depth > DEPTH_MAX) {
        return fail(p, IK_ERE_TOO_BIG);
    }
    node->first = parse_alternatives(p);
    p->depth--;
    if (node->first == NULL || !looking_at(p, ")")) {
        return fail(p, IK_ERE_REFUSED);
    }
    p->at++;
    node->size = node->first->size;
    return node;
}

static ik_ere_node_t *parse_atom(parser_t *p)
{
    uint32_t c = take_char(p);
    switch (c) {
    case '(':
        return parse_group(p);
    case '[':
        return parse_bracket(p);
    case '.':
        return new_node(p, IK_ERE_ANY, 0);
    case '^':
        return new_node(p, IK_ERE_ANCHOR, IK_ERE_LINE_START);
    case '$':
        return new_node(p, IK_ERE_ANCHOR, IK_ERE_LINE_END);
    case '\\':
        return parse_escape(p);
    case '*':
    case '+':
    case '?':
    case '{':
        return fail(p, IK_ERE_REFUSED);
    default:
        return new_node(p, IK_ERE_CHAR, c);
    }
}

static bool branch_ends(const parser_t *p)
{
    return p->at == p->end || *p->at == '|' || (*p->at == ')' && p->depth > 0);
}

static ik_ere_node_t *parse_branch(parser_t *p)
{
    ik_ere_node_t *branch = new_node(p, IK_ERE_CONCAT, 0);
    ik_ere_node_t **link = &branch->first;
    branch->size = 0;
    while (!branch_ends(p)) {
        ik_ere_node_t *atom = parse_atom(p);
        if (atom != NULL && atom->kind != IK_ERE_ANCHOR) {
            atom = parse_quantifiers(p, atom);
        }
        if (atom == NULL) {
            return NULL;
        }
        branch->size += atom->size;
        *link = atom;
        link = &atom->next;
    }
    if (branch->first == NULL) {
        branch->kind = IK_ERE_EMPTY;
    }
    return branch->size > ELEMENTS_MAX ? fail(p, IK_ERE_TOO_BIG) : branch;
}

static ik_ere_node_t *parse_alternatives(parser_t *p)
{
    ik_ere_node_t *first = parse_branch(p);
    if (first == NULL || !looking_at(p, "|")) {
        return first;
    }
    ik_ere_node_t *alt = new_node(p, IK_ERE_ALT, 0);
    alt->first = first;
    alt->size = first->size;
    for (ik_ere_node_t *last = first; looking_at(p, "|"); last = last->next) {
        p->at++;
        last->next = parse_branch(p);
        if (last->next == NULL) {
            return NULL;
        }
        alt->size += last->next->size;
    }
    return alt->size > ELEMENTS_MAX ? fail(p, IK_ERE_TOO_BIG) : alt;
}

ik_ere_result_t ik_ere_parse(const void *ctx, const char *text, size_t len, ik_ere_t *ere)
{
    *ere = (ik_ere_t){.ascii = true};
    parser_t p = {.ctx = ctx, .start = text, .at = text, .end = text + len, .ere = ere};
    ere->root = parse_alternatives(&p);
    return p.result;
}

/* --- bytes or characters ----------------------------------------------------------------- */

typedef struct {
    bool needed;
    size_t runs; /* .+ and the like */
} census_t;

static bool is_broad(const ik_ere_node_t *node)
{
    return node->kind == IK_ERE_ANY || (node->kind == IK_ERE_SET && node->set.negated);
}

static bool reaches_beyond_ascii(const ik_ere_set_t *set)
{
    return (set->classes & ~(unsigned)(IK_ERE_DIGIT | IK_ERE_XDIGIT)) != 0;
}

/* .* and [^x]* match the same text by bytes and by characters. So does one .+, but two in a row
 * would both match the bytes of a single character. */
static void take_census(const ik_ere_node_t *node, bool repeated, census_t *census)
{
    for (const ik_ere_node_t *n = node; n != NULL; n = n->next) {
        bool word = n->kind == IK_ERE_ANCHOR && n->code >= IK_ERE_WORD_EDGE;
        bool wide_class = n->kind == IK_ERE_SET && reaches_beyond_ascii(&n->set);
        census->needed |= word || wide_class || is_broad(n);
        bool loop = n->kind == IK_ERE_REPEAT && n->max == IK_ERE_UNBOUNDED && n->min <= 1;
        if (loop && is_broad(n->first) &&
            !(n->first->kind == IK_ERE_SET && reaches_beyond_ascii(&n->first->set))) {
            census->runs += n->min + (repeated && n->min == 1);
        } else {
            take_census(n->first, repeated || n->kind == IK_ERE_REPEAT, census);
        }
    }
}

bool ik_ere_needs_characters(const ik_ere_t *ere)
{
    census_t census = {.needed = !ere->ascii || ere->backrefs};
    take_census(ere->root, false, &census);
    return census.needed || census.runs > 1;
}
