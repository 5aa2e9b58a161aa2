/*
 * A node is described by the exact set of texts that it matches, if that set is small, or else by a
 * set of texts of which every match contains one. A sequence multiplies exact sets into longer and
 * longer runs. An element without an exact set ends the run; of all runs, the rarest is used.
 */
#include "tools/grep/ere_literals.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

enum {
    SET_MAX = IK_LITERAL_SCAN_MAX,
    LENGTH_MAX = 1024, /* of one literal; ends a run */
    /* Literals more frequent than this are found so often that matching directly is faster. */
    COST_MAX = 452,
};

typedef struct {
    ik_ere_literal_t items[SET_MAX];
    size_t count; /* 0: no set */
} set_t;

typedef struct {
    set_t exact;
    bool pure;      /* no anchors: a line that contains a text of exact matches */
    set_t edge;     /* without exact: every match begins and ends with one of these */
    set_t required; /* without exact: every match contains one of these */
} info_t;

typedef struct {
    const void *ctx;
    bool ignore_case;
} finder_t;

static info_t inspect(const finder_t *f, const ik_ere_node_t *node);

/* --- sets -------------------------------------------------------------------------------- */

static void add_text(set_t *set, const char *text, size_t len)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->items[i].len == len && memcmp(set->items[i].text, text, len) == 0) {
            return;
        }
    }
    set->items[set->count++] = (ik_ere_literal_t){.text = text, .len = len};
}

static set_t empty_text(void)
{
    return (set_t){.items = {{.text = "", .len = 0}}, .count = 1};
}

/* Returns no set if one of the two is missing or the union would be too large. */
static set_t unite(const set_t *a, const set_t *b)
{
    if (a->count == 0 || b->count == 0 || a->count + b->count > SET_MAX) {
        return (set_t){0};
    }
    set_t sum = *a;
    for (size_t i = 0; i < b->count; i++) {
        add_text(&sum, b->items[i].text, b->items[i].len);
    }
    return sum;
}

/* Every text of a followed by every text of b; no set if that is too large. */
static set_t multiply(const finder_t *f, const set_t *a, const set_t *b)
{
    set_t product = {0};
    if (a->count * b->count > SET_MAX) {
        return product;
    }
    for (size_t i = 0; i < a->count; i++) {
        for (size_t k = 0; k < b->count; k++) {
            size_t len = a->items[i].len + b->items[k].len;
            if (len > LENGTH_MAX) {
                return (set_t){0};
            }
            char *text = ik_strndup(f->ctx, a->items[i].text, a->items[i].len);
            text = ik_resize_array(f->ctx, text, char, len + 1);
            memcpy(text + a->items[i].len, b->items[k].text, b->items[k].len);
            add_text(&product, text, len);
        }
    }
    return product;
}

/* How often a scan for this set stops; UINT32_MAX: everywhere. */
static unsigned set_cost(const finder_t *f, const set_t *set)
{
    unsigned worst = set->count == 0 ? UINT32_MAX : 0;
    for (size_t i = 0; i < set->count; i++) {
        const ik_ere_literal_t *item = &set->items[i];
        if (item->len == 0) {
            return UINT32_MAX;
        }
        unsigned cost = ik_literal_scan_cost(item->text, item->len, f->ignore_case);
        worst = cost > worst ? cost : worst;
    }
    /* Each further literal makes the scan itself slower. */
    return set->count == 0 ? worst : worst + 6 * (unsigned)(set->count - 1);
}

static void keep_better(const finder_t *f, set_t *best, const set_t *candidate)
{
    if (set_cost(f, candidate) < set_cost(f, best)) {
        *best = *candidate;
    }
}

/* --- nodes ------------------------------------------------------------------------------- */

static info_t inspect_char(const finder_t *f, uint32_t c)
{
    if (c == '\n' || (f->ignore_case && c >= 0x80)) {
        return (info_t){0};
    }
    info_t info = {.pure = true};
    char bytes[4];
    size_t len = ik_utf8_encode(bytes, f->ignore_case ? (uint32_t)tolower((int)c) : c);
    add_text(&info.exact, ik_strndup(f->ctx, bytes, len), len);
    return info;
}

static info_t inspect_set(const finder_t *f, const ik_ere_set_t *set)
{
    info_t info = {.pure = true};
    if (set->negated || set->classes != 0) {
        return (info_t){0};
    }
    for (size_t i = 0; i < set->range_count; i++) {
        if (set->ranges[i].high - set->ranges[i].low >= SET_MAX) {
            return (info_t){0};
        }
        for (uint32_t c = set->ranges[i].low; c <= set->ranges[i].high; c++) {
            info_t one = inspect_char(f, c);
            if (one.exact.count == 0 || info.exact.count == SET_MAX) {
                return (info_t){0};
            }
            add_text(&info.exact, one.exact.items[0].text, one.exact.items[0].len);
        }
    }
    return info;
}

