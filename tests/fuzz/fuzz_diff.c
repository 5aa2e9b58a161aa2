/*
 * Two texts and how one became the other: what was kept and removed is the old one, what was kept
 * and added the new one. The words that differ between the two, taken as lines: what is not marked
 * is the same in both, but for white space. Both are also read as a unified diff, which loses no
 * byte but those of line ends. Input: the old text up to a NUL, the new one.
 */
#include <stdint.h>

#include "base/alloc.h"
#include "base/patch_lines.h"
#include "pieces.h"

enum { EFFORT = 1 << 20 };

typedef struct {
    ik_buffer_t old;
    ik_buffer_t fresh;
} sides_t;

static void on_line(void *data, ik_line_change_t change, const char *line, size_t len)
{
    sides_t *sides = data;
    REQUIRE(len > 0 && memchr(line, '\n', len - 1) == NULL);
    if (change != IK_LINE_ADDED) {
        ik_buffer_append(&sides->old, line, len);
    }
    if (change != IK_LINE_REMOVED) {
        ik_buffer_append(&sides->fresh, line, len);
    }
}

static bool holds(const ik_buffer_t *side, const char *text, size_t len)
{
    return side->len == len && (len == 0 || memcmp(side->data, text, len) == 0);
}

static void append_unmarked(ik_buffer_t *out, const char *text, size_t len,
                            const ik_word_marks_t *marks)
{
    size_t mark = 0;
    for (size_t i = 0; i < marks->count; i++) {
        REQUIRE(marks->ranges[i].from < marks->ranges[i].to && marks->ranges[i].to <= len);
        REQUIRE(i == 0 || marks->ranges[i].from > marks->ranges[i - 1].to);
    }
    for (size_t at = 0; at < len; at++) {
        while (mark < marks->count && at >= marks->ranges[mark].to) {
            mark++;
        }
        bool inside = mark < marks->count && at >= marks->ranges[mark].from;
        if (!inside && text[at] != ' ' && text[at] != '\t') {
            ik_buffer_append_byte(out, text[at]);
        }
    }
}

static void compare_words(const void *ctx, const char *old, size_t old_len, const char *fresh,
                          size_t fresh_len)
{
    ik_word_diff_t diff;
    size_t effort = EFFORT;
    bool compared = ik_word_diff_run(ctx, old, old_len, fresh, fresh_len, &effort, &diff);
    REQUIRE(effort <= EFFORT);
    if (!compared) {
        return;
    }
    ik_buffer_t kept[2];
    ik_buffer_init(&kept[0], ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&kept[1], ctx, IK_BUFFER_UNLIMITED);
    append_unmarked(&kept[0], old, old_len, &diff.old);
    append_unmarked(&kept[1], fresh, fresh_len, &diff.fresh);
    REQUIRE(pieces_same(&kept[0], &kept[1]));
    REQUIRE(diff.similarity >= 0 && diff.similarity <= 100);
}

static void append_piece(void *data, ik_code_class_t kind, bool changed, const char *text,
                         size_t len)
{
    (void)kind;
    (void)changed;
    REQUIRE(len > 0);
    ik_buffer_append(data, text, len);
}

static void on_patch_line(void *data, const ik_patch_line_t *line)
{
    if (line->kind <= IK_PATCH_ADDED) {
        ik_patch_lines_split(line, append_piece, data);
    } else {
        ik_buffer_append(data, line->text, line->len);
    }
}

/* The bytes of a text without line ends, and without the first character of a line where that is a
 * mark: they may be missing in a diff. */
static void read_patch(const void *ctx, const char *text, size_t len)
{
    ik_patch_place_t places[2] = {{0}, {0}};
    ik_buffer_t read;
    ik_buffer_t expected;
    ik_buffer_init(&read, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&expected, ctx, IK_BUFFER_UNLIMITED);
    ik_patch_lines_read(&places[0], text, len, on_patch_line, &read);
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t part = end == NULL ? len - at : (size_t)(end - text) + 1 - at;
        ik_patch_line_t line = ik_patch_lines_next(&places[1], text + at, part);
        REQUIRE(line.text >= text + at && line.text + line.len <= text + at + part);
        ik_buffer_append(&expected, line.text, line.len);
        at += part;
    }
    REQUIRE(pieces_same(&read, &expected));
    REQUIRE(places[0].outside == places[1].outside && places[0].language == places[1].language);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    void *ctx = talloc_new(NULL);
    size_t old_len = pieces_find(bytes, len, '\0');
    size_t fresh_len = old_len < len ? len - old_len - 1 : 0;
    char *old = pieces_copy(bytes, old_len);
    char *fresh = pieces_copy(bytes + len - fresh_len, fresh_len);
    sides_t sides;
    ik_buffer_init(&sides.old, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&sides.fresh, ctx, IK_BUFFER_UNLIMITED);
    ik_line_diff_run(old, old_len, fresh, fresh_len, on_line, &sides);
    REQUIRE(holds(&sides.old, old, old_len) && holds(&sides.fresh, fresh, fresh_len));
    compare_words(ctx, old, old_len, fresh, fresh_len);
    read_patch(ctx, old, old_len);
    read_patch(ctx, fresh, fresh_len);
    free(old);
    free(fresh);
    talloc_free(ctx);
    return 0;
}
