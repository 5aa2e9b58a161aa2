#include "base/print.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

/* True for what a terminal could take as a command: C0, DEL, and C1, which UTF-8 writes as C2 80 to
 * C2 9F. */
static bool is_control(const char *bytes, size_t len)
{
    unsigned char c = (unsigned char)bytes[0];
    return len == 2 ? c == 0xc2 && (unsigned char)bytes[1] < 0xa0 : c < 0x20 || c == 0x7f;
}

/* How many bytes from here on are plain and harmless. */
static size_t count_plain(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && (unsigned char)text[n] >= 0x20 && (unsigned char)text[n] < 0x7f) {
        n++;
    }
    return n;
}

/* What stands in the place of something that must not be printed. */
typedef void (*replace_fn)(FILE *stream, const char *bytes, size_t len);

static void replace_by_mark(FILE *stream, const char *bytes, size_t len)
{
    (void)bytes;
    (void)len;
    fputs("\xef\xbf\xbd", stream);
}

/* A line end or tab stands between values, where an escape would mean nothing: strings of JSON have
 * no such bytes. */
static void replace_by_escape(FILE *stream, const char *bytes, size_t len)
{
    if (*bytes == '\n' || *bytes == '\r' || *bytes == '\t') {
        fputc(' ', stream);
    } else {
        fprintf(stream, "\\u%04x", (unsigned)(unsigned char)bytes[len - 1]);
    }
}

static void print_safely(FILE *stream, const char *text, size_t len, const char *kept,
                         replace_fn replace)
{
    for (size_t i = 0; i < len;) {
        size_t plain = count_plain(text + i, len - i);
        fwrite(text + i, 1, plain, stream);
        i += plain;
        if (i == len) {
            return;
        }
        bool valid;
        size_t step = ik_utf8_step(text + i, len - i, &valid);
        bool keep = text[i] != '\0' && strchr(kept, text[i]) != NULL;
        if (!valid) {
            replace_by_mark(stream, text + i, step);
        } else if (is_control(text + i, step) && !keep) {
            replace(stream, text + i, step);
        } else {
            fwrite(text + i, 1, step, stream);
        }
        i += step;
    }
}

void ik_print(FILE *stream, const char *bytes, size_t len)
{
    print_safely(stream, bytes, len, "\n\t", replace_by_mark);
}

void ik_print_text(FILE *stream, const char *text)
{
    ik_print(stream, text, strlen(text));
}

void ik_print_line(FILE *stream, const char *text)
{
    print_safely(stream, text, strlen(text), "", replace_by_mark);
    fputc('\n', stream);
}

void ik_print_json(FILE *stream, const char *text, size_t len)
{
    print_safely(stream, text, len, "", replace_by_escape);
    fputc('\n', stream);
}
