/*
 * A frame draws the newly finished rows and the live area below them as one list, row by row over
 * the live area drawn last. A finished row that already stands in the live area costs nothing. The
 * first row that differs is printed in full, after erasing everything below it; so are rows that
 * the terminal may wrap. In the live area only the cells that differ are written.
 *
 * The terminal may change its width while a frame is on its way, and rewrap the drawn rows. No
 * frame may then reach a finished row, nor leave the cursor higher in the live area than the next
 * frame believes; a stale row may stay. This holds for any width that the terminal has when it
 * reads a frame, because
 * - moving up by drawn rows goes up as many rows of the terminal, and each drawn row has at least
 *   one;
 * - rows printed below each other are as many whatever the width, but existing rows that are passed
 *   on the way down may be wrapped, so a frame that ends below the row where it began prints the
 *   rows from there on;
 * - what is changed in place above the cursor is cut at the edge of a terminal that rewraps its
 *   rows: wrapping it would join two rows;
 * - a finished row is taken from the live area only if it was printed there, not changed in place.
 *
 * A row longer than PIECE bytes is printed over several frames, without a live area in between.
 */
#include "terminal/screen.h"

#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "terminal/frame.h"
#include "terminal/live.h"
#include "terminal/row.h"

enum {
    PIECE = 64 * 1024, /* bytes of finished rows per frame */
    KEPT = 256 * 1024, /* bytes of memory kept while no rows wait */
    DEFAULT_COLUMNS = 80,
    DEFAULT_ROWS = 24,
};

#define HIDE_CURSOR "\033[?25l"
#define SHOW_CURSOR "\033[?25h"
#define CUT_ROWS "\033[?7l" /* characters after the last column are not wrapped */
#define WRAP_ROWS "\033[?7h"
#define BEGIN_SYNCHRONISED "\033[?2026h"
#define END_SYNCHRONISED "\033[?2026l"

struct ik_screen {
    ik_screen_options_t options;
    int columns;
    int rows;
    ik_screen_reflow_t reflow;
    bool synchronised;

    ik_live_t wanted;
    ik_live_t drawn;
    ik_frame_t frame; /* tracks the cursor from one frame to the next */
    bool cursor_hidden;
    int patched; /* the first drawn row that may differ on a terminal of another width */
    bool stale;  /* the drawn rows are unknown: erase and redraw */
    bool held;   /* the size is changing: no frames */

    ik_buffer_t waiting; /* finished rows, each followed by '\n' */
    size_t taken;        /* bytes of waiting that are drawn */
    bool inside_row;     /* the first waiting row is drawn in part */
    ik_buffer_t sent;    /* sequences for the next frame */
    ik_buffer_t out;

    bool paused;
    bool given_away; /* the live area is erased for another program */
};

ik_screen_t *ik_screen_create(const void *ctx, const ik_screen_options_t *options, int columns,
                              int rows)
{
    ik_screen_t *screen = ik_new(ctx, ik_screen_t);
    screen->options = *options;
    screen->columns = columns > 0 ? columns : DEFAULT_COLUMNS;
    screen->rows = rows > 0 ? rows : DEFAULT_ROWS;
    ik_live_init(&screen->wanted, screen);
    ik_live_init(&screen->drawn, screen);
    ik_frame_init(&screen->frame, screen);
    screen->patched = INT_MAX;
    ik_buffer_init(&screen->waiting, screen, IK_BUFFER_UNLIMITED); /* no row may be lost */
    ik_buffer_init(&screen->sent, screen, IK_BUFFER_UNLIMITED);    /* bounded by the clipboard */
    ik_buffer_init(&screen->out, screen, IK_BUFFER_UNLIMITED);     /* one frame */
    return screen;
}

int ik_screen_columns(const ik_screen_t *screen)
{
    return screen->columns;
}

int ik_screen_rows(const ik_screen_t *screen)
{
    return screen->rows;
}

int ik_screen_live_max(const ik_screen_t *screen)
{
    return screen->rows > 1 ? screen->rows / 2 : 1;
}

void ik_screen_set_reflow(ik_screen_t *screen, ik_screen_reflow_t reflow)
{
    screen->reflow = reflow;
}

void ik_screen_set_synchronised(ik_screen_t *screen, bool synchronised)
{
    screen->synchronised = synchronised;
}

void ik_screen_commit(ik_screen_t *screen, const char *bytes, size_t len)
{
    ik_buffer_append(&screen->waiting, bytes, len);
    ik_buffer_append_byte(&screen->waiting, '\n');
}

size_t ik_screen_waiting(const ik_screen_t *screen)
{
    return screen->waiting.len - screen->taken;
}

void ik_screen_send(ik_screen_t *screen, const char *bytes, size_t len)
{
    if (!screen->options.plain) {
        ik_buffer_append(&screen->sent, bytes, len);
    }
}

