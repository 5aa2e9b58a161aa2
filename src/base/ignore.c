#include "base/ignore.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/glob_match.h"

#define NO_RULE UINT32_MAX

typedef struct {
    bool negated;
    bool folders_only;
    bool by_name;       /* no slash: matches names at any depth */
    const char *prefix; /* of a path: up to the first wildcard */
    size_t prefix_len;
    ik_glob_t glob;      /* the rest of a path, or the whole name */
    uint32_t next_older; /* in the same chain */
} rule_t;

/* Rules are chained by their last byte, newest first: they match only names that end in it. Rules
 * whose last byte is not fixed are in open_ended. */
struct ik_ignore {
    const ik_ignore_t *outer;
    size_t base_len;
    rule_t *rules;
    uint32_t count;
    uint32_t by_last_byte[256];
    uint32_t open_ended;
};

/* --- parsing ----------------------------------------------------------------------------- */

/* The length without trailing spaces, except those escaped by a backslash. */
static size_t trim_spaces(const char *line, size_t len)
{
    size_t kept = 0;
    for (size_t i = 0; i < len; i++) {
        bool escape = line[i] == '\\';
        i += escape;
        if (escape || line[i] != ' ') {
            kept = i < len ? i + 1 : len;
        }
    }
    return kept;
}

static void add_rule(ik_ignore_t *ignore, const char *text, size_t len)
{
    rule_t rule = {0};
    if (len > 0 && text[0] == '!') {
        rule.negated = true;
        text++;
        len--;
    }
    if (len > 0 && text[len - 1] == '/') {
        rule.folders_only = true;
        len--;
    }
    rule.by_name = memchr(text, '/', len) == NULL;
    if (rule.by_name) {
        ik_glob_prepare(&rule.glob, ignore, text, len, IK_GLOB_GIT);
    } else {
        if (len > 0 && text[0] == '/') {
            text++;
            len--;
        }
        while (rule.prefix_len < len && memchr("*?[\\", text[rule.prefix_len], 4) == NULL) {
            rule.prefix_len++;
        }
        rule.prefix = ik_strndup(ignore, text, rule.prefix_len);
        ik_glob_prepare(&rule.glob, ignore, text + rule.prefix_len, len - rule.prefix_len,
                        IK_GLOB_GIT | IK_GLOB_PATH);
    }
    ignore->rules = ik_resize_array(ignore, ignore->rules, rule_t, ignore->count + 1);
    unsigned char last = len == 0 ? '\0' : (unsigned char)text[len - 1];
    bool open = len == 0 || memchr("*?]\\", last, 4) != NULL;
    uint32_t *chain = open ? &ignore->open_ended : &ignore->by_last_byte[last];
    rule.next_older = *chain;
    *chain = ignore->count;
    ignore->rules[ignore->count++] = rule;
}

static void parse_line(ik_ignore_t *ignore, const char *line, size_t len)
{
    if (len == 0 || line[0] == '#') {
        return;
    }
    len -= line[len - 1] == '\r';
    len = trim_spaces(line, len);
    if (len > 0) {
        add_rule(ignore, line, len);
    }
}

ik_ignore_t *ik_ignore_parse(const void *ctx, const char *text, size_t len, size_t base_len,
                             const ik_ignore_t *outer)
{
    ik_ignore_t *ignore = ik_new(ctx, ik_ignore_t);
    ignore->outer = outer;
    ignore->base_len = base_len;
    memset(ignore->by_last_byte, 0xff, sizeof(ignore->by_last_byte));
    ignore->open_ended = NO_RULE;
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        len -= 3;
    }
    const char *end = text + len;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline == NULL ? end : newline;
        parse_line(ignore, text, (size_t)(stop - text));
        text = newline == NULL ? end : newline + 1;
    }
    return ignore;
}

/* --- deciding ---------------------------------------------------------------------------- */

static bool rule_matches(const rule_t *rule, const char *path, size_t len, size_t name,
                         bool is_folder)
{
    if (rule->folders_only && !is_folder) {
        return false;
    }
    if (rule->by_name) {
        return ik_glob_matches(&rule->glob, path + name, len - name);
    }
    return len >= rule->prefix_len && memcmp(path, rule->prefix, rule->prefix_len) == 0 &&
           ik_glob_matches(&rule->glob, path + rule->prefix_len, len - rule->prefix_len);
}

/* The newest matching rule of a chain, if it is newer than floor or floor is NO_RULE; else floor.
 */
static uint32_t newest_match(const ik_ignore_t *ignore, uint32_t index, uint32_t floor,
                             const char *path, size_t len, size_t name, bool is_folder)
{
    while (index != NO_RULE && (floor == NO_RULE || index > floor)) {
        if (rule_matches(&ignore->rules[index], path, len, name, is_folder)) {
            return index;
        }
        index = ignore->rules[index].next_older;
    }
    return floor;
}

ik_ignore_verdict_t ik_ignore_decide(const ik_ignore_t *ignore, const char *path, size_t len,
                                     size_t name, bool is_folder)
{
    if (len == 0) {
        return IK_IGNORE_UNDECIDED;
    }
    unsigned char last = (unsigned char)path[len - 1];
    for (; ignore != NULL; ignore = ignore->outer) {
        const char *below = path + ignore->base_len;
        size_t below_len = len - ignore->base_len;
        size_t below_name = name - ignore->base_len;
        uint32_t found = newest_match(ignore, ignore->by_last_byte[last], NO_RULE, below, below_len,
                                      below_name, is_folder);
        found = newest_match(ignore, ignore->open_ended, found, below, below_len, below_name,
                             is_folder);
        if (found != NO_RULE) {
            return ignore->rules[found].negated ? IK_IGNORE_INCLUDED : IK_IGNORE_EXCLUDED;
        }
    }
    return IK_IGNORE_UNDECIDED;
}
