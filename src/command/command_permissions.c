#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "command/command_list.h"

/* The text with its control characters, which the screen would leave out. */
static char *write_out(const void *ctx, const char *rule)
{
    return ik_sanitise_write_out(ctx, rule, strlen(rule));
}

static void list(ik_command_host_t *host, const ik_command_args_t *args)
{
    const ik_permission_rules_t *rules = ik_workspace_rules(host->workspace);
    const ik_tool_registry_t *registry = ik_workspace_shared(host->workspace)->tool_registry;
    ik_permission_rule_t rule;
    size_t count = 0;
    for (; ik_permission_rules_at(rules, count, &rule); count++) {
        char *doubt = registry == NULL ? NULL : ik_permission_rules_doubt(args, &rule, registry);
        host->screen->print_line(
            host, ik_sprintf(args, "%zu  %-5s  %s  (%s)%s%s", count + 1,
                             ik_permission_rules_list_name(rule.effect), write_out(args, rule.rule),
                             rule.source, doubt == NULL ? "" : "  ", doubt == NULL ? "" : doubt));
    }
    host->screen->print_line(
        host, count == 0 ? "There are no rules. The answer 'a' to a question adds one."
                         : "/permissions remove N removes a rule that is in your file.");
}

static void remove_rule(ik_command_host_t *host, const ik_command_args_t *args)
{
    ik_permission_rules_t *rules = ik_workspace_rules(host->workspace);
    ik_permission_rule_t rule;
    int64_t number;
    if (!ik_command_parse_number(host, &ik_command_permissions, args->words[1], &number)) {
        return;
    }
    if (!ik_permission_rules_at(rules, (size_t)number - 1, &rule)) {
        host->screen->fail(
            host,
            ik_sprintf(args, "There is no rule %" PRId64 ". /permissions lists them.", number));
        return;
    }
    if (!rule.removable) {
        host->screen->fail(host, ik_sprintf(args,
                                            "Rule %" PRId64 " is not in your file (%s): change it "
                                            "there.",
                                            number, rule.source));
        return;
    }
    char *text = write_out(args, rule.rule);
    const char *effect = ik_permission_rules_list_name(rule.effect);
    res_t removed = ik_permission_rules_remove(rules, (size_t)number - 1);
    if (is_err(&removed)) {
        host->screen->fail(host, removed.message);
    } else {
        host->screen->print_line(host, ik_sprintf(args, "Removed: %s %s", effect, text));
    }
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    if (args->count == 0) {
        list(host, args);
    } else if (args->count == 2 && strcmp(args->words[0], "remove") == 0) {
        remove_rule(host, args);
    } else {
        ik_command_misuse(host, &ik_command_permissions, NULL);
    }
}

static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    ik_permission_rule_t rule;
    if (word == 1) {
        ik_command_words_add(out, "remove", "removes a rule");
    }
    for (size_t i = 0;
         word == 2 && ik_permission_rules_at(ik_workspace_rules(host->workspace), i, &rule); i++) {
        char number[24];
        snprintf(number, sizeof(number), "%zu", i + 1);
        if (rule.removable) {
            ik_command_words_add(out, number, rule.rule);
        }
    }
}

const ik_command_t ik_command_permissions = {
    .name = "permissions",
    .usage = "[remove N]",
    .help = "Lists the rules about tool calls, or removes one.",
    .max_args = 2,
    .run = run,
    .complete = complete,
};
