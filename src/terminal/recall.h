/*
 * Recall: the messages typed before, in a file shared by all instances (mode 0600, one JSON string
 * per line, newest last). No text occurs twice. The file is read on first use, so it does not delay
 * the start. If it cannot be read or written, recall works for this run only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct ik_recall ik_recall_t;

enum { IK_RECALL_MAX = 10000, IK_RECALL_ENTRY_MAX = 64 * 1024 };

/* Does not open the file yet. NULL: keep the messages for this run only. */
ik_recall_t *ik_recall_create(const void *ctx, const char *file);
/* Adds text as the newest entry and removes an older duplicate. Blank texts and texts over
 * IK_RECALL_ENTRY_MAX are ignored. The line is appended in one write, so that instances do not mix
 * theirs. The file is rewritten when it has twice as many lines as entries are kept. */
void ik_recall_add(ik_recall_t *recall, const char *text);

size_t ik_recall_count(ik_recall_t *recall);
/* 0 is the newest. */
const char *ik_recall_entry(ik_recall_t *recall, size_t index);
/* Searches from index to older or newer entries for one that starts with prefix and differs from
 * except. Returns its index, or SIZE_MAX if there is none or index is out of range. */
size_t ik_recall_find_prefix(ik_recall_t *recall, size_t index, bool older, const char *prefix,
                             const char *except);
