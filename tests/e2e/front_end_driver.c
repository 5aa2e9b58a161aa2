/*
 * The smallest front end: one prompt, one question, plain lines. It shows what a front end needs of
 * a workspace, and names neither tool, store nor provider.
 *
 *   front_end_driver PROMPT ANSWER     ANSWER "-" declines
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "workspace/workspace.h"

typedef struct {
    ik_workspace_t *workspace;
    const char *const *argv;
    bool done;
} front_end_t;

static void on_answer(void *data, const char *answer)
{
    front_end_t *front_end = data;
    printf("answer: %s\n", answer == NULL ? "(declined)" : answer);
    ik_workspace_submit(front_end->workspace, ik_workspace_focus(front_end->workspace),
                        front_end->argv[1], NULL, IK_WORKSPACE_SUBMIT_QUEUED);
}

static void on_event(void *data, const ik_workspace_event_t *event)
{
    static const char *const choices[] = {"yes", "no", NULL};
    front_end_t *front_end = data;
    const ik_question_t *question;
    if (event->kind == IK_WORKSPACE_LINE) {
        printf("line: %s\n", event->text);
    } else if (event->kind == IK_WORKSPACE_READY) {
        ik_question_t ask = {.text = "Shall I?", .choices = choices, .fallback = 1};
        ik_workspace_ask(front_end->workspace, &ask, on_answer, front_end);
    } else if (event->kind == IK_WORKSPACE_QUESTION &&
               (question = ik_workspace_question(front_end->workspace)) != NULL) {
        printf("question: %s %s\n", question->text,
               ik_workspace_question_hint(front_end->workspace, question));
        if (strcmp(front_end->argv[2], "-") == 0) {
            ik_workspace_decline(front_end->workspace);
        } else {
            ik_workspace_answer(front_end->workspace, front_end->argv[2]);
        }
    } else if (event->kind == IK_WORKSPACE_AGENT && event->event->kind == IK_AGENT_MESSAGE) {
        printf("agent %d, %s: %s\n", (int)event->agent, event->event->message->kind,
               event->event->message->content);
    } else if (event->kind == IK_WORKSPACE_FAILED) {
        printf("failed: %s\n", event->result->message);
        front_end->done = true;
    } else if (event->kind == IK_WORKSPACE_AGENT && event->event->kind == IK_AGENT_TURN_ENDED) {
        printf("end: %s\n", ik_turn_reason_name(event->event->reason));
        front_end->done = true;
    }
}

int main(int argc, const char **argv)
{
    void *ctx = talloc_new(NULL);
    front_end_t front_end = {.argv = argv};
    ik_workspace_start_t start = {.without_tools = false};
    ik_workspace_options_t options = {.start = &start, .on_event = on_event, .data = &front_end};
    ik_paths_t *paths;
    ik_config_t *config;
    signal(SIGPIPE, SIG_IGN);
    res_t ready = argc == 3 ? ik_paths_create(ctx, &paths) : ERR(INVALID, "PROMPT ANSWER");
    if (is_ok(&ready)) {
        ready = ik_config_load(ctx, paths, NULL, &config);
    }
    if (is_ok(&ready)) {
        ready = ik_loop_create(ctx, &options.loop);
    }
    if (is_ok(&ready)) {
        options.paths = paths;
        options.config = config;
        options.host = ik_process_host_create(ctx, options.loop, paths->keeper);
        front_end.workspace = ik_workspace_create(ctx, &options);
        ready = ik_workspace_start(front_end.workspace);
    }
    if (is_err(&ready)) {
        printf("failed: %s\n", ready.message);
        return 1;
    }
    ik_loop_run_until(options.loop, &front_end.done);
    ik_workspace_close(front_end.workspace, 0);
    talloc_free(front_end.workspace);
    talloc_free(options.host);
    talloc_free(ctx);
    return 0;
}
