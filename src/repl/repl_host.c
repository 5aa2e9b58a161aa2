/* The screen functions of slash commands, and the sources of completion lists. */
#include <string.h>

#include "base/alloc.h"
#include "repl/repl_state.h"
#include "terminal/code_rows.h"

static ik_repl_t *repl_of(ik_command_host_t *host)
{
    return host->data;
}

static void print(ik_command_host_t *host, const char *text)
{
    ik_rows_t rows = ik_view_rows(repl_of(host)->view);
    ik_rows_lines(&rows, IK_ROLE_TEXT, text);
}

static void print_line(ik_command_host_t *host, const char *text)
{
    ik_repl_say(repl_of(host), IK_ROLE_TEXT, text);
}

static void fail(ik_command_host_t *host, const char *text)
{
    ik_repl_say(repl_of(host), IK_ROLE_ERROR, text);
}

static bool has_news(ik_command_host_t *host, int64_t agent)
{
    return ik_repl_talk_has_news(ik_repl_obtain_talk(repl_of(host), agent));
}

static res_t show_result(ik_command_host_t *host, size_t number)
{
    return ik_repl_talk_show_result(repl_of(host)->current, number);
}

static void copy(ik_command_host_t *host, const char *text, size_t len)
{
    ik_repl_copy(repl_of(host), text, len);
}

static void open_pager(ik_command_host_t *host)
{
    ik_repl_open_pager(repl_of(host));
}

enum { LINES_PER_PART = 500 }; /* the pager renders only the parts in view */

/* A part of the text, and where in a patch it begins. */
typedef struct {
    const char *text;
    ik_patch_place_t place;
} part_t;

typedef struct {
    const ik_repl_t *repl;
    part_t *parts;
    size_t count;
    bool patch; /* in the colours of a diff */
} pages_t;

static void render_text(void *data, size_t part, int columns, ik_pager_row_fn on_row,
                        void *row_data)
{
    const pages_t *pages = data;
    const char *text = pages->parts[part].text;
    ik_rows_t rows = ik_view_rows(pages->repl->view);
    rows.columns = columns;
    rows.full = true;
    rows.on_row = on_row;
    rows.data = row_data;
    if (pages->patch) {
        ik_patch_place_t place = pages->parts[part].place;
        ik_code_rows_patch(rows.theme, &place, text, strlen(text), on_row, row_data);
    } else {
        ik_rows_lines(&rows, IK_ROLE_TEXT, text);
    }
}

static void open_text(ik_repl_t *repl, const char *title, const char *text, bool patch)
{
    ik_patch_place_t place = {0};
    ik_view_close_pager(repl->view); /* it may show the text that is freed next */
    talloc_free(repl->shown_text);
    pages_t *pages = ik_new(repl, pages_t);
    repl->shown_text = pages;
    pages->repl = repl;
    pages->patch = patch;
    while (*text != '\0') {
        const char *end = text;
        ik_patch_place_t begin = place;
        for (int lines = 0; lines < LINES_PER_PART && *end != '\0'; lines++) {
            size_t len = strcspn(end, "\n");
            len += end[len] == '\n';
            if (patch) {
                (void)ik_patch_lines_next(&place, end, len);
            }
            end += len;
        }
        pages->parts = ik_resize_array(pages, pages->parts, part_t, pages->count + 1);
        pages->parts[pages->count++] =
            (part_t){ik_strndup(pages, text, (size_t)(end - text)), begin};
        text = end;
    }
    ik_pager_source_t source = {
        .count = pages->count, .render = render_text, .data = pages, .from_start = true};
    ik_view_open_pager(repl->view, &source, title);
}

static void show_text(ik_command_host_t *host, const char *title, const char *text)
{
    ik_repl_t *repl = repl_of(host);
    if (ik_view_prompt(repl->view) == NULL) {
        print(host, text);
    } else {
        open_text(repl, title, text, false);
    }
}

/* A patch that fits into the window, with room for the draft, is printed. */
static void show_patch(ik_command_host_t *host, const char *title, const char *text)
{
    ik_repl_t *repl = repl_of(host);
    ik_rows_t rows = ik_view_rows(repl->view);
    size_t room = (size_t)ik_view_height(repl->view) * 2 / 3;
    if (ik_view_prompt(repl->view) == NULL || ik_rows_count_lines(text, strlen(text)) <= room) {
        ik_patch_place_t place = {0};
        ik_code_rows_patch(rows.theme, &place, text, strlen(text), rows.on_row, rows.data);
    } else {
        open_text(repl, title, text, true);
    }
}

