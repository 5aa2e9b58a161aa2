#include "terminal/view.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/sanitiser.h"
#include "base/width.h"
#include "io/signal_watch.h"
#include "io/tty.h"
#include "terminal/plain.h"
#include "terminal/view_state.h"

enum {
    FRAME_MS = 16,
    SPINNER_MS = 250,
    ESCAPE_MS = 40,      /* how long an ESC may be the start of a sequence */
    PRINTED = 64 * 1024, /* bytes of rows laid out for one frame */
    NOTIFICATION_COLUMNS = 120,
};

/* --- drawing ----------------------------------------------------------------------------- */

/* Collected rows, which are added to the live area after those above them. */
typedef struct {
    ik_buffer_t bytes;
    size_t ends[512];
    size_t count;
} rows_t;

static void collect_row(void *data, const char *bytes, size_t len)
{
    rows_t *rows = data;
    if (rows->count < IK_LENGTH(rows->ends)) {
        ik_buffer_append(&rows->bytes, bytes, len);
        rows->ends[rows->count++] = rows->bytes.len;
    }
}

static void add_rows(ik_view_t *view, const rows_t *rows, size_t from)
{
    for (size_t i = from; i < rows->count; i++) {
        size_t begin = i == 0 ? 0 : rows->ends[i - 1];
        ik_screen_add_live(view->screen, rows->bytes.data + begin, rows->ends[i] - begin);
    }
}

/* Collects the activity for the space above and below the draft. It leaves room for an empty row
 * and the status line, unless its reserved rows need that. Returns how many of its last rows are
 * shown. */
static int collect_activity(ik_view_t *view, rows_t *rows, int space)
{
    int reserved = view->reserved < space ? view->reserved : space;
    int most = space - 2 > reserved ? space - 2 : reserved;
    if (most > 0) {
        view->listener.draw_activity(view->listener.data, most, collect_row, rows);
    }
    return (int)rows->count < most ? (int)rows->count : most;
}

/* Adds the last count rows of the activity, separated from the finished rows above and from the
 * draft below by an empty row each if there is room. Returns how many rows it used. */
static int add_activity(ik_view_t *view, const rows_t *rows, int count, int room)
{
    bool ends_empty = ik_backlog_ends_empty(view->backlog);
    bool above = count > 0 && !ends_empty && rows->ends[0] != 0 && count + 1 < room;
    bool below = (count > 0 || !ends_empty) && count + above < room;
    if (above) {
        ik_screen_add_live(view->screen, "", 0);
    }
    add_rows(view, rows, rows->count - (size_t)count);
    if (below) {
        ik_screen_add_live(view->screen, "", 0);
    }
    return above + count + below;
}

/* Maximum rows of the draft and its list. The highlighted row of a list is shown before the empty
 * row and the status line, because Enter takes it. */
static int prompt_max(const ik_view_t *view, int room)
{
    if (room > 3) {
        return ik_prompt_is_numbered(view->prompt) ? room - 1 : room * 2 / 3;
    }
    return room > 1 && ik_prompt_has_list(view->prompt) ? 2 : 1;
}

/* Composes the live area: activity, an empty row, the draft, the status line. The draft has
 * priority if there is little room. */
static void compose(ik_view_t *view)
{
    void *scratch = talloc_new(view);
    rows_t *prompt = ik_new(scratch, rows_t);
    rows_t *activity = ik_new(scratch, rows_t);
    int room = ik_screen_live_max(view->screen);
    ik_buffer_init(&prompt->bytes, scratch, IK_BUFFER_UNLIMITED);   /* bounded by the screen */
    ik_buffer_init(&activity->bytes, scratch, IK_BUFFER_UNLIMITED); /* bounded by the screen */
    ik_prompt_drawing_t drawing = ik_prompt_draw(view->prompt, ik_screen_columns(view->screen),
                                                 prompt_max(view, room), collect_row, prompt);
    int space = room - drawing.rows;
    int count = collect_activity(view, activity, space);
    bool status = count < space;
    ik_screen_begin_live(view->screen);
    int above = add_activity(view, activity, count, space - status);
    add_rows(view, prompt, 0);
    if (status) {
        ik_row_t row;
        ik_row_init(&row, scratch, &view->theme);
        view->listener.draw_status(view->listener.data, &row);
        ik_row_end(&row);
        ik_screen_add_live(view->screen, row.bytes.data == NULL ? "" : row.bytes.data,
                           row.bytes.len);
    }
    ik_screen_place_cursor(view->screen, above + drawing.cursor_row, drawing.cursor_column);
    talloc_free(scratch);
}

