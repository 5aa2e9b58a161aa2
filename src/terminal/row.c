#include "terminal/row.h"

#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/sanitiser.h"
#include "base/width.h"
#include "terminal/pen.h"

enum {
    TAB = 8,
    ESCAPE = 0x1b,
    LINK_MAX = 2000, /* terminals reject longer URLs, and some print them */
};

static const char ellipsis[] = "…";

void ik_row_init(ik_row_t *row, const void *ctx, const ik_theme_t *theme)
{
    *row = (ik_row_t){.theme = theme};
    ik_buffer_init(&row->bytes, ctx, IK_BUFFER_UNLIMITED); /* bounded by the added text */
}

void ik_row_clear(ik_row_t *row)
{
    row->bytes.len = 0;
    if (row->bytes.data != NULL) {
        row->bytes.data[0] = '\0';
    }
    row->width = 0;
    row->style = (ik_style_t){0};
}

static bool is_printable_ascii(char c)
{
    return c >= ' ' && c <= '~';
}

static size_t ascii_prefix(const char *text, size_t len)
{
    size_t count = 0;
    while (count < len && is_printable_ascii(text[count])) {
        count++;
    }
    return count;
}

static int after_tab(int column)
{
    return column / TAB * TAB + TAB;
}

/* --- text -------------------------------------------------------------------------------- */

static int width_from(int column, const char *text, size_t len)
{
    while (len > 0) {
        const char *tab = memchr(text, '\t', len);
        size_t plain = tab == NULL ? len : (size_t)(tab - text);
        column += (int)ik_width(text, plain);
        if (tab == NULL) {
            break;
        }
        column = after_tab(column);
        text += plain + 1;
        len -= plain + 1;
    }
    return column;
}

static void append_clean(ik_row_t *row, const char *text, size_t len)
{
    ik_buffer_append(&row->bytes, text, len);
    row->width = width_from(row->width, text, len);
}

static void append_foreign(ik_row_t *row, const char *text, size_t len)
{
    ik_buffer_t clean;
    ik_buffer_init(&clean, row->bytes.ctx, IK_BUFFER_UNLIMITED); /* bounded by the text */
    ik_sanitise_append(&clean, text, len);
    for (size_t i = 0; i < clean.len; i++) {
        clean.data[i] = clean.data[i] == '\n' ? ' ' : clean.data[i];
    }
    append_clean(row, clean.data, clean.len);
    ik_buffer_reset(&clean);
}

static void append_text(ik_row_t *row, const char *text, size_t len)
{
    if (ascii_prefix(text, len) == len) {
        ik_buffer_append(&row->bytes, text, len);
        row->width += (int)len;
    } else if (memchr(text, '\n', len) == NULL && ik_sanitise_is_clean(text, len)) {
        append_clean(row, text, len);
    } else {
        append_foreign(row, text, len);
    }
}

static void set_style(ik_row_t *row, ik_style_t style)
{
    if (!row->theme->escapes) {
        style = (ik_style_t){0};
    } else if (!row->theme->colours) {
        style = (ik_style_t){.bits = style.bits};
    }
    ik_pen_append_style(&row->bytes, row->style, style);
    row->style = style;
}

void ik_row_add(ik_row_t *row, ik_style_t style, const char *text, size_t len)
{
    if (len > 0) {
        if (style.fg == 0 && style.bg == 0) {
            style.fg = ik_theme_style(row->theme, IK_ROLE_TEXT).fg;
        }
        set_style(row, style);
        append_text(row, text, len);
    }
}

void ik_row_add_role(ik_row_t *row, ik_role_t role, const char *text)
{
    ik_row_add(row, ik_theme_style(row->theme, role), text, strlen(text));
}

void ik_row_add_format(ik_row_t *row, ik_role_t role, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = ik_vsprintf(row->bytes.ctx, format, args);
    va_end(args);
    ik_row_add_role(row, role, text);
    talloc_free(text);
}

void ik_row_end(ik_row_t *row)
{
    set_style(row, (ik_style_t){0});
}

/* --- links ------------------------------------------------------------------------------- */

