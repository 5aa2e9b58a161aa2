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
    HELP_SPACES = 4, /* columns around the keys */
};

typedef enum { READING, TYPING, HELPING } page_mode_t;

struct ik_pager {
    const ik_theme_t *theme;
    char *title;
    int columns;
    int rows;
    ik_pager_parts_t *parts;
    ik_pager_search_t *search;
    bool empty;              /* there are no lines */
    ik_pager_position_t top; /* the first visible line */
    page_mode_t mode;
    bool closed;
    ik_pager_direction_t direction; /* of the last / or ? */
    bool searching;
    bool reversed;             /* the current search goes against direction */
    bool has_match;            /* match is valid: no motion since it was found */
    ik_pager_position_t match; /* the last one */
    ik_buffer_t input;         /* the pattern being typed */
    char *message;             /* shown until the next key; or NULL */
};

/* --- moving ------------------------------------------------------------------------------ */

/* Lines of text on the screen. */
static ptrdiff_t page_lines(const ik_pager_t *pager)
{
    return pager->rows > 1 ? pager->rows - 1 : 1;
}

static bool is_at_end(ik_pager_t *pager)
{
    ik_pager_position_t position = pager->top;
    return pager->empty || ik_pager_parts_move(pager->parts, &position, page_lines(pager)) <
                               (size_t)page_lines(pager);
}

