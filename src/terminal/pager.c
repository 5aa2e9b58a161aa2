#include "terminal/pager.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/sanitiser.h"
#include "base/width.h"
#include "terminal/key_help.h"
#include "terminal/pager_search.h"
#include "terminal/sheet.h"

enum {
    PATTERN_MAX = 512,
    HELP_SPACES = 4, /* around the keys */
};

typedef enum { READING, TYPING, HELPING } page_mode_t;

struct ik_pager {
    const ik_theme_t *theme;
    char *title;
    int columns;
    int rows;
    ik_pager_parts_t *parts;
    ik_pager_search_t *search;
    bool empty;           /* there is no line at all */
    ik_pager_place_t top; /* the first line shown */
    page_mode_t mode;
    bool closed;
    ik_pager_direction_t direction; /* of the search that is typed, or was the last */
    bool searching;
    bool turned; /* the search under way goes the other way */
    bool has_match;
    ik_pager_place_t match; /* found last, unless the reader went elsewhere since */
    ik_buffer_t input;      /* what is typed */
    char *message;          /* until the next key; or NULL */
};

/* --- moving ------------------------------------------------------------------------------ */

/* Lines of text that are shown. */
static ptrdiff_t page(const ik_pager_t *pager)
{
    return pager->rows > 1 ? pager->rows - 1 : 1;
}

static bool is_at_end(ik_pager_t *pager)
{
    ik_pager_place_t place = pager->top;
    return pager->empty ||
           ik_pager_parts_move(pager->parts, &place, page(pager)) < (size_t)page(pager);
}

/* The last line stands in the last row, if there are as many lines. */
static void fill_page(ik_pager_t *pager)
{
    ik_pager_place_t place = pager->top;
    size_t below = ik_pager_parts_move(pager->parts, &place, page(pager) - 1);
    ik_pager_parts_move(pager->parts, &pager->top, (ptrdiff_t)below - (page(pager) - 1));
}

static void go_to_begin(ik_pager_t *pager)
{
    pager->empty = !ik_pager_parts_first(pager->parts, &pager->top);
    pager->has_match = false;
}

static void go_to_end(ik_pager_t *pager)
{
    pager->empty = !ik_pager_parts_last(pager->parts, &pager->top);
    pager->has_match = false;
    if (!pager->empty) {
        fill_page(pager);
    }
}

static void scroll(ik_pager_t *pager, ptrdiff_t lines)
{
    pager->has_match = false;
    if (!pager->empty) {
        ik_pager_parts_move(pager->parts, &pager->top, lines);
        fill_page(pager);
    }
}

static void go_line_on(ik_pager_t *pager)
{
    scroll(pager, 1);
}

static void go_line_back(ik_pager_t *pager)
{
    scroll(pager, -1);
}

static void go_page_on(ik_pager_t *pager)
{
    scroll(pager, page(pager));
}

static void go_page_back(ik_pager_t *pager)
{
    scroll(pager, -page(pager));
}

static void go_half_on(ik_pager_t *pager)
{
    scroll(pager, (page(pager) + 1) / 2);
}

static void go_half_back(ik_pager_t *pager)
{
    scroll(pager, -(page(pager) + 1) / 2);
}

/* --- searching --------------------------------------------------------------------------- */

static void set_message(ik_pager_t *pager, const char *message, const char *pattern)
{
    talloc_free(pager->message);
    pager->message = ik_sprintf(pager, "%s%s", message, pattern);
}

static void show_match(ik_pager_t *pager, const ik_pager_place_t *found)
{
    pager->top = *found;
    fill_page(pager);
    pager->match = *found;
    pager->has_match = true;
}

static ik_pager_direction_t search_direction(const ik_pager_t *pager)
{
    return pager->turned ? (ik_pager_direction_t)-pager->direction : pager->direction;
}

void ik_pager_continue(ik_pager_t *pager)
{
    ik_pager_place_t found;
    if (!pager->searching) {
        return;
    }
    ik_pager_outcome_t outcome = ik_pager_search_continue(pager->search, &found);
    pager->searching = outcome == IK_PAGER_SEARCH_GOES_ON;
    if (outcome == IK_PAGER_SEARCH_IN_VAIN) {
        set_message(pager, "Not found: ", ik_pager_search_pattern(pager->search));
    } else if (!pager->searching) {
        show_match(pager, &found);
    }
    if (outcome == IK_PAGER_SEARCH_FOUND_ROUND) {
        bool on = search_direction(pager) == IK_PAGER_ON;
        set_message(pager, on ? "From the beginning again" : "From the end again", "");
    }
}

