#include "terminal/preview.h"

#include "base/base64.h"

enum {
    ROWS_MAX = 10,
    CELL_WIDTH = 10, /* pixels, as in common fonts: the terminal scales the picture to the rows */
    CELL_HEIGHT = 20,
    PART = 3072, /* bytes whose Base64 text is the longest part that the protocol allows, 4096 */
};

int ik_preview_rows(uint32_t width, uint32_t height, int columns, int rows)
{
    if (width == 0 || height == 0) {
        return 0;
    }
    uint64_t most = rows / 3 < ROWS_MAX ? (uint64_t)(rows / 3) : ROWS_MAX;
    uint64_t needed = ((uint64_t)height + CELL_HEIGHT - 1) / CELL_HEIGHT;
    uint64_t room = columns > 1 ? (uint64_t)(columns - 1) * CELL_WIDTH : 0;
    uint64_t wide = room * height / ((uint64_t)width * CELL_HEIGHT); /* rows that fit the width */
    most = needed < most ? needed : most;
    most = wide < most ? wide : most;
    return (int)most;
}

static void append_move(ik_buffer_t *out, int rows, char direction)
{
    if (rows > 0) {
        ik_buffer_append_format(out, "\x1b[%d%c", rows, direction);
    }
}

void ik_preview_append(ik_buffer_t *out, const char *png, size_t len, int rows)
{
    append_move(out, rows - 1, 'A');
    for (size_t at = 0; at < len; at += PART) {
        size_t part = len - at < PART ? len - at : PART;
        int more = at + part < len;
        if (at == 0) { /* show at once; PNG; no cursor movement; no replies */
            ik_buffer_append_format(out, "\x1b_Ga=T,f=100,q=2,C=1,r=%d,m=%d;", rows, more);
        } else {
            ik_buffer_append_format(out, "\x1b_Gq=2,m=%d;", more);
        }
        ik_base64_append(out, png + at, part);
        ik_buffer_append_text(out, "\x1b\\");
    }
    append_move(out, rows - 1, 'B');
}
