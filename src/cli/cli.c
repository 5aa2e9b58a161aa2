#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/json.h"
#include "base/print.h"
#include "cli/cli_options.h"

static const ik_cli_command_t *const commands[] = {
    &ik_cli_tool_list, &ik_cli_tool_show, &ik_cli_tool_run, &ik_cli_tool_check,
    &ik_cli_tool_new,  &ik_cli_trust,     &ik_cli_untrust,  &ik_cli_doctor,
};

enum { COMMAND_COUNT = sizeof(commands) / sizeof(*commands) };

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

static void print_usage(FILE *stream, const ik_cli_command_t *command)
{
    fprintf(stream, "Usage: ikigai %s%s%s\n", command->name, *command->usage == '\0' ? "" : " ",
            command->usage);
}

void ik_cli_print_help(void)
{
    puts("ikigai - a terminal coding agent whose every tool is an ordinary executable\n"
         "\n"
         "Usage: ikigai -p PROMPT [OPTIONS]\n"
         "       ikigai COMMAND [ARGUMENTS]\n"
         "\n"
         "Options:");
    ik_cli_options_print_help();
    puts("\n"
         "Commands:");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        printf("  %s%s%s\n      %s\n", commands[i]->name, *commands[i]->usage == '\0' ? "" : " ",
               commands[i]->usage, commands[i]->help);
    }
    puts("  --help, --version\n"
         "\n"
         "Tools are found in PREFIX/libexec/ikigai (shipped), ~/.ikigai/tools (yours) and\n"
         ".ikigai/tools of the current folder (the project's; used once you trusted them).\n"
         "Without a key for a model the offline model answers. Exit status: 0 done, 1 failed,\n"
         "2 wrong usage or configuration (a missing key, too), 130 interrupted.");
}

/* --- arguments --------------------------------------------------------------------------- */

/* Whether option stands in the command's list as a whole word. */
static bool takes_option(const ik_cli_command_t *command, const char *option)
{
    size_t len = strlen(option);
    for (const char *at = command->options; (at = strstr(at, option)) != NULL; at += len) {
        bool starts = at == command->options || at[-1] == ' ';
        if (starts && (at[len] == ' ' || at[len] == '\0')) {
            return true;
        }
    }
    return false;
}

static res_t take_option(const ik_cli_command_t *command, ik_cli_args_t *args, const char *option,
                         const char *next, bool *used_next)
{
    if (command->value_option != NULL && strcmp(option, command->value_option) == 0) {
        if (next == NULL) {
            return ERR(INVALID, "%s needs a value", option);
        }
        args->value = next;
        *used_next = true;
        return OK;
    }
    if (!takes_option(command, option)) {
        return ERR(INVALID, "unknown option '%s'", option);
    }
    args->json = args->json || strcmp(option, "--json") == 0;
    args->trust = args->trust || strcmp(option, "--trust") == 0;
    args->yes = args->yes || strcmp(option, "--yes") == 0;
    return OK;
}

static res_t parse_args(const ik_cli_command_t *command, int argc, char **argv, ik_cli_args_t *args)
{
    bool only_args = false;
    for (int i = 0; i < argc; i++) {
        if (!only_args && strcmp(argv[i], "--") == 0) {
            only_args = true;
        } else if (!only_args && argv[i][0] == '-' && argv[i][1] != '\0') {
            bool used_next = false;
            TRY(take_option(command, args, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &used_next));
            i += used_next;
        } else if (args->count == command->max_args) {
            return ERR(INVALID, "unexpected argument '%s'", argv[i]);
        } else {
            args->args[args->count++] = argv[i];
        }
    }
    if (args->count < command->min_args) {
        return ERR(INVALID, "something is missing");
    }
    return OK;
}

/* The command whose words argv begins with; *words says how many those are. */
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

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

/* The usage of every command that begins with the given word; false when none does. */
static bool print_usages(FILE *stream, const char *word)
{
    size_t len = strlen(word);
    bool found = false;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strncmp(commands[i]->name, word, len) == 0 && commands[i]->name[len] == ' ') {
            print_usage(stream, commands[i]);
            found = true;
        }
    }
    return found;
}

/* The words name no command. They may be half of one: `ikigai tool`. */
static int run_no_command(int argc, char **argv)
{
    bool help = asks_for_help(argc, argv);
    if (print_usages(help ? stdout : stderr, argv[0])) {
        return help ? IK_CLI_DONE : IK_CLI_USAGE;
    }
    char *message =
        ik_sprintf(NULL, "unknown command '%s'. Run ikigai --help to see what there is.", argv[0]);
    ik_cli_fail(message);
    talloc_free(message);
    return IK_CLI_USAGE;
}

int ik_cli_run(ik_cli_t *cli, int argc, char **argv)
{
    int words = 0;
    const ik_cli_command_t *command = find_command(argc, argv, &words);
    if (command == NULL) {
        return run_no_command(argc, argv);
    }
    if (asks_for_help(argc - words, argv + words)) {
        print_usage(stdout, command);
        printf("%s\n", command->help);
        return IK_CLI_DONE;
    }
    ik_cli_args_t args = {0};
    res_t parsed = parse_args(command, argc - words, argv + words, &args);
    if (is_err(&parsed)) {
        fprintf(stderr, "ikigai %s: ", command->name);
        ik_print_line(stderr, parsed.message);
        print_usage(stderr, command);
        return IK_CLI_USAGE;
    }
    if (is_err(&cli->config_error) && !command->without_config) {
        ik_cli_fail(cli->config_error.message);
        return IK_CLI_USAGE;
    }
    return command->run(cli, &args);
}

/* --- discovery --------------------------------------------------------------------------- */

res_t ik_cli_discover(ik_cli_t *cli, bool trust, bool refresh, bool quiet,
                      const ik_tool_discovery_result_t **out)
{
    ik_tool_discovery_options_t options = {.paths = cli->paths,
                                           .config = cli->config,
                                           .host = cli->host,
                                           .refresh = refresh,
                                           .trust_project = trust};
    TRY(ik_tool_discovery_run(cli->ctx, &options, out));
    for (size_t i = 0; i < (*out)->problem_count && !quiet; i++) {
        ik_print_line(stderr, (*out)->problems[i]);
    }
    char *trust_line = ik_tool_discovery_trust_line(cli->ctx, *out);
    if (trust_line != NULL) {
        ik_print_line(stderr, trust_line);
    }
    return OK;
}
