/* session/prompt: one turn, from the user's message to the answer of the request. */
#include <string.h>

#include "acp/acp_state.h"
#include "base/alloc.h"

enum { NOTES_MAX = 16 * 1024 }; /* bytes of lines that wait for the next turn */

/* --- the end ----------------------------------------------------------------------------- */

/* Every update of the turn has been sent. */
static ik_rpc_request_t *end_prompt(ik_acp_session_t *session)
{
    ik_rpc_request_t *request = session->prompt;
    ik_acp_call_clear(session);
    ik_acp_update_end_message(session);
    session->prompt = NULL;
    session->cancelled = false;
    session->commanded = false;
    TALLOC_FREE(session->more);
    TALLOC_FREE(session->pictures);
    TALLOC_FREE(session->error);
    TALLOC_FREE(session->stop);
    if (session->leaves) {
        ik_timer_start(session->acp->reaper, 0);
    }
    return request;
}

static void answer(ik_acp_session_t *session, const char *reason)
{
    ik_rpc_request_t *request = end_prompt(session);
    char *text = ik_sprintf(NULL, "{\"stopReason\":\"%s\"}", reason);
    ik_rpc_respond(request, text, strlen(text));
    talloc_free(text);
}

static void refuse(ik_acp_session_t *session, int code, const char *why)
{
    char *text = ik_strdup(NULL, why); /* end_prompt frees the error */
    ik_rpc_refuse(end_prompt(session), code, text, NULL);
    talloc_free(text);
}

void ik_acp_turn_fail(ik_acp_session_t *session, const char *why)
{
    if (session->prompt != NULL) {
        refuse(session, IK_RPC_INTERNAL_ERROR, why);
    }
}

static const char *reason_of_stop(const char *stop)
{
    if (stop != NULL && (strcmp(stop, "max_tokens") == 0 || strcmp(stop, "context_full") == 0)) {
        return "max_tokens";
    }
    return stop != NULL && strcmp(stop, "refusal") == 0 ? "refusal" : "end_turn";
}

static void on_turn_ended(ik_acp_session_t *session, ik_turn_reason_t reason)
{
    if (session->prompt == NULL) {
        return;
    }
    if (session->cancelled || reason == IK_TURN_INTERRUPTED) {
        session->cancelled = true;
        answer(session, "cancelled");
    } else if (reason == IK_TURN_ERROR) {
        refuse(session, session->error_code,
               session->error == NULL ? "The turn failed" : session->error);
    } else {
        answer(session,
               reason == IK_TURN_LIMIT ? "max_turn_requests" : reason_of_stop(session->stop));
    }
}

/* --- events ------------------------------------------------------------------------------ */

static void send_note(ik_acp_session_t *session, const char *text)
{
    char *line = ik_sprintf(NULL, "%s\n", text);
    ik_acp_update_end_message(session);
    ik_acp_update_text(session, "agent_thought_chunk", line, strlen(line));
    ik_acp_update_end_message(session);
    talloc_free(line);
}

void ik_acp_turn_note(ik_acp_session_t *session, const char *text)
{
    ik_acp_log(text);
    if (session->prompt != NULL) {
        send_note(session, text);
        return;
    }
    size_t len = session->notes == NULL ? 0 : strlen(session->notes);
    if (len + strlen(text) < NOTES_MAX) {
        char *notes = len == 0 ? ik_strdup(session, text)
                               : ik_sprintf(session, "%s\n%s", session->notes, text);
        talloc_free(session->notes);
        session->notes = notes;
    }
}

static void note_retry(ik_acp_session_t *session, const ik_agent_event_t *event)
{
    char *why = ik_agent_describe_retry(NULL, event);
    char *line = ik_sprintf(why, "Attempt %d of %d in %.1f s: %s", event->attempt + 1, event->of,
                            (double)event->delay_ms / 1000, why);
    ik_acp_turn_note(session, line);
    talloc_free(why);
}

static void on_message(ik_acp_session_t *session, const ik_msg_t *message)
{
    ik_acp_update_end_message(session);
    if (ik_msg_begins_step(message)) {
        talloc_free(session->stop);
        session->stop = ik_msg_field_text(session, message, "stop");
    }
    if (ik_msg_is(message, IK_MSG_TOOL_CALL)) {
        ik_acp_call_announce(session, message, false);
    } else if (ik_msg_is(message, IK_MSG_TOOL_RESULT)) {
        ik_acp_call_end(session, message);
    } else if (ik_msg_is(message, IK_MSG_USER) && !session->titled) {
        ik_acp_update_title(session);
    }
}

void ik_acp_turn_on_event(ik_acp_session_t *session, const ik_agent_event_t *event)
{
    switch (event->kind) {
    case IK_AGENT_TEXT:
        ik_acp_update_text(session, "agent_message_chunk", event->text, event->len);
        break;
    case IK_AGENT_REASONING:
        ik_acp_update_text(session, "agent_thought_chunk", event->text, event->len);
        break;
    case IK_AGENT_MESSAGE:
        on_message(session, event->message);
        break;
    case IK_AGENT_TOOL_STARTED:
        ik_acp_call_start(session, event->message);
        break;
    case IK_AGENT_TOOL_PROGRESS:
        ik_acp_call_progress(session, event->message, event->text, event->len);
        break;
    case IK_AGENT_USAGE:
        ik_acp_update_usage(session);
        break;
    case IK_AGENT_RETRY:
        note_retry(session, event);
        break;
    case IK_AGENT_NOTICE:
        ik_acp_turn_note(session, event->text);
        break;
    case IK_AGENT_ERROR:
        talloc_free(session->error);
        session->error = ik_strdup(session, event->text);
        session->error_code = event->status == 401 || event->status == 403 ? IK_ACP_AUTH_REQUIRED
                                                                           : IK_RPC_INTERNAL_ERROR;
        break;
    case IK_AGENT_TURN_ENDED:
        on_turn_ended(session, event->reason);
        break;
    default:
        break;
    }
}

