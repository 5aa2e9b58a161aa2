/* /diff: what the session changed, or its last turn. */
#include <string.h>

#include "base/alloc.h"
#include "command/command_list.h"

static void report(void *data, const res_t *result, const json_t *answer)
{
    ik_command_host_t *host = data;
    ik_buffer_t text;
    if (is_err(result)) {
        host->screen->fail(host, result->message);
        return;
    }
    if (json_is_true(json_object_get(answer, "incomplete"))) {
        host->screen->print_line(host,
                                 "The oldest changes are no longer recorded (undo_max_bytes).");
    }
    ik_buffer_init(&text, NULL, IK_BUFFER_UNLIMITED); /* bounded by the answer */
    ik_undo_append_text(&text, answer);
    if (text.len == 0) {
        host->screen->print_line(host, "No changes are recorded.");
    } else {
        host->screen->show_patch(host, "diff", text.data);
    }
    ik_buffer_reset(&text);
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    bool turn = false;
    bool stat = false;
    for (size_t i = 0; i < args->count; i++) {
        bool *flag = strcmp(args->words[i], "turn") == 0     ? &turn
                     : strcmp(args->words[i], "--stat") == 0 ? &stat
                                                             : NULL;
        if (flag == NULL || *flag) {
            ik_command_misuse(host, &ik_command_diff, NULL);
            return;
        }
        *flag = true;
    }
    res_t started =
        ik_workspace_diff(host->workspace, turn, stat ? IK_UNDO_STAT : IK_UNDO_PATCH, report, host);
    if (is_err(&started)) {
        host->screen->fail(host, started.message);
    }
}

static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    (void)host;
    if (word <= 2) {
        ik_command_words_add(out, "turn", "only the last turn");
        ik_command_words_add(out, "--stat", "a line for each file");
    }
}

const ik_command_t ik_command_diff = {
    .name = "diff",
    .usage = "[turn] [--stat]",
    .help = "Shows what the session changed, or the last turn.",
    .max_args = 2,
    .run = run,
    .complete = complete,
};
