#include "terminal/view_list.h"

#include <string.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "terminal/choice_rows.h"
#include "terminal/view_state.h"

enum {
    PRINTED_MAX = 100, /* rows that plain mode prints */
    NUMBER_COLUMNS = 4,
};

static const char blanks[] = " \t\r";

struct ik_view_list {
    ik_view_t *view;
    char *title;
    void (*on_taken)(void *data, const char *value, bool second);
    void *data;
    ik_choice_row_t *rows; /* owns their texts */
    size_t count;
    bool pending;
    /* plain mode */
    char **values; /* of the printed rows, by their number - 1 */
    size_t numbered;
    bool titled; /* the title is printed */
};

/* --- rows -------------------------------------------------------------------------------- */

/* Appends a string with its end and returns where it is. */
static size_t keep(ik_buffer_t *out, const char *text)
{
    size_t at = out->len;
    ik_buffer_append(out, text, strlen(text) + 1);
    return at;
}

/* Copies all strings into two blocks. What is matched for every key is in one of them, in the order
 * in which it is read: with thousands of rows this is several times faster than separate strings.
 */
static ik_choice_row_t *copy_rows(const void *ctx, const ik_choice_row_t *rows, size_t count)
{
    typedef struct {
        size_t text;
        size_t also;
        size_t note;
        size_t value;
    } place_t;
    ik_choice_row_t *copy = ik_new_array(ctx, ik_choice_row_t, count + 1);
    place_t *places = ik_new_array(NULL, place_t, count + 1);
    ik_buffer_t matched;
    ik_buffer_t shown;
    ik_buffer_init(&matched, copy, IK_BUFFER_UNLIMITED); /* bounded by the rows */
    ik_buffer_init(&shown, copy, IK_BUFFER_UNLIMITED);   /* bounded by the rows */
    for (size_t i = 0; i < count; i++) {
        const ik_choice_row_t *row = &rows[i];
        char *text = ik_sanitise_line(NULL, row->text);
        places[i] = (place_t){
            .text = keep(&matched, text),
            .also = keep(&matched, row->also == NULL ? "" : row->also),
            .note = keep(&shown, row->note == NULL ? "" : row->note),
            .value = keep(&shown, row->value == NULL ? row->text : row->value),
        };
        talloc_free(text);
    }
    for (size_t i = 0; i < count; i++) {
        copy[i] = (ik_choice_row_t){
            .text = matched.data + places[i].text,
            .also = rows[i].also == NULL ? NULL : matched.data + places[i].also,
            .note = rows[i].note == NULL ? NULL : shown.data + places[i].note,
            .value = shown.data + places[i].value,
        };
    }
    talloc_free(places);
    return copy;
}

/* --- plain mode -------------------------------------------------------------------------- */

static bool has_number(const ik_view_list_t *list, const char *value)
{
    for (size_t i = 0; i < list->numbered; i++) {
        if (strcmp(list->values[i], value) == 0) {
            return true;
        }
    }
    return false;
}

/* Prints the rows that have no number yet, up to PRINTED_MAX. */
static void print_rows(ik_view_list_t *list)
{
    ik_view_t *view = list->view;
    void *scratch = talloc_new(NULL);
    ik_rows_t rows = ik_view_rows(view);
    ik_choice_row_t *fresh = ik_new_array(scratch, ik_choice_row_t, PRINTED_MAX);
    size_t first = list->numbered;
    size_t left_out = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (has_number(list, list->rows[i].value)) {
            continue;
        }
        if (list->numbered == PRINTED_MAX) {
            left_out++;
            continue;
        }
        fresh[list->numbered - first] = list->rows[i];
        list->values[list->numbered++] = ik_strdup(list->values, list->rows[i].value);
    }
    if (!list->titled && list->count > 0) {
        list->titled = true;
        ik_rows_say(&rows, IK_ROLE_TEXT, list->title);
    }
    size_t usable = rows.columns > 2 ? (size_t)rows.columns - 1 : 1;
    ik_choice_rows_t columns =
        ik_choice_rows_measure(fresh, list->numbered - first, usable, NUMBER_COLUMNS);
    ik_row_t row;
    ik_row_init(&row, scratch, rows.theme);
    for (size_t i = first; i < list->numbered; i++) {
        ik_choice_rows_draw(&columns, &row, ik_sprintf(scratch, "%zu", i + 1), &fresh[i - first],
                            false);
        ik_rows_put(&rows, &row);
    }
    if (left_out > 0) {
        ik_rows_say(&rows, IK_ROLE_DIM, ik_sprintf(scratch, "… %zu more", left_out));
    }
    talloc_free(scratch);
    if (list->titled) {
        ik_view_want_line(view);
    }
}

