/*
 * Reading a long text on the alternate screen with the keys of less; matches of a search are
 * marked. The text is a list of parts that are rendered when they are needed and forgotten when
 * there are many, so that a long transcript opens at once, at its end.
 */
#pragma once

#include "terminal/binding.h"
#include "terminal/row.h"

typedef struct ik_pager ik_pager_t;

typedef void (*ik_pager_row_fn)(void *data, const char *bytes, size_t len);

typedef struct {
    size_t count; /* of parts */
    /* Gives the finished rows of one part, of any width; rows wider than columns - 1 are wrapped by
     * the pager. The same part gives the same rows whenever it is asked for, which may be in any
     * call below. */
    void (*render)(void *data, size_t part, int columns, ik_pager_row_fn on_row, void *row_data);
    void *data;
    bool from_start; /* it is read from its beginning, not from its end */
} ik_pager_source_t;

/* Begins at the end unless the source says otherwise. theme and what the source refers to are
 * borrowed; entering and leaving the alternate screen is the terminal's business (io/tty.h). */
ik_pager_t *ik_pager_create(const void *ctx, const ik_theme_t *theme,
                            const ik_pager_source_t *source, const char *title, int columns,
                            int rows);
/* Its keys; see ik_binding_rows_fn. */
bool ik_pager_bindings_at(size_t index, ik_binding_row_t *out);
/* False: it is to be closed. Otherwise there is something to draw. */
bool ik_pager_key(ik_pager_t *pager, const ik_key_t *key);
void ik_pager_resize(ik_pager_t *pager, int columns, int rows);
/* One whole frame, appended; the cursor is left in the last row. */
void ik_pager_draw(ik_pager_t *pager, ik_buffer_t *frame);

/* A search goes through a bounded number of parts with the key that began it. While it is not at
 * its end the caller continues it, from the loop, and draws after each time; a key ends it. */
bool ik_pager_is_searching(const ik_pager_t *pager);
void ik_pager_continue(ik_pager_t *pager);
