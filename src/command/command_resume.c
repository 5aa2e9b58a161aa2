/* /resume: resumes a session, or opens a list of them. */
#include "command/command_list.h"
#include "command/command_session_list.h"

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    if (args->count == 0) {
        ik_command_session_list_start(host, false);
    } else {
        ik_workspace_resume(host->workspace, args->words[0]);
    }
}

/* Offers the sessions listed last: completion must not wait for a database. */
static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    const ik_command_words_t *known = host->listed_sessions;
    for (size_t i = 0; word == 1 && known != NULL && i < known->count; i++) {
        ik_command_words_add(out, known->texts[i], known->notes[i]);
    }
}

const ik_command_t ik_command_resume = {
    .name = "resume",
    .usage = "[ID]",
    .help = "Resumes an earlier session; without an ID, one from a list.",
    .flags = IK_COMMAND_NEEDS_IDLE | IK_COMMAND_NEEDS_ALL_IDLE,
    .max_args = 1,
    .run = run,
    .complete = complete,
};
