/*
 * zsh reads the line itself (_arguments); the script gives it one specification per option and
 * argument of each command. A specification is text with a syntax of its own, escaped by
 * backslashes, between quotes of the shell.
 */
#include "cli/cli_completion.h"

#include "base/alloc.h"

static const char beginning[] =
    "#compdef ikigai\n"
    "# zsh completion for ikigai, made of the program's own tables by: ikigai completion zsh\n"
    "# Once for all: ikigai completion zsh > FOLDER/_ikigai, where FOLDER is one of $fpath,\n"
    "# or for this shell, after compinit: source <(ikigai completion zsh)\n"
    "\n";

static const char reader[] =
    "# What only the program knows: a word, a tab and a note in each line. One that ends in a "
    "slash\n"
    "# is to be gone on with.\n"
    "_ikigai_list() {\n"
    "    local line word note\n"
    "    local -a whole open\n"
    "    for line in ${(f)\"$(command ikigai completion --list $1 2> /dev/null < /dev/null)\"}; "
    "do\n"
    "        word=${line%%$'\\t'*}\n"
    "        note=${${line#\"$word\"}#$'\\t'}\n"
    "        line=${${word//\\\\/\\\\\\\\}//:/\\\\:}${note:+:}${note//\\\\/\\\\\\\\}\n"
    "        if [[ $word == */ ]]; then\n"
    "            open+=(\"$line\")\n"
    "        else\n"
    "            whole+=(\"$line\")\n"
    "        fi\n"
    "    done\n"
    "    _describe -V -t $1 ${1%s} whole -- open -S ''\n"
    "}\n"
    "\n"
    "# Nothing can be offered, but said what is expected. An option may stand there all the same, "
    "and\n"
    "# would not be inserted beside a message.\n"
    "_ikigai_text() {\n"
    "    [[ $PREFIX == -* ]] || compadd ${@:/-X/-x}\n"
    "}\n"
    "\n"
    "_ikigai_next_word() {\n"
    "    _describe -V -t commands command ikigai_next\n"
    "}\n"
    "\n"
    "# _arguments has names of its own that must not hide ours.\n"
    "_ikigai() {\n"
    "    local command=''\n"
    "    local -a ikigai_next ikigai_options ikigai_arguments\n"
    "    while _ikigai_next \"$command\"; do\n"
    "        if (( CURRENT == 2 )); then\n"
    "            _ikigai_specify \"$command\"\n"
    "            ikigai_arguments=('1:command:_ikigai_next_word')\n"
    "            _arguments -S : $ikigai_options $ikigai_arguments\n"
    "            return\n"
    "        fi\n"
    "        if (( ! ${ikigai_next[(I)${(b)words[2]}:*]} )); then\n"
    "            [[ -z $command ]] && break || return\n"
    "        fi\n"
    "        command+=${command:+ }$words[2]\n"
    "        shift words\n"
    "        (( CURRENT-- ))\n"
    "    done\n"
    "    _ikigai_specify \"$command\"\n"
    "    _arguments -S : $ikigai_options $ikigai_arguments\n"
    "}\n"
    "\n"
    "# Loaded when it is needed this file is the function itself.\n"
    "if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then\n"
    "    _ikigai \"$@\"\n"
    "else\n"
    "    compdef _ikigai ikigai\n"
    "fi\n";

/* Text between special characters of a specification. */
static void append_escaped(ik_buffer_t *out, const char *text)
{
    ik_cli_completion_escape(out, text, "\\:[]");
}

/* ":ID: _ikigai_list sessions"; two colons for what may be left out, which goes without saying for
 * what repeats. */
static void append_value(ik_buffer_t *out, const ik_cli_completion_place_t *place)
{
    ik_buffer_append_text(out, place->optional && !place->repeats ? "::" : ":");
    append_escaped(out, place->name);
    switch (place->kind) {
    case IK_CLI_COMPLETION_TEXT:
        ik_buffer_append_text(out, ":_ikigai_text");
        break;
    case IK_CLI_COMPLETION_WORDS:
        ik_buffer_append_format(out, ":(%s)", place->words);
        break;
    case IK_CLI_COMPLETION_FILES:
        ik_buffer_append_text(out, ":_files");
        break;
    case IK_CLI_COMPLETION_FOLDERS:
        ik_buffer_append_text(out, ":_files -/");
        break;
    case IK_CLI_COMPLETION_LIST:
        ik_buffer_append_format(out, ": _ikigai_list %s", place->words);
        break;
    }
}