/* Draws the pager only if it changed; activity of the main view does not affect it. */
static void draw_pager(ik_view_t *view)
{
    ik_buffer_t frame;
    if (!view->pager_due) {
        return;
    }
    view->pager_due = false;
    ik_buffer_init(&frame, view, IK_BUFFER_UNLIMITED); /* one screen */
    ik_pager_draw(view->pager, &frame);
    ik_tty_write(view->tty, frame.data, frame.len);
    ik_buffer_reset(&frame);
    if (ik_pager_is_searching(view->pager)) { /* continues after pending keys */
        view->frame_armed = true;
        ik_timer_start(view->frame, 0);
    }
}

/* False while the window is being resized; on_resize then draws. */
static bool is_settled(ik_view_t *view)
{
    bool settled = ik_tty_is_settled(view->tty);
    if (!settled) {
        ik_screen_hold(view->screen);
    }
    return settled;
}

/* Maximum rows of the open block of an answer. */
static int open_max(const ik_view_t *view)
{
    /* the row of the activity, the empty row, the draft, the status */
    int most = ik_screen_live_max(view->screen) - 4;
    return most < 1 ? 1 : most;
}

/* Draws only when the terminal has taken the last frame; otherwise on_drained draws later. */
static void draw(ik_view_t *view)
{
    if (view->plain || view->closed || view->away) {
        return;
    }
    view->drawn_ms = ik_clock_now_ms();
    view->draw_due = false;
    if (!ik_tty_is_drained(view->tty)) {
        view->draw_due = true;
    } else if (view->pager != NULL) {
        draw_pager(view);
    } else if (is_settled(view)) {
        bool all = ik_backlog_print(view->backlog, ik_screen_columns(view->screen), open_max(view),
                                    PRINTED);
        compose(view);
        if (view->vi && view->shapes) {
            ik_tty_set_cursor(view->tty, ik_prompt_is_normal(view->prompt) ? IK_TTY_CURSOR_BLOCK
                                                                           : IK_TTY_CURSOR_BAR);
        }
        view->draw_due = !ik_screen_flush(view->screen) || !all;
        if (view->draw_due && ik_tty_is_drained(view->tty)) {
            ik_view_touch(view); /* all was written at once: on_drained does not come */
        }
    }
}

static void on_frame(void *data)
{
    ik_view_t *view = data;
    view->frame_armed = false;
    if (view->pager != NULL && ik_pager_is_searching(view->pager)) {
        ik_pager_continue(view->pager);
        view->pager_due = true;
    }
    draw(view);
}

void ik_view_touch(ik_view_t *view)
{
    if (!view->plain && !view->frame_armed && !view->closed) {
        view->frame_armed = true;
        ik_timer_start(view->frame, view->drawn_ms + FRAME_MS - ik_clock_now_ms());
    }
}

static void on_spinner(void *data)
{
    ik_view_t *view = data;
    view->spinner_step++;
    ik_timer_start(view->spinner, SPINNER_MS);
    ik_view_touch(view);
}

void ik_view_set_busy(ik_view_t *view, bool busy)
{
    if (view->plain || busy == view->busy) {
        return;
    }
    view->busy = busy;
    if (busy) {
        ik_timer_start(view->spinner, SPINNER_MS);
    } else {
        ik_timer_stop(view->spinner);
    }
    ik_view_touch(view);
}

void ik_view_reserve_activity(ik_view_t *view, int rows)
{
    view->reserved = rows;
}

const char *ik_view_spinner(const ik_view_t *view)
{
    static const char *const steps[] = {"⠋", "⠙", "⠸", "⠴", "⠦", "⠇"};
    return steps[view->spinner_step % (IK_LENGTH(steps))];
}

/* --- finished rows ----------------------------------------------------------------------- */

/* Ends the row of the prompt mark when output comes before the line. */
static void end_mark(ik_view_t *view)
{
    if (view->line_wanted) {
        view->line_wanted = false;
        ik_plain_write(view->lines, "\n", 1);
    }
}

static void commit_row(void *data, const char *bytes, size_t len)
{
    ik_view_t *view = data;
    if (view->plain) {
        end_mark(view);
    }
    ik_screen_commit(view->screen, bytes, len);
}

