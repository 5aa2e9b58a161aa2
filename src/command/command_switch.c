/* /switch: switches to another agent, or opens a list of them. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "command/command_agents.h"
#include "command/command_list.h"

static void switch_to(ik_command_host_t *host, int64_t number)
{
    res_t switched = ik_workspace_switch(host->workspace, number);
    if (is_err(&switched)) {
        host->screen->fail(host, switched.message);
    }
}

static void on_taken(void *data, const char *number, bool second)
{
    (void)second;
    if (number != NULL) {
        switch_to(data, strtoll(number, NULL, 10));
    }
}

/* Rows: number, state, the last words of the user or what a sub-agent does, model. Ended sub-agents
 * are left out: there may be hundreds. */
static void open_list(ik_command_host_t *host, const void *ctx)
{
    ik_workspace_t *workspace = host->workspace;
    size_t count = ik_workspace_agent_count(workspace);
    ik_choice_row_t *rows = ik_new_array(ctx, ik_choice_row_t, count + 1);
    size_t listed = 0;
    ik_workspace_load_agents(workspace);
    for (size_t i = 0; i < count; i++) {
        int64_t number = ik_workspace_agent_number(workspace, i);
        const char *title = ik_workspace_agent_title(workspace, number);
        bool current = number == ik_workspace_focus(workspace);
        if (ik_workspace_has_ended(workspace, number)) {
            continue;
        }
        rows[listed++] = (ik_choice_row_t){
            .text = ik_sprintf(rows, "%" PRId64, number),
            .note = ik_sprintf(rows, "%s%s\t%s\t%s", ik_command_agents_state(host, number),
                               current ? ", current" : "", title,
                               ik_workspace_agent_model(workspace, number)),
            .also = title,
        };
    }
    host->screen->open_list(host, &(ik_view_list_options_t){.title = "Switch to which agent?",
                                                            .rows = rows,
                                                            .count = listed,
                                                            .on_taken = on_taken,
                                                            .data = host});
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    int64_t number;
    if (args->count == 0) {
        open_list(host, args);
    } else if (ik_command_parse_number(host, &ik_command_switch, args->words[0], &number)) {
        switch_to(host, number);
    }
}

const ik_command_t ik_command_switch = {
    .name = "switch",
    .usage = "[N]",
    .help = "Switches to agent N; without a number, to one from a list.",
    .max_args = 1,
    .run = run,
    .complete = ik_command_agents_complete,
};
