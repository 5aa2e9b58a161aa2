/*
 * Wildcard matching of one name or path, for the glob tool, for .gitignore rules and for grep's
 * file filter. A pattern is prepared once: most are a plain name or "*.ext", and those are compared
 * without walking the pattern. Matching takes time proportional to pattern times name at worst,
 * whatever the pattern.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    /* The name is a path: '/' is only matched by '/', and a component ** spans folders. */
    IK_GLOB_PATH = 1,
    /* A '.' at the start of the name must be written out in the pattern. */
    IK_GLOB_PERIOD = 2,
    /* As git reads patterns: bytes, not characters; classes are ASCII, an unclosed [ matches
     * nothing, and a range always matches its first byte. Otherwise ? and [] take a character of a
     * name that is UTF-8 and a byte of one that is not. */
    IK_GLOB_GIT = 4,
};

typedef enum {
    IK_GLOB_LITERAL, /* text is the name itself */
    IK_GLOB_SUFFIX,  /* text is what follows the only '*' */
    IK_GLOB_GENERAL, /* text is the pattern */
} ik_glob_kind_t;

typedef struct {
    ik_glob_kind_t kind;
    unsigned flags;
    const char *text;
    size_t len;
} ik_glob_t;

/* Fills *glob; its text is allocated on ctx. */
void ik_glob_prepare(ik_glob_t *glob, const void *ctx, const char *pattern, size_t len,
                     unsigned flags);
bool ik_glob_matches(const ik_glob_t *glob, const char *name, size_t len);
