/* `ikigai tool list`, `show` and `run`. */
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/print.h"
#include "cli/cli.h"
#include "permission/permission_gate.h"
#include "tool/tool_describe.h"
#include "tool/tool_runner.h"
#include "tool/tool_wrapper.h"

enum { ARGUMENTS_MAX = 256 * 1024 * 1024 };

static int run_list(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const ik_tool_discovery_result_t *found;
    res_t discovered = ik_cli_discover(cli, ik_cli_args_has(args, "--trust"),
                                       ik_cli_args_has(args, "--refresh"), false, &found);
    if (is_err(&discovered)) {
        return ik_cli_fail(discovered.message);
    }
    if (ik_cli_args_has(args, "--json")) {
        json_t *list = ik_tool_describe_list_json(found->registry);
        ik_cli_print_json(list);
        json_decref(list);
    } else {
        ik_print_text(stdout, ik_tool_describe_list(cli->ctx, found->registry));
    }
    return IK_CLI_DONE;
}

static void print_not_found(const char *name)
{
    char *line =
        ik_sprintf(NULL, "Tool '%s' not found. Run ikigai tool list to see available tools.", name);
    ik_print_line(stderr, line);
    talloc_free(line);
}

static void print_entry_json(const ik_tool_registry_entry_t *entry)
{
    const ik_tool_schema_t *schema = entry->schema;
    json_t *described = ik_tool_describe_entry_json(entry);
    json_object_set(described, "parameters", schema->parameters);
    json_object_set_new(described, "returns", ik_tool_wrap_returns(schema->returns));
    json_object_set_new(described, "parallel", json_boolean(schema->parallel));
    json_object_set_new(described, "timeout_seconds",
                        schema->timeout_seconds > 0 ? json_integer(schema->timeout_seconds)
                                                    : json_null());
    json_object_set_new(described, "escalation",
                        schema->escalation == NULL
                            ? json_null()
                            : json_pack("{s:s}", "parameter", schema->escalation));
    json_object_set_new(described, "display",
                        schema->display == IK_DISPLAY_USUAL
                            ? json_null()
                            : json_string(ik_display_name(schema->display)));
    json_object_set_new(described, "host", ik_tool_describe_host_json(schema->host));
    json_object_set_new(described, "runs_from", ik_tool_describe_path_json(entry->path));
    ik_cli_print_json(described);
    json_decref(described);
}

static int run_show(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const ik_tool_discovery_result_t *found;
    res_t discovered = ik_cli_discover(cli, ik_cli_args_has(args, "--trust"), false, true, &found);
    if (is_err(&discovered)) {
        return ik_cli_fail(discovered.message);
    }
    const ik_tool_registry_entry_t *entry = ik_tool_registry_lookup(found->registry, args->args[0]);
    if (entry == NULL) {
        print_not_found(args->args[0]);
        return IK_CLI_FAILED;
    }
    if (ik_cli_args_has(args, "--json")) {
        print_entry_json(entry);
    } else {
        ik_print_text(stdout, ik_tool_describe_entry(cli->ctx, entry));
    }
    return IK_CLI_DONE;
}

/* Reads standard input to its end; blank input means no arguments. */
static res_t read_arguments(const void *ctx, ik_buffer_t *input)
{
    ik_buffer_init(input, ctx, ARGUMENTS_MAX);
    if (isatty(STDIN_FILENO)) {
        fputs("Type the arguments as JSON and end with Ctrl-D.\n", stderr);
    }
    ssize_t got = 1;
    size_t room = 1;
    while (got > 0 && room > 0) {
        room = ik_buffer_reserve(input, 65536);
        got = room > 0 ? read(STDIN_FILENO, input->data + input->len, room) : 0;
        input->len += got > 0 ? (size_t)got : 0;
    }
    input->data[input->len] = '\0';
    if (got < 0) {
        return ERR(SYSTEM, "Cannot read standard input");
    }
    if (room == 0) {
        return ERR(LIMIT, "The arguments are longer than %d MB", ARGUMENTS_MAX / 1024 / 1024);
    }
    if (strspn(input->data, " \t\r\n") == input->len) {
        ik_buffer_append_text(input, "{}");
    }
    return OK;
}

static void on_progress(void *data, const char *text, size_t len)
{
    (void)data;
    (void)len;
    if (isatty(STDERR_FILENO)) {
        ik_print_text(stderr, text);
    }
}

