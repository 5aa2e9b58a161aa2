/*
 * `ikigai host`: asks ikigai for something over the host channel of the tool that runs it, for
 * tools written as shell scripts. It needs neither configuration nor a session.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/host_client.h"
#include "base/host_protocol.h"
#include "base/json.h"
#include "base/print.h"
#include "cli/cli.h"

/* A request whose program is killed must not stay open. */
static void on_signal(int number)
{
    ik_host_client_cancel();
    raise(number);
}

/* A terminal must not interpret control characters; a tool gets what was answered. */
static void print_result(const char *text, size_t len)
{
    if (isatty(STDOUT_FILENO)) {
        ik_print_text(stdout, text);
    } else {
        fwrite(text, 1, len, stdout);
    }
    putchar('\n');
}

static int fail(const char *code, const char *text)
{
    fprintf(stderr, "%s: ", code);
    ik_print_line(stderr, text);
    return IK_CLI_FAILED;
}

/* Sends the request and prints the member of the result that a script wants, or all of it. */
static int run_request(ik_cli_t *cli, const ik_cli_args_t *args, json_t *request,
                       const char *member)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
        sigaction(signals[i], &action, NULL);
    }
    ik_host_answer_t answer;
    res_t done = ik_host_client_run(cli->ctx, request, &answer);
    json_decref(request);
    if (done.code == IK_ERR_NOT_FOUND) {
        ik_cli_fail(done.message);
        return IK_CLI_USAGE;
    }
    if (is_err(&done)) {
        return fail(IK_HOST_CANCELLED, done.message);
    }
    if (answer.result == NULL) {
        return fail(answer.code, answer.error);
    }
    ik_json_span_t result = {answer.result, answer.result_len};
    ik_json_span_t value;
    if (ik_cli_args_has(args, "--json") ||
        !ik_json_find_kind(result, member, IK_JSON_STRING, &value)) {
        print_result(answer.result, answer.result_len);
    } else {
        size_t len;
        char *text = ik_json_decode(cli->ctx, value, &len);
        print_result(text, len);
    }
    return IK_CLI_DONE;
}

/* The host refuses what is not UTF-8 and what contains NUL, as any other wrong parameter. */
static void set_bytes(json_t *request, const char *name, const char *bytes, size_t len)
{
    json_t *value = json_stringn(bytes, len);
    json_object_set_new(request, name, value == NULL ? json_null() : value);
}

static void set_text(json_t *request, const char *name, const char *text)
{
    if (text != NULL) {
        set_bytes(request, name, text, strlen(text));
    }
}

static int run_ask(ik_cli_t *cli, const ik_cli_args_t *args)
{
    json_t *request = json_pack("{s:s}", "op", "ask");
    const char **choices = ik_cli_args_values(cli->ctx, args, "--choice");
    set_text(request, "question", args->args[0]);
    set_text(request, "default", ik_cli_args_value(args, "--default"));
    if (choices[0] != NULL) {
        json_t *list = json_array();
        for (size_t i = 0; choices[i] != NULL; i++) {
            json_array_append_new(list, json_string(choices[i]));
        }
        json_object_set_new(request, "choices", list);
    }
    return run_request(cli, args, request, "answer");
}

/* "-" is standard input. One byte more than a request may have makes the host refuse it. */
static res_t set_prompt(const void *ctx, const char *word, json_t *request)
{
    ik_buffer_t input;
    if (strcmp(word, "-") != 0) {
        set_text(request, "prompt", word);
        return OK;
    }
    ik_buffer_init(&input, ctx, IK_HOST_LINE_MAX + 1);
    ik_buffer_append_text(&input, "");
    ssize_t got = 1;
    for (size_t room = 1; got > 0 && room > 0;) {
        room = ik_buffer_reserve(&input, 65536);
        got = room > 0 ? read(STDIN_FILENO, input.data + input.len, room) : 0;
        input.len += got > 0 ? (size_t)got : 0;
    }
    set_bytes(request, "prompt", input.data, input.len);
    ik_buffer_reset(&input);
    return got < 0 ? ERR(SYSTEM, "Cannot read standard input") : OK;
}

