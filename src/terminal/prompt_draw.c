#include <stdio.h>
#include <string.h>

#include "base/width.h"
#include "terminal/prompt_state.h"

enum {
    SHOWN_MAX = 8, /* rows of a list */
    INDENT = 2,    /* of a list */
    BETWEEN = 2,   /* columns between a text and its note */
    TEXT_MIN = 2,  /* columns of draft below which its mark is left out */
};

static const char search_mark[] = "search: ";

/* --- rows -------------------------------------------------------------------------------- */

typedef struct {
    ik_row_t *row;
    size_t columns; /* usable */
    ik_prompt_row_fn on_row;
    void *data;
    int drawn;
} canvas_t;

static void finish_row(canvas_t *canvas)
{
    ik_row_end(canvas->row);
    const ik_buffer_t *bytes = &canvas->row->bytes;
    canvas->on_row(canvas->data, bytes->len == 0 ? "" : bytes->data, bytes->len);
    canvas->drawn++;
    ik_row_clear(canvas->row);
}

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Adds an unsanitised text, cut to at most max columns. */
static void add_cut(canvas_t *canvas, ik_role_t role, const char *text, size_t max,
                    ik_width_keep_t keep)
{
    ik_buffer_t cut;
    size_t used = (size_t)canvas->row->width;
    size_t room = used < canvas->columns ? canvas->columns - used : 0;
    ik_buffer_init(&cut, NULL, IK_BUFFER_UNLIMITED); /* bounded by the columns */
    ik_buffer_reserve(&cut, 0);
    ik_width_append(&cut, text, at_most(max, room), keep);
    ik_row_add_role(canvas->row, role, cut.data);
    ik_buffer_reset(&cut);
}

/* Adds spaces up to a column. */
static void pad(canvas_t *canvas, ik_role_t role, size_t column)
{
    size_t to = at_most(column, canvas->columns);
    if ((size_t)canvas->row->width < to) {
        ik_row_add_format(canvas->row, role, "%*s", (int)to - canvas->row->width, "");
    }
}

/* --- lists ------------------------------------------------------------------------------- */

/* The visible lines of a list, and whether a row about the rest follows. */
typedef struct {
    size_t indices[SHOWN_MAX];
    size_t count;
    size_t rest;
    bool has_rest_row;
} view_t;

static view_t make_view(ik_choice_t *choice, bool pending, int room)
{
    view_t view = {0};
    size_t all = ik_choice_count(choice);
    size_t max = room < 0 ? 0 : (size_t)room;
    size_t lines = at_most(at_most(all, SHOWN_MAX), max);
    bool more = all > lines || pending;
    if (more && lines == max && lines > 1) {
        lines--;
    }
    view.count = ik_choice_show(choice, lines, view.indices);
    view.rest = all - view.count;
    view.has_rest_row = more && view.count < max;
    return view;
}

static void draw_line(canvas_t *canvas, const ik_completion_t *line, size_t note_column,
                      bool chosen, ik_width_keep_t keep)
{
    ik_role_t role = chosen ? IK_ROLE_CHOSEN : IK_ROLE_TEXT;
    pad(canvas, role, INDENT);
    add_cut(canvas, role, line->text, note_column - INDENT - BETWEEN, keep);
    if (line->note != NULL) {
        ik_role_t note_role = chosen ? IK_ROLE_CHOSEN : IK_ROLE_DIM;
        pad(canvas, note_role, note_column);
        add_cut(canvas, note_role, line->note, canvas->columns, IK_WIDTH_KEEP_START);
    }
    finish_row(canvas);
}

/* lines[i] is the line with the index view->indices[i]. */
static void draw_view(canvas_t *canvas, const view_t *view, const ik_completion_t *lines,
                      size_t chosen, bool pending, ik_width_keep_t keep)
{
    size_t longest = 0;
    bool notes = false;
    for (size_t i = 0; i < view->count; i++) {
        size_t columns = ik_width(lines[i].text, strlen(lines[i].text));
        longest = columns > longest ? columns : longest;
        notes = notes || lines[i].note != NULL;
    }
    /* Notes start after the longest text, but get at least a third of the row. */
    size_t limit = notes ? canvas->columns * 2 / 3 : canvas->columns;
    size_t note_column = INDENT + at_most(longest, limit) + BETWEEN;
    for (size_t i = 0; i < view->count; i++) {
        draw_line(canvas, &lines[i], note_column, view->indices[i] == chosen, keep);
    }
    if (view->has_rest_row) {
        char text[64] = "… looking";
        if (view->rest > 0) {
            snprintf(text, sizeof(text), "… %zu more%s", view->rest, pending ? " so far" : "");
        }
        pad(canvas, IK_ROLE_DIM, INDENT);
        add_cut(canvas, IK_ROLE_DIM, text, canvas->columns, IK_WIDTH_KEEP_START);
        finish_row(canvas);
    }
}

/* --- draft and completions --------------------------------------------------------------- */

