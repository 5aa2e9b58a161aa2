#include "cli/cli_options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/nearest.h"
#include "cli/cli.h"
#include "permission/permission_rules.h"

static res_t take_headless(ik_cli_options_t *options, const char *value)
{
    (void)value;
    options->headless = true;
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
        return ERR(INVALID, "--max-turns needs a positive number, not '%s'", value);
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
    options->start.without_tools = true;
    return OK;
}

static res_t take_trust(ik_cli_options_t *options, const char *value)
{
    (void)value;
    options->start.trust = true;
    return OK;
}

static res_t take_mode(ik_cli_options_t *options, const char *value)
{
    options->flags.mode = value;
    return OK;
}

static void append_value(const char **list, const char *value)
{
    while (*list != NULL) {
        list++;
    }
    *list = value;
}

static res_t take_image(ik_cli_options_t *options, const char *value)
{
    append_value(options->images, value);
    return OK;
}

static res_t take_allow(ik_cli_options_t *options, const char *value)
{
    char *fault;
    if (strcmp(value, "all") != 0 && !ik_permission_rules_check(options->allowed, value, &fault)) {
        return ERR(INVALID, "--allow: %s", fault);
    }
    append_value(options->allowed, value);
    return OK;
}

static res_t take_continue(ik_cli_options_t *options, const char *value)
{
    (void)value;
    options->start.continue_last = true;
    return OK;
}

static res_t take_resume(ik_cli_options_t *options, const char *value)
{
    options->start.resume = value;
    options->start.choose = value == NULL;
    return OK;
}

static res_t take_fork(ik_cli_options_t *options, const char *value)
{
    (void)value;
    options->start.fork = true;
    return OK;
}

static res_t take_db(ik_cli_options_t *options, const char *value)
{
    options->flags.db = value;
    return OK;
}

static res_t take_deliver_all(ik_cli_options_t *options, const char *value)
{
    (void)value;
    options->start.deliver_all = true;
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
      .help = "run one turn without a terminal; piped input is appended after a blank line",
      .more = "without PROMPT the prompt is standard input (at most 16 MB)"},
     NO_VALUE,
     take_headless},
    {{.name = "--json", .help = "print events as JSON lines instead of the answer"},
     NO_VALUE,
     take_json},
    {{.name = "--image",
      .value = "FILE",
      .help = "attach an image to the first message; repeatable",
      .more = "png, jpeg, gif or webp; a file that cannot be used is an error (exit status 2); "
              "`@FILE` in a prompt attaches an image, too: see `ikigai help images`"},
     NEEDS_VALUE,
     take_image},
    {{.name = "-m",
      .long_name = "--model",
      .value = "PROVIDER/MODEL",
      .help = "the model to use",
      .more = "without it: `IKIGAI_MODEL`, `model` of the configuration, the default model of the "
              "first provider that has a key (openai, anthropic, google), or the offline model"},
     NEEDS_VALUE,
     take_model},
    {{.name = "-c",
      .long_name = "--continue",
      .help = "continue the last session of this folder",
      .more = "if there is none, a new session begins, and a line says so"},
     NO_VALUE,
     take_continue},
    {{.name = "-r",
      .long_name = "--resume",
      .value = "[ID]",
      .help = "resume a session; the beginning of its id is enough",
      .more = "without ID you choose a session of this folder from a list; `ikigai session list` "
              "shows all"},
     TAKES_VALUE,
     take_resume},
    {{.name = "--fork",
      .help = "with -c or -r: continue in a copy of the session",
      .more = "the session itself does not change, and may be in use"},
     NO_VALUE,
     take_fork},
    {IK_CLI_DB_OPTION, NEEDS_VALUE, take_db},
    {{.name = "--deliver-all",
      .help = "deliver earlier sessions of this machine to the shared history, too",
      .more = "remembered for that server; without it only sessions that are opened while the "
              "server is configured are delivered"},
     NO_VALUE,
     take_deliver_all},
    {{.name = "--no-tools", .help = "do not let the model use tools"}, NO_VALUE, take_no_tools},
    {{.name = "--max-turns",
      .value = "N",
      .help = "the maximum number of tool turns",
      .more = "overrides `max_tool_turns` of the configuration"},
     NEEDS_VALUE,
     take_max_turns},
    {{.name = "--mode",
      .value = "MODE",
      .help = "how far the agent may go without asking: auto, ask, plan or full",
      .more = "without it: `IKIGAI_MODE`, the mode of the resumed session, or `mode` of the "
              "configuration; see `ikigai help permissions`"},
     NEEDS_VALUE,
     take_mode},
    {{.name = "--allow",
      .value = "WHAT",
      .help = "with -p: allow network, all, or what a rule names, without a question; repeatable",
      .more = "`all` answers every question with yes; a rule is written as in "
              "`~/.ikigai/permissions.json`; nothing is allowed in the mode `plan`"},
     NEEDS_VALUE,
     take_allow},
    {{.name = "--trust",
      .help = "trust what the project adds for this run",
      .more = "its tools, hooks, commands, skills, agents and servers; without it untrusted ones "
              "are not used, and a line on standard error says so"},
     NO_VALUE,
     take_trust},
    {{.name = "--plain",
      .help = "print lines only, without cursor movement, for screen readers and slow terminals",
      .more = "not with `-p`"},
     NO_VALUE,
     take_plain},
    {{.name = "-h", .long_name = "--help", .help = "show options and commands"},
     NO_VALUE,
     take_help},
    {{.name = "-v", .long_name = "--version", .help = "show the version"}, NO_VALUE, take_version},
};
enum { OPTION_COUNT = IK_LENGTH(known) };

