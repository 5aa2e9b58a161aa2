#include "cli/cli.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/print.h"
#include "cli/cli_options.h"
#include "tool/host_channel.h"

static const ik_cli_command_t *const commands[] = {
    &ik_cli_tool_list,      &ik_cli_tool_show,      &ik_cli_tool_run,
    &ik_cli_tool_check,     &ik_cli_tool_new,       &ik_cli_host_ask,
    &ik_cli_host_agent,     &ik_cli_host_complete,  &ik_cli_session_list,
    &ik_cli_session_show,   &ik_cli_session_search, &ik_cli_session_export,
    &ik_cli_session_import, &ik_cli_session_fork,   &ik_cli_session_diff,
    &ik_cli_session_undo,   &ik_cli_session_redo,   &ik_cli_session_deliver,
    &ik_cli_session_delete, &ik_cli_session_prune,  &ik_cli_mcp_add,
    &ik_cli_mcp_list,       &ik_cli_mcp_show,       &ik_cli_mcp_remove,
    &ik_cli_mcp_login,      &ik_cli_mcp_serve,      &ik_cli_trust,
    &ik_cli_untrust,        &ik_cli_status,         &ik_cli_acp,
    &ik_cli_setup,          &ik_cli_doctor,         &ik_cli_completion,
    &ik_cli_help,
};

enum { COMMAND_COUNT = IK_LENGTH(commands) };

const ik_cli_command_t *const *ik_cli_commands(size_t *count)
{
    *count = COMMAND_COUNT;
    return commands;
}

static const ik_cli_exit_t exits[] = {
    {IK_CLI_DONE, "done", "also when the limit of tool turns was reached"},
    {IK_CLI_FAILED, "failed",
     "possible causes are the provider, the network, an answer that was cut off, standard output "
     "that cannot be written, a session that does not exist or is in use (pid and host are named), "
     "a tool that reported an error, a hook that ended the turn"},
    {IK_CLI_USAGE, "wrong usage or configuration", "including a missing key"},
    {IK_CLI_INTERRUPTED, "interrupted",
     "by SIGINT, and 128 + N for any signal N: the turn ends, tools are killed, and the answer so "
     "far has been printed"},
};
enum { EXIT_COUNT = IK_LENGTH(exits) };

const ik_cli_exit_t *ik_cli_exits(size_t *count)
{
    *count = EXIT_COUNT;
    return exits;
}

/* --- printing ---------------------------------------------------------------------------- */

void ik_cli_print_json(json_t *value)
{
    char *text = ik_json_format(NULL, value);
    ik_print_json(stdout, text, strlen(text));
    talloc_free(text);
}

int ik_cli_fail(const char *message)
{
    fputs("ikigai: ", stderr);
    ik_print_line(stderr, message);
    return IK_CLI_FAILED;
}

bool ik_cli_option_is(const ik_cli_option_t *option, const char *word)
{
    const char *name = option->long_name == NULL ? option->name : option->long_name;
    size_t len = strlen(name);
    bool assigned = name[1] == '-' && strncmp(word, name, len) == 0 && word[len] == '=';
    return assigned || strcmp(word, option->name) == 0 || strcmp(word, name) == 0;
}

char *ik_cli_format_option(const void *ctx, const ik_cli_option_t *option)
{
    return ik_sprintf(ctx, "%s%s%s%s%s", option->name, option->long_name == NULL ? "" : ", ",
                      option->long_name == NULL ? "" : option->long_name,
                      option->value == NULL ? "" : " ", option->value == NULL ? "" : option->value);
}

char *ik_cli_format_usage(const void *ctx, const ik_cli_command_t *command)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the table */
    ik_buffer_append_text(&out, command->name);
    if (command->args != NULL) {
        ik_buffer_append_format(&out, " %s", command->args);
    }
    for (const ik_cli_option_t *o = command->options; o != NULL && o->name != NULL; o++) {
        ik_buffer_append_format(&out, o->required ? " %s" : " [%s", o->name);
        if (o->value != NULL) {
            ik_buffer_append_format(&out, " %s", o->value);
        }
        ik_buffer_append_text(&out, o->required ? "" : "]");
    }
    return ik_buffer_finish(&out);
}

static void print_usage(FILE *stream, const ik_cli_command_t *command)
{
    char *usage = ik_cli_format_usage(NULL, command);
    fprintf(stream, "Usage: ikigai %s\n", usage);
    talloc_free(usage);
}

void ik_cli_print_option(const ik_cli_option_t *option)
{
    char *text = ik_cli_format_option(NULL, option);
    printf("  %s\n      %s\n", text, option->help);
    talloc_free(text);
}

