/*
 * What a tool could not read although it was asked to, for the member "warnings" of its answer. The
 * list is bounded: it keeps the first warnings in the order of their text and counts the others.
 * Not locked; callers with threads lock around it.
 */
#pragma once

#include <stdint.h>

#include "base/buffer.h"

enum { IK_WARNING_LIST_MAX = 20 };

typedef struct {
    const void *ctx;
    char *items[IK_WARNING_LIST_MAX + 1]; /* sorted; the last one is room to insert */
    size_t count;
    uint64_t total;
} ik_warning_list_t;

void ik_warning_list_init(ik_warning_list_t *list, const void *ctx);

/* Adds "Cannot read KIND FOLDERNAME: " and the text of the errno value. kind is "file" or
 * "folder"; the path is folder followed by name. */
void ik_warning_list_add(ik_warning_list_t *list, const char *kind, const char *folder,
                         const char *name, int error);
/* Adds a warning in other words. */
void ik_warning_list_add_text(ik_warning_list_t *list, const char *text);

/* Adds all of another list. */
void ik_warning_list_join(ik_warning_list_t *list, const ik_warning_list_t *other);

/* Appends ,"warnings":["…"] to an object that has a member already; nothing when the list is
 * empty. */
void ik_warning_list_append(const ik_warning_list_t *list, ik_buffer_t *answer);
