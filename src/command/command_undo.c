/* /undo and /redo: take back the last turns, with the files that they changed, and bring them
 * back. */
#include "command/command_undo.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "command/command_list.h"

/* An undo or redo that is running; on the host. */
typedef struct {
    ik_command_host_t *host;
    bool redo;
    int64_t agent; /* that had the focus when it began */
} running_t;

static void print_outcome(ik_command_host_t *host, const ik_undo_outcome_t *outcome, bool redo)
{
    char *text = ik_undo_outcome_describe(NULL, outcome, true);
    host->screen->print(host, text);
    if (ik_undo_outcome_can_force(outcome) && !redo) {
        host->screen->print_line(host, "/undo --force restores all of them, /undo PATH one.");
    }
    talloc_free(text);
}

static void report(void *data, const res_t *result, const ik_undo_outcome_t *outcome)
{
    running_t *running = data;
    ik_command_host_t *host = running->host;
    if (outcome == NULL) {
        host->screen->fail(host, ik_sprintf(running, "%s.", result->message));
    } else {
        print_outcome(host, outcome, running->redo);
        bool taken_back = outcome->agent != running->agent;
        if (taken_back && !running->redo) {
            host->screen->return_text(host, outcome->prompt);
        }
    }
    talloc_free(running);
}

static running_t *create_running(ik_command_host_t *host, bool redo)
{
    running_t *running = ik_new(host->ctx, running_t);
    running->host = host;
    running->redo = redo;
    running->agent = ik_workspace_focus(host->workspace);
    return running;
}

void ik_command_undo_start(ik_command_host_t *host, const ik_undo_request_t *request)
{
    running_t *running = create_running(host, false);
    res_t started = ik_workspace_undo(host->workspace, request, report, running);
    if (is_err(&started)) {
        report(running, &started, NULL);
    }
}

/* --- /undo ------------------------------------------------------------------------------- */

static bool is_number(const char *word)
{
    return *word != '\0' && strspn(word, "0123456789") == strlen(word);
}

static void run_undo(ik_command_host_t *host, const ik_command_args_t *args)
{
    ik_undo_request_t request = {0};
    const char **names = ik_new_array(args, const char *, args->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < args->count; i++) {
        const char *word = args->words[i];
        int64_t turns;
        if (strcmp(word, "--force") == 0) {
            request.force = true;
        } else if (is_number(word) && request.turns == 0 && count == 0) {
            if (!ik_command_parse_number(host, &ik_command_undo, word, &turns)) {
                return;
            }
            request.turns = (size_t)turns;
        } else if (is_number(word) || strncmp(word, "--", 2) == 0) {
            char *why = ik_sprintf(args, "Write ./%s for a file of that name.", word);
            ik_command_misuse(host, &ik_command_undo, why);
            return;
        } else if (*word == '\0') {
            ik_command_misuse(host, &ik_command_undo,
                              "A PATH is empty; write . for all files of the folder.");
            return;
        } else {
            names[count++] = word;
        }
    }
    request.names = count == 0 ? NULL : names;
    ik_command_undo_start(host, &request);
}

static void complete_undo(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    (void)host;
    (void)word;
    ik_command_words_add(out, "--force", "files that were changed since, too");
}

const ik_command_t ik_command_undo = {
    .name = "undo",
    .usage = "[N] [--force] [PATH...]",
    .help = "Takes back the last turn, or the last N: files and conversation.",
    .flags = IK_COMMAND_NEEDS_IDLE | IK_COMMAND_NEEDS_ALL_IDLE,
    .max_args = SIZE_MAX,
    .run = run_undo,
    .complete = complete_undo,
};

/* --- /redo ------------------------------------------------------------------------------- */

static void run_redo(ik_command_host_t *host, const ik_command_args_t *args)
{
    (void)args;
    running_t *running = create_running(host, true);
    res_t started = ik_workspace_redo(host->workspace, report, running);
    if (is_err(&started)) {
        report(running, &started, NULL);
    }
}

const ik_command_t ik_command_redo = {
    .name = "redo",
    .usage = "",
    .help = "Brings back what the last undo took, unless a message followed it.",
    .flags = IK_COMMAND_NEEDS_IDLE | IK_COMMAND_NEEDS_ALL_IDLE,
    .run = run_redo,
};
