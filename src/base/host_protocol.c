#include "base/host_protocol.h"

#include <string.h>

#include "base/array.h"

static const struct {
    unsigned op;
    const char *name;
} ops[] = {
    {IK_HOST_ASK, "ask"},
    {IK_HOST_AGENT, "agent"},
    {IK_HOST_COMPLETE, "complete"},
    {IK_HOST_JOB, "job"},
};

unsigned ik_host_op_parse(const char *name)
{
    for (size_t i = 0; i < IK_LENGTH(ops); i++) {
        if (strcmp(ops[i].name, name) == 0) {
            return ops[i].op;
        }
    }
    return 0;
}

const char *ik_host_op_name(unsigned set, size_t index)
{
    for (size_t i = 0; i < IK_LENGTH(ops); i++) {
        if ((set & ops[i].op) != 0 && index-- == 0) {
            return ops[i].name;
        }
    }
    return NULL;
}

bool ik_host_is_error(const char *code)
{
    static const char *const codes[] = {
        IK_HOST_INVALID_REQUEST, IK_HOST_TOO_LARGE, IK_HOST_UNKNOWN_OP, IK_HOST_NOT_DECLARED,
        IK_HOST_LIMIT,           IK_HOST_NO_USER,   IK_HOST_DECLINED,   IK_HOST_UNKNOWN_AGENT,
        IK_HOST_MODEL_ERROR,     IK_HOST_CANCELLED,
    };
    for (size_t i = 0; i < IK_LENGTH(codes); i++) {
        if (strcmp(codes[i], code) == 0) {
            return true;
        }
    }
    return false;
}
