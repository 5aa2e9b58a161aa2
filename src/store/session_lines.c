#include "store/session_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "base/width.h"
#include "conversation/figure.h"

enum { FOLDER_MAX = 40, ELASTIC_MIN = 8, TITLE_WANTED = 24, TITLE_MIN = 8, GAP = 2 };

typedef enum { ID, AGE, HOST, FOLDER, TURNS, MODEL, TOKENS, COST, TITLE, COLUMN_COUNT } column_t;

typedef struct {
    const char *head;
    bool right;   /* aligned to the right */
    bool elastic; /* shrinks for the title on a narrow terminal, and keeps its end */
    size_t width; /* 0: not shown */
} layout_t;

typedef struct {
    ik_figure_t age;
    ik_figure_t turns;
    ik_figure_t tokens;
    ik_figure_t cost;
    const char *cells[COLUMN_COUNT];
} row_t;

const char *ik_session_lines_folder(const void *ctx, const char *cwd)
{
    const char *home = getenv("HOME");
    size_t len = home == NULL ? 0 : strlen(home);
    if (len < 2 || strncmp(cwd, home, len) != 0 || (cwd[len] != '/' && cwd[len] != '\0')) {
        return cwd;
    }
    return ik_sprintf(ctx, "~%s", cwd + len);
}

static size_t width_of(const char *text)
{
    return ik_width(text, strlen(text));
}

/* --- the table --------------------------------------------------------------------------- */

typedef struct {
    row_t *rows; /* owns their texts, too */
    int64_t now_us;
    ik_holder_t self;
    bool with_folder;
} table_t;

static void fill_row(const table_t *table, row_t *row, const ik_store_session_t *session)
{
    const char *folder =
        table->with_folder ? ik_session_lines_folder(table->rows, session->cwd) : "";
    bool here = strcmp(session->host, table->self.host) == 0;
    row->age = ik_figure_of_age(session->updated_us, table->now_us);
    row->turns = ik_figure_of_count(session->turns);
    row->tokens = ik_figure_of_tokens(&session->usage);
    row->cost = ik_figure_of_cost(session->cost);
    row->cells[ID] = session->id;
    row->cells[AGE] = row->age.text;
    row->cells[HOST] = here ? "" : ik_sanitise_line(table->rows, session->host);
    row->cells[FOLDER] = ik_sanitise_line(table->rows, folder);
    row->cells[TURNS] = row->turns.text;
    row->cells[MODEL] = ik_sanitise_line(table->rows, session->model);
    row->cells[TOKENS] = row->tokens.text;
    row->cells[COST] = row->cost.text;
    row->cells[TITLE] = session->title;
}

/* A column is as wide as its widest cell; one whose cells are all empty is left out. */
static void measure(layout_t *layout, const row_t *rows, size_t count)
{
    for (int c = 0; c < TITLE; c++) {
        for (size_t i = 0; i < count; i++) {
            size_t width = width_of(rows[i].cells[c]);
            layout[c].width = width > layout[c].width ? width : layout[c].width;
        }
        size_t head = strlen(layout[c].head);
        if (layout[c].width > 0 && layout[c].width < head) {
            layout[c].width = head;
        }
    }
    if (layout[FOLDER].width > FOLDER_MAX) {
        layout[FOLDER].width = FOLDER_MAX;
    }
}

static size_t width_without_title(const layout_t *layout)
{
    size_t width = 0;
    for (int c = 0; c < TITLE; c++) {
        width += layout[c].width == 0 ? 0 : layout[c].width + GAP;
    }
    return width;
}

/* Makes the table fit the terminal, whose last column stays free. The title gets the rest; elastic
 * columns shrink if that is too little. */
static void fit(layout_t *layout, size_t terminal)
{
    for (int c = 0; c < TITLE; c++) {
        size_t missing = width_without_title(layout) + TITLE_WANTED + 1;
        missing = missing > terminal ? missing - terminal : 0;
        if (layout[c].elastic && layout[c].width > ELASTIC_MIN) {
            size_t spare = layout[c].width - ELASTIC_MIN;
            layout[c].width -= missing < spare ? missing : spare;
        }
    }
    size_t taken = width_without_title(layout) + 1;
    layout[TITLE].width = terminal > taken + TITLE_MIN ? terminal - taken : TITLE_MIN;
}

