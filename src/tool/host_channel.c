#include "tool/host_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "base/utf8.h"

enum {
    READ_SIZE = 65536,
    READS_PER_EVENT = 16,        /* so that one tool cannot starve the loop */
    OUT_FULL = IK_HOST_LINE_MAX, /* bytes the tool has not read: no more requests are read */
    PROGRESS_MAX = 4096,         /* bytes of text */
    ID_MAX = 256,                /* bytes of an id, as written */
};

typedef struct open_request {
    ik_host_request_t request; /* first: the ops know only this part */
    char *line;
    ik_json_span_t id;
    struct open_request *next;
} open_request_t;

struct ik_host_channel {
    ik_host_channel_options_t options;
    int fd;
    int write_fd;       /* a duplicate, because a descriptor can have only one watch */
    ik_watch_t *reader; /* NULL: reading is paused, or at its end */
    ik_watch_t *writer; /* NULL: nothing waits to be written */
    bool ended;         /* no more requests will come */
    bool broken;        /* the tool does not take answers any more */
    ik_timer_t *gone;   /* hangs up */
    bool taking;        /* lines are being taken */
    ik_buffer_t in;     /* what is not taken yet */
    size_t scanned;     /* bytes of in that are known to have no newline */
    bool skipping;      /* the rest of a line that is too long */
    ik_buffer_t out;    /* what the tool has not read yet */
    open_request_t *open;
    size_t open_count;
};

/* --- writing ------------------------------------------------------------------------------ */

static bool is_full(const ik_host_channel_t *channel)
{
    return channel->out.len >= OUT_FULL;
}

static void take_lines(ik_host_channel_t *channel);
static void resume_reading(ik_host_channel_t *channel);

/* A tool that has ended its requests gets the end of the answers, too. */
static void end_answers(const ik_host_channel_t *channel)
{
    if (channel->ended && !channel->broken && channel->open_count == 0 && channel->in.len == 0 &&
        channel->out.len == 0) {
        shutdown(channel->fd, SHUT_WR);
    }
}

/* Frees a request, which is answered or cannot be. */
static void drop_request(open_request_t *request)
{
    ik_host_channel_t *channel = request->request.channel;
    open_request_t **link = &channel->open;
    while (*link != request) {
        link = &(*link)->next;
    }
    *link = request->next;
    channel->open_count--;
    talloc_free(request);
    if (channel->open_count == 0) {
        channel->options.on_open(channel->options.data, false);
    }
    end_answers(channel);
}

/* The tool has closed its end: nothing can be answered any more. */
static void hang_up(ik_host_channel_t *channel)
{
    TALLOC_FREE(channel->reader);
    TALLOC_FREE(channel->writer);
    channel->ended = channel->broken = true;
    ik_buffer_reset(&channel->in);
    ik_buffer_reset(&channel->out);
    while (channel->open != NULL) {
        drop_request(channel->open);
    }
}

static void on_gone(void *data)
{
    hang_up(data);
}

static void write_out(ik_host_channel_t *channel)
{
    size_t done = 0;
    while (done < channel->out.len && !channel->broken) {
        ssize_t put = send(channel->fd, channel->out.data + done, channel->out.len - done,
                           MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put < 0 && errno == EAGAIN) {
            break;
        }
        channel->broken = put < 0 && errno != EINTR;
        done += put > 0 ? (size_t)put : 0;
    }
    if (done == channel->out.len || channel->broken) {
        ik_buffer_reset(&channel->out);
    } else if (done > 0) {
        channel->out.len -= done;
        memmove(channel->out.data, channel->out.data + done, channel->out.len);
    }
}

static void on_writable(void *data)
{
    ik_host_channel_t *channel = data;
    write_out(channel);
    if (channel->broken) {
        hang_up(channel);
        return;
    }
    if (channel->out.len == 0) {
        TALLOC_FREE(channel->writer);
    }
    if (!is_full(channel)) {
        resume_reading(channel);
    }
    end_answers(channel);
}

