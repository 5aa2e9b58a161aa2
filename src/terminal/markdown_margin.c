#include "terminal/markdown_margin.h"

#include <stdio.h>
#include <string.h>

void ik_markdown_margin_push_quote(ik_markdown_margin_t *margin)
{
    margin->containers[margin->depth++] =
        (ik_markdown_container_t){.is_quote = true, .serial = ++margin->serials};
}

ik_markdown_container_t *ik_markdown_margin_push_item(ik_markdown_margin_t *margin,
                                                      const ik_markdown_marker_t *marker,
                                                      const ik_markdown_container_t *sibling)
{
    ik_markdown_container_t item = {.mark = marker->mark, .is_empty = true};
    item.number = sibling == NULL ? marker->number : sibling->number + 1;
    item.serial = sibling == NULL ? ++margin->serials : sibling->serial;
    margin->containers[margin->depth] = item;
    return &margin->containers[margin->depth++];
}

/* --- marks ------------------------------------------------------------------------------- */

typedef struct {
    char text[16];
    size_t columns; /* including a space */
    ik_role_t role;
} mark_t;

static mark_t mark_of(const ik_markdown_container_t *container)
{
    mark_t mark = {.text = "•", .columns = 2, .role = IK_ROLE_TEXT};
    if (container->is_quote) {
        mark = (mark_t){.text = "│", .columns = 2, .role = IK_ROLE_RULE};
    } else if (container->task != '\0') {
        mark = (mark_t){.text = "[ ]", .columns = 4, .role = IK_ROLE_DIM};
        mark.text[1] = container->task;
        mark.role = container->task == ' ' ? IK_ROLE_DIM : IK_ROLE_GOOD;
    } else if (container->mark == '.' || container->mark == ')') {
        int len =
            snprintf(mark.text, sizeof(mark.text), "%u%c", container->number, container->mark);
        mark.columns = (size_t)len + 1;
    }
    return mark;
}

/* How many containers show their marks: half of a row is reserved for text. */
static size_t count_shown(const ik_markdown_margin_t *margin, const ik_markdown_rows_t *rows,
                          size_t *columns)
{
    size_t shown = 0;
    for (*columns = 0; shown < margin->depth; shown++) {
        size_t next = *columns + mark_of(&margin->containers[shown]).columns;
        if (next > rows->width / 2) {
            break;
        }
        *columns = next;
    }
    return shown;
}

size_t ik_markdown_margin_room(const ik_markdown_margin_t *margin, const ik_markdown_rows_t *rows)
{
    size_t columns;
    count_shown(margin, rows, &columns);
    return rows->width - columns;
}

/* Adds the marks of the outer containers. Returns the spaces that belong after them. */
static size_t add_marks(ik_markdown_margin_t *margin, ik_markdown_rows_t *rows, size_t depth)
{
    size_t columns;
    size_t spaces = 0;
    size_t shown = count_shown(margin, rows, &columns);
    for (size_t i = 0; i < shown && i < depth; i++) {
        ik_markdown_container_t *container = &margin->containers[i];
        mark_t mark = mark_of(container);
        if (container->is_quote || !container->is_marked) {
            ik_markdown_rows_pad(rows, spaces);
            ik_row_add_role(&rows->row, mark.role, mark.text);
            spaces = 0;
            mark.columns = 1;
        }
        spaces += mark.columns;
    }
    return spaces;
}

static void set_marked(ik_markdown_margin_t *margin)
{
    for (size_t i = 0; i < margin->depth; i++) {
        margin->containers[i].is_marked = true;
    }
}

static bool has_mark(const ik_markdown_margin_t *margin)
{
    for (size_t i = 0; i < margin->depth; i++) {
        if (!margin->containers[i].is_quote && !margin->containers[i].is_marked) {
            return true;
        }
    }
    return false;
}

/* --- blocks ------------------------------------------------------------------------------ */

/* Whether no empty row separates the blocks: both are in one list, or a list follows a list. */
static bool is_close(const ik_markdown_margin_t *margin, size_t common)
{
    for (size_t i = 0; i < common; i++) {
        if (!margin->containers[i].is_quote) {
            return true;
        }
    }
    return common < margin->depth && common < margin->above_depth &&
           !margin->containers[common].is_quote && !margin->above[common].is_quote;
}

/* Emits the empty row above, with the bars of the quotes that both blocks are in. */
static void emit_gap(ik_markdown_margin_t *margin, ik_markdown_rows_t *rows, size_t common)
{
    ik_markdown_margin_t above = *margin;
    memcpy(above.containers, above.above, sizeof(above.containers));
    above.depth = above.above_depth;
    set_marked(&above);
    add_marks(&above, rows, common);
    ik_markdown_rows_emit(rows);
}

static void begin(ik_markdown_margin_t *margin, ik_markdown_rows_t *rows)
{
    if (margin->is_begun) {
        return;
    }
    size_t common = 0; /* containers shared with the previous block */
    while (common < margin->depth && common < margin->above_depth &&
           margin->containers[common].serial == margin->above[common].serial) {
        common++;
    }
    if (margin->has_above && (margin->has_gap || !is_close(margin, common))) {
        emit_gap(margin, rows, common);
    }
    memcpy(margin->above, margin->containers, sizeof(margin->above));
    margin->above_depth = margin->depth;
    margin->is_begun = margin->has_above = true;
    margin->has_gap = false;
}

void ik_markdown_margin_begin_block(ik_markdown_margin_t *margin)
{
    margin->is_begun = false;
}

void ik_markdown_margin_begin_row(ik_markdown_margin_t *margin, ik_markdown_rows_t *rows)
{
    begin(margin, rows);
    ik_markdown_rows_pad(rows, add_marks(margin, rows, margin->depth));
    set_marked(margin);
}

void ik_markdown_margin_begin_code(ik_markdown_margin_t *margin, ik_markdown_rows_t *rows)
{
    begin(margin, rows);
    if (has_mark(margin)) {
        add_marks(margin, rows, margin->depth);
        ik_markdown_rows_emit(rows);
        set_marked(margin);
    }
}

void ik_markdown_margin_leave(ik_markdown_margin_t *margin, size_t depth, ik_markdown_rows_t *rows)
{
    if (depth < margin->depth && has_mark(margin)) {
        ik_markdown_margin_begin_block(margin);
        ik_markdown_margin_begin_code(margin, rows);
    }
    margin->depth = depth;
}

ik_style_t ik_markdown_margin_style(const ik_markdown_margin_t *margin, const ik_theme_t *theme)
{
    bool quoted = false;
    for (size_t i = 0; i < margin->depth; i++) {
        quoted = quoted || margin->containers[i].is_quote;
    }
    return ik_theme_style(theme, quoted ? IK_ROLE_QUOTE : IK_ROLE_TEXT);
}
