#include "agent/shared.h"

#include <string.h>

#include "base/alloc.h"

void ik_shared_reject_tool(ik_shared_ctx_t *shared, const char *target, const char *tool)
{
    size_t count = shared->rejected_count;
    shared->rejected =
        ik_resize_array(shared->loop, shared->rejected, ik_shared_rejected_t, count + 1);
    shared->rejected[count].target = ik_strdup(shared->rejected, target);
    shared->rejected[count].tool = ik_strdup(shared->rejected, tool);
    shared->rejected_count++;
}

void ik_shared_reject_images(ik_shared_ctx_t *shared, const char *target)
{
    shared->blind_targets =
        ik_resize_array(shared->loop, shared->blind_targets, const char *, shared->blind_count + 1);
    shared->blind_targets[shared->blind_count++] = ik_strdup(shared->blind_targets, target);
}

bool ik_shared_is_blind(const ik_shared_ctx_t *shared, const ik_target_t *target)
{
    for (size_t i = 0; i < shared->blind_count; i++) {
        if (strcmp(shared->blind_targets[i], target->name) == 0) {
            return true;
        }
    }
    return target->facts->images == IK_MODEL_IMAGES_NO;
}

bool ik_shared_is_rejected(const ik_shared_ctx_t *shared, const char *target, const char *tool)
{
    for (size_t i = 0; i < shared->rejected_count; i++) {
        if (strcmp(shared->rejected[i].target, target) == 0 &&
            strcmp(shared->rejected[i].tool, tool) == 0) {
            return true;
        }
    }
    return false;
}
