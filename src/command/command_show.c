#include <string.h>

#include "base/alloc.h"
#include "command/command_list.h"

/* Shows the summary that stands for older messages now. */
static void show_summary(ik_command_host_t *host, const void *ctx)
{
    const ik_agent_t *agent =
        ik_workspace_agent(host->workspace, ik_workspace_focus(host->workspace));
    const ik_conversation_t *conversation = agent == NULL ? NULL : ik_agent_conversation(agent);
    size_t i = conversation == NULL ? 0 : conversation->count;
    while (i > 0 && !ik_msg_is_summary(conversation->messages[i - 1])) {
        i--;
    }
    if (i == 0) {
        host->screen->fail(host, "This conversation has no summary. /compact makes one.");
        return;
    }
    host->screen->show_text(host, "summary",
                            ik_msg_field_text(ctx, conversation->messages[i - 1], "summary"));
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    int64_t number;
    if (strcmp(args->words[0], "summary") == 0) {
        show_summary(host, args);
    } else if (ik_command_parse_number(host, &ik_command_show, args->words[0], &number)) {
        res_t shown = host->screen->show_result(host, (size_t)number);
        if (is_err(&shown)) {
            host->screen->fail(host, shown.message);
        }
    }
}

static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    (void)host;
    if (word == 1) {
        ik_command_words_add(out, "summary", "of the older part of this conversation");
    }
}

const ik_command_t ik_command_show = {
    .name = "show",
    .usage = "N|summary",
    .help = "Shows the whole result of tool call N, or the last summary, in a pager.",
    .min_args = 1,
    .max_args = 1,
    .run = run,
    .complete = complete,
};
