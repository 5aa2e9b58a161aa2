#include "cli/cli_options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/cli.h"

static res_t take_prompt(ik_cli_options_t *options, const char *value)
{
    options->headless = true;
    options->wish.prompt = value;
    return OK;
}

static res_t take_model(ik_cli_options_t *options, const char *value)
{
    options->flags.model = value;
    return OK;
}

static res_t take_max_turns(ik_cli_options_t *options, const char *value)
{
    char *end;
    errno = 0;
    long turns = strtol(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || turns < 1 || turns > INT_MAX) {
        return ERR(INVALID, "--max-turns needs a number from 1 on, not '%s'", value);
    }
    options->flags.max_tool_turns = turns;
    return OK;
}

static res_t take_plain(ik_cli_options_t *options, const char *value)
{
    (void)value;
    options->plain = true;
    return OK;
}

static res_t take_json(ik_cli_options_t *options, const char *value)
{
    (void)value;
    options->json = true;
    return OK;
}

static res_t take_no_tools(ik_cli_options_t *options, const char *value)
{
    (void)value;
    options->wish.without_tools = true;
    return OK;
}

static res_t take_trust(ik_cli_options_t *options, const char *value)
{
    (void)value;
    options->wish.trust = true;
    return OK;
}

static res_t take_continue(ik_cli_options_t *options, const char *value)
{
    (void)value;
    options->wish.continue_last = true;
    return OK;
}

static res_t take_resume(ik_cli_options_t *options, const char *value)
{
    options->wish.resume = value;
    return OK;
}

static res_t take_fork(ik_cli_options_t *options, const char *value)
{
    (void)value;
    options->wish.fork = true;
    return OK;
}

static res_t take_db(ik_cli_options_t *options, const char *value)
{
    options->flags.db = value;
    return OK;
}

static res_t take_help(ik_cli_options_t *options, const char *value)
{
    (void)value;
    options->asked = IK_CLI_ASKED_HELP;
    return OK;
}

static res_t take_version(ik_cli_options_t *options, const char *value)
{
    (void)value;
    options->asked = IK_CLI_ASKED_VERSION;
    return OK;
}

typedef enum { NO_VALUE, NEEDS_VALUE, TAKES_VALUE } value_t;

typedef struct {
    ik_cli_option_t shown;
    value_t value;
    res_t (*take)(ik_cli_options_t *options, const char *value);
} option_t;

static const option_t known[] = {
    {{.name = "-p",
      .value = "[PROMPT]",
      .help = "one turn, no terminal needed; what is piped in is appended",
      .more = "a blank line stands between; without PROMPT all of it comes from standard input (at "
              "most 16 MB)"},
     TAKES_VALUE,
     take_prompt},
    {{.name = "--json", .help = "print events as JSON lines instead of the answer"},
     NO_VALUE,
     take_json},
    {{.name = "-m",
      .value = "PROVIDER/MODEL",
      .help = "the model to talk to",
      .more = "else `IKIGAI_MODEL`, the `model` of the configuration, the default model of the "
              "first provider that has a key (openai, anthropic, google), or the offline model"},
     NEEDS_VALUE,
     take_model},
    {{.name = "-c",
      .help = "continue the last session of this folder",
      .more = "without one a new session begins, and a line says so"},
     NO_VALUE,
     take_continue},
    {{.name = "-r",
      .value = "ID",
      .help = "resume a session; the beginning of its id is enough",
      .more = "`ikigai session list` shows what there is"},
     NEEDS_VALUE,
     take_resume},
    {{.name = "--fork",
      .help = "with -c or -r: go on in a copy of the session",
      .more = "the session itself stays as it is, and may be in use"},
     NO_VALUE,
     take_fork},
    {IK_CLI_DB_OPTION, NEEDS_VALUE, take_db},
    {{.name = "--no-tools", .help = "let the model use no tools"}, NO_VALUE, take_no_tools},
    {{.name = "--max-turns",
      .value = "N",
      .help = "at most so many tool turns",
      .more = "beats `max_tool_turns` of the configuration"},
     NEEDS_VALUE,
     take_max_turns},
    {{.name = "--trust",
      .help = "trust the project's tools for this run",
      .more = "without it untrusted ones are absent and a line on standard error says so"},
     NO_VALUE,
     take_trust},
    {{.name = "--plain",
      .help = "lines only, no cursor movement: for screen readers and slow terminals",
      .more = "for the interactive program, not for `-p`"},
     NO_VALUE,
     take_plain},
    {{.name = "--help", .help = "show options and commands"}, NO_VALUE, take_help},
    {{.name = "-h", .help = "short for --help"}, NO_VALUE, take_help},
    {{.name = "--version", .help = "show the version"}, NO_VALUE, take_version},
};
enum { OPTION_COUNT = IK_LENGTH(known) };

