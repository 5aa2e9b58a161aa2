/*
 * A terminal without a window: libvterm, asked line by line on standard input.
 *
 *   vterm_driver COLUMNS ROWS
 *
 *   feed HEX             bytes a program printed
 *   resize COLUMNS ROWS  what is wider is cut: this terminal does not reflow
 *   dump KNOWN           {"known": N, "scrollback": [row…], "screen": [row…],
 *                         "cursor": [row, column], "visible": bool, "alternate": bool,
 *                         "title": "…", "bells": N}; the scrollback without its first N rows,
 *                        which are as they were in an earlier dump; at most KNOWN
 *   cell ROW COLUMN      {"text": "…", "bold": bool, …, "fg": colour, "bg": colour}; a negative row
 *                        is one of the scrollback, -1 the last. A colour is null (the terminal's
 *                        own), a number (of the palette) or [red, green, blue]
 *   styles               {"runs": [[row, "bold fg=4", "text"]…]}: the runs of cells on the screen
 * that have a style
 *
 * Every command is answered by one line: {} or what it says above. Rows end with their last
 * character that is no space. The program ends with its standard input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vterm.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"

typedef struct {
    VTermScreenCell *cells;
    int columns;
} line_t;

typedef struct {
    VTerm *vterm;
    VTermScreen *screen;
    line_t *scrollback;
    size_t count;
    size_t capacity;
    size_t unchanged; /* rows of the scrollback since the last dump */
    int rows;
    int columns;
    VTermPos cursor;
    bool visible;
    bool alternate;
    char *title;
    int bells;
} terminal_t;

/* ---- what libvterm tells */

static int on_push(int columns, const VTermScreenCell *cells, void *user)
{
    terminal_t *terminal = user;
    if (terminal->count == terminal->capacity) {
        terminal->capacity = terminal->capacity == 0 ? 1024 : terminal->capacity * 2;
        terminal->scrollback =
            ik_resize_array(terminal, terminal->scrollback, line_t, terminal->capacity);
    }
    line_t *line = &terminal->scrollback[terminal->count++];
    line->columns = columns;
    line->cells = ik_new_array(terminal, VTermScreenCell, (size_t)columns);
    memcpy(line->cells, cells, sizeof(*cells) * (size_t)columns);
    return 1;
}

static int on_pop(int columns, VTermScreenCell *cells, void *user)
{
    terminal_t *terminal = user;
    if (terminal->count == 0) {
        return 0;
    }
    line_t *line = &terminal->scrollback[--terminal->count];
    for (int i = 0; i < columns; i++) {
        cells[i] = i < line->columns ? line->cells[i] : (VTermScreenCell){.width = 1};
    }
    talloc_free(line->cells);
    if (terminal->unchanged > terminal->count) {
        terminal->unchanged = terminal->count;
    }
    return 1;
}

static int on_cursor(VTermPos position, VTermPos old, int visible, void *user)
{
    (void)old;
    (void)visible;
    ((terminal_t *)user)->cursor = position;
    return 1;
}

static int on_property(VTermProp property, VTermValue *value, void *user)
{
    terminal_t *terminal = user;
    if (property == VTERM_PROP_CURSORVISIBLE) {
        terminal->visible = value->boolean;
    } else if (property == VTERM_PROP_ALTSCREEN) {
        terminal->alternate = value->boolean;
    } else if (property == VTERM_PROP_TITLE) {
        talloc_free(terminal->title);
        terminal->title = ik_strdup(terminal, value->string);
    }
    return 1;
}

static int on_bell(void *user)
{
    ((terminal_t *)user)->bells++;
    return 1;
}

static const VTermScreenCallbacks callbacks = {
    .movecursor = on_cursor,
    .settermprop = on_property,
    .bell = on_bell,
    .sb_pushline = on_push,
    .sb_popline = on_pop,
};

/* ---- answers */

static bool is_second_half(const VTermScreenCell *cell)
{
    return cell->chars[0] == (uint32_t)-1;
}

static void append_cell(ik_buffer_t *out, const VTermScreenCell *cell)
{
    if (cell->chars[0] == 0) {
        ik_buffer_append_byte(out, ' ');
    }
    for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell->chars[i] != 0; i++) {
        char bytes[4];
        ik_buffer_append(out, bytes, ik_utf8_encode(bytes, cell->chars[i]));
    }
}

