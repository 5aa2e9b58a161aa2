/*
 * The talk with one agent: what it said, what of that was shown, what it is doing, and what the
 * user wants to tell it next. One talk is on the screen; the others go on in the background and are
 * shown when it is their turn.
 */
#pragma once

#include "agent/agent.h"
#include "repl/repl_view.h"

typedef struct ik_repl_talk ik_repl_talk_t;

typedef struct {
    ik_repl_view_t *view;
    ik_shared_ctx_t *shared;
    /* The next turn may be started from here. */
    void (*on_turn_end)(void *data, ik_repl_talk_t *talk, ik_turn_reason_t reason);
    void (*on_usage)(void *data, ik_repl_talk_t *talk, const ik_agent_event_t *event);
    void *data;
} ik_repl_talk_options_t;

/* number is the agent's in its session. */
ik_repl_talk_t *ik_repl_talk_create(const void *ctx, const ik_repl_talk_options_t *options,
                                    int64_t number);
int64_t ik_repl_talk_number(const ik_repl_talk_t *talk);

/* Its listener, for whoever makes the agent. */
void ik_repl_talk_on_event(void *data, const ik_agent_event_t *event);
/* Takes the agent over; all it knows so far counts as shown when that is so. */
void ik_repl_talk_adopt_agent(ik_repl_talk_t *talk, ik_agent_t *agent, bool shown);
ik_agent_t *ik_repl_talk_agent(const ik_repl_talk_t *talk); /* NULL: none yet */
bool ik_repl_talk_is_busy(const ik_repl_talk_t *talk);

/* Becomes the one on the screen: what was not shown yet is printed. */
void ik_repl_talk_show(ik_repl_talk_t *talk);
/* Another one comes: what is half said goes on when this one is shown again. */
void ik_repl_talk_hide(ik_repl_talk_t *talk);
/* It said something since it was on the screen. */
bool ik_repl_talk_has_news(const ik_repl_talk_t *talk);

/* The agent is told; only when it is not busy. */
void ik_repl_talk_start_turn(ik_repl_talk_t *talk, const char *text);

/* What the user entered and nobody took yet, in order. */
void ik_repl_talk_queue(ik_repl_talk_t *talk, const char *text);
const char *ik_repl_talk_next(const ik_repl_talk_t *talk); /* NULL: nothing */
void ik_repl_talk_drop_next(ik_repl_talk_t *talk);
/* All of it joined by newlines, on ctx; NULL: nothing. */
char *ik_repl_talk_queued(const void *ctx, const ik_repl_talk_t *talk);
/* The same; the queue is empty afterwards. */
char *ik_repl_talk_take_queue(const void *ctx, ik_repl_talk_t *talk);

/* The rows of the live area. waiting_for: why nothing happens yet ("Looking for tools"); NULL:
 * nothing keeps it. */
void ik_repl_talk_draw(ik_repl_talk_t *talk, const char *waiting_for, int max_rows,
                       ik_repl_row_fn on_row, void *data);

/* --- for the status line: */

/* Tools that run. */
size_t ik_repl_talk_running(const ik_repl_talk_t *talk);
/* Until the next attempt; -1: none waits. */
int64_t ik_repl_talk_retry_ms(const ik_repl_talk_t *talk);
/* Tokens in use; 0: not known. */
int64_t ik_repl_talk_context(const ik_repl_talk_t *talk);
/* Since the turn began; 0: there was none yet. */
int64_t ik_repl_talk_busy_ms(const ik_repl_talk_t *talk);
/* The last words of the user to it, as one line; "". */
const char *ik_repl_talk_title(const ik_repl_talk_t *talk);

/* What the user ran joins the conversation, now or when the turn is over. */
void ik_repl_talk_add_note(ik_repl_talk_t *talk, const char *text, const char *data_json);

/* Tool result number, from 1, in full. IK_ERR_NOT_FOUND. */
res_t ik_repl_talk_show_result(ik_repl_talk_t *talk, size_t number);
/* The whole conversation for the pager. */
ik_pager_source_t ik_repl_talk_pages(ik_repl_talk_t *talk);
