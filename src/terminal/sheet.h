/* Two-column help: keys or a command's usage on the left, a description on the right, each wrapped
 * to its own width. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *left;  /* wrapped after commas only */
    const char *right; /* wrapped between words */
} ik_sheet_t;

typedef struct {
    int left_len;
    int right_len;
    const char *left; /* if it is wider than its column, right_len is 0 */
    const char *right;
} ik_sheet_line_t;

/* Takes the next line from the sheet, whose texts are ASCII. Returns false if none is left. */
bool ik_sheet_next(ik_sheet_t *sheet, size_t left_width, size_t right_width, ik_sheet_line_t *out);
