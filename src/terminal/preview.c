#include "terminal/preview.h"

#include <string.h>

#include "base/base64.h"

enum {
    ROWS_MAX = 10,
    CELL_WIDTH = 10, /* pixels, as in common fonts, if the terminal does not say */
    CELL_HEIGHT = 20,
    PART = 3072, /* bytes whose Base64 text is the longest part that the protocol allows, 4096 */
    WIDTH_MAX = 1000, /* pixels: xterm shows no more unless it is configured */
    BAND = 6,         /* rows of pixels that Sixel data consists of */
};

static uint64_t rows_max(int rows)
{
    return rows / 3 < ROWS_MAX ? (uint64_t)(rows / 3) : ROWS_MAX;
}

/* --- kitty ------------------------------------------------------------------------------- */

bool ik_preview_cover(uint32_t width, uint32_t height, int columns, int rows,
                      ik_preview_cell_t cell, ik_preview_area_t *out)
{
    if (width == 0 || height == 0 || columns < 2) {
        return false;
    }
    bool known = cell.width > 0 && cell.height > 0;
    uint64_t cell_width = known ? (uint64_t)cell.width : CELL_WIDTH;
    uint64_t cell_height = known ? (uint64_t)cell.height : CELL_HEIGHT;
    uint64_t most = rows_max(rows);
    uint64_t needed = (height + cell_height - 1) / cell_height;
    uint64_t room = (uint64_t)(columns - 1) * cell_width;
    uint64_t wide = room * height / (width * cell_height); /* rows that fit the width */
    most = needed < most ? needed : most;
    most = wide < most ? wide : most;
    uint64_t across = (2 * width * most * cell_height / (height * cell_width) + 1) / 2;
    *out = (ik_preview_area_t){.columns = across == 0 ? 1 : (int)across, .rows = (int)most};
    return most > 0;
}

static void append_move(ik_buffer_t *out, int rows, char direction)
{
    if (rows > 0) {
        ik_buffer_append_format(out, "\x1b[%d%c", rows, direction);
    }
}

void ik_preview_append_kitty(ik_buffer_t *out, const ik_preview_area_t *area, const char *png,
                             size_t len)
{
    append_move(out, area->rows - 1, 'A');
    for (size_t at = 0; at < len; at += PART) {
        size_t part = len - at < PART ? len - at : PART;
        int more = at + part < len;
        if (at == 0) { /* show at once; PNG; no cursor movement; no replies */
            ik_buffer_append_format(out, "\x1b_Ga=T,f=100,q=2,C=1,c=%d,r=%d,m=%d;", area->columns,
                                    area->rows, more);
        } else {
            ik_buffer_append_format(out, "\x1b_Gq=2,m=%d;", more);
        }
        ik_base64_append(out, png + at, part);
        ik_buffer_append_text(out, "\x1b\\");
    }
    append_move(out, area->rows - 1, 'B');
}

/* --- Sixel ------------------------------------------------------------------------------- */

bool ik_preview_fit(uint32_t width, uint32_t height, int columns, int rows, ik_preview_cell_t cell,
                    ik_preview_size_t *out)
{
    if (width == 0 || height == 0 || cell.width <= 0 || cell.height < BAND || columns < 2) {
        return false;
    }
    uint64_t wide = (uint64_t)(columns - 1) * (uint64_t)cell.width;
    uint64_t high = rows_max(rows) * (uint64_t)cell.height;
    wide = wide < WIDTH_MAX ? wide : WIDTH_MAX;
    wide = wide < width ? wide : width;
    high = high < height ? high : height;
    if (wide * height > high * width) { /* the height decides */
        wide = high * width / height;
    } else {
        high = wide * height / width;
    }
    high -= high > BAND ? high % BAND : 0; /* whole bands: no terminal adds rows to the picture */
    *out = (ik_preview_size_t){
        .width = (int)wide,
        .height = (int)high,
        .rows = (int)((high + (uint64_t)cell.height - 1) / (uint64_t)cell.height),
    };
    return wide > 0 && high > 0;
}

/* The data may come from a decoder that the picture has misled: it must not end the sequence, nor
 * be higher than the rows that are there for it. */
static bool is_sixel(const ik_preview_size_t *size, const char *text, size_t len)
{
    int bands = 1;
    for (size_t i = 0; i < len; i++) {
        bool known = (text[i] >= '?' && text[i] <= '~') || (text[i] >= '0' && text[i] <= '9') ||
                     (text[i] != '\0' && strchr("#;!$-", text[i]) != NULL);
        bands += text[i] == '-';
        if (!known || (bands - 1) * BAND >= size->height) {
            return false;
        }
    }
    return len > 0;
}

bool ik_preview_append_sixel(ik_buffer_t *out, const ik_preview_size_t *size, const char *text,
                             size_t len)
{
    if (!is_sixel(size, text, len)) {
        return false;
    }
    /* saves the cursor; pixels that are not set keep the background */
    ik_buffer_append_format(out,
                            "\x1b"
                            "7\x1b[%dA\x1bP0;1;0q\"1;1;%d;%d",
                            size->rows, size->width, size->height);
    ik_buffer_append(out, text, len);
    ik_buffer_append_text(out, "\x1b\\\x1b"
                               "8");
    return true;
}
