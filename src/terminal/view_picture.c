/*
 * Pictures between the rows of the view. The terminal is asked whether it can show them when the
 * first one is due, which then waits for the answer; a terminal that never sees a picture is never
 * asked. Only terminals that answered an earlier question of the same kind are asked, since others
 * print what they do not understand.
 */
#include <string.h>

#include "base/clock.h"
#include "base/image.h"
#include "terminal/preview.h"
#include "terminal/view_state.h"

bool ik_view_may_show_pictures(const ik_view_t *view)
{
    return !view->plain && !view->closed && view->pictures != IK_VIEW_PICTURES_NONE;
}

/* Whether the questions were answered, or the time for that is over. */
static bool is_answered(const ik_view_t *view)
{
    return view->answered || ik_clock_now_ms() - view->asked_ms >= IK_VIEW_ANSWER_MS;
}

static void ask(ik_view_t *view)
{
    bool can_be_asked = view->answered && view->named && !view->multiplexed;
    view->pictures = can_be_asked ? IK_VIEW_PICTURES_ASKED : IK_VIEW_PICTURES_NONE;
    if (can_be_asked) {
        view->answered = false;
        view->asked_ms = ik_clock_now_ms();
        ik_screen_send(view->screen, IK_PREVIEW_QUESTION, sizeof(IK_PREVIEW_QUESTION) - 1);
    }
}

bool ik_view_place_picture(void *data, const void *ctx, const char *png, size_t len, char **row,
                           int *above)
{
    ik_view_t *view = data;
    ik_image_t image;
    if (!ik_view_may_show_pictures(view)) {
        return true;
    }
    if (view->pictures != IK_VIEW_PICTURES_KITTY) {
        if (is_answered(view) && view->pictures == IK_VIEW_PICTURES_UNKNOWN) {
            ask(view);
        } else if (is_answered(view)) {
            view->pictures = IK_VIEW_PICTURES_NONE;
        }
        return view->pictures == IK_VIEW_PICTURES_NONE;
    }
    int rows = !ik_image_parse(png, len, &image) || image.kind != IK_IMAGE_PNG
                   ? 0
                   : ik_preview_rows(image.width, image.height, ik_screen_columns(view->screen),
                                     ik_screen_rows(view->screen));
    if (rows > 0) {
        ik_buffer_t bytes;
        ik_buffer_init(&bytes, ctx, IK_BUFFER_UNLIMITED); /* bounded by IK_PREVIEW_BYTES_MAX */
        ik_preview_append(&bytes, png, len, rows);
        *row = ik_buffer_finish(&bytes);
        *above = rows - 1;
    }
    return true;
}

void ik_view_learn_pictures(ik_view_t *view, const ik_key_t *key)
{
    if (key->kind == IK_KEY_GRAPHICS && key->code == IK_PREVIEW_ID && key->value == 1 &&
        view->pictures == IK_VIEW_PICTURES_ASKED) {
        view->pictures = IK_VIEW_PICTURES_KITTY;
    }
}
