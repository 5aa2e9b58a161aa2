/* Finding tools while the prompt is there already, and again when the user wants it. */
#include "base/alloc.h"
#include "repl/repl_state.h"

static void say_problems(ik_repl_t *repl, const ik_tool_discovery_result_t *found)
{
    for (size_t i = 0; i < found->problem_count; i++) {
        ik_repl_say(repl, IK_ROLE_DIM, found->problems[i]);
    }
    char *trust_line = ik_tool_discovery_trust_line(repl, found);
    if (trust_line != NULL) {
        ik_repl_say(repl, IK_ROLE_WARNING, trust_line);
    }
    talloc_free(trust_line);
}

/* A turn that is under way goes on with the registry it began with. */
static void replace_registry(ik_repl_t *repl, ik_tool_registry_t *registry)
{
    if (repl->registry != NULL) {
        talloc_steal(repl->old_registries, repl->registry);
    }
    repl->registry = talloc_steal(repl, registry);
    repl->shared.tool_registry = registry;
}

void ik_repl_tools_tidy(ik_repl_t *repl)
{
    if (ik_repl_session_is_busy(repl) || repl->shell != NULL) {
        return;
    }
    for (size_t i = 0; i < repl->talk_count; i++) {
        ik_agent_t *agent = ik_repl_talk_agent(repl->talks[i]);
        if (agent != NULL && talloc_total_blocks(repl->old_registries) > 1) {
            ik_agent_forget_tools(agent);
        }
    }
    talloc_free_children(repl->old_registries);
}

static void on_done(void *data)
{
    ik_repl_t *repl = data;
    const ik_tool_discovery_result_t *found = ik_tool_discovery_result(repl->discovery);
    replace_registry(repl, found->registry);
    bool failed = found->registry->count == 0 && found->problem_count > 0;
    repl->shared.tool_scan_state = failed ? TOOL_SCAN_FAILED : TOOL_SCAN_COMPLETE;
    say_problems(repl, found);
    if (failed) {
        ik_repl_say(repl, IK_ROLE_WARNING,
                    "No tools could be found; going on without. ikigai doctor says more.");
    }
    if (repl->refreshing) {
        char *line = ik_sprintf(repl, "Tools refreshed. %zu tools available.",
                                repl->shared.tool_registry->count);
        ik_repl_say(repl, IK_ROLE_TEXT, line);
        talloc_free(line);
        repl->refreshing = false;
    }
    TALLOC_FREE(repl->discovery);
    ik_repl_tools_tidy(repl);
    ik_repl_pump(repl);
}

void ik_repl_tools_start(ik_repl_t *repl, bool refresh)
{
    const ik_repl_options_t *options = repl->options;
    if (repl->discovery != NULL) {
        repl->refreshing = repl->refreshing || refresh; /* it is being done */
        return;
    }
    if (options->wish->without_tools) {
        repl->shared.tool_scan_state = TOOL_SCAN_COMPLETE;
        if (refresh) {
            ik_repl_say(repl, IK_ROLE_TEXT, "Tools are switched off.");
        }
        return;
    }
    repl->refreshing = refresh;
    repl->shared.tool_scan_state = TOOL_SCAN_IN_PROGRESS;
    ik_tool_discovery_options_t discovery = {.paths = options->paths,
                                             .config = options->config,
                                             .host = options->host,
                                             .refresh = refresh,
                                             .trust_project = options->wish->trust};
    repl->discovery = ik_tool_discovery_start(repl, &discovery, on_done, repl);
    ik_repl_view_touch(repl->view);
}
