/* /rewind: goes back to before a message of the user; without a number, one from a list. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/sanitiser.h"
#include "base/utf8.h"
#include "command/command_list.h"
#include "command/command_undo.h"

enum { PROMPT_SHOWN = 200 }; /* bytes */

/* What is taken back; the first one unless another is named. */
static const struct {
    const char *name;
    const char *note;
    bool keep_files;
    bool keep_conversation;
} parts[] = {
    {"both", "files and conversation", false, false},
    {"files", "the conversation stays", false, true},
    {"conversation", "the files stay", true, false},
};

/* A message that was chosen; on the host until a part is chosen, too. */
typedef struct {
    ik_command_host_t *host;
    size_t message;
} choice_t;

static void rewind_to(ik_command_host_t *host, size_t message, size_t part)
{
    ik_command_undo_start(host,
                          &(ik_undo_request_t){.message = message,
                                               .keep_files = parts[part].keep_files,
                                               .keep_conversation = parts[part].keep_conversation});
}

/* SIZE_MAX when there is no such part. */
static size_t find_part(const char *name)
{
    for (size_t i = 0; i < IK_LENGTH(parts); i++) {
        if (strcmp(parts[i].name, name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Between the opening of a list and a choice an agent may have begun to work. */
static bool is_idle(ik_command_host_t *host)
{
    bool idle = !ik_workspace_is_busy(host->workspace, 0);
    if (!idle) {
        host->screen->fail(host, "/rewind has to wait until the turn has ended.");
    }
    return idle;
}

static void on_part_taken(void *data, const char *name, bool second)
{
    (void)second;
    choice_t *choice = data;
    if (name != NULL && is_idle(choice->host)) {
        rewind_to(choice->host, choice->message, find_part(name));
    }
    talloc_free(choice);
}

static void on_message_taken(void *data, const char *number, bool second)
{
    (void)second;
    ik_command_host_t *host = data;
    ik_choice_row_t rows[IK_LENGTH(parts)];
    if (number == NULL) {
        return;
    }
    choice_t *choice = ik_new(host->ctx, choice_t);
    choice->host = host;
    choice->message = (size_t)strtoull(number, NULL, 10);
    for (size_t i = 0; i < IK_LENGTH(parts); i++) {
        rows[i] = (ik_choice_row_t){.text = parts[i].name, .note = parts[i].note};
    }
    char *title = ik_sprintf(NULL, "Take back what, from message %zu on?", choice->message);
    host->screen->open_list(host, &(ik_view_list_options_t){.title = title,
                                                            .rows = rows,
                                                            .count = IK_LENGTH(parts),
                                                            .on_taken = on_part_taken,
                                                            .data = choice});
    talloc_free(title);
}

/* The oldest message has number 1, and so has its row where rows are numbered. */
static void open_list(ik_command_host_t *host, const void *ctx)
{
    const ik_undo_line_t *line;
    res_t read = ik_workspace_read_turns(ctx, host->workspace, &line);
    if (is_err(&read) || line->turn_count == 0) {
        host->screen->fail(host, is_err(&read) && read.code != IK_ERR_NOT_FOUND
                                     ? read.message
                                     : "There is nothing to undo.");
        return;
    }
    ik_choice_row_t *rows = ik_new_array(ctx, ik_choice_row_t, line->turn_count);
    for (size_t i = 0; i < line->turn_count; i++) {
        const char *prompt = line->turns[i].prompt;
        char *start = ik_strndup(rows, prompt, ik_utf8_cut(prompt, strlen(prompt), PROMPT_SHOWN));
        char *text = ik_sanitise_line(rows, start);
        rows[i] =
            (ik_choice_row_t){.text = ik_sprintf(rows, "%zu", i + 1), .note = text, .also = text};
    }
    host->screen->open_list(host,
                            &(ik_view_list_options_t){.title = "Go back to before which message?",
                                                      .rows = rows,
                                                      .count = line->turn_count,
                                                      .from_end = true,
                                                      .on_taken = on_message_taken,
                                                      .data = host});
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    int64_t number;
    size_t part = args->count < 2 ? 0 : find_part(args->words[1]);
    if (args->count == 0) {
        open_list(host, args);
    } else if (part == SIZE_MAX) {
        ik_command_misuse(host, &ik_command_rewind, NULL);
    } else if (ik_command_parse_number(host, &ik_command_rewind, args->words[0], &number)) {
        rewind_to(host, (size_t)number, part);
    }
}

static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    (void)host;
    for (size_t i = 0; word == 2 && i < IK_LENGTH(parts); i++) {
        ik_command_words_add(out, parts[i].name, parts[i].note);
    }
}

const ik_command_t ik_command_rewind = {
    .name = "rewind",
    .usage = "[N] [files|conversation|both]",
    .help = "Goes back to before your message N; without a number, to one from a list.",
    .flags = IK_COMMAND_NEEDS_IDLE | IK_COMMAND_NEEDS_ALL_IDLE,
    .max_args = 2,
    .run = run,
    .complete = complete,
};