bool ik_pager_is_searching(const ik_pager_t *pager)
{
    return pager->searching;
}

static void start_search(ik_pager_t *pager, const ik_pager_place_t *from, bool with_it)
{
    pager->searching = !pager->empty;
    ik_pager_search_start(pager->search, from, with_it, search_direction(pager));
    ik_pager_continue(pager);
}

/* All that is shown counts. */
static void search_from_screen(ik_pager_t *pager)
{
    ik_pager_place_t from = pager->top;
    pager->turned = false;
    if (!pager->empty && pager->direction == IK_PAGER_BACK) {
        ik_pager_parts_move(pager->parts, &from, page(pager) - 1);
    }
    start_search(pager, &from, true);
}

static void search_again(ik_pager_t *pager, bool turned)
{
    ik_pager_place_t from = pager->has_match ? pager->match : pager->top;
    if (ik_pager_search_pattern(pager->search) == NULL) {
        set_message(pager, "Nothing was searched for yet", "");
        return;
    }
    pager->turned = turned;
    start_search(pager, &from, false);
}

static void search_next(ik_pager_t *pager)
{
    search_again(pager, false);
}

static void search_previous(ik_pager_t *pager)
{
    search_again(pager, true);
}

/* --- typing a pattern -------------------------------------------------------------------- */

static void set_input_length(ik_pager_t *pager, size_t len)
{
    pager->input.len = len;
    if (pager->input.data != NULL) {
        pager->input.data[len] = '\0';
    }
}

static void start_typing(ik_pager_t *pager, ik_pager_direction_t direction)
{
    pager->mode = TYPING;
    pager->direction = direction;
    set_input_length(pager, 0);
}

static void type_on(ik_pager_t *pager)
{
    start_typing(pager, IK_PAGER_ON);
}

static void type_back(ik_pager_t *pager)
{
    start_typing(pager, IK_PAGER_BACK);
}

/* Nothing typed means the pattern there was. */
static void submit(ik_pager_t *pager)
{
    pager->mode = READING;
    if (pager->input.len > 0) {
        ik_pager_search_set_pattern(pager->search, pager->input.data);
    }
    if (ik_pager_search_pattern(pager->search) != NULL) {
        search_from_screen(pager);
    }
}

static void erase_character(ik_pager_t *pager)
{
    if (pager->input.len == 0) {
        pager->mode = READING;
    } else {
        set_input_length(pager, ik_width_step_back(pager->input.data, pager->input.len));
    }
}

static void type_text(ik_pager_t *pager, const char *text, size_t len)
{
    char *copy = ik_strndup(pager, text, len);
    char *line = ik_sanitise_line(pager, copy);
    if (pager->input.len + strlen(line) <= PATTERN_MAX) {
        ik_buffer_append_text(&pager->input, line);
    }
    talloc_free(line);
    talloc_free(copy);
}

static bool is_control(const ik_key_t *key, uint32_t code)
{
    return key->kind == IK_KEY_CHAR && key->modifiers == IK_KEY_CTRL && key->code == code;
}

static void type_key(ik_pager_t *pager, const ik_key_t *key)
{
    switch (key->kind) {
    case IK_KEY_TEXT:
    case IK_KEY_PASTE:
        type_text(pager, key->text, key->len);
        break;
    case IK_KEY_ENTER:
        submit(pager);
        break;
    case IK_KEY_BACKSPACE:
        erase_character(pager);
        break;
    case IK_KEY_ESCAPE:
        pager->mode = READING;
        break;
    default:
        if (is_control(key, 'u')) {
            set_input_length(pager, 0);
        } else if (is_control(key, 'c') || is_control(key, 'g')) {
            pager->mode = READING;
        }
    }
}

/* --- keys -------------------------------------------------------------------------------- */

static void start_help(ik_pager_t *pager)
{
    pager->mode = HELPING;
}

static void close_pager(ik_pager_t *pager)
{
    pager->closed = true;
}

enum { KEYS_MAX = 5 };

typedef struct {
    void (*act)(ik_pager_t *pager);
    const char *does;
    ik_binding_t keys[KEYS_MAX];
} command_t;

