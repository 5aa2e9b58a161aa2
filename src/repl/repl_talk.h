/*
 * The view of one agent's conversation: which messages were printed, and what the agent is doing.
 * One talk is on the screen; the others print what they missed when they are shown.
 */
#pragma once

#include "command/command.h"
#include "repl/repl_rows.h"
#include "terminal/view.h"
#include "workspace/workspace.h"

typedef struct ik_repl_talk ik_repl_talk_t;

/* The agent need not exist yet. */
ik_repl_talk_t *ik_repl_talk_create(const void *ctx, ik_view_t *view, ik_command_host_t *host,
                                    int64_t number);
int64_t ik_repl_talk_number(const ik_repl_talk_t *talk);

void ik_repl_talk_on_event(ik_repl_talk_t *talk, const ik_agent_event_t *event);
void ik_repl_talk_begin_turn(ik_repl_talk_t *talk);
/* Marks all messages so far as shown. */
void ik_repl_talk_mark_shown(ik_repl_talk_t *talk);

/* Puts the talk on the screen and prints what it missed. */
void ik_repl_talk_show(ik_repl_talk_t *talk);
/* Takes the talk off the screen; an unfinished answer continues when it is shown again. */
void ik_repl_talk_hide(ik_repl_talk_t *talk);
/* Whether it got a message since it was on the screen. */
bool ik_repl_talk_has_news(const ik_repl_talk_t *talk);

/* The rows of the live area: the open part of the answer, reasoning or running tools, what the
 * agent is doing unless esc interrupts something else, and the text that waits for it. */
void ik_repl_talk_draw(ik_repl_talk_t *talk, int max_rows, bool interruptible, ik_rows_fn on_row,
                       void *data);

/* Remembers whether the context is nearly full; true if it was not before. */
bool ik_repl_talk_becomes_full(ik_repl_talk_t *talk, bool is_full);

/* Time since the last turn began; 0: there was none yet. */
int64_t ik_repl_talk_busy_ms(const ik_repl_talk_t *talk);
/* Opens the pager with tool result `number`, from 1; plain mode prints it. IK_ERR_NOT_FOUND if
 * there is none. */
res_t ik_repl_talk_show_result(ik_repl_talk_t *talk, size_t number);
/* The whole conversation for the pager. */
ik_pager_source_t ik_repl_talk_pages(ik_repl_talk_t *talk);