static void return_text(ik_command_host_t *host, const char *text)
{
    ik_repl_return_text(repl_of(host), text, "The question was:");
}

static ik_view_list_t *open_list(ik_command_host_t *host, const ik_view_list_options_t *options)
{
    return ik_view_list_open(repl_of(host)->view, options);
}

static void set_list(ik_command_host_t *host, ik_view_list_t *list, const ik_choice_row_t *rows,
                     size_t count, bool pending)
{
    (void)host;
    ik_view_list_set(list, rows, count, pending);
}

static void close_list(ik_command_host_t *host, ik_view_list_t *list)
{
    (void)host;
    ik_view_list_close(list);
}

static void leave(ik_command_host_t *host)
{
    ik_repl_leave(repl_of(host), 0);
}

const ik_command_screen_t ik_repl_host_screen = {
    .print = print,
    .print_line = print_line,
    .fail = fail,
    .has_news = has_news,
    .show_result = show_result,
    .copy = copy,
    .open_pager = open_pager,
    .show_text = show_text,
    .show_patch = show_patch,
    .return_text = return_text,
    .open_list = open_list,
    .set_list = set_list,
    .close_list = close_list,
    .leave = leave,
};

/* --- completion -------------------------------------------------------------------------- */

/* Replaces the completions of the last request. */
static ik_choice_row_t *renew_items(ik_repl_t *repl, size_t count)
{
    talloc_free(repl->completions);
    repl->completions = ik_new_array(repl, ik_choice_row_t, count + 1);
    return repl->completions;
}

static void complete_commands(void *data, ik_completions_t *out)
{
    ik_repl_t *repl = data;
    size_t built_in;
    const ik_command_t *const *table = ik_command_table(&built_in);
    void *scratch = talloc_new(NULL);
    const ik_extensions_t *custom = ik_command_find_custom(scratch, &repl->host);
    out->items = renew_items(repl, built_in + custom->count);
    out->count = built_in;
    for (size_t i = 0; i < built_in; i++) {
        out->items[i] = (ik_choice_row_t){.text = ik_sprintf(out->items, "/%s", table[i]->name),
                                          .note = table[i]->help,
                                          .also = table[i]->alias,
                                          .unfinished = table[i]->min_args > 0};
    }
    for (size_t i = 0; i < custom->count; i++) {
        const ik_extension_t *item = &custom->items[i];
        out->items[out->count++] =
            (ik_choice_row_t){.text = ik_sprintf(out->items, "/%s", item->name),
                              .note = ik_strdup(out->items, item->description),
                              .unfinished = item->hint != NULL};
    }
    talloc_free(scratch);
}

static void complete_arguments(void *data, const char *name, int word, ik_completions_t *out)
{
    ik_repl_t *repl = data;
    const ik_command_t *command = ik_command_find(name, strlen(name));
    ik_command_words_t words = {.ctx = talloc_new(repl)};
    if (command != NULL && command->complete != NULL &&
        ik_workspace_waiting_for(repl->workspace) == NULL) {
        command->complete(&repl->host, word, &words);
    }
    out->items = renew_items(repl, words.count);
    out->count = words.count;
    talloc_steal(out->items, words.ctx);
    for (size_t i = 0; i < words.count; i++) {
        out->items[i] = (ik_choice_row_t){.text = words.texts[i],
                                          .note = words.notes[i],
                                          .unfinished = (size_t)word < command->min_args};
    }
}

static void complete_files(void *data, ik_completions_t *out)
{
    ik_repl_files_list(((ik_repl_t *)data)->files, out);
}

static size_t kept_length(void *data, const char *text)
{
    return ik_command_public_length(&((ik_repl_t *)data)->host, text);
}

ik_completion_source_t ik_repl_host_completion(ik_repl_t *repl)
{
    return (ik_completion_source_t){.commands = complete_commands,
                                    .arguments = complete_arguments,
                                    .files = complete_files,
                                    .kept = kept_length,
                                    .pasted = ik_repl_images_of_paste,
                                    .data = repl};
}
