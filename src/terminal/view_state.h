/* The state of the view, private to its parts. */
#pragma once

#include "io/foreground.h"
#include "io/tty.h"
#include "terminal/decoder.h"
#include "terminal/plain.h"
#include "terminal/preview.h"
#include "terminal/screen.h"
#include "terminal/view.h"
#include "terminal/view_list.h"

enum {
    IK_VIEW_LEAVE_MS = 300,  /* for a slow terminal to take the last rows */
    IK_VIEW_ANSWER_MS = 200, /* for the terminal to answer the questions */
};

/* Whether the terminal shows pictures. */
typedef enum {
    IK_VIEW_PICTURES_UNKNOWN,
    IK_VIEW_PICTURES_ASKED,
    IK_VIEW_PICTURES_NONE,
    IK_VIEW_PICTURES_KITTY, /* the kitty graphics protocol */
    IK_VIEW_PICTURES_SIXEL,
} ik_view_pictures_t;

typedef struct ik_view_drawing ik_view_drawing_t;

struct ik_view {
    ik_loop_t *loop;
    ik_process_host_t *host; /* NULL: no programs can be run */
    const ik_paths_t *paths;
    const ik_config_t *config;
    ik_view_listener_t listener;
    ik_theme_t theme;
    ik_screen_t *screen;
    ik_backlog_t *backlog; /* output that is not printed yet */
    bool plain;
    bool dumb;  /* no escape sequences */
    bool brief; /* of ik_rows_t */
    bool vi;    /* vi keys */
    bool closed;
    ik_view_list_t *list; /* the open list; NULL: none */

    /* plain */
    ik_plain_t *lines;
    bool line_wanted; /* its mark is printed */
    bool mark_held;   /* it is not to be printed now */
    char **held;      /* lines that wait for the rows of the list; NULL: the end of input */
    size_t held_count;
    ik_timer_t *release; /* handles them */

    /* terminal */
    ik_tty_t *tty;
    ik_decoder_t *decoder;
    ik_recall_t *recall;
    ik_prompt_t *prompt;
    ik_pager_t *pager; /* NULL: the main view */
    bool pager_due;    /* it must be drawn */
    void *editing;     /* the external editor; NULL: not running */
    bool away;         /* another program has the terminal: draw nothing */
    bool gone;         /* the terminal is gone */
    bool kitty;        /* the terminal supports the kitty keyboard protocol */
    bool shapes;       /* the terminal can change the shape of its cursor */
    int64_t asked_ms;  /* when the questions were sent */
    bool answered;     /* the last question is answered */
    bool named;        /* the terminal told its name */
    bool multiplexed;  /* it is a program that passes on nothing it does not know, such as tmux */
    bool sixel;        /* it announced that it shows Sixel pictures */
    bool graphics;     /* it supports the kitty graphics protocol */
    ik_view_pictures_t pictures;
    ik_preview_cell_t cell;     /* as far as it is known; {0}: it is not */
    int colours;                /* of a Sixel picture; 0: not known */
    ik_view_drawing_t *drawing; /* NULL: no Sixel data is being made */
    bool unfocused;             /* the window is known not to have the focus */
    bool has_background;
    uint32_t background; /* as the terminal reported it, 0xRRGGBB */
    bool key_seen;       /* the last input contained a key */
    int64_t key_ms;      /* when the last key came; 0: none yet */

    /* frames */
    ik_timer_t *frame;
    ik_timer_t *spinner;
    ik_timer_t *escape;
    bool frame_armed;
    bool draw_due;                /* when the terminal has taken the last frame */
    ik_prompt_action_t leave_due; /* SUSPEND or EDITOR, at the same time */
    int64_t drawn_ms;
    int reserved; /* rows of the activity that come before the empty rows and the status line */
    bool busy;
    unsigned spinner_step;
};

/* Handles a line of plain mode; NULL: the end of input. */
void ik_view_take_line(ik_view_t *view, const char *line);
/* Offers a line to the open list, which may take it. */
bool ik_view_list_take_line(ik_view_t *view, const char *line);
/* Ends the list with the row that the prompt reports. */
void ik_view_list_take_row(ik_view_t *view);
/* Adapts to the size of the window. */
void ik_view_fit(ik_view_t *view);
/* Erases the live area for another program or the pager. */
void ik_view_pause(ik_view_t *view);
/* Asks the terminal for its features. */
void ik_view_ask_features(ik_view_t *view);
/* Handles reports of the terminal; false if the key is not one. */
bool ik_view_learn(ik_view_t *view, const ik_key_t *key);
/* Waits for the terminal's answers, which the shell would otherwise read as input. */
void ik_view_await_answers(ik_view_t *view);
/* Chooses the colours; again when the terminal reports its background: only the live area is drawn
 * again then. */
void ik_view_choose_theme(ik_view_t *view);
/* Makes the rows of a picture; see ik_backlog_options_t. */
bool ik_view_place_picture(void *data, const char *png, size_t len, ik_backlog_picture_t *out);
void ik_view_learn_pictures(ik_view_t *view, const ik_key_t *key);
/* The size of the cells may have changed: the terminal is asked again. */
void ik_view_forget_cells(ik_view_t *view);
/* Edits the draft in an external editor: $VISUAL, $EDITOR or vi. The program keeps running; its
 * output waits until the editor returns the terminal. */
void ik_view_editor_open(ik_view_t *view);