void ik_screen_begin_live(ik_screen_t *screen)
{
    ik_live_clear(&screen->wanted);
}

void ik_screen_add_live(ik_screen_t *screen, const char *bytes, size_t len)
{
    ik_live_add(&screen->wanted, bytes, len, screen->columns - 1);
}

void ik_screen_place_cursor(ik_screen_t *screen, int row, int column)
{
    int last = screen->columns - 1;
    screen->wanted.cursor_row = row < screen->wanted.count ? row : screen->wanted.count - 1;
    screen->wanted.cursor_column = column < 0 ? 0 : column < last ? column : last;
}

void ik_screen_resize(ik_screen_t *screen, int columns, int rows)
{
    screen->columns = columns > 0 ? columns : DEFAULT_COLUMNS;
    screen->rows = rows > 0 ? rows : DEFAULT_ROWS;
    ik_live_narrow(&screen->wanted, screen->columns - 1);
    ik_screen_place_cursor(screen, screen->wanted.cursor_row, screen->wanted.cursor_column);
    screen->stale = true;
    screen->held = false;
}

void ik_screen_hold(ik_screen_t *screen)
{
    screen->held = true;
}

/* The first wanted row that fits into the live area. */
static int first_shown(const ik_screen_t *screen)
{
    int more = screen->wanted.count - ik_screen_live_max(screen);
    return more > 0 ? more : 0;
}

/* --- the rows of a frame ----------------------------------------------------------------- */

/* How often a reflowing terminal of this width has wrapped a drawn row before the character in a
 * column. The cursor after a full row is still in that row. */
static int wraps_before(const ik_screen_t *screen, int columns, int row, int column)
{
    const ik_buffer_t *bytes = &screen->drawn.rows[row].bytes;
    int wraps = 0;
    int width = 0;
    int filled = 0; /* columns of the last wrapped row */
    for (size_t at = 0; at < bytes->len && width <= column;) {
        ik_row_part_t part = ik_row_next(bytes->data + at, bytes->len - at, width);
        bool wrapped = filled + part.columns > columns;
        wraps += wrapped;
        filled = (wrapped ? 0 : filled) + part.columns;
        width += part.columns;
        at += part.len;
    }
    return wraps;
}

/* Moves to the top of a drawn area that may have been wrapped. Each drawn row is at least one row
 * of the terminal, so going up by the drawn rows never leaves the area. Only the wrapped rows are
 * in doubt: the terminal may have another width than we know, or get one before it reads this
 * frame. Where they can be found by backspaces, or while the width is changing, they are not
 * counted. */
static void move_to_top(ik_screen_t *screen)
{
    ik_frame_t *frame = &screen->frame;
    int cursor_row = frame->row;
    int cursor_column = frame->column;
    bool counted = screen->reflow == IK_SCREEN_REFLOW && !screen->held;
    int narrow = screen->columns / 4 + 1; /* the window is hardly narrower than that */
    frame->column = IK_FRAME_SOMEWHERE;
    for (int i = cursor_row; i >= 0; i--) {
        bool drawn = i < screen->drawn.count;
        if (counted && drawn) {
            int column = i == cursor_row ? cursor_column : INT_MAX;
            frame->row += wraps_before(screen, screen->columns, i, column);
        } else if (screen->reflow == IK_SCREEN_REFLOW_TRACEABLE) {
            ik_frame_move(frame, i, 0);
            ik_frame_climb(frame, drawn ? wraps_before(screen, narrow, i, INT_MAX) : 0);
        }
    }
    ik_frame_move(frame, 0, 0);
}

static void forget_drawn(ik_screen_t *screen)
{
    if (screen->stale && !screen->inside_row) {
        move_to_top(screen);
        ik_frame_erase_from(&screen->frame, 0);
        ik_live_clear(&screen->drawn);
        screen->patched = INT_MAX;
    }
    screen->stale = false;
}

/* Erases this row and all below it. */
static void erase_from(ik_screen_t *screen, int row)
{
    if (row < screen->drawn.count) {
        ik_frame_erase_from(&screen->frame, row);
        screen->drawn.count = row;
        screen->patched = screen->patched < row ? screen->patched : INT_MAX;
    }
}

static void print_row(ik_screen_t *screen, int row, const char *bytes, size_t len, int width)
{
    erase_from(screen, row);
    ik_frame_print(&screen->frame, row, bytes, len, width);
}

static size_t first_length(const ik_screen_t *screen)
{
    const char *bytes = screen->waiting.data + screen->taken;
    return (size_t)((const char *)rawmemchr(bytes, '\n') - bytes);
}