static void print_command(const ik_cli_command_t *command)
{
    print_usage(stdout, command);
    printf("%s\n", command->help);
    for (const ik_cli_option_t *o = command->options; o != NULL && o->name != NULL; o++) {
        fputs(o == command->options ? "\nOptions:\n" : "", stdout);
        ik_cli_print_option(o);
    }
    printf("\nMore: ikigai help %s\n", command->name);
}

int ik_cli_misuse(const ik_cli_command_t *command, const char *message)
{
    fprintf(stderr, "ikigai %s: ", command->name);
    ik_print_line(stderr, message);
    print_usage(stderr, command);
    return IK_CLI_USAGE;
}

bool ik_cli_confirm(const char *question)
{
    char answer[64];
    printf("%s [y/N] ", question);
    /* A question that could not be shown counts as declined. */
    if (fflush(stdout) != 0 || ferror(stdout) || fgets(answer, sizeof(answer), stdin) == NULL) {
        return false;
    }
    answer[strcspn(answer, "\r\n")] = '\0';
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

void ik_cli_print_help(void)
{
    puts("ikigai - a terminal coding agent whose every tool is an ordinary executable\n"
         "\n"
         "Usage: ikigai [PROMPT...] [OPTIONS]       talk to a model (/help there shows commands "
         "and keys)\n"
         "       ikigai -p [PROMPT...] [OPTIONS]    one turn, for scripts\n"
         "       ikigai COMMAND [ARGUMENTS]\n"
         "\n"
         "Options and the words of the prompt may be mixed; everything after -- is the prompt.\n"
         "\n"
         "Options:");
    ik_cli_options_print_help();
    puts("\n"
         "Commands:");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        char *usage = ik_cli_format_usage(NULL, commands[i]);
        printf("  %s\n      %s\n", usage, commands[i]->help);
        talloc_free(usage);
    }
    puts("\n"
         "Tools are found in PREFIX/libexec/ikigai (shipped), ~/.ikigai/tools (yours) and\n"
         ".ikigai/tools of the current folder (the project's; used once you trust them).\n"
         "Without an API key the offline model answers.");
    fputs("Exit status:", stdout);
    for (size_t i = 0; i < EXIT_COUNT; i++) {
        printf("%s %d %s", i == 0 ? "" : ",", exits[i].status, exits[i].help);
    }
    puts(".\n"
         "\n"
         "The manual: ikigai help lists the topics, ikigai help TOPIC shows one; man ikigai.");
}

/* --- arguments --------------------------------------------------------------------------- */

static const ik_cli_option_t *find_option(const ik_cli_command_t *command, const char *name)
{
    for (const ik_cli_option_t *o = command->options; o != NULL && o->name != NULL; o++) {
        if (ik_cli_option_is(o, name)) {
            return o;
        }
    }
    return NULL;
}

static res_t take_option(ik_cli_args_t *args, const char *name, const char *next, bool *used_next)
{
    const ik_cli_option_t *option = find_option(args->command, name);
    if (option == NULL) {
        return ERR(INVALID, "unknown option '%s'", name);
    }
    const char *equals = strchr(name, '=');
    const char *value = equals == NULL ? next : equals + 1;
    if (option->value != NULL && (value == NULL || *value == '\0')) {
        return ERR(INVALID, "%s needs a value", option->name);
    }
    if (option->value == NULL && equals != NULL) {
        return ERR(INVALID, "%s takes no value", option->name);
    }
    *used_next = option->value != NULL && equals == NULL;
    args->given[args->given_count++] =
        (ik_cli_given_t){.option = option, .value = option->value == NULL ? NULL : value};
    return OK;
}

static res_t fail_missing(const ik_cli_args_t *args)
{
    const char *name = args->command->args; /* "NAME [JSON]", "ID...", "FILE|-" */
    for (int i = 0; i < args->count; i++) {
        name += strcspn(name, " ");
        name += strspn(name, " ");
    }
    return ERR(INVALID, "Missing argument: %.*s", (int)strcspn(name, " .|"), name);
}

static res_t parse_args(ik_cli_args_t *args, int argc, char **argv)
{
    bool only_args = false;
    for (int i = 0; i < argc; i++) {
        bool dashed = !only_args && argv[i][0] == '-' && argv[i][1] != '\0';
        if (!only_args && strcmp(argv[i], "--") == 0) {
            only_args = true;
            args->dashes_at = args->count;
        } else if (dashed &&
                   (!args->command->takes_dashes || find_option(args->command, argv[i]) != NULL)) {
            bool used_next = false;
            TRY(take_option(args, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &used_next));
            i += used_next;
        } else if (args->count == args->command->max_args) {
            return ERR(INVALID, "unexpected argument '%s'", argv[i]);
        } else {
            args->args[args->count++] = argv[i];
        }
    }
    return args->count < args->command->min_args ? fail_missing(args) : OK;
}