const ik_cli_option_t *ik_cli_options_at(size_t index)
{
    return index < OPTION_COUNT ? &known[index].shown : NULL;
}

static const option_t *find_option(const char *word)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (strcmp(known[i].shown.name, word) == 0) {
            return &known[i];
        }
    }
    return NULL;
}

/* A prompt may begin with a dash, but what is an option is one. */
static const char *value_of(const option_t *option, const char *next)
{
    bool usable = next != NULL && (option->value == NEEDS_VALUE || find_option(next) == NULL);
    return option->value != NO_VALUE && usable ? next : NULL;
}

static res_t check(const ik_cli_options_t *options)
{
    if (options->json && !options->headless && isatty(STDIN_FILENO)) {
        return ERR(INVALID, "--json goes with -p, or with a prompt that is piped in");
    }
    if (options->plain && options->headless) {
        return ERR(INVALID, "--plain is for the interactive program, not for -p");
    }
    if (options->wish.continue_last && options->wish.resume != NULL) {
        return ERR(INVALID, "-c and -r name different sessions: choose one");
    }
    if (options->wish.fork && !options->wish.continue_last && options->wish.resume == NULL) {
        return ERR(INVALID, "--fork copies a session: name it with -r, or with -c");
    }
    return OK;
}

/* What is no option is the first message of an interactive session. */
static res_t take_bare_prompt(ik_cli_options_t *options, const char *word, bool anything)
{
    if ((word[0] == '-' && !anything) || options->headless) {
        return ERR(INVALID, "unknown option or argument '%s'", word);
    }
    if (options->wish.prompt != NULL) {
        return ERR(INVALID, "a prompt is one argument: put it between quotes");
    }
    options->wish.prompt = word;
    return OK;
}

static res_t parse(ik_cli_options_t *options, int argc, char **argv)
{
    bool only_prompt = false;
    for (int i = 0; i < argc; i++) {
        const option_t *option = only_prompt ? NULL : find_option(argv[i]);
        if (option == NULL && !only_prompt && strcmp(argv[i], "--") == 0) {
            only_prompt = true;
            continue;
        }
        if (option == NULL) {
            TRY(take_bare_prompt(options, argv[i], only_prompt));
            continue;
        }
        const char *value = value_of(option, i + 1 < argc ? argv[i + 1] : NULL);
        if (value == NULL && option->value == NEEDS_VALUE) {
            return ERR(INVALID, "%s needs a value", argv[i]);
        }
        TRY(option->take(options, value));
        if (options->asked != IK_CLI_ASKED_NOTHING) {
            return OK; /* whatever else is there */
        }
        i += value != NULL;
    }
    return check(options);
}

bool ik_cli_options_are_meant(int argc, char **argv)
{
    const char *word = argv[0];
    if (word[0] == '-') {
        return true;
    }
    if (word[0] == '\0' || ik_cli_begins_command(word)) {
        return false;
    }
    bool spaced = strpbrk(word, " \t\n") != NULL;
    return spaced || (argc == 1 && isatty(STDIN_FILENO) && !ik_cli_resembles_command(word));
}

static void print_option(FILE *stream, const option_t *option)
{
    const char *value = option->shown.value;
    fprintf(stream, "%s%s%s", option->shown.name, value == NULL ? "" : " ",
            value == NULL ? "" : value);
}

static void print_usage(FILE *stream)
{
    fputs("Usage: ikigai [PROMPT]", stream);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        fputs(" [", stream);
        print_option(stream, &known[i]);
        fputc(']', stream);
    }
    fputc('\n', stream);
}

bool ik_cli_options_parse(ik_cli_options_t *options, int argc, char **argv)
{
    res_t parsed = parse(options, argc, argv);
    if (is_err(&parsed)) {
        ik_cli_fail(parsed.message);
        print_usage(stderr);
        fputs("Run ikigai --help to see what there is.\n", stderr);
    }
    return is_ok(&parsed);
}

void ik_cli_options_print_help(void)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        fputs("  ", stdout);
        print_option(stdout, &known[i]);
        printf("\n      %s\n", known[i].shown.help);
    }
}
