/*
 * There are three states: left; entered, with modes set and input flowing; and wanted but not
 * entered, which means in the background. A program in the background (continued by `bg`, or
 * started with `&`) must not touch settings or screen, so it stops again, like a program that reads
 * the terminal, until it is brought to the foreground. Output is kept while not entered.
 */
#include "io/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "io/signal_watch.h"
#include "io/tty_restore.h"

enum {
    READ_SIZE = 65536,
    /* tmux reflows its window first and tells the program up to 250 ms later. */
    SETTLING_MS = 300,
    FAREWELL_MS = 100, /* for pending output when the tty is freed */
    /* Delay before stopping, so that signals which arrived with SIGCONT are handled first. */
    BACKGROUND_MS = 10,
    DEFAULT_COLUMNS = 80,
    DEFAULT_ROWS = 24,
};

#define MODES "\x1b[?2004h\x1b[?1004h"
/* Flag 1 disambiguates keys; flag 4 also reports the shifted and the Latin-layout key. */
#define KITTY_ON "\x1b[>5u"
#define KITTY_OFF "\x1b[<u"
#define KITTY_AGAIN "\x1b[=5;1u" /* without growing the terminal's stack of flags */
#define OTHER_KEYS_ON "\x1b[>4;1m"
#define SAVE_TITLE "\x1b[22;2t"
#define CURSOR_BLOCK "\x1b[2 q"
#define CURSOR_BAR "\x1b[6 q"
#define ALTERNATE_ON "\x1b[?1049h"
#define ALTERNATE_OFF "\x1b[?1049l"

typedef enum { KEYBOARD_PLAIN, KEYBOARD_KITTY, KEYBOARD_OTHER } keyboard_t;

static const int ending_signals[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};

struct ik_tty {
    ik_loop_t *loop;
    ik_tty_listener_t listener;
    ik_tty_found_t found;
    bool has_settings; /* found.settings is filled in */
    bool wanted;
    bool entered;
    bool broken; /* the terminal is gone */
    bool ending; /* a signal asked the program to end: do not stop any more */
    keyboard_t keyboard;
    bool alternate;
    ik_tty_cursor_t cursor;
    char *title;     /* NULL: the window keeps its own */
    int columns;     /* as last returned by ik_tty_size */
    int rows;        /* as columns */
    bool resizing;   /* the size may have changed; the timer runs */
    int settling_ms; /* after the last change */
    ik_buffer_t queue;
    size_t sent; /* bytes of the queue that are written */
    ik_watch_t *input;
    ik_watch_t *room; /* only while the terminal does not accept the queue */
    ik_timer_t *resize;
    ik_timer_t *background;
    ik_timer_t *failure; /* reports a failed write from the loop */
    ik_signal_watch_t *stop;
    ik_signal_watch_t *go_on;
};

static void unwatch(ik_tty_t *tty)
{
    talloc_free(tty->input);
    talloc_free(tty->room);
    tty->input = NULL;
    tty->room = NULL;
}

/* The listener may free the tty. */
static void lose(ik_tty_t *tty)
{
    tty->broken = true;
    tty->wanted = false;
    unwatch(tty);
    ik_buffer_reset(&tty->queue);
    tty->sent = 0;
    ik_timer_stop(tty->failure);
    ik_timer_stop(tty->background);
    tty->listener.on_gone(tty->listener.data);
}

static void on_failure(void *data)
{
    lose(data);
}

static bool is_foreground(const ik_tty_t *tty)
{
    pid_t group = tcgetpgrp(tty->found.in);
    return group < 0 || group == getpgrp(); /* without job control there is no background */
}

/* --- output -------------------------------------------------------------------------------- */

bool ik_tty_is_drained(const ik_tty_t *tty)
{
    return tty->queue.len == 0;
}

/* Records the modes that have to be undone. Called before a mode is switched on, and when all
 * output is written, because only then a mode that was switched off is off. */
static void remember_modes(const ik_tty_t *tty)
{
    ik_tty_restore_set_modes(tty->keyboard == KEYBOARD_KITTY, tty->alternate,
                             tty->cursor != IK_TTY_CURSOR_OWN);
}

