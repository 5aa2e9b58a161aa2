#include "cli/cli_calls.h"

#include "agent/found_hooks.h"
#include "base/alloc.h"
#include "base/print.h"

static ik_mode_t mode_of(void *data, int64_t agent)
{
    (void)agent;
    return ((ik_cli_calls_t *)data)->mode;
}

static void describe(void *data, int64_t agent, ik_hook_agent_t *facts)
{
    const ik_cli_calls_t *calls = data;
    (void)agent;
    facts->session_id = calls->session_id;
    facts->mode = calls->mode;
}

static void notice(void *data, int64_t agent, ik_hook_event_t event, const char *text)
{
    (void)data;
    (void)agent;
    (void)event;
    ik_print_line(stderr, text);
}

static void print_warning(const char *text)
{
    fputs("ikigai: warning: ", stderr);
    ik_print_line(stderr, text);
}

static ik_hooks_t *find_hooks(ik_cli_t *cli, ik_cli_calls_t *calls, bool trust)
{
    ik_hooks_t *hooks =
        ik_hooks_create(cli->ctx, &(ik_hooks_options_t){.config = cli->config,
                                                        .paths = cli->paths,
                                                        .host = cli->host,
                                                        .confinement = cli->confinement,
                                                        .describe = describe,
                                                        .notice = notice,
                                                        .data = calls});
    char *warning;
    ik_found_hooks_set(cli->ctx, hooks,
                       &(ik_extension_options_t){.paths = cli->paths, .trust_project = trust},
                       &warning);
    if (warning != NULL) {
        print_warning(warning);
    }
    return hooks;
}

int ik_cli_calls_prepare(ik_cli_t *cli, const ik_cli_args_t *args, const char *const *allowed,
                         const char *session_id, bool servers, ik_cli_calls_t *calls)
{
    const char *const *warnings;
    ik_permission_rules_t *rules;
    const char *mode_name = ik_cli_args_value(args, "--mode");
    bool trust = ik_cli_args_has(args, "--trust");
    *calls = (ik_cli_calls_t){.session_id = session_id};
    calls->mode = cli->config->mode == 0 ? IK_MODE_AUTO : (ik_mode_t)(cli->config->mode - 1);
    if (mode_name != NULL && !ik_mode_parse(mode_name, &calls->mode)) {
        return ik_cli_misuse(
            args->command,
            ik_sprintf(cli->ctx, "--mode must be auto, ask, plan or full, not '%s'", mode_name));
    }
    res_t ready = ik_permission_rules_load(cli->ctx, cli->paths, allowed, &rules);
    if (is_err(&ready)) {
        ik_cli_fail(ready.message);
        return IK_CLI_USAGE;
    }
    size_t warning_count = ik_permission_rules_warnings(rules, &warnings);
    for (size_t i = 0; i < warning_count; i++) {
        print_warning(warnings[i]);
    }
    ik_cli_discover_options_t discover = {.trust = trust, .quiet = true, .servers = servers};
    ready = ik_cli_discover(cli, &discover, &calls->found);
    if (is_err(&ready)) {
        return ik_cli_fail(ready.message);
    }
    calls->context = ik_cli_tool_context(cli);
    calls->gate = (ik_permission_gate_options_t){.confinement = cli->confinement,
                                                 .hooks = find_hooks(cli, calls, trust),
                                                 .rules = rules,
                                                 .config = cli->config,
                                                 .unattended = true,
                                                 .mode_of = mode_of,
                                                 .data = calls};
    return IK_CLI_DONE;
}
