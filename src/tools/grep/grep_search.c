#include "tools/grep/grep_search.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "tools/common/newline.h"
#include "tools/grep/escape.h"
#include "tools/grep/literal_scan.h"

enum {
    BUFFER_SIZE = 128 * 1024,
    LONG_TEXT = 512 * 1024, /* of output, before on_long is called */
    DIGITS_MAX = 20,        /* of a 64-bit number */
    OVERLAP = 64 * 1024,    /* of two pieces of a long line */
    SHOWN_BEFORE = 1024,    /* of a long line, before the match */
    SHOWN_MAX = 4096,
};

static const char CUT_MARK[] = "[... line cut ...]";

struct ik_grep_search {
    ik_grep_pattern_t *pattern;
    ik_grep_matcher_t *matcher;
    ik_buffer_t space;
    char *buffer; /* in space */
    size_t size;  /* of the buffer, without IK_LITERAL_SCAN_PAD */

    /* the current file */
    const char *folder;
    const char *name;
    ik_grep_search_output_t *output;
    ik_buffer_t prefix;  /* "\n", the path and ":", escaped; made at the first match */
    size_t prefix_bytes; /* its unescaped length */
    uint64_t line;       /* number of the line at counted */
    const char *counted;
    bool inside; /* the buffer begins in the middle of a long line */
    bool listed; /* and that line was already reported */
    int error;   /* of the last read */
};

ik_grep_search_t *ik_grep_search_create(const void *ctx, ik_grep_pattern_t *pattern)
{
    ik_grep_search_t *search = ik_new(ctx, ik_grep_search_t);
    search->pattern = pattern;
    search->matcher = ik_grep_matcher_create(search, pattern);
    ik_buffer_init(&search->prefix, search, IK_BUFFER_UNLIMITED); /* one path */
    ik_buffer_init(&search->space, search, IK_BUFFER_UNLIMITED);  /* bounded by IK_GREP_LINE_MAX */
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

/* Writes number to the end of digits and returns its start. */
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

/* Appends "path:line: ". */
static void begin_line(ik_grep_search_t *s)
{
    ik_grep_part_t *part = &s->output->part;
    if (s->prefix.len == 0) {
        make_prefix(s);
    }
    char digits[DIGITS_MAX];
    size_t digits_len;
    const char *number = format_number(digits, s->line, &digits_len);
    part->lines++;
    part->bytes += s->prefix_bytes + digits_len + 2;
    if (!s->output->measure) {
        ik_buffer_append(&part->text, s->prefix.data, s->prefix.len);
        ik_buffer_append(&part->text, number, digits_len);
        ik_buffer_append(&part->text, ": ", 2);
    }
}

static void put_text(ik_grep_search_t *s, const char *start, const char *end)
{
    ik_grep_part_t *part = &s->output->part;
    size_t len = (size_t)(end - start);
    if (s->output->measure) {
        part->bytes += ik_escape_measure(start, len);
        return;
    }
    /* What is beyond the limit of the whole answer need not be escaped. */
    size_t wanted = len <= s->output->line_max ? len : ik_utf8_cut(start, len, s->output->line_max);
    part->bytes += ik_escape_append(&part->text, start, wanted);
    part->bytes += wanted < len ? ik_escape_measure(start + wanted, len - wanted) : 0;
}

static void end_line(ik_grep_search_t *s)
{
    if (s->output->part.text.len > LONG_TEXT && s->output->on_long != NULL) {
        s->output->on_long(s->output->data);
    }
}

/* Reports the text around hit in a piece of a long line, up to the next NUL byte on each side.
 * ends: the line ends with the piece. */
static void put_cut_line(ik_grep_search_t *s, const char *hit, const char *piece, const char *end,
                         bool ends)
{
    const char *from = hit - piece > SHOWN_BEFORE ? hit - SHOWN_BEFORE : piece;
    const char *to = end - from > SHOWN_MAX ? from + SHOWN_MAX : end;
    while (from > piece && from < hit && ((unsigned char)*from & 0xc0) == 0x80) {
        from++; /* to the start of a character */
    }
    if (to < end) {
        to = from + ik_utf8_cut(from, (size_t)(to - from), (size_t)(to - from) - 1);
    }
    const char *nul = memrchr(from, '\0', (size_t)(hit - from));
    from = nul == NULL ? from : nul + 1;
    nul = memchr(hit, '\0', (size_t)(to - hit));
    to = nul == NULL ? to : nul;
    const char *mark_end = CUT_MARK + strlen(CUT_MARK);
    begin_line(s);
    if (s->inside || from > piece) {
        put_text(s, CUT_MARK, mark_end);
    }
    put_text(s, from, to);
    if (to < end || !ends) {
        put_text(s, CUT_MARK, mark_end);
    }
    end_line(s);
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
        begin_line(s);
        put_text(s, start, stop);
        end_line(s);
        from = stop == end ? end : stop + 1;
    }
}

/* --- reading ----------------------------------------------------------------------------- */

/* Growing keeps the first kept bytes; shrinking keeps nothing. */
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

