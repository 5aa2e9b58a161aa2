/* Questions to the user, at the editor: permission for a tool call, or a form. */
#include <stdio.h>
#include <string.h>

#include "acp/acp_state.h"
#include "base/alloc.h"
#include "base/random.h"
#include "rpc/elicitation.h"

/* "Agent 2 (reviewer)": the sub-agent that asks; NULL: the agent that the editor talks to, or none.
 * On ctx. */
static char *describe_asker(const void *ctx, const ik_acp_session_t *session,
                            const ik_question_t *question)
{
    const char *name = ik_workspace_agent_name(session->workspace, question->agent);
    if (question->agent == 0 || question->agent == ik_workspace_focus(session->workspace)) {
        return NULL;
    }
    return ik_sprintf(ctx, "Agent %lld%s%s%s", (long long)question->agent, name == NULL ? "" : " (",
                      name == NULL ? "" : name, name == NULL ? "" : ")");
}

/* --- permission -------------------------------------------------------------------------- */

/* What the user chose; our ids decide, not the kinds. */
static ik_permission_answer_t read_permission(const ik_rpc_answer_t *answer)
{
    ik_json_span_t outcome, how, option;
    if (answer->failed || !ik_json_find_kind(answer->result, "outcome", IK_JSON_OBJECT, &outcome) ||
        !ik_json_find_kind(outcome, "outcome", IK_JSON_STRING, &how)) {
        return IK_PERMISSION_NO;
    }
    if (ik_json_is_text(how, "cancelled")) {
        return IK_PERMISSION_STOP;
    }
    if (!ik_json_is_text(how, "selected") ||
        !ik_json_find_kind(outcome, "optionId", IK_JSON_STRING, &option)) {
        return IK_PERMISSION_NO;
    }
    return ik_json_is_text(option, "allow_once")     ? IK_PERMISSION_YES
           : ik_json_is_text(option, "allow_always") ? IK_PERMISSION_ALWAYS
                                                     : IK_PERMISSION_NO;
}

static void on_permission(void *data, const ik_rpc_answer_t *answer)
{
    ik_acp_session_t *session = data;
    session->asked = NULL;
    if (answer->closed) { /* the end of the program interrupts the turn */
        return;
    }
    ik_permission_answer_t decided = read_permission(answer);
    const ik_question_t *question = ik_workspace_question(session->workspace);
    if (decided == IK_PERMISSION_ALWAYS && question->call->rule == NULL) {
        decided = IK_PERMISSION_NO; /* it was not offered */
    }
    ik_workspace_answer_call(session->workspace, decided, NULL);
}

static void append_option(ik_buffer_t *out, const char *id, const char *name, const char *rule)
{
    char *shown = ik_sprintf(NULL, "%s%s", name, rule);
    ik_buffer_append_format(out, "{\"optionId\":\"%s\",\"kind\":\"%s\"", id, id);
    ik_json_add_text(out, "name", shown);
    ik_buffer_append_byte(out, '}');
    talloc_free(shown);
}

static void ask_permission(ik_acp_session_t *session, const ik_question_t *question)
{
    const ik_permission_question_t *call = question->call;
    char *asker = describe_asker(session, session, question);
    ik_buffer_t params;
    ik_buffer_init(&params, session, IK_BUFFER_UNLIMITED); /* bounded by the call */
    ik_json_add_text(&params, "sessionId", session->id);
    ik_json_begin_member(&params, "toolCall");
    ik_acp_call_describe(session, &params, call, asker);
    talloc_free(asker);
    ik_buffer_append_text(&params, ",\"options\":[");
    append_option(&params, "allow_once", "Allow once", "");
    if (call->rule != NULL) {
        ik_buffer_append_byte(&params, ',');
        append_option(&params, "allow_always", "Always allow ", call->rule);
    }
    ik_buffer_append_byte(&params, ',');
    append_option(&params, "reject_once", "Reject", "");
    ik_buffer_append_text(&params, "]}");
    session->asked_form = false;
    session->asked = ik_rpc_call(session->acp->rpc, "session/request_permission", params.data,
                                 on_permission, session);
    ik_buffer_reset(&params);
}

/* --- forms ------------------------------------------------------------------------------- */

/* Answers a tool's question. A choice is answered by its number, because its text may be the number
 * of another one. */
