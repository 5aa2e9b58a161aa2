/* How the result of a tool is best shown: the member "display" of its schema. */
#pragma once

#include <stdbool.h>
#include <string.h>

typedef enum {
    IK_DISPLAY_USUAL, /* not declared */
    IK_DISPLAY_DIFF,
    IK_DISPLAY_CHECKLIST,
    IK_DISPLAY_TABLE,
    IK_DISPLAY_MARKDOWN,
    IK_DISPLAY_CODE,
    IK_DISPLAY_IMAGE,
    IK_DISPLAY_COUNT,
} ik_display_t;

/* NULL for IK_DISPLAY_USUAL */
static inline const char *ik_display_name(ik_display_t display)
{
    static const char *const names[] = {NULL,       "diff", "checklist", "table",
                                        "markdown", "code", "image"};
    return names[display];
}

/* IK_DISPLAY_USUAL for a name that is not known, and for NULL. */
static inline ik_display_t ik_display_parse(const char *name)
{
    for (ik_display_t display = IK_DISPLAY_DIFF; name != NULL && display < IK_DISPLAY_COUNT;
         display++) {
        if (strcmp(ik_display_name(display), name) == 0) {
            return display;
        }
    }
    return IK_DISPLAY_USUAL;
}
