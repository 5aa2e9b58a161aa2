/* Reports what happens in a session to the editor: session/update. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "acp/acp_state.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/image.h"
#include "base/random.h"

void ik_acp_update_begin(ik_buffer_t *out, const ik_acp_session_t *session, const char *kind)
{
    ik_buffer_init(out, session, IK_BUFFER_UNLIMITED); /* bounded by what it tells */
    ik_json_add_text(out, "sessionId", session->id);
    ik_buffer_append_format(out, ",\"update\":{\"sessionUpdate\":\"%s\"", kind);
}

void ik_acp_update_send(ik_acp_session_t *session, ik_buffer_t *out)
{
    ik_buffer_append_text(out, "}}");
    ik_rpc_notify(session->acp->rpc, "session/update", out->data);
    ik_buffer_reset(out);
}

/* Begins a part of a message. Parts of one kind, one after the other, have the same id, so that an
 * editor can tell where the next message begins. */
static void begin_part(ik_buffer_t *out, ik_acp_session_t *session, const char *kind)
{
    if (session->speaks == NULL || strcmp(session->speaks, kind) != 0) {
        session->speaks = kind;
        ik_random_name(session->message_id, IK_ACP_MESSAGE_ID_LEN);
    }
    ik_acp_update_begin(out, session, kind);
    ik_json_add_text(out, "messageId", session->message_id);
}

void ik_acp_update_end_message(ik_acp_session_t *session)
{
    session->speaks = NULL;
}

void ik_acp_update_text(ik_acp_session_t *session, const char *kind, const char *text, size_t len)
{
    ik_buffer_t update;
    begin_part(&update, session, kind);
    ik_buffer_append_text(&update, ",\"content\":{\"type\":\"text\",\"text\":");
    ik_json_append_string(&update, text, len);
    ik_buffer_append_byte(&update, '}');
    ik_acp_update_send(session, &update);
}

/* Sends an image of a message that is replayed. */
static void send_image(ik_acp_session_t *session, const char *kind, const ik_msg_image_t *image)
{
    ik_buffer_t update;
    char *bytes;
    size_t len;
    void *scratch = talloc_new(NULL);
    res_t read = ik_blob_get(scratch, session->paths->images, image->sha256.hex, IK_IMAGE_BYTES_MAX,
                             &bytes, &len);
    if (is_ok(&read)) {
        begin_part(&update, session, kind);
        ik_buffer_append_format(&update,
                                ",\"content\":{\"type\":\"image\",\"mimeType\":\"%s\",\"data\":\"",
                                image->media_type);
        ik_base64_append(&update, bytes, len);
        ik_buffer_append_text(&update, "\"}");
        ik_acp_update_send(session, &update);
    }
    talloc_free(scratch);
}

void ik_acp_update_usage(ik_acp_session_t *session)
{
    ik_workspace_t *workspace = session->workspace;
    int64_t window = ik_workspace_target(workspace)->facts->context;
    int64_t used = ik_workspace_agent_context(workspace, ik_workspace_focus(workspace));
    double cost = ik_workspace_usage(workspace)->cost;
    ik_buffer_t update;
    if (window <= 0 || used <= 0) {
        return;
    }
    ik_acp_update_begin(&update, session, "usage_update");
    ik_json_add_number(&update, "used", used);
    ik_json_add_number(&update, "size", window);
    if (cost >= 0) {
        ik_buffer_append_format(&update, ",\"cost\":{\"amount\":%.6f,\"currency\":\"USD\"}", cost);
    }
    ik_acp_update_send(session, &update);
}

void ik_acp_update_title(ik_acp_session_t *session)
{
    ik_buffer_t update;
    char now[32];
    time_t seconds = time(NULL);
    struct tm parts;
    strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
    session->titled = true;
    ik_acp_update_begin(&update, session, "session_info_update");
    ik_json_add_text(
        &update, "title",
        ik_workspace_agent_title(session->workspace, ik_workspace_focus(session->workspace)));
    ik_json_add_text(&update, "updatedAt", now);
    ik_acp_update_send(session, &update);
}

void ik_acp_update_plan(ik_acp_session_t *session, ik_json_span_t result)
{
    ik_json_span_t todos, todo, content, status;
    size_t position = 0;
    size_t count = 0;
    ik_buffer_t update;
    if (!ik_json_find_kind(result, "todos", IK_JSON_ARRAY, &todos)) {
        return;
    }
    ik_acp_update_begin(&update, session, "plan");
    ik_buffer_append_text(&update, ",\"entries\":[");
    while (ik_json_next_element(todos, &position, &todo)) {
        if (!ik_json_find_kind(todo, "content", IK_JSON_STRING, &content) ||
            !ik_json_find_kind(todo, "status", IK_JSON_STRING, &status)) {
            continue;
        }
        bool known = ik_json_is_text(status, "in_progress") || ik_json_is_text(status, "completed");
        ik_buffer_append_text(&update, count++ == 0 ? "{\"content\":" : ",{\"content\":");
        ik_buffer_append(&update, content.text, content.len);
        ik_buffer_append_text(&update, ",\"priority\":\"medium\",\"status\":");
        ik_buffer_append(&update, known ? status.text : "\"pending\"", known ? status.len : 9);
        ik_buffer_append_byte(&update, '}');
    }
    ik_buffer_append_byte(&update, ']');
    ik_acp_update_send(session, &update);
}

/* --- the conversation so far ------------------------------------------------------------- */

static void replay_message(ik_acp_session_t *session, const ik_msg_t *message)
{
    void *scratch = talloc_new(NULL);
    bool is_user = ik_msg_is(message, IK_MSG_USER);
    ik_acp_update_end_message(session);
    char *reasoning =
        ik_msg_begins_step(message) ? ik_msg_field_text(scratch, message, "reasoning") : NULL;
    if (reasoning != NULL && *reasoning != '\0') {
        ik_acp_update_text(session, "agent_thought_chunk", reasoning, strlen(reasoning));
    }
    if (is_user || ik_msg_is(message, IK_MSG_ASSISTANT)) {
        const char *kind = is_user ? "user_message_chunk" : "agent_message_chunk";
        ik_msg_image_t *images;
        size_t count = is_user ? ik_msg_images(scratch, message, &images) : 0;
        if (message->content != NULL && *message->content != '\0') {
            ik_acp_update_text(session, kind, message->content, strlen(message->content));
        }
        for (size_t i = 0; i < count; i++) {
            send_image(session, kind, &images[i]);
        }
    } else if (ik_msg_is(message, IK_MSG_TOOL_CALL)) {
        ik_acp_call_announce(session, message, true);
    } else if (ik_msg_is(message, IK_MSG_TOOL_RESULT)) {
        ik_acp_call_end(session, message);
    }
    talloc_free(scratch);
}

void ik_acp_update_replay(ik_acp_session_t *session)
{
    ik_workspace_t *workspace = session->workspace;
    const ik_agent_t *agent = ik_workspace_agent(workspace, ik_workspace_focus(workspace));
    if (agent == NULL) {
        return; /* it has no messages yet */
    }
    const ik_conversation_t *conversation = ik_agent_conversation(agent);
    for (size_t i = 0; i < conversation->count; i++) {
        replay_message(session, conversation->messages[i]);
    }
    ik_acp_update_end_message(session);
    ik_acp_call_clear(session);
    ik_acp_update_usage(session);
}
