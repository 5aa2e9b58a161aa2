/*
 * The errors of the file tools. Their messages and codes are part of the tools' contract, so all
 * tools take them from one table.
 */
#pragma once

#include "base/replace_file.h"
#include "tools/common/tool_program.h"

typedef enum {
    IK_FILE_ERROR_NONE = 0,
    IK_FILE_ERROR_NOT_FOUND,
    IK_FILE_ERROR_DENIED,
    IK_FILE_ERROR_READ_ONLY,
    IK_FILE_ERROR_OPEN,
    IK_FILE_ERROR_SEEK,
    IK_FILE_ERROR_SIZE,
    IK_FILE_ERROR_READ,
    IK_FILE_ERROR_WRITE,
    IK_FILE_ERROR_NO_SPACE,
    IK_FILE_ERROR_TOO_LARGE, /* file_edit: larger than 1 GB */
    IK_FILE_ERROR_CHANGED,   /* another program wrote the file after it was read */
} ik_file_error_t;

/* The error for a failed open for reading; error is an errno value. */
ik_file_error_t ik_file_error_of_open(int error);

/* The error for a failed replacement; IK_FILE_ERROR_NONE if it did not fail. */
ik_file_error_t ik_file_error_of_replace(const ik_replaced_t *replaced);

/* Answers the call with the code and "MESSAGE: PATH". */
void ik_file_error_answer(ik_tool_call_t *call, ik_file_error_t error, const char *path);
