/*
 * A pager on the alternate screen with the keys of less. The text is a list of parts that are
 * rendered when they are needed, so that a long transcript opens at once, at its end.
 */
#pragma once

#include "terminal/binding.h"
#include "terminal/row.h"

typedef struct ik_pager ik_pager_t;

typedef void (*ik_pager_row_fn)(void *data, const char *bytes, size_t len);

typedef struct {
    size_t count; /* number of parts */
    /* Passes the finished rows of one part to on_row. The pager wraps rows wider than columns - 1.
     * Every function below may call it, several times for a part, which must render the same rows
     * each time. */
    void (*render)(void *data, size_t part, int columns, ik_pager_row_fn on_row, void *row_data);
    void *data;
    bool from_start; /* start at the beginning and not at the end */
} ik_pager_source_t;

/* Starts at the end of the text unless the source says otherwise. The theme and the source's data
 * must outlive the pager. The caller enters and leaves the alternate screen (io/tty.h). */
ik_pager_t *ik_pager_create(const void *ctx, const ik_theme_t *theme,
                            const ik_pager_source_t *source, const char *title, int columns,
                            int rows);
/* See ik_binding_rows_fn. */
bool ik_pager_bindings_at(size_t index, ik_binding_row_t *out);
/* What the caller does after a key. */
typedef enum { IK_PAGER_DRAW, IK_PAGER_CLOSE, IK_PAGER_SUSPEND } ik_pager_action_t;
ik_pager_action_t ik_pager_key(ik_pager_t *pager, const ik_key_t *key);
void ik_pager_resize(ik_pager_t *pager, int columns, int rows);
/* Appends a whole frame; the cursor ends in the last row. */
void ik_pager_draw(ik_pager_t *pager, ik_buffer_t *frame);

/* A key press searches a bounded number of parts. While a search is pending, the caller continues
 * it from the event loop and draws after each call; a key ends it. */
bool ik_pager_is_searching(const ik_pager_t *pager);
void ik_pager_continue(ik_pager_t *pager);
