/*
 * What was said, as rows of the screen: pure functions of messages, the same for what is said now,
 * for a session that goes on, for /show and for the pager. Texts of others are neither wrapped nor
 * indented where they are code or output; only what ikigai adds is set off by its style.
 */
#pragma once

#include "conversation/conversation.h"
#include "terminal/rows.h"

enum {
    IK_REPL_BYTES_MAX = 64 * 1024,
    IK_REPL_USER_ROWS_MAX = 40,
};

void ik_repl_rows_user(const ik_rows_t *rows, const char *text);
void ik_repl_rows_answer(const ik_rows_t *rows, const char *text);
/* Folded to one row, or dimmed in full. wall_ms: how long it took, -1: not known. */
void ik_repl_rows_reasoning(const ik_rows_t *rows, const char *text, int64_t wall_ms);

typedef struct {
    const char *name;
    const char *source; /* "user", "project"; NULL: the system's, or not known */
    const char *arguments;
    size_t arguments_len;
    const char *before; /* what the file to be written held; NULL: not known */
    size_t before_len;
} ik_repl_call_t;

/* From a message of kind tool_call; strings on ctx. */
void ik_repl_rows_fill_call(const void *ctx, const ik_msg_t *message, ik_repl_call_t *call);
/* The call's name and every argument with its value; an edit as a diff. */
void ik_repl_rows_call(const ik_rows_t *rows, const ik_repl_call_t *call);
/* Name and arguments as one row, to be cut: while it runs. */
void ik_repl_rows_call_line(ik_row_t *row, const ik_repl_call_t *call);

typedef struct {
    size_t number; /* for /show */
    const char *output;
    size_t output_len;
    int64_t wall_ms; /* -1: not known */
} ik_repl_result_t;

/* call says in which language a result is written, and may be NULL. */
void ik_repl_rows_result(const ik_rows_t *rows, const ik_repl_call_t *call,
                         const ik_repl_result_t *result);

/* What a command of the user's own brought, without a number. */
void ik_repl_rows_command(const ik_rows_t *rows, const char *envelope);

/* One message of a conversation; with a result goes its call, which stands before it. number is the
 * result's. A call alone gives nothing: it is shown with its result. */
void ik_repl_rows_message(const ik_rows_t *rows, const ik_conversation_t *conversation,
                          size_t index, size_t number);