static const command_t commands[] = {
    {go_line_on, "a line on",
     .keys = {IK_BINDING_TYPED('j'), IK_BINDING(DOWN), IK_BINDING(ENTER), IK_BINDING_CTRL('n'),
              IK_BINDING_CTRL('e')}},
    {go_line_back, "a line back",
     .keys = {IK_BINDING_TYPED('k'), IK_BINDING(UP), IK_BINDING_CTRL('p'), IK_BINDING_CTRL('y')}},
    {go_page_on, "a page on",
     .keys = {IK_BINDING_TYPED(' '), IK_BINDING_TYPED('f'), IK_BINDING(PAGE_DOWN),
              IK_BINDING_CTRL('f'), IK_BINDING_CTRL('v')}},
    {go_page_back, "a page back",
     .keys = {IK_BINDING_TYPED('b'), IK_BINDING(PAGE_UP), IK_BINDING_CTRL('b')}},
    {go_half_on, "half a page on", .keys = {IK_BINDING_TYPED('d'), IK_BINDING_CTRL('d')}},
    {go_half_back, "half a page back", .keys = {IK_BINDING_TYPED('u'), IK_BINDING_CTRL('u')}},
    {go_to_begin, "to the beginning",
     .keys = {IK_BINDING_TYPED('g'), IK_BINDING_TYPED('<'), IK_BINDING(HOME)}},
    {go_to_end, "to the end",
     .keys = {IK_BINDING_TYPED('G'), IK_BINDING_TYPED('>'), IK_BINDING(END)}},
    {type_on, "searches on; a capital letter counts", .keys = {IK_BINDING_TYPED('/')}},
    {type_back, "searches back", .keys = {IK_BINDING_TYPED('?')}},
    {search_next, "the next match", .keys = {IK_BINDING_TYPED('n')}},
    {search_previous, "the next match the other way", .keys = {IK_BINDING_TYPED('N')}},
    {start_help, "shows these keys", .keys = {IK_BINDING_TYPED('h')}},
    {close_pager, "closes the pager",
     .keys = {IK_BINDING_TYPED('q'), IK_BINDING_TYPED('Q'), IK_BINDING(ESCAPE),
              IK_BINDING_CTRL('c'), IK_BINDING_CTRL('o')}},
};
enum { COMMANDS = IK_LENGTH(commands) };

bool ik_pager_bindings_at(size_t index, ik_binding_row_t *out)
{
    if (index >= COMMANDS) {
        return false;
    }
    *out = (ik_binding_row_t){
        .group = IK_BINDING_PAGER,
        .keys = commands[index].keys,
        .max = KEYS_MAX,
        .does = commands[index].does,
    };
    return true;
}

static void read_key(ik_pager_t *pager, const ik_key_t *key)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (ik_binding_matches(commands[i].keys, KEYS_MAX, key, '\0')) {
            commands[i].act(pager);
            return;
        }
    }
}

static void feed_key(ik_pager_t *pager, const ik_key_t *key)
{
    switch (pager->mode) {
    case TYPING:
        type_key(pager, key);
        break;
    case HELPING:
        pager->mode = READING;
        break;
    case READING:
        read_key(pager, key);
    }
}

/* What the terminal says by itself is no key of the reader. */
static bool is_pressed(const ik_key_t *key)
{
    return ik_key_is_pressed(key) && !(key->kind == IK_KEY_TEXT && key->len == 0);
}

/* Letters typed in a hurry come together; each is a key until one of them begins a pattern. */
static void feed_text(ik_pager_t *pager, const ik_key_t *key)
{
    size_t at = 0;
    while (at < key->len && pager->mode != TYPING && !pager->closed) {
        ik_key_t one = {.kind = IK_KEY_TEXT, .text = key->text + at};
        one.len = ik_width_grapheme(one.text, key->len - at).len;
        feed_key(pager, &one);
        at += one.len;
    }
    if (at < key->len && !pager->closed) {
        feed_key(pager, &(ik_key_t){IK_KEY_TEXT, .text = key->text + at, .len = key->len - at});
    }
}

bool ik_pager_key(ik_pager_t *pager, const ik_key_t *key)
{
    if (!is_pressed(key)) {
        return true;
    }
    TALLOC_FREE(pager->message);
    bool interrupts = pager->searching && (key->kind == IK_KEY_ESCAPE || is_control(key, 'c'));
    pager->searching = false;
    if (interrupts) {
        set_message(pager, "Search ended", "");
    } else if (key->kind == IK_KEY_TEXT) {
        feed_text(pager, key);
    } else {
        feed_key(pager, key);
    }
    return !pager->closed;
}

/* --- drawing ----------------------------------------------------------------------------- */

