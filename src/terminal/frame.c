#include "terminal/frame.h"

#include <stdlib.h>

void ik_frame_init(ik_frame_t *frame, const void *ctx)
{
    *frame = (ik_frame_t){.rows = 1};
    ik_buffer_init(&frame->bytes, ctx, IK_BUFFER_UNLIMITED); /* one screen of rows, or a piece */
    ik_cells_init(&frame->before, ctx);
    ik_cells_init(&frame->after, ctx);
}

void ik_frame_begin(ik_frame_t *frame)
{
    frame->bytes.len = 0;
    frame->touched = 0;
}

void ik_frame_advance(ik_frame_t *frame, int rows)
{
    frame->row -= rows;
    frame->rows -= rows;
}

/* --- moving ------------------------------------------------------------------------------ */

static size_t csi_length(int count)
{
    size_t len = 3;
    for (int rest = count == 1 ? 0 : count; rest > 0; rest /= 10) {
        len++;
    }
    return len;
}

static void append_csi(ik_buffer_t *out, int count, char final)
{
    char text[16];
    size_t len = csi_length(count);
    text[0] = '\033';
    text[1] = '[';
    text[len - 1] = final;
    for (size_t at = len - 2; at >= 2; at--, count /= 10) {
        text[at] = (char)('0' + count % 10);
    }
    ik_buffer_append(out, text, len);
}

static void return_and_feed(ik_frame_t *frame, int lines)
{
    ik_buffer_append_byte(&frame->bytes, '\r');
    for (int i = 0; i < lines; i++) {
        ik_buffer_append_byte(&frame->bytes, '\n');
    }
    frame->row += lines;
    frame->column = 0;
}

static void move_down(ik_frame_t *frame, int lines, int column)
{
    if (column == 0 && (size_t)lines < csi_length(lines)) {
        return_and_feed(frame, lines);
    } else {
        append_csi(&frame->bytes, lines, 'B');
        frame->row += lines;
    }
}

static void move_row(ik_frame_t *frame, int row, int column)
{
    int last = frame->rows - 1;
    if (row < frame->row) {
        append_csi(&frame->bytes, frame->row - row, 'A');
        frame->row = row;
        return;
    }
    int below = row <= last ? row : last;
    if (below > frame->row) {
        move_down(frame, below - frame->row, row > last ? 0 : column);
    }
    if (row > last) {
        return_and_feed(frame, 1);
        frame->rows++;
    }
}

static void move_column(ik_frame_t *frame, int column)
{
    int distance = column - frame->column;
    size_t from_start = column == 0 ? 1 : 1 + csi_length(column);
    if (frame->column == column) {
        return;
    }
    if (frame->column == IK_FRAME_SOMEWHERE || from_start < csi_length(abs(distance))) {
        ik_buffer_append_byte(&frame->bytes, '\r');
        distance = column;
    }
    if (distance != 0) {
        append_csi(&frame->bytes, abs(distance), distance > 0 ? 'C' : 'D');
    }
    frame->column = column;
}

void ik_frame_move(ik_frame_t *frame, int row, int column)
{
    move_row(frame, row, column);
    move_column(frame, column);
}

void ik_frame_climb(ik_frame_t *frame, int most)
{
    for (int i = 0; i < most; i++) {
        ik_buffer_append_text(&frame->bytes, "\b\r");
    }
}

static bool is_ascii(const char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len && (unsigned char)bytes[at] < 0x80) {
        at++;
    }
    return at == len;
}

static void write_cells(ik_frame_t *frame, int row, size_t from, size_t to)
{
    const ik_cells_t *cells = &frame->after;
    ik_frame_move(frame, row, from < cells->count ? cells->items[from].column : cells->width);
    ik_cells_append(&frame->bytes, cells, from, to);
    frame->column = to < cells->count ? cells->items[to].column : cells->width;
    if (cells->doubtful < to) {
        frame->column = IK_FRAME_SOMEWHERE;
    }
}

/* Rewrites the text from the first grapheme of doubtful width to the wanted column: the cursor is
 * then after that text, whatever column the terminal counts. */
static void write_up_to(ik_frame_t *frame, int row, int column)
{
    const ik_cells_t *cells = &frame->after;
    size_t to = cells->doubtful;
    while (to < cells->count && cells->items[to].column < column) {
        to++;
    }
    write_cells(frame, row, cells->doubtful, to);
    if (column > cells->width) {
        append_csi(&frame->bytes, column - cells->width, 'C');
    }
}

void ik_frame_move_in(ik_frame_t *frame, int row, int column, const char *bytes, size_t len)
{
    if (!is_ascii(bytes, len)) {
        ik_cells_read(&frame->after, bytes, len);
        size_t doubtful = frame->after.doubtful;
        if (doubtful != SIZE_MAX && frame->after.items[doubtful].column < column) {
            write_up_to(frame, row, column);
            return;
        }
    }
    ik_frame_move(frame, row, column);
}

/* --- erasing ----------------------------------------------------------------------------- */

/* tmux moves to its scrollback what is erased from the first cell of the screen on, where the area
 * may begin. So the first row is erased by itself, and the rest from its second cell on. */
void ik_frame_erase_from(ik_frame_t *frame, int row)
{
    ik_frame_move(frame, row, 0);
    ik_buffer_append_text(&frame->bytes, row == 0 ? "\033[K\033[C\033[J\r" : "\033[J");
    frame->rows = row + 1;
    frame->touched++;
}

/* --- writing ----------------------------------------------------------------------------- */

void ik_frame_change(ik_frame_t *frame, int row, const char *before, size_t before_len,
                     const char *after, size_t after_len)
{
    ik_cells_read(&frame->before, before, before_len);
    ik_cells_read(&frame->after, after, after_len);
    ik_cells_change_t change = ik_cells_compare(&frame->before, &frame->after);
    if (change.erase) {
        ik_frame_move(frame, row, 0);
        ik_buffer_append_text(&frame->bytes, "\033[K");
    }
    if (change.erase || change.from < change.to) {
        write_cells(frame, row, change.from, change.to);
        frame->touched++;
    }
}

void ik_frame_print(ik_frame_t *frame, int row, const char *bytes, size_t len, int width)
{
    ik_frame_move(frame, row, 0);
    ik_buffer_append(&frame->bytes, bytes, len);
    frame->column = is_ascii(bytes, len) ? width : IK_FRAME_SOMEWHERE;
    frame->touched++;
}

void ik_frame_print_more(ik_frame_t *frame, const char *bytes, size_t len)
{
    ik_buffer_append(&frame->bytes, bytes, len);
    frame->column = IK_FRAME_SOMEWHERE;
    frame->touched++;
}
