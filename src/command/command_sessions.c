#include <string.h>

#include "command/command_list.h"
#include "command/command_session_list.h"

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    bool all = args->count > 0;
    if (all && strcmp(args->words[0], "--all") != 0) {
        ik_command_misuse(host, &ik_command_sessions, NULL);
    } else {
        ik_command_session_list_start(host, all);
    }
}

static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    (void)host;
    if (word == 1) {
        ik_command_words_add(out, "--all", "of all folders");
    }
}

const ik_command_t ik_command_sessions = {
    .name = "sessions",
    .usage = "[--all]",
    .help = "Lists the sessions of this folder, or of all folders, to resume one.",
    .max_args = 1,
    .run = run,
    .complete = complete,
};
