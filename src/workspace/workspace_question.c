#include "workspace/workspace_question.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "workspace/workspace_state.h"

struct ik_workspace_question {
    ik_workspace_t *workspace;
    ik_question_t question;
    ik_question_fn on_answer;
    ik_permission_answer_fn on_decided; /* of a question about a call; NULL: another one */
    void *data;
    ik_workspace_question_t *next;
    bool *ended; /* set when it ends before ik_workspace_ask has returned; NULL: it has returned */
};

static void announce(ik_workspace_t *workspace)
{
    ik_workspace_emit(workspace, &(ik_workspace_event_t){.kind = IK_WORKSPACE_QUESTION});
}

/* Destructor: removes a question that its asker cancels. */
static int leave_queue(ik_workspace_question_t *question)
{
    ik_workspace_t *workspace = question->workspace;
    ik_workspace_question_t **at = &workspace->questions;
    bool was_open = *at == question;
    while (*at != NULL && *at != question) {
        at = &(*at)->next;
    }
    if (*at == question) {
        *at = question->next;
    }
    if (was_open && !workspace->closed) {
        announce(workspace);
    }
    return 0;
}

static ik_workspace_question_t *ask(ik_workspace_t *workspace, const ik_question_t *question,
                                    ik_question_fn on_answer, ik_permission_answer_fn on_decided,
                                    void *data)
{
    ik_workspace_question_t *asked = ik_new(workspace, ik_workspace_question_t);
    ik_workspace_question_t **last = &workspace->questions;
    asked->workspace = workspace;
    asked->question = *question;
    asked->question.text = ik_strdup(asked, question->text);
    asked->question.form = question->form == NULL ? NULL : ik_strdup(asked, question->form);
    asked->question.url = question->url == NULL ? NULL : ik_strdup(asked, question->url);
    asked->question.tool = question->tool == NULL ? NULL : ik_strdup(asked, question->tool);
    asked->question.fallback_text =
        question->fallback_text == NULL ? NULL : ik_strdup(asked, question->fallback_text);
    asked->on_answer = on_answer;
    asked->on_decided = on_decided;
    asked->data = data;
    if (question->choices != NULL) {
        size_t count = 0;
        while (question->choices[count] != NULL) {
            count++;
        }
        const char **choices = ik_new_array(asked, const char *, count + 1);
        for (size_t i = 0; i < count; i++) {
            choices[i] = ik_strdup(asked, question->choices[i]);
        }
        choices[count] = NULL;
        asked->question.choices = choices;
    }
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = asked;
    talloc_set_destructor(asked, leave_queue);
    if (workspace->questions == asked) {
        bool ended = false;
        asked->ended = &ended;
        announce(workspace);
        if (ended) {
            return NULL;
        }
        asked->ended = NULL;
    }
    return asked;
}

ik_workspace_question_t *ik_workspace_ask(ik_workspace_t *workspace, const ik_question_t *question,
                                          ik_question_fn on_answer, void *data)
{
    return ask(workspace, question, on_answer, NULL, data);
}

ik_workspace_question_t *ik_workspace_ask_call(ik_workspace_t *workspace,
                                               const ik_question_t *question,
                                               ik_permission_answer_fn on_answer, void *data)
{
    return ask(workspace, question, NULL, on_answer, data);
}

size_t ik_workspace_questions_waiting(const ik_workspace_t *workspace)
{
    size_t count = 0;
    const ik_workspace_question_t *question = workspace->questions;
    while (question != NULL && (question = question->next) != NULL) {
        count++;
    }
    return count;
}

const ik_question_t *ik_workspace_question(const ik_workspace_t *workspace)
{
    return workspace->questions == NULL ? NULL : &workspace->questions->question;
}

bool ik_workspace_has_own_question(const ik_workspace_t *workspace)
{
    const ik_workspace_question_t *question = workspace->questions;
    while (question != NULL && question->question.agent != 0) {
        question = question->next;
    }
    return question != NULL;
}

