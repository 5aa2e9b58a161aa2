/*
 * `ikigai completion`: completion for shells. The scripts for bash, zsh and fish (share/) are short
 * and static. They pass the words of the command line to `ikigai completion --list words` and offer
 * its output, so that the rules exist once and follow the tables of options and commands.
 *
 * A line of a list is a word, or a word, a tab and a note. ":files" and ":folders" ask the shell to
 * complete paths. Listing starts no process, uses no network and creates no file.
 */
#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/sanitiser.h"
#include "base/width.h"
#include "cli/cli.h"
#include "cli/cli_manual.h"
#include "cli/cli_options.h"
#include "command/command_model.h"
#include "store/history.h"

enum {
    NOTE_COLUMNS = 60,
    SESSION_COUNT = 50, /* the newest ones; `ikigai session search` finds older ones */
    SCRIPT_MAX = 1024 * 1024,
};

/* --- lists of words ---------------------------------------------------------------------- */

static void list_models(ik_cli_t *cli, ik_command_words_t *out)
{
    ik_models_t *models;
    res_t loaded = ik_models_load(cli->ctx, cli->paths, &models);
    (void)loaded; /* after an error, models holds what could be read */
    ik_command_model_collect(out, cli->config, models);
}

/* Completion must not wait for a server. */
static void list_sessions(ik_cli_t *cli, ik_command_words_t *out)
{
    const char *file = ik_history_local_file(cli->config->db, cli->paths->database);
    ik_store_filter_t filter = {.limit = SESSION_COUNT, .uncounted = true, .begun = true};
    ik_store_list_t *list;
    res_t listed = ik_history_list_local(cli->ctx, file, &filter, &list);
    for (size_t i = 0; is_ok(&listed) && i < list->count; i++) {
        ik_command_words_add(out, list->sessions[i].id, list->sessions[i].title);
    }
}

static void list_tools(ik_cli_t *cli, ik_command_words_t *out)
{
    ik_tool_discovery_options_t options = {.paths = cli->paths,
                                           .config = cli->config,
                                           .host = cli->host,
                                           .servers = ik_mcp_supplier(ik_cli_servers(cli, false)),
                                           .cache_only = true};
    const ik_tool_discovery_result_t *found;
    res_t looked = ik_tool_discovery_run(cli->ctx, &options, &found);
    for (size_t i = 0; is_ok(&looked) && i < found->registry->count; i++) {
        const ik_tool_registry_entry_t *entry = found->registry->entries[i];
        ik_command_words_add(out, entry->name, entry->schema->description);
    }
}

static void list_servers(ik_cli_t *cli, ik_command_words_t *out)
{
    ik_mcp_t *mcp = ik_cli_servers(cli, false);
    ik_mcp_load(mcp);
    for (size_t i = 0; i < ik_mcp_count(mcp); i++) {
        const ik_config_server_t *server = ik_mcp_item(mcp, i)->config;
        ik_command_words_add(out, server->name, ik_mcp_describe_target(cli->ctx, server));
    }
}

static void list_topics(ik_cli_t *cli, ik_command_words_t *out)
{
    size_t count;
    const ik_cli_topic_t *topics = ik_cli_manual_topics(cli->ctx, cli->paths, &count);
    for (size_t i = 0; i < count; i++) {
        ik_command_words_add(out, topics[i].name, topics[i].help);
    }
}

static const struct {
    const char *name;
    void (*list)(ik_cli_t *cli, ik_command_words_t *out);
} lists[] = {{"models", list_models},
             {"servers", list_servers},
             {"sessions", list_sessions},
             {"tools", list_tools},
             {"topics", list_topics}};

static bool list_kind(ik_cli_t *cli, const char *name, ik_command_words_t *out)
{
    for (size_t i = 0; i < IK_LENGTH(lists); i++) {
        if (strcmp(lists[i].name, name) == 0) {
            lists[i].list(cli, out);
            return true;
        }
    }
    return false;
}

/* --- the words of a command line --------------------------------------------------------- */

