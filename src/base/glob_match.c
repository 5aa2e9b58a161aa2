#include "base/glob_match.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/code_point.h"
#include "base/utf8.h"

/* --- one character ----------------------------------------------------------------------- */

static uint32_t take_char(const char **at, const char *end, bool bytes)
{
    return bytes ? (unsigned char)*(*at)++ : ik_code_point_take(at, end);
}

static const struct {
    const char *name;
    int (*test)(int);
    bool beyond_ascii;
} classes[] = {
    {"alnum", isalnum, true},  {"alpha", isalpha, true},  {"blank", isblank, false},
    {"cntrl", iscntrl, false}, {"digit", isdigit, false}, {"graph", isgraph, true},
    {"lower", islower, false}, {"print", isprint, true},  {"punct", ispunct, false},
    {"space", isspace, false}, {"upper", isupper, false}, {"xdigit", isxdigit, false},
};

/* Returns 1 if c is in the class, 0 if not, and -1 if there is no such class. All characters beyond
 * ASCII count as letters: most of those in file names are, and exact tables are not worth their
 * size. For git, bytes beyond ASCII are in no class, and \v and \f are not spaces. */
static int in_class(const char *name, size_t len, uint32_t c, bool git)
{
    for (size_t i = 0; i < IK_LENGTH(classes); i++) {
        if (strlen(classes[i].name) == len && memcmp(classes[i].name, name, len) == 0) {
            if (git && classes[i].test == isspace && (c == '\v' || c == '\f')) {
                return 0;
            }
            bool foreign = classes[i].beyond_ascii && c >= 0xa0 && !git;
            return c < 0x80 ? classes[i].test((int)c) != 0 : foreign;
        }
    }
    return -1;
}

/* --- [...] ------------------------------------------------------------------------------- */

typedef enum {
    BRACKET_NO,
    BRACKET_YES,
    BRACKET_UNCLOSED,
    BRACKET_BROKEN, /* the whole pattern matches nothing */
} bracket_t;

typedef struct {
    const char *at;
    const char *end;
    unsigned flags;
    bool bytes;
} reader_t;

static bool starts_with(const reader_t *r, const char *text)
{
    size_t len = strlen(text);
    return (size_t)(r->end - r->at) >= len && memcmp(r->at, text, len) == 0;
}

/* One end of a range: a character, \x, [.x.] or [=x=]. False at the end of the pattern. */
static bool take_member(reader_t *r, uint32_t *c)
{
    const char *mark = r->at;
    if (!(r->flags & IK_GLOB_GIT) && (starts_with(r, "[.") || starts_with(r, "[="))) {
        char close = r->at[1];
        r->at += 2;
        if (r->at < r->end) {
            *c = take_char(&r->at, r->end, r->bytes);
            if (r->end - r->at >= 2 && r->at[0] == close && r->at[1] == ']') {
                r->at += 2;
                return true;
            }
        }
        r->at = mark;
    }
    if (*r->at == '\\') {
        r->at++;
    }
    if (r->at == r->end) {
        return false;
    }
    *c = take_char(&r->at, r->end, r->bytes);
    return true;
}

/* Parses [:name:] at the cursor. Returns 1, 0 or -1 as in_class does, and -2 if the text at the
 * cursor is not a class. */
static int take_class(reader_t *r, uint32_t c)
{
    if (!starts_with(r, "[:")) {
        return -2;
    }
    const char *name = r->at + 2;
    const char *close = memchr(name, ']', (size_t)(r->end - name));
    if (close == NULL) {
        return r->flags & IK_GLOB_GIT ? -1 : -2;
    }
    if (close == name || close[-1] != ':' || close - 1 < name) {
        return -2;
    }
    size_t len = (size_t)(close - 1 - name);
    for (size_t i = 0; i < len && !(r->flags & IK_GLOB_GIT); i++) {
        if (name[i] < 'a' || name[i] > 'z') {
            return -2;
        }
    }
    r->at = close + 1;
    return in_class(name, len, c, (r->flags & IK_GLOB_GIT) != 0);
}

/* r->at is after the '['. For YES and NO it is advanced past the ']'. */
static bracket_t match_bracket(reader_t *r, uint32_t c)
{
    bool negated = r->at < r->end && (*r->at == '!' || *r->at == '^');
    r->at += negated;
    bool matched = false;
    for (bool first = true;; first = false) {
        if (r->at == r->end) {
            return BRACKET_UNCLOSED;
        }
        if (*r->at == ']' && !first) {
            r->at++;
            return matched != negated ? BRACKET_YES : BRACKET_NO;
        }
        int in = take_class(r, c);
        if (in == -1) {
            return BRACKET_BROKEN;
        }
        if (in >= 0) {
            matched |= in == 1;
            continue;
        }
        uint32_t low;
        if (!take_member(r, &low)) {
            return BRACKET_UNCLOSED;
        }
        uint32_t high = low;
        if (r->end - r->at >= 2 && r->at[0] == '-' && r->at[1] != ']') {
            r->at++;
            if (!take_member(r, &high)) {
                return BRACKET_UNCLOSED;
            }
        }
        matched |= low <= c && c <= high;
        /* git tries the first character of a range by itself, so that [z-a] matches z. */
        matched |= (r->flags & IK_GLOB_GIT) && c == low;
    }
}