/* Frees line. */
static void send_line(ik_host_channel_t *channel, ik_buffer_t *line)
{
    ik_buffer_append_byte(line, '\n');
    if (!channel->broken) {
        ik_buffer_append(&channel->out, line->data, line->len);
        write_out(channel);
    }
    ik_buffer_reset(line);
    if (channel->broken && !channel->taking) {
        ik_timer_start(channel->gone, 0); /* an op is about to free its request */
    } else if (channel->out.len > 0 && channel->writer == NULL) {
        channel->writer =
            ik_watch_create_borrowed(channel, channel->options.loop, channel->write_fd,
                                     IK_WATCH_WRITABLE, on_writable, channel);
    }
}

/* id may be empty: it is not known. */
static ik_buffer_t begin_line(const ik_host_channel_t *channel, ik_json_span_t id)
{
    ik_buffer_t line;
    ik_buffer_init(&line, channel, IK_BUFFER_UNLIMITED); /* bounded by each caller */
    ik_json_begin_member(&line, "id");
    ik_buffer_append(&line, id.len == 0 ? "null" : id.text, id.len == 0 ? 4 : id.len);
    return line;
}

static void refuse(ik_host_channel_t *channel, ik_json_span_t id, const char *code,
                   const char *text)
{
    ik_buffer_t line = begin_line(channel, id);
    ik_json_add_text(&line, "error", text);
    ik_json_add_text(&line, "error_code", code);
    ik_buffer_append_byte(&line, '}');
    send_line(channel, &line);
}

/* --- for the ops -------------------------------------------------------------------------- */

void ik_host_request_progress(ik_host_request_t *request, const char *text)
{
    const open_request_t *open = (const open_request_t *)request;
    ik_host_channel_t *channel = request->channel;
    if (is_full(channel)) {
        return;
    }
    ik_buffer_t line = begin_line(channel, open->id);
    ik_json_begin_member(&line, "progress");
    ik_buffer_append_text(&line, "{\"text\":");
    ik_json_append_string(&line, text, ik_utf8_cut(text, strlen(text), PROGRESS_MAX));
    ik_buffer_append_text(&line, "}}");
    send_line(channel, &line);
}

void ik_host_request_succeed(ik_host_request_t *request, const char *result, size_t len)
{
    open_request_t *open = (open_request_t *)request;
    ik_host_channel_t *channel = request->channel;
    ik_buffer_t line = begin_line(channel, open->id);
    ik_json_begin_member(&line, "result");
    ik_buffer_append(&line, result, len);
    ik_buffer_append_byte(&line, '}');
    if (line.len > IK_HOST_LINE_MAX) {
        ik_buffer_reset(&line);
        refuse(channel, open->id, IK_HOST_TOO_LARGE, "The answer is longer than 1 MiB");
    } else {
        send_line(channel, &line);
    }
    drop_request(open);
}

void ik_host_request_fail(ik_host_request_t *request, const char *code, const char *format, ...)
{
    open_request_t *open = (open_request_t *)request;
    va_list args;
    va_start(args, format);
    char *text = ik_vsprintf(request, format, args);
    va_end(args);
    text[ik_utf8_cut(text, strlen(text), PROGRESS_MAX)] = '\0';
    refuse(request->channel, open->id, code, text);
    drop_request(open);
}

void ik_host_request_charge(ik_host_request_t *request, const char *model, const ik_usage_t *usage,
                            double cost)
{
    const ik_host_channel_options_t *options = &request->channel->options;
    options->on_charge(options->data, model, usage, cost);
}

void ik_host_request_confine(ik_host_request_t *request, const char *confined)
{
    const ik_host_channel_options_t *options = &request->channel->options;
    options->on_confined(options->data, confined);
}

/* False: the parameter is missing. */
static bool find_param(const ik_host_request_t *request, const char *name, ik_json_span_t *value)
{
    return ik_json_find(request->params, name, value) && ik_json_kind(*value) != IK_JSON_NULL;
}