/* A parsed value of an option or argument in a usage: "[TOPIC...]", "FILE|-", "jsonl|md|html". */
typedef struct {
    const char *name; /* without brackets and dots */
    size_t len;
    bool optional;
    bool repeats;
} value_t;

static value_t parse_value(const char *usage, size_t len)
{
    value_t value = {.name = usage, .len = len};
    if (len > 2 && usage[0] == '[' && usage[len - 1] == ']') {
        value.optional = true;
        value.name++;
        value.len -= 2;
    }
    if (value.len > 3 && strncmp(value.name + value.len - 3, "...", 3) == 0) {
        value.repeats = true;
        value.len -= 3;
    }
    return value;
}

static void offer_choices(const char *choices, size_t len, ik_command_words_t *out)
{
    const char *end = choices + len;
    for (size_t word; choices < end; choices += word + 1) {
        word = strcspn(choices, "|]. ");
        ik_command_words_add(out, ik_strndup(out->ctx, choices, word), NULL);
    }
}

/* Words in lower case are literal choices; a name in capitals is a placeholder. A placeholder that
 * is not in this table is free text. */
static void offer_value(ik_cli_t *cli, const ik_cli_command_t *command, const value_t *value,
                        ik_command_words_t *out)
{
    static const struct {
        const char *name;
        const char *offers;           /* a list, choices, or ":files" or ":folders" */
    } meanings[] = {{"A,B", "tools"}, /* the first one */
                    {"DIR", ":folders"},
                    {"FILE", ":files"},
                    {"ID", "sessions"},
                    {"MODE", "auto|ask|plan|full"},
                    {"NAME", "tools"},
                    {"PATH", ":files"},
                    {"PROVIDER/MODEL", "models"},
                    {"SERVER", "servers"},
                    {"TOPIC", "topics"},
                    {"URL", ":files"}, /* of a database: usually a file */
                    {"WHAT", "network|all"}};
    const char *at = value->name;
    if (islower((unsigned char)*at)) {
        offer_choices(at, value->len, out);
        return;
    }
    size_t len = strcspn(at, "|]. ");
    for (size_t i = 0; i < IK_LENGTH(meanings); i++) {
        if (strlen(meanings[i].name) != len || strncmp(meanings[i].name, at, len) != 0) {
            continue;
        }
        if (meanings[i].offers[0] == ':') {
            ik_command_words_add(out, meanings[i].offers, NULL);
        } else if (strchr(meanings[i].offers, '|') != NULL) {
            offer_choices(meanings[i].offers, strlen(meanings[i].offers), out);
        } else if (command == NULL || !command->new_name || strcmp(meanings[i].name, "NAME") != 0) {
            list_kind(cli, meanings[i].offers, out);
        }
    }
}

/* Finds argument number n, from 1, of a usage such as "NAME [JSON]". */
static bool find_argument(const char *usage, size_t n, value_t *out)
{
    for (size_t i = 1; usage != NULL && *usage != '\0'; i++) {
        size_t len = strcspn(usage, " ");
        *out = parse_value(usage, len);
        if (i == n || out->repeats) {
            return true;
        }
        usage += len + strspn(usage + len, " ");
    }
    return false;
}

typedef struct {
    ik_cli_t *cli;
    const char *const *words; /* before the cursor */
    size_t count;
    const char *current; /* the typed part of the word at the cursor */
    size_t at;           /* the next word to look at */
    char name[64];       /* the typed part of the command's name: "tool" */
    const ik_cli_command_t *command;
    ik_command_words_t *out;
} line_t;

/* Whether word may follow line->name in the name of a command. With offer, adds all such words; the
 * note of a first word lists the second words: "list, show, run". */