/* Writes as much as the terminal accepts now. False when writing fails. */
static bool write_some(ik_tty_t *tty)
{
    while (tty->sent < tty->queue.len) {
        ssize_t put =
            write(tty->found.out, tty->queue.data + tty->sent, tty->queue.len - tty->sent);
        if (put < 0 && errno != EINTR) {
            return errno == EAGAIN;
        }
        tty->sent += put > 0 ? (size_t)put : 0;
    }
    ik_buffer_reset(&tty->queue);
    tty->sent = 0;
    remember_modes(tty);
    return true;
}

static void on_room(void *data);

static void watch_room(ik_tty_t *tty)
{
    tty->room =
        ik_watch_create_borrowed(tty, tty->loop, tty->found.out, IK_WATCH_WRITABLE, on_room, tty);
}

static void flush(ik_tty_t *tty)
{
    if (!tty->entered || tty->room != NULL) {
        return;
    }
    if (!write_some(tty)) {
        tty->broken = true;
        ik_timer_start(tty->failure, 0);
    } else if (!ik_tty_is_drained(tty)) {
        watch_room(tty);
    }
}

static void on_room(void *data)
{
    ik_tty_t *tty = data;
    if (!write_some(tty)) {
        lose(tty);
    } else if (ik_tty_is_drained(tty)) {
        talloc_free(tty->room);
        tty->room = NULL;
        tty->listener.on_drained(tty->listener.data);
    }
}

void ik_tty_write(ik_tty_t *tty, const char *bytes, size_t len)
{
    if (tty->broken) {
        return;
    }
    /* Usually the terminal accepts everything at once, and the queue is not needed. */
    bool direct = tty->entered && ik_tty_is_drained(tty);
    ssize_t written = direct ? write(tty->found.out, bytes, len) : -1;
    size_t put = written > 0 ? (size_t)written : 0;
    if (put == len) {
        remember_modes(tty);
    } else {
        ik_buffer_append(&tty->queue, bytes + put, len - put);
        flush(tty);
    }
}

static void write_text(ik_tty_t *tty, const char *text)
{
    ik_tty_write(tty, text, strlen(text));
}

/* Waits for the terminal to accept the queue. */
static void drain(ik_tty_t *tty, int patience_ms)
{
    struct pollfd room = {.fd = tty->found.out, .events = POLLOUT};
    int64_t until = ik_clock_now_ms() + patience_ms;
    bool ours = !tty->broken && is_foreground(tty);
    while (ours && write_some(tty) && !ik_tty_is_drained(tty)) {
        int64_t left = until - ik_clock_now_ms();
        if (left <= 0 || (poll(&room, 1, (int)left) < 0 && errno != EINTR)) {
            break;
        }
    }
    ik_buffer_reset(&tty->queue);
    tty->sent = 0;
}

/* --- input --------------------------------------------------------------------------------- */

static void go_to_background(ik_tty_t *tty);

static bool has_events(const ik_tty_t *tty, short events)
{
    struct pollfd input = {.fd = tty->found.in, .events = POLLIN};
    return poll(&input, 1, 0) > 0 && (input.revents & events) != 0;
}

/* An end of file alone may only mean that another program changed the settings. */
static bool has_hung_up(const ik_tty_t *tty)
{
    return has_events(tty, POLLHUP | POLLERR | POLLNVAL);
}

bool ik_tty_has_input(const ik_tty_t *tty)
{
    return has_events(tty, POLLIN);
}

static void on_input(void *data)
{
    ik_tty_t *tty = data;
    char bytes[READ_SIZE];
    if (!is_foreground(tty)) {
        go_to_background(tty);
        return;
    }
    ssize_t got = read(tty->found.in, bytes, sizeof(bytes));
    if (got > 0) {
        tty->listener.on_input(tty->listener.data, bytes, (size_t)got);
    } else if (got == 0 ? has_hung_up(tty) : errno != EAGAIN && errno != EINTR) {
        lose(tty);
    }
}

/* --- size ---------------------------------------------------------------------------------- */

static void ask_size(const ik_tty_t *tty, int *columns, int *rows)
{
    struct winsize size = {0};
    (void)ioctl(tty->found.out, TIOCGWINSZ, &size);
    *columns = size.ws_col > 0 ? size.ws_col : DEFAULT_COLUMNS;
    *rows = size.ws_row > 0 ? size.ws_row : DEFAULT_ROWS;
}