static int run_agent(ik_cli_t *cli, const ik_cli_args_t *args)
{
    json_t *request = json_pack("{s:s}", "op", "agent");
    const char *tools = ik_cli_args_value(args, "--tools");
    res_t ready = set_prompt(cli->ctx, args->args[0], request);
    if (is_err(&ready)) {
        json_decref(request);
        return ik_cli_fail(ready.message);
    }
    set_text(request, "agent", ik_cli_args_value(args, "--agent"));
    set_text(request, "model", ik_cli_args_value(args, "--model"));
    set_text(request, "mode", ik_cli_args_value(args, "--mode"));
    if (tools != NULL) {
        json_t *list = json_array();
        char *rest = NULL;
        char *names = ik_strdup(cli->ctx, tools);
        for (char *name = strtok_r(names, ", ", &rest); name != NULL;
             name = strtok_r(NULL, ", ", &rest)) {
            json_array_append_new(list, json_string(name));
        }
        json_object_set_new(request, "tools", list);
    }
    return run_request(cli, args, request, "text");
}

static int run_complete(ik_cli_t *cli, const ik_cli_args_t *args)
{
    size_t max_tokens = 0;
    const char *schema = ik_cli_args_value(args, "--schema");
    res_t ready = ik_cli_args_number(args, "--max-tokens", &max_tokens);
    if (is_err(&ready)) {
        return ik_cli_misuse(args->command, ready.message);
    }
    json_t *request = json_pack("{s:s}", "op", "complete");
    ready = set_prompt(cli->ctx, args->args[0], request);
    if (is_err(&ready)) {
        json_decref(request);
        return ik_cli_fail(ready.message);
    }
    set_text(request, "system", ik_cli_args_value(args, "--system"));
    if (schema != NULL) {
        json_t *parsed = ik_json_parse(schema, strlen(schema), NULL);
        /* the host refuses what is not an object */
        json_object_set_new(request, "schema", parsed == NULL ? json_false() : parsed);
    }
    if (max_tokens > 0) {
        json_object_set_new(request, "max_tokens", json_integer((json_int_t)max_tokens));
    }
    return run_request(cli, args, request, "text");
}

#define HOST_JSON                                                                                  \
    {                                                                                              \
        .name = "--json", .help = "print the whole result as JSON"                                 \
    }

const ik_cli_command_t ik_cli_host_ask = {
    .name = "host ask",
    .args = "QUESTION",
    .help = "Asks the user a question, from inside a tool, and prints the answer.",
    .more = "The `host` commands work in tools that declare `host` in their schema. An error is "
            "printed as `CODE: text` and the status is 1; without a host channel it is 2.",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--choice", .value = "TEXT", .help = "an answer to choose; may be repeated"},
            {.name = "--default", .value = "TEXT", .help = "the answer that Enter gives"},
            HOST_JSON,
            {0}},
    .min_args = 1,
    .max_args = 1,
    .without_config = true,
    .run = run_ask,
};

const ik_cli_command_t ik_cli_host_agent = {
    .name = "host agent",
    .args = "PROMPT",
    .help = "Has a sub-agent do a task, from inside a tool, and prints its last answer.",
    .more = "`-` as PROMPT reads standard input.",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--agent", .value = "NAME", .help = "the agent file that describes it"},
            {.name = "--tools", .value = "A,B", .help = "the tools it may use; default all"},
            {.name = "--model", .value = "PROVIDER/MODEL", .help = "its model"},
            {.name = "--mode",
             .value = "auto|ask|plan|full",
             .help = "how far it may go; never further than the agent that called the tool"},
            HOST_JSON,
            {0}},
    .min_args = 1,
    .max_args = 1,
    .without_config = true,
    .run = run_agent,
};

const ik_cli_command_t ik_cli_host_complete = {
    .name = "host complete",
    .args = "PROMPT",
    .help = "Asks the session's model once, without tools, from inside a tool.",
    .more = "`-` as PROMPT reads standard input. With `--schema`, an answer that is not JSON is an "
            "error.",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--system", .value = "TEXT", .help = "the system prompt"},
            {.name = "--schema", .value = "JSON", .help = "the JSON Schema of the answer"},
            {.name = "--max-tokens", .value = "N", .help = "the longest answer"},
            HOST_JSON,
            {0}},
    .min_args = 1,
    .max_args = 1,
    .without_config = true,
    .run = run_complete,
};
