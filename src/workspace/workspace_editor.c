/* An editor saves its changes to a file before a call changes that file. So the state that undo
 * goes back to has them. */
#include <string.h>

#include "base/alloc.h"
#include "tool/tool_editor.h"
#include "workspace/workspace_state.h"

enum { PATIENCE_MS = 10000 }; /* for the editor */

typedef struct {
    const ik_workspace_t *workspace;
    const ik_call_gate_t *inner;
    ik_call_gate_t gate;
} gate_t;

/* One call on its way through the gate. */
typedef struct {
    const gate_t *gate;
    const ik_call_t *call;
    ik_call_verdict_fn on_verdict;
    void *data;
    bool returned; /* decide has returned */
    bool decided;
    ik_call_verdict_t *verdict; /* a copy, while the editor is asked; NULL: it is not */
    char *path;
    void *waiting; /* at the editor; NULL: not waiting */
    ik_timer_t *timer;
} decision_t;

static int give_up(decision_t *decision)
{
    talloc_free(decision->waiting);
    return 0;
}

static void pass_on(decision_t *decision, const ik_call_verdict_t *verdict)
{
    decision->decided = true;
    ik_alloc_take(decision); /* on_verdict may free the context */
    decision->on_verdict(decision->data, verdict);
    if (decision->returned) {
        talloc_free(decision);
    }
}

static void on_saved(void *data, bool written)
{
    decision_t *decision = data;
    (void)written; /* the call itself tells what fails */
    decision->waiting = NULL;
    pass_on(decision, decision->verdict);
}

static void on_read(void *data, const char *text, size_t len)
{
    decision_t *decision = data;
    const ik_tool_editor_t *editor = decision->gate->workspace->options.editor;
    decision->waiting =
        text == NULL || ik_tool_editor_is_saved(decision->path, text, len)
            ? NULL
            : editor->write(editor->editor, decision->path, text, len, on_saved, decision);
    if (decision->waiting == NULL) {
        pass_on(decision, decision->verdict);
    }
}

static void on_timeout(void *data)
{
    decision_t *decision = data;
    TALLOC_FREE(decision->waiting);
    pass_on(decision, decision->verdict);
}

static void on_verdict(void *data, const ik_call_verdict_t *verdict)
{
    decision_t *decision = data;
    const ik_workspace_t *workspace = decision->gate->workspace;
    const ik_tool_editor_t *editor = workspace->options.editor;
    const ik_call_t *call = decision->call;
    bool replaced = verdict->arguments != NULL;
    if (verdict->denied == NULL && verdict->may_write) {
        decision->path =
            ik_tool_editor_find(decision, workspace->options.paths->cwd, workspace->options.config,
                                replaced ? verdict->arguments : call->arguments,
                                replaced ? verdict->arguments_len : call->arguments_len);
    }
    decision->waiting = decision->path == NULL
                            ? NULL
                            : editor->read(editor->editor, decision->path, on_read, decision);
    if (decision->waiting == NULL) {
        pass_on(decision, verdict);
        return;
    }
    decision->verdict = ik_call_verdict_copy(decision, verdict);
    decision->timer = ik_timer_create(decision, workspace->options.loop, on_timeout, decision);
    ik_timer_start(decision->timer, PATIENCE_MS);
}

static void *decide(void *data, const void *ctx, const ik_call_t *call,
                    ik_call_verdict_fn on_decided, void *decided_data)
{
    const gate_t *gate = data;
    bool changes = call->entry != NULL &&
                   ik_tool_editor_serves(call->entry->name, call->entry->source) &&
                   strcmp(call->entry->name, "file_read") != 0;
    if (!changes) {
        return gate->inner->decide(gate->inner->gate, ctx, call, on_decided, decided_data);
    }
    decision_t *decision = ik_new(ctx, decision_t);
    ik_call_t *kept = ik_new(decision, ik_call_t);
    *kept = *call;
    decision->gate = gate;
    decision->call = kept;
    decision->on_verdict = on_decided;
    decision->data = decided_data;
    talloc_set_destructor(decision, give_up);
    gate->inner->decide(gate->inner->gate, decision, kept, on_verdict, decision);
    decision->returned = true;
    if (decision->decided) {
        talloc_free(decision);
        return NULL;
    }
    return decision;
}

static bool expect(void *data, int64_t agent, const ik_tool_registry_entry_t *entry)
{
    const ik_call_gate_t *inner = ((const gate_t *)data)->inner;
    return inner->expect == NULL || inner->expect(inner->gate, agent, entry);
}

void ik_workspace_attend_editor(ik_workspace_t *workspace)
{
    const ik_tool_editor_t *editor = workspace->options.editor;
    if (editor == NULL || editor->write == NULL) {
        return;
    }
    gate_t *gate = ik_new(workspace, gate_t);
    gate->workspace = workspace;
    gate->inner = workspace->shared.gate;
    gate->gate = (ik_call_gate_t){.decide = decide, .expect = expect, .gate = gate};
    workspace->shared.gate = &gate->gate;
}