/* Returns the last one if it was given several times. */
static const ik_cli_given_t *find_given(const ik_cli_args_t *args, const char *name)
{
    for (int i = args->given_count - 1; i >= 0; i--) {
        if (strcmp(args->given[i].option->name, name) == 0) {
            return &args->given[i];
        }
    }
    assert(find_option(args->command, name) != NULL);
    return NULL;
}

bool ik_cli_args_has(const ik_cli_args_t *args, const char *option)
{
    return find_given(args, option) != NULL;
}

const char *ik_cli_args_value(const ik_cli_args_t *args, const char *option)
{
    const ik_cli_given_t *given = find_given(args, option);
    return given == NULL ? NULL : given->value;
}

const char **ik_cli_args_values(const void *ctx, const ik_cli_args_t *args, const char *option)
{
    const char **values = ik_new_array(ctx, const char *, (size_t)args->given_count + 1);
    size_t count = 0;
    for (int i = 0; i < args->given_count; i++) {
        if (strcmp(args->given[i].option->name, option) == 0) {
            values[count++] = args->given[i].value;
        }
    }
    return values;
}

res_t ik_cli_args_number(const ik_cli_args_t *args, const char *option, size_t *out)
{
    const char *value = ik_cli_args_value(args, option);
    if (value == NULL) {
        return OK;
    }
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || number < 1) {
        return ERR(INVALID, "%s needs a positive number, not '%s'", option, value);
    }
    *out = (size_t)number;
    return OK;
}

/* --- running ----------------------------------------------------------------------------- */

/* Finds the command that argv begins with. *words is the number of words of its name. NULL if argv
 * has only the first word of one. */
static const ik_cli_command_t *find_command(int argc, char **argv, int *words)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const char *name = commands[i]->name;
        const char *second = strchr(name, ' ');
        size_t first_len = second == NULL ? strlen(name) : (size_t)(second - name);
        if (strlen(argv[0]) != first_len || strncmp(argv[0], name, first_len) != 0) {
            continue;
        }
        if (second == NULL || (argc > 1 && strcmp(argv[1], second + 1) == 0)) {
            *words = second == NULL ? 1 : 2;
            return commands[i];
        }
    }
    return NULL;
}

bool ik_cli_begins_command(const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const char *name = commands[i]->name;
        if (strncmp(name, word, len) == 0 && (name[len] == '\0' || name[len] == ' ')) {
            return true;
        }
    }
    return false;
}

bool ik_cli_is_command(const char *words)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        size_t len = strlen(commands[i]->name);
        if (strncmp(commands[i]->name, words, len) == 0 &&
            (words[len] == '\0' || words[len] == ' ')) {
            return true;
        }
    }
    return false;
}

/* Finds the name of a command, or the first word of one, at an edit distance of at most 1 in each
 * word. */
static const char *find_near_command(const void *ctx, const char *words)
{
    size_t first = strcspn(words, " ");
    const char *second = words + first + strspn(words + first, " ");
    size_t second_len = strcspn(second, " ");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const char *name = commands[i]->name;
        size_t name_len = strcspn(name, " ");
        const char *rest = name + name_len + strspn(name + name_len, " ");
        bool near_first = ik_nearest_distance(words, first, name, name_len) <= 1;
        if (near_first && second_len == 0) {
            return ik_strndup(ctx, name, name_len);
        }
        if (near_first && *rest != '\0' &&
            ik_nearest_distance(second, second_len, rest, strlen(rest)) <= 1) {
            return name;
        }
    }
    return strcmp(words, "version") == 0 ? "--version" : NULL;
}

bool ik_cli_resembles_command(const char *words)
{
    void *scratch = talloc_new(NULL);
    bool near = find_near_command(scratch, words) != NULL;
    talloc_free(scratch);
    return near;
}

res_t ik_cli_explain_unknown(const char *words)
{
    void *scratch = talloc_new(NULL);
    const char *near = find_near_command(scratch, words);
    res_t unknown =
        ERR(NOT_FOUND,
            "unknown command '%.80s'.%s%s%s ikigai --help lists the commands; -p sends it as a "
            "prompt.",
            words, near == NULL ? "" : " Did you mean '", near == NULL ? "" : near,
            near == NULL ? "" : "'?");
    talloc_free(scratch);
    return unknown;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

/* For the first word of a command: `ikigai tool`, or with another word that none has. */
static int run_half(void *ctx, int argc, char **argv)
{
    bool help = asks_for_help(argc, argv);
    size_t len = strlen(argv[0]);
    if (!help && argc > 1 && argv[1][0] != '-') {
        res_t unknown = ik_cli_explain_unknown(ik_sprintf(ctx, "%s %s", argv[0], argv[1]));
        ik_cli_fail(unknown.message);
    } else if (!help && argc > 1) {
        ik_cli_fail(
            ik_sprintf(ctx, "'%.80s' comes after the command, which is one of these:", argv[1]));
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strncmp(commands[i]->name, argv[0], len) == 0 && commands[i]->name[len] == ' ') {
            print_usage(help ? stdout : stderr, commands[i]);
        }
    }
    return help ? IK_CLI_DONE : IK_CLI_USAGE;
}

