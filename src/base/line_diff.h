/* How one text became another, line by line: the fewest lines that went and came. */
#pragma once

#include <stddef.h>

typedef enum { IK_LINE_KEPT, IK_LINE_REMOVED, IK_LINE_ADDED } ik_line_change_t;

/* line is with its line end, if it has one. */
typedef void (*ik_line_diff_fn)(void *data, ik_line_change_t change, const char *line, size_t len);

/* Texts whose comparison would be long are one removed and one added whole, but for the lines they
 * begin and end with. */
void ik_line_diff_run(const char *old, size_t old_len, const char *fresh, size_t fresh_len,
                      ik_line_diff_fn on_line, void *data);
