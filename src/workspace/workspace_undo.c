/* Checkpoints of the files, for undo. */
#include "base/alloc.h"
#include "undo/open_segment.h"
#include "workspace/workspace_state.h"

void ik_workspace_create_checkpointer(ik_workspace_t *workspace)
{
    const ik_workspace_options_t *options = &workspace->options;
    if (options->config->undo_max_files == 0 || options->config->undo_max_bytes == 0) {
        return;
    }
    workspace->checkpointer = ik_checkpointer_create(
        workspace, &(ik_checkpointer_options_t){.host = options->host,
                                                .paths = options->paths,
                                                .config = options->config,
                                                .others = ik_workspace_jobs_counter(workspace)});
    workspace->shared.checkpoints = ik_checkpointer_checkpoints(workspace->checkpointer);
}

void ik_workspace_restart_checkpointer(ik_workspace_t *workspace)
{
    if (workspace->checkpointer != NULL) {
        ik_checkpointer_restart(workspace->checkpointer);
    }
}

int64_t ik_workspace_recording_ms(const ik_workspace_t *workspace)
{
    return workspace->checkpointer == NULL ? -1 : ik_checkpointer_busy_ms(workspace->checkpointer);
}

void ik_workspace_record_checkpoint(ik_workspace_t *workspace, int64_t agent,
                                    const ik_checkpoint_t *taken,
                                    const ik_msg_checkpoint_t *checkpoint)
{
    ik_msg_checkpoint_t whole = *checkpoint;
    whole.states = taken->states;
    whole.count = taken->count;
    ik_msg_t *message = ik_msg_create_checkpoint(NULL, &whole);
    ik_session_append(workspace->session, agent, &message, 1, IK_STORE_NORMAL);
    talloc_free(message);
    if (taken->notice != NULL) {
        ik_workspace_say(workspace, IK_WORKSPACE_WARNING, taken->notice);
    }
}

/* --- after a crash ------------------------------------------------------------------------- */

/* An agent whose segment was left open. The queues wait, so that its log goes on behind the end of
 * the segment. Lives on the session. */
typedef struct {
    ik_workspace_t *workspace;
    int64_t agent;
} ending_t;

static int release(ending_t *ending)
{
    ending->workspace->holds--; /* the pump runs when the next session is open */
    return 0;
}

static void on_ended(void *data, const ik_checkpoint_t *taken)
{
    ending_t *ending = data;
    ik_workspace_t *workspace = ending->workspace;
    ik_workspace_record_checkpoint(workspace, ending->agent, taken,
                                   &(ik_msg_checkpoint_t){.phase = IK_MSG_AFTER, .late = true});
    talloc_free(ending);
    ik_workspace_pump(workspace);
}

static void end_segment(ik_workspace_t *workspace, ik_store_t *store, const ik_store_agent_t *agent)
{
    void *scratch = talloc_new(NULL);
    ik_call_t *calls;
    size_t count;
    bool open;
    res_t found = ik_open_segment_find(scratch, store, agent, &open, &calls, &count);
    if (is_ok(&found) && open) {
        ending_t *ending = ik_new(workspace->session, ending_t);
        ending->workspace = workspace;
        ending->agent = agent->number;
        workspace->holds++;
        talloc_set_destructor(ending, release);
        ik_checkpointer_end(workspace->checkpointer, ending, calls, count, on_ended, ending);
    }
    talloc_free(scratch);
}

void ik_workspace_end_segments(ik_workspace_t *workspace)
{
    const ik_store_agents_t *agents = ik_session_agents(workspace->session);
    ik_store_t *store;
    if (workspace->checkpointer == NULL) {
        return;
    }
    res_t opened = ik_history_local(workspace->shared.history, &store);
    for (size_t i = 0; is_ok(&opened) && i < agents->count; i++) {
        end_segment(workspace, store, &agents->agents[i]);
    }
}
