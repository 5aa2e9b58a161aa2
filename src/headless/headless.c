#include "headless/headless.h"

#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/agent_prompt.h"
#include "agent/agent_target.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/print.h"
#include "headless/headless_input.h"
#include "headless/headless_output.h"
#include "headless/headless_session.h"
#include "io/interrupt.h"

/* Nobody reads faster; a fast stream is written in fewer pieces, a slow one at once. */
enum { FLUSH_MS = 5 };
enum { STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

typedef struct {
    const ik_headless_options_t *options;
    ik_shared_ctx_t shared;
    ik_store_session_t found; /* the session to go on with; its id is NULL when there is none */
    ik_session_t *session;
    const ik_target_t *target;
    const ik_headless_output_t *output;
    void *output_state;
    ik_agent_t *agent;
    char *prompt;
    ik_timer_t *flush; /* prints what came at once, or nearly so, in one piece */
    bool flush_due;
    int64_t flushed_ms;
    bool done;
    int status;
    int signal; /* that interrupted; 0: none */
} headless_t;

static void complain(const char *message)
{
    fputs("ikigai: ", stderr);
    ik_print_line(stderr, message);
}

static int fail(int status, const char *message)
{
    complain(message);
    return status;
}

/* --- events ------------------------------------------------------------------------------ */

static int status_of(const headless_t *headless, ik_turn_reason_t reason)
{
    switch (reason) {
    case IK_TURN_ERROR:
        return STATUS_FAILED;
    case IK_TURN_INTERRUPTED:
        return headless->signal == 0 ? STATUS_FAILED : 128 + headless->signal;
    default:
        return STATUS_DONE;
    }
}

/* Nobody reads any more, or the disk is full: there is no point in going on. */
static void on_flush(void *data)
{
    headless_t *headless = data;
    headless->flush_due = false;
    headless->flushed_ms = ik_clock_now_ms();
    if (fflush(stdout) != 0 || ferror(stdout)) {
        ik_agent_interrupt(headless->agent);
    }
}

static void on_event(void *data, const ik_agent_event_t *event)
{
    headless_t *headless = data;
    headless->output->on_event(headless->output_state, event);
    if (event->kind == IK_AGENT_TURN_ENDED) {
        headless->status = status_of(headless, event->reason);
        headless->done = true;
    } else if (!headless->flush_due) {
        headless->flush_due = true;
        ik_timer_start(headless->flush, headless->flushed_ms + FLUSH_MS - ik_clock_now_ms());
    }
}

/* The second signal does not wait for tools to end: leaving ends them, too. */
static void on_interrupt(void *data, int signal)
{
    headless_t *headless = data;
    if (headless->done) {
        return;
    }
    if (headless->signal != 0) {
        on_event(headless,
                 &(ik_agent_event_t){.kind = IK_AGENT_TURN_ENDED, .reason = IK_TURN_INTERRUPTED});
        return;
    }
    headless->signal = signal;
    ik_agent_interrupt(headless->agent);
}

/* --- before the turn --------------------------------------------------------------------- */

static void announce_offline(const void *ctx)
{
    fputs("No model is configured, so the offline model answers: it runs tools, but it is no "
          "language model.\n"
          "Set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or choose one with "
          "-m provider/model.\n",
          stderr);
    fputs(ik_agent_target_describe_local_servers(ctx), stderr);
}

static res_t choose_target(headless_t *headless, const void *ctx)
{
    const ik_config_t *config = headless->options->config;
    ik_models_t *models;
    char *notice;
    res_t loaded = ik_models_load(ctx, headless->options->paths, &models);
    if (is_err(&loaded)) {
        fputs("ikigai: warning: ", stderr);
        ik_print_line(stderr, loaded.message);
    }
    headless->shared.models = models;
    res_t chosen = ik_agent_target_choose(ctx, config, models, headless->found.model,
                                          &headless->target, &notice);
    if (notice != NULL) {
        ik_print_line(stderr, notice);
    }
    TRY(chosen);
    if (ik_agent_target_is_makeshift(config, headless->target)) {
        announce_offline(ctx);
    }
    return OK;
}

/* Fails only when no process can be started: then there is no point in asking for one. */
static res_t discover_tools(headless_t *headless, const void *ctx)
{
    const ik_headless_options_t *options = headless->options;
    const ik_tool_discovery_result_t *found;
    if (options->wish->without_tools) {
        return OK;
    }
    headless->shared.tool_scan_state = TOOL_SCAN_IN_PROGRESS;
    res_t scanned =
        ik_tool_discovery_run(ctx,
                              &(ik_tool_discovery_options_t){.paths = options->paths,
                                                             .config = options->config,
                                                             .host = options->host,
                                                             .ask_user_again = true,
                                                             .trust_project = options->wish->trust},
                              &found);
    if (is_err(&scanned)) {
        headless->shared.tool_scan_state = TOOL_SCAN_FAILED;
        return scanned;
    }
    headless->shared.tool_scan_state = TOOL_SCAN_COMPLETE;
    headless->shared.tool_registry = found->registry;
    for (size_t i = 0; i < found->problem_count; i++) {
        ik_print_line(stderr, found->problems[i]);
    }
    char *trust_line = ik_tool_discovery_trust_line(ctx, found);
    if (trust_line != NULL) {
        ik_print_line(stderr, trust_line);
    }
    if (found->none) {
        ik_print_line(stderr, ik_tool_discovery_none);
    }
    if (found->changed != NULL) {
        ik_print_line(stderr, ik_sprintf(ctx, "Tools asked again. Changed: %s.", found->changed));
    }
    return OK;
}

/* Outside of the turn it goes where everything goes that concerns beginning and end. */
static void on_history_notice(void *data, const char *line)
{
    headless_t *headless = data;
    if (headless->agent == NULL || headless->done) {
        ik_print_line(stderr, line);
    } else {
        on_event(headless,
                 &(ik_agent_event_t){.kind = IK_AGENT_NOTICE, .text = line, .len = strlen(line)});
    }
}

static void fill_shared(headless_t *headless, const void *ctx)
{
    const ik_headless_options_t *options = headless->options;
    headless->shared.config = options->config;
    headless->shared.loop = options->loop;
    headless->shared.http = ik_http_create(ctx, options->loop);
    headless->shared.history =
        ik_history_create(ctx, &(ik_history_options_t){.db = options->config->db,
                                                       .file = options->paths->database,
                                                       .loop = options->loop,
                                                       .on_notice = on_history_notice,
                                                       .deliver_all = options->wish->deliver_all,
                                                       .data = headless});
    headless->shared.gate = &ik_call_gate_open;
    headless->shared.tool_context = (ik_tool_context_t){
        .host = options->host, .config = options->config, .folder = options->paths->cwd};
}

static void on_prompt_line(void *data, const char *line)
{
    (void)data;
    ik_print_line(stderr, line);
}

static char *make_prompt(const headless_t *headless, const void *ctx)
{
    const ik_tool_registry_t *registry = headless->shared.tool_registry;
    bool has_tools = registry != NULL && registry->count > 0;
    return ik_agent_prompt_gather(ctx, headless->options->paths->cwd,
                                  headless->options->config->system_prompt, has_tools,
                                  on_prompt_line, NULL);
}

static res_t create_agent(headless_t *headless, const void *ctx)
{
    bool resumed = headless->found.id != NULL;
    TRY(ik_headless_session_open(ctx, headless->shared.history, headless->options, &headless->found,
                                 headless->target->name, &headless->session));
    ik_headless_facts_t facts = {.session_id = ik_session_id(headless->session),
                                 .resumed = resumed,
                                 .target = headless->target,
                                 .registry = headless->shared.tool_registry,
                                 .folder = headless->options->paths->cwd};
    headless->output_state = headless->output->begin(ctx, &facts);
    ik_agent_options_t options = {
        .shared = &headless->shared,
        .target = headless->target,
        .system_prompt = resumed ? NULL : make_prompt(headless, ctx),
        .session = headless->session,
        .without_tools = headless->options->wish->without_tools,
        .on_event = on_event,
        .data = headless,
    };
    if (resumed) {
        return ik_agent_resume(ctx, &options, ik_session_last_agent(headless->session),
                               &headless->agent);
    }
    headless->agent = ik_agent_create(ctx, &options);
    return OK;
}

/* --- the turn ---------------------------------------------------------------------------- */

static int run_turn(headless_t *headless, const void *ctx)
{
    ik_interrupt_t *interrupt =
        ik_interrupt_create(ctx, headless->options->loop, on_interrupt, headless);
    ik_agent_start_turn(headless->agent, headless->prompt);
    if (!ik_loop_run_until(headless->options->loop, &headless->done)) {
        PANIC("the turn has nothing to wait for");
    }
    headless->output->end(headless->output_state);
    talloc_free(interrupt);
    return headless->status;
}

/* What can wait until nobody waits any more. */
static void wind_up(headless_t *headless)
{
    fflush(stdout);
    ik_session_flush(headless->session);
    ik_history_tidy(headless->shared.history);
    ik_history_finish(headless->shared.history, IK_HISTORY_FINISH_MS);
}

/* -r without an id: nobody is there to choose. */
static int refuse_choosing(headless_t *headless, const void *ctx)
{
    char *table;
    res_t listed =
        ik_headless_session_list(ctx, headless->shared.history, headless->options, &table);
    if (is_err(&listed)) {
        return fail(STATUS_FAILED, listed.message);
    }
    complain(table == NULL ? "-r needs the id of a session, and there are no sessions yet"
                           : "-r needs the id of a session; its beginning is enough:");
    fputs(table == NULL ? "" : table, stderr);
    return STATUS_USAGE;
}

static int run(headless_t *headless, const void *ctx)
{
    fill_shared(headless, ctx);
    if (headless->options->wish->choose) {
        return refuse_choosing(headless, ctx);
    }
    headless->flush = ik_timer_create(ctx, headless->options->loop, on_flush, headless);
    res_t ready = ik_headless_session_find(ctx, headless->shared.history, headless->options,
                                           &headless->found);
    if (is_err(&ready)) {
        return fail(STATUS_FAILED, ready.message);
    }
    ready = choose_target(headless, ctx);
    if (is_err(&ready)) {
        return fail(STATUS_USAGE, ready.message);
    }
    if (headless->target->config->type != IK_CONFIG_TYPE_OFFLINE) {
        ik_http_prepare(headless->shared.http);
    }
    ready = ik_headless_input_read(ctx, headless->options->wish->prompt, &headless->prompt);
    if (is_err(&ready)) {
        return fail(STATUS_USAGE, ready.message);
    }
    ready = discover_tools(headless, ctx);
    if (is_err(&ready)) {
        return fail(STATUS_FAILED, ready.message);
    }
    ready = create_agent(headless, ctx);
    if (is_err(&ready)) {
        return fail(STATUS_FAILED, ready.message);
    }
    int status = run_turn(headless, ctx);
    wind_up(headless);
    return status;
}

int ik_headless_run(const void *ctx, const ik_headless_options_t *options)
{
    void *scratch = talloc_new(ctx);
    headless_t *headless = ik_new(scratch, headless_t);
    headless->options = options;
    headless->output = options->json ? &ik_headless_json : &ik_headless_text;
    int status = run(headless, scratch);
    TALLOC_FREE(headless->agent); /* each before what it uses */
    TALLOC_FREE(headless->session);
    TALLOC_FREE(headless->shared.history);
    talloc_free(scratch);
    return status;
}
