/*
 * Pictures between the rows of the view. The terminal is asked whether and how it can show them
 * when the first one is due, which then waits for the answer; a terminal that never sees a picture
 * is never asked. Only terminals that answered an earlier question of the same kind are asked for
 * the kitty protocol, since others print what they do not understand. Sixel is announced in DA1.
 *
 * Sixel data is made by the program lib/ikigai/sixel, and the picture waits for that, too.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/image.h"
#include "terminal/preview.h"
#include "terminal/view_state.h"

enum { DRAWING_MS = 2000 }; /* for the program to finish */

/* The Sixel data of the next picture. */
struct ik_view_drawing {
    ik_view_t *view;
    ik_preview_size_t size;
    ik_process_t *process; /* NULL: it has ended */
    char *text;            /* NULL: there is none (yet) */
    size_t len;
};

bool ik_view_may_show_pictures(const ik_view_t *view)
{
    return !view->plain && !view->closed && view->pictures != IK_VIEW_PICTURES_NONE;
}

/* --- asking ------------------------------------------------------------------------------ */

/* Whether the questions were answered, or the time for that is over. */
static bool is_answered(const ik_view_t *view)
{
    return view->answered || ik_clock_now_ms() - view->asked_ms >= IK_VIEW_ANSWER_MS;
}

static void ask(ik_view_t *view)
{
    bool can_be_asked = view->answered && !view->multiplexed && (view->named || view->sixel);
    view->pictures = can_be_asked ? IK_VIEW_PICTURES_ASKED : IK_VIEW_PICTURES_NONE;
    if (can_be_asked) {
        char *question = ik_sprintf(NULL, "%s%s%s", view->named ? IK_PREVIEW_ASK_KITTY : "",
                                    view->sixel ? IK_PREVIEW_ASK_COLOURS : "", IK_PREVIEW_ASK_CELL);
        view->answered = false;
        view->asked_ms = ik_clock_now_ms();
        view->cell = (ik_preview_cell_t){0};
        view->graphics = false;
        ik_screen_send(view->screen, question, strlen(question));
        talloc_free(question);
    }
}

void ik_view_learn_pictures(ik_view_t *view, const ik_key_t *key)
{
    if (key->kind == IK_KEY_CELL) {
        view->cell = (ik_preview_cell_t){.width = (int)key->code, .height = key->value};
    } else if (key->kind == IK_KEY_COLOURS) {
        view->colours =
            key->code < IK_PREVIEW_COLOURS_MAX ? (int)key->code : IK_PREVIEW_COLOURS_MAX;
    } else if (view->pictures == IK_VIEW_PICTURES_ASKED && key->code == IK_PREVIEW_ID) {
        view->graphics = key->value == 1;
    }
}

/* What follows from the answers. Without the size of a cell it is not known how many rows a Sixel
 * picture covers. */
static void conclude(ik_view_t *view)
{
    bool known = (view->cell.width > 0 && view->cell.height > 0) ||
                 ik_tty_cell_size(view->tty, &view->cell.width, &view->cell.height);
    view->pictures = view->graphics                               ? IK_VIEW_PICTURES_KITTY
                     : view->sixel && known && view->host != NULL ? IK_VIEW_PICTURES_SIXEL
                                                                  : IK_VIEW_PICTURES_NONE;
}

void ik_view_forget_cells(ik_view_t *view)
{
    if (view->pictures == IK_VIEW_PICTURES_SIXEL || view->pictures == IK_VIEW_PICTURES_KITTY) {
        view->pictures = IK_VIEW_PICTURES_UNKNOWN;
    }
}

/* --- Sixel ------------------------------------------------------------------------------- */

static void on_drawn(void *data, ik_process_result_t *result)
{
    ik_view_drawing_t *drawing = data;
    drawing->process = NULL; /* it frees itself */
    if (result->end == IK_PROCESS_EXITED && result->exit_code == 0 && result->out.dropped == 0) {
        drawing->len = result->out.len;
        drawing->text = ik_buffer_take(drawing, &result->out);
    }
    ik_view_touch(drawing->view);
}

