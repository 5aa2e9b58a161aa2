#include "terminal/plain.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "io/interrupt.h"
#include "io/signal_watch.h"
#include "io/tty.h"

enum { DEFAULT_COLUMNS = 80, LINE_MAX_BYTES = 16 * 1024 * 1024 };

struct ik_plain {
    ik_watch_t *input; /* NULL: end of input */
    int flags;         /* of standard input before it was watched; -1: another one is watched */
    ik_interrupt_t *interrupt;
    ik_buffer_t line; /* the incomplete line */
    ik_plain_line_fn on_line;
    ik_plain_signal_fn on_signal;
    void *data;
    bool hidden;            /* the terminal's echo is off */
    struct termios visible; /* its settings before */
    ik_loop_t *loop;
    ik_signal_watch_t *stop; /* only while hidden, like go_on */
    ik_signal_watch_t *go_on;
};

static void on_interrupt(void *data, int signal)
{
    ik_plain_t *plain = data;
    plain->on_signal(plain->data, signal);
}

static void give_line(ik_plain_t *plain)
{
    char *line = ik_buffer_finish(&plain->line);
    if (plain->hidden) {
        ik_plain_write(plain, "\n", 1); /* the terminal did not echo the newline */
    }
    plain->on_line(plain->data, line);
    explicit_bzero(line, strlen(line)); /* it may be a secret */
    talloc_free(line);
}

static void end_line(ik_plain_t *plain)
{
    ik_buffer_t *text = &plain->line;
    if (text->len > 0 && text->data[text->len - 1] == '\\') { /* the line continues */
        text->data[text->len - 1] = '\n';
    } else {
        give_line(plain);
    }
}

/* Adds a part of a line without its NUL bytes (Ctrl-@), which would end the text. */
static void add_part(ik_buffer_t *line, const char *bytes, size_t len)
{
    const char *end = bytes + len;
    while (true) {
        size_t part = strnlen(bytes, (size_t)(end - bytes));
        ik_buffer_append(line, bytes, part);
        if (bytes + part == end) {
            return;
        }
        bytes += part + 1;
    }
}

static void take(ik_plain_t *plain, const char *bytes, size_t len)
{
    while (len > 0) {
        const char *newline = memchr(bytes, '\n', len);
        size_t part = newline == NULL ? len : (size_t)(newline - bytes);
        add_part(&plain->line, bytes, part);
        if (newline == NULL) {
            return;
        }
        end_line(plain);
        bytes += part + 1;
        len -= part + 1;
    }
}

static void on_readable(void *data)
{
    ik_plain_t *plain = data;
    char bytes[4096];
    ssize_t got = read(ik_watch_fd(plain->input), bytes, sizeof(bytes));
    if (got > 0) {
        take(plain, bytes, (size_t)got);
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
        TALLOC_FREE(plain->input);
        if (plain->line.len > 0) { /* also if it was to be continued */
            give_line(plain);
        }
        plain->on_line(plain->data, NULL);
    }
}

/* --- hidden input ------------------------------------------------------------------------ */

/* Switches the echo off, unless another program has the terminal. */
static void cover(const ik_plain_t *plain)
{
    struct termios settings;
    if (plain->hidden && tcgetpgrp(STDIN_FILENO) == getpgrp() &&
        tcgetattr(STDIN_FILENO, &settings) == 0) {
        settings.c_lflag &= ~(tcflag_t)ECHO;
        tcsetattr(STDIN_FILENO, TCSANOW, &settings);
    }
}

static void on_continue(void *data, int signal)
{
    (void)signal;
    cover(data);
}

static void on_stop(void *data, int signal)
{
    ik_plain_t *plain = data;
    tcsetattr(STDIN_FILENO, TCSANOW, &plain->visible); /* the shell needs the echo */
    TALLOC_FREE(plain->stop);
    kill(getpid(), signal); /* returns when we continue */
    plain->stop = ik_signal_watch_create(plain, plain->loop, SIGTSTP, on_stop, plain);
    cover(plain);
}

void ik_plain_hide_input(ik_plain_t *plain, bool hide)
{
    struct termios settings;
    if (hide && !plain->hidden && tcgetattr(STDIN_FILENO, &plain->visible) == 0) {
        settings = plain->visible;
        settings.c_lflag &= ~(tcflag_t)ECHO;
        plain->hidden = tcsetattr(STDIN_FILENO, TCSADRAIN, &settings) == 0;
        if (plain->hidden) {
            plain->stop = ik_signal_watch_create(plain, plain->loop, SIGTSTP, on_stop, plain);
            plain->go_on = ik_signal_watch_create(plain, plain->loop, SIGCONT, on_continue, plain);
        }
    } else if (!hide && plain->hidden) {
        plain->hidden = false;
        TALLOC_FREE(plain->stop);
        TALLOC_FREE(plain->go_on);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &plain->visible);
    }
}

/* --- creating ---------------------------------------------------------------------------- */

static int restore_input(ik_plain_t *plain)
{
    ik_plain_hide_input(plain, false);
    if (plain->flags != -1) {
        fcntl(STDIN_FILENO, F_SETFL, plain->flags);
    }
    return 0;
}

/* A watch makes its descriptor non-blocking. What shares standard input with us, such as the shell
 * and its other programs, does not expect that of the terminal. */
static void watch_input(ik_plain_t *plain, ik_loop_t *loop)
{
    int fd = ik_tty_open_own(STDIN_FILENO, &plain->flags);
    fd = plain->flags == -1 ? fd : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    plain->input = ik_watch_create(plain, loop, fd, on_readable, plain);
}

ik_plain_t *ik_plain_create(const void *ctx, ik_loop_t *loop, ik_plain_line_fn on_line,
                            ik_plain_signal_fn on_signal, void *data)
{
    ik_plain_t *plain = ik_new(ctx, ik_plain_t);
    ik_buffer_init(&plain->line, plain, LINE_MAX_BYTES);
    plain->on_line = on_line;
    plain->on_signal = on_signal;
    plain->data = data;
    plain->loop = loop;
    watch_input(plain, loop);
    plain->interrupt = ik_interrupt_create(plain, loop, on_interrupt, plain);
    talloc_set_destructor(plain, restore_input);
    return plain;
}

int ik_plain_columns(const ik_plain_t *plain)
{
    struct winsize size;
    (void)plain;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                           : DEFAULT_COLUMNS;
}

void ik_plain_write(ik_plain_t *plain, const char *bytes, size_t len)
{
    (void)plain;
    while (len > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, len);
        if (written < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, -1);
        } else if (written < 0 && errno != EINTR) {
            return; /* the reader is gone; the conversation is in the store */
        } else if (written > 0) {
            bytes += written;
            len -= (size_t)written;
        }
    }
}

void ik_plain_prompt(ik_plain_t *plain, const char *prompt)
{
    ik_plain_write(plain, prompt, strlen(prompt));
}
