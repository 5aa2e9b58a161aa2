/* `ikigai tool list`, `show` and `run`. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/print.h"
#include "cli/cli_calls.h"
#include "io/interrupt.h"
#include "tool/tool_describe.h"
#include "tool/tool_wrapper.h"

enum { ARGUMENTS_MAX = 256 * 1024 * 1024 };

static int run_list(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const ik_tool_discovery_result_t *found;
    ik_cli_discover_options_t options = {.trust = ik_cli_args_has(args, "--trust"),
                                         .refresh = ik_cli_args_has(args, "--refresh"),
                                         .servers = true};
    res_t discovered = ik_cli_discover(cli, &options, &found);
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
    if (found->none) {
        fputs("No tools were found. `ikigai doctor` says more.\n", stderr);
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
    ik_cli_discover_options_t options = {
        .trust = ik_cli_args_has(args, "--trust"), .quiet = true, .servers = true};
    res_t discovered = ik_cli_discover(cli, &options, &found);
    if (is_err(&discovered)) {
        return ik_cli_fail(discovered.message);
    }
    const ik_tool_registry_entry_t *entry =
        ik_tool_registry_find_typed(found->registry, args->args[0]);
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

typedef struct {
    ik_single_call_t *call;
    ik_interrupt_t *interrupt;
    int signal; /* that interrupted the call; 0: none */
    bool done;
    const ik_tool_result_t *result;
} run_t;

static void on_end(void *data, const ik_tool_result_t *result)
{
    run_t *run = data;
    run->result = result;
    run->done = true;
}

/* Stops the tool, so that its output so far is printed. Another signal ends the program at once. */
static void on_interrupt(void *data, int signal)
{
    run_t *run = data;
    run->signal = signal;
    TALLOC_FREE(run->interrupt);
    if (!ik_single_call_cancel(run->call)) {
        raise(signal);
    }
}

/* The command itself is the user's consent to a call that may write: mode ask asks nothing. */
static ik_mode_t choose_mode(const ik_cli_args_t *args, ik_mode_t mode)
{
    return ik_cli_args_has(args, "--unconfined") ? IK_MODE_FULL
           : mode == IK_MODE_ASK                 ? IK_MODE_AUTO
                                                 : mode;
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

static void print_level(const ik_cli_t *cli)
{
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
    ik_cli_calls_t calls;
    bool allow_all;
    const char *name = args->args[0];
    const char **allowed = ik_cli_args_values(cli->ctx, args, "--allow");
    res_t used = check_allowed(cli->ctx, allowed, &allow_all);
    if (is_ok(&used) && ik_cli_args_has(args, "--unconfined") &&
        ik_cli_args_value(args, "--mode") != NULL) {
        used = ERR(INVALID, "--unconfined is mode full; do not give --mode with it");
    }
    if (is_err(&used)) {
        return ik_cli_misuse(args->command, used.message);
    }
    int status = ik_cli_calls_prepare(cli, args, allowed, "command-line", true, &calls);
    if (status != IK_CLI_DONE) {
        return status;
    }
    calls.mode = choose_mode(args, calls.mode);
    calls.gate.allow_all = allow_all;
    ik_buffer_t input;
    if (args->count == 1) {
        res_t ready = read_arguments(cli->ctx, &input);
        if (is_err(&ready)) {
            return ik_cli_fail(ready.message);
        }
    } else {
        ik_buffer_init(&input, cli->ctx, IK_BUFFER_UNLIMITED); /* bounded by argv */
        ik_buffer_append_text(&input, args->args[1]);
    }
    if (!ik_cli_accept_confinement(cli)) {
        return IK_CLI_USAGE;
    }
    const ik_tool_registry_entry_t *entry =
        ik_tool_registry_find_typed(calls.found->registry, name);
    name = entry == NULL ? name : entry->name;
    char *refused = entry != NULL ? NULL : ik_mcp_refuse_unknown(cli->ctx, cli->mcp, name);
    if (refused != NULL) {
        print_envelope(refused);
        return IK_CLI_FAILED;
    }
    run_t run = {0};
    run.interrupt = ik_interrupt_create(cli->ctx, cli->loop, on_interrupt, &run);
    run.call = ik_single_call_start(
        cli->ctx,
        &(ik_single_call_options_t){.loop = cli->loop,
                                    .gate = ik_permission_gate_create(cli->ctx, &calls.gate),
                                    .hooks = calls.gate.hooks,
                                    .context = &calls.context,
                                    .registry = calls.found->registry},
        &(ik_tool_request_t){.name = name,
                             .arguments = input.data,
                             .arguments_len = input.len,
                             .call_id = "command-line",
                             .session_id = calls.session_id,
                             .on_progress = on_progress,
                             .on_end = on_end,
                             .data = &run});
    ik_loop_run_until(cli->loop, &run.done);
    TALLOC_FREE(run.interrupt);
    print_level(cli);
    print_envelope(run.result->envelope);
    if (run.result->err != NULL && ik_cli_args_has(args, "--verbose")) {
        ik_print_text(stderr, run.result->err);
    }
    if (entry == NULL) {
        print_not_found(name);
    }
    if (run.signal != 0) {
        fflush(stdout);
        TALLOC_FREE(cli->confinement); /* removes what the tool left in its /tmp */
        raise(run.signal);             /* so that a script sees why the command ended */
    }
    return run.result->success ? IK_CLI_DONE : IK_CLI_FAILED;
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
    .more = "The tool is confined as in `ikigai -p`, and hooks look at the call. There is no "
            "session: what it asks ikigai for over its host channel is refused with `NO_USER` or "
            "`MODEL_ERROR`. Ctrl-C stops the tool and prints its output so far.",
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
                                   .help = "also print the stderr of a successful tool, which a "
                                           "model does not get"},
                                  {0}},
    .min_args = 1,
    .max_args = 2,
    .run = run_run,
};
