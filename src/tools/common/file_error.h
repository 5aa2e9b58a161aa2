/*
 * What can go wrong with a file, in the words every file tool uses for it. The wording and the
 * codes are part of the tools' contract, so they stand in one table.
 */
#pragma once

#include "base/replace_file.h"
#include "tools/common/tool_program.h"

typedef enum {
    IK_FILE_ERROR_NONE = 0,
    IK_FILE_ERROR_NOT_FOUND,
    IK_FILE_ERROR_DENIED,
    IK_FILE_ERROR_OPEN,
    IK_FILE_ERROR_SEEK,
    IK_FILE_ERROR_SIZE,
    IK_FILE_ERROR_READ,
    IK_FILE_ERROR_WRITE,
    IK_FILE_ERROR_NO_SPACE,
    IK_FILE_ERROR_TOO_LARGE, /* more than 1 GB, to edit */
    IK_FILE_ERROR_CHANGED,   /* someone else wrote the file after it was read */
} ik_file_error_t;

/* What a failed open for reading means; error is an errno value. */
ik_file_error_t ik_file_error_of_open(int error);

/* What a failed replacement means. */
ik_file_error_t ik_file_error_of_replace(const ik_replaced_t *replaced);

/* Answers the call with the error's message (path as given) and code. */
void ik_file_error_answer(ik_tool_call_t *call, ik_file_error_t error, const char *path);
