/* The session: a new one, one that is resumed, one that the user chooses. */
#include <string.h>

#include "base/alloc.h"
#include "store/event_facts.h"
#include "workspace/workspace_state.h"

/* --- changing sessions ------------------------------------------------------------------- */

/* Frees the agents before the session that they write to. */
void ik_workspace_drop_session(ik_workspace_t *workspace)
{
    if (workspace->member_count > 0 && !workspace->closed) {
        ik_workspace_emit(workspace, &(ik_workspace_event_t){.kind = IK_WORKSPACE_SESSION_ENDS});
    }
    TALLOC_FREE(workspace->undoing);
    TALLOC_FREE(workspace->diff);
    while (workspace->member_count > 0) {
        talloc_free(workspace->members[--workspace->member_count]);
    }
    while (workspace->leaving_count > 0) {
        ik_workspace_end_agent(workspace->leaving[--workspace->leaving_count]);
    }
    workspace->focus = NULL;
    TALLOC_FREE(workspace->session);
}

static void announce_session(ik_workspace_t *workspace, bool resumed)
{
    ik_workspace_emit(workspace, &(ik_workspace_event_t){.kind = IK_WORKSPACE_SESSION,
                                                         .agent = workspace->focus->number,
                                                         .resumed = resumed});
}

/* The session gets its id now and is stored with the first message. */
static void create_session(ik_workspace_t *workspace, const char *source)
{
    ik_session_facts_t facts = {.cwd = workspace->options.paths->cwd,
                                .model = workspace->target->name};
    workspace->session = ik_session_create(workspace, workspace->shared.history, &facts);
    ik_workspace_restart_checkpointer(workspace);
    announce_session(workspace, false);
    ik_workspace_greet_session(workspace, source);
}

void ik_workspace_begin_session(ik_workspace_t *workspace)
{
    ik_workspace_member_t *root = ik_workspace_create_member(workspace, IK_STORE_ROOT_AGENT);
    root->mode = workspace->focus->mode;
    root->mode_chosen = workspace->focus->mode_chosen;
    ik_workspace_adopt_queue(root, workspace->focus);
    ik_workspace_part_session(workspace, "clear");
    ik_workspace_drop_session(workspace);
    workspace->usage = (ik_workspace_usage_t){.usage = IK_USAGE_NONE, .cost = -1};
    workspace->focus = root;
    ik_workspace_add_member(root);
    create_session(workspace, "clear");
    ik_workspace_pump(workspace);
}

/* --- resuming ---------------------------------------------------------------------------- */

/* The session to resume and how; lives while it is being opened. */
typedef struct {
    ik_workspace_t *workspace;
    bool at_start; /* a failure ends the program */
    bool fork;
    bool any_folder; /* choose from the sessions of all folders */
    ik_store_session_t found;
} opening_t;

static void fail_opening(opening_t *opening, const res_t *result)
{
    ik_workspace_t *workspace = opening->workspace;
    res_t failed = *result;
    bool at_start = opening->at_start;
    workspace->opening = NULL;
    talloc_free(opening);
    if (at_start) {
        ik_workspace_emit(workspace,
                          &(ik_workspace_event_t){.kind = IK_WORKSPACE_FAILED,
                                                  .result = &failed,
                                                  .misconfigured = workspace->target == NULL});
    } else {
        ik_workspace_say(workspace, IK_WORKSPACE_ERROR, failed.message);
        if (workspace->session == NULL) {
            create_session(workspace, "startup");
        }
    }
    ik_workspace_pump(workspace);
}

/* Makes session the current one. member is its last active agent; the other agents that have not
 * ended become members that are not loaded yet. */
static void take_session(opening_t *opening, ik_session_t *session, ik_workspace_member_t *member)
{
    ik_workspace_t *workspace = opening->workspace;
    const ik_store_agents_t *agents = ik_session_agents(session);
    ik_workspace_adopt_queue(member, workspace->focus);
    ik_workspace_part_session(workspace, "resume");
    ik_workspace_drop_session(workspace);
    workspace->session = session;
    workspace->usage = (ik_workspace_usage_t){
        .usage = opening->found.usage, .cost = opening->found.cost, .turns = opening->found.turns};
    for (size_t i = 0; i < agents->count; i++) {
        int64_t number = agents->agents[i].number;
        if (number == member->number) {
            ik_workspace_add_member(member);
        } else if (!ik_session_has_ended(session, number)) {
            ik_workspace_member_t *other = ik_workspace_create_member(workspace, number);
            bool is_subagent = ik_session_delegation(session, number) != NULL;
            other->parent = is_subagent ? agents->agents[i].parent : 0;
            ik_workspace_add_member(other);
        }
    }
    workspace->focus = member;
    ik_workspace_restart_checkpointer(workspace);
    ik_workspace_end_segments(workspace);
    announce_session(workspace, true);
    ik_workspace_greet_session(workspace, "resume");
}

