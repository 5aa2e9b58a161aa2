/* The status line, and the first words. */
#include <sys/stat.h>

#include "agent/agent_target.h"
#include "base/alloc.h"
#include "repl/repl_state.h"
#include "store/export/export_facts.h"

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
    int64_t used = ik_repl_talk_context(repl->current);
    int64_t size = repl->target == NULL ? 0 : ik_repl_target(repl)->facts->context;
    if (used > 0 && size > 0) {
        add_part(row, ik_sprintf(ctx, "%lld%% of %lldk", (long long)(100 * used / size),
                                 (long long)(size / 1000)));
    }
}

static void add_usage(const ik_repl_t *repl, ik_row_t *row, const void *ctx)
{
    const ik_usage_t *usage = &repl->usage.usage;
    int64_t tokens = (usage->in > 0 ? usage->in : 0) + (usage->out > 0 ? usage->out : 0);
    if (tokens > 0) {
        add_part(row, ik_sprintf(ctx, "%s tokens", ik_export_facts_number(ctx, tokens)));
    }
    if (repl->usage.cost > 0) {
        add_part(row, ik_export_facts_cost(ctx, repl->usage.cost));
    }
}

static void add_activity(const ik_repl_t *repl, ik_row_t *row, const void *ctx)
{
    size_t running = ik_repl_talk_running(repl->current);
    int64_t retry = ik_repl_talk_retry_ms(repl->current);
    if (running > 0) {
        add_part(row, ik_sprintf(ctx, "%zu tool%s running", running, running == 1 ? "" : "s"));
    }
    if (retry >= 0) {
        add_part(row, ik_sprintf(ctx, "retry in %lld s", (long long)((retry + 999) / 1000)));
    }
    if (repl->shared.tool_scan_state == TOOL_SCAN_IN_PROGRESS) {
        add_part(row, "looking for tools");
    }
    if (repl->shared.tool_scan_state == TOOL_SCAN_FAILED) {
        add_part(row, "no tools");
    }
}

static size_t count_busy(const ik_repl_t *repl)
{
    size_t busy = 0;
    for (size_t i = 0; i < repl->talk_count; i++) {
        busy += repl->talks[i] != repl->current && ik_repl_talk_is_busy(repl->talks[i]);
    }
    return busy;
}

static void add_agents(const ik_repl_t *repl, ik_row_t *row, const void *ctx)
{
    size_t busy = count_busy(repl);
    long long number = (long long)ik_repl_talk_number(repl->current);
    add_part(row, ik_sprintf(ctx, "agent %lld", number));
    if (repl->talk_count > 1) {
        add_part(row, ik_sprintf(ctx, "%zu agents", repl->talk_count));
    }
    if (busy > 0) {
        add_part(row, ik_sprintf(ctx, "%zu busy in the background", busy));
    }
}

void ik_repl_status_draw(ik_repl_t *repl, ik_row_t *row)
{
    void *scratch = talloc_new(repl);
    add_part(row, repl->target == NULL ? "ikigai" : ik_repl_target(repl)->name);
    add_agents(repl, row, scratch);
    add_context(repl, row, scratch);
    add_usage(repl, row, scratch);
    add_activity(repl, row, scratch);
    talloc_free(scratch);
}

/* --- the first words --------------------------------------------------------------------- */

static void welcome_newcomer(ik_repl_t *repl, bool makeshift, const void *ctx)
{
    ik_repl_say(repl, IK_ROLE_STRONG,
                "ikigai " IKIGAI_VERSION
                ": a coding agent whose every tool is an ordinary program.");
    if (makeshift) {
        ik_repl_say(repl, IK_ROLE_TEXT,
                    "Model: offline. It runs tools (try: run ls) but is no language model.");
        ik_repl_say(repl, IK_ROLE_TEXT,
                    "For a real one set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY.");
    } else {
        ik_repl_say(repl, IK_ROLE_TEXT,
                    ik_sprintf(ctx, "Model: %s. What you say to it goes to that provider.",
                               repl->target->name));
        ik_repl_say(repl, IK_ROLE_TEXT,
                    "/model chooses another one; \"model\" in ~/.ikigai/config.json keeps the "
                    "choice.");
    }
    ik_repl_say(repl, IK_ROLE_TEXT,
                "Type a message and press Enter. /help shows commands and keys.");
}

static bool is_newcomer(const ik_repl_t *repl)
{
    struct stat status;
    return stat(repl->options->paths->database, &status) != 0;
}

void ik_repl_status_welcome(ik_repl_t *repl)
{
    void *scratch = talloc_new(repl);
    bool makeshift = ik_agent_target_is_makeshift(repl->options->config, repl->target);
    if (makeshift || is_newcomer(repl)) {
        welcome_newcomer(repl, makeshift, scratch);
    } else {
        ik_repl_say(repl, IK_ROLE_DIM,
                    ik_sprintf(scratch, "ikigai " IKIGAI_VERSION ", %s. /help shows commands.",
                               repl->target->name));
    }
    if (makeshift) {
        ik_repl_rows_t rows = ik_repl_view_rows(repl->view);
        ik_repl_rows_lines(&rows, IK_ROLE_DIM, ik_agent_target_describe_local_servers(scratch));
    }
    talloc_free(scratch);
}
