#include "hook/hooks.h"

#include <string.h>

#include "base/alloc.h"
#include "base/glob_match.h"
#include "hook/hook_payload.h"

enum { STDERR_MAX = 64 * 1024 };

struct ik_hooks {
    ik_hooks_options_t options;
    ik_hook_t *list; /* sorted: a project's first, then by name */
    size_t count;
};

typedef struct run run_t;

/* One hook of a run. */
typedef struct {
    run_t *run;
    const char *title; /* "before_tool/guard.sh" */
    const char *file;
    bool of_project;
    const char *unusable; /* NULL: it can run */
    bool blocks;          /* when it fails */
    int64_t timeout_ms;
    ik_process_t *process; /* NULL: not running */
    ik_hook_answer_t answer;
} started_t;

/* The hooks of one event. */
struct run {
    ik_hooks_t *hooks;
    ik_hook_occasion_t occasion; /* its texts are copies */
    ik_hook_agent_t agent;
    started_t *started; /* a project's first */
    size_t count;
    size_t first; /* the group that runs: from first up to, but without, end */
    size_t end;
    size_t running;
    ik_timer_t *advance; /* the next step comes from the loop */
    ik_hook_outcome_t outcome;
    ik_hooks_end_fn on_end;
    void *data;
};

/* --- the list ---------------------------------------------------------------------------- */

ik_hooks_t *ik_hooks_create(const void *ctx, const ik_hooks_options_t *options)
{
    ik_hooks_t *hooks = ik_new(ctx, ik_hooks_t);
    hooks->options = *options;
    return hooks;
}

static int compare(const void *a, const void *b)
{
    const ik_hook_t *first = a;
    const ik_hook_t *second = b;
    int group = (second->of_project > first->of_project) - (second->of_project < first->of_project);
    return group != 0 ? group : strcmp(first->name, second->name);
}

void ik_hooks_set(ik_hooks_t *hooks, const ik_hook_t *list, size_t count)
{
    talloc_free(hooks->list);
    hooks->list = count == 0 ? NULL : ik_new_array(hooks, ik_hook_t, count);
    hooks->count = count;
    for (size_t i = 0; i < count; i++) {
        hooks->list[i] = list[i];
        hooks->list[i].name = ik_strdup(hooks->list, list[i].name);
        hooks->list[i].file = ik_strdup(hooks->list, list[i].file);
        hooks->list[i].unusable =
            list[i].unusable == NULL ? NULL : ik_strdup(hooks->list, list[i].unusable);
    }
    if (count > 0) {
        qsort(hooks->list, count, sizeof(*hooks->list), compare);
    }
}

/* Whether the configuration lets the hook run for the tool. */
static bool is_for_tool(const ik_config_hook_t *config, const char *tool)
{
    bool matches = config == NULL || config->tools == NULL || tool == NULL;
    for (size_t i = 0; !matches && config->tools[i] != NULL; i++) {
        ik_glob_t glob;
        ik_glob_prepare(&glob, NULL, config->tools[i], strlen(config->tools[i]), 0);
        matches = ik_glob_matches(&glob, tool, strlen(tool));
        talloc_free((void *)glob.text);
    }
    return matches;
}

static bool blocks_on_failure(const ik_config_hook_t *config)
{
    return config != NULL && config->on_failure == IK_CONFIG_ON_FAILURE_BLOCK;
}

static bool is_meant(const ik_hooks_t *hooks, const ik_hook_t *hook, ik_hook_event_t event,
                     const char *tool)
{
    const ik_config_hook_t *config = ik_config_hook(hooks->options.config, hook->name);
    return hook->event == event && is_for_tool(config, tool) &&
           (hook->unusable == NULL || blocks_on_failure(config));
}

bool ik_hooks_any(const ik_hooks_t *hooks, ik_hook_event_t event, const char *tool)
{
    for (size_t i = 0; hooks != NULL && i < hooks->count; i++) {
        if (is_meant(hooks, &hooks->list[i], event, tool)) {
            return true;
        }
    }
    return false;
}

/* --- answers ----------------------------------------------------------------------------- */

static void begin_group(run_t *run);

static void notice(run_t *run, char *text)
{
    const ik_hooks_options_t *options = &run->hooks->options;
    options->notice(options->data, run->occasion.agent, run->occasion.event, text);
    talloc_free(text);
}

/* Only what has not happened yet can be blocked. */
static bool can_block(ik_hook_event_t event)
{
    return event == IK_HOOK_BEFORE_TOOL || event == IK_HOOK_USER_PROMPT ||
           event == IK_HOOK_BEFORE_COMPACT;
}

