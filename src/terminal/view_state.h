/* What the view consists of, for the files that are parts of it. */
#pragma once

#include "io/foreground.h"
#include "io/tty.h"
#include "terminal/decoder.h"
#include "terminal/plain.h"
#include "terminal/screen.h"
#include "terminal/view.h"

/* For a slow terminal to take the last rows before somebody else gets it. */
enum { IK_VIEW_LEAVE_MS = 300 };

struct ik_view {
    ik_loop_t *loop;
    const ik_paths_t *paths;
    ik_view_listener_t listener;
    ik_theme_t theme;
    ik_screen_t *screen;
    ik_backlog_t *backlog; /* what is to be printed */
    bool plain;
    bool dumb; /* no escape at all */
    bool closed;

    /* plain */
    ik_plain_t *lines;
    bool line_wanted; /* which was said */

    /* a terminal */
    ik_tty_t *tty;
    ik_decoder_t *decoder;
    ik_recall_t *recall;
    ik_prompt_t *prompt;
    ik_pager_t *pager; /* NULL: the main view */
    bool pager_due;    /* it is to be drawn */
    void *editing;     /* the external editor, while it has the terminal */
    bool away;         /* nothing may be drawn: somebody else has the terminal */
    bool gone;         /* the terminal is */
    bool kitty;        /* it speaks the kitty keyboard protocol */
    int64_t asked_ms;  /* when our questions were */
    bool answered;     /* the last of them was */
    bool unfocused;
    bool key_seen; /* among the last bytes of input */

    /* frames */
    ik_timer_t *frame;
    ik_timer_t *spinner;
    ik_timer_t *escape;
    bool frame_armed;
    bool draw_due;                /* as soon as the terminal has taken the last frame */
    ik_prompt_action_t leave_due; /* likewise: SUSPEND or EDITOR */
    int64_t drawn_ms;
    bool busy;
    unsigned spinner_step;
};

/* The window may have another size. */
void ik_view_fit(ik_view_t *view);
/* The main view makes room for another program. */
void ik_view_pause(ik_view_t *view);
