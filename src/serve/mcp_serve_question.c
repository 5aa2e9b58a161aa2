/*
 * Questions to the client's user: whether a call may run, and what a tool asks over its host
 * channel. In the legacy era both are requests to the client. In the modern era the answer to the
 * client's request says what is missing, and the client sends the call again with it: a call that
 * needs permission then starts from the beginning; a tool that asks has kept running.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "rpc/elicitation.h"
#include "serve/mcp_serve_format.h"
#include "serve/mcp_serve_state.h"

enum { PATIENCE_MS = 3600 * 1000 }; /* for a client that does not come back with an answer */

/* --- grants ------------------------------------------------------------------------------ */

void ik_mcp_serve_question_forget(ik_mcp_serve_grant_t *grant)
{
    if (grant->call != NULL) {
        grant->call->grant = NULL;
    }
    json_decref(grant->arguments);
    *grant = (ik_mcp_serve_grant_t){0};
}

/* The oldest grant makes room for a new one. */
static ik_mcp_serve_grant_t *new_grant(ik_mcp_serve_call_t *call)
{
    ik_mcp_serve_t *server = call->server;
    ik_mcp_serve_grant_t *oldest = &server->grants[0];
    for (size_t i = 0; i < IK_MCP_SERVE_GRANTS_MAX; i++) {
        if (server->grants[i].number < oldest->number) {
            oldest = &server->grants[i];
        }
    }
    if (oldest->call != NULL) {
        talloc_free(oldest->call); /* and the grant with it */
    } else {
        ik_mcp_serve_question_forget(oldest);
    }
    oldest->number = ++server->last_number;
    oldest->tool = ik_tool_registry_lookup(server->options->registry, call->name)->name;
    oldest->arguments = ik_json_parse(call->arguments, strlen(call->arguments), NULL);
    ik_random_name(oldest->state, IK_MCP_SERVE_STATE_LEN);
    return oldest;
}

ik_mcp_serve_grant_t *ik_mcp_serve_question_find(ik_mcp_serve_t *server, ik_json_span_t params,
                                                 const char *tool, ik_json_span_t arguments)
{
    ik_json_span_t state;
    ik_mcp_serve_grant_t *grant = NULL;
    if (!ik_json_find_kind(params, "requestState", IK_JSON_STRING, &state)) {
        return NULL;
    }
    for (size_t i = 0; i < IK_MCP_SERVE_GRANTS_MAX && grant == NULL; i++) {
        ik_mcp_serve_grant_t *candidate = &server->grants[i];
        bool same = candidate->state[0] != '\0' && ik_json_is_text(state, candidate->state);
        grant = same ? candidate : NULL;
    }
    json_t *given =
        arguments.len == 0 ? json_object() : ik_json_parse(arguments.text, arguments.len, NULL);
    bool fits =
        grant != NULL && strcmp(grant->tool, tool) == 0 && json_equal(grant->arguments, given) == 1;
    json_decref(given);
    return fits ? grant : NULL;
}

/* --- permission -------------------------------------------------------------------------- */

/* A question about a call while it is open. Freeing it withdraws the question. */
typedef struct {
    ik_mcp_serve_call_t *call;
    ik_rpc_call_t *elicitation; /* of the legacy era; NULL: none is open */
    ik_timer_t *soon;
    char *params; /* of the question in the modern era; NULL: the answer is yes */
    ik_permission_answer_fn on_answer;
    void *data;
} permit_t;

static void withdraw(ik_rpc_call_t *elicitation, const ik_mcp_serve_t *server)
{
    char params[64];
    snprintf(params, sizeof(params), "{\"requestId\":%lld}",
             (long long)ik_rpc_call_id(elicitation));
    talloc_free(elicitation);
    ik_rpc_notify(server->rpc, "notifications/cancelled", params);
}

static int end_permit(permit_t *permit)
{
    if (permit->elicitation != NULL) {
        withdraw(permit->elicitation, permit->call->server);
    }
    return 0;
}

static void on_permit(void *data, const ik_rpc_answer_t *answer)
{
    permit_t *permit = data;
    ik_json_span_t action;
    bool accepted =
        !answer->closed && !answer->failed && ik_json_is(answer->result, IK_JSON_OBJECT) &&
        ik_json_find(answer->result, "action", &action) && ik_json_is_text(action, "accept");
    permit->elicitation = NULL;
    permit->on_answer(permit->data, accepted ? IK_PERMISSION_YES : IK_PERMISSION_NO, NULL);
}

static void on_soon(void *data)
{
    permit_t *permit = data;
    ik_mcp_serve_call_t *call = permit->call;
    if (permit->params == NULL) {
        permit->on_answer(permit->data, IK_PERMISSION_YES, NULL);
        return;
    }
    ik_mcp_serve_grant_t *grant = new_grant(call);
    grant->granted = call->granted + 1;
    char *result = ik_mcp_serve_format_input_required(NULL, IK_MCP_SERVE_PERMISSION, permit->params,
                                                      grant->state);
    ik_mcp_serve_call_end(call, result); /* and the decision with it */
    talloc_free(result);
}

void *ik_mcp_serve_question_permit(void *data, const void *ctx,
                                   const ik_permission_question_t *asked,
                                   ik_permission_answer_fn on_answer, void *answer_data)
{
    ik_mcp_serve_t *server = data;
    permit_t *permit = ik_new(ctx, permit_t);
    permit->call = ik_mcp_serve_call_find(server, asked->call_id);
    permit->on_answer = on_answer;
    permit->data = answer_data;
    talloc_set_destructor(permit, end_permit);
    permit->soon = ik_timer_create(permit, server->options->loop, on_soon, permit);
    if (permit->call->granted > 0) {
        permit->call->granted--;
        ik_timer_start(permit->soon, 0);
        return permit;
    }
    permit->params = ik_mcp_serve_format_question(permit, asked);
    if (permit->call->modern) {
        ik_timer_start(permit->soon, 0);
        return permit;
    }
    permit->elicitation =
        ik_rpc_call(server->rpc, "elicitation/create", permit->params, on_permit, permit);
    return permit;
}