/* Prints with the next frame, or at once in plain mode. */
static void on_waiting(void *data)
{
    ik_view_t *view = data;
    if (view->plain) {
        ik_backlog_print(view->backlog, ik_screen_columns(view->screen), open_max(view), SIZE_MAX);
        ik_screen_flush(view->screen);
    } else {
        ik_view_touch(view);
    }
}

static void add_row(void *data, const char *bytes, size_t len)
{
    ik_backlog_add_row(((ik_view_t *)data)->backlog, bytes, len);
}

int ik_view_height(const ik_view_t *view)
{
    return ik_screen_rows(view->screen);
}

ik_rows_t ik_view_rows(ik_view_t *view)
{
    return (ik_rows_t){.theme = &view->theme,
                       .columns = ik_screen_columns(view->screen),
                       .folder = view->paths->cwd,
                       .brief = view->brief,
                       .on_row = add_row,
                       .data = view,
                       .backlog = view->backlog};
}

void ik_view_set_brief(ik_view_t *view, bool brief)
{
    view->brief = brief;
}

bool ik_view_echoes(const ik_view_t *view)
{
    return view->plain;
}

void ik_view_begin_block(ik_view_t *view)
{
    ik_backlog_add_gap(view->backlog);
}

void ik_view_begin_item(ik_view_t *view)
{
    ik_backlog_add_item_gap(view->backlog);
}

const ik_theme_t *ik_view_theme(const ik_view_t *view)
{
    return &view->theme;
}

/* --- keys -------------------------------------------------------------------------------- */

void ik_view_pause(ik_view_t *view)
{
    (void)is_settled(view); /* may hold the screen, which then erases with care */
    ik_screen_pause(view->screen);
    ik_screen_flush(view->screen);
}

/* Gives the terminal away after all keys of the same input are handled and the terminal has taken
 * the last frame, which would otherwise be cut off. */
static void leave_when_ready(ik_view_t *view)
{
    ik_prompt_action_t action = view->leave_due;
    if (!view->away && !ik_tty_is_drained(view->tty)) {
        return; /* on_drained calls this again */
    }
    view->leave_due = IK_PROMPT_NONE;
    if (action == IK_PROMPT_SUSPEND) {
        if (!ik_signal_watch_is_ignored(
                SIGTSTP)) { /* without job control no shell would resume us */
            ik_view_pause(view);
            ik_tty_suspend(view->tty); /* on_continued draws again */
        }
    } else if (action == IK_PROMPT_EDITOR) {
        ik_view_editor_open(view);
    }
}

static void act(ik_view_t *view, ik_prompt_action_t action)
{
    char *text;
    switch (action) {
    case IK_PROMPT_NONE:
        break;
    case IK_PROMPT_SUBMIT:
        text = ik_prompt_take(view, view->prompt);
        view->listener.on_submit(view->listener.data, text);
        explicit_bzero(text, strlen(text)); /* it may be a secret */
        talloc_free(text);
        break;
    case IK_PROMPT_SUSPEND:
    case IK_PROMPT_EDITOR:
        view->leave_due = action;
        break;
    case IK_PROMPT_CHOSEN:
        ik_view_list_take_row(view);
        break;
    case IK_PROMPT_REDRAW:
        ik_screen_resize(view->screen, ik_screen_columns(view->screen),
                         ik_screen_rows(view->screen));
        break;
    default:
        view->listener.on_action(view->listener.data, action);
    }
}

static void close_pager(ik_view_t *view)
{
    TALLOC_FREE(view->pager);
    ik_tty_use_alternate(view->tty, false);
    ik_screen_resume(view->screen);
}

/* How many bytes of a text are a key of their own, which may change what the rest is for: a digit
 * that takes a row, an answer, or a command of vi. */
static size_t first_key(const ik_view_t *view, const ik_key_t *key)
{
    if (key->kind != IK_KEY_TEXT) {
        return key->len;
    }
    if (key->text[0] >= '0' && key->text[0] <= '9' && ik_prompt_is_numbered(view->prompt)) {
        return 1;
    }
    if (ik_prompt_awaits_key(view->prompt)) {
        return ik_width_grapheme(key->text, key->len).len;
    }
    return ik_prompt_is_normal(view->prompt) ? ik_width_grapheme(key->text, key->len).len
                                             : key->len;
}

