#include <string.h>

#include "agent/agent_prompt.h"
#include "base/alloc.h"
#include "workspace/workspace_state.h"

static ik_mode_t find_mode(const ik_workspace_member_t *member)
{
    const ik_workspace_member_t *parent =
        member->parent == 0 ? NULL : ik_workspace_find_member(member->workspace, member->parent);
    return parent == NULL ? member->mode : ik_mode_narrower(member->mode, find_mode(parent));
}

ik_mode_t ik_workspace_mode(const ik_workspace_t *workspace, int64_t agent)
{
    const ik_workspace_member_t *member = ik_workspace_find_member(workspace, agent);
    return member == NULL ? workspace->mode : find_mode(member);
}

void ik_workspace_set_mode(ik_workspace_t *workspace, int64_t agent, ik_mode_t mode)
{
    ik_workspace_member_t *member = ik_workspace_find_member(workspace, agent);
    if (member != NULL) {
        member->mode = mode;
        member->mode_chosen = true;
        ik_workspace_store_mode(member);
        for (size_t i = 0; i < workspace->member_count; i++) { /* its sub-agents, too */
            ik_workspace_apply_mode(workspace->members[i]);
        }
    }
}

void ik_workspace_apply_mode(ik_workspace_member_t *member)
{
    if (member->agent != NULL) {
        ik_agent_set_addition(member->agent,
                              find_mode(member) == IK_MODE_PLAN ? ik_agent_prompt_plan : NULL);
    }
}

/* "full" is entered by the user only. */
void ik_workspace_restore_mode(ik_workspace_member_t *member)
{
    const char *kept = ik_agent_conversation(member->agent)->mode;
    ik_mode_t mode;
    if (kept != NULL && ik_mode_parse(kept, &mode)) {
        member->mode_stored = 1 + (int)mode;
        if (mode != IK_MODE_FULL && !member->workspace->mode_forced) {
            member->mode = mode;
        }
    }
    ik_workspace_apply_mode(member);
}

/* A session that was always in the default mode says nothing about it. */
void ik_workspace_store_mode(ik_workspace_member_t *member)
{
    ik_workspace_t *workspace = member->workspace;
    bool is_default =
        member->mode_stored == 0 && member->mode == IK_MODE_AUTO && !member->mode_chosen;
    if (workspace->session == NULL || member->agent == NULL || is_default ||
        member->mode_stored == 1 + (int)member->mode ||
        ik_agent_conversation(member->agent)->count == 0) {
        return;
    }
    const char *name = ik_mode_name(member->mode);
    void *scratch = talloc_new(NULL);
    ik_msg_t *message =
        ik_msg_create(scratch, IK_MSG_MODE, ik_sprintf(scratch, "The mode is %s.", name),
                      ik_sprintf(scratch, "{\"mode\":\"%s\"}", name));
    ik_session_append(workspace->session, member->number, &message, 1, IK_STORE_NORMAL);
    member->mode_stored = 1 + (int)member->mode;
    talloc_free(scratch);
}

ik_confinement_t *ik_workspace_confinement(const ik_workspace_t *workspace)
{
    return workspace->confinement;
}

ik_permission_rules_t *ik_workspace_rules(const ik_workspace_t *workspace)
{
    return workspace->rules;
}

/* --- the gate ---------------------------------------------------------------------------- */

static ik_mode_t mode_of(void *data, int64_t agent)
{
    return ik_workspace_mode(data, agent);
}

static void stop_turn(void *data, int64_t agent)
{
    ik_workspace_interrupt(data, agent);
}

static void warn(void *data, const char *text)
{
    ik_workspace_say(data, IK_WORKSPACE_WARNING, text);
}

/* A question at the front end; freed with the decision that waits for it. */
typedef struct {
    ik_workspace_question_t *question;
    ik_permission_answer_fn on_answer;
    void *data;
} asked_t;

static int withdraw(asked_t *asked)
{
    talloc_free(asked->question);
    return 0;
}

static void on_answer(void *data, ik_permission_answer_t answer, const char *text)
{
    asked_t *asked = data;
    ik_permission_answer_fn deliver = asked->on_answer;
    void *deliver_data = asked->data;
    asked->question = NULL;
    talloc_free(asked);
    deliver(deliver_data, answer, text);
}

static void *ask(void *data, const void *ctx, const ik_permission_question_t *question,
                 ik_permission_answer_fn deliver, void *deliver_data)
{
    ik_workspace_t *workspace = data;
    asked_t *asked = ik_new(ctx, asked_t);
    asked->on_answer = deliver;
    asked->data = deliver_data;
    talloc_set_destructor(asked, withdraw);
    char *text = ik_sprintf(NULL, "Allow %s (%s)?", question->tool, question->wants);
    ik_question_t shown = {.agent = question->agent, .text = text, .call = question};
    ik_workspace_question_t *open = ik_workspace_ask_call(workspace, &shown, on_answer, asked);
    talloc_free(text);
    if (open != NULL) { /* otherwise it is answered, and asked is freed */
        asked->question = open;
    }
    return open == NULL ? NULL : asked;
}

