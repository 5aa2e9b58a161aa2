#include "cli/cli_completion.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "cli/cli_completion_words.h"

/* --- quoting ----------------------------------------------------------------------------- */

void ik_cli_completion_escape(ik_buffer_t *out, const char *text, const char *special)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (strchr(special, *c) != NULL) {
            ik_buffer_append_byte(out, '\\');
        }
        ik_buffer_append_byte(out, *c);
    }
}

void ik_cli_completion_quote(ik_buffer_t *out, const char *text)
{
    ik_buffer_append_byte(out, '\'');
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\'') {
            ik_buffer_append_text(out, "'\\'");
        }
        ik_buffer_append_byte(out, *c);
    }
    ik_buffer_append_byte(out, '\'');
}

/* --- places ------------------------------------------------------------------------------ */

void ik_cli_completion_append_place(ik_buffer_t *out, const ik_cli_completion_place_t *place)
{
    static const char *const kinds[] = {
        [IK_CLI_COMPLETION_TEXT] = "text",   [IK_CLI_COMPLETION_WORDS] = "words",
        [IK_CLI_COMPLETION_FILES] = "files", [IK_CLI_COMPLETION_FOLDERS] = "folders",
        [IK_CLI_COMPLETION_LIST] = "list",
    };
    ik_buffer_append_format(out, "%s%s", place->optional ? "maybe " : "", kinds[place->kind]);
    if (*place->words != '\0') {
        ik_buffer_append_format(out, " %s", place->words);
    }
}

static void each_place_of(ik_buffer_t *out, const ik_cli_completion_node_t *node,
                          ik_cli_completion_place_fn append)
{
    void *scratch = talloc_new(NULL);
    for (size_t i = 0; i < node->option_count; i++) {
        const ik_cli_completion_word_t *option = &node->options[i];
        if (option->value != NULL) {
            append(out, ik_sprintf(scratch, "%s %s", node->name, option->name), option->value);
        }
    }
    for (size_t i = 0; i < node->argument_count; i++) {
        const ik_cli_completion_place_t *argument = &node->arguments[i];
        char *where = argument->repeats ? ik_sprintf(scratch, "%s ...", node->name)
                                        : ik_sprintf(scratch, "%s %zu", node->name, i + 1);
        append(out, where, argument);
    }
    talloc_free(scratch);
}

void ik_cli_completion_each_place(ik_buffer_t *out, const ik_cli_completion_model_t *model,
                                  ik_cli_completion_place_fn append)
{
    for (size_t i = 0; i < model->count; i++) {
        each_place_of(out, model->nodes[i], append);
    }
}

/* --- the command ------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    void (*append)(ik_buffer_t *out, const ik_cli_completion_model_t *model);
} shell_t;

static const shell_t *find_shell(const char *name)
{
    static const shell_t shells[] = {{"bash", ik_cli_completion_bash_append},
                                     {"zsh", ik_cli_completion_zsh_append},
                                     {"fish", ik_cli_completion_fish_append}};
    for (size_t i = 0; i < IK_LENGTH(shells); i++) {
        if (strcmp(shells[i].name, name) == 0) {
            return &shells[i];
        }
    }
    return NULL;
}

static int print_script(ik_cli_t *cli, const shell_t *shell)
{
    ik_buffer_t script;
    ik_buffer_init(&script, cli->ctx, IK_BUFFER_UNLIMITED);
    shell->append(&script, ik_cli_completion_model_create(cli->ctx));
    fwrite(script.data, 1, script.len, stdout);
    return IK_CLI_DONE;
}

static int run(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *list = ik_cli_args_value(args, "--list");
    const shell_t *shell = args->count == 0 ? NULL : find_shell(args->args[0]);
    if ((list == NULL) == (args->count == 0)) {
        return ik_cli_misuse(args->command, "name a shell, or what to list");
    }
    if (list != NULL) {
        return ik_cli_completion_words_print(cli, list)
                   ? IK_CLI_DONE
                   : ik_cli_misuse(args->command, "there is no such list");
    }
    return shell != NULL ? print_script(cli, shell)
                         : ik_cli_misuse(args->command, "there is no script for that shell");
}

const ik_cli_command_t ik_cli_completion = {
    .name = "completion",
    .args = "bash|zsh|fish",
    .help = "Prints the script that completes commands, options and their values in a shell.",
    .options = (const ik_cli_option_t[]){{.name = "--list",
                                          .value = IK_CLI_COMPLETION_LISTS,
                                          .help = "print words for these scripts instead"},
                                         {0}},
    .max_args = 1,
    .without_config = true,
    .run = run,
};
