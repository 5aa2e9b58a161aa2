/* Tool discovery in the background, and again on request. */
#include <string.h>

#include "base/alloc.h"
#include "tool/tool_search.h"
#include "workspace/workspace_state.h"

void ik_workspace_free_old_tools(ik_workspace_t *workspace)
{
    if (ik_workspace_is_busy(workspace, 0) || workspace->holds > 0 ||
        talloc_total_blocks(workspace->old_registries) == 1) {
        return;
    }
    for (size_t i = 0; i < workspace->member_count; i++) {
        if (workspace->members[i]->agent != NULL) {
            ik_agent_forget_tools(workspace->members[i]->agent);
        }
    }
    talloc_free_children(workspace->old_registries);
}

/* A running turn keeps the registry it started with. */
static void adopt_registry(ik_workspace_t *workspace, ik_tool_registry_t *registry)
{
    if (workspace->registry != NULL) {
        talloc_steal(workspace->old_registries, workspace->registry);
    }
    workspace->registry = talloc_steal(workspace, registry);
    workspace->shared.tool_registry = registry;
}

static bool was_reported(const ik_workspace_t *workspace, const char *problem)
{
    for (size_t i = 0; i < workspace->problem_count; i++) {
        if (strcmp(workspace->problems[i], problem) == 0) {
            return true;
        }
    }
    return false;
}

/* only_new: does not repeat problems of the last discovery. */
static void say_problems(ik_workspace_t *workspace, const ik_tool_discovery_result_t *found,
                         bool only_new)
{
    char **said = ik_new_array(workspace, char *, found->problem_count);
    for (size_t i = 0; i < found->problem_count; i++) {
        if (!only_new || !was_reported(workspace, found->problems[i])) {
            ik_workspace_say(workspace, IK_WORKSPACE_NOTE, found->problems[i]);
        }
        said[i] = ik_strdup(said, found->problems[i]);
    }
    talloc_free(workspace->problems);
    workspace->problems = said;
    workspace->problem_count = found->problem_count;
}

/* Tools of servers can be searched for; others that do not fit into a request are never sent. */
static void say_excess(ik_workspace_t *workspace)
{
    size_t own = 0;
    for (size_t i = 0; i < workspace->registry->count; i++) {
        own += workspace->registry->entries[i]->source != IK_TOOL_SERVER;
    }
    if (own > IK_TOOL_SEARCH_MOST) {
        size_t over = own - IK_TOOL_SEARCH_MOST;
        char *line =
            ik_sprintf(workspace,
                       "%zu of %zu tools %s not sent to the model, because a request holds "
                       "at most %d. Disable some with tools.NAME.enabled in config.json.",
                       over, own, over == 1 ? "is" : "are", IK_TOOL_SEARCH_MOST);
        ik_workspace_say(workspace, IK_WORKSPACE_WARNING, line);
        talloc_free(line);
    }
}

/* Reports the result of /refresh: unused and hidden tools, changes, and the number of tools. */
static void say_refreshed(ik_workspace_t *workspace, const ik_tool_discovery_result_t *found,
                          const char *changes)
{
    for (size_t i = 0; i < found->unused_count; i++) {
        ik_workspace_say(workspace, IK_WORKSPACE_NOTE, found->unused[i]);
    }
    for (size_t i = 0; i < found->hiding_count; i++) {
        ik_workspace_say(workspace, IK_WORKSPACE_NOTE, found->hiding[i]);
    }
    if (changes != NULL) {
        ik_workspace_say(workspace, IK_WORKSPACE_TEXT, changes);
    }
    char *line =
        ik_sprintf(workspace, "Tools refreshed. %zu tools available.", found->registry->count);
    ik_workspace_say(workspace, IK_WORKSPACE_TEXT, line);
    talloc_free(line);
}

static void finish(ik_workspace_t *workspace)
{
    TALLOC_FREE(workspace->discovery);
    ik_workspace_free_old_tools(workspace);
    ik_workspace_pump(workspace);
}

static void on_found(void *data)
{
    ik_workspace_t *workspace = data;
    const ik_tool_discovery_result_t *found = ik_tool_discovery_result(workspace->discovery);
    char *changes =
        ik_tool_registry_describe_changes(workspace, workspace->registry, found->registry);
    char *trust_line = ik_tool_discovery_trust_line(workspace, found);
    char *servers_line =
        found->servers_line == NULL ? NULL : ik_strdup(workspace, found->servers_line);
    adopt_registry(workspace, found->registry);
    workspace->shared.tool_scan_state = found->none ? TOOL_SCAN_FAILED : TOOL_SCAN_COMPLETE;
    workspace->recheck_due = found->remembered > 0 && !workspace->options.unattended;
    say_problems(workspace, found, false);
    say_excess(workspace);
    if (trust_line != NULL) {
        ik_workspace_say(workspace, IK_WORKSPACE_WARNING, trust_line);
    }
    if (servers_line != NULL) {
        ik_workspace_say(workspace, IK_WORKSPACE_WARNING, servers_line);
    }
    if (is_err(&found->limit) && !workspace->refreshing) {
        ik_workspace_fail(workspace, &found->limit);
    } else if (is_err(&found->limit)) {
        ik_workspace_say(workspace, IK_WORKSPACE_ERROR, found->limit.message);
    } else if (found->none) {
        ik_workspace_say(workspace, IK_WORKSPACE_WARNING, ik_tool_discovery_none);
    }
    if (workspace->refreshing) {
        say_refreshed(workspace, found, changes);
        workspace->refreshing = false;
    } else if (found->changed != NULL) {
        char *line = ik_sprintf(workspace, "Tool schemas reloaded. Changed: %s.", found->changed);
        ik_workspace_say(workspace, IK_WORKSPACE_NOTE, line);
        talloc_free(line);
    }
    talloc_free(trust_line);
    talloc_free(servers_line);
    talloc_free(changes);
    finish(workspace);
}

