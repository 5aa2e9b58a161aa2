/* The rows of the live area and the position of the cursor, as wanted or as drawn last. */
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

/* Initialises without rows and with a hidden cursor. */
void ik_live_init(ik_live_t *live, const void *ctx);
/* Removes all rows, but keeps their memory. */
void ik_live_clear(ik_live_t *live);
/* Adds a row, cut to this many columns. */
void ik_live_add(ik_live_t *live, const char *bytes, size_t len, int columns);
/* Cuts all rows to this many columns. */
void ik_live_narrow(ik_live_t *live, int columns);
/* Copies the rows from `first` on. */
void ik_live_copy(ik_live_t *to, const ik_live_t *from, int first);
/* Whether `drawn` equals `live` without the rows before `first`. */
bool ik_live_equal(const ik_live_t *live, int first, const ik_live_t *drawn);
bool ik_live_row_equal(const ik_live_row_t *row, const char *bytes, size_t len);
