/*
 * fish could be told of every option by itself, but then it would offer some twice, join short ones
 * and write --option=value. So the script reads the line as the program does, and one function
 * prints all that may stand at the cursor, a word, a tab and a note in each line. What fish inserts
 * it quotes itself.
 */
#include "cli/cli_completion.h"

static const char beginning[] =
    "# fish completion for ikigai, made of the program's own tables by: ikigai completion fish\n"
    "# Once for all: ikigai completion fish > ~/.config/fish/completions/ikigai.fish\n"
    "# or for this shell: ikigai completion fish | source\n"
    "\n";

static const char reader[] =
    "# Names alone, of lines with notes.\n"
    "function __ikigai_names\n"
    "    string replace -r '\\t.*' '' -- $argv\n"
    "end\n"
    "\n"
    "function __ikigai_offer_place\n"
    "    test $argv[1] = maybe; and set -e argv[1]\n"
    "    switch $argv[1]\n"
    "        case words\n"
    "            printf '%s\\n' $argv[2..-1]\n"
    "        case list\n"
    "            command ikigai completion --list $argv[2] 2>/dev/null </dev/null\n"
    "        case files\n"
    "            __fish_complete_path (commandline -ct)\n"
    "        case folders\n"
    "            __fish_complete_directories (commandline -ct) ''\n"
    "    end\n"
    "end\n"
    "\n"
    "function __ikigai_offer\n"
    "    set -l words (commandline -opc)\n"
    "    set -l current (commandline -ct)\n"
    "    set -l command ''\n"
    "    set -l at 2\n"
    "\n"
    "    # The name of the command, as far as it is written; it may go on where the cursor is.\n"
    "    while set -l next (__ikigai_next \"$command\")\n"
    "        if not set -q words[$at]\n"
    "            string match -q -- '-*' \"$current\"; and break\n"
    "            printf '%s\\n' $next\n"
    "            return\n"
    "        end\n"
    "        if not contains -- $words[$at] (__ikigai_names $next)\n"
    "            test -z \"$command\"; and break; or return\n"
    "        end\n"
    "        set command (string trim -- \"$command $words[$at]\")\n"
    "        set at (math $at + 1)\n"
    "    end\n"
    "\n"
    "    # Everything behind it: which options were given, and the place of the cursor, if it is\n"
    "    # the value of one.\n"
    "    set -l options (__ikigai_options \"$command\")\n"
    "    set -l names (__ikigai_names $options)\n"
    "    set -l given\n"
    "    set -l place\n"
    "    set -l argument 1\n"
    "    set -l ended no\n"
    "    while set -q words[$at]\n"
    "        set -l word $words[$at]\n"
    "        set at (math $at + 1)\n"
    "        if test $ended = no; and test \"$word\" = --\n"
    "            set ended yes\n"
    "        else if test $ended = yes; or not contains -- \"$word\" $names\n"
    "            set argument (math $argument + 1)\n"
    "        else\n"
    "            set -a given $word\n"
    "            if set place (__ikigai_place \"$command $word\")\n"
    "                set -q words[$at]; or break\n"
    "                if not test $place[1] = maybe; or not contains -- \"$words[$at]\" $names\n"
    "                    set at (math $at + 1)\n"
    "                end\n"
    "            end\n"
    "            set place\n"
    "        end\n"
    "    end\n"
    "\n"
    "    set -l dashed no\n"
    "    string match -q -- '-*' \"$current\"; and test $ended = no; and set dashed yes\n"
    "    if test -n \"$place\"; and not test \"$place[1] $dashed\" = 'maybe yes'\n"
    "        __ikigai_offer_place $place\n"
    "        return\n"
    "    end\n"
    "    if test $dashed = no\n"
    "        if set place (__ikigai_place \"$command $argument\")\n"
    "            or set place (__ikigai_place \"$command ...\")\n"
    "            __ikigai_offer_place $place\n"
    "            return\n"
    "        end\n"
    "    end\n"
    "    test $ended = no; or return\n"
    "    for option in $options\n"
    "        contains -- (__ikigai_names $option) $given; or printf '%s\\n' $option\n"
    "    end\n"
    "end\n"
    "\n"
    "complete -c ikigai -f -k -a '(__ikigai_offer)'\n";

/* Between single quotes fish knows two escapes. */
static void append_quoted(ik_buffer_t *out, const char *text)
{
    ik_buffer_append_byte(out, '\'');
    ik_cli_completion_escape(out, text, "'\\");
    ik_buffer_append_byte(out, '\'');
}

static void begin_function(ik_buffer_t *out, const char *comment, const char *name)
{
    ik_buffer_append_format(out, "# %s\nfunction %s\n    switch \"$argv[1]\"\n", comment, name);
}

static void begin_case(ik_buffer_t *out, const char *pattern)
{
    ik_buffer_append_text(out, "        case ");
    append_quoted(out, pattern);
    ik_buffer_append_byte(out, '\n');
}

static void end_function(ik_buffer_t *out)
{
    ik_buffer_append_text(out, "        case '*'\n            return 1\n    end\nend\n\n");
}

static void append_words(ik_buffer_t *out, const char *command,
                         const ik_cli_completion_word_t *words, size_t count)
{
    if (count == 0) {
        return;
    }
    begin_case(out, command);
    ik_buffer_append_text(out, "            printf '%s\\t%s\\n'");
    for (size_t i = 0; i < count; i++) {
        ik_buffer_append_format(out, " \\\n                %s ", words[i].name);
        append_quoted(out, words[i].help);
    }
    ik_buffer_append_byte(out, '\n');
}

static void append_place(ik_buffer_t *out, const char *where,
                         const ik_cli_completion_place_t *place)
{
    begin_case(out, where);
    ik_buffer_append_text(out, "            printf '%s\\n' ");
    ik_cli_completion_append_place(out, place);
    ik_buffer_append_byte(out, '\n');
}

void ik_cli_completion_fish_append(ik_buffer_t *out, const ik_cli_completion_model_t *model)
{
    ik_buffer_append_text(out, beginning);
    begin_function(out, "Words that may go on with a command.", "__ikigai_next");
    for (size_t i = 0; i < model->count; i++) {
        const ik_cli_completion_node_t *node = model->nodes[i];
        append_words(out, node->name, node->next, node->next_count);
    }
    end_function(out);
    begin_function(out, "Options of a command.", "__ikigai_options");
    for (size_t i = 0; i < model->count; i++) {
        const ik_cli_completion_node_t *node = model->nodes[i];
        append_words(out, node->name, node->options, node->option_count);
    }
    end_function(out);
    begin_function(out,
                   "What stands behind an option or as an argument: COMMAND OPTION, COMMAND NUMBER "
                   "or, for all\n# others, COMMAND ...",
                   "__ikigai_place");
    ik_cli_completion_each_place(out, model, append_place);
    end_function(out);
    ik_buffer_append_text(out, reader);
}
