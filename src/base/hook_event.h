/* The events that run hooks. */
#pragma once

#include <stdbool.h>
#include <string.h>

typedef enum {
    IK_HOOK_SESSION_START,
    IK_HOOK_USER_PROMPT,
    IK_HOOK_BEFORE_TOOL,
    IK_HOOK_AFTER_TOOL,
    IK_HOOK_BEFORE_COMPACT,
    IK_HOOK_TURN_END,
    IK_HOOK_SESSION_END,
    IK_HOOK_EVENTS,
} ik_hook_event_t;

/* "before_tool"; also the name of the folder of its hooks. */
static inline const char *ik_hook_event_name(ik_hook_event_t event)
{
    static const char *const names[] = {"session_start", "user_prompt",    "before_tool",
                                        "after_tool",    "before_compact", "turn_end",
                                        "session_end"};
    return names[event];
}

/* False when there is no such event. */
static inline bool ik_hook_event_parse(const char *name, ik_hook_event_t *event)
{
    for (*event = IK_HOOK_SESSION_START; *event < IK_HOOK_EVENTS; ++*event) {
        if (strcmp(ik_hook_event_name(*event), name) == 0) {
            return true;
        }
    }
    return false;
}