const ik_cli_option_t *ik_cli_options_at(size_t index)
{
    return index < OPTION_COUNT ? &known[index].shown : NULL;
}

static const option_t *find_option(const char *word)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (ik_cli_option_is(&known[i].shown, word)) {
            return &known[i];
        }
    }
    return NULL;
}

/* --- the words of the command line ------------------------------------------------------- */

typedef struct {
    ik_cli_options_t *options;
    ik_buffer_t prompt; /* the words that are not options, separated by blanks */
    size_t words;
    bool command_first; /* argv begins with a word that could be a command */
    bool ended;         /* by "--" */
} reader_t;

static bool has_blank(const char *word)
{
    return strpbrk(word, " \t\r\n") != NULL;
}

/* Whether the word is at an edit distance of at most 1 from a long option. */
static bool resembles_option(const char *word)
{
    size_t len = strcspn(word, "=");
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const ik_cli_option_t *option = &known[i].shown;
        const char *name = option->long_name == NULL ? option->name : option->long_name;
        if (name[1] == '-' && ik_nearest_distance(word, len, name, strlen(name)) <= 1) {
            return true;
        }
    }
    return false;
}

/* A word with a dash right after -p is the beginning of the prompt, unless it is or resembles an
 * option. A word with blanks is an option only if they are in its value. */
static bool is_option(const char *word, bool after_p)
{
    if (word[0] != '-' || word[1] == '\0') {
        return false;
    }
    if (has_blank(word)) {
        return word[strcspn(word, "= \t\r\n")] == '=' && find_option(word) != NULL;
    }
    return strcmp(word, "--") == 0 || find_option(word) != NULL || !after_p ||
           resembles_option(word);
}

/* The value of an option without '=': the next word, if it can be one. */
static const char *find_value(const option_t *option, const char *next)
{
    if (next == NULL || option->value == NO_VALUE) {
        return NULL;
    }
    if (option->value == NEEDS_VALUE) {
        return find_option(next) == NULL && strcmp(next, "--") != 0 ? next : NULL;
    }
    return next[0] != '-' && !has_blank(next) ? next : NULL;
}

static res_t take_option(reader_t *reader, const char *word, const char *next, bool *used_next)
{
    const option_t *option = find_option(word);
    if (option == NULL) {
        return ERR(INVALID, "unknown option '%.80s'; everything after -- is the prompt", word);
    }
    const char *equals = strchr(word, '=');
    const char *value = equals == NULL ? find_value(option, next) : equals + 1;
    if (equals != NULL && option->value == NO_VALUE) {
        return ERR(INVALID, "%.*s takes no value", (int)(equals - word), word);
    }
    if (option->value == NEEDS_VALUE && (value == NULL || *value == '\0')) {
        return ERR(INVALID, "%.*s needs a value", (int)strcspn(word, "="), word);
    }
    *used_next = equals == NULL && value != NULL;
    return option->take(reader->options, value);
}

/* --- combinations       ------------------------------------------------------------------ */

