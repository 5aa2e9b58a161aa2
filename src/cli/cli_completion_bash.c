/*
 * bash knows nothing but words before the cursor and candidates for the one at it, so the script
 * has a small reader of the command line behind the data. It needs no package of completions.
 *
 * bash takes candidates as text to insert and shows no notes. Names that mean something to the
 * shell are inserted quoted; notes are added only where the candidates are shown and nothing is
 * inserted (COMP_TYPE 63, the second Tab).
 */
#include "cli/cli_completion.h"

static const char beginning[] =
    "# bash completion for ikigai, made of the program's own tables by: ikigai completion bash\n"
    "# Once for all: ikigai completion bash > "
    "~/.local/share/bash-completion/completions/ikigai\n"
    "# or for this shell: source <(ikigai completion bash)\n"
    "\n";

static const char reader[] =
    "# The words up to the cursor as they were typed. Readline cuts at colons and the like: what\n"
    "# no blank separates is one word, and cut is the part of the last one that is not replaced.\n"
    "_ikigai_split()\n"
    "{\n"
    "    local line=${COMP_LINE:0:COMP_POINT} piece blank operator='' i\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        blank=${line%%[![:blank:]]*}\n"
    "        line=${line#\"$blank\"}\n"
    "        piece=${COMP_WORDS[i]}\n"
    "        ((i < COMP_CWORD)) || piece=$line\n"
    "        line=${line#\"$piece\"}\n"
    "        cut=''\n"
    "        if [[ -n $piece && $piece != *[!'<>&|']* ]]; then\n"
    "            operator=1\n"
    "            words+=(\"$piece\")\n"
    "        elif [[ -n $blank || -n $operator || $i -eq 0 ]]; then\n"
    "            operator=''\n"
    "            words+=(\"$piece\")\n"
    "        else\n"
    "            cut=${words[${#words[@]} - 1]}\n"
    "            [[ $piece == *[!:=@]* ]] || cut+=$piece\n"
    "            words[${#words[@]} - 1]+=$piece\n"
    "        fi\n"
    "    done\n"
    "}\n"
    "\n"
    "# Offers the word $1, of which $2 says something, when what was typed begins it.\n"
    "_ikigai_offer()\n"
    "{\n"
    "    local word\n"
    "    printf -v word %q \"$1\"\n"
    "    [[ $word == \"$current\"* ]] || return\n"
    "    [[ -z $quote || $word == \"$1\" ]] || return\n"
    "    word=${word#\"$cut\"}\n"
    "    [[ ${COMP_TYPE-} != 63 || -z $2 ]] || word+=\"  ($2)\"\n"
    "    COMPREPLY+=(\"$word\")\n"
    "}\n"
    "\n"
    "_ikigai_offer_options()\n"
    "{\n"
    "    local option\n"
    "    for option in \"${options[@]}\"; do\n"
    "        [[ $given == *\" $option \"* ]] || _ikigai_offer \"$option\" ''\n"
    "    done\n"
    "}\n"
    "\n"
    "# What only the program knows: a word, a tab and a note in each line.\n"
    "_ikigai_offer_list()\n"
    "{\n"
    "    local word note\n"
    "    while IFS=$'\\t' read -r word note; do\n"
    "        [[ -z $word ]] || _ikigai_offer \"$word\" \"$note\"\n"
    "    done <<< \"$(command ikigai completion --list \"$1\" 2> /dev/null < /dev/null)\"\n"
    "}\n"
    "\n"
    "_ikigai_offer_place()\n"
    "{\n"
    "    local word\n"
    "    [[ ${place[0]} != maybe ]] || place=(\"${place[@]:1}\")\n"
    "    case ${place[0]} in\n"
    "        words) for word in \"${place[@]:1}\"; do _ikigai_offer \"$word\" ''; done ;;\n"
    "        list) _ikigai_offer_list \"${place[1]}\" ;;\n"
    "        files) compopt -o bashdefault -o default ;;\n"
    "        folders) compopt -o dirnames ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "# The name of the command, as far as it is written; it may go on where the cursor is.\n"
    "_ikigai_read_command()\n"
    "{\n"
    "    local word\n"
    "    while _ikigai_next \"$command\"; do\n"
    "        if ((at == ${#words[@]})) && [[ $current != -* ]]; then\n"
    "            for word in \"${next[@]}\"; do _ikigai_offer \"$word\" ''; done\n"
    "            return 1\n"
    "        elif ((at == ${#words[@]})); then\n"
    "            break\n"
    "        elif [[ \" ${next[*]} \" != *\" ${words[at]} \"* ]]; then\n"
    "            [[ -z $command ]]\n"
    "            return\n"
    "        fi\n"
    "        command+=${command:+ }${words[at]}\n"
    "        ((++at))\n"
    "    done\n"
    "}\n"
    "\n"
    "# Everything behind it: which options were given, and the place of the cursor, if it is the\n"
    "# value of one.\n"
    "_ikigai_read_rest()\n"
    "{\n"
    "    local word\n"
    "    for (( ; at < ${#words[@]}; at++)); do\n"
    "        word=${words[at]}\n"
    "        if [[ $word != *[!'<>&|']* ]]; then\n"
    "            ((++at))\n"
    "        elif [[ -z $ended && $word == -- ]]; then\n"
    "            ended=1\n"
    "        elif [[ -n $ended || \" ${options[*]} \" != *\" $word \"* ]]; then\n"
    "            ((++argument))\n"
    "        else\n"
    "            given+=\"$word \"\n"
    "            _ikigai_place \"$command $word\" || continue\n"
    "            ((at + 1 < ${#words[@]})) || return\n"
    "            [[ ${place[0]} == maybe && \" ${options[*]} \" == *\" ${words[at + 1]} \"* ]] ||\n"
    "                ((++at))\n"
    "        fi\n"
    "    done\n"
    "    place=()\n"
    "}\n"
    "\n"
    "_ikigai()\n"
    "{\n"
    "    local IFS=$' \\t\\n' words=() next=() options=() place=() current cut='' quote=''\n"
    "    local command='' given=' ' argument=1 ended='' at=1 last\n"
    "    COMPREPLY=()\n"
    "    _ikigai_split\n"
    "    last=$((${#words[@]} - 1))\n"
    "    current=${words[last]}\n"
    "    words=(\"${words[@]:0:last}\")\n"
    "    if [[ $current == [\\'\\\"]* ]]; then\n"
    "        quote=${current:0:1}\n"
    "        current=${current:1}\n"
    "    fi\n"
    "    compopt -o nosort 2> /dev/null\n"
    "    if [[ ${words[last - 1]} != *[!'<>&|']* ]]; then\n"
    "        compopt -o bashdefault -o default\n"
    "        return\n"
    "    fi\n"
    "    _ikigai_read_command || return\n"
    "    _ikigai_options \"$command\"\n"
    "    _ikigai_read_rest\n"
    "    if [[ ${#place[@]} -gt 0 && (${place[0]} != maybe || $current != -*) ]]; then\n"
    "        _ikigai_offer_place\n"
    "    elif [[ -z $ended && $current == -* ]]; then\n"
    "        _ikigai_offer_options\n"
    "    elif _ikigai_place \"$command $argument\" || _ikigai_place \"$command ...\"; then\n"
    "        _ikigai_offer_place\n"
    "    elif [[ -z $ended ]]; then\n"
    "        _ikigai_offer_options\n"
    "    fi\n"
    "    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != */ ]] || compopt -o nospace\n"
    "}\n"
    "\n"
    "complete -F _ikigai ikigai\n";

