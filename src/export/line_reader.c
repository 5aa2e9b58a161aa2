#include "export/line_reader.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"

enum { BLOCK = 65536, KEPT_CAPACITY = 1 << 20 };

struct ik_line_reader {
    FILE *in;
    ik_buffer_t line;
    int64_t number;
    size_t at; /* how much of the block is used */
    size_t len;
    char block[BLOCK];
};

ik_line_reader_t *ik_line_reader_create(const void *ctx, FILE *in, size_t max)
{
    ik_line_reader_t *reader = ik_new(ctx, ik_line_reader_t);
    reader->in = in;
    ik_buffer_init(&reader->line, reader, max);
    return reader;
}

/* Appends the next part of the line from the block. Returns true at the end of the line. */
static bool take_part(ik_line_reader_t *reader)
{
    const char *part = reader->block + reader->at;
    size_t left = reader->len - reader->at;
    const char *end = memchr(part, '\n', left);
    size_t len = end == NULL ? left : (size_t)(end - part);
    ik_buffer_append(&reader->line, part, len);
    reader->at += end == NULL ? len : len + 1;
    return end != NULL;
}

res_t ik_line_reader_next(ik_line_reader_t *reader, const ik_buffer_t **out)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    ik_buffer_t *line = &reader->line;
    bool found = false;
    *out = NULL;
    if (line->capacity > KEPT_CAPACITY) {
        ik_buffer_reset(line);
    }
    line->len = 0;
    reader->number++;
    for (bool ended = false; !ended;) {
        if (reader->at == reader->len) {
            reader->at = 0;
            reader->len = fread(reader->block, 1, BLOCK, reader->in);
        }
        if (reader->len == 0) {
            break;
        }
        found = true;
        ended = take_part(reader);
        if (line->dropped > 0) {
            return ERR(LIMIT, "the line is longer than %zu bytes", line->max);
        }
    }
    if (ferror(reader->in)) {
        return ERR(SYSTEM, "cannot be read: %s", strerror(errno));
    }
    if (!found) {
        return OK;
    }
    if (line->len > 0 && line->data[line->len - 1] == '\r') {
        line->len--;
    }
    if (reader->number == 1 && line->len >= 3 && memcmp(line->data, byte_order_mark, 3) == 0) {
        line->len -= 3;
        memmove(line->data, line->data + 3, line->len);
    }
    *out = line;
    return OK;
}

int64_t ik_line_reader_number(const ik_line_reader_t *reader)
{
    return reader->number;
}
