/*
 * Decides which files of a walk are searched. The filter is a glob for the name of a file or, if it
 * has a slash, for its path below the searched folder. {a,b} separates alternatives.
 *
 * A filter can also name entries that a walk would skip. A component of a glob names an excluded
 * entry if it matches it and is not made of stars only. To name a hidden entry it must also begin
 * with a period. So *.log names an excluded a.log, .env a hidden .env, and build/a.txt an excluded
 * folder build; ** names no folder.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct ik_grep_filter ik_grep_filter_t;

/* An empty glob accepts every file. */
ik_grep_filter_t *ik_grep_filter_create(const void *ctx, const char *glob, size_t len);

/* NULL, or a warning about a glob that is too complex (static text). */
const char *ik_grep_filter_problem(const ik_grep_filter_t *filter);

/* folder is the path below the searched folder, "" or ending in a slash. */
bool ik_grep_filter_accepts(const ik_grep_filter_t *filter, const char *folder, const char *name);

/* Whether the filter names this entry: a file it accepts, or a folder on the way to one. */
bool ik_grep_filter_names(const ik_grep_filter_t *filter, const char *folder, const char *name,
                          bool is_folder, bool hidden);
