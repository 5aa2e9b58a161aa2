/* The history as history.c and history_question.c see it. */
#pragma once

#include "store/delivery.h"
#include "store/history.h"

struct ik_history {
    char *file;
    char *address; /* db without its password; NULL: nothing is shared */
    ik_loop_t *loop;
    ik_store_t *local;       /* NULL: not open yet */
    ik_delivery_t *delivery; /* NULL: nothing is shared */
    ik_holder_t self;
    char claimed[IK_STORE_ID_LEN + 1]; /* the session that was claimed last; "": none */
    ik_history_question_t *questions;  /* that have no answer yet */
    ik_history_notice_fn on_notice;
    void *data;
    ik_history_withheld_fn on_withheld; /* NULL: the user cannot be asked */
    ik_history_renamed_fn on_renamed;
    void *renamed_data;
};

/* Cancels all questions; called when the history is freed. */
void ik_history_drop_questions(ik_history_t *history);
