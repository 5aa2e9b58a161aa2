/* Finding tools while the user may type already, and again when asked to. */
#include "base/alloc.h"
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

/* A turn that is under way keeps the registry it began with. */
static void adopt_registry(ik_workspace_t *workspace, ik_tool_registry_t *registry)
{
    if (workspace->registry != NULL) {
        talloc_steal(workspace->old_registries, workspace->registry);
    }
    workspace->registry = talloc_steal(workspace, registry);
    workspace->shared.tool_registry = registry;
}

static void on_found(void *data)
{
    ik_workspace_t *workspace = data;
    const ik_tool_discovery_result_t *found = ik_tool_discovery_result(workspace->discovery);
    adopt_registry(workspace, found->registry);
    bool failed = found->registry->count == 0 && found->problem_count > 0;
    workspace->shared.tool_scan_state = failed ? TOOL_SCAN_FAILED : TOOL_SCAN_COMPLETE;
    for (size_t i = 0; i < found->problem_count; i++) {
        ik_workspace_say(workspace, IK_WORKSPACE_NOTE, found->problems[i]);
    }
    char *trust_line = ik_tool_discovery_trust_line(workspace, found);
    if (trust_line != NULL) {
        ik_workspace_say(workspace, IK_WORKSPACE_WARNING, trust_line);
    }
    talloc_free(trust_line);
    if (failed) {
        ik_workspace_say(workspace, IK_WORKSPACE_WARNING,
                         "No tools were found. Run ikigai doctor to see why.");
    }
    if (workspace->refreshing) {
        char *line = ik_sprintf(workspace, "Tools refreshed. %zu tools available.",
                                workspace->shared.tool_registry->count);
        ik_workspace_say(workspace, IK_WORKSPACE_TEXT, line);
        talloc_free(line);
        workspace->refreshing = false;
    }
    TALLOC_FREE(workspace->discovery);
    ik_workspace_free_old_tools(workspace);
    ik_workspace_pump(workspace);
}

void ik_workspace_find_tools(ik_workspace_t *workspace, bool refresh)
{
    const ik_workspace_options_t *options = &workspace->options;
    if (workspace->discovery != NULL) { /* it is under way already */
        workspace->refreshing = workspace->refreshing || refresh;
        return;
    }
    if (options->start->without_tools) {
        workspace->shared.tool_scan_state = TOOL_SCAN_COMPLETE;
        if (refresh) {
            ik_workspace_say(workspace, IK_WORKSPACE_TEXT, "Tools are switched off.");
        }
        return;
    }
    workspace->refreshing = refresh;
    workspace->shared.tool_scan_state = TOOL_SCAN_IN_PROGRESS;
    ik_tool_discovery_options_t discovery = {.paths = options->paths,
                                             .config = options->config,
                                             .host = options->host,
                                             .refresh = refresh,
                                             .trust_project = options->start->trust};
    workspace->discovery = ik_tool_discovery_start(workspace, &discovery, on_found, workspace);
}

void ik_workspace_refresh(ik_workspace_t *workspace)
{
    ik_workspace_find_tools(workspace, true);
}
