/* Hooks: finding them, and the events of sessions and messages. Those of calls, turns and summaries
 * come from the agent and the gate. */
#include <string.h>

#include "agent/found_hooks.h"
#include "base/alloc.h"
#include "workspace/workspace_state.h"

enum { HURRIED_MS = 1000 }; /* for the end of a session when a signal ends the program */

/* --- finding ----------------------------------------------------------------------------- */

static void describe(void *data, int64_t number, ik_hook_agent_t *facts)
{
    const ik_workspace_t *workspace = data;
    ik_workspace_member_t *member = ik_workspace_find_member(workspace, number);
    const ik_target_t *target = member == NULL || member->agent == NULL
                                    ? workspace->target
                                    : ik_agent_target(member->agent);
    facts->session_id = workspace->session == NULL ? "" : ik_session_id(workspace->session);
    facts->model = target == NULL ? NULL : target->name;
    facts->mode = ik_workspace_mode(workspace, number);
    if (member != NULL && member->parent != 0) {
        const char *name = ik_workspace_agent_name(workspace, number);
        if (member->id == NULL) {
            member->id = ik_sprintf(member, "%lld", (long long)number);
        }
        facts->id = member->id;
        facts->type = name == NULL ? "agent" : name;
    }
}

/* The lines of a session that ends, or has not begun to talk, belong to no agent. */
static void notice(void *data, int64_t number, ik_hook_event_t event, const char *text)
{
    ik_workspace_t *workspace = data;
    ik_workspace_member_t *member = ik_workspace_find_member(workspace, number);
    if (workspace->closed) {
        return;
    }
    if (event == IK_HOOK_SESSION_START) {
        ik_workspace_say_when_ready(workspace, text);
    } else if (member == NULL || event == IK_HOOK_SESSION_END) {
        ik_workspace_say(workspace, IK_WORKSPACE_WARNING, text);
    } else {
        ik_workspace_on_agent_event(
            member,
            &(ik_agent_event_t){.kind = IK_AGENT_NOTICE, .text = text, .len = strlen(text)});
    }
}

void ik_workspace_create_hooks(ik_workspace_t *workspace)
{
    const ik_workspace_options_t *options = &workspace->options;
    workspace->parting = talloc_new(workspace);
    workspace->shared.hooks =
        ik_hooks_create(workspace, &(ik_hooks_options_t){.config = options->config,
                                                         .paths = options->paths,
                                                         .host = options->host,
                                                         .confinement = workspace->confinement,
                                                         .describe = describe,
                                                         .notice = notice,
                                                         .data = workspace});
}

void ik_workspace_find_hooks(ik_workspace_t *workspace)
{
    ik_extension_options_t options = ik_workspace_extension_options(workspace);
    char *warning;
    size_t untrusted[IK_EXTENSION_KINDS] = {0};
    untrusted[IK_EXTENSION_HOOK] =
        ik_found_hooks_set(workspace, workspace->shared.hooks, &options, &warning);
    ik_workspace_say_untrusted(workspace, untrusted);
    if (warning != NULL) {
        ik_workspace_say(workspace, IK_WORKSPACE_WARNING, warning);
        talloc_free(warning);
    }
}

/* --- the beginning and the end of a session ------------------------------------------------ */

static char *format_block(const void *ctx, const ik_hook_outcome_t *outcome)
{
    return outcome->names_hook ? ik_sprintf(ctx, "The message was blocked: %s", outcome->reason)
                               : ik_sprintf(ctx, "The hook %s blocked the message: %s",
                                            outcome->hook, outcome->reason);
}

/* Messages that waited for the hooks can be sent. */
static void on_greeting(void *data, const ik_hook_outcome_t *outcome)
{
    ik_workspace_t *workspace = data;
    workspace->greeting = NULL;
    if (outcome->context != NULL) {
        workspace->greeting_text = ik_strdup(workspace, outcome->context);
    }
    if (outcome->stops) { /* a session cannot be blocked, its first message can */
        workspace->greeting_stop = format_block(workspace, outcome);
    } else if (outcome->decision == IK_HOOK_DENY) {
        char *line = outcome->names_hook
                         ? ik_sprintf(NULL, "%s, but a session cannot be blocked", outcome->reason)
                         : ik_sprintf(NULL, "The hook %s says: %s", outcome->hook, outcome->reason);
        ik_workspace_say_when_ready(workspace, line);
        talloc_free(line);
    }
    for (size_t i = 0; i < workspace->member_count; i++) {
        ik_workspace_send_custom(workspace->members[i]);
    }
    ik_workspace_pump(workspace);
}

void ik_workspace_greet_session(ik_workspace_t *workspace, const char *source)
{
    workspace->greeted = true;
    TALLOC_FREE(workspace->greeting);
    TALLOC_FREE(workspace->greeting_text);
    TALLOC_FREE(workspace->greeting_stop);
    if (ik_hooks_any(workspace->shared.hooks, IK_HOOK_SESSION_START, NULL)) {
        workspace->greeting =
            ik_hooks_start(workspace, workspace->shared.hooks,
                           &(ik_hook_occasion_t){.event = IK_HOOK_SESSION_START,
                                                 .agent = workspace->focus->number,
                                                 .source = source},
                           on_greeting, workspace);
    }
}

