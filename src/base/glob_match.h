/*
 * Matches a name or path against a wildcard pattern, for the glob tool, for .gitignore rules and
 * for grep's file filter. Preparing a pattern recognises plain names and "*.ext", which most
 * patterns are and which are compared directly. In the worst case a match takes time proportional
 * to the length of the pattern times the length of the name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    /* The name is a path: only '/' matches '/', and a component ** matches any number of folders.
     */
    IK_GLOB_PATH = 1,
    /* Only a literal '.' matches a '.' at the start of the name. */
    IK_GLOB_PERIOD = 2,
    /* git's rules: ? and [] match bytes, classes are ASCII, a pattern with an unclosed [ matches
     * nothing, and a range always matches its first byte. Without this flag, ? and [] match a
     * character if the name is valid UTF-8, and a byte otherwise. */
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
