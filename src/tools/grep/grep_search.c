#include "tools/grep/grep_search.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tools/common/newline.h"
#include "tools/grep/escape.h"
#include "tools/grep/literal_scan.h"

enum {
    BUFFER_SIZE = 256 * 1024,
    LONG_TEXT = 512 * 1024, /* of output, that must be taken away */
    DIGITS_MAX = 20,        /* of any number */
};

struct ik_grep_search {
    ik_grep_pattern_t *pattern;
    ik_grep_matcher_t *matcher;
    ik_buffer_t space;
    char *buffer; /* in space */
    size_t size;  /* of the buffer, not counting the bytes a scan may look beyond */

    /* the file at hand */
    const char *folder;
    const char *name;
    ik_grep_search_output_t *output;
    ik_buffer_t prefix;  /* \n and the path and a colon, escaped; made for the first match */
    size_t prefix_bytes; /* that it stands for */
    uint64_t line;       /* number of the line that starts at counted */
    const char *counted;
};

ik_grep_search_t *ik_grep_search_create(const void *ctx, ik_grep_pattern_t *pattern)
{
    ik_grep_search_t *search = ik_new(ctx, ik_grep_search_t);
    search->pattern = pattern;
    search->matcher = ik_grep_matcher_create(search, pattern);
    ik_buffer_init(&search->prefix, search, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&search->space, search, IK_BUFFER_UNLIMITED);
    return search;
}

/* --- output ------------------------------------------------------------------------------ */

static void make_prefix(ik_grep_search_t *s)
{
    s->prefix.len = 0;
    ik_buffer_append_text(&s->prefix, "\\n");
    s->prefix_bytes = 1;
    s->prefix_bytes += ik_escape_append(&s->prefix, s->folder, strlen(s->folder));
    s->prefix_bytes += ik_escape_append(&s->prefix, s->name, strlen(s->name));
    ik_buffer_append_byte(&s->prefix, ':');
    s->prefix_bytes += 1;
}

/* The digits of number, at the end of digits. */
static const char *format_number(char digits[DIGITS_MAX], uint64_t number, size_t *len)
{
    size_t at = DIGITS_MAX;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    *len = DIGITS_MAX - at;
    return digits + at;
}

static void put_line(ik_grep_search_t *s, const char *start, const char *end)
{
    ik_grep_search_output_t *output = s->output;
    ik_grep_part_t *part = &output->part;
    if (s->prefix.len == 0) {
        make_prefix(s);
    }
    char digits[DIGITS_MAX];
    size_t digits_len;
    const char *number = format_number(digits, s->line, &digits_len);
    part->lines++;
    part->bytes += s->prefix_bytes + digits_len + 2;
    if (output->measure) {
        part->bytes += ik_escape_measure(start, (size_t)(end - start));
        return;
    }
    ik_buffer_append(&part->text, s->prefix.data, s->prefix.len);
    ik_buffer_append(&part->text, number, digits_len);
    ik_buffer_append(&part->text, ": ", 2);
    part->bytes += ik_escape_append(&part->text, start, (size_t)(end - start));
    if (part->text.len > LONG_TEXT && output->on_long != NULL) {
        output->on_long(output->data);
    }
}

/* --- whole lines ------------------------------------------------------------------------- */

static void search_lines(ik_grep_search_t *s, const char *from, const char *end)
{
    ik_grep_matcher_begin(s->matcher);
    s->counted = from;
    while (from < end) {
        const char *hit = ik_grep_matcher_find(s->matcher, from, end);
        if (hit == NULL) {
            break;
        }
        const char *newline = memrchr(from, '\n', (size_t)(hit - from));
        const char *start = newline == NULL ? from : newline + 1;
        const char *stop = memchr(hit, '\n', (size_t)(end - hit));
        stop = stop == NULL ? end : stop;
        s->line += ik_newline_count(s->counted, (size_t)(start - s->counted));
        s->counted = start;
        put_line(s, start, stop);
        from = stop == end ? end : stop + 1;
    }
}

/* --- reading ----------------------------------------------------------------------------- */

/* Growing keeps the first kept bytes; nothing is kept when it shrinks. */
static void resize_buffer(ik_grep_search_t *s, size_t size, size_t kept)
{
    if (size < s->size) {
        ik_buffer_reset(&s->space);
    }
    if (size != s->size) {
        s->space.len = kept;
        ik_buffer_reserve(&s->space, size + IK_LITERAL_SCAN_PAD - kept);
        s->buffer = s->space.data;
        s->size = size;
    }
}

/* Fills the buffer from used on; *end when the file has no more. */
static size_t fill(ik_grep_search_t *s, int fd, bool patient, size_t used, bool *end)
{
    while (used < s->size) {
        size_t room = s->size - used;
        ssize_t got = read(fd, s->buffer + used, room);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            *end = true;
            return used;
        }
        used += (size_t)got;
        if ((size_t)got < room && !patient) {
            *end = true;
            return used;
        }
    }
    return used;
}

void ik_grep_search_file(ik_grep_search_t *s, int fd, bool patient, const char *folder,
                         const char *name, ik_grep_search_output_t *output)
{
    s->folder = folder;
    s->name = name;
    s->output = output;
    s->prefix.len = 0;
    s->line = 1;
    resize_buffer(s, BUFFER_SIZE, 0);
    size_t kept = 0;
    bool end = false;
    while (!end && !ik_grep_pattern_exhausted(s->pattern)) {
        size_t used = fill(s, fd, patient, kept, &end);
        /* The scan looks at these and then discards what it saw; valgrind cannot know. */
        memset(s->buffer + used, 0, IK_LITERAL_SCAN_PAD);
        const char *newline = end ? NULL : memrchr(s->buffer + kept, '\n', used - kept);
        if (!end && newline == NULL) {
            kept = used;
            resize_buffer(s, 2 * s->size, kept);
            continue;
        }
        size_t whole = end ? used : (size_t)(newline + 1 - s->buffer);
        search_lines(s, s->buffer, s->buffer + whole);
        kept = used - whole;
        if (!end) {
            s->line += ik_newline_count(s->counted, (size_t)(newline + 1 - s->counted));
            memmove(s->buffer, s->buffer + whole, kept);
        }
    }
}