static VTermScreenCell cell_at(const terminal_t *terminal, int row, int column)
{
    VTermScreenCell cell = {.width = 1};
    if (row >= 0) {
        vterm_screen_get_cell(terminal->screen, (VTermPos){row, column}, &cell);
    } else if ((size_t)-row <= terminal->count) {
        const line_t *line = &terminal->scrollback[terminal->count - (size_t)-row];
        cell = column < line->columns ? line->cells[column] : cell;
    }
    return cell;
}

static json_t *row_text(const terminal_t *terminal, int row, int columns)
{
    ik_buffer_t text;
    ik_buffer_init(&text, terminal, IK_BUFFER_UNLIMITED);
    for (int column = 0; column < columns; column++) {
        VTermScreenCell cell = cell_at(terminal, row, column);
        if (!is_second_half(&cell)) {
            append_cell(&text, &cell);
        }
    }
    while (text.len > 0 && text.data[text.len - 1] == ' ') {
        text.len--;
    }
    json_t *string = json_stringn(text.data == NULL ? "" : text.data, text.len);
    ik_buffer_reset(&text);
    return string;
}

static json_t *rows_between(const terminal_t *terminal, int first, int end)
{
    json_t *rows = json_array();
    for (int row = first; row < end; row++) {
        int columns = row >= 0 ? terminal->columns
                               : terminal->scrollback[terminal->count - (size_t)-row].columns;
        json_array_append_new(rows, row_text(terminal, row, columns));
    }
    return rows;
}

static json_t *dump(terminal_t *terminal, size_t known)
{
    size_t from = known < terminal->unchanged ? known : terminal->unchanged;
    terminal->unchanged = terminal->count;
    return json_pack("{si so so s[ii] sb sb ss si}", "known", (int)from, "scrollback",
                     rows_between(terminal, (int)from - (int)terminal->count, 0), "screen",
                     rows_between(terminal, 0, terminal->rows), "cursor", terminal->cursor.row,
                     terminal->cursor.col, "visible", terminal->visible, "alternate",
                     terminal->alternate, "title", terminal->title, "bells", terminal->bells);
}

static json_t *colour(const VTermColor *value, bool is_default)
{
    if (is_default) {
        return json_null();
    }
    if (VTERM_COLOR_IS_INDEXED(value)) {
        return json_integer(value->indexed.idx);
    }
    return json_pack("[iii]", value->rgb.red, value->rgb.green, value->rgb.blue);
}

static json_t *describe_cell(const terminal_t *terminal, int row, int column)
{
    VTermScreenCell cell = cell_at(terminal, row, column);
    ik_buffer_t text;
    ik_buffer_init(&text, terminal, IK_BUFFER_UNLIMITED);
    if (!is_second_half(&cell)) {
        append_cell(&text, &cell);
    }
    json_t *answer =
        json_pack("{ss% sb sb sb sb sb so so}", "text", text.data == NULL ? "" : text.data,
                  text.len, "bold", cell.attrs.bold, "underline", cell.attrs.underline != 0,
                  "italic", cell.attrs.italic, "reverse", cell.attrs.reverse, "strike",
                  cell.attrs.strike, "fg", colour(&cell.fg, VTERM_COLOR_IS_DEFAULT_FG(&cell.fg)),
                  "bg", colour(&cell.bg, VTERM_COLOR_IS_DEFAULT_BG(&cell.bg)));
    ik_buffer_reset(&text);
    return answer;
}

static void append_colour(ik_buffer_t *out, const char *name, const VTermColor *value)
{
    if (VTERM_COLOR_IS_DEFAULT_FG(value) || VTERM_COLOR_IS_DEFAULT_BG(value)) {
        return;
    }
    if (VTERM_COLOR_IS_INDEXED(value)) {
        ik_buffer_append_format(out, " %s=%d", name, value->indexed.idx);
    } else {
        ik_buffer_append_format(out, " %s=#%02x%02x%02x", name, value->rgb.red, value->rgb.green,
                                value->rgb.blue);
    }
}

