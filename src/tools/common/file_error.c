#include "tools/common/file_error.h"

#include <errno.h>

static const struct {
    const char *code;
    const char *message; /* the path follows */
} TEXTS[] = {
    [IK_FILE_ERROR_NOT_FOUND] = {"FILE_NOT_FOUND", "File not found"},
    [IK_FILE_ERROR_DENIED] = {"PERMISSION_DENIED", "Permission denied"},
    [IK_FILE_ERROR_READ_ONLY] = {"PERMISSION_DENIED", "Read-only file system"},
    [IK_FILE_ERROR_OPEN] = {"OPEN_FAILED", "Cannot open file"},
    [IK_FILE_ERROR_SEEK] = {"SEEK_FAILED", "Cannot seek file"},
    [IK_FILE_ERROR_SIZE] = {"SIZE_FAILED", "Cannot get file size"},
    [IK_FILE_ERROR_READ] = {"READ_FAILED", "Failed to read file"},
    [IK_FILE_ERROR_WRITE] = {"WRITE_FAILED", "Failed to write file"},
    [IK_FILE_ERROR_NO_SPACE] = {"NO_SPACE", "No space left on device"},
    [IK_FILE_ERROR_TOO_LARGE] = {"SIZE_FAILED", "File is larger than 1 GB"},
    [IK_FILE_ERROR_CHANGED] = {"WRITE_FAILED", "File changed since it was read, read it again"},
};

ik_file_error_t ik_file_error_of_open(int error)
{
    switch (error) {
    case ENOENT:
        return IK_FILE_ERROR_NOT_FOUND;
    case EACCES:
    case EPERM:
        return IK_FILE_ERROR_DENIED;
    default:
        return IK_FILE_ERROR_OPEN;
    }
}

ik_file_error_t ik_file_error_of_replace(const ik_replaced_t *replaced)
{
    switch (replaced->error) {
    case 0:
        return IK_FILE_ERROR_NONE;
    case EACCES:
    case EPERM:
        return IK_FILE_ERROR_DENIED;
    case EROFS:
        return IK_FILE_ERROR_READ_ONLY;
    case ENOSPC:
    case EDQUOT:
        return IK_FILE_ERROR_NO_SPACE;
    case ESTALE:
        return IK_FILE_ERROR_CHANGED;
    default:
        return replaced->opened ? IK_FILE_ERROR_WRITE : IK_FILE_ERROR_OPEN;
    }
}

void ik_file_error_answer(ik_tool_call_t *call, ik_file_error_t error, const char *path)
{
    ik_tool_answer_error(call, TEXTS[error].code, "%s: %s", TEXTS[error].message, path);
}
