/* What the terminal can do: asks for its features and applies the answers, which come as keys. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "io/tty_restore.h"
#include "terminal/contrast.h"
#include "terminal/view_state.h"

enum {
    SYNCHRONISED_OUTPUT = 2026, /* DEC private mode */
    SETTLING_MS = 40,           /* of a resize, if the terminal reports every change at once */
};

/* Asks for the terminal's features. Every terminal answers the last question, DA1. */
static const char questions[] = "\x1b[?u\x1b[?2026$p\x1b]11;?\x1b\\\x1b[>q\x1b[c";

void ik_view_ask_features(ik_view_t *view)
{
    ik_tty_write(view->tty, questions, sizeof(questions) - 1);
    view->asked_ms = ik_clock_now_ms();
}

void ik_view_choose_theme(ik_view_t *view)
{
    const ik_config_theme_t *wanted = &view->config->colours;
    const uint32_t *reported = view->has_background ? &view->background : NULL;
    const char *no_colour = getenv("NO_COLOR");
    const char *depth = getenv("COLORTERM");
    bool colours =
        (no_colour == NULL || *no_colour == '\0') && wanted->base != IK_CONFIG_THEME_MONO;
    bool is_deep =
        depth != NULL && (strcmp(depth, "truecolor") == 0 || strcmp(depth, "24bit") == 0);
    ik_background_t background = IK_BACKGROUND_UNKNOWN;
    if (wanted->base == IK_CONFIG_THEME_DARK || wanted->base == IK_CONFIG_THEME_LIGHT) {
        background =
            wanted->base == IK_CONFIG_THEME_DARK ? IK_BACKGROUND_DARK : IK_BACKGROUND_LIGHT;
    } else if (reported != NULL) {
        background = ik_contrast_is_light(*reported) ? IK_BACKGROUND_LIGHT : IK_BACKGROUND_DARK;
    }
    ik_theme_init(&view->theme, background, colours, !view->dumb);
    ik_theme_adapt(&view->theme, wanted, reported, is_deep);
    view->pager_due = true;
}

typedef struct {
    const char *name;
    ik_screen_reflow_t reflow;
    bool delays; /* reports a change of size with a delay */
} terminal_t;    /* those we know understand DECSCUSR */

/* Applies what is known of a terminal by its name. */
static void learn_name(ik_view_t *view, const char *name, size_t len)
{
    static const terminal_t known[] = {
        {"tmux", IK_SCREEN_REFLOW_TRACEABLE, true}, {"kitty", IK_SCREEN_REFLOW, false},
        {"foot", IK_SCREEN_REFLOW, false},          {"VTE", IK_SCREEN_REFLOW, false},
        {"WezTerm", IK_SCREEN_REFLOW, false},       {"XTerm", IK_SCREEN_REFLOW_NONE, false}};
    view->named = true;
    for (size_t i = 0; i < IK_LENGTH(known); i++) {
        size_t own = strlen(known[i].name);
        if (len >= own && strncasecmp(name, known[i].name, own) == 0) {
            ik_screen_set_reflow(view->screen, known[i].reflow);
            if (known[i].reflow != IK_SCREEN_REFLOW_NONE) {
                ik_tty_restore_owe_wrapping(); /* the screen switches it off inside frames */
            }
            view->shapes = true;
            view->multiplexed = known[i].delays;
            if (!known[i].delays) {
                ik_tty_set_settling(view->tty, SETTLING_MS);
            }
            return;
        }
    }
}

bool ik_view_learn(ik_view_t *view, const ik_key_t *key)
{
    switch (key->kind) {
    case IK_KEY_KITTY:
        view->kitty = true;
        ik_tty_use_keyboard(view->tty, true);
        return true;
    case IK_KEY_ATTRIBUTES:
        view->answered = true;
        view->sixel = key->value == 1;
        if (!view->kitty && view->pictures == IK_VIEW_PICTURES_UNKNOWN) {
            ik_tty_use_keyboard(view->tty, false);
        }
        return true;
    case IK_KEY_MODE:
        if (key->code == SYNCHRONISED_OUTPUT) {
            ik_screen_set_synchronised(view->screen, key->value == 1 || key->value == 2);
        }
        return true;
    case IK_KEY_BACKGROUND:
        view->background = key->code;
        view->has_background = true;
        ik_view_choose_theme(view);
        return true;
    case IK_KEY_VERSION:
        learn_name(view, key->text, key->len);
        return true;
    case IK_KEY_GRAPHICS:
    case IK_KEY_CELL:
    case IK_KEY_COLOURS:
        ik_view_learn_pictures(view, key);
        return true;
    case IK_KEY_FOCUS_IN:
    case IK_KEY_FOCUS_OUT:
        view->unfocused = key->kind == IK_KEY_FOCUS_OUT;
        return true;
    default:
        return false;
    }
}

static void on_patience_over(void *data)
{
    ((ik_view_t *)data)->answered = true;
}

void ik_view_await_answers(ik_view_t *view)
{
    int64_t left = view->asked_ms + IK_VIEW_ANSWER_MS - ik_clock_now_ms();
    if (view->answered || view->gone || view->away || left <= 0) {
        return;
    }
    ik_timer_t *patience = ik_timer_create(view, view->loop, on_patience_over, view);
    ik_timer_start(patience, left);
    ik_loop_run_until(view->loop, &view->answered);
    talloc_free(patience);
}
