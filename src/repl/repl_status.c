/* The status line, the warning about a full context, and the welcome message. */
#include <string.h>
#include <sys/stat.h>

#include "agent/agent_target.h"
#include "base/alloc.h"
#include "base/sanitiser.h"
#include "base/width.h"
#include "conversation/figure.h"
#include "repl/repl_state.h"

static const double NEARLY_FULL = 0.8; /* of the context window: the user is told */
static const double SHARE_MAX = 99;    /* a server may claim anything */

/* The parts of the status line, from left to right. */
typedef enum {
    MODE,
    MODEL,
    AGENT,
    CONTEXT,
    COST,
    TOOLS,
    RECORDING,
    SUBAGENTS,
    BACKGROUND,
    JOBS,
    KEYS,
    PARTS
} part_t;

typedef struct {
    const char *texts[PARTS]; /* NULL: not shown */
    ik_role_t roles[PARTS];
    size_t room; /* columns */
} line_t;

static const char separator[] = " · ";
enum {
    SEPARATOR_COLUMNS = 3,
    MODEL_COLUMNS_MIN = 4,
    USUAL_COLUMNS = 80, /* from here on, context and cost are shown whatever the model is called */
};

static size_t width_of(const line_t *line)
{
    size_t columns = 0;
    for (int part = 0; part < PARTS; part++) {
        const char *text = line->texts[part];
        if (text != NULL) {
            columns += (columns == 0 ? 0 : SEPARATOR_COLUMNS) + ik_width(text, strlen(text));
        }
    }
    return columns;
}

/* Shows the part, or a longer form of it, if there is room; NULL: there is nothing to show. So the
 * part that matters most is set first. */
static void set(line_t *line, part_t part, const char *text)
{
    const char *before = line->texts[part];
    line->texts[part] = text == NULL ? before : text;
    if (width_of(line) > line->room) {
        line->texts[part] = before;
    }
}

/* --- how full the context is ------------------------------------------------------------- */

typedef struct {
    int64_t used; /* tokens; 0: not known */
    int64_t size; /* 0: not known */
    double share; /* of the window; negative: not known */
} context_t;

static context_t measure_context(const ik_repl_t *repl)
{
    const ik_target_t *target = ik_workspace_target(repl->workspace);
    int64_t focus = ik_workspace_focus(repl->workspace);
    const ik_agent_t *agent = ik_workspace_agent(repl->workspace, focus);
    bool is_new = agent == NULL || ik_agent_conversation(agent)->count == 0;
    context_t context = {.used = ik_workspace_agent_context(repl->workspace, focus),
                         .size = target == NULL ? 0 : target->facts->context,
                         .share = -1};
    if (context.size > 0 && (context.used > 0 || is_new)) {
        double share = (double)context.used / (double)context.size;
        context.share = share < SHARE_MAX ? share : SHARE_MAX;
    }
    return context;
}

void ik_repl_status_watch_context(ik_repl_t *repl)
{
    context_t context = measure_context(repl);
    if (repl->current == NULL || context.share < 0 ||
        !ik_repl_talk_becomes_full(repl->current, context.share > NEARLY_FULL)) {
        return;
    }
    char *line =
        ik_sprintf(repl, "Context %d%% full: /compact frees room.", (int)(100 * context.share));
    ik_view_begin_block(repl->view);
    ik_repl_say(repl, IK_ROLE_WARNING, line);
    talloc_free(line);
}

/* " of 200k" */
static char *format_window(const void *ctx, const context_t *context)
{
    return context->share < 0 ? ik_strdup(ctx, "")
                              : ik_sprintf(ctx, " of %s", ik_figure_of_window(context->size).text);
}

static void set_context(line_t *line, const context_t *context, const void *ctx, bool is_long)
{
    int percent = (int)(100 * context->share);
    if (context->share >= 0) {
        set(line, CONTEXT,
            ik_sprintf(ctx, "%d%%%s", percent, is_long ? format_window(ctx, context) : ""));
    } else if (context->used > 0) { /* the window is not known */
        ik_usage_t usage = IK_USAGE_NONE;
        usage.in = context->used;
        set(line, CONTEXT, ik_sprintf(ctx, "context %s", ik_figure_of_tokens(&usage).text));
    }
    line->roles[CONTEXT] = context->share > NEARLY_FULL ? IK_ROLE_WARNING : IK_ROLE_STATUS;
}

/* --- the other parts --------------------------------------------------------------------- */

/* The model without its provider, cut if it leaves no room for the context; rest is the width of
 * what follows in a window of the usual width. */
static void set_short_model(line_t *line, const char *name, size_t rest, const void *ctx)
{
    const char *slash = strchr(name, '/');
    size_t before = width_of(line);
    size_t taken = before == 0 ? 0 : before + SEPARATOR_COLUMNS;
    taken += line->room + 1 >= USUAL_COLUMNS ? rest : 0;
    size_t room = line->room > taken ? line->room - taken : 0;
    if (room >= MODEL_COLUMNS_MIN) {
        ik_buffer_t text;
        ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by the columns */
        ik_width_append(&text, slash == NULL ? name : slash + 1, room, IK_WIDTH_KEEP_START);
        set(line, MODEL, ik_buffer_finish(&text));
    }
}

