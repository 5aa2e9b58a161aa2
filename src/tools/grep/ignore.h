/*
 * Ignore files (.gitignore, .git/info/exclude, .ignore, .rgignore) as git reads them. The rules of
 * one file stand for the folder they lie in and everything below; files are chained from the
 * innermost to the outermost, and the first file that has a say decides. That nothing below an
 * excluded folder can be brought back follows from not going there.
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

/* Parses the text of one file. Paths asked about are relative to some common root; base_len is the
 * length of this file's folder in them, with its slash. outer may be NULL and must live as long. */
ik_ignore_t *ik_ignore_parse(const void *ctx, const char *text, size_t len, size_t base_len,
                             const ik_ignore_t *outer);

/* path is below the folders of all files of the chain; name is its last component's offset. */
ik_ignore_verdict_t ik_ignore_decide(const ik_ignore_t *ignore, const char *path, size_t len,
                                     size_t name, bool is_folder);
