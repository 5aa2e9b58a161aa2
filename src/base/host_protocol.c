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