/* NULL: not a string, or one with a NUL. */
static const char *decode(const ik_host_request_t *request, ik_json_span_t value)
{
    size_t len;
    if (ik_json_kind(value) != IK_JSON_STRING) {
        return NULL;
    }
    char *text = ik_json_decode(request, value, &len);
    return strlen(text) == len ? text : NULL;
}

bool ik_host_request_text(ik_host_request_t *request, const char *name, bool required,
                          const char **out)
{
    ik_json_span_t value;
    if (!find_param(request, name, &value)) {
        if (required) {
            ik_host_request_fail(request, IK_HOST_INVALID_REQUEST, "The parameter '%s' is missing",
                                 name);
        }
        return !required;
    }
    const char *text = decode(request, value);
    if (text == NULL || (required && *text == '\0')) {
        ik_host_request_fail(request, IK_HOST_INVALID_REQUEST,
                             "The parameter '%s' must be a string%s without NUL characters", name,
                             required ? " that is not empty," : "");
        return false;
    }
    *out = text;
    return true;
}

bool ik_host_request_texts(ik_host_request_t *request, const char *name, size_t max,
                           const char *const **out)
{
    ik_json_span_t list;
    ik_json_span_t value;
    if (!find_param(request, name, &list)) {
        return true;
    }
    const char **texts = ik_new_array(request, const char *, max + 1);
    size_t count = 0;
    bool right = ik_json_kind(list) == IK_JSON_ARRAY;
    for (size_t at = 0; right && ik_json_next_element(list, &at, &value); count++) {
        right =
            count < max && (texts[count] = decode(request, value)) != NULL && *texts[count] != '\0';
    }
    if (!right) {
        ik_host_request_fail(
            request, IK_HOST_INVALID_REQUEST,
            "The parameter '%s' must be an array of at most %zu strings that are not empty", name,
            max);
        return false;
    }
    *out = texts;
    return true;
}

bool ik_host_request_object(ik_host_request_t *request, const char *name, const char **out)
{
    ik_json_span_t value;
    if (!find_param(request, name, &value)) {
        return true;
    }
    if (ik_json_kind(value) != IK_JSON_OBJECT) {
        ik_host_request_fail(request, IK_HOST_INVALID_REQUEST,
                             "The parameter '%s' must be an object", name);
        return false;
    }
    *out = ik_strndup(request, value.text, value.len);
    return true;
}

/* Whether it is written as an integer: "-12", not "1.0" or "1e3". */
static bool is_integer(ik_json_span_t value)
{
    return ik_json_kind(value) == IK_JSON_NUMBER && memchr(value.text, '.', value.len) == NULL &&
           memchr(value.text, 'e', value.len) == NULL && memchr(value.text, 'E', value.len) == NULL;
}

bool ik_host_request_number(ik_host_request_t *request, const char *name, int64_t min, int64_t max,
                            int64_t *out)
{
    ik_json_span_t value;
    if (!find_param(request, name, &value)) {
        return true;
    }
    errno = 0;
    long long number = is_integer(value) ? strtoll(value.text, NULL, 10) : 0;
    if (!is_integer(value) || errno != 0 || number < min || number > max) {
        ik_host_request_fail(request, IK_HOST_INVALID_REQUEST,
                             "The parameter '%s' must be an integer from %" PRId64 " to %" PRId64,
                             name, min, max);
        return false;
    }
    *out = number;
    return true;
}

bool ik_host_request_question(ik_host_request_t *request, ik_host_question_t *out)
{
    enum { QUESTION_MAX = 16384, CHOICES_MAX = 100 }; /* bytes that are shown */
    const char *text;
    *out = (ik_host_question_t){0};
    if (!ik_host_request_text(request, "question", true, &text) ||
        !ik_host_request_texts(request, "choices", CHOICES_MAX, &out->choices) ||
        !ik_host_request_text(request, "default", false, &out->fallback)) {
        return false;
    }
    ik_buffer_t clean;
    ik_buffer_init(&clean, request, IK_BUFFER_UNLIMITED); /* a few times QUESTION_MAX */
    ik_buffer_append_text(&clean, "");
    ik_sanitise_append(&clean, text, ik_utf8_cut(text, strlen(text), QUESTION_MAX));
    out->text = ik_buffer_finish(&clean);
    out->choices = out->choices == NULL || *out->choices == NULL ? NULL : out->choices;
    return true;
}