typedef struct {
    void *ctx;
    const char *model; /* NULL: no answer yet */
} answerer_t;

static res_t note_model(void *data, const ik_store_event_t *event)
{
    answerer_t *answerer = data;
    ik_event_facts_t facts = ik_event_facts(answerer->ctx, event);
    answerer->model = facts.answer ? facts.model : answerer->model;
    return OK;
}

/* The model to go on with, on ctx. The last answer of the session may be that of a sub-agent, which
 * may have another model. */
static const char *find_model(const void *ctx, const opening_t *opening,
                              const ik_session_t *session, int64_t agent)
{
    ik_store_t *store;
    answerer_t answerer = {.ctx = talloc_new(ctx)};
    const ik_store_agent_t *stored = ik_store_find_agent(ik_session_agents(session), agent);
    res_t local = ik_history_local(opening->workspace->shared.history, &store);
    if (is_ok(&local) && ik_session_has_subagents(session) && stored != NULL) {
        (void)ik_store_read(store, stored, stored->forked_at, note_model, &answerer);
    }
    return answerer.model == NULL ? opening->found.model : answerer.model;
}

/* Everything that can fail happens before the old session is dropped. */
static res_t open_session(opening_t *opening)
{
    ik_workspace_t *workspace = opening->workspace;
    ik_history_t *history = workspace->shared.history;
    const char *id = opening->found.id;
    ik_session_t *session;
    res_t opened = opening->fork ? ik_session_open_copy(workspace, history, id, &session)
                                 : ik_session_open(workspace, history, id, &session);
    if (is_err(&opened)) {
        if (!opening->fork) {
            ik_history_release(history, id); /* on_claimed had claimed it */
        }
        return opened;
    }
    ik_workspace_member_t *member =
        ik_workspace_create_member(workspace, ik_session_last_agent(session));
    const ik_target_t *old_target = workspace->target;
    void *scratch = talloc_new(NULL);
    opened = ik_workspace_choose_target(workspace,
                                        find_model(scratch, opening, session, member->number));
    talloc_free(scratch);
    if (is_ok(&opened) || workspace->target != NULL) {
        opened = ik_workspace_load_agent(member, session);
    }
    if (is_err(&opened)) {
        workspace->target = old_target;
        talloc_free(member);
        talloc_free(session);
        return opened;
    }
    take_session(opening, session, member);
    return OK;
}

static void finish_opening(opening_t *opening)
{
    ik_workspace_t *workspace = opening->workspace;
    res_t opened = open_session(opening);
    if (is_err(&opened)) {
        fail_opening(opening, &opened);
        return;
    }
    workspace->opening = NULL;
    talloc_free(opening);
    ik_workspace_pump(workspace);
}

static void on_claimed(void *data, const res_t *result, const ik_holder_t *other)
{
    opening_t *opening = data;
    if (result->code == IK_ERR_CONFLICT && other->pid != 0) {
        res_t held = ik_session_held(opening->found.id, other);
        fail_opening(opening, &held);
    } else if (is_err(result)) {
        fail_opening(opening, result);
    } else {
        finish_opening(opening);
    }
}

static void open_found(opening_t *opening, const ik_store_session_t *session)
{
    ik_workspace_t *workspace = opening->workspace;
    if (workspace->session != NULL && strcmp(session->id, ik_session_id(workspace->session)) == 0) {
        res_t same = ERR(INVALID, "This session is already open.");
        fail_opening(opening, &same);
        return;
    }
    opening->found = *session;
    opening->found.id = ik_strdup(opening, session->id);
    opening->found.model = ik_strdup(opening, session->model);
    if (opening->fork) {
        finish_opening(opening);
    } else {
        workspace->opening = ik_history_claim_start(opening, workspace->shared.history,
                                                    opening->found.id, on_claimed, opening);
    }
}