/* Some terminals, such as xterm, include a margin of a few pixels in the size of the window. */
bool ik_tty_cell_size(ik_tty_t *tty, int *width, int *height)
{
    enum { MARGIN_MAX = 8 };
    struct winsize size = {0};
    (void)ioctl(tty->found.out, TIOCGWINSZ, &size);
    bool known = size.ws_col > 0 && size.ws_row > 0 && size.ws_xpixel >= size.ws_col &&
                 size.ws_ypixel >= size.ws_row && size.ws_xpixel % size.ws_col <= MARGIN_MAX &&
                 size.ws_ypixel % size.ws_row <= MARGIN_MAX;
    *width = known ? size.ws_xpixel / size.ws_col : 0;
    *height = known ? size.ws_ypixel / size.ws_row : 0;
    return known;
}

static void on_resize_settled(void *data)
{
    ik_tty_t *tty = data;
    tty->resizing = false;
    if (tty->entered) {
        tty->listener.on_resize(tty->listener.data);
    }
}

static void begin_resizing(ik_tty_t *tty)
{
    tty->resizing = true;
    ik_timer_start(tty->resize, tty->settling_ms);
}

static void on_resize(void *data, int number)
{
    (void)number;
    begin_resizing(data);
}

bool ik_tty_is_settled(ik_tty_t *tty)
{
    int columns;
    int rows;
    ask_size(tty, &columns, &rows);
    if (tty->entered && !tty->resizing && (columns != tty->columns || rows != tty->rows)) {
        begin_resizing(tty);
    }
    return !tty->resizing;
}

void ik_tty_set_settling(ik_tty_t *tty, int settling_ms)
{
    tty->settling_ms = settling_ms;
}

void ik_tty_size(ik_tty_t *tty, int *columns, int *rows)
{
    ask_size(tty, &tty->columns, &tty->rows);
    *columns = tty->columns;
    *rows = tty->rows;
}

/* --- modes --------------------------------------------------------------------------------- */

static void switch_keyboard_on(ik_tty_t *tty)
{
    if (tty->keyboard != KEYBOARD_PLAIN) {
        write_text(tty, tty->keyboard == KEYBOARD_KITTY ? KITTY_ON : OTHER_KEYS_ON);
    }
}

/* Each screen has its own keyboard flags. */
static void switch_alternate(ik_tty_t *tty)
{
    bool kitty = tty->keyboard == KEYBOARD_KITTY;
    if (tty->alternate) {
        write_text(tty, kitty ? ALTERNATE_ON KITTY_ON : ALTERNATE_ON);
    } else {
        write_text(tty, kitty ? KITTY_OFF ALTERNATE_OFF : ALTERNATE_OFF);
    }
}

void ik_tty_use_keyboard(ik_tty_t *tty, bool kitty)
{
    if (tty->keyboard != KEYBOARD_PLAIN) {
        return;
    }
    tty->keyboard = kitty ? KEYBOARD_KITTY : KEYBOARD_OTHER;
    if (tty->entered) {
        remember_modes(tty);
        switch_keyboard_on(tty);
    }
}

void ik_tty_use_alternate(ik_tty_t *tty, bool alternate)
{
    if (tty->alternate == alternate) {
        return;
    }
    tty->alternate = alternate;
    if (tty->entered && alternate) {
        remember_modes(tty);
    }
    if (tty->entered) {
        switch_alternate(tty);
    }
}

static void show_cursor(ik_tty_t *tty)
{
    if (tty->cursor != IK_TTY_CURSOR_OWN) {
        write_text(tty, tty->cursor == IK_TTY_CURSOR_BLOCK ? CURSOR_BLOCK : CURSOR_BAR);
    }
}

void ik_tty_set_cursor(ik_tty_t *tty, ik_tty_cursor_t cursor)
{
    if (tty->cursor == cursor) {
        return;
    }
    tty->cursor = cursor;
    if (tty->entered) {
        remember_modes(tty);
        show_cursor(tty);
    }
}

/* --- entering and leaving ------------------------------------------------------------------ */