/* --- commands ---------------------------------------------------------------------------- */

void ik_acp_turn_on_command(ik_acp_session_t *session, const char *line)
{
    ik_workspace_t *workspace = session->workspace;
    session->commanded = true;
    if (ik_command_find(line, strcspn(line, " \t\r\n")) != NULL) {
        ik_command_run(&session->commands, line, false);
    } else {
        ik_workspace_images_t *images = session->pictures;
        session->pictures = NULL;
        res_t started = ik_workspace_run_custom(workspace, line, session->more, images);
        if (is_err(&started)) {
            talloc_free(images);
            ik_acp_turn_fail(session, started.message);
        }
    }
}

void ik_acp_turn_on_settled(ik_acp_session_t *session)
{
    ik_workspace_t *workspace = session->workspace;
    int64_t focus = ik_workspace_focus(workspace);
    if (session->commanded && session->prompt != NULL && !ik_workspace_is_busy(workspace, focus) &&
        !ik_workspace_is_undoing(workspace) && ik_workspace_queued(workspace, focus, 0) == NULL) {
        answer(session, session->cancelled ? "cancelled" : "end_turn");
    }
}

/* --- the beginning ----------------------------------------------------------------------- */

/* Why the prompt cannot be sent to the model; NULL: it can. */
static const char *find_obstacle(const ik_acp_session_t *session, const ik_acp_prompt_t *prompt)
{
    const ik_target_t *target = ik_workspace_target(session->workspace);
    if (prompt->images != NULL && prompt->is_command &&
        ik_command_find(prompt->text, strcspn(prompt->text, " \t\r\n")) != NULL) {
        return "This command takes no images";
    }
    if (prompt->images != NULL &&
        ik_shared_is_blind(ik_workspace_shared(session->workspace), target)) {
        return ik_sprintf(prompt->text, "The model %s does not see images", target->name);
    }
    if (prompt->images == NULL && prompt->context == NULL && ik_msg_text_is_blank(prompt->text)) {
        return "The prompt is empty";
    }
    return NULL;
}

static void submit(ik_acp_session_t *session, const ik_acp_prompt_t *prompt)
{
    ik_workspace_t *workspace = session->workspace;
    ik_workspace_images_t *images = prompt->images;
    char *text = prompt->text;
    if (prompt->is_command) {
        session->more = prompt->context == NULL ? NULL : ik_strdup(session, prompt->context);
        session->pictures = images;
        images = NULL;
    } else if (prompt->context != NULL) {
        text = ik_msg_text_is_blank(text) ? prompt->context
                                          : ik_sprintf(text, "%s\n\n%s", text, prompt->context);
    } else if (ik_msg_text_is_blank(text)) {
        text = "[image]"; /* providers refuse a message without text */
    }
    if (session->notes != NULL) {
        send_note(session, session->notes);
        TALLOC_FREE(session->notes);
    }
    ik_workspace_submit(workspace, ik_workspace_focus(workspace), text, images,
                        prompt->is_command ? IK_WORKSPACE_SUBMIT_COMMAND
                                           : IK_WORKSPACE_SUBMIT_QUEUED);
}

void ik_acp_turn_start(ik_acp_t *acp, ik_rpc_request_t *request)
{
    ik_acp_session_t *session = ik_acp_session_of(acp, request);
    ik_acp_prompt_t prompt = {0};
    ik_json_span_t blocks;
    if (session == NULL) {
        return;
    }
    if (session->prompt != NULL) {
        ik_rpc_refuse(request, IK_RPC_INVALID_REQUEST, "A prompt is running in this session", NULL);
        return;
    }
    if (session->failure != NULL) {
        ik_rpc_refuse(request, IK_RPC_INTERNAL_ERROR, session->failure, NULL);
        return;
    }
    if (!ik_json_find_kind(request->params, "prompt", IK_JSON_ARRAY, &blocks)) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, "prompt must be an array", NULL);
        return;
    }
    void *scratch = talloc_new(session);
    res_t read = ik_acp_prompt_read(scratch, session, blocks, &prompt);
    const char *obstacle = is_ok(&read) ? find_obstacle(session, &prompt) : read.message;
    if (obstacle != NULL) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, obstacle, NULL);
        talloc_free(prompt.images);
    } else {
        session->prompt = request;
        submit(session, &prompt);
    }
    talloc_free(scratch);
}

/* A prompt that still waits for the tools is taken back; otherwise the turn ends with its calls. */
void ik_acp_turn_cancel(ik_acp_session_t *session)
{
    ik_workspace_t *workspace = session->workspace;
    int64_t focus = ik_workspace_focus(workspace);
    if (session->prompt == NULL) {
        return;
    }
    session->cancelled = true;
    char *waiting = ik_workspace_take_queue(session, workspace, focus);
    if (waiting != NULL && !ik_workspace_is_busy(workspace, focus)) {
        answer(session, "cancelled");
    } else {
        ik_workspace_interrupt(workspace, focus);
    }
    talloc_free(waiting);
}