char *ik_workspace_question_hint(const void *ctx, const ik_question_t *question)
{
    ik_buffer_t hint;
    ik_buffer_init(&hint, ctx, IK_BUFFER_UNLIMITED); /* a letter per choice */
    ik_buffer_append_text(&hint, "");
    for (size_t i = 0; question->choices != NULL && question->choices[i] != NULL; i++) {
        int letter = (unsigned char)question->choices[i][0];
        ik_buffer_append_byte(&hint, i == 0 ? '[' : '/');
        ik_buffer_append_byte(&hint,
                              (char)(i == question->fallback ? toupper(letter) : tolower(letter)));
    }
    ik_buffer_append_text(&hint, hint.len == 0 ? "" : "] ");
    return ik_buffer_finish(&hint);
}

/* Removes the question from the queue before delivering the answer, so that on_answer may ask the
 * next one. */
static void end(ik_workspace_question_t *question, ik_permission_answer_t decision,
                const char *answer)
{
    ik_workspace_t *workspace = question->workspace;
    ik_workspace_hold(workspace);
    workspace->questions = question->next;
    talloc_set_destructor(question, NULL);
    if (question->ended != NULL) {
        *question->ended = true;
    }
    announce(workspace);
    if (question->on_decided != NULL) {
        question->on_decided(question->data, decision, answer);
    } else {
        question->on_answer(question->data, answer);
    }
    talloc_free(question);
    ik_workspace_release(workspace);
}

void ik_workspace_answer_call(ik_workspace_t *workspace, ik_permission_answer_t answer,
                              const char *text)
{
    if (workspace->questions != NULL && workspace->questions->on_decided != NULL) {
        end(workspace->questions, answer, text);
    }
}

/* A line of plain mode about a call. */
static void answer_call_line(ik_workspace_t *workspace, const char *line)
{
    bool always = workspace->questions->question.call->rule != NULL;
    if (strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0) {
        ik_workspace_answer_call(workspace, IK_PERMISSION_YES, NULL);
    } else if (always && (strcasecmp(line, "a") == 0 || strcasecmp(line, "always") == 0)) {
        ik_workspace_answer_call(workspace, IK_PERMISSION_ALWAYS, NULL);
    } else {
        bool plain = line[strspn(line, " \t")] == '\0' || strcasecmp(line, "n") == 0 ||
                     strcasecmp(line, "no") == 0;
        ik_workspace_answer_call(workspace, IK_PERMISSION_NO, plain ? NULL : line);
    }
}

const char *ik_workspace_resolve_answer(const ik_question_t *question, const char *text)
{
    const char *const *choices = question->choices;
    char *end;
    text += strspn(text, " \t\n");
    if (*text == '\0') {
        return question->fallback_text;
    }
    unsigned long number = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
    bool numbered = number > 0 && end[strspn(end, " \t\n")] == '\0';
    const char *named = NULL; /* a choice may be called like the number of another one */
    for (size_t i = 0; choices != NULL && choices[i] != NULL; i++) {
        if (numbered && i + 1 == number) {
            return choices[i];
        }
        named = named == NULL && strcasecmp(text, choices[i]) == 0 ? choices[i] : named;
    }
    return named == NULL ? text : named;
}

void ik_workspace_answer(ik_workspace_t *workspace, const char *text)
{
    ik_workspace_question_t *question = workspace->questions;
    if (question == NULL) {
        return;
    }
    if (question->question.tool != NULL) {
        const char *resolved = ik_workspace_resolve_answer(&question->question, text);
        if (resolved != NULL) {
            end(question, IK_PERMISSION_NO, resolved);
        }
        return;
    }
    if (question->on_decided != NULL) {
        answer_call_line(workspace, text);
        return;
    }
    const char *const *choices = question->question.choices;
    const char *answer = choices == NULL ? text : choices[question->question.fallback];
    for (size_t i = 0; choices != NULL && choices[i] != NULL; i++) {
        bool letter = strlen(text) == 1 && strncasecmp(text, choices[i], 1) == 0;
        if (letter || strcasecmp(text, choices[i]) == 0) {
            answer = choices[i];
            break;
        }
    }
    end(question, IK_PERMISSION_NO, answer);
}

void ik_workspace_decline(ik_workspace_t *workspace)
{
    if (workspace->questions != NULL) {
        end(workspace->questions, IK_PERMISSION_STOP, NULL);
    }
}
