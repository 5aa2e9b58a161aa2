/* What tools may ask for over their host channel (tool/host_channel.h). */
#include <string.h>

#include "agent/completion.h"
#include "base/alloc.h"
#include "workspace/workspace_state.h"

/* --- ask: a question to the user ----------------------------------------------------------- */

typedef struct {
    ik_host_request_t *request;
    ik_workspace_question_t *question; /* NULL: answered */
} asked_t;

/* The tool, or the end of its call, cancels the question. */
static int withdraw(asked_t *asked)
{
    talloc_free(asked->question);
    return 0;
}

static void on_answer(void *data, const char *answer)
{
    asked_t *asked = data;
    asked->question = NULL; /* it frees itself */
    ik_host_request_answer(asked->request, answer);
}

static void start_ask(void *data, ik_host_request_t *request)
{
    ik_workspace_t *workspace = data;
    ik_host_question_t question;
    if (!ik_host_request_question(request, &question)) {
        return;
    }
    if (workspace->options.unattended) {
        ik_host_refuse_question(workspace, request);
        return;
    }
    asked_t *asked = ik_new(request, asked_t);
    asked->request = request;
    talloc_set_destructor(asked, withdraw);
    ik_workspace_question_t *open =
        ik_workspace_ask(workspace,
                         &(ik_question_t){.agent = request->caller->agent,
                                          .tool = request->caller->tool,
                                          .text = question.text,
                                          .choices = question.choices,
                                          .fallback_text = question.fallback},
                         on_answer, asked);
    if (open != NULL) { /* otherwise it is answered, and asked is freed */
        asked->question = open;
    }
}

/* --- complete: one answer of the model ------------------------------------------------------ */

typedef struct {
    ik_workspace_t *workspace;
    ik_host_request_t *request;
    const char *model;
} completing_t;

static void on_wait(void *data, const char *why)
{
    const completing_t *completing = data;
    ik_host_request_progress(completing->request, why);
}

/* Counts it as an answer of the agent, except that its context did not change. */
static void count(const completing_t *completing, const ik_completion_result_t *result)
{
    ik_workspace_t *workspace = completing->workspace;
    ik_workspace_member_t *member =
        ik_workspace_find_member(workspace, completing->request->caller->agent);
    ik_agent_event_t event = {.kind = IK_AGENT_USAGE, .usage = result->usage, .cost = result->cost};
    if (!ik_usage_known(&result->usage)) {
        return;
    }
    ik_host_request_charge(completing->request, completing->model, &result->usage, result->cost);
    ik_workspace_add_usage(&workspace->usage, &result->usage, result->cost);
    ik_workspace_emit(workspace,
                      &(ik_workspace_event_t){.kind = IK_WORKSPACE_AGENT,
                                              .agent = completing->request->caller->agent,
                                              .event = &event});
    if (member != NULL) {
        ik_workspace_watch_task(member, &event);
    }
}

static void on_completed(void *data, const ik_completion_result_t *result)
{
    const completing_t *completing = data;
    ik_host_request_t *request = completing->request;
    count(completing, result);
    if (result->text == NULL) {
        ik_host_request_fail(request, IK_HOST_MODEL_ERROR, "%s", result->error);
        return;
    }
    ik_buffer_t answer;
    ik_buffer_init(&answer, NULL, IK_BUFFER_UNLIMITED); /* bounded by the answer */
    ik_json_add_text(&answer, "text", result->text);
    ik_json_begin_member(&answer, "usage");
    ik_usage_format_cost(&answer, &result->usage, result->cost);
    ik_buffer_append_byte(&answer, '}');
    ik_host_request_succeed(request, answer.data, answer.len);
    ik_buffer_reset(&answer);
}

static void start_complete(void *data, ik_host_request_t *request)
{
    ik_workspace_t *workspace = data;
    const ik_workspace_member_t *member =
        ik_workspace_find_member(workspace, request->caller->agent);
    int64_t max_tokens = 0;
    ik_completion_options_t options = {.shared = &workspace->shared,
                                       .target = member == NULL || member->agent == NULL
                                                     ? workspace->target
                                                     : ik_agent_target(member->agent),
                                       .on_wait = on_wait,
                                       .on_end = on_completed};
    if (!ik_host_request_text(request, "prompt", true, &options.prompt) ||
        !ik_host_request_text(request, "system", false, &options.system) ||
        !ik_host_request_object(request, "schema", &options.schema) ||
        !ik_host_request_number(request, "max_tokens", 1, INT32_MAX, &max_tokens)) {
        return;
    }
    completing_t *completing = ik_new(request, completing_t);
    *completing =
        (completing_t){.workspace = workspace, .request = request, .model = options.target->name};
    options.max_tokens = (long)max_tokens;
    options.data = completing;
    ik_completion_start(request, &options);
}

const ik_host_operation_t ik_workspace_operations[] = {
    {"ask", start_ask},
    {"complete", start_complete},
    {"agent", ik_workspace_start_task},
    {"job", ik_workspace_start_job_request},
    {0},
};
