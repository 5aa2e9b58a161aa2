/* Code and differences as rows: a row per line, in full width, coloured; and the styles of others
 * (tool output) kept. Each function gives finished rows in order. */
#pragma once

#include "base/code_colour.h"
#include "terminal/row.h"

typedef void (*ik_code_rows_fn)(void *data, const char *bytes, size_t len);

/* Lines of one language, fed one by one; what goes on over lines (comments, strings) is known.
 * Plain memory: a copy goes on by itself. */
typedef struct {
    const ik_theme_t *theme; /* borrowed */
    const ik_code_language_t *language;
    ik_code_state_t state;
} ik_code_rows_t;

/* language may be NULL. */
void ik_code_rows_init(ik_code_rows_t *rows, const ik_theme_t *theme,
                       const ik_code_language_t *language);
ik_code_rows_t *ik_code_rows_create(const void *ctx, const ik_theme_t *theme,
                                    const ik_code_language_t *language);
/* A line without its end, appended to the row. Sanitised here. */
void ik_code_rows_add(ik_code_rows_t *rows, ik_row_t *row, const char *line, size_t len);

/* Whether "diff" or "patch" is meant. */
bool ik_code_rows_is_diff_name(const char *name, size_t len);
/* A line of a unified diff. */
void ik_code_rows_add_diff(ik_row_t *row, const char *line, size_t len);

/* What one text became, as a diff with three lines of context around each change. */
void ik_code_rows_change(const ik_theme_t *theme, const char *before, size_t before_len,
                         const char *after, size_t after_len, ik_code_rows_fn on_row, void *data);
/* Output of a program: sanitised, its colours kept, a row per line. At most max_rows rows and
 * max_bytes bytes (0: all); returns how many lines were left out, the rest of a line that is cut
 * counted as one. */
size_t ik_code_rows_output(const ik_theme_t *theme, const char *text, size_t len, size_t max_rows,
                           size_t max_bytes, ik_code_rows_fn on_row, void *data);
