#include "provider/sse.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"

static const char BOM[] = {'\xef', '\xbb', '\xbf'};

struct ik_sse {
    ik_sse_fn on_event;
    void *user;
    ik_buffer_t line; /* the beginning of a line that is spread over several pieces */
    ik_buffer_t event;
    ik_buffer_t id;      /* that the current event named */
    bool names_id;       /* it has named one */
    ik_buffer_t last_id; /* of the last event that had one and was whole */
    int64_t retry_ms;    /* -1: not told */
    ik_buffer_t data;
    bool has_data;  /* a data line, even an empty one: without any, there is no event */
    bool after_cr;  /* a CR ended the last line; a newline right after it belongs to it */
    size_t bom_len; /* bytes of a BOM so far; its full length once no BOM can follow */
    bool stopped;
};

/* The rest of a piece, with the next newline and the next CR in it. Each is searched for only after
 * the last one found was passed, so that no byte is searched twice. */
typedef struct {
    const char *at;
    const char *end;
    const char *newline; /* NULL: not searched for yet; end: there is none */
    const char *cr;
} piece_t;

static void clear(ik_buffer_t *buffer)
{
    buffer->len = 0;
    ik_buffer_append(buffer, "", 0); /* terminates */
}

ik_sse_t *ik_sse_create(const void *ctx, ik_sse_fn on_event, void *user)
{
    ik_sse_t *sse = ik_new(ctx, ik_sse_t);
    sse->on_event = on_event;
    sse->user = user;
    ik_buffer_init(&sse->line, sse, IK_SSE_EVENT_MAX);
    ik_buffer_init(&sse->event, sse, IK_SSE_EVENT_MAX);
    ik_buffer_init(&sse->data, sse, IK_SSE_EVENT_MAX);
    ik_buffer_init(&sse->id, sse, IK_SSE_EVENT_MAX);
    ik_buffer_init(&sse->last_id, sse, IK_SSE_EVENT_MAX);
    sse->retry_ms = -1;
    clear(&sse->event);
    return sse;
}

static bool dispatch(ik_sse_t *sse)
{
    if (sse->has_data) {
        sse->stopped = !sse->on_event(sse->user, sse->event.data, sse->data.data, sse->data.len);
    }
    sse->has_data = false;
    clear(&sse->event);
    clear(&sse->data);
    return !sse->stopped;
}

static bool is_field(const char *name, size_t len, const char *wanted)
{
    return len == strlen(wanted) && memcmp(name, wanted, len) == 0;
}

static void take_field(ik_sse_t *sse, const char *name, size_t name_len, const char *value,
                       size_t value_len)
{
    if (is_field(name, name_len, "data")) {
        if (sse->has_data) {
            ik_buffer_append_byte(&sse->data, '\n');
        }
        ik_buffer_append(&sse->data, value, value_len);
        sse->has_data = true;
    } else if (is_field(name, name_len, "event")) {
        clear(&sse->event);
        ik_buffer_append(&sse->event, value, value_len);
    } else if (is_field(name, name_len, "id") && memchr(value, '\0', value_len) == NULL) {
        clear(&sse->id);
        ik_buffer_append(&sse->id, value, value_len);
        sse->names_id = true;
    } else if (is_field(name, name_len, "retry") && value_len > 0 && value_len < 10) {
        int64_t number = 0;
        for (size_t i = 0; i < value_len; i++) {
            if (value[i] < '0' || value[i] > '9') {
                return;
            }
            number = 10 * number + (value[i] - '0');
        }
        sse->retry_ms = number;
    }
}

const char *ik_sse_last_id(const ik_sse_t *sse)
{
    return sse->last_id.data;
}

int64_t ik_sse_retry_ms(const ik_sse_t *sse)
{
    return sse->retry_ms;
}

/* The blank line after an event. Only now does its id count: a stream that breaks off inside of an
 * event has to be resumed before it. */
