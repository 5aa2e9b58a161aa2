/*
 * Any text as Markdown: fed as a whole and in pieces, with the open block drawn between them, it
 * gives the same rows, and nothing in a row is a control character but tabs and sequences of our
 * own. The first four bytes are the width, the height, the pieces and the theme.
 */
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "pieces.h"
#include "terminal/markdown.h"

typedef struct {
    ik_theme_t theme;
    ik_markdown_options_t options;
    ik_buffer_t rows;
    size_t drawn;
} run_t;

static void check_row(const run_t *run, const char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ik_row_part_t part = ik_row_next(bytes + at, len - at, 0);
        REQUIRE(part.len > 0 && part.len <= len - at);
        REQUIRE(!part.is_sequence || run->theme.escapes);
        REQUIRE(part.is_sequence || bytes[at] == '\t' || (unsigned char)bytes[at] >= ' ');
        at += part.len;
    }
}

static void on_row(void *data, const char *bytes, size_t len)
{
    run_t *run = data;
    check_row(run, bytes, len);
    ik_buffer_append(&run->rows, bytes, len);
    ik_buffer_append_byte(&run->rows, '\n');
}

static void on_drawn(void *data, const char *bytes, size_t len)
{
    run_t *run = data;
    check_row(run, bytes, len);
    REQUIRE(++run->drawn <= (size_t)run->options.max_open);
    REQUIRE(ik_row_width(bytes, len) <= run->options.columns - 1);
}

/* Pieces of so many bytes; 0: as a whole, and nothing is drawn. */
static void render(const void *ctx, run_t *run, const char *text, size_t len, size_t piece)
{
    ik_buffer_init(&run->rows, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&run->rows, "");
    run->options.data = run;
    ik_markdown_t *markdown = ik_markdown_create(ctx, &run->options);
    for (size_t at = 0; at < len;) {
        size_t part = piece == 0 || piece > len - at ? len - at : piece;
        ik_markdown_feed(markdown, text + at, part);
        at += part;
        run->drawn = 0;
        if (piece != 0) {
            ik_markdown_draw_open(markdown, on_drawn, run);
        }
    }
    ik_markdown_end(markdown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { PARAMETERS = 4 };
    if (size < PARAMETERS) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    run_t whole = {
        .options = {.columns = data[0] % 100 + 2, .max_open = data[1] % 30 + 1, .on_row = on_row}};
    ik_theme_init(&whole.theme, IK_BACKGROUND_DARK, data[3] & 1, data[3] & 2);
    whole.options.theme = &whole.theme;
    run_t pieces = whole;
    pieces.options.theme = &pieces.theme;
    const char *text = (const char *)data + PARAMETERS;
    render(ctx, &whole, text, size - PARAMETERS, 0);
    render(ctx, &pieces, text, size - PARAMETERS, data[2] % 64 + 1);
    REQUIRE(whole.rows.len == pieces.rows.len);
    REQUIRE(memcmp(whole.rows.data, pieces.rows.data, whole.rows.len) == 0);
    talloc_free(ctx);
    return 0;
}