/* Fills the buffer from used on and returns the new end. *end: the file has ended or cannot be
 * read. */
static size_t fill(ik_grep_search_t *s, int fd, bool patient, size_t used, bool *end)
{
    while (used < s->size) {
        size_t room = s->size - used;
        ssize_t got = read(fd, s->buffer + used, room);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            s->error = got < 0 ? errno : 0;
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

/* --- long lines -------------------------------------------------------------------------- */

/* An ASCII byte that is never part of a word. */
static bool is_gap(char byte)
{
    return (unsigned char)byte < 0x80 && !isalnum((unsigned char)byte) && byte != '_';
}

/* Where to end a piece of the line that fills the buffer: before a gap, so that no word is split.
 */
static size_t find_piece_end(const char *buffer, size_t used)
{
    for (size_t at = used - 1; at > used - OVERLAP; at--) {
        if (is_gap(buffer[at])) {
            return at;
        }
    }
    return ik_utf8_cut(buffer, used, used - 1);
}

/* Where the next piece begins: after a gap. */
static size_t find_next_piece(const char *buffer, size_t piece)
{
    size_t from = piece > OVERLAP ? piece - OVERLAP : 0;
    for (size_t at = from; at < piece; at++) {
        if (is_gap(buffer[at])) {
            return at + 1;
        }
    }
    return ik_utf8_cut_front(buffer, piece, piece - from);
}

static void search_piece(ik_grep_search_t *s, size_t len, bool ends)
{
    const char *end = s->buffer + len;
    const char *hit = s->listed || len == 0 ? NULL
                                            : ik_grep_matcher_find_piece(s->matcher, s->buffer, end,
                                                                         !s->inside, ends);
    if (hit != NULL) {
        s->listed = true;
        put_cut_line(s, hit, s->buffer, end, ends);
    }
}

/* Searches a full buffer without a newline. Moves the overlap to its start and returns its length.
 */
static size_t search_long_line(ik_grep_search_t *s, size_t used)
{
    size_t piece = find_piece_end(s->buffer, used);
    search_piece(s, piece, false);
    s->inside = true;
    size_t next = s->listed ? used : find_next_piece(s->buffer, piece);
    memmove(s->buffer, s->buffer + next, used - next);
    return used - next;
}

/* Searches the last piece of a long line. Moves what follows it to the start of the buffer and
 * returns its length. */
static size_t finish_long_line(ik_grep_search_t *s, size_t used)
{
    const char *newline = memchr(s->buffer, '\n', used);
    size_t len = newline == NULL ? used : (size_t)(newline - s->buffer);
    search_piece(s, len, true);
    s->inside = false;
    s->listed = false;
    s->line++;
    size_t left = newline == NULL ? 0 : used - len - 1;
    memmove(s->buffer, s->buffer + used - left, left);
    return left;
}

/* Drops [kept, used) if it is all NUL bytes, and skips the rest of the hole it may come from.
 * Returns the new end. */
static size_t skip_nuls(ik_grep_search_t *s, int fd, size_t kept, size_t used, bool *end)
{
    const char *from = s->buffer + kept;
    size_t len = used - kept;
    if (len == 0 || *from != '\0' || memcmp(from, from + 1, len - 1) != 0) {
        return used;
    }
    off_t at = lseek(fd, 0, SEEK_CUR);
    if (at >= 0 && lseek(fd, at, SEEK_DATA) < 0 && errno == ENXIO) {
        *end = true;
    }
    bool apart = kept == 0 || from[-1] == '\0';
    return apart ? kept : kept + 1;
}

int ik_grep_search_file(ik_grep_search_t *s, int fd, bool patient, const char *folder,
                        const char *name, ik_grep_search_output_t *output)
{
    s->folder = folder;
    s->name = name;
    s->output = output;
    s->prefix.len = 0;
    s->line = 1;
    s->inside = false;
    s->listed = false;
    s->error = 0;
    resize_buffer(s, BUFFER_SIZE, 0);
    size_t kept = 0;
    bool end = false;
    while (!end && !ik_grep_pattern_exhausted(s->pattern)) {
        size_t used = fill(s, fd, patient, kept, &end);
        if (s->inside) {
            used = skip_nuls(s, fd, kept, used, &end);
        }
        /* For valgrind only: the scan reads these bytes but does not depend on them. */
        memset(s->buffer + used, 0, IK_LITERAL_SCAN_PAD);
        const char *newline = memrchr(s->buffer + kept, '\n', used - kept);
        if (s->inside && (newline != NULL || end)) {
            used = finish_long_line(s, used);
            memset(s->buffer + used, 0, IK_LITERAL_SCAN_PAD);
            newline = memrchr(s->buffer, '\n', used);
            kept = 0;
        }
        if (!end && newline == NULL) {
            kept = used;
            if (used < s->size) {
                continue;
            }
            if (s->size < IK_GREP_LINE_MAX) {
                resize_buffer(s, 2 * s->size, kept);
            } else {
                kept = search_long_line(s, used);
            }
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
    return s->error;
}
