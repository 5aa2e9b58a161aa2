/* Finding tools while the prompt is there already, and again when the user wants it. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "repl/repl_state.h"

static bool was_said(const ik_repl_t *repl, const char *problem)
{
    for (size_t i = 0; i < repl->problem_count; i++) {
        if (strcmp(repl->problems[i], problem) == 0) {
            return true;
        }
    }
    return false;
}

/* only_new: what the last search said already is not repeated. */
static void say_problems(ik_repl_t *repl, const ik_tool_discovery_result_t *found, bool only_new)
{
    for (size_t i = 0; i < found->problem_count; i++) {
        if (!only_new || !was_said(repl, found->problems[i])) {
            ik_repl_say(repl, IK_ROLE_DIM, found->problems[i]);
        }
    }
    talloc_free(repl->problems);
    repl->problems = talloc_steal(repl, found->problems);
    repl->problem_count = found->problem_count;
    for (size_t i = 0; i < found->problem_count; i++) {
        talloc_steal(repl->problems, repl->problems[i]);
    }
}

static void say_trust(ik_repl_t *repl, const ik_tool_discovery_result_t *found)
{
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

/* What /refresh tells beyond the number: what is not used, and what is not as before. */
static void say_refreshed(ik_repl_t *repl, const ik_tool_discovery_result_t *found, char *changes)
{
    for (size_t i = 0; i < found->unused_count; i++) {
        ik_repl_say(repl, IK_ROLE_DIM, found->unused[i]);
    }
    for (size_t i = 0; i < found->hiding_count; i++) {
        ik_repl_say(repl, IK_ROLE_DIM, found->hiding[i]);
    }
    if (changes != NULL) {
        ik_repl_say(repl, IK_ROLE_TEXT, changes);
    }
    char *line = ik_sprintf(repl, "Tools refreshed. %zu tools available.", found->registry->count);
    ik_repl_say(repl, IK_ROLE_TEXT, line);
    talloc_free(line);
}

static void finish(ik_repl_t *repl)
{
    TALLOC_FREE(repl->discovery);
    ik_repl_tools_tidy(repl);
    ik_repl_pump(repl);
}

static void on_done(void *data)
{
    ik_repl_t *repl = data;
    const ik_tool_discovery_result_t *found = ik_tool_discovery_result(repl->discovery);
    char *changes = ik_tool_registry_describe_changes(repl, repl->registry, found->registry);
    replace_registry(repl, found->registry);
    repl->shared.tool_scan_state = found->none ? TOOL_SCAN_FAILED : TOOL_SCAN_COMPLETE;
    repl->recheck_due = found->remembered > 0;
    say_problems(repl, found, false);
    say_trust(repl, found);
    if (is_err(&found->limit)) {
        ik_repl_say(repl, IK_ROLE_ERROR, ik_sprintf(repl, "ikigai: %s", found->limit.message));
        if (!repl->refreshing) {
            ik_repl_leave(repl, EXIT_FAILURE);
        }
    } else if (found->none) {
        ik_repl_say(repl, IK_ROLE_WARNING, ik_tool_discovery_none);
    }
    if (repl->refreshing) {
        say_refreshed(repl, found, changes);
        repl->refreshing = false;
    }
    talloc_free(changes);
    finish(repl);
}

/* The old registry stays when nothing changed: requests keep their bytes. */
static void on_rechecked(void *data)
{
    ik_repl_t *repl = data;
    const ik_tool_discovery_result_t *found = ik_tool_discovery_result(repl->discovery);
    char *changes = ik_tool_registry_describe_changes(repl, repl->registry, found->registry);
    repl->rechecking = false;
    say_problems(repl, found, true);
    if (changes != NULL) {
        char *line = ik_sprintf(changes, "Tools asked again. %s", changes);
        replace_registry(repl, found->registry);
        ik_repl_say(repl, IK_ROLE_DIM, line);
        talloc_free(changes);
    }
    finish(repl);
}

static ik_tool_discovery_options_t discovery_options(const ik_repl_t *repl)
{
    const ik_repl_options_t *options = repl->options;
    return (ik_tool_discovery_options_t){.paths = options->paths,
                                         .config = options->config,
                                         .host = options->host,
                                         .trust_project = options->wish->trust};
}

void ik_repl_tools_recheck(ik_repl_t *repl)
{
    if (!repl->recheck_due || repl->discovery != NULL) {
        return;
    }
    ik_tool_discovery_options_t options = discovery_options(repl);
    options.ask_user_again = true;
    repl->recheck_due = false;
    repl->rechecking = true;
    repl->discovery = ik_tool_discovery_start(repl, &options, on_rechecked, repl);
}

void ik_repl_tools_start(ik_repl_t *repl, bool refresh)
{
    if (repl->rechecking) { /* it asks the user's tools alone */
        repl->rechecking = false;
        TALLOC_FREE(repl->discovery);
    }
    if (repl->discovery != NULL) {
        repl->refreshing = repl->refreshing || refresh; /* it is being done */
        return;
    }
    if (repl->options->wish->without_tools) {
        repl->shared.tool_scan_state = TOOL_SCAN_COMPLETE;
        if (refresh) {
            ik_repl_say(repl, IK_ROLE_TEXT, "Tools are switched off.");
        }
        return;
    }
    repl->refreshing = refresh;
    repl->shared.tool_scan_state = TOOL_SCAN_IN_PROGRESS;
    ik_tool_discovery_options_t options = discovery_options(repl);
    options.refresh = refresh;
    repl->discovery = ik_tool_discovery_start(repl, &options, on_done, repl);
    ik_repl_view_touch(repl->view);
}