/* Moves the top up so that no row after the last line is empty, if there are enough lines. */
static void fill_page(ik_pager_t *pager)
{
    ik_pager_position_t position = pager->top;
    size_t below = ik_pager_parts_move(pager->parts, &position, page_lines(pager) - 1);
    ik_pager_parts_move(pager->parts, &pager->top, (ptrdiff_t)below - (page_lines(pager) - 1));
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

/* --- searching --------------------------------------------------------------------------- */

static void set_message(ik_pager_t *pager, const char *message, const char *pattern)
{
    talloc_free(pager->message);
    pager->message = ik_sprintf(pager, "%s%s", message, pattern);
}

static ik_pager_direction_t search_direction(const ik_pager_t *pager)
{
    return pager->reversed ? (ik_pager_direction_t)-pager->direction : pager->direction;
}

void ik_pager_continue(ik_pager_t *pager)
{
    ik_pager_position_t found;
    if (!pager->searching) {
        return;
    }
    ik_pager_outcome_t outcome = ik_pager_search_continue(pager->search, &found);
    pager->searching = outcome == IK_PAGER_SEARCH_PENDING;
    if (outcome == IK_PAGER_SEARCH_NOT_FOUND) {
        set_message(pager, "Not found: ", ik_pager_search_pattern(pager->search));
    } else if (!pager->searching) {
        pager->top = pager->match = found;
        pager->has_match = true;
        fill_page(pager);
    }
    if (outcome == IK_PAGER_SEARCH_FOUND_WRAPPED) {
        bool forward = search_direction(pager) == IK_PAGER_FORWARD;
        set_message(pager, forward ? "Continued from the beginning" : "Continued from the end", "");
    }
}

bool ik_pager_is_searching(const ik_pager_t *pager)
{
    return pager->searching;
}

static void start_search(ik_pager_t *pager, const ik_pager_position_t *from, bool inclusive)
{
    pager->searching = !pager->empty;
    ik_pager_search_start(pager->search, from, inclusive, search_direction(pager));
    ik_pager_continue(pager);
}

static void search_again(ik_pager_t *pager, bool reversed)
{
    ik_pager_position_t from = pager->has_match ? pager->match : pager->top;
    if (ik_pager_search_pattern(pager->search) == NULL) {
        set_message(pager, "No previous search", "");
        return;
    }
    pager->reversed = reversed;
    start_search(pager, &from, false);
}

/* --- typing a pattern -------------------------------------------------------------------- */

static void set_input_length(ik_pager_t *pager, size_t len)
{
    pager->input.len = len;
    if (pager->input.data != NULL) {
        pager->input.data[len] = '\0';
    }
}

/* Searches all visible lines and beyond. An empty input repeats the last pattern. */
static void submit(ik_pager_t *pager)
{
    pager->mode = READING;
    if (pager->input.len > 0) {
        ik_pager_search_set_pattern(pager->search, pager->input.data);
    }
    if (ik_pager_search_pattern(pager->search) == NULL) {
        return;
    }
    ik_pager_position_t from = pager->top;
    pager->reversed = false;
    if (!pager->empty && pager->direction == IK_PAGER_BACKWARD) {
        ik_pager_parts_move(pager->parts, &from, page_lines(pager) - 1);
    }
    start_search(pager, &from, true);
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
        if (pager->input.len == 0) {
            pager->mode = READING;
        } else {
            set_input_length(pager, ik_width_step_back(pager->input.data, pager->input.len));
        }
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

enum { KEYS_MAX = 5 };

typedef enum {
    LINE_DOWN,
    LINE_UP,
    PAGE_DOWN,
    PAGE_UP,
    HALF_DOWN,
    HALF_UP,
    TO_START,
    TO_END,
    SEARCH_FORWARD,
    SEARCH_BACKWARD,
    NEXT_MATCH,
    PREVIOUS_MATCH,
    HELP,
    SUSPEND,
    CLOSE,
    COMMANDS,
} command_id_t;

static const struct {
    const char *does;
    ik_binding_t keys[KEYS_MAX];
} commands[COMMANDS] = {
    [LINE_DOWN] = {"moves down one line",
                   .keys = {IK_BINDING_TYPED('j'), IK_BINDING(DOWN), IK_BINDING(ENTER),
                            IK_BINDING_CTRL('n'), IK_BINDING_CTRL('e')}},
    [LINE_UP] = {"moves up one line", .keys = {IK_BINDING_TYPED('k'), IK_BINDING(UP),
                                               IK_BINDING_CTRL('p'), IK_BINDING_CTRL('y')}},
    [PAGE_DOWN] = {"moves down one page",
                   .keys = {IK_BINDING_TYPED(' '), IK_BINDING_TYPED('f'), IK_BINDING(PAGE_DOWN),
                            IK_BINDING_CTRL('f'), IK_BINDING_CTRL('v')}},
    [PAGE_UP] = {"moves up one page",
                 .keys = {IK_BINDING_TYPED('b'), IK_BINDING(PAGE_UP), IK_BINDING_CTRL('b')}},
    [HALF_DOWN] = {"moves down half a page", .keys = {IK_BINDING_TYPED('d'), IK_BINDING_CTRL('d')}},
    [HALF_UP] = {"moves up half a page", .keys = {IK_BINDING_TYPED('u'), IK_BINDING_CTRL('u')}},
    [TO_START] = {"moves to the beginning",
                  .keys = {IK_BINDING_TYPED('g'), IK_BINDING_TYPED('<'), IK_BINDING(HOME)}},
    [TO_END] = {"moves to the end",
                .keys = {IK_BINDING_TYPED('G'), IK_BINDING_TYPED('>'), IK_BINDING(END)}},
    [SEARCH_FORWARD] = {"searches forward, with smart case", .keys = {IK_BINDING_TYPED('/')}},
    [SEARCH_BACKWARD] = {"searches backward", .keys = {IK_BINDING_TYPED('?')}},
    [NEXT_MATCH] = {"moves to the next match", .keys = {IK_BINDING_TYPED('n')}},
    [PREVIOUS_MATCH] = {"moves to the previous match", .keys = {IK_BINDING_TYPED('N')}},
    [HELP] = {"shows these keys", .keys = {IK_BINDING_TYPED('h')}},
    [SUSPEND] = {"suspends ikigai; fg resumes it", .keys = {IK_BINDING_CTRL('z')}},
    [CLOSE] = {"closes the pager",
               .keys = {IK_BINDING_TYPED('q'), IK_BINDING_TYPED('Q'), IK_BINDING(ESCAPE),
                        IK_BINDING_CTRL('c'), IK_BINDING_CTRL('o')}},
};

static void run_command(ik_pager_t *pager, command_id_t command)
{
    ptrdiff_t page = page_lines(pager);
    switch (command) {
    case LINE_DOWN:
        scroll(pager, 1);
        break;
    case LINE_UP:
        scroll(pager, -1);
        break;
    case PAGE_DOWN:
        scroll(pager, page);
        break;
    case PAGE_UP:
        scroll(pager, -page);
        break;
    case HALF_DOWN:
        scroll(pager, (page + 1) / 2);
        break;
    case HALF_UP:
        scroll(pager, -(page + 1) / 2);
        break;
    case TO_START:
        pager->empty = !ik_pager_parts_first(pager->parts, &pager->top);
        pager->has_match = false;
        break;
    case TO_END:
        go_to_end(pager);
        break;
    case SEARCH_FORWARD:
    case SEARCH_BACKWARD:
        pager->mode = TYPING;
        pager->direction = command == SEARCH_FORWARD ? IK_PAGER_FORWARD : IK_PAGER_BACKWARD;
        set_input_length(pager, 0);
        break;
    case NEXT_MATCH:
        search_again(pager, false);
        break;
    case PREVIOUS_MATCH:
        search_again(pager, true);
        break;
    case HELP:
        pager->mode = HELPING;
        break;
    case CLOSE:
        pager->closed = true;
        break;
    case SUSPEND: /* handled by ik_pager_key */
    case COMMANDS:
        break;
    }
}

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
        for (command_id_t i = 0; i < COMMANDS; i++) {
            if (ik_binding_matches(commands[i].keys, KEYS_MAX, key, '\0')) {
                run_command(pager, i);
                break;
            }
        }
    }
}

