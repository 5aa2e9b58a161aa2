/*
 * What is to be printed, in order and before it is laid out: finished rows, sentences, answers and
 * the gaps between blocks. Text is wrapped when it is printed, for the width in force then. So
 * whatever makes printing wait (the next frame, a slow terminal, the pager, a window that is being
 * resized), nothing is printed for a width that is gone.
 */
#pragma once

#include "terminal/markdown.h"

typedef struct ik_backlog ik_backlog_t;
/* One answer, as it streams in. */
typedef struct ik_backlog_answer ik_backlog_answer_t;

typedef struct {
    const ik_theme_t *theme; /* borrowed */
    /* A finished row, from inside ik_backlog_print. */
    void (*on_row)(void *data, const char *bytes, size_t len);
    /* Something waits to be printed; it may be printed from here. */
    void (*on_waiting)(void *data);
    void *data;
} ik_backlog_options_t;

ik_backlog_t *ik_backlog_create(const void *ctx, const ik_backlog_options_t *options);

/* A finished row of any width. */
void ik_backlog_add_row(ik_backlog_t *backlog, const char *bytes, size_t len);
/* What follows stands apart: one empty row, unless there is one or nothing was printed yet. */
void ik_backlog_add_gap(ik_backlog_t *backlog);
/* A sentence, wrapped at words. */
void ik_backlog_add_sentence(ik_backlog_t *backlog, ik_role_t role, const char *text);

/* The answer belongs to the backlog until it was ended or dropped, and printed. An answer that
 * comes as a whole is laid out block by block, however tall; one that streams gives the top rows of
 * a block that is taller than the live area. */
ik_backlog_answer_t *ik_backlog_begin_answer(ik_backlog_t *backlog, bool is_whole);
void ik_backlog_feed_answer(ik_backlog_answer_t *answer, const char *text, size_t len);
void ik_backlog_end_answer(ik_backlog_answer_t *answer);
/* The answer does not go on: its open block is not printed. */
void ik_backlog_drop_answer(ik_backlog_answer_t *answer);
/* The open block at the end of what was printed of the answer. */
void ik_backlog_draw_open(ik_backlog_answer_t *answer, ik_markdown_row_fn on_row, void *data);

/* Lays out and gives rows for a window of this width, whose live area has room for so many rows of
 * an open block: at least `most` bytes of them if there are so many. True: nothing is left. */
bool ik_backlog_print(ik_backlog_t *backlog, int columns, int max_open, size_t most);
/* Whether the last row that was printed is empty, or none was. */
bool ik_backlog_ends_empty(const ik_backlog_t *backlog);