static bool offer_names(const line_t *line, const char *word, bool offer)
{
    ik_command_words_t *out = line->out;
    const ik_cli_command_t *const *commands;
    size_t count;
    size_t prefix = strlen(line->name);
    bool found = false;
    commands = ik_cli_commands(&count);
    for (size_t i = 0; i < count; i++) {
        const char *name = commands[i]->name;
        if (strncmp(name, line->name, prefix) != 0 || (prefix > 0 && name[prefix] != ' ')) {
            continue;
        }
        const char *next = name + prefix + (prefix > 0);
        size_t len = strcspn(next, " ");
        found = found || (strlen(word) == len && strncmp(word, next, len) == 0);
        const char *last = out->count == 0 ? "" : out->texts[out->count - 1];
        if (!offer) {
            continue;
        }
        if (next[len] == '\0') {
            ik_command_words_add(out, next, commands[i]->help);
        } else if (strlen(last) == len && strncmp(last, next, len) == 0) {
            out->notes[out->count - 1] =
                ik_sprintf(out->ctx, "%s, %s", out->notes[out->count - 1], next + len + 1);
        } else {
            ik_command_words_add(out, ik_strndup(out->ctx, next, len), next + len + 1);
        }
    }
    return found;
}

/* Reads the name of the command, if there is one. Returns false if nothing else can follow. */
static bool read_command(line_t *line)
{
    size_t count;
    const ik_cli_command_t *const *commands = ik_cli_commands(&count);
    while (line->command == NULL) {
        if (line->at == line->count) {
            bool option = line->current[0] == '-';
            offer_names(line, "", !option);
            return option;
        }
        if (!offer_names(line, line->words[line->at], false)) {
            return line->name[0] == '\0'; /* a prompt */
        }
        size_t len = strlen(line->name);
        snprintf(line->name + len, sizeof(line->name) - len, "%s%s", len > 0 ? " " : "",
                 line->words[line->at++]);
        for (size_t i = 0; i < count; i++) {
            if (strcmp(commands[i]->name, line->name) == 0) {
                line->command = commands[i];
            }
        }
    }
    return true;
}

/* Option number i of the command or, without a command, of a prompt; NULL after the last one. Every
 * command, and the first word of one, takes --help. */
static const ik_cli_option_t *option_at(const line_t *line, size_t i)
{
    static const ik_cli_option_t help = {.name = "--help", .help = "show the usage"};
    size_t own = 0;
    if (line->name[0] == '\0') {
        return ik_cli_options_at(i);
    }
    const ik_cli_option_t *options = line->command == NULL ? NULL : line->command->options;
    while (options != NULL && options[own].name != NULL) {
        own++;
    }
    return i < own ? &options[i] : i == own ? &help : NULL;
}

static const ik_cli_option_t *find_option(const line_t *line, const char *word)
{
    const ik_cli_option_t *option;
    for (size_t i = 0; (option = option_at(line, i)) != NULL; i++) {
        if (ik_cli_option_is(option, word)) {
            return option;
        }
    }
    return NULL;
}

static void offer_options(const line_t *line)
{
    const ik_cli_option_t *option;
    for (size_t i = 0; (option = option_at(line, i)) != NULL; i++) {
        bool given = false;
        for (size_t k = 0; k < line->count; k++) {
            given = given || ik_cli_option_is(option, line->words[k]);
        }
        if (!given) {
            ik_command_words_add(line->out, option->name, option->help);
        }
        if (!given && option->long_name != NULL) {
            ik_command_words_add(line->out, option->long_name, option->help);
        }
    }
}

static void offer_rest(line_t *line)
{
    const char *usage = line->name[0] == '\0'   ? "[PROMPT...]"
                        : line->command == NULL ? NULL
                                                : line->command->args;
    size_t argument = 1;
    bool ended = false;   /* by "--" */
    value_t wanted = {0}; /* value of the option right before the cursor */
    while (line->at < line->count) {
        const char *word = line->words[line->at++];
        const ik_cli_option_t *option = ended ? NULL : find_option(line, word);
        if (!ended && strcmp(word, "--") == 0) {
            ended = true;
        } else if (option == NULL) {
            argument++;
        } else if (option->value != NULL) {
            value_t value = parse_value(option->value, strlen(option->value));
            if (line->at == line->count) {
                wanted = value;
            } else if (!value.optional || find_option(line, line->words[line->at]) == NULL) {
                line->at++;
            }
        }
    }
    bool dash = !ended && line->current[0] == '-';
    if (wanted.name != NULL && !(wanted.optional && dash)) {
        offer_value(line->cli, line->command, &wanted, line->out);
    } else if (!dash && find_argument(usage, argument, &wanted)) {
        offer_value(line->cli, line->command, &wanted, line->out);
    } else if (!ended) {
        offer_options(line);
    }
}