/* Draws the mark before the draft, or an arrow where rows above or below are hidden. */
static void draw_margin(canvas_t *canvas, const ik_prompt_t *prompt,
                        const ik_editor_layout_t *layout, int index, size_t indent)
{
    bool up = index == 0 && layout->above;
    bool down = index == layout->rows - 1 && layout->below && index > 0;
    if (indent == 0) {
        return;
    }
    if (up || down) {
        ik_row_add_role(canvas->row, IK_ROLE_DIM, up ? "↑" : "↓");
    } else if (index == 0) {
        ik_row_add_role(canvas->row, IK_ROLE_MARK, prompt->mark);
    }
    pad(canvas, IK_ROLE_TEXT, indent);
}

static ik_prompt_drawing_t draw_draft(canvas_t *canvas, ik_prompt_t *prompt, int max_rows)
{
    size_t mark = ik_width(prompt->mark, strlen(prompt->mark));
    size_t indent = mark + TEXT_MIN <= canvas->columns ? mark : 0;
    ik_editor_layout_t layout =
        ik_editor_layout(prompt->editor, (int)(canvas->columns - indent), max_rows);
    for (int i = 0; i < layout.rows; i++) {
        draw_margin(canvas, prompt, &layout, i, indent);
        ik_editor_draw(prompt->editor, i, canvas->row);
        if (ik_prompt_is_empty(prompt) && prompt->hint != NULL) {
            add_cut(canvas, IK_ROLE_DIM, prompt->hint, canvas->columns, IK_WIDTH_KEEP_START);
        }
        finish_row(canvas);
    }
    return (ik_prompt_drawing_t){
        .cursor_row = layout.cursor_row,
        .cursor_column = (int)indent + layout.cursor_column,
    };
}

/* Shows how long the answer is, and none of its characters. */
static ik_prompt_drawing_t draw_secret(canvas_t *canvas, ik_prompt_t *prompt)
{
    size_t characters = ik_prompt_secret_characters(prompt);
    char text[64] = "";
    if (characters > 0) {
        snprintf(text, sizeof(text), "(%zu character%s, hidden)", characters,
                 characters == 1 ? "" : "s");
    }
    add_cut(canvas, IK_ROLE_MARK, prompt->mark, canvas->columns, IK_WIDTH_KEEP_START);
    add_cut(canvas, IK_ROLE_DIM, text, canvas->columns, IK_WIDTH_KEEP_START);
    int column = canvas->row->width;
    finish_row(canvas);
    return (ik_prompt_drawing_t){.cursor_row = 0, .cursor_column = column};
}

static ik_prompt_drawing_t draw_edited(canvas_t *canvas, ik_prompt_t *prompt, int max_rows)
{
    ik_prompt_list_t *list = &prompt->list;
    view_t view = {0};
    if (ik_prompt_list_is_open(prompt)) {
        view = make_view(list->choice, list->found.pending, max_rows - 1);
    }
    ik_prompt_drawing_t drawing =
        draw_draft(canvas, prompt, max_rows - (int)view.count - view.has_rest_row);
    ik_completion_t lines[SHOWN_MAX];
    for (size_t i = 0; i < view.count; i++) {
        lines[i] = list->found.items[view.indices[i]];
    }
    bool paths = list->context.kind == IK_PROMPT_CONTEXT_FILE;
    draw_view(canvas, &view, lines, ik_choice_chosen(list->choice), list->found.pending,
              paths ? IK_WIDTH_KEEP_END : IK_WIDTH_KEEP_START);
    return drawing;
}

/* --- searching --------------------------------------------------------------------------- */

static ik_prompt_drawing_t draw_search(canvas_t *canvas, ik_prompt_t *prompt, int max_rows)
{
    const ik_prompt_search_t *search = &prompt->search;
    view_t view = make_view(search->choice, false, max_rows - 1);
    const char *mark = search->mark == NULL ? search_mark : search->mark;
    add_cut(canvas, IK_ROLE_MARK, mark, canvas->columns, IK_WIDTH_KEEP_START);
    add_cut(canvas, IK_ROLE_TEXT, search->pattern.data, canvas->columns, IK_WIDTH_KEEP_END);
    int column = canvas->row->width;
    if (view.count == 0) {
        add_cut(canvas, IK_ROLE_DIM, "  nothing found", canvas->columns, IK_WIDTH_KEEP_START);
    }
    finish_row(canvas);
    ik_completion_t lines[SHOWN_MAX];
    for (size_t i = 0; i < view.count; i++) {
        size_t index = view.indices[i];
        lines[i] = search->items == NULL ? (ik_completion_t){.text = search->texts[index]}
                                         : search->items[index];
    }
    draw_view(canvas, &view, lines, ik_choice_chosen(search->choice), false, IK_WIDTH_KEEP_START);
    return (ik_prompt_drawing_t){.cursor_row = 0, .cursor_column = column};
}

ik_prompt_drawing_t ik_prompt_draw(ik_prompt_t *prompt, int columns, int max_rows,
                                   ik_prompt_row_fn on_row, void *data)
{
    canvas_t canvas = {
        .row = &prompt->row,
        .columns = columns > 2 ? (size_t)(columns - 1) : 1,
        .on_row = on_row,
        .data = data,
    };
    ik_row_clear(&prompt->row);
    ik_prompt_drawing_t drawing = prompt->secret != NULL ? draw_secret(&canvas, prompt)
                                  : prompt->search.open  ? draw_search(&canvas, prompt, max_rows)
                                                         : draw_edited(&canvas, prompt, max_rows);
    drawing.rows = canvas.drawn;
    return drawing;
}
