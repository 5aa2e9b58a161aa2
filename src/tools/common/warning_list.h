/*
 * The member "warnings" of an answer: files and folders that a tool was asked to read but could
 * not. The list is sorted and bounded: it keeps the warnings that sort first and counts the others.
 * It has no lock; threads that share a list must lock it themselves.
 */
#pragma once

#include <stdint.h>

#include "base/buffer.h"

enum { IK_WARNING_LIST_MAX = 20 };

typedef struct {
    const void *ctx;
    char *items[IK_WARNING_LIST_MAX + 1]; /* sorted; one more than the maximum, for inserting */
    size_t count;
    uint64_t total;
} ik_warning_list_t;

void ik_warning_list_init(ik_warning_list_t *list, const void *ctx);

/* Adds "Cannot read KIND FOLDERNAME: " and the text of the errno value. kind is "file" or
 * "folder"; the path is folder followed by name. */
void ik_warning_list_add(ik_warning_list_t *list, const char *kind, const char *folder,
                         const char *name, int error);
/* Adds a warning with this text. */
void ik_warning_list_add_text(ik_warning_list_t *list, const char *text);

/* Adds all of another list. */
void ik_warning_list_join(ik_warning_list_t *list, const ik_warning_list_t *other);

/* Appends ,"warnings":["…"] to an object that already has a member. Appends nothing if the list is
 * empty. */
void ik_warning_list_append(const ik_warning_list_t *list, ik_buffer_t *answer);