static res_t check(const ik_cli_options_t *options)
{
    const ik_workspace_start_t *start = &options->start;
    bool resumes = start->resume != NULL || start->choose;
    if (options->json && !options->headless && isatty(STDIN_FILENO)) {
        return ERR(INVALID, "--json needs -p or a piped prompt");
    }
    if (options->allowed[0] != NULL && !options->headless && isatty(STDIN_FILENO)) {
        return ERR(INVALID, "--allow needs -p or a piped prompt; in the terminal you are asked");
    }
    if (options->plain && options->headless) {
        return ERR(INVALID, "--plain cannot be used with -p");
    }
    if (start->continue_last && resumes) {
        return ERR(INVALID, "-c and -r cannot be used together");
    }
    if (start->fork && !start->continue_last && !resumes) {
        return ERR(INVALID, "--fork needs -c or -r to choose the session");
    }
    return OK;
}

/* Without -p, words may be a command after options, or a misspelt one. */
static res_t check_prompt(const reader_t *reader, const char *prompt)
{
    if (reader->words == 0 || reader->options->headless || reader->ended) {
        return OK;
    }
    if (!reader->command_first) {
        return ik_cli_is_command(prompt) ? ERR(INVALID,
                                               "'%.80s' is a command: write its options behind it, "
                                               "or send it as a prompt with -p",
                                               prompt)
                                         : OK;
    }
    if (reader->words == 1 && has_blank(prompt)) {
        return OK;
    }
    bool alone = reader->words == 1 && (!isatty(STDIN_FILENO) || *prompt == '\0');
    bool misspelt = *prompt != '/' && ik_cli_resembles_command(prompt); /* not "/status" */
    return alone || misspelt ? ik_cli_explain_unknown(prompt) : OK;
}

static res_t parse(reader_t *reader, int argc, char **argv)
{
    ik_cli_options_t *options = reader->options;
    bool after_p = false;
    for (int i = 0; i < argc; i++) {
        bool used_next = false;
        bool option = !reader->ended && is_option(argv[i], after_p);
        after_p = false;
        if (option && strcmp(argv[i], "--") == 0) {
            reader->ended = true;
        } else if (option) {
            TRY(take_option(reader, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &used_next));
            after_p = strcmp(argv[i], "-p") == 0;
            i += used_next;
        } else {
            reader->command_first = reader->command_first || i == 0;
            ik_buffer_append_text(&reader->prompt, reader->words++ == 0 ? "" : " ");
            ik_buffer_append_text(&reader->prompt, argv[i]);
        }
        if (options->asked != IK_CLI_ASKED_NOTHING) {
            return OK; /* the rest is not checked */
        }
    }
    const char *prompt = ik_buffer_finish(&reader->prompt);
    options->start.prompt = reader->words == 0 ? NULL : prompt;
    TRY(check_prompt(reader, prompt));
    return check(options);
}

/* --- help -------------------------------------------------------------------------------- */

static void print_usage(FILE *stream)
{
    fputs("Usage: ikigai [PROMPT...]", stream);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const ik_cli_option_t *option = &known[i].shown;
        fprintf(stream, " [%s%s%s]", option->name, option->value == NULL ? "" : " ",
                option->value == NULL ? "" : option->value);
    }
    fputc('\n', stream);
}

bool ik_cli_options_parse(const void *ctx, ik_cli_options_t *options, int argc, char **argv)
{
    reader_t reader = {.options = options};
    ik_buffer_init(&reader.prompt, ctx, IK_BUFFER_UNLIMITED); /* bounded by argv */
    options->allowed = ik_new_array(ctx, const char *, (size_t)argc + 1);
    options->start.allowed = options->allowed;
    options->images = ik_new_array(ctx, const char *, (size_t)argc + 1);
    options->start.images = options->images;
    res_t parsed = parse(&reader, argc, argv);
    if (parsed.code == IK_ERR_NOT_FOUND) { /* an unknown command: no usage of options */
        ik_cli_fail(parsed.message);
    } else if (is_err(&parsed)) {
        ik_cli_fail(parsed.message);
        print_usage(stderr);
        fputs("Run ikigai --help for all options and commands.\n", stderr);
    }
    return is_ok(&parsed);
}

void ik_cli_options_print_help(void)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        ik_cli_print_option(&known[i].shown);
    }
}