/* Keeps the old registry if nothing changed, so that the agents keep their prepared requests. */
static void on_rechecked(void *data)
{
    ik_workspace_t *workspace = data;
    const ik_tool_discovery_result_t *found = ik_tool_discovery_result(workspace->discovery);
    char *changes =
        ik_tool_registry_describe_changes(workspace, workspace->registry, found->registry);
    workspace->rechecking = false;
    say_problems(workspace, found, true);
    if (changes != NULL) {
        char *line = ik_sprintf(changes, "Tool schemas reloaded. %s", changes);
        adopt_registry(workspace, found->registry);
        ik_workspace_say(workspace, IK_WORKSPACE_NOTE, line);
        talloc_free(changes);
    }
    finish(workspace);
}

/* --- servers ------------------------------------------------------------------------------ */

/* A server asks the user, through the agent with the focus. */
static void *ask_user(void *data, const char *question, ik_mcp_answer_fn on_answer,
                      void *answer_data)
{
    ik_workspace_t *workspace = data;
    return ik_workspace_ask(
        workspace, &(ik_question_t){.agent = ik_workspace_focus(workspace), .text = question},
        on_answer, answer_data);
}

static void *ask_form(void *data, const char *question, const char *schema, const char *url,
                      ik_mcp_answer_fn on_answer, void *answer_data)
{
    ik_workspace_t *workspace = data;
    return ik_workspace_ask(
        workspace,
        &(ik_question_t){
            .agent = ik_workspace_focus(workspace), .text = question, .form = schema, .url = url},
        on_answer, answer_data);
}

/* The registry changes between turns, so that a turn keeps the tools it began with. */
static void on_servers_change(void *data)
{
    ((ik_workspace_t *)data)->recheck_due = true;
}

void ik_workspace_create_servers(ik_workspace_t *workspace)
{
    const ik_workspace_options_t *options = &workspace->options;
    workspace->mcp =
        ik_mcp_create(workspace,
                      &(ik_mcp_options_t){.paths = options->paths,
                                          .config = options->config,
                                          .host = options->host,
                                          .http = workspace->shared.http,
                                          .confinement = workspace->confinement,
                                          .ask = options->unattended ? NULL : ask_user,
                                          .ask_form = options->whole_forms ? ask_form : NULL,
                                          .on_change = on_servers_change,
                                          .data = workspace},
                      options->start->trust);
}

static ik_tool_discovery_options_t discovery_options(const ik_workspace_t *workspace)
{
    const ik_workspace_options_t *options = &workspace->options;
    return (ik_tool_discovery_options_t){.paths = options->paths,
                                         .config = options->config,
                                         .host = options->host,
                                         .confinement = workspace->confinement,
                                         .servers = ik_mcp_supplier(workspace->mcp),
                                         .trust_project = options->start->trust};
}

void ik_workspace_expect_message(ik_workspace_t *workspace)
{
    if (!workspace->recheck_due || workspace->discovery != NULL) {
        return;
    }
    ik_tool_discovery_options_t options = discovery_options(workspace);
    options.ask_user_again = true;
    workspace->recheck_due = false;
    workspace->rechecking = true;
    workspace->discovery = ik_tool_discovery_start(workspace, &options, on_rechecked, workspace);
}

void ik_workspace_find_tools(ik_workspace_t *workspace, bool refresh)
{
    if (workspace->rechecking) { /* it reloads user tools only */
        workspace->rechecking = false;
        TALLOC_FREE(workspace->discovery);
    }
    if (workspace->discovery != NULL) { /* already running */
        workspace->refreshing = workspace->refreshing || refresh;
        return;
    }
    if (workspace->options.start->without_tools) {
        workspace->shared.tool_scan_state = TOOL_SCAN_COMPLETE;
        if (refresh) {
            ik_workspace_say(workspace, IK_WORKSPACE_TEXT, "Tools are switched off.");
        }
        return;
    }
    ik_tool_discovery_options_t options = discovery_options(workspace);
    options.refresh = refresh;
    options.ask_user_again = workspace->options.unattended; /* the first message is already there */
    workspace->refreshing = refresh;
    workspace->shared.tool_scan_state = TOOL_SCAN_IN_PROGRESS;
    workspace->discovery = ik_tool_discovery_start(workspace, &options, on_found, workspace);
}

void ik_workspace_refresh(ik_workspace_t *workspace)
{
    ik_workspace_find_hooks(workspace);
    ik_workspace_find_tools(workspace, true);
}