/* The last one of words is the word at the cursor. */
static void list_words(ik_cli_t *cli, const char *const *words, size_t count,
                       ik_command_words_t *out)
{
    line_t line = {.cli = cli,
                   .words = words,
                   .count = count == 0 ? 0 : count - 1,
                   .current = count == 0 ? "" : words[count - 1],
                   .out = out};
    if (read_command(&line)) {
        offer_rest(&line);
    }
}

/* --- printing ---------------------------------------------------------------------------- */

/* Skips words with control characters: the shell inserts a word exactly as it is printed. */
static void print_words(const ik_command_words_t *words)
{
    ik_buffer_t line;
    ik_buffer_init(&line, words->ctx, IK_BUFFER_UNLIMITED); /* bounded by the word */
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->texts[i];
        const char *note = words->notes[i];
        if (*word == '\0' || strpbrk(word, "\t\n") != NULL ||
            !ik_sanitise_is_clean(word, strlen(word))) {
            continue;
        }
        ik_buffer_reset(&line);
        ik_buffer_append_text(&line, word);
        if (note != NULL && *note != '\0') {
            ik_buffer_append_byte(&line, '\t');
            ik_width_append(&line, note, NOTE_COLUMNS, IK_WIDTH_KEEP_START);
        }
        ik_buffer_append_byte(&line, '\n');
        fwrite(line.data, 1, line.len, stdout);
    }
}

static int print_script(ik_cli_t *cli, const ik_cli_command_t *command, const char *shell)
{
    static const struct {
        const char *shell;
        const char *file; /* below PREFIX */
    } scripts[] = {{"bash", "share/bash-completion/completions/ikigai"},
                   {"zsh", "share/zsh/site-functions/_ikigai"},
                   {"fish", "share/fish/vendor_completions.d/ikigai.fish"}};
    for (size_t i = 0; i < IK_LENGTH(scripts); i++) {
        if (strcmp(scripts[i].shell, shell) == 0) {
            char *text;
            size_t len;
            char *path = ik_sprintf(cli->ctx, "%s/%s", cli->paths->prefix, scripts[i].file);
            res_t read = ik_file_read(cli->ctx, path, SCRIPT_MAX, &text, &len);
            if (is_err(&read)) {
                return ik_cli_fail(read.message);
            }
            fwrite(text, 1, len, stdout);
            return IK_CLI_DONE;
        }
    }
    return ik_cli_misuse(command, "there is no script for that shell");
}

static int run(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *kind = ik_cli_args_value(args, "--list");
    ik_command_words_t out = {.ctx = cli->ctx};
    if (kind != NULL && strcmp(kind, "words") == 0) {
        list_words(cli, args->args, (size_t)args->count, &out);
    } else if (args->count != (kind == NULL)) {
        return ik_cli_misuse(args->command, "name one shell, or use --list");
    } else if (kind == NULL) {
        return print_script(cli, args->command, args->args[0]);
    } else if (!list_kind(cli, kind, &out)) {
        return ik_cli_misuse(args->command, "there is no such list");
    }
    print_words(&out);
    return IK_CLI_DONE;
}

const ik_cli_command_t ik_cli_completion = {
    .name = "completion",
    .args = "[bash|zsh|fish]",
    .help = "Prints the completion script for a shell.",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--list",
             .value = "models|servers|sessions|tools|topics|words",
             .help = "print words for these scripts instead",
             .more = "`words` takes the words of a command line after `--`, the one at the cursor "
                     "last, and prints its completions"},
            {0}},
    .max_args = IK_CLI_ANY_NUMBER,
    .without_config = true,
    .run = run,
};