static void on_parting(void *data, const ik_hook_outcome_t *outcome)
{
    (void)outcome; /* the session ends in any case */
    ik_workspace_t *workspace = data;
    workspace->partings--;
}

void ik_workspace_part_session(ik_workspace_t *workspace, const char *reason)
{
    TALLOC_FREE(workspace->greeting);
    if (!workspace->greeted || workspace->session == NULL) {
        return;
    }
    workspace->greeted = false;
    if (ik_hooks_any(workspace->shared.hooks, IK_HOOK_SESSION_END, NULL)) {
        workspace->partings++;
        ik_hooks_start(workspace->parting, workspace->shared.hooks,
                       &(ik_hook_occasion_t){.event = IK_HOOK_SESSION_END,
                                             .agent = workspace->focus->number,
                                             .reason = reason},
                       on_parting, workspace);
    }
}

typedef struct {
    const ik_workspace_t *workspace;
    ik_timer_t *timer;
    int64_t left_ms;
    bool over;
} leaving_t;

static void on_leaving(void *data)
{
    enum { CHECK_MS = 5 };
    leaving_t *leaving = data;
    leaving->left_ms -= CHECK_MS;
    leaving->over = leaving->workspace->partings == 0 || leaving->left_ms <= 0;
    if (!leaving->over) {
        ik_timer_start(leaving->timer, CHECK_MS);
    }
}

/* Each hook has a time limit, so this ends. */
void ik_workspace_part_and_wait(ik_workspace_t *workspace, bool hurried)
{
    ik_loop_t *loop = workspace->options.loop;
    ik_workspace_part_session(workspace,
                              workspace->options.unattended ? "other" : "prompt_input_exit");
    if (workspace->partings == 0) {
        return;
    }
    leaving_t leaving = {.workspace = workspace, .left_ms = hurried ? HURRIED_MS : INT64_MAX};
    workspace->stopping = true;
    leaving.timer = ik_timer_create(workspace, loop, on_leaving, &leaving);
    ik_timer_start(leaving.timer, 0);
    ik_loop_run_until(loop, &leaving.over);
    talloc_free(leaving.timer);
    talloc_free_children(workspace->parting); /* before the rooms that they may run in */
}

/* --- messages of the user ----------------------------------------------------------------- */

struct ik_workspace_check {
    void *run;     /* NULL: the hooks have ended */
    char *context; /* joins the message; NULL: nothing */
    ik_workspace_checked_fn on_end;
    void *data;
};

static void on_checked(void *data, const ik_hook_outcome_t *outcome)
{
    ik_workspace_check_t *check = data;
    bool blocked = outcome->decision == IK_HOOK_DENY || outcome->stops;
    char *why = blocked ? format_block(NULL, outcome) : NULL;
    check->run = NULL;
    check->context = outcome->context == NULL ? NULL : ik_strdup(check, outcome->context);
    check->on_end(check->data, why); /* may free the check */
    talloc_free(why);
}

ik_workspace_check_t *ik_workspace_check_start(const void *ctx, ik_workspace_member_t *member,
                                               const char *text, ik_workspace_checked_fn on_end,
                                               void *data)
{
    ik_hooks_t *hooks = member->workspace->shared.hooks;
    if (!ik_hooks_any(hooks, IK_HOOK_USER_PROMPT, NULL)) {
        return NULL;
    }
    ik_workspace_check_t *check = ik_new(ctx, ik_workspace_check_t);
    check->on_end = on_end;
    check->data = data;
    check->run =
        ik_hooks_start(check, hooks,
                       &(ik_hook_occasion_t){
                           .event = IK_HOOK_USER_PROMPT, .agent = member->number, .prompt = text},
                       on_checked, check);
    return check;
}

bool ik_workspace_check_runs(const ik_workspace_check_t *check)
{
    return check != NULL && check->run != NULL;
}

char *ik_workspace_join_context(const void *ctx, ik_workspace_t *workspace, const char *text,
                                const ik_workspace_check_t *check, bool begins)
{
    const char *greeting = begins ? workspace->greeting_text : NULL;
    const char *context = check == NULL ? NULL : check->context;
    char *joined = ik_sprintf(ctx, "%s%s%s%s%s", text, greeting == NULL ? "" : "\n\n",
                              greeting == NULL ? "" : greeting, context == NULL ? "" : "\n\n",
                              context == NULL ? "" : context);
    if (begins) {
        TALLOC_FREE(workspace->greeting_text);
    }
    return joined;
}

void ik_workspace_report_block(ik_workspace_member_t *member, const char *text, const char *why,
                               bool ends)
{
    ik_workspace_t *workspace = member->workspace;
    ik_workspace_emit(workspace, &(ik_workspace_event_t){.kind = IK_WORKSPACE_BLOCKED,
                                                         .agent = member->number,
                                                         .text = text});
    if (!ends) {
        ik_workspace_say(workspace, IK_WORKSPACE_ERROR, why);
        return;
    }
    ik_workspace_on_agent_event(member, &(ik_agent_event_t){.kind = IK_AGENT_ERROR,
                                                            .code = "HOOK_BLOCKED",
                                                            .text = why,
                                                            .len = strlen(why)});
    ik_workspace_on_agent_event(
        member, &(ik_agent_event_t){.kind = IK_AGENT_TURN_ENDED, .reason = IK_TURN_ERROR});
}
