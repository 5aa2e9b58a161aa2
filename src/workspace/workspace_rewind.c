/* Undo, redo, rewind and diff of the session that is open. */
#include "base/alloc.h"
#include "base/clock.h"
#include "workspace/workspace_state.h"

/* A task that is running, and who asked for it. Freed with the session. */
struct ik_workspace_undoing {
    ik_workspace_t *workspace;
    ik_undo_fn on_end;
    void *data;
    int64_t started_ms;
};

static int release(ik_workspace_undoing_t *undoing)
{
    undoing->workspace->holds--;
    undoing->workspace->undoing = NULL;
    return 0;
}

static res_t describe_place(ik_workspace_t *workspace, ik_undo_place_t *place)
{
    *place = (ik_undo_place_t){.host = workspace->options.host,
                               .paths = workspace->options.paths,
                               .config = workspace->options.config,
                               .session = workspace->session,
                               .session_id = ik_session_id(workspace->session),
                               .folder = workspace->options.paths->cwd,
                               .agent = workspace->focus->number};
    return ik_history_local(workspace->shared.history, &place->store);
}

res_t ik_workspace_read_turns(const void *ctx, ik_workspace_t *workspace,
                              const ik_undo_line_t **out)
{
    ik_undo_place_t place;
    ik_undo_log_t *log;
    TRY(describe_place(workspace, &place));
    TRY(ik_undo_log_read(ctx, place.store, place.session_id, &log));
    *out = ik_undo_log_line(log, place.agent);
    return OK;
}

static void on_end(void *data, const res_t *result, const ik_undo_outcome_t *outcome)
{
    ik_workspace_undoing_t *undoing = data;
    ik_workspace_t *workspace = undoing->workspace;
    ik_undo_fn report = undoing->on_end;
    void *report_data = undoing->data;
    res_t ended = *result;
    if (outcome != NULL && outcome->restored.count > 0 && workspace->checkpointer != NULL) {
        ik_checkpointer_discard(workspace->checkpointer);
    }
    if (outcome != NULL && outcome->agent != workspace->focus->number) {
        ended = ik_workspace_replace_focus(workspace, outcome->agent);
    }
    report(report_data, &ended, is_ok(&ended) ? outcome : NULL);
    talloc_free(undoing);
    ik_workspace_pump(workspace);
}

/* A session that is not stored yet has no turns. */
static res_t begin(ik_workspace_t *workspace, ik_undo_fn report, void *data, ik_undo_place_t *place)
{
    if (workspace->undoing != NULL) {
        return ERR(CONFLICT, "An undo is still running");
    }
    if (workspace->leaving_count > 0) {
        return ERR(CONFLICT, "The tools of agent %lld are still ending",
                   (long long)workspace->leaving[0]->number);
    }
    TRY(describe_place(workspace, place));
    ik_workspace_undoing_t *undoing = ik_new(workspace, ik_workspace_undoing_t);
    undoing->workspace = workspace;
    undoing->on_end = report;
    undoing->data = data;
    undoing->started_ms = ik_clock_now_ms();
    workspace->undoing = undoing;
    workspace->holds++;
    talloc_set_destructor(undoing, release);
    return OK;
}

res_t ik_workspace_undo(ik_workspace_t *workspace, const ik_undo_request_t *request,
                        ik_undo_fn report, void *data)
{
    ik_undo_place_t place;
    TRY(begin(workspace, report, data, &place));
    ik_undo_start(workspace->undoing, &place, request, on_end, workspace->undoing);
    return OK;
}

res_t ik_workspace_redo(ik_workspace_t *workspace, ik_undo_fn report, void *data)
{
    ik_undo_place_t place;
    TRY(begin(workspace, report, data, &place));
    ik_undo_start_redo(workspace->undoing, &place, on_end, workspace->undoing);
    return OK;
}

bool ik_workspace_is_undoing(const ik_workspace_t *workspace)
{
    return workspace->undoing != NULL;
}

int64_t ik_workspace_undoing_ms(const ik_workspace_t *workspace)
{
    return workspace->undoing == NULL ? -1 : ik_clock_now_ms() - workspace->undoing->started_ms;
}

res_t ik_workspace_diff(ik_workspace_t *workspace, bool turn, ik_undo_format_t format,
                        ik_undo_diff_fn report, void *data)
{
    ik_undo_place_t place;
    TRY(describe_place(workspace, &place));
    talloc_free(workspace->diff);
    workspace->diff = talloc_new(workspace);
    ik_undo_start_diff(workspace->diff, &place, turn, format, report, data);
    return OK;
}
