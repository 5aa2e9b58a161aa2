/*
 * The clipboard. A clipboard program is used if there is one and it serves this machine; otherwise,
 * and over ssh, the text goes to the terminal (OSC 52). Clipboard programs usually own the
 * selection and serve it to other programs: they run until the next copy or the end of ikigai.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "conversation/figure.h"
#include "repl/repl_state.h"

typedef struct {
    const char *variable; /* must be set */
    bool remote;          /* it works over ssh, too */
    const char *argv[5];  /* reads the text from standard input */
} clipboard_t;

static const clipboard_t clipboards[] = {
    {"TMUX", true, {"tmux", "load-buffer", "-w", "-"}},
    {"WAYLAND_DISPLAY", false, {"wl-copy", "--foreground"}},
    {"DISPLAY", false, {"xclip", "-quiet", "-selection", "clipboard"}},
};

enum {
    FAILURE_MS = 150, /* a program that still runs by then has the text */
    FOR_EVER_MS = 1000 * 60 * 60 * 24 * 7,
};

typedef struct {
    ik_repl_t *repl;
    char *text;
    size_t len;
    ik_process_t *process;
    ik_timer_t *settled;
    bool said;
} copying_t;

static void say_done(copying_t *copying, const char *how)
{
    ik_repl_t *repl = copying->repl;
    char *text = ik_sprintf(repl, "Copied %s%s.", ik_figure_of_size(copying->len).text, how);
    ik_repl_say(repl, IK_ROLE_DIM, text);
    copying->said = true;
    talloc_free(text);
}

static void on_settled(void *data)
{
    say_done(data, "");
}

static void ask_terminal(copying_t *copying)
{
    ik_view_copy(copying->repl->view, copying->text, copying->len);
    say_done(copying, " through the terminal");
}

static void on_end(void *data, ik_process_result_t *result)
{
    copying_t *copying = data;
    bool worked = result->end == IK_PROCESS_EXITED && result->exit_code == 0;
    if (!copying->said && worked) {
        say_done(copying, "");
    } else if (!copying->said) {
        ask_terminal(copying);
    }
    copying->repl->clipboard = NULL;
    talloc_free(copying);
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && *value != '\0';
}

static const clipboard_t *choose(void)
{
    bool remote = is_set("SSH_CONNECTION");
    for (size_t i = 0; i < IK_LENGTH(clipboards); i++) {
        if (is_set(clipboards[i].variable) && (clipboards[i].remote || !remote)) {
            return &clipboards[i];
        }
    }
    return NULL;
}

static res_t start(copying_t *copying, const clipboard_t *clipboard)
{
    ik_repl_t *repl = copying->repl;
    const char *argv[IK_LENGTH(clipboard->argv) + 2] = {"/usr/bin/env"};
    for (size_t i = 0; clipboard->argv[i] != NULL; i++) {
        argv[i + 1] = clipboard->argv[i];
    }
    ik_process_options_t options = {.argv = argv,
                                    .folder = repl->options->paths->cwd,
                                    .input = copying->text,
                                    .input_len = copying->len,
                                    .max_out = 1024,
                                    .idle_ms = FOR_EVER_MS,
                                    .max_ms = FOR_EVER_MS,
                                    .on_end = on_end,
                                    .data = copying};
    return ik_process_start(repl, repl->options->host, &options, &copying->process);
}

/* The process is not a talloc child: it frees itself after on_end. */
static int end_process(copying_t *copying)
{
    if (copying->repl->clipboard == copying) {
        talloc_free(copying->process);
    }
    return 0;
}

void ik_repl_copy(ik_repl_t *repl, const char *text, size_t len)
{
    const clipboard_t *clipboard = choose();
    copying_t *copying = ik_new(repl, copying_t);
    TALLOC_FREE(repl->clipboard); /* ends the program that holds the previous text */
    copying->repl = repl;
    copying->text = ik_strndup(copying, text, len);
    copying->len = len;
    copying->settled = ik_timer_create(copying, repl->options->loop, on_settled, copying);
    talloc_set_destructor(copying, end_process);
    res_t started = clipboard == NULL ? ERR(NOT_FOUND, "no clipboard") : start(copying, clipboard);
    if (is_err(&started)) {
        ask_terminal(copying);
        talloc_free(copying);
        return;
    }
    repl->clipboard = copying;
    ik_timer_start(copying->settled, FAILURE_MS);
}
