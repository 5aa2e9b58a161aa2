/* The shortest line-by-line difference of two texts. */
#pragma once

#include <stddef.h>

typedef enum { IK_LINE_KEPT, IK_LINE_REMOVED, IK_LINE_ADDED } ik_line_change_t;

/* line includes its newline, if it has one. */
typedef void (*ik_line_diff_fn)(void *data, ik_line_change_t change, const char *line, size_t len);

/* Reports all lines of both texts in order. If large texts differ in more than 2,000 lines,
 * everything between their common first and last lines is reported as removed and added. */
void ik_line_diff_run(const char *old, size_t old_len, const char *fresh, size_t fresh_len,
                      ik_line_diff_fn on_line, void *data);
