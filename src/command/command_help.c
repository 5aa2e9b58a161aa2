/* /help: made from the table, and the keys. */
#include <string.h>

#include "base/alloc.h"
#include "command/command_table.h"

enum { USAGE_WIDTH = 18 }; /* whoever needs more has a line of its own */

static const char keys[] =
    "\nKeys:\n"
    "  Enter              sends; what is sent while the agent works waits\n"
    "  Alt-Enter, Ctrl-J  begins a new line; so does Enter behind a backslash\n"
    "  Tab                accepts what is offered for a command or a file\n"
    "  Up, Down, Ctrl-R   earlier messages; Ctrl-R searches them\n"
    "  Esc                interrupts the turn and gives waiting messages back\n"
    "  Ctrl-C             clears the draft, then interrupts; twice leaves\n"
    "  Ctrl-D             leaves when the draft is empty\n"
    "  Ctrl-G             writes the draft in $EDITOR\n"
    "  Ctrl-O             shows the whole conversation in a pager\n"
    "  Ctrl-Z             suspends ikigai\n"
    "  @FILE              names a file of the project\n"
    "  !CMD               runs a shell command; the agent sees what it prints\n";

static void append_command(ik_buffer_t *out, const ik_command_t *command)
{
    char *usage = ik_command_format_usage(out->ctx, command);
    ik_buffer_append_format(out, "  %-*s", USAGE_WIDTH, usage);
    if (strlen(usage) > USAGE_WIDTH) {
        ik_buffer_append_format(out, "\n  %*s", USAGE_WIDTH, "");
    }
    ik_buffer_append_format(out, " %s\n", command->help);
    talloc_free(usage);
}

static void print_all(ik_command_host_t *host, const ik_command_args_t *args)
{
    size_t count;
    const ik_command_t *const *table = ik_command_table(&count);
    ik_buffer_t out;
    ik_buffer_init(&out, args, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&out, "Commands:\n");
    for (size_t i = 0; i < count; i++) {
        append_command(&out, table[i]);
    }
    ik_buffer_append_text(&out, keys);
    host->actions->print(host, out.data);
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    if (args->count == 0) {
        print_all(host, args);
        return;
    }
    size_t len = strlen(args->words[0]);
    const ik_command_t *command = ik_command_find(args->words[0], len);
    if (command == NULL) {
        ik_command_fail_unknown(host, args->words[0], len);
        return;
    }
    host->actions->print(host, ik_sprintf(args, "Usage: %s\n%s\n",
                                          ik_command_format_usage(args, command), command->help));
}

static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    (void)host;
    size_t count;
    const ik_command_t *const *table = ik_command_table(&count);
    for (size_t i = 0; word == 1 && i < count; i++) {
        ik_command_words_add(out, table[i]->name, table[i]->help);
    }
}

const ik_command_t ik_command_help = {
    .name = "help",
    .usage = "[NAME]",
    .help = "Lists the commands and keys, or explains one command.",
    .max_args = 1,
    .run = run,
    .complete = complete,
};
