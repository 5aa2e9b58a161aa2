/* `ikigai mcp serve` */
#include <string.h>

#include "base/alloc.h"
#include "cli/cli_calls.h"
#include "serve/mcp_serve.h"

/* The tools that are offered: all, or those named in a list with commas. */
static res_t choose_tools(const void *ctx, const ik_tool_registry_t *found, const char *names,
                          ik_tool_registry_t *offered)
{
    offered->entries = ik_new_array(ctx, ik_tool_registry_entry_t *, found->count + 1);
    char *list = names == NULL ? NULL : ik_sprintf(ctx, ",%s,", names);
    for (size_t i = 0; i < found->count; i++) {
        char *word = ik_sprintf(ctx, ",%s,", found->entries[i]->name);
        if (list == NULL || strstr(list, word) != NULL) {
            offered->entries[offered->count++] = found->entries[i];
        }
    }
    char *rest = names == NULL ? NULL : ik_strdup(ctx, names);
    for (char *name = rest; name != NULL;) {
        char *next = strchr(name, ',');
        if (next != NULL) {
            *next++ = '\0';
        }
        if (ik_tool_registry_lookup(offered, name) == NULL) {
            return ERR(INVALID, "--tools: there is no tool '%s'; ikigai tool list shows them",
                       name);
        }
        name = next;
    }
    return OK;
}

static int run_serve(ik_cli_t *cli, const ik_cli_args_t *args)
{
    ik_cli_calls_t calls;
    ik_tool_registry_t offered = {0};
    /* Other servers are not asked for theirs: this one may be among them. */
    int status = ik_cli_calls_prepare(cli, args, NULL, "mcp", false, &calls);
    if (status != IK_CLI_DONE) {
        return status;
    }
    res_t chosen =
        choose_tools(cli->ctx, calls.found->registry, ik_cli_args_value(args, "--tools"), &offered);
    if (is_err(&chosen)) {
        return ik_cli_misuse(args->command, chosen.message);
    }
    if (!ik_cli_accept_confinement(cli)) {
        return IK_CLI_USAGE;
    }
    calls.context.images = cli->paths->images;
    return ik_mcp_serve_run(cli->ctx, &(ik_mcp_serve_options_t){.loop = cli->loop,
                                                                .registry = &offered,
                                                                .context = &calls.context,
                                                                .gate = &calls.gate});
}

const ik_cli_command_t ik_cli_mcp_serve = {
    .name = "mcp serve",
    .help = "Offers the tools to another agent, as an MCP server on standard input and output.",
    .more = "Calls are confined as in a session, and hooks look at them. What needs the user's "
            "permission is asked through the client, and denied if the client cannot ask.",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--tools", .value = "A,B", .help = "only these tools"},
            {.name = "--mode", .value = "auto|ask|plan|full", .help = "how far calls may go"},
            IK_CLI_TRUST_OPTION,
            {0}},
    .needs_output = true,
    .run = run_serve,
};