void ik_host_request_answer(ik_host_request_t *request, const char *text)
{
    if (text == NULL) {
        ik_host_request_fail(request, IK_HOST_DECLINED, "The user declined to answer");
        return;
    }
    ik_buffer_t answer;
    ik_buffer_init(&answer, NULL, IK_BUFFER_UNLIMITED); /* bounded by what the user entered */
    ik_json_add_text(&answer, "answer", text);
    ik_buffer_append_byte(&answer, '}');
    ik_host_request_succeed(request, answer.data, answer.len);
    ik_buffer_reset(&answer);
}

void ik_host_refuse_question(void *data, ik_host_request_t *request)
{
    (void)data;
    ik_host_request_fail(request, IK_HOST_NO_USER, "There is no user who could answer");
}

void ik_host_refuse_model(void *data, ik_host_request_t *request)
{
    (void)data;
    ik_host_request_fail(request, IK_HOST_MODEL_ERROR,
                         "There is no session whose model could answer");
}

static const ik_host_operation_t absent[] = {
    {"ask", ik_host_refuse_question},
    {"agent", ik_host_refuse_model},
    {"complete", ik_host_refuse_model},
    {0},
};
const ik_host_operations_t ik_host_operations_absent = {.operations = absent};

/* --- requests ----------------------------------------------------------------------------- */

/* Two ids are equal when they are the same number or text; "\u0031" is "1". */
static bool is_same_id(ik_json_span_t a, ik_json_span_t b)
{
    if (a.len == b.len && memcmp(a.text, b.text, a.len) == 0) {
        return true;
    }
    if (ik_json_kind(a) != IK_JSON_STRING || ik_json_kind(b) != IK_JSON_STRING) {
        return false;
    }
    void *scratch = talloc_new(NULL);
    size_t a_len;
    size_t b_len;
    const char *a_text = ik_json_decode(scratch, a, &a_len);
    const char *b_text = ik_json_decode(scratch, b, &b_len);
    bool same = a_len == b_len && memcmp(a_text, b_text, a_len) == 0;
    talloc_free(scratch);
    return same;
}

static open_request_t *find_open(const ik_host_channel_t *channel, ik_json_span_t id)
{
    open_request_t *request = channel->open;
    while (request != NULL && !is_same_id(request->id, id)) {
        request = request->next;
    }
    return request;
}

static const ik_host_operation_t *find_operation(const ik_host_channel_t *channel, const char *name)
{
    const ik_host_operation_t *op = channel->options.operations->operations;
    while (op->name != NULL && strcmp(op->name, name) != 0) {
        op++;
    }
    return op->name == NULL ? NULL : op;
}

static void start_request(ik_host_channel_t *channel, const char *text, size_t len,
                          const ik_host_operation_t *op)
{
    open_request_t *open = ik_new(channel, open_request_t);
    ik_json_span_t *params = &open->request.params;
    open->line = ik_strndup(open, text, len);
    open->request.channel = channel;
    open->request.caller = &channel->options.caller;
    ik_json_scan(open->line, len, params, NULL);
    ik_json_find(*params, "id", &open->id);
    open->next = channel->open;
    channel->open = open;
    if (channel->open_count++ == 0) {
        channel->options.on_open(channel->options.data, true);
    }
    op->start(channel->options.operations->data, &open->request);
}