static bool end_event(ik_sse_t *sse)
{
    if (sse->names_id) {
        clear(&sse->last_id);
        ik_buffer_append(&sse->last_id, sse->id.data, sse->id.len);
        sse->names_id = false;
    }
    return dispatch(sse);
}

/* A comment is a field with an empty name. */
static bool take_line(ik_sse_t *sse, const char *line, size_t len)
{
    if (len == 0) {
        return end_event(sse);
    }
    const char *end = line + len;
    const char *colon = memchr(line, ':', len);
    const char *name_end = colon == NULL ? end : colon;
    const char *value = colon == NULL ? end : colon + 1;
    if (value < end && *value == ' ') {
        value++;
    }
    take_field(sse, line, (size_t)(name_end - line), value, (size_t)(end - value));
    return true;
}

/* Whether the event stays within its maximum with len more bytes in the current line. The result
 * depends only on the bytes of the stream so far, not on how they were cut into pieces. */
static bool fits(const ik_sse_t *sse, size_t len)
{
    size_t held = sse->event.len + sse->data.len + sse->line.len;
    return held <= IK_SSE_EVENT_MAX && len <= IK_SSE_EVENT_MAX - held;
}

static bool end_line(ik_sse_t *sse, const char *bytes, size_t len)
{
    if (sse->line.len == 0) {
        return take_line(sse, bytes, len);
    }
    ik_buffer_append(&sse->line, bytes, len);
    len = sse->line.len;
    sse->line.len = 0;
    return take_line(sse, sse->line.data, len);
}

/* Returns how many bytes to skip. The BOM may be spread over pieces; a beginning that turns out not
 * to be a BOM becomes the beginning of the first line. */
static size_t skip_bom(ik_sse_t *sse, const char *bytes, size_t len)
{
    size_t taken = 0;
    while (taken < len && sse->bom_len < sizeof(BOM) && bytes[taken] == BOM[sse->bom_len]) {
        taken++;
        sse->bom_len++;
    }
    if (taken < len && sse->bom_len < sizeof(BOM)) {
        ik_buffer_append(&sse->line, BOM, sse->bom_len);
        sse->bom_len = sizeof(BOM);
    }
    return taken;
}

static const char *find(char wanted, const char *from, const char *end)
{
    const char *found = memchr(from, wanted, (size_t)(end - from));
    return found == NULL ? end : found;
}

static const char *next_line_end(piece_t *piece)
{
    if (piece->newline == NULL || piece->newline < piece->at) {
        piece->newline = find('\n', piece->at, piece->end);
    }
    if (piece->cr == NULL || piece->cr < piece->at) {
        piece->cr = find('\r', piece->at, piece->end);
    }
    return piece->newline < piece->cr ? piece->newline : piece->cr;
}

/* Takes one line or the beginning of one; false when the parser has stopped. */
static bool take_next(ik_sse_t *sse, piece_t *piece)
{
    const char *line = piece->at;
    const char *end = next_line_end(piece);
    size_t len = (size_t)(end - line);
    if (!fits(sse, len)) {
        sse->stopped = true;
        return false;
    }
    if (end == piece->end) {
        piece->at = end;
        ik_buffer_append(&sse->line, line, len);
        return true;
    }
    piece->at = end + 1;
    if (*end == '\r') {
        sse->after_cr = true;
    }
    return end_line(sse, line, len);
}

bool ik_sse_feed(ik_sse_t *sse, const char *bytes, size_t len)
{
    if (sse->stopped || len == 0) {
        return !sse->stopped;
    }
    piece_t piece = {.at = bytes + skip_bom(sse, bytes, len), .end = bytes + len};
    while (piece.at < piece.end) {
        bool pair = sse->after_cr && *piece.at == '\n';
        sse->after_cr = false;
        if (pair) {
            piece.at++;
        } else if (!take_next(sse, &piece)) {
            return false;
        }
    }
    return true;
}

bool ik_sse_finish(ik_sse_t *sse)
{
    if (sse->stopped || (sse->line.len > 0 && !end_line(sse, "", 0))) {
        return false;
    }
    return dispatch(sse);
}
