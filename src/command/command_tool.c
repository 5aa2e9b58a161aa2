/* /tool: lists the tools that the model can call, or describes one. */
#include "base/alloc.h"
#include "command/command_list.h"
#include "tool/tool_describe.h"

static void print_tool(ik_command_host_t *host, const ik_command_args_t *args,
                       const ik_tool_registry_t *registry)
{
    const ik_tool_registry_entry_t *entry = ik_tool_registry_find_typed(registry, args->words[0]);
    if (entry == NULL) {
        host->screen->fail(
            host, ik_sprintf(args, "Tool '%s' not found. Run /tool to see available tools.",
                             args->words[0]));
    } else {
        host->screen->print(host, ik_tool_describe_entry(args, entry));
    }
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    const ik_tool_registry_t *registry = ik_workspace_shared(host->workspace)->tool_registry;
    if (registry == NULL) {
        bool failed = ik_workspace_shared(host->workspace)->tool_scan_state == TOOL_SCAN_FAILED;
        host->screen->print_line(host, failed
                                           ? "There are no tools: discovery failed. Run /refresh "
                                             "to try again."
                                           : "Tools are switched off.");
    } else if (args->count == 0) {
        host->screen->print(host, ik_tool_describe_list(args, registry));
    } else {
        print_tool(host, args, registry);
    }
}

static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    const ik_tool_registry_t *registry = ik_workspace_shared(host->workspace)->tool_registry;
    for (size_t i = 0; word == 1 && registry != NULL && i < registry->count; i++) {
        const ik_tool_registry_entry_t *entry = registry->entries[i];
        ik_command_words_add(out, entry->name, entry->schema->description);
    }
}

const ik_command_t ik_command_tool = {
    .name = "tool",
    .usage = "[NAME]",
    .help = "Lists the tools, or describes one.",
    .flags = IK_COMMAND_NEEDS_TOOLS,
    .max_args = 1,
    .run = run,
    .complete = complete,
};
