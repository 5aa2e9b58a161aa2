/*
 * What was typed before: a file shared by all instances (0600, one entry per line, JSON strings),
 * newest last, each text once. Read when it is first needed, so that starting costs nothing. A file
 * that cannot be read or written costs nothing but the memory of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct ik_recall ik_recall_t;

enum { IK_RECALL_MAX = 10000, IK_RECALL_ENTRY_MAX = 64 * 1024 };

/* file is copied and not opened yet; NULL: nothing is kept beyond this run. */
ik_recall_t *ik_recall_create(const void *ctx, const char *file);
/* The newest entry from now on. Appended to the file in one write, so that instances do not mix. An
 * equal older entry is gone. Blank texts and those too long are not kept. When the file has twice
 * as many lines as are kept it is written anew. */
void ik_recall_add(ik_recall_t *recall, const char *text);

size_t ik_recall_count(ik_recall_t *recall);
/* 0 is the newest. */
const char *ik_recall_entry(ik_recall_t *recall, size_t index);
/* From index on to older ones (or newer ones) the first that begins with prefix and is not this
 * text; SIZE_MAX: none, also when there is no such index. */
size_t ik_recall_find_prefix(ik_recall_t *recall, size_t index, bool older, const char *prefix,
                             const char *except);
