#include "tool/tool_schema_pattern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_MAX = 1000, DEPTH_MAX = 32, REPEAT_MAX = 1000 };

/* Each read_… function moves *at past what it reads and returns false when that is not portable.
 * After false, *at has no meaning. */
static bool read_alternatives(const char **at, int depth);

static bool is_quantifier(char c)
{
    return c != '\0' && strchr("*+?{", c) != NULL;
}

static bool read_escape(const char **at)
{
    unsigned char escaped = (unsigned char)(*at)[1];
    *at += 2;
    return ispunct(escaped) || (escaped != '\0' && strchr("dDwWsSnrtfv", escaped) != NULL);
}

/* *code is the character, or -1 for what cannot be an end of a range: a class such as \d. */
static bool read_class_part(const char **at, int *code)
{
    unsigned char c = (unsigned char)**at;
    if (c == '\\') {
        unsigned char escaped = (unsigned char)(*at)[1];
        *code = ispunct(escaped) ? escaped : -1;
        return read_escape(at);
    }
    *code = c < 0x80 ? c : -1;
    (*at)++;
    /* Some engines take these for nested classes and set operations. */
    return c != '\0' && strchr("[&~|", c) == NULL;
}

static bool read_class(const char **at)
{
    *at += (*at)[1] == '^' ? 2 : 1;
    if (**at == ']') {
        return false;
    }
    while (**at != ']') {
        int from;
        int to;
        if (!read_class_part(at, &from)) {
            return false;
        }
        if ((*at)[0] == '-' && (*at)[1] != ']') {
            (*at)++;
            if (!read_class_part(at, &to) || from < 0 || to < from) {
                return false;
            }
        }
    }
    (*at)++;
    return true;
}

/* (…), (?:…), (?=…) or (?!…) */
static bool read_group(const char **at, int depth)
{
    if ((*at)[1] != '?') {
        *at += 1;
    } else if ((*at)[2] != '\0' && strchr(":=!", (*at)[2]) != NULL) {
        *at += 3;
    } else {
        return false;
    }
    if (depth == DEPTH_MAX || !read_alternatives(at, depth + 1) || **at != ')') {
        return false;
    }
    (*at)++;
    return true;
}

/* {2}, {2,} or {2,5} */
static bool read_bounds(const char **at)
{
    if (!isdigit((unsigned char)(*at)[1])) {
        return false;
    }
    char *end;
    long least = strtol(*at + 1, &end, 10);
    long most = least;
    if (end[0] == ',' && isdigit((unsigned char)end[1])) {
        most = strtol(end + 1, &end, 10);
    } else if (end[0] == ',') {
        end++;
    }
    *at = end + 1;
    return *end == '}' && least <= most && most <= REPEAT_MAX;
}

/* A quantifier, if there is one. */
static bool read_quantifier(const char **at)
{
    if (!is_quantifier(**at)) {
        return true;
    }
    if (**at != '{') {
        (*at)++;
    } else if (!read_bounds(at)) {
        return false;
    }
    *at += **at == '?';
    return !is_quantifier(**at);
}

static bool read_atom(const char **at, int depth)
{
    switch (**at) {
    case '(':
        return read_group(at, depth) && read_quantifier(at);
    case '[':
        return read_class(at) && read_quantifier(at);
    case '\\':
        if ((*at)[1] == 'b' || (*at)[1] == 'B') {
            *at += 2; /* matches no character, so there is nothing to repeat */
            return !is_quantifier(**at);
        }
        return read_escape(at) && read_quantifier(at);
    case '^':
    case '$':
        (*at)++;
        return !is_quantifier(**at);
    case '*':
    case '+':
    case '?':
    case '{':
    case '}':
    case ']':
        return false;
    default:
        (*at)++;
        return read_quantifier(at);
    }
}

static bool read_alternatives(const char **at, int depth)
{
    while (**at != '\0' && **at != ')') {
        if (**at == '|') {
            (*at)++;
        } else if (!read_atom(at, depth)) {
            return false;
        }
    }
    return true;
}

bool ik_tool_schema_pattern_is_portable(const char *text, size_t len)
{
    const char *at = text;
    return strlen(text) == len && len <= LENGTH_MAX && read_alternatives(&at, 0) && *at == '\0';
}
