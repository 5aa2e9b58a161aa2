/*
 * The queue of output before layout: finished rows, sentences, answers and the gaps between blocks.
 * Text is wrapped only when it is printed. However long printing is delayed (by the next frame, a
 * slow terminal, the pager, a resize), it is laid out for the current width.
 */
#pragma once

#include "terminal/markdown.h"

typedef struct ik_backlog ik_backlog_t;
/* One answer, which may be streaming. */
typedef struct ik_backlog_answer ik_backlog_answer_t;

/* The rows of a picture. */
typedef struct {
    const void *ctx; /* for row */
    char *row;       /* shows the picture; NULL: it cannot be shown */
    int above;       /* number of empty rows before it */
    bool ends_empty; /* row itself is empty */
} ik_backlog_picture_t;

typedef struct {
    const ik_theme_t *theme; /* borrowed */
    /* Gets finished rows from inside ik_backlog_print. */
    void (*on_row)(void *data, const char *bytes, size_t len);
    /* Fills in the rows of a picture. Returns false if they are not known yet: printing stops here.
     * May be NULL. */
    bool (*on_picture)(void *data, const char *png, size_t len, ik_backlog_picture_t *out);
    /* Something was added. May call ik_backlog_print. */
    void (*on_waiting)(void *data);
    void *data;
} ik_backlog_options_t;

ik_backlog_t *ik_backlog_create(const void *ctx, const ik_backlog_options_t *options);

/* A finished row of any width. */
void ik_backlog_add_row(ik_backlog_t *backlog, const char *bytes, size_t len);
/* Separates blocks by one empty row, unless there is one or nothing was printed yet. */
void ik_backlog_add_gap(ik_backlog_t *backlog);
/* As ik_backlog_add_gap, before a block of one row: such blocks are not separated from each other.
 */
void ik_backlog_add_item_gap(ik_backlog_t *backlog);
/* A sentence, wrapped at words. */
void ik_backlog_add_sentence(ik_backlog_t *backlog, ik_role_t role, const char *text);

/* A picture, which becomes rows if the terminal can show it. The bytes are copied. */
void ik_backlog_add_picture(ik_backlog_t *backlog, const char *png, size_t len);

/* The backlog owns the answer and frees it after printing its end or drop. A whole answer is laid
 * out block by block, however tall; a streamed one prints the top rows of a block that is taller
 * than the live area. */
ik_backlog_answer_t *ik_backlog_begin_answer(ik_backlog_t *backlog, bool is_whole);
void ik_backlog_feed_answer(ik_backlog_answer_t *answer, const char *text, size_t len);
void ik_backlog_end_answer(ik_backlog_answer_t *answer);
/* Ends the answer without printing its open block. */
void ik_backlog_drop_answer(ik_backlog_answer_t *answer);
/* Draws the open block of the answer. */
void ik_backlog_draw_open(ik_backlog_answer_t *answer, ik_markdown_row_fn on_row, void *data);

/* Lays out rows for this width and passes them to on_row until `most` bytes are reached. An open
 * block may have max_open rows. Returns true if nothing is left; a picture may still hold up the
 * rest. */
bool ik_backlog_print(ik_backlog_t *backlog, int columns, int max_open, size_t most);
/* Whether the last printed row is empty, or none was printed. */
bool ik_backlog_ends_empty(const ik_backlog_t *backlog);