/* Draws about `room` bytes of the first waiting row; true if that was all of it. */
static bool draw_long_row(ik_screen_t *screen, const char *bytes, size_t len, size_t room)
{
    size_t part = 0;
    while (part < len && part < room) { /* never ends inside a character or a sequence */
        part += ik_row_next(bytes + part, len - part, 0).len;
    }
    if (!screen->inside_row) {
        erase_from(screen, 0);
        ik_frame_move(&screen->frame, 0, 0);
    }
    ik_frame_print_more(&screen->frame, bytes, part);
    screen->inside_row = part < len;
    screen->taken += part;
    return !screen->inside_row;
}

/* Draws at most `room` bytes of waiting rows; returns how many rows are finished. */
static int draw_waiting(ik_screen_t *screen, size_t room)
{
    int row = 0;
    while (screen->taken < screen->waiting.len) {
        const char *bytes = screen->waiting.data + screen->taken;
        size_t len = first_length(screen);
        if (row > 0 && len >= room) {
            break;
        }
        if (screen->inside_row || len >= room) {
            if (!draw_long_row(screen, bytes, len, room)) {
                break;
            }
        } else {
            bool drawn = row < screen->drawn.count && row < screen->patched &&
                         ik_live_row_equal(&screen->drawn.rows[row], bytes, len);
            if (!drawn) {
                print_row(screen, row, bytes, len, IK_FRAME_SOMEWHERE);
            }
            screen->taken += len;
        }
        screen->taken++;
        room -= len < room ? len + 1 : room; /* an empty row counts as one byte */
        row++;
    }
    return row;
}

static void forget_taken(ik_screen_t *screen)
{
    size_t left = ik_screen_waiting(screen);
    if (left == 0 && screen->waiting.capacity > KEPT) {
        ik_buffer_reset(&screen->waiting);
    } else if (left < screen->taken) { /* cheaper than what was drawn since the last move */
        memmove(screen->waiting.data, screen->waiting.data + screen->taken, left);
        screen->waiting.len = left;
    } else {
        return;
    }
    screen->taken = 0;
}

/* Draws the wanted rows below the finished ones. There is always at least an empty row, for the
 * cursor. */
static void draw_live(ik_screen_t *screen, int row)
{
    const ik_live_t *live = &screen->wanted;
    for (int i = first_shown(screen); i < live->count; i++) {
        const ik_live_row_t *each = &live->rows[i];
        const ik_live_row_t *old = row < screen->drawn.count ? &screen->drawn.rows[row] : NULL;
        if (old == NULL) {
            print_row(screen, row, each->bytes.data, each->bytes.len, each->width);
        } else if (!ik_live_row_equal(old, each->bytes.data, each->bytes.len)) {
            int first = row < screen->frame.row ? row : screen->frame.row;
            screen->patched = first < screen->patched ? first : screen->patched;
            bool cut = screen->reflow != IK_SCREEN_REFLOW_NONE &&
                       (live->cursor_row < 0 || i < live->cursor_row);
            ik_buffer_append_text(&screen->frame.bytes, cut ? CUT_ROWS : "");
            ik_frame_change(&screen->frame, row, old->bytes.data, old->bytes.len, each->bytes.data,
                            each->bytes.len);
            ik_buffer_append_text(&screen->frame.bytes, cut ? WRAP_ROWS : "");
        }
        row++;
    }
    erase_from(screen, row);
    if (live->count == 0) {
        ik_frame_move(&screen->frame, row, 0);
    }
}

static bool wants_cursor(const ik_screen_t *screen)
{
    return screen->wanted.cursor_row >= first_shown(screen);
}

static void place_cursor(ik_screen_t *screen, int row)
{
    const ik_live_t *live = &screen->wanted;
    if (wants_cursor(screen)) {
        const ik_buffer_t *bytes = &live->rows[live->cursor_row].bytes;
        ik_frame_move_in(&screen->frame, row + live->cursor_row - first_shown(screen),
                         live->cursor_column, bytes->data, bytes->len);
    }
}

/* The row where the cursor will be, counted from the top of the drawn area; INT_MAX if the waiting
 * rows do not fit into the frame. */
static int next_cursor_row(const ik_screen_t *screen, size_t room)
{
    const ik_live_t *live = &screen->wanted;
    const char *end = screen->waiting.data + screen->waiting.len;
    if (ik_screen_waiting(screen) >= room) {
        return INT_MAX;
    }
    int row = wants_cursor(screen) ? live->cursor_row : live->count - 1;
    row = row > 0 ? row - first_shown(screen) : 0;
    for (const char *at = screen->waiting.data + screen->taken; at < end; row++) {
        at = (const char *)rawmemchr(at, '\n') + 1;
    }
    return row;
}