static void start_drawing(ik_view_t *view, const char *png, size_t len,
                          const ik_preview_size_t *size)
{
    ik_view_drawing_t *drawing = ik_new(view, ik_view_drawing_t);
    int colours = view->colours < 2 ? IK_PREVIEW_COLOURS : view->colours;
    const char *argv[] = {view->paths->sixel, ik_sprintf(drawing, "%d", size->width),
                          ik_sprintf(drawing, "%d", size->height),
                          ik_sprintf(drawing, "%d", colours), NULL};
    ik_process_options_t options = {
        .argv = argv,
        .folder = "/",
        .input = png,
        .input_len = len,
        .max_out = IK_PREVIEW_SIXEL_BYTES,
        .stop_when_full = true,
        .idle_ms = DRAWING_MS,
        .max_ms = DRAWING_MS,
        .on_end = on_drawn,
        .data = drawing,
    };
    drawing->view = view;
    drawing->size = *size;
    view->drawing = drawing;
    res_t started = ik_process_start(drawing, view->host, &options, &drawing->process);
    drawing->process = is_ok(&started) ? drawing->process : NULL;
}

/* Returns false while the data is being made; after a resize it is made again. */
static bool place_sixel(ik_view_t *view, const char *png, size_t len, const ik_image_t *image,
                        ik_backlog_picture_t *out)
{
    ik_preview_size_t size;
    ik_view_drawing_t *drawing = view->drawing;
    bool fits = ik_preview_fit(image->width, image->height, ik_screen_columns(view->screen),
                               ik_screen_rows(view->screen), view->cell, &size);
    if (drawing != NULL && (!fits || memcmp(&drawing->size, &size, sizeof(size)) != 0)) {
        TALLOC_FREE(view->drawing);
        drawing = NULL;
    }
    if (fits && drawing == NULL) {
        start_drawing(view, png, len, &size);
        drawing = view->drawing;
    }
    if (drawing != NULL && drawing->process != NULL) {
        return false;
    }
    if (drawing != NULL && drawing->text != NULL) {
        ik_buffer_t bytes;
        ik_buffer_init(&bytes, out->ctx, IK_BUFFER_UNLIMITED); /* bounded by the data */
        if (ik_preview_append_sixel(&bytes, &size, drawing->text, drawing->len)) {
            out->row = ik_buffer_finish(&bytes);
            out->above = size.rows;
            out->ends_empty = true;
        }
    }
    TALLOC_FREE(view->drawing);
    return true;
}

/* --- kitty ------------------------------------------------------------------------------- */

static void place_kitty(ik_view_t *view, const char *png, size_t len, const ik_image_t *image,
                        ik_backlog_picture_t *out)
{
    ik_preview_area_t area;
    if (len <= IK_PREVIEW_KITTY_BYTES &&
        ik_preview_cover(image->width, image->height, ik_screen_columns(view->screen),
                         ik_screen_rows(view->screen), view->cell, &area)) {
        ik_buffer_t bytes;
        ik_buffer_init(&bytes, out->ctx, IK_BUFFER_UNLIMITED); /* bounded by the file */
        ik_preview_append_kitty(&bytes, &area, png, len);
        out->row = ik_buffer_finish(&bytes);
        out->above = area.rows - 1;
    }
}

bool ik_view_place_picture(void *data, const char *png, size_t len, ik_backlog_picture_t *out)
{
    ik_view_t *view = data;
    ik_image_t image;
    if (!ik_view_may_show_pictures(view) || !ik_image_parse(png, len, &image) ||
        image.kind != IK_IMAGE_PNG) {
        return true;
    }
    if (view->pictures == IK_VIEW_PICTURES_UNKNOWN && is_answered(view)) {
        ask(view);
    } else if (view->pictures == IK_VIEW_PICTURES_ASKED && is_answered(view)) {
        conclude(view);
    }
    switch (view->pictures) {
    case IK_VIEW_PICTURES_KITTY:
        place_kitty(view, png, len, &image, out);
        return true;
    case IK_VIEW_PICTURES_SIXEL:
        return place_sixel(view, png, len, &image, out);
    case IK_VIEW_PICTURES_NONE:
        return true;
    default:
        return false;
    }
}
