/*
 * Which files of a walk are searched: a glob for the file's name, or, when it has a slash, for its
 * path below the folder searched. {a,b} stands for alternatives.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct ik_grep_filter ik_grep_filter_t;

/* An empty glob lets every file through. */
ik_grep_filter_t *ik_grep_filter_create(const void *ctx, const char *glob, size_t len);

/* folder is the path below the folder searched, "" or ending in a slash. */
bool ik_grep_filter_accepts(const ik_grep_filter_t *filter, const char *folder, const char *name);