static void take_answer(run_t *run, started_t *hook)
{
    ik_hook_answer_t *answer = &hook->answer;
    if (answer->failure != NULL) {
        char *text = ik_sprintf(run, "The hook %s failed: %s", hook->title, answer->failure);
        notice(run, ik_strdup(run, text));
        bool blocks = hook->blocks && can_block(run->occasion.event);
        answer->decision = blocks ? IK_HOOK_DENY : IK_HOOK_SILENCE;
        answer->reason = text;
    } else if (answer->message != NULL) {
        notice(run, ik_sprintf(run, "%s: %s", hook->title, answer->message));
    }
    ik_hook_outcome_add(run, &run->outcome, answer, hook->title, hook->of_project,
                        run->occasion.input);
}

static void finish(run_t *run)
{
    if (run->outcome.stops) {
        char *plain = ik_sprintf(run, "The hook %s ended the turn", run->outcome.hook);
        notice(run, run->outcome.names_hook
                        ? plain
                        : ik_sprintf(run, "%s: %s", plain, run->outcome.reason));
    }
    ik_alloc_take(run); /* on_end may free the context */
    run->on_end(run->data, &run->outcome);
    talloc_free(run);
}

/* All hooks of the group have ended: their answers count in order. */
static void on_advance(void *data)
{
    run_t *run = data;
    for (size_t i = run->first; i < run->end; i++) {
        take_answer(run, &run->started[i]);
    }
    run->first = run->end;
    if (run->outcome.decision == IK_HOOK_DENY || run->outcome.stops || run->first == run->count) {
        finish(run);
    } else {
        begin_group(run);
    }
}

static void end_hook(started_t *hook)
{
    if (--hook->run->running == 0) {
        ik_timer_start(hook->run->advance, 0);
    }
}

static void fail(started_t *hook, const char *failure)
{
    hook->answer = (ik_hook_answer_t){.failure = ik_strdup(hook->run, failure)};
    end_hook(hook);
}

static void on_process_end(void *data, ik_process_result_t *result)
{
    started_t *hook = data;
    run_t *run = hook->run;
    hook->process = NULL; /* it frees itself */
    ik_hook_output_t output = {.status = result->exit_code,
                               .out = {result->out.data, result->out.len},
                               .err = {result->err.data, result->err.len}};
    /* it may have ended before it could be ended */
    switch (result->out.dropped > 0 ? IK_PROCESS_FLOODED : result->end) {
    case IK_PROCESS_EXITED:
        hook->answer = ik_hook_answer_parse(run, run->occasion.event, &output);
        end_hook(hook);
        break;
    case IK_PROCESS_FLOODED:
        fail(hook, "it printed more than 64 KiB");
        break;
    case IK_PROCESS_IDLE:
    case IK_PROCESS_OVERTIME:
        fail(hook,
             ik_sprintf(run, "it took longer than %lld second%s",
                        (long long)hook->timeout_ms / 1000, hook->timeout_ms == 1000 ? "" : "s"));
        break;
    default:
        fail(hook, is_err(&result->error) ? result->error.message : "it was ended");
    }
}

/* --- starting ---------------------------------------------------------------------------- */

static const char **make_environment(run_t *run, bool of_project, bool confined)
{
    enum { OWN_VARIABLES = 3 };
    char **passed = ik_config_hook_environment(run, run->hooks->options.config, !of_project);
    size_t count = 0;
    while (passed[count] != NULL) {
        count++;
    }
    const char **env = ik_new_array(run, const char *, count + OWN_VARIABLES + 1);
    for (size_t i = 0; i < count; i++) {
        env[i] = passed[i];
    }
    env[count++] = ik_sprintf(env, "CLAUDE_PROJECT_DIR=%s", run->hooks->options.paths->cwd);
    env[count++] = ik_sprintf(env, "IKIGAI_SESSION_ID=%s", run->agent.session_id);
    if (confined) {
        env[count++] = "TMPDIR=/tmp";
    }
    return env;
}

/* Starts the group; host runs it. */
static void start_group(run_t *run, ik_process_host_t *host, bool confined)
{
    const ik_hooks_options_t *options = &run->hooks->options;
    void *scratch = talloc_new(run);
    const char *input = run->outcome.input == NULL ? run->occasion.input : run->outcome.input;
    size_t len;
    char *payload = ik_hook_payload_format(scratch, &run->occasion, &run->agent,
                                           options->paths->cwd, input, &len);
    const char **env = make_environment(run, run->started[run->first].of_project, confined);
    run->running = run->end - run->first;
    for (size_t i = run->first; i < run->end; i++) {
        started_t *hook = &run->started[i];
        if (hook->unusable != NULL) {
            fail(hook, hook->unusable);
            continue;
        }
        const char *argv[] = {hook->file, NULL};
        ik_process_options_t process = {
            .argv = argv,
            .env = env,
            .folder = options->paths->cwd,
            .input = payload,
            .input_len = len,
            .max_out = IK_HOOK_OUTPUT_MAX,
            .stop_when_full = true,
            .impatient = true,
            .max_err = STDERR_MAX,
            .idle_ms = hook->timeout_ms,
            .max_ms = hook->timeout_ms,
            .on_end = on_process_end,
            .data = hook,
        };
        res_t started = ik_process_start(run, host, &process, &hook->process);
        if (is_err(&started)) {
            fail(hook, started.message);
        }
    }
    talloc_free(scratch);
}