static void on_key(void *data, const ik_key_t *key)
{
    ik_view_t *view = data;
    if (ik_view_learn(view, key) || view->closed) {
        return;
    }
    view->key_seen = true;
    view->key_ms = ik_clock_now_ms();
    if (view->pager != NULL) {
        view->pager_due = true;
        ik_pager_action_t action = ik_pager_key(view->pager, key);
        if (action == IK_PAGER_CLOSE) {
            close_pager(view);
        } else if (action == IK_PAGER_SUSPEND) {
            act(view, IK_PROMPT_SUSPEND);
        }
        return;
    }
    size_t first = first_key(view, key);
    if (first < key->len) {
        ik_key_t rest = *key;
        rest.text += first;
        rest.len -= first;
        on_key(view, &(ik_key_t){.kind = IK_KEY_TEXT, .text = key->text, .len = first});
        on_key(view, &rest);
        return;
    }
    uint64_t before = ik_prompt_version(view->prompt);
    act(view, ik_prompt_key(view->prompt, key));
    if (view->list != NULL && !ik_prompt_is_choosing(view->prompt)) {
        ik_view_list_take_row(view); /* a key of the draft closed it */
    }
    if (ik_prompt_version(view->prompt) != before) {
        view->listener.on_draft(view->listener.data);
    }
}

/* On a busy machine the time passes although the rest of a sequence has arrived. */
static void on_escape_time(void *data)
{
    ik_view_t *view = data;
    if (!ik_tty_has_input(view->tty)) {
        ik_decoder_expire(view->decoder);
        draw(view);
    }
}

static void on_input(void *data, const char *bytes, size_t len)
{
    ik_view_t *view = data;
    ik_timer_stop(view->escape);
    view->key_seen = false;
    ik_decoder_feed(view->decoder, bytes, len);
    if (ik_decoder_is_waiting(view->decoder)) {
        ik_timer_start(view->escape, ESCAPE_MS);
    }
    leave_when_ready(view);
    if (view->key_seen) {
        draw(view);
    } else {
        ik_view_touch(view);
    }
}

/* --- the terminal ------------------------------------------------------------------------ */

static void on_drained(void *data)
{
    ik_view_t *view = data;
    leave_when_ready(view);
    if (view->draw_due) {
        draw(view);
    }
}

void ik_view_fit(ik_view_t *view)
{
    int columns;
    int rows;
    ik_tty_size(view->tty, &columns, &rows);
    ik_screen_resize(view->screen, columns, rows);
    if (view->pager != NULL) {
        ik_pager_resize(view->pager, columns, rows);
        view->pager_due = true;
    }
}

static void on_resize(void *data)
{
    ik_view_t *view = data;
    ik_view_forget_cells(view);
    ik_view_fit(view);
    draw(view);
}

static void on_signal(void *data, int signal)
{
    ik_view_t *view = data;
    view->listener.on_leave(view->listener.data, signal);
}

static void on_gone(void *data)
{
    ik_view_t *view = data;
    view->gone = true;
    view->listener.on_leave(view->listener.data, SIGHUP);
}

static void on_continued(void *data)
{
    ik_view_t *view = data;
    view->unfocused = false; /* as far as is known */
    on_resize(view);
    if (view->away) {
        return;
    }
    if (view->pager == NULL) {
        ik_view_pause(view);
        ik_screen_resume(view->screen);
    } else {
        ik_tty_use_alternate(view->tty, true);
    }
    draw(view);
}

static void on_stop(void *data)
{
    ik_view_t *view = data;
    view->leave_due = IK_PROMPT_SUSPEND;
    leave_when_ready(view);
}

static void write_frame(void *data, const char *bytes, size_t len)
{
    ik_view_t *view = data;
    if (view->plain) {
        ik_plain_write(view->lines, bytes, len);
    } else {
        ik_tty_write(view->tty, bytes, len);
    }
}

static bool is_drained(void *data)
{
    ik_view_t *view = data;
    return view->plain || ik_tty_is_drained(view->tty);
}

/* --- creating and closing ---------------------------------------------------------------- */

void ik_view_take_line(ik_view_t *view, const char *line)
{
    view->line_wanted = view->line_wanted && line == NULL;
    if (ik_view_list_take_line(view, line)) {
        view->listener.on_action(view->listener.data, IK_PROMPT_CHOSEN);
        return;
    }
    if (line == NULL) {
        view->listener.on_action(view->listener.data, IK_PROMPT_END);
    } else {
        view->listener.on_submit(view->listener.data, line);
    }
}

static void on_line(void *data, const char *line)
{
    ik_view_take_line(data, line);
}