static void append_spaces(ik_buffer_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ik_buffer_append_byte(out, ' ');
    }
}

static void append_row(ik_buffer_t *out, const layout_t *layout, const char *const *cells)
{
    for (int c = 0; c < TITLE; c++) {
        const layout_t *column = &layout[c];
        if (column->width > 0) {
            append_spaces(out, column->right ? column->width - width_of(cells[c]) : 0);
            size_t used =
                ik_width_append(out, cells[c], column->width,
                                column->elastic ? IK_WIDTH_KEEP_END : IK_WIDTH_KEEP_START);
            append_spaces(out, (column->right ? 0 : column->width - used) + GAP);
        }
    }
    ik_width_append(out, cells[TITLE], layout[TITLE].width, IK_WIDTH_KEEP_START);
    while (out->data[out->len - 1] == ' ') {
        out->len--;
    }
    ik_buffer_append_byte(out, '\n');
}

char *ik_session_lines_table(const void *ctx, const ik_store_list_t *list, size_t columns,
                             bool with_folder)
{
    layout_t layout[COLUMN_COUNT] = {
        [ID] = {.head = "ID"},
        [AGE] = {.head = "AGE", .right = true},
        [HOST] = {.head = "HOST"},
        [FOLDER] = {.head = "FOLDER", .elastic = true},
        [TURNS] = {.head = "TURNS", .right = true},
        [MODEL] = {.head = "MODEL", .elastic = true},
        [TOKENS] = {.head = "TOKENS", .right = true},
        [COST] = {.head = "COST", .right = true},
        [TITLE] = {.head = "TITLE"},
    };
    const char *heads[COLUMN_COUNT];
    table_t table = {.rows = ik_new_array(ctx, row_t, list->count),
                     .now_us = ik_store_now_us(),
                     .self = ik_holder_self(),
                     .with_folder = with_folder};
    ik_buffer_t out;
    for (size_t i = 0; i < list->count; i++) {
        fill_row(&table, &table.rows[i], &list->sessions[i]);
    }
    measure(layout, table.rows, list->count);
    fit(layout, columns == 0 ? IK_WIDTH_UNLIMITED : columns);
    for (int c = 0; c < COLUMN_COUNT; c++) {
        heads[c] = layout[c].head;
    }
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the list */
    append_row(&out, layout, heads);
    for (size_t i = 0; i < list->count; i++) {
        append_row(&out, layout, table.rows[i].cells);
    }
    talloc_free(table.rows);
    return ik_buffer_finish(&out);
}

char *ik_session_lines_note(const void *ctx, const ik_store_session_t *session)
{
    void *scratch = talloc_new(NULL);
    const char *folder = ik_session_lines_folder(scratch, session->cwd);
    ik_figure_t age = ik_figure_of_age(session->updated_us, ik_store_now_us());
    char *note = ik_sprintf(
        ctx, "%s\t%s %s\t%s\t%s\t%.8s", age.text, ik_figure_of_count(session->turns).text,
        session->turns == 1 ? "turn" : "turns", ik_sanitise_line(scratch, folder),
        ik_sanitise_line(scratch, session->model), session->id);
    talloc_free(scratch);
    return note;
}

/* --- search hits ------------------------------------------------------------------------- */

/* The title comes last and gets the rest of the line. */
char *ik_session_lines_hit(const void *ctx, const ik_store_hit_t *hit, size_t columns)
{
    ik_buffer_t line;
    void *scratch = talloc_new(NULL);
    ik_figure_t age = ik_figure_of_age(hit->created_us, ik_store_now_us());
    ik_buffer_init(&line, ctx, IK_BUFFER_UNLIMITED); /* bounded by the hit */
    ik_buffer_append_format(&line, "%s  %s  ", hit->session_id, age.text);
    ik_width_append(&line, ik_session_lines_folder(scratch, hit->cwd), FOLDER_MAX,
                    IK_WIDTH_KEEP_END);
    ik_buffer_append_format(&line, "  %s  ", ik_sanitise_line(scratch, hit->kind));
    size_t used = ik_width(line.data, line.len) + 1;
    size_t all = columns == 0 ? IK_WIDTH_UNLIMITED : columns;
    ik_width_append(&line, hit->title, used < all ? all - used : 1, IK_WIDTH_KEEP_START);
    talloc_free(scratch);
    return ik_buffer_finish(&line);
}
