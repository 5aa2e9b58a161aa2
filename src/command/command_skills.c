/* /skills: lists the skills, also those that are not used, and why. */
#include <string.h>

#include "base/alloc.h"
#include "command/command_list.h"

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    const ik_extensions_t *skills = ik_command_find_extensions(args, host, IK_EXTENSION_SKILL);
    if (skills->count == 0) {
        host->screen->print_line(host, "There are no skills. ikigai help extending explains them.");
    }
    for (size_t i = 0; i < skills->count; i++) {
        const ik_extension_t *skill = &skills->items[i];
        const char *state = !skill->used ? " (not used)" : skill->hides ? " (only by name)" : "";
        host->screen->print_line(
            host, ik_sprintf(args, "%s%s: %s", skill->name, state,
                             *skill->description == '\0' ? "no description" : skill->description));
        host->screen->print_line(host, ik_sprintf(args, "  %s, %s%s%s",
                                                  skill->of_project ? "project" : "user",
                                                  skill->path, skill->reason == NULL ? "" : ": ",
                                                  skill->reason == NULL ? "" : skill->reason));
    }
}

const ik_command_t ik_command_skills = {
    .name = "skills",
    .usage = "",
    .help = "Lists the skills, and why some are not used.",
    .run = run,
};
