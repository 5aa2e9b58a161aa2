#include "tools/bash/progress_line.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/utf8.h"

enum {
    INTERVAL_MS = 50,
    HEARTBEAT_MS = 500,
    LINE_MAX_BYTES = 4096, /* PIPE_BUF: such a write is atomic */
};

static int listener(void)
{
    const char *text = getenv("IKIGAI_PROGRESS_FD");
    if (text == NULL) {
        return -1;
    }
    char *end;
    long number = strtol(text, &end, 10);
    bool usable = end != text && *end == '\0' && number > STDERR_FILENO && number <= INT_MAX;
    unsetenv("IKIGAI_PROGRESS_FD");
    int fd = usable ? (int)number : -1;
    int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        return -1;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

void ik_progress_line_init(ik_progress_line_t *progress, bool heartbeat, int64_t now)
{
    *progress = (ik_progress_line_t){.fd = listener(), .heartbeat = heartbeat, .last = now};
    progress->last -= INTERVAL_MS; /* the first output goes out at once */
}

void ik_progress_line_add(ik_progress_line_t *progress, const char *bytes, size_t len)
{
    size_t size = sizeof(progress->pending);
    if (progress->fd < 0) {
        return;
    }
    if (len >= size) {
        memcpy(progress->pending, bytes + len - size, size);
        progress->len = size;
        return;
    }
    if (progress->len + len > size) {
        size_t excess = progress->len + len - size;
        memmove(progress->pending, progress->pending + excess, progress->len - excess);
        progress->len -= excess;
    }
    memcpy(progress->pending + progress->len, bytes, len);
    progress->len += len;
}

/* The number of bytes of an incomplete UTF-8 character at the end. */
static size_t unfinished(const char *bytes, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        unsigned char byte = (unsigned char)bytes[len - back];
        if (byte >= 0xc0) {
            size_t whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
            return whole > back ? back : 0;
        }
        if (byte < 0x80) {
            return 0;
        }
    }
    return 0;
}

/* Sends the newest part that fits into a line; escaping may make it six times as long. */
static void send_text(ik_progress_line_t *progress, const char *text, size_t len)
{
    ik_buffer_t line;
    ik_buffer_init(&line, NULL, IK_BUFFER_UNLIMITED); /* sizeof(pending), escaped */
    size_t from = ik_utf8_cut_front(text, len, LINE_MAX_BYTES - strlen("{\"text\":\"\"}\n"));
    for (;;) {
        line.len = 0;
        ik_buffer_append_text(&line, "{\"text\":");
        ik_json_append_string(&line, text + from, len - from);
        ik_buffer_append_text(&line, "}\n");
        if (line.len <= LINE_MAX_BYTES) {
            break;
        }
        from += ik_utf8_cut_front(text + from, len - from, (len - from) / 4 * 3);
    }
    ssize_t wrote = write(progress->fd, line.data, line.len);
    if (wrote < 0 && errno != EAGAIN && errno != EINTR) {
        close(progress->fd); /* the reader is gone */
        progress->fd = -1;
    }
    ik_buffer_reset(&line);
}

static void send_pending(ik_progress_line_t *progress, size_t keep)
{
    size_t sent = progress->len - keep;
    send_text(progress, progress->pending, sent);
    memmove(progress->pending, progress->pending + sent, keep);
    progress->len = keep;
}

int64_t ik_progress_line_due(const ik_progress_line_t *progress)
{
    if (progress->fd < 0) {
        return IK_PROGRESS_LINE_NEVER;
    }
    if (progress->len > unfinished(progress->pending, progress->len)) {
        return progress->last + INTERVAL_MS;
    }
    return progress->heartbeat ? progress->last + HEARTBEAT_MS : IK_PROGRESS_LINE_NEVER;
}

void ik_progress_line_tick(ik_progress_line_t *progress, int64_t now)
{
    if (now < ik_progress_line_due(progress)) {
        return;
    }
    send_pending(progress, unfinished(progress->pending, progress->len));
    progress->last = now;
}

void ik_progress_line_finish(ik_progress_line_t *progress)
{
    if (progress->fd >= 0 && progress->len > 0) {
        send_pending(progress, 0);
    }
    if (progress->fd >= 0) {
        close(progress->fd);
        progress->fd = -1;
    }
}