/* The style of a cell in words, each after a space. */
static char *style_of(const terminal_t *terminal, const VTermScreenCell *cell)
{
    ik_buffer_t out;
    ik_buffer_init(&out, terminal, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&out, cell->attrs.bold ? " bold" : "");
    ik_buffer_append_text(&out, cell->attrs.italic ? " italic" : "");
    ik_buffer_append_text(&out, cell->attrs.underline != 0 ? " underline" : "");
    ik_buffer_append_text(&out, cell->attrs.strike ? " strike" : "");
    ik_buffer_append_text(&out, cell->attrs.reverse ? " reverse" : "");
    append_colour(&out, "fg", &cell->fg);
    append_colour(&out, "bg", &cell->bg);
    return ik_buffer_finish(&out);
}

static void add_run(json_t *runs, int row, const char *style, const ik_buffer_t *text)
{
    if (*style != '\0' && text->len > 0) {
        json_array_append_new(runs, json_pack("[iss%]", row, style + 1, text->data, text->len));
    }
}

static void add_styles(const terminal_t *terminal, int row, json_t *runs)
{
    char *style = ik_strdup(terminal, "");
    ik_buffer_t text;
    ik_buffer_init(&text, terminal, IK_BUFFER_UNLIMITED);
    for (int column = 0; column < terminal->columns; column++) {
        VTermScreenCell cell = cell_at(terminal, row, column);
        if (is_second_half(&cell)) {
            continue;
        }
        char *next = style_of(terminal, &cell);
        if (strcmp(next, style) != 0) {
            add_run(runs, row, style, &text);
            ik_buffer_reset(&text);
        }
        talloc_free(style);
        style = next;
        append_cell(&text, &cell);
    }
    add_run(runs, row, style, &text);
    ik_buffer_reset(&text);
    talloc_free(style);
}

static json_t *describe_styles(const terminal_t *terminal)
{
    json_t *runs = json_array();
    for (int row = 0; row < terminal->rows; row++) {
        add_styles(terminal, row, runs);
    }
    return json_pack("{so}", "runs", runs);
}

/* ---- commands */

static void feed(terminal_t *terminal, const char *hex)
{
    size_t count = strlen(hex) / 2;
    char *bytes = ik_new_array(terminal, char, count + 1);
    for (size_t i = 0; i < count; i++) {
        unsigned value = 0;
        sscanf(hex + i * 2, "%2x", &value);
        bytes[i] = (char)value;
    }
    vterm_input_write(terminal->vterm, bytes, count);
    vterm_screen_flush_damage(terminal->screen);
    talloc_free(bytes);
}

static void resize(terminal_t *terminal, int columns, int rows)
{
    terminal->columns = columns;
    terminal->rows = rows;
    vterm_set_size(terminal->vterm, rows, columns);
    vterm_screen_flush_damage(terminal->screen);
}

static json_t *obey(terminal_t *terminal, char *line)
{
    int first = 0;
    int second = 0;
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "feed ", 5) == 0) {
        feed(terminal, line + 5);
    } else if (sscanf(line, "resize %d %d", &first, &second) == 2) {
        resize(terminal, first, second);
    } else if (sscanf(line, "cell %d %d", &first, &second) == 2) {
        return describe_cell(terminal, first, second);
    } else if (strcmp(line, "styles") == 0) {
        return describe_styles(terminal);
    } else if (sscanf(line, "dump %d", &first) == 1) {
        return dump(terminal, (size_t)first);
    } else {
        return json_pack("{ss}", "error", "no such command");
    }
    return json_object();
}

static terminal_t *open_terminal(int columns, int rows)
{
    terminal_t *terminal = ik_new(NULL, terminal_t);
    terminal->columns = columns;
    terminal->rows = rows;
    terminal->visible = true;
    terminal->title = ik_strdup(terminal, "");
    terminal->vterm = vterm_new(rows, columns);
    vterm_set_utf8(terminal->vterm, 1);
    terminal->screen = vterm_obtain_screen(terminal->vterm);
    vterm_screen_enable_altscreen(terminal->screen, 1);
    vterm_screen_set_callbacks(terminal->screen, &callbacks, terminal);
    vterm_screen_reset(terminal->screen, 1);
    return terminal;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: vterm_driver COLUMNS ROWS\n");
        return 2;
    }
    terminal_t *terminal = open_terminal(atoi(argv[1]), atoi(argv[2]));
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, stdin) > 0) {
        json_t *answer = obey(terminal, line);
        json_dumpf(answer, stdout, JSON_COMPACT);
        putchar('\n');
        fflush(stdout);
        json_decref(answer);
    }
    free(line);
    vterm_free(terminal->vterm);
    talloc_free(terminal);
    return 0;
}