/* Finds the answer to a question; length 0: there is none. */
static ik_json_span_t find_answer(ik_json_span_t params, const char *key)
{
    ik_json_span_t responses;
    ik_json_span_t answer;
    bool found = ik_json_find_kind(params, "inputResponses", IK_JSON_OBJECT, &responses) &&
                 ik_json_find_kind(responses, key, IK_JSON_OBJECT, &answer);
    return found ? answer : (ik_json_span_t){0};
}

bool ik_mcp_serve_question_take(ik_mcp_serve_grant_t *grant, ik_json_span_t params, int *granted)
{
    ik_json_span_t answer = find_answer(params, IK_MCP_SERVE_PERMISSION);
    ik_json_span_t action;
    *granted = grant->granted;
    ik_mcp_serve_question_forget(grant);
    return answer.len > 0 && ik_json_find(answer, "action", &action) &&
           ik_json_is_text(action, "accept");
}

/* --- questions of tools ------------------------------------------------------------------ */

/* Freed with the request of the tool: when it is answered or withdrawn, or when the call ends. */
struct ik_mcp_serve_question {
    ik_mcp_serve_call_t *call;
    ik_host_request_t *request;
    ik_host_question_t asked;
    char *params;               /* of elicitation/create */
    ik_rpc_call_t *elicitation; /* of the legacy era; NULL: none is open */
    ik_mcp_serve_question_t *next;
};

static int end_question(ik_mcp_serve_question_t *question)
{
    ik_mcp_serve_call_t *call = question->call;
    ik_mcp_serve_question_t **at = &call->questions;
    while (*at != NULL && *at != question) {
        at = &(*at)->next;
    }
    *at = *at == NULL ? NULL : question->next;
    call->posed = call->posed == question ? NULL : call->posed;
    if (question->elicitation != NULL) {
        withdraw(question->elicitation, call->server);
    }
    return 0;
}

/* Gives the tool the answer of elicitation/create, a span of length 0 for none, and frees the
 * question. */
static void answer_tool(ik_mcp_serve_question_t *question, ik_json_span_t result)
{
    ik_host_request_t *request = question->request;
    const char *text = result.len == 0 ? NULL : ik_elicitation_read_answer(request, result);
    if (text != NULL && text[strspn(text, " \t\r\n")] == '\0') {
        text = question->asked.fallback;
    }
    ik_host_request_answer(request, text);
}

static void on_answer(void *data, const ik_rpc_answer_t *answer)
{
    ik_mcp_serve_question_t *question = data;
    question->elicitation = NULL;
    if (!answer->closed) { /* otherwise the call ends */
        answer_tool(question, answer->failed ? (ik_json_span_t){0} : answer->result);
    }
}

static void on_impatient(void *data)
{
    talloc_free(data);
}

/* Answers the request of the client with the first question; the tool waits. */
static void pose(ik_mcp_serve_call_t *call)
{
    ik_mcp_serve_grant_t *grant = new_grant(call);
    grant->call = call;
    call->grant = grant;
    call->posed = call->questions;
    char *result = ik_mcp_serve_format_input_required(NULL, IK_MCP_SERVE_ANSWER,
                                                      call->posed->params, grant->state);
    ik_rpc_respond(call->request, result, strlen(result));
    talloc_free(result);
    call->request = NULL;
    if (call->patience == NULL) {
        call->patience = ik_timer_create(call, call->server->options->loop, on_impatient, call);
    }
    ik_timer_start(call->patience, PATIENCE_MS);
}

void ik_mcp_serve_question_resume(ik_mcp_serve_grant_t *grant, ik_rpc_request_t *request)
{
    ik_mcp_serve_call_t *call = grant->call;
    ik_mcp_serve_question_t *question = call->posed;
    ik_mcp_serve_question_forget(grant);
    ik_timer_stop(call->patience);
    call->posed = NULL;
    ik_mcp_serve_call_adopt(call, request);
    if (call->result != NULL) {
        ik_mcp_serve_call_end(call, call->result);
        return;
    }
    if (question != NULL) {
        answer_tool(question, find_answer(request->params, IK_MCP_SERVE_ANSWER));
    }
    if (call->questions != NULL) {
        pose(call);
    }
}

static void start_ask(void *data, ik_host_request_t *request)
{
    ik_mcp_serve_t *server = data;
    ik_mcp_serve_call_t *call = ik_mcp_serve_call_find(server, request->caller->call_id);
    ik_host_question_t asked;
    if (!ik_host_request_question(request, &asked)) {
        return;
    }
    if (!call->asks) {
        ik_host_refuse_question(data, request);
        return;
    }
    ik_mcp_serve_question_t *question = ik_new(request, ik_mcp_serve_question_t);
    question->call = call;
    question->request = request;
    question->asked = asked;
    question->params = ik_mcp_serve_format_ask(question, &asked);
    ik_mcp_serve_question_t **last = &call->questions;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = question;
    talloc_set_destructor(question, end_question);
    if (!call->modern) {
        question->elicitation =
            ik_rpc_call(server->rpc, "elicitation/create", question->params, on_answer, question);
    } else if (call->request != NULL) {
        pose(call);
    }
}

const ik_host_operation_t ik_mcp_serve_question_operations[] = {
    {"ask", start_ask},
    {"agent", ik_host_refuse_model},
    {"complete", ik_host_refuse_model},
    {0},
};