static info_t inspect_concat(const finder_t *f, const ik_ere_node_t *node)
{
    set_t run = empty_text();
    set_t best = {0};
    bool whole = true; /* the run began with the first element */
    bool pure = true;
    for (const ik_ere_node_t *child = node->first; child != NULL; child = child->next) {
        info_t info = inspect(f, child);
        pure &= info.pure;
        const set_t *head = info.exact.count > 0 ? &info.exact : &info.edge;
        set_t longer = head->count > 0 ? multiply(f, &run, head) : (set_t){0};
        if (longer.count > 0 && info.exact.count > 0) {
            run = longer;
            continue;
        }
        keep_better(f, &best, longer.count > 0 ? &longer : &run);
        keep_better(f, &best, &info.required);
        run = head->count > 0 ? *head : empty_text();
        whole = false;
    }
    if (whole) {
        return (info_t){.exact = run, .pure = pure};
    }
    keep_better(f, &best, &run);
    return (info_t){.required = best};
}

static const set_t *contained(const info_t *info)
{
    return info->exact.count > 0 ? &info->exact : &info->required;
}

static info_t inspect_alternatives(const finder_t *f, const ik_ere_node_t *node)
{
    info_t sum = inspect(f, node->first);
    for (const ik_ere_node_t *child = node->first->next; child != NULL; child = child->next) {
        info_t info = inspect(f, child);
        set_t exact = unite(&sum.exact, &info.exact);
        set_t required = unite(contained(&sum), contained(&info));
        sum = (info_t){.exact = exact, .pure = sum.pure && info.pure, .required = required};
        if (exact.count == 0 && required.count == 0) {
            break;
        }
    }
    return sum;
}

static info_t inspect_repeat(const finder_t *f, const ik_ere_node_t *node)
{
    if (node->max == 0) {
        return (info_t){.exact = empty_text(), .pure = true};
    }
    info_t child = inspect(f, node->first);
    if (node->min == 0) {
        set_t nothing = empty_text();
        info_t optional = {.pure = child.pure};
        optional.exact = node->max == 1 ? unite(&nothing, &child.exact) : optional.exact;
        return optional;
    }
    if (child.exact.count == 0) {
        return (info_t){.required = child.required};
    }
    set_t all = child.exact;
    for (uint32_t i = 1; i < node->min && all.count > 0; i++) {
        all = multiply(f, &all, &child.exact);
    }
    if (node->max == node->min && all.count > 0) {
        return (info_t){.exact = all, .pure = child.pure};
    }
    const set_t *best = all.count > 0 ? &all : &child.exact;
    return (info_t){.edge = *best, .required = *best};
}

static info_t inspect(const finder_t *f, const ik_ere_node_t *node)
{
    switch (node->kind) {
    case IK_ERE_EMPTY:
        return (info_t){.exact = empty_text(), .pure = true};
    case IK_ERE_CHAR:
        return inspect_char(f, node->code);
    case IK_ERE_SET:
        return inspect_set(f, &node->set);
    case IK_ERE_ANCHOR:
        return (info_t){.exact = empty_text(), .pure = false};
    case IK_ERE_GROUP:
        return inspect(f, node->first);
    case IK_ERE_CONCAT:
        return inspect_concat(f, node);
    case IK_ERE_ALT:
        return inspect_alternatives(f, node);
    case IK_ERE_REPEAT:
        return inspect_repeat(f, node);
    case IK_ERE_ANY:
    case IK_ERE_BACKREF:
        break;
    }
    return (info_t){0};
}

void ik_ere_literals_find(const void *ctx, const ik_ere_t *ere, bool ignore_case,
                          ik_ere_literals_t *literals)
{
    *literals = (ik_ere_literals_t){0};
    finder_t f = {.ctx = ctx, .ignore_case = ignore_case};
    info_t info = inspect(&f, ere->root);
    const set_t *set = contained(&info);
    unsigned cost = set_cost(&f, set);
    bool sufficient = info.exact.count > 0 && info.pure;
    /* Sufficient literals are used however common they are. */
    if (cost > COST_MAX && !(sufficient && cost != UINT32_MAX)) {
        return;
    }
    memcpy(literals->items, set->items, sizeof(literals->items));
    literals->count = set->count;
    literals->sufficient = sufficient;
}