/* Letters typed quickly arrive together. Each is a key, until one of them starts a pattern. */
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

ik_pager_action_t ik_pager_key(ik_pager_t *pager, const ik_key_t *key)
{
    if (!ik_key_is_pressed(key) || (key->kind == IK_KEY_TEXT && key->len == 0)) {
        return IK_PAGER_DRAW;
    }
    /* also while a pattern is typed or the keys are shown, and without an effect on them */
    if (ik_binding_matches(commands[SUSPEND].keys, KEYS_MAX, key, '\0')) {
        return IK_PAGER_SUSPEND;
    }
    TALLOC_FREE(pager->message);
    bool interrupts = pager->searching && (key->kind == IK_KEY_ESCAPE || is_control(key, 'c'));
    pager->searching = false;
    if (interrupts) {
        set_message(pager, "Search interrupted", "");
    } else if (key->kind == IK_KEY_TEXT) {
        feed_text(pager, key);
    } else {
        feed_key(pager, key);
    }
    return pager->closed ? IK_PAGER_CLOSE : IK_PAGER_DRAW;
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

/* Underlines the current match among the marked ones. */
static void underline_match(const ik_pager_t *pager, const ik_pager_position_t *position,
                            const ik_pager_part_t *part, ik_pager_mark_t *marks, size_t count)
{
    if (!pager->has_match || pager->match.part != position->part) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (ik_pager_part_line_of(part, marks[i].begin) == pager->match.line) {
            marks[i].style.bits |= IK_STYLE_UNDERLINE;
        }
    }
}

/* Draws the visible lines of one part. Returns the next row. */
static ptrdiff_t draw_part(ik_pager_t *pager, const ik_pager_position_t *position, ptrdiff_t row,
                           ik_buffer_t *frame)
{
    const ik_pager_part_t *part = ik_pager_parts_get(pager->parts, position->part);
    if (position->line >= part->count) {
        return row; /* the source rendered fewer rows than before */
    }
    size_t left = part->count - position->line;
    size_t room = (size_t)(page_lines(pager) - row);
    size_t shown = left < room ? left : room;
    void *scratch = talloc_new(pager);
    size_t count;
    ik_pager_mark_t *marks = ik_pager_search_marks(
        scratch, pager->search, part, position->line, position->line + shown - 1,
        ik_theme_style(pager->theme, IK_ROLE_MATCH), &count);
    underline_match(pager, position, part, marks, count);
    for (size_t i = 0; i < shown; i++) {
        begin_row(frame, row++);
        ik_pager_part_draw(part, position->line + i, text_columns(pager), marks, count, frame);
    }
    talloc_free(scratch);
    return row;
}