/* The number that a line is; 0: it is something else. */
static size_t parse_number(const char *line)
{
    size_t number = 0;
    size_t digits = 0;
    line += strspn(line, blanks);
    for (; *line >= '0' && *line <= '9' && digits < 9; line++, digits++) {
        number = number * 10 + (size_t)(*line - '0');
    }
    return digits > 0 && line[strspn(line, blanks)] == '\0' ? number : 0;
}

static void hold_line(ik_view_t *view, const char *line)
{
    view->held = ik_resize_array(view, view->held, char *, view->held_count + 1);
    view->held[view->held_count++] = line == NULL ? NULL : ik_strdup(view->held, line);
}

static void on_release(void *data)
{
    ik_view_t *view = data;
    char **lines = view->held;
    size_t count = view->held_count;
    view->held = NULL;
    view->held_count = 0;
    for (size_t i = 0; i < count; i++) {
        ik_view_take_line(view, lines[i]);
    }
    talloc_free(lines);
}

/* Handles the lines that waited for the rows of a list. */
static void release_lines(ik_view_t *view)
{
    if (view->held_count > 0) {
        view->release = view->release == NULL ? ik_timer_create(view, view->loop, on_release, view)
                                              : view->release;
        ik_timer_start(view->release, 0);
    }
}

/* --- the end ----------------------------------------------------------------------------- */

void ik_view_list_close(ik_view_list_t *list)
{
    ik_view_t *view = list->view;
    view->list = NULL;
    talloc_free(list);
    release_lines(view);
    if (view->prompt != NULL) {
        ik_prompt_choose_end(view->prompt);
        ik_view_touch(view);
    }
}

/* Closes the list and reports the value, which may be NULL. */
static void finish(ik_view_list_t *list, const char *value, bool second)
{
    void (*on_taken)(void *data, const char *value, bool second) = list->on_taken;
    void *data = list->data;
    char *copy = value == NULL ? NULL : ik_strdup(NULL, value);
    ik_view_list_close(list);
    on_taken(data, copy, second);
    talloc_free(copy);
}

void ik_view_list_take_row(ik_view_t *view)
{
    bool second;
    size_t index = ik_prompt_chosen(view->prompt, &second);
    finish(view->list, index == SIZE_MAX ? NULL : view->list->rows[index].value, second);
}

bool ik_view_list_take_line(ik_view_t *view, const char *line)
{
    ik_view_list_t *list = view->list;
    size_t number = line == NULL ? 0 : parse_number(line);
    if (list == NULL) {
        return false;
    }
    if (list->pending && list->count == 0 && (number > 0 || view->held_count > 0)) {
        hold_line(view, line);
        return true;
    }
    bool taken = number > 0 && number <= list->numbered;
    /* The line itself follows: no mark for another one before it is handled. */
    view->mark_held = !taken && line != NULL && line[strspn(line, blanks)] != '\0';
    finish(list, taken ? list->values[number - 1] : NULL, false);
    view->mark_held = false;
    return taken;
}

/* --- interface --------------------------------------------------------------------------- */

ik_view_list_t *ik_view_list_open(ik_view_t *view, const ik_view_list_options_t *options)
{
    if (view->list != NULL) {
        finish(view->list, NULL, false);
    }
    ik_view_list_t *list = ik_new(view, ik_view_list_t);
    list->view = view;
    list->title = ik_strdup(list, options->title);
    list->on_taken = options->on_taken;
    list->data = options->data;
    list->rows = copy_rows(list, options->rows, options->count);
    list->count = options->count;
    list->pending = options->pending;
    view->list = list;
    if (view->plain) {
        list->values = ik_new_array(list, char *, PRINTED_MAX);
        print_rows(list);
    } else {
        char *mark = ik_sprintf(list, "%s ", options->title);
        ik_prompt_choose(view->prompt,
                         &(ik_prompt_list_options_t){.mark = mark,
                                                     .hint = options->hint,
                                                     .has_second = options->has_second,
                                                     .numbered = options->numbered,
                                                     .passes_text = options->passes_text,
                                                     .from_end = options->from_end,
                                                     .rows = list->rows,
                                                     .count = list->count,
                                                     .pending = list->pending});
        ik_view_touch(view);
    }
    return list;
}

void ik_view_list_set(ik_view_list_t *list, const ik_choice_row_t *rows, size_t count, bool pending)
{
    ik_view_t *view = list->view;
    ik_choice_row_t *before = list->rows;
    list->rows = copy_rows(list, rows, count);
    list->count = count;
    list->pending = pending;
    if (view->plain) {
        print_rows(list);
        release_lines(view);
    } else {
        ik_prompt_choose_again(view->prompt, list->rows, count, pending);
        ik_view_touch(view);
    }
    talloc_free(before);
}