static void take_op(ik_host_channel_t *channel, ik_json_span_t object, ik_json_span_t id,
                    const char *name)
{
    open_request_t *known = find_open(channel, id);
    if (strcmp(name, "cancel") == 0) {
        if (known != NULL) { /* it may have been answered meanwhile */
            refuse(channel, id, IK_HOST_CANCELLED, "The request was cancelled");
            drop_request(known);
        }
        return;
    }
    void *scratch = talloc_new(NULL);
    const ik_host_operation_t *op = find_operation(channel, name);
    unsigned kind = ik_host_op_parse(name);
    char *shown = ik_strndup(scratch, name, ik_utf8_cut(name, strlen(name), 64));
    if (known != NULL) {
        refuse(channel, id, IK_HOST_INVALID_REQUEST, "A request with this id is open");
    } else if (kind == 0 && op == NULL) {
        refuse(channel, id, IK_HOST_UNKNOWN_OP,
               ik_sprintf(scratch, "There is no operation '%s'", shown));
    } else if (kind != 0 && (channel->options.declared & kind) == 0) {
        refuse(channel, id, IK_HOST_NOT_DECLARED,
               ik_sprintf(scratch,
                          "The tool may not use '%s': its schema does not declare it as "
                          "host, or the project's tool was not allowed it (/trust)",
                          shown));
    } else if (op == NULL) {
        refuse(channel, id, IK_HOST_UNKNOWN_OP,
               ik_sprintf(scratch, "The operation '%s' is not available here: it needs a session",
                          shown));
    } else if (channel->open_count >= IK_HOST_OPEN_MAX) {
        refuse(channel, id, IK_HOST_LIMIT,
               ik_sprintf(scratch, "At most %d requests of a call can be open", IK_HOST_OPEN_MAX));
    } else {
        start_request(channel, object.text, object.len, op);
    }
    talloc_free(scratch);
}

static void take_line(ik_host_channel_t *channel, const char *line, size_t len)
{
    static const ik_json_span_t unknown = {0};
    ik_json_span_t object;
    ik_json_span_t id;
    ik_json_span_t op;
    ik_json_fault_t fault;
    size_t op_len;
    if (!ik_json_scan(line, len, &object, &fault)) {
        char *text =
            ik_sprintf(NULL, "The line is not JSON: %s at byte %zu", fault.reason, fault.offset);
        refuse(channel, unknown, IK_HOST_INVALID_REQUEST, text);
        talloc_free(text);
        return;
    }
    if (ik_json_kind(object) != IK_JSON_OBJECT || !ik_utf8_valid(line, len)) {
        refuse(channel, unknown, IK_HOST_INVALID_REQUEST, "The line is not a JSON object in UTF-8");
        return;
    }
    if (!ik_json_find(object, "id", &id) || id.len > ID_MAX ||
        !(ik_json_kind(id) == IK_JSON_STRING || is_integer(id))) {
        refuse(channel, unknown, IK_HOST_INVALID_REQUEST,
               "id must be an integer or a string of at most 256 bytes");
        return;
    }
    char *name = ik_json_find_kind(object, "op", IK_JSON_STRING, &op)
                     ? ik_json_decode(NULL, op, &op_len)
                     : NULL;
    if (name == NULL || strlen(name) != op_len) {
        refuse(channel, id, IK_HOST_INVALID_REQUEST, "op must be a string");
    } else {
        take_op(channel, object, id, name);
    }
    talloc_free(name);
}

/* --- reading ------------------------------------------------------------------------------ */

/* Takes the complete lines, as long as the tool reads what they are answered with. */
static void take_lines(ik_host_channel_t *channel)
{
    ik_buffer_t *in = &channel->in;
    size_t at = 0;
    channel->taking = true;
    while (!is_full(channel) && !channel->broken && at < in->len) {
        const char *from = in->data + at + channel->scanned;
        const char *newline = memchr(from, '\n', in->len - at - channel->scanned);
        size_t len = newline == NULL ? in->len - at : (size_t)(newline - in->data) - at;
        if (len > IK_HOST_LINE_MAX && !channel->skipping) {
            refuse(channel, (ik_json_span_t){0}, IK_HOST_TOO_LARGE, "A line is longer than 1 MiB");
            channel->skipping = true;
        }
        if (newline == NULL) {
            channel->scanned = channel->skipping ? 0 : len;
            at = channel->skipping ? in->len : at;
            break;
        }
        if (!channel->skipping && len > 0) {
            take_line(channel, in->data + at, len);
        }
        channel->skipping = false;
        channel->scanned = 0;
        at += len + 1;
    }
    channel->taking = false;
    if (channel->broken) {
        hang_up(channel);
    } else if (at > 0) {
        in->len -= at;
        memmove(in->data, in->data + at, in->len);
        if (in->len == 0) {
            ik_buffer_reset(in);
        }
    }
}