/* --format[what it is for]:VALUE:(a b)
 * Text that may be left out is no value: zsh would take the next option for it. Nothing can be
 * offered for it in either case. */
static void format_option(ik_buffer_t *spec, const ik_cli_completion_word_t *option)
{
    const ik_cli_completion_place_t *value = option->value;
    ik_buffer_append_format(spec, "%s[", option->name);
    append_escaped(spec, option->help);
    ik_buffer_append_byte(spec, ']');
    if (value != NULL && (value->kind != IK_CLI_COMPLETION_TEXT || !value->optional)) {
        append_value(spec, value);
    }
}

/* 1:ID: …, or *:ID: … for all that come. */
static void format_argument(ik_buffer_t *spec, const ik_cli_completion_place_t *place,
                            size_t number)
{
    if (place->repeats) {
        ik_buffer_append_byte(spec, '*');
    } else {
        ik_buffer_append_format(spec, "%zu", number);
    }
    append_value(spec, place);
}

static void append_spec(ik_buffer_t *out, ik_buffer_t *spec)
{
    ik_buffer_append_text(out, "                ");
    ik_cli_completion_quote(out, spec->data);
    ik_buffer_append_byte(out, '\n');
    spec->len = 0;
}

static void append_next(ik_buffer_t *out, const ik_cli_completion_node_t *node)
{
    ik_buffer_t spec;
    ik_buffer_init(&spec, out->ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(out, "        (");
    ik_cli_completion_quote(out, node->name);
    ik_buffer_append_text(out, ") ikigai_next=(\n");
    for (size_t i = 0; i < node->next_count; i++) {
        ik_buffer_append_format(&spec, "%s:", node->next[i].name);
        append_escaped(&spec, node->next[i].help);
        append_spec(out, &spec);
    }
    ik_buffer_append_text(out, "            ) ;;\n");
    ik_buffer_reset(&spec);
}

static void append_specs(ik_buffer_t *out, const ik_cli_completion_node_t *node)
{
    ik_buffer_t spec;
    ik_buffer_init(&spec, out->ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(out, "        (");
    ik_cli_completion_quote(out, node->name);
    ik_buffer_append_text(out, ")\n            ikigai_options=(\n");
    for (size_t i = 0; i < node->option_count; i++) {
        format_option(&spec, &node->options[i]);
        append_spec(out, &spec);
    }
    ik_buffer_append_text(out, "            )\n            ikigai_arguments=(\n");
    for (size_t i = 0; i < node->argument_count; i++) {
        format_argument(&spec, &node->arguments[i], i + 1);
        append_spec(out, &spec);
    }
    ik_buffer_append_text(out, "            ) ;;\n");
    ik_buffer_reset(&spec);
}

void ik_cli_completion_zsh_append(ik_buffer_t *out, const ik_cli_completion_model_t *model)
{
    ik_buffer_append_text(out, beginning);
    ik_buffer_append_text(out, "# Words that may go on with the command $1.\n"
                               "_ikigai_next() {\n    case $1 in\n");
    for (size_t i = 0; i < model->count; i++) {
        if (model->nodes[i]->next_count > 0) {
            append_next(out, model->nodes[i]);
        }
    }
    ik_buffer_append_text(out, "        (*) return 1 ;;\n    esac\n}\n\n"
                               "# Its options and arguments as _arguments takes them.\n"
                               "_ikigai_specify() {\n    case $1 in\n");
    for (size_t i = 0; i < model->count; i++) {
        append_specs(out, model->nodes[i]);
    }
    ik_buffer_append_text(out, "    esac\n}\n\n");
    ik_buffer_append_text(out, reader);
}
