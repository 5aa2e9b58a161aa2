/* What tools may ask for over their host channel (tool/host_channel.h). */
#include <string.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "base/utf8.h"
#include "workspace/workspace_state.h"

/* --- ask: a question to the user ----------------------------------------------------------- */

enum {
    QUESTION_MAX = 16384, /* bytes that are shown */
    CHOICES_MAX = 100,
};

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
    ik_host_request_t *request = asked->request;
    asked->question = NULL; /* it frees itself */
    if (answer == NULL) {
        ik_host_request_fail(request, IK_HOST_DECLINED, "The user declined to answer");
        return;
    }
    ik_buffer_t result;
    ik_buffer_init(&result, NULL, IK_BUFFER_UNLIMITED); /* bounded by what the user entered */
    ik_json_add_text(&result, "answer", answer);
    ik_buffer_append_byte(&result, '}');
    ik_host_request_succeed(request, result.data, result.len);
    ik_buffer_reset(&result);
}

static char *sanitise(const void *ctx, const char *text)
{
    ik_buffer_t clean;
    ik_buffer_init(&clean, ctx, IK_BUFFER_UNLIMITED); /* a few times QUESTION_MAX */
    ik_buffer_append_text(&clean, "");
    ik_sanitise_append(&clean, text, ik_utf8_cut(text, strlen(text), QUESTION_MAX));
    return ik_buffer_finish(&clean);
}

static void start_ask(void *data, ik_host_request_t *request)
{
    ik_workspace_t *workspace = data;
    const char *text;
    ik_question_t question = {.agent = request->caller->agent, .tool = request->caller->tool};
    if (!ik_host_request_text(request, "question", true, &text) ||
        !ik_host_request_texts(request, "choices", CHOICES_MAX, &question.choices) ||
        !ik_host_request_text(request, "default", false, &question.fallback_text)) {
        return;
    }
    if (workspace->options.unattended) {
        ik_host_request_fail(request, IK_HOST_NO_USER, "There is no user who could answer");
        return;
    }
    asked_t *asked = ik_new(request, asked_t);
    asked->request = request;
    talloc_set_destructor(asked, withdraw);
    question.text = sanitise(request, text);
    question.choices =
        question.choices == NULL || *question.choices == NULL ? NULL : question.choices;
    ik_workspace_question_t *open = ik_workspace_ask(workspace, &question, on_answer, asked);
    if (open != NULL) { /* otherwise it is answered, and asked is freed */
        asked->question = open;
    }
}

const ik_host_operation_t ik_workspace_operations[] = {
    {"ask", start_ask},
    {0},
};