static void begin_row(ik_buffer_t *frame, ptrdiff_t row)
{
    ik_buffer_append_format(frame, "\033[%td;1H\033[K", row + 1);
}

static int text_columns(const ik_pager_t *pager)
{
    return pager->columns > 1 ? pager->columns - 1 : 1;
}

static ik_style_t match_style(const ik_pager_t *pager)
{
    return ik_theme_style(pager->theme, IK_ROLE_MATCH);
}

/* The match found last stands out among the others on the page. */
static void underline_match(const ik_pager_t *pager, const ik_pager_place_t *place,
                            const ik_pager_part_t *part, ik_pager_mark_t *marks, size_t count)
{
    if (!pager->has_match || pager->match.part != place->part) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (ik_pager_part_line_of(part, marks[i].begin) == pager->match.line) {
            marks[i].style.bits |= IK_STYLE_UNDERLINE;
        }
    }
}

/* The lines of one part that are to be seen; returns the row behind them. */
static ptrdiff_t draw_part(ik_pager_t *pager, const ik_pager_place_t *place, ptrdiff_t row,
                           ik_buffer_t *frame)
{
    const ik_pager_part_t *part = ik_pager_parts_get(pager->parts, place->part);
    if (place->line >= part->count) {
        return row; /* a source that does not keep its word */
    }
    size_t left = part->count - place->line;
    size_t room = (size_t)(page(pager) - row);
    size_t shown = left < room ? left : room;
    void *scratch = talloc_new(pager);
    size_t count;
    ik_pager_mark_t *marks =
        ik_pager_search_marks(scratch, pager->search, part, place->line, place->line + shown - 1,
                              match_style(pager), &count);
    underline_match(pager, place, part, marks, count);
    for (size_t i = 0; i < shown; i++) {
        begin_row(frame, row++);
        ik_pager_part_draw(part, place->line + i, text_columns(pager), marks, count, frame);
    }
    talloc_free(scratch);
    return row;
}

static ptrdiff_t draw_lines(ik_pager_t *pager, ik_buffer_t *frame)
{
    ik_pager_place_t place = pager->top;
    ptrdiff_t row = 0;
    bool more = !pager->empty;
    while (more && row < page(pager)) {
        row = draw_part(pager, &place, row, frame);
        place.line = ik_pager_parts_get(pager->parts, place.part)->count - 1;
        more = row < page(pager) && ik_pager_parts_move(pager->parts, &place, 1) == 1;
    }
    return row;
}

static void append_row(ik_pager_t *pager, ik_row_t *row, ik_buffer_t *frame)
{
    ik_row_end(row);
    ik_row_fit(frame, row->bytes.data == NULL ? "" : row->bytes.data, row->bytes.len,
               text_columns(pager));
    ik_row_clear(row);
}

static size_t widest(const ik_key_help_t *table)
{
    size_t width = 0;
    for (size_t i = 0; i < table->count; i++) {
        size_t len = strlen(table->rows[i].keys);
        width = len > width ? len : width;
    }
    return width;
}

/* All keys in one line where there is room; otherwise they have half of it. */
static ptrdiff_t draw_help_rows(ik_pager_t *pager, const ik_key_help_t *table, ik_row_t *text,
                                ik_buffer_t *frame)
{
    size_t columns = (size_t)text_columns(pager);
    size_t width = widest(table);
    size_t left = columns / 2 > width ? width : columns / 2;
    size_t right = columns - left;
    right = right > HELP_SPACES ? right - HELP_SPACES : 1;
    ptrdiff_t row = 0;
    for (size_t i = 0; i < table->count; i++) {
        ik_sheet_t sheet = {.left = table->rows[i].keys, .right = table->rows[i].does};
        ik_sheet_line_t line;
        while (row < page(pager) && ik_sheet_next(&sheet, left, right, &line)) {
            ik_row_add_format(text, IK_ROLE_NAME, "  %-*.*s  ", (int)left, line.left_len,
                              line.left);
            ik_row_add_format(text, IK_ROLE_TEXT, "%.*s", line.right_len, line.right);
            begin_row(frame, row++);
            append_row(pager, text, frame);
        }
    }
    return row;
}

static ptrdiff_t draw_help(ik_pager_t *pager, ik_row_t *text, ik_buffer_t *frame)
{
    size_t count;
    ik_key_help_t *tables = ik_key_help_create(pager, &count);
    ptrdiff_t rows = draw_help_rows(pager, &tables[IK_BINDING_PAGER], text, frame);
    talloc_free(tables);
    return rows;
}

