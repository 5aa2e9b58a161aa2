/*
 * Renders messages as rows: pure functions that serve live output, resumed sessions, /show and the
 * pager alike. Code and output are neither wrapped nor indented, so that they can be copied; what
 * ikigai adds is set off by its style only.
 */
#pragma once

#include "conversation/conversation.h"
#include "conversation/tool_display.h"
#include "terminal/rows.h"

enum {
    IK_REPL_BYTES_MAX = 64 * 1024,
    IK_REPL_USER_ROWS_MAX = 40,
    IK_REPL_BRIEF_ROWS = 8, /* of an argument, and of a result, in brief rows */
};

void ik_repl_rows_user(const ik_rows_t *rows, const char *text);
/* A row for each image of a message, and its preview if rows->pictures. */
void ik_repl_rows_images(const ik_rows_t *rows, const ik_msg_t *message);
void ik_repl_rows_answer(const ik_rows_t *rows, const char *text);
/* One row, or in full and dimmed if rows->full. wall_ms: duration; -1: not known. */
void ik_repl_rows_reasoning(const ik_rows_t *rows, const char *text, int64_t wall_ms);

typedef struct {
    const char *name;
    const char *source; /* "user", "project"; NULL: a system tool, or not known */
    const char *arguments;
    size_t arguments_len;
    const char *before; /* old content of the file to be written; NULL: not known */
    size_t before_len;
} ik_repl_call_t;

/* Fills call from a message of kind tool_call; strings on ctx. */
void ik_repl_rows_fill_call(const void *ctx, const ik_msg_t *message, ik_repl_call_t *call);
/* Name and arguments as one row, for a running call; the caller cuts it to the width. */
void ik_repl_rows_call_line(ik_row_t *row, const ik_repl_call_t *call);

typedef struct {
    size_t number; /* for /show */
    const char *output;
    size_t output_len;
    int64_t wall_ms;      /* -1: not known */
    ik_display_t display; /* as its tool declares */
} ik_repl_result_t;

/* The name and every argument with its value, an edit as a diff; then the result, unless it is
 * NULL. In brief rows a successful read or search is one row, other results end with their last
 * lines, and only changes to files are whole. */
void ik_repl_rows_tool(const ik_rows_t *rows, const ik_repl_call_t *call,
                       const ik_repl_result_t *result);
/* The part of a result that is shown in a declared way. language is that of the file in the
 * arguments, or "". Returns how many rows were left out. */
size_t ik_repl_rows_shown(const ik_rows_t *rows, const ik_tool_display_t *shown,
                          const char *language);
/* An item of a checklist: its mark and its content as one line. */
void ik_repl_rows_item(ik_row_t *row, const ik_tool_item_t *item);
/* Whether a tool result is shown as one row. */
bool ik_repl_rows_is_one_row(const ik_rows_t *rows, const ik_msg_t *result);

/* The result of a !CMD, without a number. */
void ik_repl_rows_command(const ik_rows_t *rows, const char *envelope);

/* Whether a message is an answer with nothing to show, as one with tool calls alone. */
bool ik_repl_rows_is_empty(const ik_msg_t *message);
/* One message of a conversation. A tool result includes its call and has the given number; a call
 * by itself renders nothing. */
void ik_repl_rows_message(const ik_rows_t *rows, const ik_conversation_t *conversation,
                          size_t index, size_t number);
