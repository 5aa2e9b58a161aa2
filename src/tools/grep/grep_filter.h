/*
 * Which files of a walk are searched: a glob for the file's name, or, when it has a slash, for its
 * path below the folder searched. {a,b} stands for alternatives, each a glob of its own.
 *
 * A filter can also name what a walk skips by itself. A component of a glob names an excluded entry
 * when it matches it and is more than stars, and a hidden one when it begins with a period too: the
 * glob *.log names an excluded a.log, .env a hidden one, build/a.txt the excluded folder build, and
 * ** names no folder at all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct ik_grep_filter ik_grep_filter_t;

/* An empty glob lets every file through. */
ik_grep_filter_t *ik_grep_filter_create(const void *ctx, const char *glob, size_t len);

/* NULL, or what of the glob is not taken as it was meant (static text). */
const char *ik_grep_filter_problem(const ik_grep_filter_t *filter);

/* folder is the path below the folder searched, "" or ending in a slash. */
bool ik_grep_filter_accepts(const ik_grep_filter_t *filter, const char *folder, const char *name);

/* Whether the filter names this entry: a file it accepts, or a folder on the way to one. */
bool ik_grep_filter_names(const ik_grep_filter_t *filter, const char *folder, const char *name,
                          bool is_folder, bool hidden);
