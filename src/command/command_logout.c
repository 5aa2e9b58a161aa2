/* /logout: removes the key of a provider. */
#include "base/alloc.h"
#include "command/command_list.h"
#include "command/command_login.h"

static void forget(ik_command_host_t *host, const char *name)
{
    bool removed;
    const char *variable;
    const ik_config_provider_t *provider = ik_command_login_find(host, name);
    if (provider == NULL) {
        return;
    }
    bool had_key = provider->api_key != NULL;
    res_t forgotten = ik_workspace_forget_key(host->workspace, name, &removed, &variable);
    if (is_err(&forgotten)) {
        host->screen->fail(host, forgotten.message);
        return;
    }
    ik_buffer_t line;
    ik_buffer_init(&line, host->ctx, IK_BUFFER_UNLIMITED); /* a path and two names */
    if (removed) {
        ik_buffer_append_format(&line, "%s: the key is removed from %s and forgotten.", name,
                                ik_workspace_paths(host->workspace)->keys);
    } else {
        ik_buffer_append_format(&line, had_key ? "%s: the key is forgotten." : "%s has no key.",
                                name);
    }
    if (variable != NULL) {
        ik_buffer_append_format(&line, " %s still provides one at the next start; unset it.",
                                variable);
    }
    host->screen->print_line(host, line.data);
    ik_buffer_reset(&line);
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    if (args->count == 0) {
        ik_command_login_choose(host, "logout", true);
    } else {
        forget(host, args->words[0]);
    }
}

static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    if (word == 1) {
        ik_command_login_collect(out, ik_workspace_shared(host->workspace)->config, true);
    }
}

const ik_command_t ik_command_logout = {
    .name = "logout",
    .usage = "[PROVIDER]",
    .help = "Removes the key of a provider.",
    .flags = IK_COMMAND_NEEDS_IDLE | IK_COMMAND_NEEDS_ALL_IDLE,
    .max_args = 1,
    .run = run,
    .complete = complete,
};
