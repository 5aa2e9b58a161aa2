/*
 * The clipboard. A program for it is used where there is one and it is this machine's clipboard;
 * over ssh, and where there is none, the terminal is asked (OSC 52).
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "repl/repl_state.h"
#include "store/export/export_facts.h"

typedef struct {
    const char *variable; /* that must be set */
    const char *argv[4];  /* reads the text from standard input */
} clipboard_t;

static const clipboard_t clipboards[] = {
    {"TMUX", {"tmux", "load-buffer", "-w", "-"}},
    {"WAYLAND_DISPLAY", {"wl-copy"}},
    {"DISPLAY", {"xclip", "-selection", "clipboard"}},
};

enum { PATIENCE_MS = 3000 };

typedef struct {
    ik_repl_t *repl;
    char *text;
    size_t len;
} copying_t;

static void say_done(ik_repl_t *repl, size_t len, const char *how)
{
    char *size = ik_export_facts_size(repl, len);
    char *line = ik_sprintf(size, "Copied %s%s.", size, how);
    ik_repl_say(repl, IK_ROLE_DIM, line);
    talloc_free(size);
}

static void ask_terminal(copying_t *copying)
{
    ik_repl_view_copy(copying->repl->view, copying->text, copying->len);
    say_done(copying->repl, copying->len, " by way of the terminal");
}

static void on_end(void *data, ik_process_result_t *result)
{
    copying_t *copying = data;
    if (result->end == IK_PROCESS_EXITED && result->exit_code == 0) {
        say_done(copying->repl, copying->len, "");
    } else {
        ask_terminal(copying);
    }
    talloc_free(copying);
}

static const clipboard_t *choose(void)
{
    for (size_t i = 0; i < sizeof(clipboards) / sizeof(*clipboards); i++) {
        const char *value = getenv(clipboards[i].variable);
        bool remote = getenv("SSH_CONNECTION") != NULL && i > 0;
        if (value != NULL && *value != '\0' && !remote) {
            return &clipboards[i];
        }
    }
    return NULL;
}

void ik_repl_copy(ik_repl_t *repl, const char *text, size_t len)
{
    const clipboard_t *clipboard = choose();
    copying_t *copying = ik_new(repl, copying_t);
    copying->repl = repl;
    copying->text = ik_strndup(copying, text, len);
    copying->len = len;
    const char *argv[6] = {"/usr/bin/env"};
    for (size_t i = 0; clipboard != NULL && i < 4 && clipboard->argv[i] != NULL; i++) {
        argv[i + 1] = clipboard->argv[i];
    }
    ik_process_options_t options = {.argv = argv,
                                    .folder = repl->options->paths->cwd,
                                    .input = copying->text,
                                    .input_len = len,
                                    .max_out = 1024,
                                    .idle_ms = PATIENCE_MS,
                                    .max_ms = PATIENCE_MS,
                                    .on_end = on_end,
                                    .data = copying};
    ik_process_t *process;
    res_t started = clipboard == NULL
                        ? ERR(NOT_FOUND, "no clipboard")
                        : ik_process_start(copying, repl->options->host, &options, &process);
    if (is_err(&started)) {
        ask_terminal(copying);
        talloc_free(copying);
    }
}
