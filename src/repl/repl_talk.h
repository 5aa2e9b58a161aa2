/*
 * The conversation with one agent as the user sees it: what of it was shown, and what it is doing.
 * One talk is on the screen; the others collect what happens and print it when they are shown.
 */
#pragma once

#include "repl/repl_rows.h"
#include "terminal/view.h"
#include "workspace/workspace.h"

typedef struct ik_repl_talk ik_repl_talk_t;

/* The agent may not exist yet, and need not. */
ik_repl_talk_t *ik_repl_talk_create(const void *ctx, ik_view_t *view, ik_workspace_t *workspace,
                                    int64_t number);
int64_t ik_repl_talk_number(const ik_repl_talk_t *talk);

void ik_repl_talk_on_event(ik_repl_talk_t *talk, const ik_agent_event_t *event);
void ik_repl_talk_begin_turn(ik_repl_talk_t *talk);
/* Everything the agent knows so far counts as shown. */
void ik_repl_talk_mark_shown(ik_repl_talk_t *talk);

/* Becomes the one on the screen: what was not shown yet is printed. */
void ik_repl_talk_show(ik_repl_talk_t *talk);
/* Another one comes: what is half said goes on when this one is shown again. */
void ik_repl_talk_hide(ik_repl_talk_t *talk);
/* It said something since it was on the screen. */
bool ik_repl_talk_has_news(const ik_repl_talk_t *talk);

/* The rows of the live area. */
void ik_repl_talk_draw(ik_repl_talk_t *talk, int max_rows, ik_rows_fn on_row, void *data);

/* --- for the status line: */

/* Tools that run. */
size_t ik_repl_talk_running(const ik_repl_talk_t *talk);
/* Until the next attempt; -1: none waits. */
int64_t ik_repl_talk_retry_ms(const ik_repl_talk_t *talk);
/* Since the turn began; 0: there was none yet. */
int64_t ik_repl_talk_busy_ms(const ik_repl_talk_t *talk);
/* Tool result number, from 1, in full. IK_ERR_NOT_FOUND. */
res_t ik_repl_talk_show_result(ik_repl_talk_t *talk, size_t number);
/* The whole conversation for the pager. */
ik_pager_source_t ik_repl_talk_pages(ik_repl_talk_t *talk);
