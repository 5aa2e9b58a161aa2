/* Renders code, diffs and tool output as rows: one row per line, unwrapped. Code and diffs are
 * coloured here; output keeps its own colours. */
#pragma once

#include "base/patch_lines.h"
#include "terminal/row.h"

typedef void (*ik_code_rows_fn)(void *data, const char *bytes, size_t len);

/* Colours lines of one language; keeps the state of comments and strings that span lines. Plain
 * data: a copy continues independently. */
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
/* Appends a line, given without its newline, to the row. Sanitises it. */
void ik_code_rows_add(ik_code_rows_t *rows, ik_row_t *row, const char *line, size_t len);

/* Whether the name of a code block's language says that it is a diff. */
bool ik_code_rows_is_diff_name(const char *name, size_t len);
/* Appends a line of a unified diff, in the colours of its language, for a diff that comes line by
 * line. */
void ik_code_rows_add_diff(ik_patch_place_t *place, ik_row_t *row, const char *line, size_t len);
/* A unified diff from place on, which moves. In a line that replaces a similar one, the changed
 * words of both are marked, too. */
void ik_code_rows_patch(const ik_theme_t *theme, ik_patch_place_t *place, const char *text,
                        size_t len, ik_code_rows_fn on_row, void *data);

/* The unified diff of two texts, with three lines of context. Lines have the colours of their
 * language, which may be NULL; in a line that replaces a similar one, the changed words of both are
 * marked. */
void ik_code_rows_change(const ik_theme_t *theme, const ik_code_language_t *language,
                         const char *before, size_t before_len, const char *after, size_t after_len,
                         ik_code_rows_fn on_row, void *data);
/* Output of a program, sanitised, with its colours. Renders at most max_rows rows and max_bytes
 * bytes (0: no limit) and returns the number of lines left out; the rest of a cut line counts as
 * one. */
size_t ik_code_rows_output(const ik_theme_t *theme, const char *text, size_t len, size_t max_rows,
                           size_t max_bytes, ik_code_rows_fn on_row, void *data);