static res_t begin_terminal(ik_view_t *view, const ik_view_options_t *options)
{
    int columns;
    int rows;
    ik_tty_listener_t listener = {.on_input = on_input,
                                  .on_drained = on_drained,
                                  .on_resize = on_resize,
                                  .on_signal = on_signal,
                                  .on_gone = on_gone,
                                  .on_continued = on_continued,
                                  .on_stop = on_stop,
                                  .data = view};
    TRY(ik_tty_create(view, options->loop, &listener, &view->tty));
    ik_tty_size(view->tty, &columns, &rows);
    ik_screen_options_t screen = {.write = write_frame, .is_drained = is_drained, .data = view};
    view->screen = ik_screen_create(view, &screen, columns, rows);
    view->decoder = ik_decoder_create(view, on_key, view);
    view->recall = ik_recall_create(view, options->paths->recall);
    view->prompt = ik_prompt_create(view, &view->theme, view->recall, &options->completion);
    if (options->vi) {
        view->vi = true;
        ik_prompt_use_vi(view->prompt);
        ik_decoder_split_alt(view->decoder);
    }
    view->frame = ik_timer_create(view, options->loop, on_frame, view);
    view->spinner = ik_timer_create(view, options->loop, on_spinner, view);
    view->escape = ik_timer_create(view, options->loop, on_escape_time, view);
    return OK;
}

void ik_view_open(ik_view_t *view)
{
    if (!view->plain) {
        ik_tty_enter(view->tty);
        draw(view);
        ik_view_ask_features(view);
    }
}

static int close_view(ik_view_t *view)
{
    ik_view_close(view);
    return 0;
}

res_t ik_view_create(const void *ctx, const ik_view_options_t *options, ik_view_t **out)
{
    const char *term = getenv("TERM");
    ik_view_t *view = ik_new(ctx, ik_view_t);
    view->loop = options->loop;
    view->host = options->host;
    view->paths = options->paths;
    view->listener = options->listener;
    view->dumb = term == NULL || strcmp(term, "dumb") == 0 || isatty(STDOUT_FILENO) == 0;
    view->plain = options->plain || view->dumb;
    view->config = options->config;
    ik_view_choose_theme(view);
    view->backlog =
        ik_backlog_create(view, &(ik_backlog_options_t){.theme = &view->theme,
                                                        .on_row = commit_row,
                                                        .on_picture = ik_view_place_picture,
                                                        .on_waiting = on_waiting,
                                                        .data = view});
    if (view->plain) {
        ik_screen_options_t screen = {
            .write = write_frame, .is_drained = is_drained, .data = view, .plain = true};
        view->lines = ik_plain_create(view, options->loop, on_line, on_signal, view);
        view->screen = ik_screen_create(view, &screen, ik_plain_columns(view->lines), 24);
    } else {
        res_t begun = begin_terminal(view, options);
        if (is_err(&begun)) {
            talloc_free(view);
            return begun;
        }
    }
    talloc_set_destructor(view, close_view);
    *out = view;
    return OK;
}

void ik_view_close(ik_view_t *view)
{
    if (view->closed) {
        return;
    }
    view->closed = true;
    if (view->plain) {
        ik_plain_hide_input(view->lines, false);
        end_mark(view);
        return;
    }
    ik_buffer_t end;
    ik_buffer_init(&end, view, IK_BUFFER_UNLIMITED); /* bounded by the backlog */
    ik_timer_stop(view->spinner);
    ik_timer_stop(view->frame);
    ik_timer_stop(view->escape);
    ik_view_end_editor(view);
    ik_view_await_answers(view);
    if (view->pager != NULL) {
        close_pager(view);
    }
    if (!view->gone) {
        ik_view_fit(view); /* does not wait for a resize to settle */
        (void)is_settled(view);
        ik_backlog_print(view->backlog, ik_screen_columns(view->screen), open_max(view), SIZE_MAX);
        ik_screen_append_end(view->screen, &end);
        ik_tty_write(view->tty, end.data == NULL ? "" : end.data, end.len);
    }
    ik_tty_leave(view->tty, view->gone ? 0 : IK_VIEW_LEAVE_MS);
    ik_buffer_reset(&end);
}

/* --- questions to the user --------------------------------------------------------------- */

ik_prompt_t *ik_view_prompt(ik_view_t *view)
{
    return view->prompt;
}

static void ask(ik_view_t *view, const char *question)
{
    if (view->plain && question == NULL) {
        end_mark(view);
    } else if (view->plain) {
        view->line_wanted = true;
        ik_plain_prompt(view->lines, question);
    } else {
        ik_prompt_ask(view->prompt, question);
        ik_view_touch(view);
    }
}