/* --- the whole pattern ------------------------------------------------------------------- */

/* Matches one element of the pattern, other than a star, against one character of the name. */
static bool match_element(reader_t *r, const char **name, const char *name_end, bool *broken)
{
    char element = *r->at;
    uint32_t c = take_char(name, name_end, r->bytes);
    bool crosses = c == '/' && (r->flags & IK_GLOB_PATH);
    if (element == '?') {
        r->at++;
        return !crosses;
    }
    if (element == '[') {
        reader_t inner = *r;
        inner.at++;
        bracket_t result = match_bracket(&inner, c);
        if (result == BRACKET_YES || result == BRACKET_NO) {
            r->at = inner.at;
            return result == BRACKET_YES && !crosses;
        }
        if (result == BRACKET_BROKEN || (r->flags & IK_GLOB_GIT)) {
            *broken = true;
            return false;
        }
    } else if (element == '\\') {
        r->at++;
        if (r->at == r->end) {
            return false;
        }
    }
    return take_char(&r->at, r->end, r->bytes) == c;
}

/* Returns the end of the run of stars at r->at. *deep: the run is a component ** of a path. */
static const char *skip_stars(const reader_t *r, const char *start, bool *deep)
{
    const char *after = r->at;
    while (after < r->end && *after == '*') {
        after++;
    }
    *deep = (r->flags & IK_GLOB_PATH) && after - r->at >= 2 &&
            (r->at == start || r->at[-1] == '/') && (after == r->end || *after == '/');
    return after;
}

/* Backtracking returns only to the last star, and then to the last **. Earlier stars need not be
 * tried again: whatever they could match by taking more, the later star can match too. */
static bool match_general(const ik_glob_t *glob, const char *name, size_t len)
{
    const char *end = name + len;
    reader_t r = {.at = glob->text, .end = glob->text + glob->len, .flags = glob->flags};
    r.bytes = (glob->flags & IK_GLOB_GIT) || !ik_utf8_valid(name, len);
    const char *star = NULL;
    const char *star_name = NULL;
    const char *deep = NULL;
    const char *deep_name = NULL;
    bool broken = false;
    while (!broken) {
        if (r.at < r.end && *r.at == '*') {
            bool is_deep;
            const char *after = skip_stars(&r, glob->text, &is_deep);
            if (is_deep && after == r.end) {
                return true;
            }
            r.at = is_deep ? after + 1 : after;
            *(is_deep ? &deep : &star) = r.at;
            *(is_deep ? &deep_name : &star_name) = name;
            star = is_deep ? NULL : star;
            continue;
        }
        if (r.at == r.end && name == end) {
            return true;
        }
        if (r.at < r.end && name < end && match_element(&r, &name, end, &broken)) {
            continue;
        }
        if (star != NULL && star_name < end && !(*star_name == '/' && (r.flags & IK_GLOB_PATH))) {
            take_char(&star_name, end, r.bytes);
            r.at = star;
            name = star_name;
            continue;
        }
        const char *slash = deep == NULL ? NULL : memchr(deep_name, '/', (size_t)(end - deep_name));
        if (slash == NULL) {
            return false;
        }
        deep_name = name = slash + 1;
        r.at = deep;
        star = NULL;
    }
    return false;
}

static bool period_allowed(const ik_glob_t *glob)
{
    if (glob->kind == IK_GLOB_SUFFIX || glob->len == 0) {
        return false;
    }
    return glob->text[0] == '.' || (glob->kind == IK_GLOB_GENERAL && glob->len > 1 &&
                                    glob->text[0] == '\\' && glob->text[1] == '.');
}

bool ik_glob_matches(const ik_glob_t *glob, const char *name, size_t len)
{
    if ((glob->flags & IK_GLOB_PERIOD) && len > 0 && name[0] == '.' && !period_allowed(glob)) {
        return false;
    }
    switch (glob->kind) {
    case IK_GLOB_LITERAL:
        return len == glob->len && memcmp(name, glob->text, len) == 0;
    case IK_GLOB_SUFFIX:
        return len >= glob->len && memcmp(name + len - glob->len, glob->text, glob->len) == 0 &&
               !((glob->flags & IK_GLOB_PATH) && memchr(name, '/', len - glob->len) != NULL);
    case IK_GLOB_GENERAL:
        break;
    }
    return match_general(glob, name, len);
}

static bool has_special(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (strchr("*?[\\", text[i]) != NULL && text[i] != '\0') {
            return true;
        }
    }
    return false;
}

void ik_glob_prepare(ik_glob_t *glob, const void *ctx, const char *pattern, size_t len,
                     unsigned flags)
{
    *glob = (ik_glob_t){.kind = IK_GLOB_GENERAL, .flags = flags, .len = len};
    if (!has_special(pattern, len)) {
        glob->kind = IK_GLOB_LITERAL;
    } else if (pattern[0] == '*' && !has_special(pattern + 1, len - 1)) {
        glob->kind = IK_GLOB_SUFFIX;
        pattern++;
        glob->len--;
    }
    glob->text = ik_strndup(ctx, pattern, glob->len);
}