/* --- running a tool ---------------------------------------------------------------------- */

/* A call on its way through the gate, as in a turn. */
typedef struct {
    void *ctx;
    bool done;
    char *envelope; /* of a call that is not allowed; NULL: it is */
    ik_tool_request_t request;
} gated_t;

static void on_verdict(void *data, const ik_call_verdict_t *verdict)
{
    gated_t *gated = data;
    const char *code = verdict->code == NULL ? IK_TOOL_PERMISSION_DENIED : verdict->code;
    if (verdict->denied != NULL) {
        gated->envelope = ik_tool_wrap_refusal(gated->ctx, code, verdict->denied);
    }
    gated->request.room = verdict->room;
    gated->request.confined =
        verdict->confined == NULL ? NULL : ik_strdup(gated->ctx, verdict->confined);
    gated->request.open_places = verdict->open_places;
    gated->done = true;
}

static ik_mode_t mode_of(void *data, int64_t agent)
{
    (void)agent;
    return *(ik_mode_t *)data;
}

/* The command itself is the user's consent to a call that may write: mode ask asks nothing. */
static res_t choose_mode(const ik_cli_t *cli, const ik_cli_args_t *args, ik_mode_t *mode)
{
    const char *name = ik_cli_args_value(args, "--mode");
    *mode = cli->config->mode == 0 ? IK_MODE_AUTO : (ik_mode_t)(cli->config->mode - 1);
    if (name != NULL && !ik_mode_parse(name, mode)) {
        return ERR(INVALID, "--mode must be auto, ask, plan or full, not '%s'", name);
    }
    if (ik_cli_args_has(args, "--unconfined")) {
        if (name != NULL) {
            return ERR(INVALID, "--unconfined is mode full; do not give --mode with it");
        }
        *mode = IK_MODE_FULL;
    }
    *mode = *mode == IK_MODE_ASK ? IK_MODE_AUTO : *mode;
    return OK;
}

static res_t check_allowed(const void *ctx, const char *const *allowed, bool *all)
{
    char *fault;
    *all = false;
    for (size_t i = 0; allowed[i] != NULL; i++) {
        *all = *all || strcmp(allowed[i], "all") == 0;
        if (!ik_permission_rules_check(ctx, allowed[i], &fault)) {
            return ERR(INVALID, "--allow: %s", fault);
        }
    }
    return OK;
}

/* Decides about the call as `ikigai -p` does: there is no user to ask. */
static void pass_gate(ik_cli_t *cli, const ik_permission_gate_options_t *options,
                      const ik_tool_registry_t *registry, gated_t *gated)
{
    const ik_call_gate_t *gate = ik_permission_gate_create(cli->ctx, options);
    ik_call_t call = {.id = gated->request.call_id,
                      .name = gated->request.name,
                      .arguments = gated->request.arguments,
                      .arguments_len = gated->request.arguments_len,
                      .entry = ik_tool_registry_lookup(registry, gated->request.name)};
    gate->decide(gate->gate, cli->ctx, &call, on_verdict, gated);
    ik_loop_run_until(cli->loop, &gated->done);
    const ik_confinement_facts_t *facts = ik_confinement_facts(cli->confinement);
    bool off = cli->config->confinement == IK_CONFIG_CONFINEMENT_OFF;
    if (facts != NULL && facts->level != IK_CONFINEMENT_FULL && !off) {
        ik_print_line(stderr, ik_confinement_describe_level(cli->ctx, facts));
    }
}

static void print_envelope(const char *envelope)
{
    if (isatty(STDOUT_FILENO)) { /* which must not interpret control characters */
        ik_print_json(stdout, envelope, strlen(envelope));
    } else {
        puts(envelope); /* exactly what a model would get */
    }
}