void ik_view_ask(ik_view_t *view, const char *question)
{
    if (view->plain) {
        ik_plain_hide_input(view->lines, false);
    }
    ask(view, question);
}

void ik_view_ask_keys(ik_view_t *view, const char *question, const char *keys)
{
    ik_view_ask(view, question);
    if (!view->plain) {
        ik_prompt_ask_keys(view->prompt, question, keys);
    }
}

int64_t ik_view_key_ms(const ik_view_t *view)
{
    return view->key_ms;
}

void ik_view_hide_input(ik_view_t *view)
{
    if (view->plain) {
        ik_plain_hide_input(view->lines, true);
    }
}

void ik_view_ask_secret(ik_view_t *view, const char *question)
{
    ik_view_hide_input(view);
    ask(view, question);
    if (!view->plain) {
        ik_prompt_ask_secret(view->prompt, question);
    }
}

void ik_view_want_line(ik_view_t *view)
{
    if (view->plain && !view->line_wanted && !view->mark_held) {
        view->line_wanted = true;
        ik_plain_prompt(view->lines, "> ");
    }
}

/* --- the pager --------------------------------------------------------------------------- */

void ik_view_open_pager(ik_view_t *view, const ik_pager_source_t *source, const char *title)
{
    if (view->plain || view->away || view->pager != NULL) {
        return;
    }
    ik_view_pause(view);
    ik_tty_use_alternate(view->tty, true);
    view->pager = ik_pager_create(view, &view->theme, source, title,
                                  ik_screen_columns(view->screen), ik_screen_rows(view->screen));
    view->pager_due = true;
    draw(view);
}

void ik_view_close_pager(ik_view_t *view)
{
    if (view->pager != NULL) {
        close_pager(view);
        ik_view_touch(view);
    }
}

/* --- notifications, title, clipboard ----------------------------------------------------- */

/* Sends sequences between two frames; the pager's frames are written directly. */
static void send(ik_view_t *view, const char *bytes, size_t len)
{
    if (view->pager != NULL) {
        ik_tty_write(view->tty, bytes, len);
    } else {
        ik_screen_send(view->screen, bytes, len);
        ik_view_touch(view);
    }
}

void ik_view_notify(ik_view_t *view, const char *text)
{
    static const struct {
        const char *before;
        const char *after;
    } forms[] = {
        [IK_CONFIG_NOTIFY_AUTO] = {"\x1b]9;ikigai: ", "\x07\x07"}, /* the second is the bell */
        [IK_CONFIG_NOTIFY_BELL] = {NULL, "\x07"},
        [IK_CONFIG_NOTIFY_OSC9] = {"\x1b]9;ikigai: ", "\x07"},
        [IK_CONFIG_NOTIFY_OSC99] = {"\x1b]99;;ikigai: ", "\x1b\\"},
        [IK_CONFIG_NOTIFY_OSC777] = {"\x1b]777;notify;ikigai;", "\x1b\\"},
    };
    int form = view->config->notify;
    if (!view->unfocused || view->away || view->closed || form == IK_CONFIG_NOTIFY_OFF) {
        return;
    }
    ik_buffer_t sequence;
    ik_buffer_init(&sequence, view, IK_BUFFER_UNLIMITED); /* bounded by NOTIFICATION_COLUMNS */
    if (forms[form].before != NULL) {
        ik_buffer_append_text(&sequence, forms[form].before);
        ik_width_append(&sequence, text, NOTIFICATION_COLUMNS, IK_WIDTH_KEEP_START);
    }
    ik_buffer_append_text(&sequence, forms[form].after);
    send(view, sequence.data, sequence.len);
    ik_buffer_reset(&sequence);
}

void ik_view_set_title(ik_view_t *view, const char *title)
{
    if (!view->plain) {
        char *line = ik_sanitise_line(view, title);
        ik_tty_set_title(view->tty, line);
        talloc_free(line);
    }
}

void ik_view_copy(ik_view_t *view, const char *text, size_t len)
{
    ik_buffer_t sequence;
    if (view->plain) {
        return;
    }
    ik_buffer_init(&sequence, view, IK_BUFFER_UNLIMITED); /* bounded by the text */
    ik_buffer_append_text(&sequence, "\x1b]52;c;");
    ik_base64_append(&sequence, text, len);
    ik_buffer_append_byte(&sequence, '\x07');
    send(view, sequence.data, sequence.len);
    ik_buffer_reset(&sequence);
}
