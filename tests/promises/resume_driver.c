/*
 * Goes on with a session that a crash cut off:
 *
 *   resume_driver IKIGAI MODEL PROMPT < MESSAGES
 *
 * MESSAGES are the lines of type "message" that `ikigai -p --json` had printed. Tools are found and
 * the model is asked as the program IKIGAI would. Prints one JSON object: how the turn ended
 * (reason), the text of the answer and the errors that were told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/alloc.h"
#include "base/json.h"

typedef struct {
    void *ctx;
    ik_paths_t *paths;
    ik_config_t *config;
    ik_shared_ctx_t shared;
    const ik_target_t *target;
    ik_buffer_t text;
    ik_buffer_t errors;
    ik_turn_reason_t reason;
    bool done;
} driver_t;

static void fail(const char *what)
{
    fprintf(stderr, "resume_driver: %s\n", what);
    exit(1);
}

static void require(res_t result)
{
    if (is_err(&result)) {
        fail(result.message);
    }
}

/* --- the stored session ------------------------------------------------------------------ */

static char *take_text(const void *ctx, ik_json_span_t object, const char *name)
{
    ik_json_span_t value;
    bool found = ik_json_find(object, name, &value) && ik_json_kind(value) == IK_JSON_STRING;
    return found ? ik_json_decode(ctx, value, NULL) : NULL;
}

/* The data byte for byte; a message without any is printed with an empty object. */
static char *take_data(const void *ctx, ik_json_span_t object)
{
    ik_json_span_t value;
    bool found = ik_json_find(object, "data", &value) && value.len > 2;
    return found ? ik_strndup(ctx, value.text, value.len) : NULL;
}

static ik_msg_t *parse_message(const void *ctx, const char *line, size_t len)
{
    ik_json_span_t object;
    if (!ik_json_scan(line, len, &object, NULL) || ik_json_kind(object) != IK_JSON_OBJECT) {
        fail("a line is no JSON object");
    }
    void *scratch = talloc_new(NULL);
    ik_msg_t *message =
        ik_msg_create(ctx, take_text(scratch, object, "kind"),
                      take_text(scratch, object, "content"), take_data(scratch, object));
    talloc_free(scratch);
    return message;
}

static ik_conversation_t *read_session(const void *ctx)
{
    ik_conversation_t *stored = ik_conversation_create(ctx);
    char *line = NULL;
    size_t size = 0;
    for (ssize_t len; (len = getline(&line, &size, stdin)) > 0;) {
        ik_conversation_append(stored, parse_message(stored, line, (size_t)len));
    }
    free(line);
    return stored;
}

/* --- what all agents share --------------------------------------------------------------- */

static void find_paths(driver_t *driver, const char *executable)
{
    char *cwd = getcwd(NULL, 0);
    ik_paths_origin_t origin = {.executable = executable,
                                .default_prefix = "/nonexistent",
                                .user_home = getenv("HOME"),
                                .cwd = cwd};
    require(ik_paths_create_from(driver->ctx, &origin, &driver->paths));
    free(cwd);
}

static void find_tools(driver_t *driver)
{
    const ik_tool_discovery_result_t *found;
    ik_tool_discovery_options_t options = {
        .paths = driver->paths, .config = driver->config, .host = driver->shared.external.host};
    require(ik_tool_discovery_run(driver->ctx, &options, &found));
    driver->shared.tool_registry = found->registry;
    driver->shared.tool_scan_state = TOOL_SCAN_COMPLETE;
}

static void set_up(driver_t *driver, const char *executable, const char *model)
{
    ik_shared_ctx_t *shared = &driver->shared;
    ik_models_t *models;
    find_paths(driver, executable);
    require(ik_config_load(driver->ctx, driver->paths, NULL, &driver->config));
    require(ik_models_load(driver->ctx, driver->paths, &models));
    require(ik_target_create(driver->ctx, driver->config, models, model, &driver->target));
    require(ik_loop_create(driver->ctx, &shared->loop));
    shared->config = driver->config;
    shared->models = models;
    shared->http = ik_http_create(driver->ctx, shared->loop);
    shared->external = (ik_tool_external_t){
        .host = ik_process_host_create(driver->ctx, shared->loop, driver->paths->keeper),
        .config = driver->config,
        .folder = driver->paths->cwd,
    };
    find_tools(driver);
}

/* --- the turn ---------------------------------------------------------------------------- */

static void on_event(void *data, const ik_agent_event_t *event)
{
    driver_t *driver = data;
    switch (event->kind) {
    case IK_AGENT_TEXT:
        ik_buffer_append(&driver->text, event->text, event->len);
        break;
    case IK_AGENT_ERROR:
        ik_buffer_append_format(&driver->errors, "%s: %s\n", event->code, event->text);
        break;
    case IK_AGENT_TURN_ENDED:
        driver->reason = event->reason;
        driver->done = true;
        break;
    default:
        break;
    }
}

static void go_on(driver_t *driver, const char *prompt)
{
    ik_history_options_t in_memory = {.db = ":memory:", .loop = driver->shared.loop};
    ik_session_facts_t facts = {.cwd = driver->paths->cwd, .model = driver->target->name};
    ik_session_t *session =
        ik_session_create(driver->ctx, ik_history_create(driver->ctx, &in_memory), &facts);
    ik_agent_options_t options = {
        .shared = &driver->shared,
        .target = driver->target,
        .session = session,
        .on_event = on_event,
        .data = driver,
    };
    ik_conversation_t *stored = read_session(driver->ctx);
    for (size_t i = 0; i < stored->count; i++) {
        require(
            ik_session_append(session, IK_STORE_ROOT_AGENT, stored->messages[i], IK_STORE_NORMAL));
    }
    ik_agent_t *agent;
    require(ik_agent_resume(driver->ctx, &options, IK_STORE_ROOT_AGENT, &agent));
    ik_agent_start_turn(agent, prompt);
    if (!ik_loop_run_until(driver->shared.loop, &driver->done)) {
        fail("the turn has nothing to wait for");
    }
    talloc_free(agent); /* before what it uses */
}

static void report(driver_t *driver)
{
    ik_buffer_t line;
    ik_buffer_init(&line, driver->ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&line, "{\"reason\":");
    ik_json_append_text(&line, ik_turn_reason_name(driver->reason));
    ik_buffer_append_text(&line, ",\"text\":");
    ik_json_append_string(&line, driver->text.data, driver->text.len);
    ik_buffer_append_text(&line, ",\"errors\":");
    ik_json_append_string(&line, driver->errors.data, driver->errors.len);
    ik_buffer_append_text(&line, "}\n");
    fwrite(line.data, 1, line.len, stdout);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fail("usage: resume_driver IKIGAI MODEL PROMPT < MESSAGES");
    }
    driver_t driver = {.ctx = talloc_new(NULL)};
    ik_buffer_init(&driver.text, driver.ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&driver.errors, driver.ctx, IK_BUFFER_UNLIMITED);
    set_up(&driver, argv[1], argv[2]);
    go_on(&driver, argv[3]);
    report(&driver);
    talloc_free(driver.shared.http);
    talloc_free((void *)driver.shared.external.host);
    talloc_free(driver.ctx);
    return 0;
}