static bool has_scheme(const char *url)
{
    static const char *const schemes[] = {"http://", "https://", "file://", "mailto:"};
    for (size_t i = 0; i < IK_LENGTH(schemes); i++) {
        if (strncasecmp(url, schemes[i], strlen(schemes[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Drops control characters and percent-encodes spaces and other bytes; false if it is too long. */
static bool encode_url(ik_buffer_t *out, const char *url)
{
    for (; *url != '\0'; url++) {
        unsigned char c = (unsigned char)*url;
        if (c > ' ' && c <= '~') {
            ik_buffer_append_byte(out, *url);
        } else if (c == ' ' || c >= 0x80) {
            ik_buffer_append_format(out, "%%%02X", c);
        }
    }
    return out->len <= LINK_MAX;
}

void ik_row_add_link(ik_row_t *row, ik_style_t style, const char *text, size_t len, const char *url)
{
    ik_buffer_t target;
    ik_buffer_init(&target, row->bytes.ctx, LINK_MAX + 1);
    bool links = row->theme->escapes && len > 0 && has_scheme(url) && encode_url(&target, url);
    if (links) {
        set_style(row, style);
        ik_buffer_append_text(&row->bytes, IK_PEN_LINK_START);
        ik_buffer_append(&row->bytes, target.data, target.len);
        ik_buffer_append_text(&row->bytes, "\033\\");
    }
    ik_row_add(row, style, text, len);
    if (links) {
        ik_buffer_append_text(&row->bytes, IK_PEN_LINK_END);
    }
    ik_buffer_reset(&target);
}

/* --- parts ------------------------------------------------------------------------------- */

/* A string (OSC, APC, DCS) ends with ESC \, a CSI with a byte from @ to ~; ESC 7 and ESC 8 are
 * complete. */
static size_t sequence_length(const char *bytes, size_t len)
{
    bool string = len > 1 && (bytes[1] == ']' || bytes[1] == '_' || bytes[1] == 'P');
    if (len > 1 && (bytes[1] == '7' || bytes[1] == '8')) {
        return 2;
    }
    for (size_t at = 2; at < len; at++) {
        bool ends = string ? bytes[at - 1] == ESCAPE && bytes[at] == '\\' && at > 2
                           : bytes[at] >= '@' && bytes[at] <= '~';
        if (ends) {
            return at + 1;
        }
    }
    return len;
}

ik_row_part_t ik_row_next(const char *bytes, size_t len, int at)
{
    if (is_printable_ascii(bytes[0]) && (len == 1 || (unsigned char)bytes[1] < 0x80)) {
        return (ik_row_part_t){.len = 1, .columns = 1};
    }
    if (bytes[0] == ESCAPE) {
        return (ik_row_part_t){.len = sequence_length(bytes, len), .is_sequence = true};
    }
    if (bytes[0] == '\t') {
        return (ik_row_part_t){.len = 1, .columns = after_tab(at) - at};
    }
    ik_grapheme_t grapheme = ik_width_grapheme(bytes, len);
    return (ik_row_part_t){.len = grapheme.len, .columns = grapheme.columns};
}

int ik_row_width(const char *bytes, size_t len)
{
    int width = 0;
    for (size_t at = 0; at < len;) {
        ik_row_part_t part = ik_row_next(bytes + at, len - at, width);
        width += part.columns;
        at += part.len;
    }
    return width;
}

/* --- cutting ----------------------------------------------------------------------------- */

/* A position in the row being copied. */
typedef struct {
    size_t len; /* of the copy */
    int width;
    ik_pen_t pen;
} position_t;

static void append_part(ik_buffer_t *out, const char *bytes, ik_row_part_t part)
{
    if (bytes[0] != '\t') {
        ik_buffer_append(out, bytes, part.len);
        return;
    }
    for (int i = 0; i < part.columns; i++) {
        ik_buffer_append_byte(out, ' ');
    }
}

static int copy_fitting(ik_buffer_t *out, const char *bytes, size_t len, int columns)
{
    static const ik_pen_t none;
    position_t here = {.len = out->len};
    position_t cut = here; /* the last position with room for the ellipsis */
    for (size_t at = 0; at < len;) {
        ik_row_part_t part = ik_row_next(bytes + at, len - at, here.width);
        if (here.width + part.columns > columns) {
            out->len = cut.len;
            ik_buffer_append_text(out, ellipsis);
            ik_pen_append(out, &cut.pen, &none);
            return cut.width + 1;
        }
        append_part(out, bytes + at, part);
        if (part.is_sequence) {
            ik_pen_follow(&here.pen, bytes + at, part.len);
        }
        here.width += part.columns;
        here.len = out->len;
        at += part.len;
        cut = here.width < columns ? here : cut;
    }
    return here.width;
}

int ik_row_fit(ik_buffer_t *out, const char *bytes, size_t len, int columns)
{
    if (columns <= 0) {
        return 0;
    }
    if (len <= (size_t)columns && ascii_prefix(bytes, len) == len) {
        ik_buffer_append(out, bytes, len);
        return (int)len;
    }
    return copy_fitting(out, bytes, len, columns);
}
