/* /agents: one line per agent. */
#include "command/command_agents.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "command/command_table.h"

static const char *state_of(const ik_command_agent_t *agent)
{
    return agent->busy ? "working" : agent->unseen ? "has news" : "idle";
}

/* "2   from 1  idle      14 messages  openai/gpt-6-sol  fix the tests" */
static char *format_line(const void *ctx, const ik_command_agent_t *agent, int digits)
{
    char *origin =
        agent->parent == 0 ? ik_strdup(ctx, "") : ik_sprintf(ctx, "from %" PRId64, agent->parent);
    return ik_sprintf(ctx, "%-*" PRId64 " %c %-*s  %-8s  %4zu message%s  %s%s%s", digits,
                      agent->number, agent->current ? '*' : ' ', digits + 5, origin,
                      state_of(agent), agent->messages, agent->messages == 1 ? " " : "s",
                      agent->model, *agent->title == '\0' ? "" : "  ", agent->title);
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    size_t count;
    const ik_command_agent_t *agents = host->actions->agents(host, args, &count);
    int digits = 1;
    for (size_t i = 0; i < count; i++) {
        int needed = (int)strlen(ik_sprintf(args, "%" PRId64, agents[i].number));
        digits = needed > digits ? needed : digits;
    }
    for (size_t i = 0; i < count; i++) {
        host->actions->print_line(host, format_line(args, &agents[i], digits));
    }
}

void ik_command_agents_complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    size_t count = 0;
    void *scratch = talloc_new(NULL);
    const ik_command_agent_t *agents =
        word == 1 ? host->actions->agents(host, scratch, &count) : NULL;
    for (size_t i = 0; i < count; i++) {
        ik_command_words_add(out, ik_sprintf(scratch, "%" PRId64, agents[i].number),
                             agents[i].title);
    }
    talloc_free(scratch);
}

const ik_command_t ik_command_agents = {
    .name = "agents",
    .usage = "",
    .help = "Lists the agents of this session; * marks the current one.",
    .run = run,
};