static void on_found(void *data, const res_t *result, const ik_store_session_t *session)
{
    if (is_err(result)) {
        fail_opening(data, result);
    } else {
        open_found(data, session);
    }
}

/* Starts a new session because none can be resumed. */
static void begin_instead(opening_t *opening, const char *why)
{
    ik_workspace_t *workspace = opening->workspace;
    if (is_err(&workspace->target_error)) {
        fail_opening(opening, &workspace->target_error);
        return;
    }
    workspace->opening = NULL;
    talloc_free(opening);
    ik_workspace_say(workspace, IK_WORKSPACE_NOTE, why);
    create_session(workspace, "startup");
    ik_workspace_pump(workspace);
}

static const char none_here[] = "No session in this folder yet; starting a new one.";

static void on_listed(void *data, const res_t *result, const ik_store_list_t *list)
{
    opening_t *opening = data;
    if (is_err(result)) {
        fail_opening(opening, result);
    } else if (list->count > 0) {
        open_found(opening, &list->sessions[0]);
    } else {
        begin_instead(opening, none_here);
    }
}

static void list_choices(opening_t *opening);

/* With a user, an empty list starts a new session. Without one, CHOOSE reports the sessions of all
 * folders if this folder has none. */
static void on_choices(void *data, const res_t *result, const ik_store_list_t *list)
{
    opening_t *opening = data;
    ik_workspace_t *workspace = opening->workspace;
    if (is_err(result)) {
        fail_opening(opening, result);
    } else if (list->count == 0 && !workspace->options.unattended) {
        begin_instead(opening, none_here);
    } else if (list->count == 0 && !opening->any_folder) {
        opening->any_folder = true;
        list_choices(opening);
    } else {
        workspace->opening = NULL;
        workspace->choosing = true;
        ik_workspace_emit(workspace,
                          &(ik_workspace_event_t){.kind = IK_WORKSPACE_CHOOSE, .sessions = list});
        talloc_free(opening);
        ik_workspace_pump(workspace);
    }
}

static void list_choices(opening_t *opening)
{
    ik_workspace_t *workspace = opening->workspace;
    ik_store_filter_t filter = {.cwd = opening->any_folder ? NULL : workspace->options.paths->cwd,
                                .uncounted = true,
                                .begun = true};
    workspace->opening =
        ik_history_list_start(opening, workspace->shared.history, &filter, on_choices, opening);
}

static opening_t *create_opening(ik_workspace_t *workspace, bool at_start)
{
    opening_t *opening = ik_new(workspace, opening_t);
    opening->workspace = workspace;
    opening->at_start = at_start;
    opening->fork = at_start && workspace->options.start->fork;
    return opening;
}

void ik_workspace_choose(ik_workspace_t *workspace, const char *id)
{
    opening_t *opening = create_opening(workspace, false);
    opening->fork = workspace->options.start->fork;
    workspace->choosing = false;
    if (id == NULL) {
        begin_instead(opening, "No session chosen; starting a new one.");
    } else {
        workspace->opening =
            ik_history_find_start(opening, workspace->shared.history, id, on_found, opening);
    }
}

void ik_workspace_resume(ik_workspace_t *workspace, const char *id)
{
    if (workspace->opening == NULL) {
        opening_t *opening = create_opening(workspace, false);
        workspace->opening =
            ik_history_find_start(opening, workspace->shared.history, id, on_found, opening);
    }
}

void ik_workspace_open_first(ik_workspace_t *workspace)
{
    const ik_workspace_start_t *start = workspace->options.start;
    ik_history_t *history = workspace->shared.history;
    if (start->choose) {
        list_choices(create_opening(workspace, true));
    } else if (start->resume != NULL) {
        opening_t *opening = create_opening(workspace, true);
        workspace->opening =
            ik_history_find_start(opening, history, start->resume, on_found, opening);
    } else if (start->continue_last) {
        opening_t *opening = create_opening(workspace, true);
        ik_store_filter_t filter = {
            .cwd = workspace->options.paths->cwd, .limit = 1, .uncounted = true, .begun = true};
        workspace->opening = ik_history_list_start(opening, history, &filter, on_listed, opening);
    } else {
        create_session(workspace, "startup");
    }
}
