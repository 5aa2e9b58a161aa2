/* /agents: lists the agents, one per line. */
#include "command/command_agents.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "command/command_list.h"
#include "conversation/figure.h"

const char *ik_command_agents_state(ik_command_host_t *host, int64_t number)
{
    return ik_workspace_is_busy(host->workspace, number)     ? "working"
           : ik_workspace_has_ended(host->workspace, number) ? "ended"
           : host->screen->has_news(host, number)            ? "has news"
                                                             : "idle";
}

/* "2   from 1  idle      14 messages  openai/gpt-6-sol  fix the tests"; of a sub-agent also its
 * name, its cost and what it does. */
static char *format_line(ik_command_host_t *host, const void *ctx, int64_t number, int digits)
{
    const ik_workspace_t *workspace = host->workspace;
    int64_t parent = ik_workspace_agent_parent(workspace, number);
    size_t messages = ik_workspace_agent_messages(workspace, number);
    const char *name = ik_workspace_agent_name(workspace, number);
    const char *doing = ik_workspace_agent_doing(workspace, number);
    double cost = ik_workspace_agent_usage(workspace, number).cost;
    const char *title = ik_workspace_agent_title(workspace, number);
    const char *state = ik_command_agents_state(host, number);
    char *origin = parent == 0 ? ik_strdup(ctx, "") : ik_sprintf(ctx, "from %" PRId64, parent);
    bool shows_cost = cost > 0 && ik_workspace_is_subagent(workspace, number);
    return ik_sprintf(ctx, "%-*" PRId64 " %c %-*s  %-8s  %4zu message%s  %s%s%s%s%s%s%s%s%s",
                      digits, number, number == ik_workspace_focus(workspace) ? '*' : ' ',
                      digits + 5, origin, state, messages, messages == 1 ? " " : "s",
                      ik_workspace_agent_model(workspace, number), shows_cost ? "  " : "",
                      shows_cost ? ik_figure_of_cost(cost).text : "", name == NULL ? "" : "  ",
                      name == NULL ? "" : ik_sanitise_line(ctx, name), *title == '\0' ? "" : "  ",
                      title, *doing == '\0' ? "" : "  · ", doing);
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    ik_workspace_t *workspace = host->workspace;
    size_t count = ik_workspace_agent_count(workspace);
    int64_t last = ik_workspace_agent_number(workspace, count - 1);
    int digits = (int)strlen(ik_sprintf(args, "%" PRId64, last));
    ik_workspace_load_agents(workspace);
    for (size_t i = 0; i < count; i++) {
        host->screen->print_line(
            host, format_line(host, args, ik_workspace_agent_number(workspace, i), digits));
    }
}

void ik_command_agents_complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    ik_workspace_t *workspace = host->workspace;
    if (word != 1) {
        return;
    }
    ik_workspace_load_agents(workspace);
    for (size_t i = 0; i < ik_workspace_agent_count(workspace); i++) {
        int64_t number = ik_workspace_agent_number(workspace, i);
        if (ik_workspace_has_ended(workspace, number)) {
            continue; /* there may be hundreds; /agents lists them */
        }
        char *text = ik_sprintf(out->ctx, "%" PRId64, number);
        ik_command_words_add(out, text, ik_workspace_agent_title(workspace, number));
        talloc_free(text);
    }
}

const ik_command_t ik_command_agents = {
    .name = "agents",
    .usage = "",
    .help = "Lists the agents of this session; * marks the current one.",
    .run = run,
};