/* Only a session with several agents shows which one it is; ended sub-agents do not count. */
static void set_agents(line_t *line, const ik_workspace_t *workspace, const void *ctx)
{
    size_t count = ik_workspace_agent_count(workspace);
    int64_t focus = ik_workspace_focus(workspace);
    size_t busy = 0;
    size_t subagents = 0;
    size_t shown = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t number = ik_workspace_agent_number(workspace, i);
        bool is_subagent = ik_workspace_is_subagent(workspace, number);
        bool is_busy = number != focus && ik_workspace_is_busy(workspace, number);
        shown += !is_subagent || number == focus;
        busy += is_busy && !is_subagent;
        subagents += is_busy && is_subagent;
    }
    set(line, AGENT, shown > 1 ? ik_sprintf(ctx, "agent %lld", (long long)focus) : NULL);
    set(line, SUBAGENTS,
        subagents > 0 ? ik_sprintf(ctx, "%zu sub-agent%s", subagents, subagents == 1 ? "" : "s")
                      : NULL);
    set(line, BACKGROUND, busy > 0 ? ik_sprintf(ctx, "%zu busy in the background", busy) : NULL);
}

static const char *describe_tools(const ik_repl_t *repl)
{
    switch (ik_workspace_shared(repl->workspace)->tool_scan_state) {
    case TOOL_SCAN_IN_PROGRESS:
        return "looking for tools";
    case TOOL_SCAN_FAILED:
        return "no tools";
    default:
        return NULL;
    }
}

/* A checkpoint or an undo that takes longer than a moment: the first checkpoint of a large folder
 * does, and an undo of many files, because it writes each to the disk. */
static const char *describe_recording(const ik_repl_t *repl)
{
    enum { MOMENT_MS = 300 };
    return ik_workspace_undoing_ms(repl->workspace) >= MOMENT_MS     ? "restoring files…"
           : ik_workspace_recording_ms(repl->workspace) >= MOMENT_MS ? "checkpoint…"
                                                                     : NULL;
}

/* Set in the order of importance. */
void ik_repl_status_draw(ik_repl_t *repl, ik_row_t *row)
{
    void *scratch = talloc_new(repl);
    const ik_target_t *target = ik_workspace_target(repl->workspace);
    const char *model = target == NULL ? "ikigai" : ik_sanitise_line(scratch, target->name);
    double cost = ik_workspace_usage(repl->workspace)->cost;
    context_t context = measure_context(repl);
    line_t line = {.room = (size_t)ik_view_rows(repl->view).columns - 1};
    for (int part = 0; part < PARTS; part++) {
        line.roles[part] = IK_ROLE_STATUS;
    }
    ik_mode_t mode = ik_workspace_mode(repl->workspace, ik_workspace_focus(repl->workspace));
    set(&line, MODE, mode == IK_MODE_AUTO ? NULL : ik_mode_name(mode));
    line.roles[MODE] = mode == IK_MODE_FULL ? IK_ROLE_WARNING : IK_ROLE_STRONG;
    const char *money = cost > 0 ? ik_strdup(scratch, ik_figure_of_cost(cost).text) : NULL;
    size_t rest = strlen(format_window(scratch, &context)) +
                  (money == NULL ? 0 : SEPARATOR_COLUMNS + strlen(money));
    set_context(&line, &context, scratch, false);
    set_short_model(&line, model, rest, scratch);
    set(&line, COST, money);
    size_t jobs = ik_workspace_jobs_running(repl->workspace);
    set(&line, JOBS,
        jobs > 0 ? ik_sprintf(scratch, "%zu job%s", jobs, jobs == 1 ? "" : "s") : NULL);
    set_context(&line, &context, scratch, true);
    set(&line, MODEL, model);
    set(&line, KEYS, ik_prompt_is_normal(ik_view_prompt(repl->view)) ? "normal mode" : NULL);
    set(&line, TOOLS, describe_tools(repl));
    set(&line, RECORDING, describe_recording(repl));
    set_agents(&line, repl->workspace, scratch);
    for (int part = 0; part < PARTS; part++) {
        if (line.texts[part] != NULL) {
            ik_row_add_role(row, IK_ROLE_STATUS, row->bytes.len == 0 ? "" : separator);
            ik_row_add_role(row, line.roles[part], line.texts[part]);
        }
    }
    talloc_free(scratch);
}

/* --- welcome ----------------------------------------------------------------------------- */

void ik_repl_status_welcome(ik_repl_t *repl, bool offers_setup)
{
    static const char title[] =
        "ikigai " IKIGAI_VERSION ": a coding agent whose every tool is an ordinary program.";
    void *scratch = talloc_new(repl);
    const ik_target_t *target = ik_workspace_target(repl->workspace);
    struct stat status;
    bool new_user = stat(repl->options->paths->database, &status) != 0;
    if (offers_setup) {
        ik_repl_say(repl, IK_ROLE_STRONG, title);
    } else if (ik_workspace_is_makeshift(repl->workspace)) {
        const char *unused = ik_agent_target_describe_unused_key(scratch, repl->options->config);
        ik_repl_say(
            repl, IK_ROLE_DIM,
            ik_sprintf(scratch, "ikigai " IKIGAI_VERSION ", offline. %s See /help.",
                       unused != NULL ? unused : "Run ikigai setup or set OPENAI_API_KEY."));
    } else if (new_user) {
        ik_repl_say(repl, IK_ROLE_STRONG, title);
        ik_repl_say(repl, IK_ROLE_TEXT,
                    ik_sprintf(scratch, "Model: %s. %s", target->name,
                               target->provider == &ik_provider_offline
                                   ? "Your messages stay on this machine."
                                   : "Your messages are sent to that provider."));
        ik_repl_say(repl, IK_ROLE_TEXT,
                    "/model switches to another one; ikigai setup changes the default.");
        ik_repl_say(repl, IK_ROLE_TEXT,
                    "Type a message and press Enter. /help shows commands and keys.");
    } else {
        ik_repl_say(repl, IK_ROLE_DIM,
                    ik_sprintf(scratch, "ikigai " IKIGAI_VERSION ", %s. /help shows commands.",
                               target->name));
    }
    talloc_free(scratch);
}