bool ik_cli_accept_config(const ik_cli_t *cli)
{
    for (size_t i = 0; i < cli->config->warning_count; i++) {
        fputs("ikigai: warning: ", stderr);
        ik_print_line(stderr, cli->config->warnings[i]);
    }
    if (is_err(&cli->config_error)) {
        ik_cli_fail(cli->config_error.message);
    }
    return is_ok(&cli->config_error);
}

bool ik_cli_accept_confinement(const ik_cli_t *cli)
{
    res_t sufficient = ik_confinement_require(cli->confinement);
    if (is_err(&sufficient)) {
        ik_cli_fail(sufficient.message);
    }
    return is_ok(&sufficient);
}

ik_tool_context_t ik_cli_tool_context(const ik_cli_t *cli)
{
    return (ik_tool_context_t){
        .host = cli->host,
        .config = cli->config,
        .folder = cli->paths->cwd,
        .file_read = ik_sprintf(cli->ctx, "%s/file-read", cli->paths->system_tools),
        .confinement =
            cli->config->confinement == IK_CONFIG_CONFINEMENT_OFF ? NULL : cli->confinement,
        .program = cli->paths->program,
        .operations = &ik_host_operations_absent,
    };
}

enum { SERVERS_MS = 300 }; /* for servers to exit by themselves */

int ik_cli_run(ik_cli_t *cli, int argc, char **argv)
{
    int words = 0;
    const ik_cli_command_t *command = find_command(argc, argv, &words);
    if (command == NULL) {
        return run_half(cli->ctx, argc, argv);
    }
    if (asks_for_help(argc - words, argv + words)) {
        print_command(command);
        return IK_CLI_DONE;
    }
    ik_cli_args_t args = {.command = command,
                          .args = ik_new_array(cli->ctx, const char *, (size_t)argc),
                          .dashes_at = -1,
                          .given = ik_new_array(cli->ctx, ik_cli_given_t, (size_t)argc)};
    res_t parsed = parse_args(&args, argc - words, argv + words);
    if (is_err(&parsed)) {
        return ik_cli_misuse(command, parsed.message);
    }
    if (!command->without_config && !ik_cli_accept_config(cli)) {
        return IK_CLI_USAGE;
    }
    if (command->needs_output && cli->output_closed) {
        return ik_cli_fail("cannot write to standard output: it is closed");
    }
    int status = command->run(cli, &args);
    if (cli->mcp != NULL) {
        ik_mcp_close(cli->mcp, SERVERS_MS);
        TALLOC_FREE(cli->mcp);
    }
    return status;
}

/* --- discovery --------------------------------------------------------------------------- */

ik_mcp_t *ik_cli_servers(ik_cli_t *cli, bool trust)
{
    if (cli->mcp == NULL) {
        cli->mcp = ik_mcp_create(cli->ctx,
                                 &(ik_mcp_options_t){.paths = cli->paths,
                                                     .config = cli->config,
                                                     .host = cli->host,
                                                     .http = ik_http_create(cli->ctx, cli->loop),
                                                     .confinement = cli->confinement},
                                 trust);
    }
    return cli->mcp;
}

res_t ik_cli_discover(ik_cli_t *cli, const ik_cli_discover_options_t *options,
                      const ik_tool_discovery_result_t **out)
{
    bool quiet = options->quiet;
    ik_tool_discovery_options_t discovery = {.paths = cli->paths,
                                             .config = cli->config,
                                             .host = cli->host,
                                             .confinement = cli->confinement,
                                             .refresh = options->refresh,
                                             .trust_project = options->trust};
    if (options->servers) {
        discovery.servers = ik_mcp_supplier(ik_cli_servers(cli, options->trust));
    }
    TRY(ik_tool_discovery_run(cli->ctx, &discovery, out));
    for (size_t i = 0; i < (*out)->problem_count && !quiet; i++) {
        ik_print_line(stderr, (*out)->problems[i]);
    }
    for (size_t i = 0; i < (*out)->unused_count && !quiet; i++) {
        ik_print_line(stderr, (*out)->unused[i]);
    }
    for (size_t i = 0; i < (*out)->hiding_count && !quiet; i++) {
        ik_print_line(stderr, (*out)->hiding[i]);
    }
    char *trust_line = ik_tool_discovery_trust_line(cli->ctx, *out);
    if (trust_line != NULL) {
        ik_print_line(stderr, trust_line);
    }
    if ((*out)->servers_line != NULL) {
        ik_print_line(stderr, (*out)->servers_line);
    }
    return OK;
}
