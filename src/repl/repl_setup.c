/* The setup dialogue at the start of a conversation, when no model is set up. */
#include "base/alloc.h"
#include "repl/repl_state.h"

static void on_end(void *data, ik_setup_end_t end, const char *model)
{
    ik_repl_t *repl = data;
    ik_setup_t *setup = repl->setup;
    repl->setup = NULL;
    if (end == IK_SETUP_MODEL) {
        res_t set = ik_workspace_set_model(repl->workspace, model);
        if (is_err(&set)) {
            ik_repl_say(repl, IK_ROLE_ERROR, set.message);
        }
        ik_repl_say(repl, IK_ROLE_DIM,
                    "Your messages are sent to that provider. /help shows commands and keys.");
    } else {
        ik_repl_say(repl, IK_ROLE_DIM,
                    "Offline: type hi to see what can be tried. ikigai setup sets up a model.");
    }
    talloc_free(setup);
    ik_view_touch(repl->view);
}

bool ik_repl_setup_is_due(const ik_repl_t *repl)
{
    const ik_repl_options_t *options = repl->options;
    int64_t focus = ik_workspace_focus(repl->workspace);
    return ik_setup_is_due(options->config) && !ik_setup_is_declined(options->paths) &&
           options->start->prompt == NULL && ik_workspace_queued(repl->workspace, focus, 0) == NULL;
}

void ik_repl_setup_start(ik_repl_t *repl)
{
    const ik_shared_ctx_t *shared = ik_workspace_shared(repl->workspace);
    repl->setup = ik_setup_start(repl, &(ik_setup_options_t){.view = repl->view,
                                                             .loop = repl->options->loop,
                                                             .http = shared->http,
                                                             .paths = repl->options->paths,
                                                             .config = repl->options->config,
                                                             .models = shared->models,
                                                             .at_start = true,
                                                             .on_end = on_end,
                                                             .data = repl});
}
