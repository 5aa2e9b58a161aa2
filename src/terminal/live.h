/* The rows of the live area and the cursor's place among them: as they are wanted, or as they were
 * drawn last. */
#pragma once

#include "base/buffer.h"

typedef struct {
    ik_buffer_t bytes;
    int width;
} ik_live_row_t;

typedef struct {
    const void *ctx; /* owner of rows */
    ik_live_row_t *rows;
    int count;
    int capacity;
    int cursor_row; /* -1: hidden */
    int cursor_column;
} ik_live_t;

/* Fills the caller's memory: no rows, no cursor. */
void ik_live_init(ik_live_t *live, const void *ctx);
/* Empty again, memory kept. */
void ik_live_clear(ik_live_t *live);
/* A row cut to so many columns. */
void ik_live_add(ik_live_t *live, const char *bytes, size_t len, int columns);
/* All of them cut to so many columns. */
void ik_live_narrow(ik_live_t *live, int columns);
/* Without the rows before first. */
void ik_live_copy(ik_live_t *to, const ik_live_t *from, int first);
/* Whether `drawn` shows what `live` has from the row first on. */
bool ik_live_equal(const ik_live_t *live, int first, const ik_live_t *drawn);
bool ik_live_row_equal(const ik_live_row_t *row, const char *bytes, size_t len);