static void begin_function(ik_buffer_t *out, const char *comment, const char *name)
{
    ik_buffer_append_format(out, "# %s\n%s()\n{\n    case $1 in\n", comment, name);
}

static void begin_row(ik_buffer_t *out, const char *pattern, const char *variable)
{
    ik_buffer_append_text(out, "        ");
    ik_cli_completion_quote(out, pattern);
    ik_buffer_append_format(out, ") %s=(", variable);
}

static void end_row(ik_buffer_t *out)
{
    ik_buffer_append_text(out, ") ;;\n");
}

static void end_function(ik_buffer_t *out)
{
    ik_buffer_append_text(out, "        *) return 1 ;;\n    esac\n}\n\n");
}

static void append_words(ik_buffer_t *out, const char *command, const char *variable,
                         const ik_cli_completion_word_t *words, size_t count)
{
    if (count == 0) {
        return;
    }
    begin_row(out, command, variable);
    for (size_t i = 0; i < count; i++) {
        ik_buffer_append_format(out, "%s%s", i == 0 ? "" : " ", words[i].name);
    }
    end_row(out);
}

static void append_place(ik_buffer_t *out, const char *where,
                         const ik_cli_completion_place_t *place)
{
    begin_row(out, where, "place");
    ik_cli_completion_append_place(out, place);
    end_row(out);
}

void ik_cli_completion_bash_append(ik_buffer_t *out, const ik_cli_completion_model_t *model)
{
    ik_buffer_append_text(out, beginning);
    begin_function(out, "Words that may go on with the command $1.", "_ikigai_next");
    for (size_t i = 0; i < model->count; i++) {
        const ik_cli_completion_node_t *node = model->nodes[i];
        append_words(out, node->name, "next", node->next, node->next_count);
    }
    end_function(out);
    begin_function(out, "Options of the command $1.", "_ikigai_options");
    for (size_t i = 0; i < model->count; i++) {
        const ik_cli_completion_node_t *node = model->nodes[i];
        append_words(out, node->name, "options", node->options, node->option_count);
    }
    end_function(out);
    begin_function(out,
                   "What stands behind an option or as an argument: $1 is COMMAND OPTION, "
                   "COMMAND NUMBER\n# or, for all others, COMMAND ...",
                   "_ikigai_place");
    ik_cli_completion_each_place(out, model, append_place);
    end_function(out);
    ik_buffer_append_text(out, reader);
}