static ptrdiff_t draw_lines(ik_pager_t *pager, ik_buffer_t *frame)
{
    ik_pager_position_t position = pager->top;
    ptrdiff_t row = 0;
    bool more = !pager->empty;
    while (more && row < page_lines(pager)) {
        row = draw_part(pager, &position, row, frame);
        position.line = ik_pager_parts_get(pager->parts, position.part)->count - 1;
        more = row < page_lines(pager) && ik_pager_parts_move(pager->parts, &position, 1) == 1;
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

/* The keys get the columns they need, but at most half of the row. */
static ptrdiff_t draw_help(ik_pager_t *pager, ik_row_t *text, ik_buffer_t *frame)
{
    size_t count;
    ik_key_help_t *help = ik_key_help_create(pager, &count);
    const ik_key_help_t *group = &help[IK_BINDING_PAGER];
    size_t columns = (size_t)text_columns(pager);
    size_t left = 0;
    for (size_t i = 0; i < group->count; i++) {
        size_t len = strlen(group->rows[i].keys);
        left = len > left ? len : left;
    }
    left = left < columns / 2 ? left : columns / 2;
    size_t right = columns - left;
    right = right > HELP_SPACES ? right - HELP_SPACES : 1;
    ptrdiff_t row = 0;
    for (size_t i = 0; i < group->count; i++) {
        ik_sheet_t sheet = {.left = group->rows[i].keys, .right = group->rows[i].does};
        ik_sheet_line_t line;
        while (row < page_lines(pager) && ik_sheet_next(&sheet, left, right, &line)) {
            ik_row_add_format(text, IK_ROLE_NAME, "  %-*.*s  ", (int)left, line.left_len,
                              line.left);
            ik_row_add_format(text, IK_ROLE_TEXT, "%.*s", line.right_len, line.right);
            begin_row(frame, row++);
            append_row(pager, text, frame);
        }
    }
    talloc_free(help);
    return row;
}

static void add_position(ik_pager_t *pager, ik_row_t *text)
{
    ik_row_add_format(text, IK_ROLE_STATUS, "%s  ", pager->title);
    if (is_at_end(pager)) {
        ik_row_add_role(text, IK_ROLE_STRONG, "END");
    } else {
        ik_pager_position_t bottom = pager->top;
        ik_pager_parts_move(pager->parts, &bottom, page_lines(pager) - 1);
        size_t lines = ik_pager_parts_get(pager->parts, bottom.part)->count;
        size_t percent = (bottom.part * lines + bottom.line) * 100 /
                         (ik_pager_parts_count(pager->parts) * lines);
        ik_row_add_format(text, IK_ROLE_STRONG, "%zu%%", percent);
    }
    ik_row_add_role(text, IK_ROLE_STATUS, "  q close  / search  h help");
}

/* Shows the end of a long pattern, where the cursor is. */
static void add_input(ik_pager_t *pager, ik_row_t *text)
{
    ik_buffer_t shown;
    ik_buffer_init(&shown, pager, IK_BUFFER_UNLIMITED); /* bounded by the columns */
    ik_buffer_append_byte(&shown, pager->direction == IK_PAGER_FORWARD ? '/' : '?');
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
        ik_row_add_role(text, IK_ROLE_STATUS, "Press any key to return to the text");
    } else if (pager->searching) {
        ik_row_add_format(text, IK_ROLE_STATUS, "Searching %d%%, Esc to stop: %s",
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
    if (pager->rows > 1) { /* else there is room for the status line only */
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

/* --- creating and resizing --------------------------------------------------------------- */

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
    pager->direction = IK_PAGER_FORWARD;
    ik_buffer_init(&pager->input, pager, PATTERN_MAX + 1);
    if (!source->from_start) {
        go_to_end(pager);
    }
    return pager;
}

void ik_pager_resize(ik_pager_t *pager, int columns, int rows)
{
    bool at_end = is_at_end(pager);
    if (columns != pager->columns && !pager->empty) {
        /* Another width has other lines: stay at about the same relative position of the part. */
        size_t before = ik_pager_parts_get(pager->parts, pager->top.part)->count;
        ik_pager_parts_resize(pager->parts, columns);
        size_t after = ik_pager_parts_get(pager->parts, pager->top.part)->count;
        pager->top.line = before == 0 ? 0 : pager->top.line * after / before;
        pager->has_match = false;
        pager->searching = false;
    }
    pager->columns = columns;
    pager->rows = rows;
    if (at_end) {
        go_to_end(pager);
    } else {
        fill_page(pager);
    }
}
