/* The status line and the welcome message. */
#include <sys/stat.h>

#include "agent/agent_target.h"
#include "base/alloc.h"
#include "conversation/figure.h"
#include "repl/repl_state.h"

static void add_part(ik_row_t *row, const char *text)
{
    if (*text == '\0') {
        return;
    }
    if (row->bytes.len > 0) {
        ik_row_add_role(row, IK_ROLE_STATUS, " · ");
    }
    ik_row_add_role(row, IK_ROLE_STATUS, text);
}

static void add_context(const ik_repl_t *repl, ik_row_t *row, const void *ctx)
{
    const ik_target_t *target = ik_workspace_target(repl->workspace);
    int64_t used = ik_workspace_agent_context(repl->workspace, ik_workspace_focus(repl->workspace));
    int64_t size = target == NULL ? 0 : target->facts->context;
    if (used > 0 && size > 0) {
        add_part(row, ik_sprintf(ctx, "%lld%% of %lldk", (long long)(100 * used / size),
                                 (long long)(size / 1000)));
    }
}

static void add_usage(const ik_repl_t *repl, ik_row_t *row, const void *ctx)
{
    const ik_workspace_usage_t *sums = ik_workspace_usage(repl->workspace);
    const ik_usage_t *usage = &sums->usage;
    int64_t tokens = (usage->in > 0 ? usage->in : 0) + (usage->out > 0 ? usage->out : 0);
    if (tokens > 0) {
        add_part(row, ik_sprintf(ctx, "%s tokens", ik_figure_of_count(tokens).text));
    }
    if (sums->cost > 0) {
        add_part(row, ik_figure_of_cost(sums->cost).text);
    }
}

static void add_activity(const ik_repl_t *repl, ik_row_t *row, const void *ctx)
{
    tool_scan_state_t tools = ik_workspace_shared(repl->workspace)->tool_scan_state;
    size_t running = ik_repl_talk_running(repl->current);
    int64_t retry = ik_repl_talk_retry_ms(repl->current);
    if (running > 0) {
        add_part(row, ik_sprintf(ctx, "%zu tool%s running", running, running == 1 ? "" : "s"));
    }
    if (retry >= 0) {
        add_part(row, ik_sprintf(ctx, "retry in %lld s", (long long)((retry + 999) / 1000)));
    }
    if (tools == TOOL_SCAN_IN_PROGRESS) {
        add_part(row, "looking for tools");
    }
    if (tools == TOOL_SCAN_FAILED) {
        add_part(row, "no tools");
    }
}

static void add_agents(const ik_repl_t *repl, ik_row_t *row, const void *ctx)
{
    const ik_workspace_t *workspace = repl->workspace;
    size_t count = ik_workspace_agent_count(workspace);
    int64_t focus = ik_workspace_focus(workspace);
    size_t busy = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t number = ik_workspace_agent_number(workspace, i);
        busy += number != focus && ik_workspace_is_busy(workspace, number);
    }
    add_part(row, ik_sprintf(ctx, "agent %lld", (long long)focus));
    if (count > 1) {
        add_part(row, ik_sprintf(ctx, "%zu agents", count));
    }
    if (busy > 0) {
        add_part(row, ik_sprintf(ctx, "%zu busy in the background", busy));
    }
}

void ik_repl_status_draw(ik_repl_t *repl, ik_row_t *row)
{
    void *scratch = talloc_new(repl);
    const ik_target_t *target = ik_workspace_target(repl->workspace);
    add_part(row, target == NULL ? "ikigai" : target->name);
    add_agents(repl, row, scratch);
    add_context(repl, row, scratch);
    add_usage(repl, row, scratch);
    add_activity(repl, row, scratch);
    talloc_free(scratch);
}

/* --- welcome ----------------------------------------------------------------------------- */

static void introduce(ik_repl_t *repl, bool makeshift, const void *ctx)
{
    ik_repl_say(repl, IK_ROLE_STRONG,
                "ikigai " IKIGAI_VERSION
                ": a coding agent whose every tool is an ordinary program.");
    if (makeshift) {
        ik_repl_say(repl, IK_ROLE_TEXT, "Model: offline. It only runs tools (try: run ls).");
        ik_repl_say(repl, IK_ROLE_TEXT,
                    "For a real one set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY.");
    } else {
        ik_repl_say(repl, IK_ROLE_TEXT,
                    ik_sprintf(ctx, "Model: %s. Your messages are sent to that provider.",
                               ik_workspace_target(repl->workspace)->name));
        ik_repl_say(repl, IK_ROLE_TEXT,
                    "/model switches to another one; set \"model\" in ~/.ikigai/config.json to "
                    "keep it.");
    }
    ik_repl_say(repl, IK_ROLE_TEXT,
                "Type a message and press Enter. /help shows commands and keys.");
}

void ik_repl_status_welcome(ik_repl_t *repl)
{
    void *scratch = talloc_new(repl);
    bool makeshift = ik_workspace_is_makeshift(repl->workspace);
    struct stat status;
    bool new_user = stat(repl->options->paths->database, &status) != 0;
    if (makeshift || new_user) {
        introduce(repl, makeshift, scratch);
    } else {
        ik_repl_say(repl, IK_ROLE_DIM,
                    ik_sprintf(scratch, "ikigai " IKIGAI_VERSION ", %s. /help shows commands.",
                               ik_workspace_target(repl->workspace)->name));
    }
    if (makeshift) {
        ik_rows_t rows = ik_view_rows(repl->view);
        ik_rows_lines(&rows, IK_ROLE_DIM, ik_agent_target_describe_local_servers(scratch));
    }
    talloc_free(scratch);
}