static void draw(ik_screen_t *screen, size_t room)
{
    ik_frame_begin(&screen->frame);
    forget_drawn(screen);
    if (!screen->inside_row && next_cursor_row(screen, room) > screen->frame.row) {
        int row = screen->frame.row;
        erase_from(screen, row < screen->patched ? row : screen->patched);
    }
    int entered = draw_waiting(screen, room);
    if (!screen->inside_row) {
        draw_live(screen, entered);
        place_cursor(screen, entered);
        ik_live_copy(&screen->drawn, &screen->wanted, first_shown(screen));
    }
    ik_frame_advance(&screen->frame, entered);
    screen->patched -= screen->patched == INT_MAX ? 0 : entered;
    forget_taken(screen);
}

/* --- frames ------------------------------------------------------------------------------ */

/* Appends the frame; one of several rows is synchronised, or hides the cursor while it is drawn. */
static void append_frame(ik_screen_t *screen, ik_buffer_t *out, bool shows_cursor)
{
    const ik_buffer_t *bytes = &screen->frame.bytes;
    bool several = screen->frame.touched > 1;
    bool synchronised = several && screen->synchronised;
    bool hides = !screen->cursor_hidden && (!shows_cursor || (several && !synchronised));
    screen->cursor_hidden = screen->cursor_hidden || hides;
    ik_buffer_append_text(out, synchronised ? BEGIN_SYNCHRONISED : "");
    ik_buffer_append_text(out, hides ? HIDE_CURSOR : "");
    ik_buffer_append(out, bytes->data, bytes->len);
    if (shows_cursor && screen->cursor_hidden) {
        ik_buffer_append_text(out, SHOW_CURSOR);
        screen->cursor_hidden = false;
    }
    ik_buffer_append_text(out, synchronised ? END_SYNCHRONISED : "");
}

static void append_sent(ik_screen_t *screen, ik_buffer_t *out)
{
    ik_buffer_append(out, screen->sent.data, screen->sent.len);
    screen->sent.len = 0;
}

static void erase_live(ik_screen_t *screen)
{
    ik_frame_begin(&screen->frame);
    forget_drawn(screen);
    if (screen->inside_row) {
        int entered = draw_waiting(screen, first_length(screen));
        ik_frame_move(&screen->frame, entered, 0);
        ik_frame_advance(&screen->frame, entered);
        forget_taken(screen);
    }
    erase_from(screen, 0);
    ik_live_clear(&screen->drawn);
}

static bool has_work(const ik_screen_t *screen)
{
    if (screen->options.plain) {
        return !screen->paused && ik_screen_waiting(screen) > 0;
    }
    if (screen->paused) {
        return !screen->given_away;
    }
    return ik_screen_waiting(screen) > 0 || screen->sent.len > 0 || screen->stale ||
           !ik_live_equal(&screen->wanted, first_shown(screen), &screen->drawn);
}

static void append_plain(ik_screen_t *screen, ik_buffer_t *out, size_t room)
{
    size_t left = ik_screen_waiting(screen);
    size_t part = left < room ? left : room;
    ik_buffer_append(out, screen->waiting.data + screen->taken, part);
    screen->taken += part;
    forget_taken(screen);
}

static void append_next(ik_screen_t *screen, ik_buffer_t *out)
{
    if (screen->options.plain) {
        append_plain(screen, out, PIECE);
        return;
    }
    append_sent(screen, out);
    if (screen->paused) {
        erase_live(screen);
        screen->given_away = true;
    } else {
        draw(screen, PIECE);
    }
    append_frame(screen, out, screen->paused || wants_cursor(screen));
}

bool ik_screen_flush(ik_screen_t *screen)
{
    if (!has_work(screen)) {
        return true;
    }
    bool must = screen->paused || screen->options.plain;
    if ((screen->held && !must) || !screen->options.is_drained(screen->options.data)) {
        return false;
    }
    screen->out.len = 0;
    append_next(screen, &screen->out);
    if (screen->out.len > 0) {
        screen->options.write(screen->options.data, screen->out.data, screen->out.len);
    }
    return !has_work(screen);
}

/* --- pausing and ending ------------------------------------------------------------------ */

void ik_screen_pause(ik_screen_t *screen)
{
    screen->paused = true;
    ik_screen_flush(screen);
}

void ik_screen_resume(ik_screen_t *screen)
{
    screen->paused = false;
    screen->stale = screen->stale || screen->given_away;
    screen->given_away = false;
}

void ik_screen_append_end(ik_screen_t *screen, ik_buffer_t *out)
{
    if (screen->options.plain) {
        append_plain(screen, out, SIZE_MAX);
        return;
    }
    ik_screen_resume(screen);
    screen->stale = screen->stale || screen->held;
    ik_live_clear(&screen->wanted);
    append_sent(screen, out);
    draw(screen, SIZE_MAX);
    append_frame(screen, out, true);
}
