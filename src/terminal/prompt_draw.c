#include <stdio.h>
#include <string.h>

#include "base/width.h"
#include "terminal/choice_rows.h"
#include "terminal/prompt_state.h"

enum {
    SHOWN_MAX = 8,     /* rows of a list */
    NUMBERED_MAX = 12, /* rows of a numbered list, which is shown as a whole if there is room */
    INDENT = 2,        /* of a list */
    TEXT_MIN = 2,      /* columns of draft below which its mark is left out */
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

/* Adds an unsanitised text, cut to the row. */
static void add_cut(canvas_t *canvas, ik_role_t role, const char *text, ik_width_keep_t keep)
{
    ik_choice_rows_add(canvas->row, role, text, canvas->columns, canvas->columns, keep);
}

/* Adds spaces up to a column. */
static void pad(canvas_t *canvas, ik_role_t role, size_t column)
{
    ik_choice_rows_pad(canvas->row, role, canvas->columns, column);
}

/* --- lists ------------------------------------------------------------------------------- */

/* The visible lines of a list, and whether a row about the rest follows. */
typedef struct {
    size_t indices[NUMBERED_MAX];
    size_t count;
    size_t rest;
    bool has_rest_row;
} view_t;

static view_t make_view(ik_choice_t *choice, size_t shown_max, bool pending, int room)
{
    view_t view = {0};
    size_t all = ik_choice_count(choice);
    size_t max = room < 0 ? 0 : (size_t)room;
    size_t lines = at_most(at_most(all, shown_max), max);
    bool more = all > lines || pending;
    if (more && lines == max && lines > 1) {
        lines--;
    }
    view.count = ik_choice_show(choice, lines, view.indices);
    view.rest = all - view.count;
    view.has_rest_row = more && view.count < max;
    return view;
}

typedef enum { CUT_START = 1 << 0, NUMBERED = 1 << 1 } draw_flag_t;

/* rows[i] is the row with the index view->indices[i]. */
static void draw_view(canvas_t *canvas, const view_t *view, const ik_choice_row_t *rows,
                      size_t chosen, bool pending, draw_flag_t flags)
{
    bool numbered = (flags & NUMBERED) != 0;
    size_t indent = numbered ? INDENT + 2 + (view->count > 9) : INDENT;
    ik_choice_rows_t columns = ik_choice_rows_measure(rows, view->count, canvas->columns, indent);
    columns.cut_start = (flags & CUT_START) != 0;
    for (size_t i = 0; i < view->count; i++) {
        bool is_chosen = view->indices[i] == chosen;
        char mark[32];
        if (numbered) {
            snprintf(mark, sizeof(mark), "%s %zu", is_chosen ? "›" : " ", view->indices[i] + 1);
        } else {
            snprintf(mark, sizeof(mark), "%s", is_chosen ? "›" : "");
        }
        ik_choice_rows_draw(&columns, canvas->row, mark, &rows[i], is_chosen);
        finish_row(canvas);
    }
    if (view->has_rest_row) {
        char text[64] = "… looking";
        if (view->rest > 0) {
            snprintf(text, sizeof(text), "… %zu more%s", view->rest, pending ? " so far" : "");
        }
        pad(canvas, IK_ROLE_DIM, INDENT);
        add_cut(canvas, IK_ROLE_DIM, text, IK_WIDTH_KEEP_START);
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
        ik_style_t style = ik_theme_style(prompt->theme, IK_ROLE_MARK);
        bool reversed = ik_prompt_is_normal(prompt) && prompt->theme->escapes;
        style.bits ^= reversed ? IK_STYLE_REVERSE : 0;
        ik_row_add(canvas->row, style, prompt->mark, strlen(prompt->mark));
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
            add_cut(canvas, IK_ROLE_DIM, prompt->hint, IK_WIDTH_KEEP_START);
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
        snprintf(text, sizeof(text), "(%zu character%s)", characters, characters == 1 ? "" : "s");
    }
    add_cut(canvas, IK_ROLE_MARK, prompt->mark, IK_WIDTH_KEEP_START);
    add_cut(canvas, IK_ROLE_DIM, text, IK_WIDTH_KEEP_START);
    int column = canvas->row->width;
    finish_row(canvas);
    return (ik_prompt_drawing_t){.cursor_row = 0, .cursor_column = column};
}

static ik_prompt_drawing_t draw_edited(canvas_t *canvas, ik_prompt_t *prompt, int max_rows)
{
    ik_prompt_list_t *list = &prompt->list;
    view_t view = {0};
    if (ik_prompt_list_is_open(prompt)) {
        view = make_view(list->choice, SHOWN_MAX, list->found.pending, max_rows - 1);
    }
    ik_prompt_drawing_t drawing =
        draw_draft(canvas, prompt, max_rows - (int)view.count - view.has_rest_row);
    ik_choice_row_t rows[SHOWN_MAX];
    for (size_t i = 0; i < view.count; i++) {
        rows[i] = list->found.items[view.indices[i]];
    }
    draw_view(canvas, &view, rows, ik_choice_chosen(list->choice), list->found.pending,
              list->context.kind == IK_PROMPT_CONTEXT_FILE ? CUT_START : 0);
    return drawing;
}

/* --- searching --------------------------------------------------------------------------- */

static ik_prompt_drawing_t draw_search(canvas_t *canvas, ik_prompt_t *prompt, int max_rows)
{
    const ik_prompt_search_t *search = &prompt->search;
    view_t view = make_view(search->choice, search->numbered ? NUMBERED_MAX : SHOWN_MAX,
                            search->pending, max_rows - 1);
    const char *mark = search->chooses ? search->mark : search_mark;
    /* What was typed is seen in a narrow window, too. */
    size_t typed = ik_width(search->pattern.data, search->pattern.len) + 1;
    size_t room = canvas->columns - at_most(typed, canvas->columns / 2);
    ik_choice_rows_add(canvas->row, IK_ROLE_MARK, mark, canvas->columns, room, IK_WIDTH_KEEP_START);
    add_cut(canvas, IK_ROLE_TEXT, search->pattern.data, IK_WIDTH_KEEP_END);
    int column = canvas->row->width;
    if (ik_choice_count(search->choice) == 0 && !search->pending) {
        add_cut(canvas, IK_ROLE_DIM, "  nothing found", IK_WIDTH_KEEP_START);
    } else if (search->hint != NULL && search->pattern.len == 0) {
        add_cut(canvas, IK_ROLE_DIM, search->hint, IK_WIDTH_KEEP_START);
    }
    finish_row(canvas);
    ik_choice_row_t rows[NUMBERED_MAX];
    for (size_t i = 0; i < view.count; i++) {
        rows[i] = search->rows[view.indices[i]];
    }
    draw_view(canvas, &view, rows, ik_choice_chosen(search->choice), search->pending,
              search->numbered ? NUMBERED : 0);
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
