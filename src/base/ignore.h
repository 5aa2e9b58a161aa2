/*
 * Ignore files (.gitignore, .git/info/exclude, .ignore, .rgignore) with git's rules. A file applies
 * to its folder and everything below it. Files are chained from the innermost to the outermost; the
 * first one with a matching rule decides. As in git, no rule can include something below an
 * excluded folder, because the walk does not enter it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct ik_ignore ik_ignore_t;

typedef enum {
    IK_IGNORE_UNDECIDED, /* no rule matches */
    IK_IGNORE_EXCLUDED,
    IK_IGNORE_INCLUDED, /* by a rule that begins with ! */
} ik_ignore_verdict_t;

/* Parses the text of one file. All paths are relative to a common root; base_len is the length of
 * the path of this file's folder, including its slash. outer may be NULL and must live as long as
 * the result. */
ik_ignore_t *ik_ignore_parse(const void *ctx, const char *text, size_t len, size_t base_len,
                             const ik_ignore_t *outer);

/* path must be below the folders of all files of the chain; name is the offset of its last
 * component. */
ik_ignore_verdict_t ik_ignore_decide(const ik_ignore_t *ignore, const char *path, size_t len,
                                     size_t name, bool is_folder);
