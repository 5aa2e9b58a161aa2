#include "base/host_client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/host_protocol.h"
#include "base/json.h"
#include "base/utf8.h"

enum {
    READ_SIZE = 65536,
    PROGRESS_MAX = 600, /* bytes of text: the line fits into a pipe at once, however escaped */
};

/* For the signal handler: the line that cancels the open request. */
static char cancel_line[128];
static volatile sig_atomic_t cancel_fd = -1;

void ik_host_client_cancel(void)
{
    if (cancel_fd >= 0) {
        send(cancel_fd, cancel_line, strlen(cancel_line), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

static res_t find_channel(int *fd)
{
    const char *text = getenv("IKIGAI_HOST_FD");
    char *end = NULL;
    int type = 0;
    socklen_t type_len = sizeof(type);
    errno = 0;
    long number = text == NULL ? -1 : strtol(text, &end, 10);
    if (text == NULL || end == text || *end != '\0' || errno != 0 || number < 0 ||
        number > INT32_MAX || getsockopt((int)number, SOL_SOCKET, SO_TYPE, &type, &type_len) < 0 ||
        type != SOCK_STREAM) {
        return ERR(
            NOT_FOUND,
            "There is no host channel: ikigai gives one to tools that declare \"host\", in a "
            "session and not in ikigai tool run");
    }
    *fd = (int)number;
    return OK;
}

void ik_host_client_drop(void)
{
    int fd;
    res_t found = find_channel(&fd);
    if (is_ok(&found)) {
        close(fd);
    }
    unsetenv("IKIGAI_HOST_FD");
    unsetenv("IKIGAI_BIN");
}

static res_t send_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t put = send(fd, bytes, len, MSG_NOSIGNAL);
        if (put < 0 && errno != EINTR) {
            return ERR(SYSTEM, "The host channel is closed: %s", strerror(errno));
        }
        bytes += put > 0 ? put : 0;
        len -= put > 0 ? (size_t)put : 0;
    }
    return OK;
}

/* Each text is a line of its own on the screen. A line that the pipe does not take at once is left
 * out. */
static void tell_progress(ik_json_span_t string)
{
    const char *fd = getenv("IKIGAI_PROGRESS_FD");
    if (fd == NULL) {
        return;
    }
    size_t len;
    char *text = ik_json_decode(NULL, string, &len);
    ik_buffer_t line;
    ik_buffer_init(&line, text, IK_BUFFER_UNLIMITED); /* bounded by PROGRESS_MAX */
    ik_json_begin_member(&line, "text");
    bool ended = len > 0 && len <= PROGRESS_MAX && text[len - 1] == '\n';
    ik_json_append_string(&line, text, ik_utf8_cut(text, len, PROGRESS_MAX));
    line.len -= ended ? 0 : 1; /* the quote */
    ik_buffer_append_text(&line, ended ? "}\n" : "\\n\"}\n");
    struct pollfd pipe = {.fd = atoi(fd), .events = POLLOUT};
    if (poll(&pipe, 1, 0) == 1 && pipe.revents == POLLOUT) {
        ssize_t put = write(pipe.fd, line.data, line.len);
        (void)put;
    }
    talloc_free(text);
}

/* True: the line is the answer. Lines for other requests are ignored: a program that was killed may
 * have left one open. */
static bool take_line(const void *ctx, const char *line, size_t len, const char *id,
                      ik_host_answer_t *answer)
{
    ik_json_span_t object;
    ik_json_span_t value;
    ik_json_span_t text;
    if (!ik_json_scan(line, len, &object, NULL) ||
        !ik_json_find_kind(object, "id", IK_JSON_STRING, &value) || !ik_json_key_is(value, id)) {
        return false;
    }
    if (ik_json_find_kind(object, "progress", IK_JSON_OBJECT, &value)) {
        if (ik_json_find_kind(value, "text", IK_JSON_STRING, &text)) {
            tell_progress(text);
        }
        return false;
    }
    if (ik_json_find_kind(object, "result", IK_JSON_OBJECT, &value)) {
        answer->result = ik_strndup(ctx, value.text, value.len);
        answer->result_len = value.len;
        return true;
    }
    bool coded = ik_json_find_kind(object, "error_code", IK_JSON_STRING, &value);
    answer->code = coded ? ik_json_decode(ctx, value, NULL) : ik_strdup(ctx, "INVALID_ANSWER");
    bool told = ik_json_find_kind(object, "error", IK_JSON_STRING, &value);
    answer->error = told ? ik_json_decode(ctx, value, NULL) : ik_strdup(ctx, "");
    return true;
}

static res_t read_answer(const void *ctx, int fd, const char *id, ik_host_answer_t *answer)
{
    ik_buffer_t in;
    ik_buffer_init(&in, ctx, 2 * (size_t)IK_HOST_LINE_MAX);
    for (;;) {
        size_t room = ik_buffer_reserve(&in, READ_SIZE);
        ssize_t got = room == 0 ? 0 : recv(fd, in.data + in.len, room, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            ik_buffer_reset(&in);
            return ERR(SYSTEM, "The host channel was closed before the answer came");
        }
        in.len += (size_t)got;
        const char *newline;
        size_t at = 0;
        while ((newline = memchr(in.data + at, '\n', in.len - at)) != NULL) {
            size_t len = (size_t)(newline - in.data) - at;
            if (take_line(ctx, in.data + at, len, id, answer)) {
                ik_buffer_reset(&in);
                return OK;
            }
            at += len + 1;
        }
        in.len -= at;
        memmove(in.data, in.data + at, in.len);
    }
}

res_t ik_host_client_run(const void *ctx, json_t *request, ik_host_answer_t *answer)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = -1;
    char id[64];
    *answer = (ik_host_answer_t){0};
    TRY(find_channel(&fd));
    snprintf(id, sizeof(id), "%d-%" PRId64, (int)getpid(), ik_clock_now_ms());
    snprintf(cancel_line, sizeof(cancel_line), "{\"op\":\"cancel\",\"id\":\"%s\"}\n", id);
    json_object_set_new(request, "id", json_string(id));
    char *line = ik_json_format(ctx, request);
    size_t len = strlen(line);
    if (len > IK_HOST_LINE_MAX) {
        answer->code = ik_strdup(ctx, IK_HOST_TOO_LARGE);
        answer->error = ik_strdup(ctx, "The request is longer than 1 MiB");
        return OK;
    }
    line[len] = '\n'; /* the NUL is not sent */
    while (fcntl(fd, F_SETLKW, &lock) < 0 && errno == EINTR) {
    }
    /* A program that was killed may have left half a line; an empty one is ignored. */
    res_t done = send_all(fd, "\n", 1);
    done = is_err(&done) ? done : send_all(fd, line, len + 1);
    talloc_free(line);
    if (is_ok(&done)) {
        cancel_fd = fd;
        done = read_answer(ctx, fd, id, answer);
        cancel_fd = -1;
    }
    lock.l_type = F_UNLCK;
    fcntl(fd, F_SETLK, &lock);
    return done;
}
