/*
 * The lines between two "---" at the beginning of a Markdown file: a small part of YAML, read
 * leniently, because files written for other agents often are not valid YAML. Keys are at the
 * beginning of a line. A value is a text (plain, quoted, or a block after | or >) or a list of
 * texts ("[a, b]", or lines that begin with "- "). A plain text extends to the end of its line,
 * whatever colons it contains, and over the indented lines that follow. Maps are skipped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { IK_FRONT_MATTER_MAX_KEYS = 64, IK_FRONT_MATTER_MAX_ITEMS = 256 };

typedef struct {
    const char *key;
    const char *text;   /* NULL: a list or a map */
    const char *flow;   /* a list as it was written, "[a, b]"; NULL: it has lines of its own */
    const char **items; /* of a list */
    size_t item_count;
    bool map; /* a map, which was skipped */
} ik_front_matter_entry_t;

typedef struct {
    ik_front_matter_entry_t *entries;
    size_t count;
    const char *problem; /* the first line that was not understood, and why; NULL: none */
    bool unclosed;       /* the second "---" is missing: there are no entries */
    const char *body;    /* what follows, in the parsed text */
    size_t body_len;
} ik_front_matter_t;

/* The text must stay valid while the body is used; everything else is on ctx. Without "---" in the
 * first line all of it is the body. */
ik_front_matter_t *ik_front_matter_parse(const void *ctx, const char *text, size_t len);

/* The entry of that key; NULL: there is none. */
const ik_front_matter_entry_t *ik_front_matter_find(const ik_front_matter_t *matter,
                                                    const char *key);
/* The text of that key without blanks around it; NULL: there is none, or it is empty. */
const char *ik_front_matter_text(const ik_front_matter_t *matter, const char *key);
/* Whether its text is true, yes or on. */
bool ik_front_matter_is_true(const ik_front_matter_t *matter, const char *key);