static void set_raw(const ik_tty_t *tty)
{
    struct termios raw = tty->found.settings;
    sigset_t stopping;
    sigset_t before;
    cfmakeraw(&raw);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    /* If we are in the background after all, SIGTTOU would stop us half-way. */
    sigemptyset(&stopping);
    sigaddset(&stopping, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &stopping, &before);
    tcsetattr(tty->found.in, TCSANOW, &raw);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void make_non_blocking(const ik_tty_t *tty)
{
    if (tty->found.in_flags != -1) {
        fcntl(tty->found.in, F_SETFL, tty->found.in_flags | O_NONBLOCK);
    }
    if (tty->found.out_flags != -1) {
        fcntl(tty->found.out, F_SETFL, tty->found.out_flags | O_NONBLOCK);
    }
}

/* Saves the window's title once: after a stop from outside the title is already our own. */
static void show_title(ik_tty_t *tty)
{
    if (tty->title == NULL) {
        return;
    }
    if (ik_tty_restore_owe_title()) {
        write_text(tty, SAVE_TITLE);
    }
    write_text(tty, "\x1b]2;");
    write_text(tty, tty->title);
    write_text(tty, "\x07");
}

void ik_tty_set_title(ik_tty_t *tty, const char *title)
{
    talloc_free(tty->title);
    tty->title = ik_strdup(tty, title);
    show_title(tty);
}

static void prepare(ik_tty_t *tty)
{
    ik_tty_restore_arm(&tty->found);
    remember_modes(tty);
    make_non_blocking(tty);
    set_raw(tty);
    write_text(tty, MODES);
    show_title(tty);
    show_cursor(tty);
}

static void enter(ik_tty_t *tty)
{
    if (!tty->has_settings) {
        tty->has_settings = tcgetattr(tty->found.in, &tty->found.settings) == 0;
    }
    tty->entered = true;
    if (!ik_tty_is_drained(tty)) {
        watch_room(tty); /* the listener expects on_drained */
    }
    prepare(tty);
    tty->input =
        ik_watch_create_borrowed(tty, tty->loop, tty->found.in, IK_WATCH_READABLE, on_input, tty);
    switch_keyboard_on(tty);
    if (tty->alternate) {
        switch_alternate(tty);
    }
}

void ik_tty_enter(ik_tty_t *tty)
{
    if (tty->wanted || tty->broken) {
        return;
    }
    tty->wanted = true;
    if (is_foreground(tty)) {
        enter(tty);
    } else {
        ik_timer_start(tty->background, BACKGROUND_MS);
    }
}

static void leave(ik_tty_t *tty, int patience_ms)
{
    if (tty->entered) {
        drain(tty, patience_ms);
        unwatch(tty);
        ik_tty_restore_run();
        tty->entered = false;
    }
}

void ik_tty_leave(ik_tty_t *tty, int patience_ms)
{
    tty->wanted = false;
    ik_timer_stop(tty->background);
    leave(tty, patience_ms);
}

/* --- stopping and continuing --------------------------------------------------------------- */

static volatile sig_atomic_t continued;

static void note_continued(int number)
{
    (void)number;
    continued = 1;
}

static void watch_stopping(ik_tty_t *tty);

/* Stops the process group and returns when it continues. False when it cannot be stopped because no
 * shell is there to continue it. */
static bool stop_group(ik_tty_t *tty)
{
    struct sigaction action = {.sa_handler = note_continued};
    talloc_free(tty->stop);
    talloc_free(tty->go_on);
    continued = 0;
    sigaction(SIGCONT, &action, NULL);
    kill(0, SIGTSTP);
    signal(SIGCONT, SIG_DFL);
    watch_stopping(tty);
    return continued != 0;
}

/* Reads the settings again: another program may have changed them on purpose meanwhile. */
static void come_back(ik_tty_t *tty)
{
    if (!is_foreground(tty)) {
        ik_timer_start(tty->background, BACKGROUND_MS);
        return;
    }
    tty->has_settings = false;
    enter(tty);
    tty->listener.on_continued(tty->listener.data);
}

static void on_background(void *data)
{
    ik_tty_t *tty = data;
    if (tty->ending) {
        return;
    }
    if (is_foreground(tty) || stop_group(tty)) {
        come_back(tty);
    } else {
        lose(tty);
    }
}

/* Another program has the terminal now and has set it up for itself, so nothing is restored. */
static void go_to_background(ik_tty_t *tty)
{
    unwatch(tty);
    ik_tty_restore_disarm();
    tty->entered = false;
    ik_timer_start(tty->background, BACKGROUND_MS);
}

void ik_tty_suspend(ik_tty_t *tty)
{
    bool entered = tty->entered;
    if (tty->ending || ik_signal_watch_is_ignored(SIGTSTP)) {
        return;
    }
    leave(tty, FAREWELL_MS);
    if (entered) {
        ik_tty_restore_disarm(); /* the shell may change the settings on purpose */
    }
    stop_group(tty);
    if (entered) {
        come_back(tty);
    }
}

static void on_stop(void *data, int number)
{
    ik_tty_t *tty = data;
    (void)number;
    tty->listener.on_stop(tty->listener.data);
}

/* The program was stopped by SIGSTOP, and the shell has had the terminal meanwhile. */
static void on_continue(void *data, int number)
{
    ik_tty_t *tty = data;
    (void)number;
    if (!tty->entered) {
        return;
    }
    if (!is_foreground(tty)) {
        go_to_background(tty);
        return;
    }
    prepare(tty);
    if (tty->keyboard == KEYBOARD_KITTY) {
        write_text(tty, KITTY_AGAIN);
    } else {
        switch_keyboard_on(tty);
    }
    tty->listener.on_continued(tty->listener.data);
}

static void watch_stopping(ik_tty_t *tty)
{
    tty->stop = ik_signal_watch_create(tty, tty->loop, SIGTSTP, on_stop, tty);
    tty->go_on = ik_signal_watch_create(tty, tty->loop, SIGCONT, on_continue, tty);
}

static void on_ending(void *data, int number)
{
    ik_tty_t *tty = data;
    tty->ending = true;
    tty->listener.on_signal(tty->listener.data, number);
}

/* --- creating and freeing ------------------------------------------------------------------ */

static int close_tty(ik_tty_t *tty)
{
    ik_tty_leave(tty, FAREWELL_MS);
    ik_tty_restore_run();
    ik_tty_restore_uninstall();
    ik_tty_restore_disarm();
    if (tty->found.in_flags == -1) {
        close(tty->found.in);
    }
    if (tty->found.out_flags == -1) {
        close(tty->found.out);
    }
    return 0;
}

/* A terminal of another mount namespace may have the name of one in ours, so the devices are
 * compared. */
static int open_name(const char *name, int fd)
{
    unsigned int device;
    unsigned int opened_device;
    int opened = open(name, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (opened >= 0 && (ioctl(fd, TIOCGDEV, &device) != 0 ||
                        ioctl(opened, TIOCGDEV, &opened_device) != 0 || device != opened_device)) {
        close(opened);
        return -1;
    }
    return opened;
}

int ik_tty_open_own(int fd, int *flags)
{
    char name[PATH_MAX] = "";
    int own = ttyname_r(fd, name, sizeof(name)) == 0 ? open_name(name, fd) : -1;
    own = own >= 0 ? own : open_name("/dev/tty", fd);
    *flags = own >= 0 ? -1 : fcntl(fd, F_GETFL);
    return own >= 0 ? own : fd;
}

res_t ik_tty_create(const void *ctx, ik_loop_t *loop, const ik_tty_listener_t *listener,
                    ik_tty_t **out)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        return ERR(INVALID, "Standard input and output are not a terminal");
    }
    ik_tty_t *tty = ik_new(ctx, ik_tty_t);
    tty->loop = loop;
    tty->listener = *listener;
    tty->settling_ms = SETTLING_MS;
    tty->found.in = ik_tty_open_own(STDIN_FILENO, &tty->found.in_flags);
    tty->found.out = ik_tty_open_own(STDOUT_FILENO, &tty->found.out_flags);
    ik_buffer_init(&tty->queue, tty, IK_BUFFER_UNLIMITED); /* callers wait for on_drained */
    tty->resize = ik_timer_create(tty, loop, on_resize_settled, tty);
    tty->background = ik_timer_create(tty, loop, on_background, tty);
    tty->failure = ik_timer_create(tty, loop, on_failure, tty);
    ik_tty_restore_install();
    for (size_t i = 0; i < IK_LENGTH(ending_signals); i++) {
        ik_signal_watch_create(tty, loop, ending_signals[i], on_ending, tty);
    }
    ik_signal_watch_create(tty, loop, SIGWINCH, on_resize, tty);
    watch_stopping(tty);
    talloc_set_destructor(tty, close_tty);
    *out = tty;
    return OK;
}