static int run_run(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const ik_tool_discovery_result_t *found;
    ik_mode_t mode;
    ik_permission_gate_options_t gate = {.confinement = cli->confinement,
                                         .config = cli->config,
                                         .unattended = true,
                                         .mode_of = mode_of,
                                         .data = &mode};
    const char **allowed = ik_cli_args_values(cli->ctx, args, "--allow");
    res_t used = choose_mode(cli, args, &mode);
    if (is_ok(&used)) {
        used = check_allowed(cli->ctx, allowed, &gate.allow_all);
    }
    if (is_err(&used)) {
        return ik_cli_misuse(args->command, used.message);
    }
    used = ik_permission_rules_load(cli->ctx, cli->paths, allowed, &gate.rules);
    if (is_err(&used)) {
        ik_cli_fail(used.message);
        return IK_CLI_USAGE;
    }
    const char *const *warnings;
    size_t warning_count = ik_permission_rules_warnings(gate.rules, &warnings);
    for (size_t i = 0; i < warning_count; i++) {
        fputs("ikigai: warning: ", stderr);
        ik_print_line(stderr, warnings[i]);
    }
    ik_buffer_t input;
    res_t ready = ik_cli_discover(cli, ik_cli_args_has(args, "--trust"), false, true, &found);
    if (is_ok(&ready) && args->count == 1) {
        ready = read_arguments(cli->ctx, &input);
    } else if (is_ok(&ready)) {
        ik_buffer_init(&input, cli->ctx, IK_BUFFER_UNLIMITED); /* bounded by argv */
        ik_buffer_append_text(&input, args->args[1]);
    }
    if (is_err(&ready)) {
        return ik_cli_fail(ready.message);
    }
    if (!ik_cli_accept_confinement(cli)) {
        return IK_CLI_USAGE;
    }
    ik_tool_context_t context = ik_cli_tool_context(cli);
    gated_t gated = {.ctx = cli->ctx,
                     .request = {.name = args->args[0],
                                 .arguments = input.data,
                                 .arguments_len = input.len,
                                 .call_id = "command-line",
                                 .session_id = "command-line",
                                 .on_progress = on_progress}};
    if (ik_tool_registry_lookup(found->registry, gated.request.name) == NULL) {
        gated.envelope = ik_mcp_refuse_unknown(cli->ctx, cli->mcp, gated.request.name);
    }
    if (gated.envelope == NULL) {
        pass_gate(cli, &gate, found->registry, &gated);
    }
    if (gated.envelope != NULL) {
        print_envelope(gated.envelope);
        return IK_CLI_FAILED;
    }
    const ik_tool_result_t *result =
        ik_tool_call_run(cli->ctx, &context, found->registry, &gated.request);
    print_envelope(result->envelope);
    if (result->err != NULL && ik_cli_args_has(args, "--verbose")) {
        ik_print_text(stderr, result->err);
    }
    if (ik_tool_registry_lookup(found->registry, gated.request.name) == NULL) {
        print_not_found(gated.request.name);
    }
    return result->success ? IK_CLI_DONE : IK_CLI_FAILED;
}

const ik_cli_command_t ik_cli_tool_list = {
    .name = "tool list",
    .help = "Lists the tools.",
    .options =
        (const ik_cli_option_t[]){
            IK_CLI_JSON_OPTION,
            IK_CLI_TRUST_OPTION,
            {.name = "--refresh", .help = "ask every tool for its schema again, without the cache"},
            {0}},
    .run = run_list,
};

const ik_cli_command_t ik_cli_tool_show = {
    .name = "tool show",
    .args = "NAME",
    .help = "Shows a tool's parameters, return value and location.",
    .options = (const ik_cli_option_t[]){IK_CLI_JSON_OPTION, IK_CLI_TRUST_OPTION, {0}},
    .min_args = 1,
    .max_args = 1,
    .run = run_show,
};

const ik_cli_command_t ik_cli_tool_run = {
    .name = "tool run",
    .args = "NAME [JSON]",
    .help =
        "Runs a tool and prints what a model would get. Without JSON, reads arguments from stdin.",
    .more =
        "The tool is confined as in `ikigai -p`. There is no session: what it asks ikigai for over "
        "its host channel is refused with `NO_USER` or `MODEL_ERROR`.",
    .options =
        (const ik_cli_option_t[]){IK_CLI_TRUST_OPTION,
                                  {.name = "--mode",
                                   .value = "auto|ask|plan|full",
                                   .help = "how far the tool may go; ask is auto here"},
                                  {.name = "--allow",
                                   .value = "WHAT",
                                   .help = "network, all or a rule; may be given several times"},
                                  {.name = "--unconfined", .help = "run it without confinement"},
                                  {.name = "--verbose",
                                   .help = "also print the stderr of a successful tool, which "
                                           "a model does not get"},
                                  {0}},
    .min_args = 1,
    .max_args = 2,
    .run = run_run,
};
