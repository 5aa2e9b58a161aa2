#include "provider/sse.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"

static const char BOM[] = {'\xef', '\xbb', '\xbf'};

struct ik_sse {
    ik_sse_fn on_event;
    void *user;
    ik_buffer_t line; /* what has come of a line that lies in several pieces */
    ik_buffer_t event;
    ik_buffer_t data;
    bool has_data;  /* an event without a data line is none, with an empty one it is one */
    bool after_cr;  /* it has ended a line; a newline that follows belongs to it */
    size_t bom_len; /* how much of a BOM has come; all of it when none can come any more */
    bool stopped;
};

/* What is left of a piece, with the next end of a line of either kind in it: each is searched for
 * only when the last one found has been passed, so no byte is looked at twice. */
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
    }
}

/* A comment is a field without a name. */
static bool take_line(ik_sse_t *sse, const char *line, size_t len)
{
    if (len == 0) {
        return dispatch(sse);
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

/* Whether the event stays within its maximum with len more bytes in the line under way. That
 * depends only on the bytes of the stream so far and not on how they were cut. */
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

/* Also right in the middle of it: what turns out not to be a BOM is the beginning of a line. */
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

/* Takes one line, or what there is of it; false when the stream is over. */
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