static void answer_tool(ik_acp_session_t *session, const ik_question_t *question, const char *text)
{
    char number[24];
    for (size_t i = 0; question->choices != NULL && question->choices[i] != NULL; i++) {
        if (strcmp(question->choices[i], text) == 0) {
            snprintf(number, sizeof(number), "%zu", i + 1);
            text = number;
            break;
        }
    }
    if (ik_workspace_resolve_answer(question, text) == NULL) { /* blank */
        ik_workspace_decline(session->workspace);
    } else {
        ik_workspace_answer(session->workspace, text);
    }
}

static void on_form(void *data, const ik_rpc_answer_t *answer)
{
    ik_acp_session_t *session = data;
    session->asked = NULL;
    if (answer->closed) {
        return;
    }
    const ik_question_t *question = ik_workspace_question(session->workspace);
    if ((question->form != NULL || question->url != NULL) && !answer->failed) {
        char *whole = ik_strndup(session, answer->result.text, answer->result.len);
        ik_workspace_answer(session->workspace, whole);
        talloc_free(whole);
        return;
    }
    char *text = answer->failed ? NULL : ik_elicitation_read_answer(session, answer->result);
    if (text == NULL) {
        ik_workspace_decline(session->workspace);
    } else if (question->tool != NULL) {
        answer_tool(session, question, text);
    } else {
        ik_workspace_answer(session->workspace, text);
    }
    talloc_free(text);
}

static void send_question(ik_acp_session_t *session, ik_buffer_t *params)
{
    session->asked_form = true;
    session->asked =
        ik_rpc_call(session->acp->rpc, "elicitation/create", params->data, on_form, session);
    ik_buffer_reset(params);
}

static void begin_question(ik_buffer_t *params, const ik_acp_session_t *session, const char *mode)
{
    ik_buffer_init(params, session, IK_BUFFER_UNLIMITED); /* bounded by the question */
    ik_json_add_text(params, "sessionId", session->id);
    ik_json_add_text(params, "mode", mode);
}

static void ask_form(ik_acp_session_t *session, const ik_question_t *question)
{
    ik_buffer_t params;
    begin_question(&params, session, "form");
    if (question->url != NULL) { /* a form without fields: the user accepts it, or not */
        char *text = ik_sprintf(session, "%s Visit %s", question->text, question->url);
        ik_json_add_text(&params, "message", text);
        talloc_free(text);
        ik_buffer_append_text(&params,
                              ",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}");
        send_question(session, &params);
        return;
    }
    char *asker = describe_asker(session, session, question);
    char *text = asker == NULL ? NULL : ik_sprintf(asker, "%s: %s", asker, question->text);
    ik_json_add_text(&params, "message", text == NULL ? question->text : text);
    talloc_free(asker);
    if (question->form != NULL) {
        ik_buffer_append_format(&params, ",\"requestedSchema\":%s}", question->form);
        send_question(session, &params);
        return;
    }
    const char *fallback = question->tool != NULL      ? question->fallback_text
                           : question->choices != NULL ? question->choices[question->fallback]
                                                       : NULL;
    ik_json_begin_member(&params, "requestedSchema");
    ik_elicitation_append_schema(&params, question->choices, fallback);
    ik_buffer_append_byte(&params, '}');
    send_question(session, &params);
}

static void ask_visit(ik_acp_session_t *session, const ik_question_t *question)
{
    enum { ID_LEN = 16 };
    char id[ID_LEN + 1];
    ik_buffer_t params;
    begin_question(&params, session, "url");
    ik_random_name(id, ID_LEN);
    ik_json_add_text(&params, "message", question->text);
    ik_json_add_text(&params, "elicitationId", id);
    ik_json_add_text(&params, "url", question->url);
    ik_buffer_append_byte(&params, '}');
    send_question(session, &params);
}

/* --- the queue --------------------------------------------------------------------------- */

/* The editor ends a question about a call itself when the turn is cancelled. */
static void withdraw(ik_acp_session_t *session)
{
    if (session->asked != NULL && (session->asked_form || !session->cancelled)) {
        ik_acp_cancel_call(session->acp, session->asked);
        session->asked = NULL;
    }
    TALLOC_FREE(session->asked);
}

void ik_acp_question_changed(ik_acp_session_t *session)
{
    const ik_question_t *question = ik_workspace_question(session->workspace);
    withdraw(session);
    if (question == NULL || session->id == NULL || session->opening != NULL) {
        return; /* a question from the start waits until the editor knows the session */
    }
    if (question->call != NULL) {
        ask_permission(session, question);
    } else if (question->url != NULL && session->acp->client_visits) {
        ask_visit(session, question);
    } else if (session->acp->client_asks && !question->secret) {
        ask_form(session, question);
    }
    if (session->asked == NULL) { /* the editor cannot ask */
        ik_workspace_decline(session->workspace);
    }
}
