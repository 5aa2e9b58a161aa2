#include "cli/cli_width.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include "base/utf8.h"

static const char ellipsis[] = "…";
static const char replacement[] = "\xef\xbf\xbd";

enum { ZERO_WIDTH_NON_JOINER = 0x200c, ZERO_WIDTH_JOINER = 0x200d, REPLACEMENT = 0xfffd };

/* What is shown as one: a letter with its marks, an emoji of several characters. */
typedef struct {
    size_t len;
    size_t columns;
    bool shown; /* as it is; otherwise as U+FFFD */
} cluster_t;

static bool is_plain(char byte)
{
    return (unsigned char)byte >= 0x20 && (unsigned char)byte < 0x7f;
}

static bool is_visible(utf8proc_int32_t code)
{
    switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    case UTF8PROC_CATEGORY_CF:
        return code == ZERO_WIDTH_NON_JOINER || code == ZERO_WIDTH_JOINER;
    default:
        return true;
    }
}

/* The character at text, and its length; U+FFFD for bytes that are none and for what must not be
 * shown. */
static utf8proc_int32_t read_character(const char *text, size_t len, size_t *step)
{
    bool valid;
    utf8proc_int32_t code = 0;
    *step = ik_utf8_step(text, len, &valid);
    if (valid) {
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)*step, &code);
    }
    return valid && is_visible(code) ? code : REPLACEMENT;
}

/* How many characters from here on are plain and stand alone: one before something that is not
 * plain may belong to it. */
static size_t count_plain(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && is_plain(text[n])) {
        n++;
    }
    return n == len || n == 0 ? n : n - 1;
}

static cluster_t read_cluster(const char *text, size_t len)
{
    size_t step;
    utf8proc_int32_t state = 0;
    utf8proc_int32_t code = read_character(text, len, &step);
    cluster_t cluster = {.len = step, .columns = 1, .shown = code != REPLACEMENT};
    if (!cluster.shown) {
        return cluster;
    }
    cluster.columns = (size_t)utf8proc_charwidth(code);
    while (cluster.len < len && !is_plain(text[cluster.len])) {
        utf8proc_int32_t next = read_character(text + cluster.len, len - cluster.len, &step);
        if (next == REPLACEMENT || utf8proc_grapheme_break_stateful(code, next, &state)) {
            break;
        }
        cluster.len += step;
        cluster.columns += (size_t)utf8proc_charwidth(next);
        code = next;
    }
    cluster.columns = cluster.columns > 2 ? 2 : cluster.columns; /* families, flags, skin tones */
    return cluster;
}

/* A run of plain text or a cluster, within max columns; of length 0 when it is wider. */
static cluster_t read_piece(const char *text, size_t len, size_t max)
{
    size_t plain = count_plain(text, len);
    if (plain > 0) {
        plain = plain > max ? max : plain;
        return (cluster_t){.len = plain, .columns = plain, .shown = true};
    }
    cluster_t cluster = read_cluster(text, len);
    if (cluster.columns > max) {
        cluster = (cluster_t){0};
    }
    return cluster;
}

/* Appends, unless out is NULL, at most max columns of text, however much there is. */
static size_t append_columns(ik_buffer_t *out, const char *text, size_t max)
{
    size_t columns = 0;
    size_t len = strlen(text);
    for (size_t i = 0; i < len;) {
        cluster_t piece = read_piece(text + i, len - i, max - columns);
        if (piece.len == 0) {
            break;
        }
        if (out != NULL) {
            ik_buffer_append(out, piece.shown ? text + i : replacement,
                             piece.shown ? piece.len : sizeof(replacement) - 1);
        }
        columns += piece.columns;
        i += piece.len;
    }
    return columns;
}

size_t ik_cli_width(const char *text)
{
    return append_columns(NULL, text, IK_CLI_WIDTH_UNLIMITED);
}

/* Where at least so many columns of text are passed. */
static const char *skip_columns(const char *text, size_t columns)
{
    size_t len = strlen(text);
    size_t passed = 0;
    size_t i = 0;
    while (i < len && passed < columns) {
        cluster_t cluster = read_cluster(text + i, len - i);
        passed += cluster.columns;
        i += cluster.len;
    }
    return text + i;
}

size_t ik_cli_width_append(ik_buffer_t *out, const char *text, size_t max, ik_cli_keep_t keep)
{
    size_t all = ik_cli_width(text);
    if (all <= max) {
        return append_columns(out, text, max);
    }
    if (max == 0) {
        return 0;
    }
    if (keep == IK_CLI_KEEP_END) {
        ik_buffer_append_text(out, ellipsis);
        return 1 + append_columns(out, skip_columns(text, all - max + 1), max - 1);
    }
    size_t columns = append_columns(out, text, max - 1);
    ik_buffer_append_text(out, ellipsis);
    return columns + 1;
}

size_t ik_cli_width_of_terminal(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return IK_CLI_WIDTH_UNLIMITED;
    }
    return size.ws_col;
}