/* --- the level --------------------------------------------------------------------------- */

static void on_level(void *data, const ik_confinement_facts_t *facts)
{
    (void)facts;
    ik_workspace_t *workspace = data;
    if (!workspace->closed) {
        ik_workspace_emit(workspace, &(ik_workspace_event_t){.kind = IK_WORKSPACE_LEVEL});
    }
}

static bool is_off(const ik_workspace_t *workspace)
{
    return workspace->options.config->confinement == IK_CONFIG_CONFINEMENT_OFF;
}

/* While it is off, only the mode plan needs the level, and then the gate finds it out. */
void ik_workspace_find_level(ik_workspace_t *workspace)
{
    if (is_off(workspace)) {
        on_level(workspace, NULL);
    } else {
        ik_confinement_detect(workspace, workspace->confinement, on_level, workspace);
    }
}

const char *ik_workspace_level(const ik_workspace_t *workspace)
{
    const ik_confinement_facts_t *facts = ik_confinement_facts(workspace->confinement);
    return is_off(workspace) ? "off"
           : facts == NULL   ? NULL
                             : ik_confinement_level_name(facts->level);
}

char *ik_workspace_describe_level(const void *ctx, const ik_workspace_t *workspace)
{
    const ik_confinement_facts_t *facts = ik_confinement_facts(workspace->confinement);
    bool silent = is_off(workspace) || facts == NULL || facts->level == IK_CONFINEMENT_FULL;
    return silent ? NULL : ik_confinement_describe_level(ctx, facts);
}

static void on_fall(void *data, const ik_confinement_facts_t *facts)
{
    ik_workspace_t *workspace = data;
    char *text = ik_sprintf(NULL, "Confinement has fallen to level %s: %s",
                            ik_confinement_level_name(facts->level), facts->cause);
    if (!workspace->closed) {
        warn(workspace, text);
    }
    talloc_free(text);
}

/* --- setting up -------------------------------------------------------------------------- */

void ik_workspace_create_gate(ik_workspace_t *workspace)
{
    const ik_workspace_options_t *options = &workspace->options;
    workspace->confinement =
        ik_confinement_create(workspace, &(ik_confinement_options_t){.loop = options->loop,
                                                                     .paths = options->paths,
                                                                     .config = options->config,
                                                                     .on_fall = on_fall,
                                                                     .data = workspace});
    workspace->shared.tool_context.confinement = is_off(workspace) ? NULL : workspace->confinement;
}

res_t ik_workspace_load_permissions(ik_workspace_t *workspace)
{
    const ik_workspace_options_t *options = &workspace->options;
    const ik_workspace_start_t *start = options->start;
    bool allow_all = false;
    for (size_t i = 0; start->allowed != NULL && start->allowed[i] != NULL; i++) {
        allow_all = allow_all || strcmp(start->allowed[i], "all") == 0;
    }
    if (options->config->mode != 0) {
        const ik_config_key_t *key = ik_config_find_key(IK_CONFIG_TOP, "mode");
        workspace->mode = (ik_mode_t)(options->config->mode - 1);
        workspace->mode_forced =
            ik_config_key_source(key, options->config) >= IK_CONFIG_ENVIRONMENT;
    }
    for (size_t i = 0; i < workspace->member_count; i++) {
        workspace->members[i]->mode = workspace->mode;
        workspace->members[i]->mode_chosen = workspace->mode_forced;
    }
    TRY(ik_permission_rules_load(workspace, options->paths, start->allowed, &workspace->rules));
    const char *const *warnings;
    size_t count = ik_permission_rules_warnings(workspace->rules, &warnings);
    for (size_t i = 0; i < count; i++) {
        char *line = ik_sprintf(NULL, "warning: %s", warnings[i]);
        warn(workspace, line);
        talloc_free(line);
    }
    if (options->gate == NULL) {
        workspace->shared.gate = ik_permission_gate_create(
            workspace, &(ik_permission_gate_options_t){.confinement = workspace->confinement,
                                                       .hooks = workspace->shared.hooks,
                                                       .rules = workspace->rules,
                                                       .config = options->config,
                                                       .unattended = options->unattended,
                                                       .allow_all = allow_all,
                                                       .mode_of = mode_of,
                                                       .ask = ask,
                                                       .stop_turn = stop_turn,
                                                       .warn = warn,
                                                       .data = workspace});
    }
    ik_workspace_attend_editor(workspace);
    return OK;
}
