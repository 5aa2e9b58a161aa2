/*
 * Small pictures between the finished rows, in the kitty graphics protocol or as Sixel. A preview
 * takes exactly its number of rows, which are empty but for the last one: that row moves up to the
 * first, places the picture there and moves back. All bytes are made or checked here; those of the
 * picture itself reach the terminal as Base64 only.
 */
#pragma once

#include "base/buffer.h"

enum {
    IK_PREVIEW_KITTY_BYTES = 512 * 1024,      /* of a file that is sent to the terminal */
    IK_PREVIEW_SIXEL_BYTES = 2 * 1024 * 1024, /* of the Sixel data of a picture */
    IK_PREVIEW_COLOURS = 16, /* of a Sixel terminal that does not say how many it has */
    IK_PREVIEW_COLOURS_MAX = 256,
};

/* Asks whether the terminal supports the kitty graphics protocol (IK_KEY_GRAPHICS, with the id). */
#define IK_PREVIEW_ID 31
#define IK_PREVIEW_ASK_KITTY "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
/* Asks a terminal that supports Sixel for its colours. */
#define IK_PREVIEW_ASK_COLOURS "\x1b[?1;1;0S"
/* Asks for the size of a cell, and then for DA1, which every terminal answers. */
#define IK_PREVIEW_ASK_CELL "\x1b[16t\x1b[c"

/* Pixels of a character cell. */
typedef struct {
    int width;
    int height;
} ik_preview_cell_t;

/* Cells that a picture covers. */
typedef struct {
    int columns;
    int rows;
} ik_preview_area_t;

/* The cells for a picture of so many pixels, which the terminal scales to them; false: it cannot be
 * shown well on a screen of this size. An unknown cell is {0}. */
bool ik_preview_cover(uint32_t width, uint32_t height, int columns, int rows,
                      ik_preview_cell_t cell, ik_preview_area_t *out);
/* Appends the last row of such a preview. */
void ik_preview_append_kitty(ik_buffer_t *out, const ik_preview_area_t *area, const char *png,
                             size_t len);

/* A Sixel picture: pixels, and the rows that it covers. */
typedef struct {
    int width;
    int height;
    int rows;
} ik_preview_size_t;

/* The size in which a picture of so many pixels is shown; false: it cannot be shown well. */
bool ik_preview_fit(uint32_t width, uint32_t height, int columns, int rows, ik_preview_cell_t cell,
                    ik_preview_size_t *out);
/* Appends the row below a preview, which is empty: then it does not matter whether the terminal
 * leaves the cursor in the last row of the picture or in the next one. Returns false and appends
 * nothing if the text is not Sixel data, or is more than the picture. */
bool ik_preview_append_sixel(ik_buffer_t *out, const ik_preview_size_t *size, const char *text,
                             size_t len);
