/* `ikigai tool list`, `show` and `run`. */
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/print.h"
#include "cli/cli.h"
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

static int run_run(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const ik_tool_discovery_result_t *found;
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
    ik_tool_context_t context = {
        .host = cli->host, .config = cli->config, .folder = cli->paths->cwd};
    ik_tool_request_t request = {.name = args->args[0],
                                 .arguments = input.data,
                                 .arguments_len = input.len,
                                 .call_id = "command-line",
                                 .session_id = "command-line",
                                 .on_progress = on_progress};
    const ik_tool_result_t *result =
        ik_tool_call_run(cli->ctx, &context, found->registry, &request);
    if (isatty(STDOUT_FILENO)) { /* which must not interpret control characters */
        ik_print_json(stdout, result->envelope, strlen(result->envelope));
    } else {
        puts(result->envelope); /* exactly what a model would get */
    }
    if (result->err != NULL && ik_cli_args_has(args, "--verbose")) {
        ik_print_text(stderr, result->err);
    }
    if (ik_tool_registry_lookup(found->registry, request.name) == NULL) {
        print_not_found(request.name);
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
    .options =
        (const ik_cli_option_t[]){IK_CLI_TRUST_OPTION,
                                  {.name = "--verbose",
                                   .help = "also print the stderr of a successful tool, which "
                                           "a model does not get"},
                                  {0}},
    .min_args = 1,
    .max_args = 2,
    .run = run_run,
};
