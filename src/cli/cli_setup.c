/* `ikigai setup`: the dialogue that sets up a model, without a conversation. */
#include <unistd.h>

#include "agent/agent_target.h"
#include "base/alloc.h"
#include "cli/cli.h"
#include "setup/setup.h"

typedef struct {
    ik_cli_t *cli;
    const ik_models_t *models;
    ik_view_t *view;
    ik_setup_t *setup;
    bool done;
    int status;
} state_t;

static void say(state_t *state, const char *text)
{
    ik_rows_t rows = ik_view_rows(state->view);
    ik_rows_say(&rows, IK_ROLE_TEXT, text);
}

static void leave(state_t *state, int status)
{
    if (!state->done) {
        state->done = true;
        state->status = status;
    }
}

static void on_end(void *data, ik_setup_end_t end, const char *model)
{
    state_t *state = data;
    (void)model;
    if (end == IK_SETUP_OFFLINE) {
        char *kept = ik_agent_target_describe(state->setup, state->cli->config, state->models);
        say(state, kept == NULL ? "Offline: run ikigai, and type hi to see what can be tried."
                                : ik_sprintf(kept, "The model is still %s.", kept));
    }
    leave(state, end == IK_SETUP_FAILED ? IK_CLI_FAILED : IK_CLI_DONE);
}

static void on_submit(void *data, const char *text)
{
    state_t *state = data;
    if (!state->done) {
        ik_setup_submit(state->setup, text);
    }
}

static void on_action(void *data, ik_prompt_action_t action)
{
    state_t *state = data;
    if (!state->done && !ik_setup_act(state->setup, action)) {
        if (action == IK_PROMPT_CANCEL) {
            leave(state, IK_CLI_INTERRUPTED);
        } else if (action == IK_PROMPT_END) {
            leave(state, IK_CLI_FAILED);
        }
    }
}

static void on_draft(void *data)
{
    (void)data;
}

static void on_leave(void *data, int signal)
{
    leave(data, 128 + signal);
}

static void draw_activity(void *data, int max_rows, ik_rows_fn on_row, void *row_data)
{
    (void)data;
    (void)max_rows;
    (void)on_row;
    (void)row_data;
}

static void draw_status(void *data, ik_row_t *row)
{
    (void)data;
    ik_row_add_role(row, IK_ROLE_STATUS, "ikigai setup · Ctrl-C leaves");
}

int ik_cli_set_up(ik_cli_t *cli, bool plain)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        ik_cli_fail(ik_sprintf(cli->ctx,
                               "setup needs a terminal; without one, set OPENAI_API_KEY, "
                               "ANTHROPIC_API_KEY or GEMINI_API_KEY, and \"model\" in %s",
                               cli->paths->user_config));
        return IK_CLI_USAGE;
    }
    state_t state = {.cli = cli};
    ik_models_t *models;
    res_t loaded = ik_models_load(cli->ctx, cli->paths, &models);
    if (is_err(&loaded)) {
        ik_cli_fail(loaded.message); /* figures may be missing; everything else works */
    }
    state.models = models;
    ik_http_t *http = ik_http_create(cli->ctx, cli->loop);
    ik_view_options_t view = {.loop = cli->loop,
                              .paths = cli->paths,
                              .config = cli->config,
                              .plain = plain,
                              .listener = {.on_submit = on_submit,
                                           .on_action = on_action,
                                           .on_draft = on_draft,
                                           .on_leave = on_leave,
                                           .draw_activity = draw_activity,
                                           .draw_status = draw_status,
                                           .data = &state}};
    res_t created = ik_view_create(cli->ctx, &view, &state.view);
    if (is_err(&created)) {
        ik_cli_fail(created.message);
        talloc_free(http);
        return IK_CLI_USAGE;
    }
    ik_view_open(state.view);
    state.setup = ik_setup_start(cli->ctx, &(ik_setup_options_t){.view = state.view,
                                                                 .loop = cli->loop,
                                                                 .http = http,
                                                                 .paths = cli->paths,
                                                                 .config = cli->config,
                                                                 .models = models,
                                                                 .on_end = on_end,
                                                                 .data = &state});
    ik_loop_run_until(cli->loop, &state.done);
    ik_view_close(state.view);
    talloc_free(state.setup);
    talloc_free(state.view);
    talloc_free(http);
    return state.status;
}

static int run_setup(ik_cli_t *cli, const ik_cli_args_t *args)
{
    return ik_cli_set_up(cli, ik_cli_args_has(args, "--plain"));
}

const ik_cli_command_t ik_cli_setup = {
    .name = "setup",
    .help = "Sets up a model: chooses a provider, tests and keeps its key.",
    .more =
        "Offers the local servers that listen (Ollama, LM Studio, llama.cpp, vLLM), Anthropic, "
        "OpenAI, Google, OpenRouter and any other OpenAI-compatible server. A key is not "
        "shown, is tested with one request and kept in `~/.ikigai/keys.json`; the model is kept in "
        "`~/.ikigai/config.json`. Nothing is sent before you choose a server, and nothing is "
        "stored before you choose a model. Needs a terminal.",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--plain", .help = "read and print lines only, for screen readers"}, {0}},
    .run = run_setup,
};