static int percent(ik_pager_t *pager)
{
    ik_pager_place_t bottom = pager->top;
    ik_pager_parts_move(pager->parts, &bottom, page(pager) - 1);
    return (int)(bottom.part * 100 / ik_pager_parts_count(pager->parts));
}

static void add_position(ik_pager_t *pager, ik_row_t *text)
{
    ik_row_add_format(text, IK_ROLE_STATUS, "%s  ", pager->title);
    if (is_at_end(pager)) {
        ik_row_add_role(text, IK_ROLE_STRONG, "END");
    } else {
        ik_row_add_format(text, IK_ROLE_STRONG, "%d%%", percent(pager));
    }
    ik_row_add_role(text, IK_ROLE_STATUS, "  q close  / search  h help");
}

/* Of a long pattern the end is seen, where one types. */
static void add_input(ik_pager_t *pager, ik_row_t *text)
{
    ik_buffer_t shown;
    ik_buffer_init(&shown, pager, IK_BUFFER_UNLIMITED);
    ik_buffer_append_byte(&shown, pager->direction == IK_PAGER_ON ? '/' : '?');
    int room = text_columns(pager) - 1;
    ik_width_append(&shown, pager->input.data == NULL ? "" : pager->input.data,
                    room > 0 ? (size_t)room : 0, IK_WIDTH_KEEP_END);
    ik_row_add_role(text, IK_ROLE_TEXT, shown.data);
    ik_buffer_reset(&shown);
}

static void add_status(ik_pager_t *pager, ik_row_t *text)
{
    if (pager->mode == TYPING) {
        add_input(pager, text);
    } else if (pager->mode == HELPING) {
        ik_row_add_role(text, IK_ROLE_STATUS, "Any key goes back to the text");
    } else if (pager->searching) {
        ik_row_add_format(text, IK_ROLE_STATUS, "Searching %d%%, Esc ends it: %s",
                          ik_pager_search_percent(pager->search),
                          ik_pager_search_pattern(pager->search));
    } else if (pager->message != NULL) {
        ik_row_add_role(text, IK_ROLE_WARNING, pager->message);
    } else {
        add_position(pager, text);
    }
}

void ik_pager_draw(ik_pager_t *pager, ik_buffer_t *frame)
{
    ik_row_t text;
    ik_row_init(&text, pager, pager->theme);
    ptrdiff_t row = 0;
    if (pager->rows > 1) { /* otherwise there is room for the status alone */
        row = pager->mode == HELPING ? draw_help(pager, &text, frame) : draw_lines(pager, frame);
    }
    while (row < pager->rows - 1) {
        begin_row(frame, row++);
    }
    begin_row(frame, row);
    add_status(pager, &text);
    append_row(pager, &text, frame);
    ik_buffer_reset(&text.bytes);
}

/* --- beginning, and another size --------------------------------------------------------- */

ik_pager_t *ik_pager_create(const void *ctx, const ik_theme_t *theme,
                            const ik_pager_source_t *source, const char *title, int columns,
                            int rows)
{
    ik_pager_t *pager = ik_new(ctx, ik_pager_t);
    pager->theme = theme;
    pager->title = ik_sanitise_line(pager, title);
    pager->columns = columns;
    pager->rows = rows;
    pager->parts = ik_pager_parts_create(pager, source, columns);
    pager->search = ik_pager_search_create(pager, pager->parts);
    pager->direction = IK_PAGER_ON;
    ik_buffer_init(&pager->input, pager, PATTERN_MAX + 1);
    if (!source->from_start) {
        go_to_end(pager);
    }
    return pager;
}

/* Lines are others at another width: about the same place of the part stays. */
static void wrap_anew(ik_pager_t *pager, int columns)
{
    size_t before = ik_pager_parts_get(pager->parts, pager->top.part)->count;
    ik_pager_parts_resize(pager->parts, columns);
    size_t after = ik_pager_parts_get(pager->parts, pager->top.part)->count;
    pager->top.line = before == 0 ? 0 : pager->top.line * after / before;
    pager->has_match = false;
    pager->searching = false;
}

void ik_pager_resize(ik_pager_t *pager, int columns, int rows)
{
    bool at_end = is_at_end(pager);
    if (columns != pager->columns && !pager->empty) {
        wrap_anew(pager, columns);
    }
    pager->columns = columns;
    pager->rows = rows;
    if (at_end) {
        go_to_end(pager);
    } else {
        fill_page(pager);
    }
}
