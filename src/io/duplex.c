#include "io/duplex.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"

enum { READ_MAX = 65536 };

struct ik_duplex {
    ik_duplex_options_t options;
    ik_watch_t *readable; /* NULL: in is a file or /dev/null, which is always ready */
    ik_timer_t *next;     /* reads the next part of a file, or reports the end */
    bool ended;           /* on_end was called, or is due */
    int out;
    bool is_socket;
    bool is_own; /* out is a description of its own, which does not block */
    ik_buffer_t unsent;
    size_t sent; /* bytes of unsent that are written */
    ik_timer_t *send;
    ik_watch_t *writable; /* NULL: not waiting */
    res_t failure;        /* of the output */
};

/* --- reading ----------------------------------------------------------------------------- */

static void end(ik_duplex_t *duplex)
{
    if (!duplex->ended) {
        duplex->ended = true;
        TALLOC_FREE(duplex->readable);
        ik_timer_start(duplex->next, 0);
    }
}

static void on_readable(void *data)
{
    ik_duplex_t *duplex = data;
    char bytes[READ_MAX];
    ssize_t got = read(duplex->options.in, bytes, sizeof(bytes));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (got <= 0) {
        end(duplex);
        return;
    }
    if (duplex->readable == NULL) {
        ik_timer_start(duplex->next, 0);
    }
    duplex->options.on_bytes(duplex->options.data, bytes, (size_t)got);
}

static void on_next(void *data)
{
    ik_duplex_t *duplex = data;
    if (duplex->ended) {
        duplex->options.on_end(duplex->options.data);
    } else {
        on_readable(duplex);
    }
}

/* --- writing ----------------------------------------------------------------------------- */

static void drop_unsent(ik_duplex_t *duplex)
{
    ik_buffer_reset(&duplex->unsent);
    duplex->sent = 0;
    TALLOC_FREE(duplex->writable);
}

static void on_writable(void *data)
{
    ik_duplex_t *duplex = data;
    while (duplex->sent < duplex->unsent.len) {
        const char *bytes = duplex->unsent.data + duplex->sent;
        size_t len = duplex->unsent.len - duplex->sent;
        ssize_t taken = duplex->is_socket
                            ? send(duplex->out, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL)
                            : write(duplex->out, bytes, len);
        if (taken < 0 && errno == EINTR) {
            continue;
        }
        if (taken < 0 && errno == EAGAIN) {
            if (duplex->writable == NULL) {
                duplex->writable =
                    ik_watch_create_borrowed(duplex, duplex->options.loop, duplex->out,
                                             IK_WATCH_WRITABLE, on_writable, duplex);
            }
            return;
        }
        if (taken < 0) { /* the reader is gone, or the disk is full */
            if (!duplex->ended || (errno != EPIPE && errno != ECONNRESET)) {
                duplex->failure = ERR(SYSTEM, "%s", strerror(errno));
            }
            drop_unsent(duplex);
            end(duplex);
            return;
        }
        duplex->sent += (size_t)taken;
    }
    drop_unsent(duplex);
}

void ik_duplex_write(ik_duplex_t *duplex, const char *bytes, size_t len)
{
    if (duplex->unsent.len - duplex->sent + len > duplex->options.max_unsent) {
        duplex->failure = ERR(LIMIT, "it is not read");
        drop_unsent(duplex);
        end(duplex);
        return;
    }
    if (duplex->sent > READ_MAX && duplex->sent > duplex->unsent.len / 2) {
        memmove(duplex->unsent.data, duplex->unsent.data + duplex->sent,
                duplex->unsent.len - duplex->sent);
        duplex->unsent.len -= duplex->sent;
        duplex->sent = 0;
    }
    ik_buffer_append(&duplex->unsent, bytes, len);
    if (duplex->writable == NULL) {
        ik_timer_start(duplex->send, 0);
    }
}

void ik_duplex_flush(ik_duplex_t *duplex, int patience_ms)
{
    int64_t until = ik_clock_now_ms() + patience_ms;
    int64_t left = patience_ms;
    on_writable(duplex);
    while (duplex->unsent.len > 0 && left > 0) {
        struct pollfd ready = {.fd = duplex->out, .events = POLLOUT};
        poll(&ready, 1, (int)left);
        on_writable(duplex);
        left = until - ik_clock_now_ms();
    }
}

res_t ik_duplex_failure(const ik_duplex_t *duplex)
{
    return duplex->failure;
}

/* --- creating ---------------------------------------------------------------------------- */

static int close_duplex(ik_duplex_t *duplex)
{
    TALLOC_FREE(duplex->writable);
    if (duplex->is_own) {
        close(duplex->out);
    }
    return 0;
}

/* Other programs may share a pipe: a description of its own can be made non-blocking without them
 * noticing. Files and terminals are written as they are. */
static void open_output(ik_duplex_t *duplex)
{
    struct stat status;
    char path[40];
    duplex->out = duplex->options.out;
    if (fstat(duplex->out, &status) < 0) {
        return;
    }
    duplex->is_socket = S_ISSOCK(status.st_mode);
    if (S_ISFIFO(status.st_mode)) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", duplex->out);
        int own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        duplex->is_own = own >= 0;
        duplex->out = own >= 0 ? own : duplex->out;
    }
}

ik_duplex_t *ik_duplex_create(const void *ctx, const ik_duplex_options_t *options)
{
    ik_duplex_t *duplex = ik_new(ctx, ik_duplex_t);
    struct stat status;
    duplex->options = *options;
    open_output(duplex);
    ik_buffer_init(&duplex->unsent, duplex, IK_BUFFER_UNLIMITED); /* max_unsent is checked */
    duplex->next = ik_timer_create(duplex, options->loop, on_next, duplex);
    duplex->send = ik_timer_create(duplex, options->loop, on_writable, duplex);
    bool watched = fstat(options->in, &status) == 0 &&
                   (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || isatty(options->in));
    if (!watched) {
        ik_timer_start(duplex->next, 0);
    } else {
        duplex->readable = ik_watch_create_borrowed(duplex, options->loop, options->in,
                                                    IK_WATCH_READABLE, on_readable, duplex);
    }
    talloc_set_destructor(duplex, close_duplex);
    return duplex;
}
