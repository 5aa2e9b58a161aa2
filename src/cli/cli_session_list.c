/* `ikigai session list`: all sessions, the last used first. Thousands of them are one table in one
 * buffer. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/print.h"
#include "cli/cli_figure.h"
#include "cli/cli_history.h"
#include "cli/cli_session.h"
#include "cli/cli_width.h"

enum { FOLDER_MAX = 40, ELASTIC_MIN = 8, TITLE_WANTED = 24, TITLE_MIN = 8, GAP = 2 };

typedef enum { ID, AGE, HOST, FOLDER, TURNS, MODEL, TOKENS, COST, TITLE, COLUMN_COUNT } column_t;

typedef struct {
    const char *head;
    bool right;   /* aligned there */
    bool elastic; /* gives way to the title on a narrow terminal; its end tells more */
    size_t width; /* 0: not shown */
} layout_t;

typedef struct {
    ik_cli_figure_t age;
    ik_cli_figure_t turns;
    ik_cli_figure_t tokens;
    ik_cli_figure_t cost;
    const char *cells[COLUMN_COUNT];
} row_t;

typedef struct {
    bool json;
    bool here;
    size_t limit;
} wish_t;

/* --- as a table -------------------------------------------------------------------------- */

static void fill_row(const void *ctx, row_t *row, const ik_store_session_t *session, int64_t now_us,
                     const char *host)
{
    row->age = ik_cli_figure_of_age(session->updated_us, now_us);
    row->turns = ik_cli_figure_of_count(session->turns);
    row->tokens = ik_cli_figure_of_tokens(&session->usage);
    row->cost = ik_cli_figure_of_cost(session->cost);
    row->cells[ID] = session->id;
    row->cells[AGE] = row->age.text;
    row->cells[HOST] = strcmp(session->host, host) == 0 ? "" : session->host;
    row->cells[FOLDER] = ik_cli_session_folder(ctx, session->cwd);
    row->cells[TURNS] = row->turns.text;
    row->cells[MODEL] = session->model;
    row->cells[TOKENS] = row->tokens.text;
    row->cells[COST] = row->cost.text;
    row->cells[TITLE] = session->title;
}

/* A column is as wide as its widest cell; one whose cells are all empty is left out. */
static void measure(layout_t *layout, const row_t *rows, size_t count)
{
    for (int c = 0; c < TITLE; c++) {
        for (size_t i = 0; i < count; i++) {
            size_t width = ik_cli_width(rows[i].cells[c]);
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

/* Makes the table fit the terminal, the last column of which stays free: the title gets what is
 * left, and takes from the elastic columns when that is little. */
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

static void append_cell(ik_buffer_t *out, const layout_t *column, const char *cell)
{
    append_spaces(out, column->right ? column->width - ik_cli_width(cell) : 0);
    size_t used = ik_cli_width_append(out, cell, column->width,
                                      column->elastic ? IK_CLI_KEEP_END : IK_CLI_KEEP_START);
    append_spaces(out, (column->right ? 0 : column->width - used) + GAP);
}

static void append_row(ik_buffer_t *out, const layout_t *layout, const char *const *cells)
{
    for (int c = 0; c < TITLE; c++) {
        if (layout[c].width > 0) {
            append_cell(out, &layout[c], cells[c]);
        }
    }
    ik_cli_width_append(out, cells[TITLE], layout[TITLE].width, IK_CLI_KEEP_START);
    while (out->data[out->len - 1] == ' ') {
        out->len--;
    }
    ik_buffer_append_byte(out, '\n');
}

static void print_table(const void *ctx, const ik_store_list_t *list)
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
    row_t *rows = ik_new_array(ctx, row_t, list->count);
    ik_holder_t self = ik_holder_self();
    int64_t now_us = ik_store_now_us();
    ik_buffer_t out;
    for (size_t i = 0; i < list->count; i++) {
        fill_row(ctx, &rows[i], &list->sessions[i], now_us, self.host);
    }
    measure(layout, rows, list->count);
    fit(layout, ik_cli_width_of_terminal());
    for (int c = 0; c < COLUMN_COUNT; c++) {
        heads[c] = layout[c].head;
    }
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    append_row(&out, layout, heads);
    for (size_t i = 0; i < list->count; i++) {
        append_row(&out, layout, rows[i].cells);
    }
    ik_print(stdout, out.data, out.len);
}

/* --- as JSON ----------------------------------------------------------------------------- */

/* An array with one session per line. */
static void print_json(const void *ctx, const ik_store_list_t *list)
{
    ik_buffer_t line;
    ik_buffer_init(&line, ctx, IK_BUFFER_UNLIMITED);
    puts("[");
    for (size_t i = 0; i < list->count; i++) {
        line.len = 0;
        ik_cli_session_add_facts(&line, &list->sessions[i]);
        ik_json_add_number(&line, "messages", list->sessions[i].messages);
        ik_buffer_append_text(&line, i + 1 < list->count ? "}," : "}");
        ik_print_json(stdout, line.data, line.len);
    }
    puts("]");
}

/* --- the command ------------------------------------------------------------------------- */

static res_t list_sessions(ik_cli_t *cli, ik_history_t *history, void *data)
{
    const wish_t *wish = data;
    ik_store_filter_t filter = {
        .cwd = wish->here ? cli->paths->cwd : NULL, .limit = wish->limit, .uncounted = !wish->json};
    ik_store_list_t *list;
    TRY(ik_history_list(cli->ctx, history, &filter, &list));
    if (wish->json) {
        print_json(cli->ctx, list);
    } else if (list->count > 0) {
        print_table(cli->ctx, list);
    } else {
        fprintf(stderr, "No sessions%s yet.\n", wish->here ? " in this folder" : "");
    }
    return OK;
}

static int run_list(ik_cli_t *cli, const ik_cli_args_t *args)
{
    wish_t wish = {.json = ik_cli_args_has(args, "--json"),
                   .here = ik_cli_args_has(args, "--here")};
    res_t valid = ik_cli_args_number(args, "--limit", &wish.limit);
    if (is_err(&valid)) {
        return ik_cli_misuse(args->command, valid.message);
    }
    return ik_cli_history_run(cli, args, list_sessions, &wish);
}

const ik_cli_command_t ik_cli_session_list = {
    .name = "session list",
    .usage = "[--here] [--limit N] [--json] [--db URL]",
    .help = "Lists the sessions, the last used first. --here: only those of this folder.",
    .options = "--here --json",
    .value_options = "--limit --db",
    .run = run_list,
};
