/* Two texts side by side, each broken into lines of its own width: keys or the usage of a command,
 * and what they do. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *left;  /* a list is broken behind its commas, nothing else is */
    const char *right; /* broken between words */
} ik_sheet_t;

typedef struct {
    int left_len;
    int right_len;
    const char *left; /* what does not fit stands alone */
    const char *right;
} ik_sheet_line_t;

/* The next line; false: there is none. The texts are ASCII, what is left of them stays in sheet. */
bool ik_sheet_next(ik_sheet_t *sheet, size_t left_width, size_t right_width, ik_sheet_line_t *out);