static void fail_group(run_t *run, const char *why)
{
    run->running = run->end - run->first;
    for (size_t i = run->first; i < run->end; i++) {
        fail(&run->started[i], why);
    }
}

static void on_room(void *data, ik_process_host_t *room)
{
    run_t *run = data;
    const ik_hooks_options_t *options = &run->hooks->options;
    bool required = options->config->confinement == IK_CONFIG_CONFINEMENT_REQUIRED;
    if (room == NULL ||
        (required && ik_confinement_facts(options->confinement)->level != IK_CONFINEMENT_FULL)) {
        fail_group(run, "it cannot be confined here; see ikigai doctor");
    } else {
        start_group(run, room, true);
    }
}

/* A project's hooks write in the project alone, and nowhere in plan mode, which holds even where
 * confinement is turned off. */
static void begin_group(run_t *run)
{
    const ik_hooks_options_t *options = &run->hooks->options;
    bool of_project = run->started[run->first].of_project;
    run->end = run->first;
    while (run->end < run->count && run->started[run->end].of_project == of_project) {
        run->end++;
    }
    bool plans = run->agent.mode == IK_MODE_PLAN;
    bool off = options->config->confinement == IK_CONFIG_CONFINEMENT_OFF;
    if (!of_project || (off && !plans)) {
        start_group(run, options->host, false);
        return;
    }
    ik_effects_t effects = {.write = plans ? IK_WRITE_NONE : IK_WRITE_PROJECT};
    ik_confinement_prepare(run, options->confinement, effects, on_room, run);
}

static const char *copy(run_t *run, const char *text)
{
    return text == NULL ? NULL : ik_strdup(run, text);
}

/* The hooks may be replaced, and the occasion may be gone, while they run. */
static void copy_occasion(run_t *run, const ik_hook_occasion_t *occasion)
{
    const ik_hooks_options_t *options = &run->hooks->options;
    ik_hook_agent_t agent = {0};
    options->describe(options->data, occasion->agent, &agent);
    run->agent = (ik_hook_agent_t){.session_id = copy(run, agent.session_id),
                                   .model = copy(run, agent.model),
                                   .mode = agent.mode,
                                   .id = copy(run, agent.id),
                                   .type = copy(run, agent.type)};
    run->occasion = *occasion;
    run->occasion.source = copy(run, occasion->source);
    run->occasion.prompt = copy(run, occasion->prompt);
    run->occasion.tool = copy(run, occasion->tool);
    run->occasion.input =
        occasion->input == NULL ? NULL : ik_strndup(run, occasion->input, occasion->input_len);
    run->occasion.call_id = copy(run, occasion->call_id);
    run->occasion.response = copy(run, occasion->response);
    run->occasion.trigger = copy(run, occasion->trigger);
    run->occasion.reason = copy(run, occasion->reason);
}

void *ik_hooks_start(const void *ctx, ik_hooks_t *hooks, const ik_hook_occasion_t *occasion,
                     ik_hooks_end_fn on_end, void *data)
{
    const ik_config_t *config = hooks->options.config;
    run_t *run = ik_new(ctx, run_t);
    run->hooks = hooks;
    run->on_end = on_end;
    run->data = data;
    run->advance = ik_timer_create(run, ik_process_host_loop(hooks->options.host), on_advance, run);
    copy_occasion(run, occasion);
    run->started = ik_new_array(run, started_t, hooks->count);
    for (size_t i = 0; i < hooks->count; i++) {
        const ik_hook_t *hook = &hooks->list[i];
        if (!is_meant(hooks, hook, occasion->event, occasion->tool)) {
            continue;
        }
        const ik_config_hook_t *own = ik_config_hook(config, hook->name);
        long seconds = own != NULL && own->timeout_seconds > 0 ? own->timeout_seconds
                                                               : config->hook_timeout_seconds;
        run->started[run->count++] = (started_t){
            .run = run,
            .title = ik_sprintf(run, "%s/%s", ik_hook_event_name(hook->event), hook->name),
            .file = ik_strdup(run, hook->file),
            .of_project = hook->of_project,
            .unusable = copy(run, hook->unusable),
            .blocks = blocks_on_failure(own),
            .timeout_ms = (int64_t)seconds * 1000,
        };
    }
    begin_group(run);
    return run;
}
