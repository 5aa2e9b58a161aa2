/*
 * Questions to the user, in a queue: the first one is open, the others wait. A question has a text,
 * choices, a default and an asker. It ends in exactly one of three ways: answered by the user,
 * declined (the user does not want to answer, or there is no user), or cancelled by the asker, who
 * frees it and hears nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ik_workspace ik_workspace_t;
typedef struct ik_workspace_question ik_workspace_question_t;

typedef struct {
    int64_t agent;    /* who asks; 0: the program itself, and the queues wait for the answer */
    const char *text; /* one line */
    /* The possible answers ("yes", "no"); NULL-terminated. NULL: any text answers it. */
    const char *const *choices;
    size_t fallback; /* the choice that an empty line means */
} ik_question_t;

/* answer is one of the choices, or the text; NULL: declined. The question is freed when this
 * returns. */
typedef void (*ik_question_fn)(void *data, const char *answer);

/* Strings are copied. */
ik_workspace_question_t *ik_workspace_ask(ik_workspace_t *workspace, const ik_question_t *question,
                                          ik_question_fn on_answer, void *data);
/* The open one; NULL: none. */
const ik_question_t *ik_workspace_question(const ik_workspace_t *workspace);
/* "[y/N] ": the first letters of its choices, the default in upper case; "" without choices. On
 * ctx. */
char *ik_workspace_question_hint(const void *ctx, const ik_question_t *question);
/* Answers the open question. A choice is named by its text or its first letter, in any case; what
 * names none is the default. Nothing when no question is open. */
void ik_workspace_answer(ik_workspace_t *workspace, const char *text);
void ik_workspace_decline(ik_workspace_t *workspace);
