/*
 * What was said, as rows of the screen: pure functions of messages, the same for what is said now,
 * for a session that goes on, for /show and for the pager. Texts of others are neither wrapped nor
 * indented where they are code or output; only what ikigai adds is set off by its style.
 */
#pragma once

#include "conversation/conversation.h"
#include "repl/repl_backlog.h"
#include "terminal/row.h"

typedef void (*ik_repl_row_fn)(void *data, const char *bytes, size_t len);

/* Where rows go and how they look. */
typedef struct {
    const ik_theme_t *theme;
    int columns;
    const char *folder; /* of the project: paths in it become links; NULL: none do */
    bool full;          /* everything; otherwise long texts are cut and say how to see the rest */
    ik_repl_row_fn on_row;
    void *data;
    ik_repl_backlog_t *backlog; /* wraps text when it prints it; NULL: text is wrapped here */
} ik_repl_rows_t;

enum {
    IK_REPL_ROWS_MAX = 400, /* of one text, unless full */
    IK_REPL_BYTES_MAX = 64 * 1024,
    IK_REPL_USER_ROWS_MAX = 40,
};

/* Ends the row and hands it out; it is empty afterwards. */
void ik_repl_rows_put(const ik_repl_rows_t *rows, ik_row_t *row);
/* The last one need not be ended. */
size_t ik_repl_rows_count_lines(const char *text, size_t len);
/* Where the last so many lines of a text begin. */
size_t ik_repl_rows_find_tail(const char *text, size_t len, int lines);

/* A sentence of our own, wrapped at words; below an indented first row the others are, too. */
void ik_repl_rows_say(const ik_repl_rows_t *rows, ik_role_t role, const char *text);
/* Lines of any origin in one role, never wrapped. */
void ik_repl_rows_lines(const ik_repl_rows_t *rows, ik_role_t role, const char *text);
void ik_repl_rows_gap(const ik_repl_rows_t *rows);

void ik_repl_rows_user(const ik_repl_rows_t *rows, const char *text);
void ik_repl_rows_answer(const ik_repl_rows_t *rows, const char *text);
/* Folded to one row, or dimmed in full. wall_ms: how long it took, -1: not known. */
void ik_repl_rows_reasoning(const ik_repl_rows_t *rows, const char *text, int64_t wall_ms);

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
void ik_repl_rows_call(const ik_repl_rows_t *rows, const ik_repl_call_t *call);
/* Name and arguments as one row, to be cut: while it runs. */
void ik_repl_rows_call_line(ik_row_t *row, const ik_repl_call_t *call);

typedef struct {
    size_t number; /* for /show */
    const char *output;
    size_t output_len;
    int64_t wall_ms; /* -1: not known */
} ik_repl_result_t;

/* call says in which language a result is written, and may be NULL. */
void ik_repl_rows_result(const ik_repl_rows_t *rows, const ik_repl_call_t *call,
                         const ik_repl_result_t *result);

/* What a command of the user's own brought, without a number. */
void ik_repl_rows_command(const ik_repl_rows_t *rows, const char *envelope);

/* One message of a conversation; with a result goes its call, which stands before it. number is the
 * result's. A call alone gives nothing: it is shown with its result. */
void ik_repl_rows_message(const ik_repl_rows_t *rows, const ik_conversation_t *conversation,
                          size_t index, size_t number);
