/*
 * A queue of questions to the user: the first one is open, the others wait. A question has a text,
 * choices, a default and an asker. It ends in exactly one of three ways: the user answers it; it is
 * declined, by the user or because there is no user; or the asker cancels it by freeing it, and
 * on_answer is not called.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "permission/permission_gate.h"

typedef struct ik_workspace ik_workspace_t;
typedef struct ik_workspace_question ik_workspace_question_t;

typedef struct {
    int64_t agent;    /* the asking agent; 0: the program itself, and the queues wait */
    const char *text; /* one line; of a tool, sanitised text of any length */
    /* The possible answers ("yes", "no"), NULL-terminated. NULL: any text is an answer. */
    const char *const *choices;
    size_t fallback; /* index of the choice that an empty line selects */
    /* What a call of a tool asks permission for; NULL: another question. Valid while it is open. It
     * is answered by "y", "a" (if a rule is offered), "n", or any other text, which means no. */
    const ik_permission_question_t *call;
    /* The tool that asks over its host channel; NULL: another question. Its answer is a choice,
     * named by its number or text, or any other text. */
    const char *tool;
    const char *fallback_text; /* tool: what an empty line answers; NULL: nothing */
    /* The JSON schema of a form; NULL: another question. The answer is JSON, as elicitation/create
     * of the Model Context Protocol has it. Only for a front end that has asked for forms. */
    const char *form;
    const char *url; /* that the user should visit, instead of a form, with such an answer */
    bool secret;     /* the answer is neither shown nor kept; without choices */
    bool keys;       /* the first letter of a choice answers at once, without Enter */
} ik_question_t;

/* answer is one of the choices, or any text if there are none; NULL: declined. The question is
 * freed when this returns. */
typedef void (*ik_question_fn)(void *data, const char *answer);

/* Strings are copied. NULL when the front end answered before this returned, as one without a user
 * does. */
ik_workspace_question_t *ik_workspace_ask(ik_workspace_t *workspace, const ik_question_t *question,
                                          ik_question_fn on_answer, void *data);
/* Asks about a call: question->call is set, choices are not. */
ik_workspace_question_t *ik_workspace_ask_call(ik_workspace_t *workspace,
                                               const ik_question_t *question,
                                               ik_permission_answer_fn on_answer, void *data);
/* The open question; NULL: none. */
const ik_question_t *ik_workspace_question(const ik_workspace_t *workspace);
/* "[y/N] ": the first letters of its choices, the default in upper case; "" without choices. On
 * ctx. */
char *ik_workspace_question_hint(const void *ctx, const ik_question_t *question);
/* What a text answers to a question of a tool; NULL: nothing, the question stays open. Valid as
 * long as both. */
const char *ik_workspace_resolve_answer(const ik_question_t *question, const char *text);
/* Answers the open question, if there is one. A choice is selected by its text or its first letter,
 * ignoring case; any other text selects the default, unless the question takes any text. */
void ik_workspace_answer(ik_workspace_t *workspace, const char *text);
/* Answers the open question about a call; text, which may be NULL, goes with NO. */
void ik_workspace_answer_call(ik_workspace_t *workspace, ik_permission_answer_t answer,
                              const char *text);
/* The number of questions after the open one. */
size_t ik_workspace_questions_waiting(const ik_workspace_t *workspace);
void ik_workspace_decline(ik_workspace_t *workspace);