/* The tool writes no more; it may still read answers. */
static void end_reading(ik_host_channel_t *channel)
{
    struct pollfd state = {.fd = channel->fd};
    channel->ended = true;
    TALLOC_FREE(channel->reader);
    if (channel->in.len > 0) { /* a last line without a newline */
        ik_buffer_append_byte(&channel->in, '\n');
        take_lines(channel);
    }
    if (poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR)) != 0) {
        hang_up(channel);
    }
    end_answers(channel);
}

static void on_readable(void *data)
{
    ik_host_channel_t *channel = data;
    for (int i = 0; i < READS_PER_EVENT && !channel->ended; i++) {
        if (is_full(channel)) {
            TALLOC_FREE(channel->reader);
            return;
        }
        size_t room = ik_buffer_reserve(&channel->in, READ_SIZE);
        ssize_t got = recv(channel->fd, channel->in.data + channel->in.len, room, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            return;
        }
        if (got <= 0) {
            end_reading(channel);
            return;
        }
        channel->in.len += (size_t)got;
        channel->in.data[channel->in.len] = '\0';
        take_lines(channel);
    }
}

static void resume_reading(ik_host_channel_t *channel)
{
    if (channel->reader != NULL) {
        return;
    }
    take_lines(channel);
    if (!channel->ended && !is_full(channel)) {
        channel->reader = ik_watch_create_borrowed(channel, channel->options.loop, channel->fd,
                                                   IK_WATCH_READABLE, on_readable, channel);
    }
}

/* --- creating ----------------------------------------------------------------------------- */

static int close_channel(ik_host_channel_t *channel)
{
    TALLOC_FREE(channel->reader);
    TALLOC_FREE(channel->writer);
    channel->broken = true; /* the end of a request writes nothing */
    while (channel->open != NULL) {
        open_request_t *request = channel->open;
        channel->open = request->next;
        talloc_free(request);
    }
    close(channel->fd);
    close(channel->write_fd);
    return 0;
}

res_t ik_host_channel_create(const void *ctx, const ik_host_channel_options_t *options,
                             int *tool_end, ik_host_channel_t **out)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        return ERR(SYSTEM, "Cannot create a socket: %s", strerror(errno));
    }
    int write_fd = fcntl(ends[0], F_DUPFD_CLOEXEC, 3);
    if (write_fd < 0) {
        res_t failed = ERR(SYSTEM, "Cannot create a socket: %s", strerror(errno));
        close(ends[0]);
        close(ends[1]);
        return failed;
    }
    ik_host_channel_t *channel = ik_new(ctx, ik_host_channel_t);
    channel->options = *options;
    channel->options.caller.tool = ik_strdup(channel, options->caller.tool);
    channel->options.caller.call_id = ik_strdup(channel, options->caller.call_id);
    channel->fd = ends[0];
    channel->write_fd = write_fd;
    channel->gone = ik_timer_create(channel, options->loop, on_gone, channel);
    ik_buffer_init(&channel->in, channel, IK_HOST_LINE_MAX + READ_SIZE + 1);
    /* bounded by OUT_FULL and one answer of each open request */
    ik_buffer_init(&channel->out, channel, IK_BUFFER_UNLIMITED);
    channel->reader = ik_watch_create_borrowed(channel, options->loop, channel->fd,
                                               IK_WATCH_READABLE, on_readable, channel);
    talloc_set_destructor(channel, close_channel);
    *tool_end = ends[1];
    *out = channel;
    return OK;
}
