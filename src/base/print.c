#include "base/print.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/invisible.h"
#include "base/sanitiser.h"
#include "base/utf8.h"

static void on_text(void *data, ik_style_t style, const char *text, size_t len)
{
    (void)style;
    fwrite(text, 1, len, data);
}

void ik_print(FILE *stream, const char *bytes, size_t len)
{
    ik_sanitiser_t sanitiser;
    ik_sanitiser_init(&sanitiser);
    ik_sanitiser_feed(&sanitiser, bytes, len, on_text, stream);
    ik_sanitiser_end(&sanitiser, on_text, stream);
}

void ik_print_text(FILE *stream, const char *text)
{
    ik_print(stream, text, strlen(text));
}

void ik_print_line(FILE *stream, const char *text)
{
    char *line = ik_sanitise_line(NULL, text);
    fputs(line, stream);
    fputc('\n', stream);
    talloc_free(line);
}

/* --- JSON -------------------------------------------------------------------------------- */

static void print_escape(FILE *stream, int32_t code)
{
    if (code > 0xffff) {
        code -= 0x10000;
        fprintf(stream, "\\u%04x", 0xd800U | (unsigned)code >> 10);
        code = 0xdc00 | (code & 0x3ff);
    }
    fprintf(stream, "\\u%04x", (unsigned)code);
}

/* A newline or tab can only stand between values, because strings of JSON contain none; an escape
 * would be invalid there. */
static void print_character(FILE *stream, const char *bytes, size_t len)
{
    int32_t code = ik_utf8_decode(bytes, len);
    if (code == '\n' || code == '\r' || code == '\t') {
        fputc(' ', stream);
    } else if (code < 0xa0 || ik_invisible(code) || !ik_sanitise_is_clean(bytes, len)) {
        print_escape(stream, code);
    } else {
        fwrite(bytes, 1, len, stream);
    }
}

void ik_print_json(FILE *stream, const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t plain = i;
        while (i < len && text[i] >= ' ' && text[i] < 0x7f) {
            i++;
        }
        fwrite(text + plain, 1, i - plain, stream);
        if (i < len) {
            bool valid;
            size_t step = ik_utf8_step(text + i, len - i, &valid);
            if (valid) {
                print_character(stream, text + i, step);
            } else {
                fputs(IK_UTF8_REPLACEMENT, stream);
            }
            i += step;
        }
    }
    fputc('\n', stream);
}
