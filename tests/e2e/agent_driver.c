/*
 * An agent over several turns, for what `ikigai -p` cannot do: another model from one turn to the
 * next, and going on with what was recorded.
 *
 *     agent_driver RECORD|- [PROVIDER/MODEL PROMPT]...
 *
 * RECORD is a file of messages, one object per line, as `ikigai -p --json` prints them; lines of
 * other types are ignored. Prints what `ikigai -p --json` would, one turn after the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/alloc.h"
#include "base/json.h"
#include "headless/headless_output.h"

typedef struct {
    ik_shared_ctx_t shared;
    ik_paths_t *paths;
    ik_config_t *config;
    ik_models_t *models;
    void *output;
    bool done;
} driver_t;

static void must(res_t result)
{
    if (is_err(&result)) {
        fprintf(stderr, "agent_driver: %s\n", result.message);
        exit(2);
    }
}

static void on_event(void *data, const ik_agent_event_t *event)
{
    driver_t *driver = data;
    ik_headless_json.on_event(driver->output, 0, event);
    driver->done = driver->done || event->kind == IK_AGENT_TURN_ENDED;
}

static void set_up(void *ctx, driver_t *driver)
{
    ik_shared_ctx_t *shared = &driver->shared;
    const ik_tool_discovery_result_t *found;
    must(ik_paths_create(ctx, &driver->paths));
    must(ik_config_load(ctx, driver->paths, NULL, &driver->config));
    must(ik_models_load(ctx, driver->paths, &driver->models));
    must(ik_loop_create(ctx, &shared->loop));
    shared->config = driver->config;
    shared->models = driver->models;
    shared->http = ik_http_create(ctx, shared->loop);
    shared->gate = &ik_call_gate_open;
    shared->tool_context = (ik_tool_context_t){
        .host = ik_process_host_create(ctx, shared->loop, driver->paths->keeper),
        .config = driver->config,
        .folder = driver->paths->cwd};
    must(ik_tool_discovery_run(ctx,
                               &(ik_tool_discovery_options_t){.paths = driver->paths,
                                                              .config = driver->config,
                                                              .host = shared->tool_context.host},
                               &found));
    shared->tool_registry = found->registry;
}

static void take_line(ik_conversation_t *record, const char *line)
{
    json_t *value = json_loads(line, JSON_ALLOW_NUL, NULL);
    const char *kind = json_string_value(json_object_get(value, "kind"));
    if (kind != NULL) {
        char *data = ik_json_format(NULL, json_object_get(value, "data"));
        ik_conversation_append(
            record,
            ik_msg_create(NULL, kind, json_string_value(json_object_get(value, "content")), data));
        talloc_free(data);
    }
    json_decref(value);
}

static ik_conversation_t *load_record(void *ctx, const char *path)
{
    ik_conversation_t *record = ik_conversation_create(ctx);
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    while (file != NULL && getline(&line, &size, file) > 0) {
        take_line(record, line);
    }
    free(line);
    if (file == NULL || fclose(file) != 0) {
        fprintf(stderr, "agent_driver: cannot read %s\n", path);
        exit(2);
    }
    return record;
}

static const ik_target_t *find_target(void *ctx, const driver_t *driver, const char *name)
{
    const ik_target_t *target;
    must(ik_target_create(ctx, driver->config, driver->models, name, &target));
    return target;
}

static void store_all(ik_session_t *session, const ik_conversation_t *record)
{
    must(ik_session_append(session, IK_STORE_ROOT_AGENT, record->messages, record->count,
                           IK_STORE_NORMAL));
}

static ik_agent_t *create_agent(void *ctx, driver_t *driver, const char *record, const char *name)
{
    ik_history_options_t in_memory = {.db = ":memory:", .loop = driver->shared.loop};
    ik_session_facts_t session_facts = {.cwd = driver->paths->cwd, .model = name};
    ik_session_t *session =
        ik_session_create(ctx, ik_history_create(ctx, &in_memory), &session_facts);
    ik_agent_options_t options = {
        .shared = &driver->shared,
        .target = find_target(ctx, driver, name),
        .system_prompt = "You are a test.",
        .session = session,
        .on_event = on_event,
        .data = driver,
    };
    ik_headless_facts_t facts = {.session_id = ik_session_id(session),
                                 .target = options.target,
                                 .registry = driver->shared.tool_registry,
                                 .folder = driver->paths->cwd,
                                 .out = stdout};
    driver->output = ik_headless_json.begin(ctx, &facts);
    ik_headless_json.on_level(driver->output, "off");
    if (strcmp(record, "-") == 0) {
        return ik_agent_create(ctx, &options);
    }
    store_all(session, load_record(ctx, record));
    ik_agent_t *agent;
    must(ik_agent_resume(ctx, &options, IK_STORE_ROOT_AGENT, &agent));
    return agent;
}

static void run_turn(driver_t *driver, ik_agent_t *agent, const char *prompt)
{
    driver->done = false;
    ik_agent_start_turn(agent, prompt, NULL);
    if (!ik_loop_run_until(driver->shared.loop, &driver->done)) {
        fputs("agent_driver: the turn has nothing to wait for\n", stderr);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc % 2 != 0) {
        fputs("Usage: agent_driver RECORD|- [PROVIDER/MODEL PROMPT]...\n", stderr);
        return 2;
    }
    void *ctx = talloc_new(NULL);
    driver_t driver = {0};
    ik_json_seed();
    set_up(ctx, &driver);
    ik_agent_t *agent = create_agent(ctx, &driver, argv[1], argv[2]);
    for (int i = 2; i < argc; i += 2) {
        if (i > 2 && strcmp(argv[i], argv[i - 2]) != 0) {
            ik_agent_set_target(agent, find_target(ctx, &driver, argv[i]));
        }
        run_turn(&driver, agent, argv[i + 1]);
    }
    ik_headless_json.end(driver.output);
    talloc_free(agent);
    talloc_free(driver.shared.tool_context.host);
    talloc_free(ctx);
    return fflush(stdout) == 0 ? 0 : 1;
}
