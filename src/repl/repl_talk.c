#include "repl/repl_talk.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "conversation/todo.h"
#include "repl/repl_running.h"
#include "repl/repl_working.h"

enum {
    EARLIER_MESSAGES = 200, /* printed at most when a talk is shown */
    QUEUE_ROWS = 3,
    REASONING_ROWS = 3,
    TODO_ROWS = 5,
};

/* What an agent is doing during a turn. */
typedef enum { WORKING, THINKING, ANSWERING, RUNNING, RETRYING } activity_t;

struct ik_repl_talk {
    ik_view_t *view;
    ik_command_host_t *host;
    ik_workspace_t *workspace; /* of the host */
    int64_t number;
    bool current;    /* on the screen */
    bool news;       /* got a message while off the screen */
    size_t known;    /* messages counted in results */
    size_t shown;    /* messages printed */
    size_t results;  /* tool results among the known messages */
    size_t searched; /* messages that were searched for the todo list */
    size_t todo;     /* the index after the message that is the list; 0: none */

    /* the current answer */
    ik_backlog_answer_t *printed; /* NULL: not printed yet */
    size_t fed;                   /* bytes of answer that printed has */
    ik_buffer_t answer;           /* its text, to print the rest when shown again */
    ik_buffer_t reasoning;
    int64_t reasoning_ms; /* when the reasoning began */

    ik_repl_running_t *running; /* tools */
    int64_t turn_ms;            /* when the turn began; 0: there was none yet */
    activity_t activity;
    int64_t activity_ms; /* when it began */
    int64_t retry_at_ms; /* when the next attempt starts; 0: none is due */
    char *retry_reason;
    int retry_attempt; /* number of the next attempt */
    int retry_of;      /* maximum number of attempts */

    bool full; /* the context is nearly full, and the user was told */

    size_t page;         /* pager pages whose results are counted */
    size_t page_results; /* number of results on these pages */
    size_t paged;        /* the result in the pager: index of its message, and its number */
    size_t paged_number;
};

/* NULL: no messages yet. */
static const ik_conversation_t *conversation_of(const ik_repl_talk_t *talk)
{
    const ik_agent_t *agent = ik_workspace_agent(talk->workspace, talk->number);
    return agent == NULL ? NULL : ik_agent_conversation(agent);
}

static int close_talk(ik_repl_talk_t *talk)
{
    if (talk->printed != NULL) {
        ik_backlog_drop_answer(talk->printed);
    }
    return 0;
}

ik_repl_talk_t *ik_repl_talk_create(const void *ctx, ik_view_t *view, ik_command_host_t *host,
                                    int64_t number)
{
    ik_repl_talk_t *talk = ik_new(ctx, ik_repl_talk_t);
    talk->view = view;
    talk->host = host;
    talk->workspace = host->workspace;
    talk->number = number;
    talk->running = ik_repl_running_create(talk);
    ik_buffer_init(&talk->answer, talk, IK_BUFFER_UNLIMITED);    /* bounded by the stream */
    ik_buffer_init(&talk->reasoning, talk, IK_BUFFER_UNLIMITED); /* bounded by the stream */
    talloc_set_destructor(talk, close_talk);
    return talk;
}

int64_t ik_repl_talk_number(const ik_repl_talk_t *talk)
{
    return talk->number;
}

static size_t count_results(const ik_conversation_t *conversation, size_t from, size_t until)
{
    size_t count = 0;
    for (size_t i = from; i < until; i++) {
        count += ik_msg_is(conversation->messages[i], IK_MSG_TOOL_RESULT);
    }
    return count;
}

/* Counts new messages. A conversation that has not grown has lost a refused turn: it is counted
 * again, and its last message was not shown yet. */
static void count_messages(ik_repl_talk_t *talk, const ik_conversation_t *conversation)
{
    if (conversation->count > talk->known) {
        talk->results += count_results(conversation, talk->known, conversation->count);
    } else {
        talk->results = count_results(conversation, 0, conversation->count);
        talk->shown = talk->shown < conversation->count ? talk->shown : conversation->count - 1;
        talk->page = 0;
        talk->page_results = 0;
        talk->searched = 0;
        talk->todo = 0;
    }
    talk->known = conversation->count;
}

void ik_repl_talk_mark_shown(ik_repl_talk_t *talk)
{
    const ik_conversation_t *conversation = conversation_of(talk);
    if (conversation != NULL && conversation->count > 0) {
        count_messages(talk, conversation);
        talk->shown = conversation->count;
    }
}

/* --- output ------------------------------------------------------------------------------ */

static void say(ik_repl_talk_t *talk, ik_role_t role, const char *text)
{
    ik_rows_t rows = ik_view_rows(talk->view);
    ik_rows_say(&rows, role, text);
}

/* Prints a line, with the agent's number if the agent is in the background. */
static void announce(ik_repl_talk_t *talk, ik_role_t role, const char *text)
{
    if (talk->current) {
        say(talk, role, text);
        return;
    }
    char *line = ik_sprintf(talk, "Agent %lld: %s", (long long)talk->number, text);
    say(talk, role, line);
    talloc_free(line);
}

/* Prints one row for reasoning that has ended. */
static void fold_reasoning(ik_repl_talk_t *talk)
{
    if (talk->reasoning.len == 0) {
        return;
    }
    if (talk->current) {
        ik_rows_t rows = ik_view_rows(talk->view);
        ik_view_begin_block(talk->view);
        ik_repl_rows_reasoning(&rows, talk->reasoning.data, ik_clock_now_ms() - talk->reasoning_ms);
    }
    ik_buffer_reset(&talk->reasoning);
}

/* In the background the printed part stays open until the talk is shown again. */
static void end_answer(ik_repl_talk_t *talk)
{
    if (talk->printed != NULL && talk->current) {
        ik_backlog_end_answer(talk->printed);
        talk->printed = NULL;
    }
}

static void feed_answer(ik_repl_talk_t *talk, const char *text, size_t len)
{
    if (talk->printed == NULL) {
        ik_rows_t rows = ik_view_rows(talk->view);
        ik_view_begin_block(talk->view);
        talk->printed = ik_backlog_begin_answer(rows.backlog, false);
        talk->fed = 0;
    }
    ik_backlog_feed_answer(talk->printed, text, len);
    talk->fed += len;
}

static void on_text(ik_repl_talk_t *talk, const ik_agent_event_t *event)
{
    fold_reasoning(talk);
    if (event->begins) {
        end_answer(talk);
        ik_buffer_reset(&talk->answer);
    }
    ik_buffer_append(&talk->answer, event->text, event->len);
    if (talk->current) {
        feed_answer(talk, event->text, event->len);
    }
}

/* --- messages ---------------------------------------------------------------------------- */

static void note_incomplete(ik_repl_talk_t *talk, const ik_msg_t *message)
{
    ik_json_span_t incomplete;
    if (ik_msg_field(message, "incomplete", &incomplete)) {
        say(talk, IK_ROLE_WARNING, "(answer cut off)");
    }
}

/* A streamed answer is already printed; one that came as a whole or in the background is not. */
static void show_answer(ik_repl_talk_t *talk, const ik_msg_t *message)
{
    ik_rows_t rows = ik_view_rows(talk->view);
    fold_reasoning(talk);
    if (talk->printed != NULL) {
        end_answer(talk);
    } else if (!ik_msg_text_is_blank(message->content)) {
        ik_view_begin_block(talk->view);
        ik_repl_rows_answer(&rows, message->content);
    }
    note_incomplete(talk, message);
}

/* Separates a message from what is above it. */
static void begin_message(ik_repl_talk_t *talk, const ik_rows_t *rows, const ik_msg_t *message)
{
    if (ik_repl_rows_is_one_row(rows, message)) {
        ik_view_begin_item(talk->view);
    } else {
        ik_view_begin_block(talk->view);
    }
}

/* Rows for a message that arrives while the talk is on the screen: with previews of images. */
static ik_rows_t rows_for_news(const ik_repl_talk_t *talk)
{
    ik_rows_t rows = ik_view_rows(talk->view);
    rows.pictures =
        ik_view_may_show_pictures(talk->view) ? ik_workspace_paths(talk->workspace)->images : NULL;
    return rows;
}

static void show_result(ik_repl_talk_t *talk, const ik_msg_t *message)
{
    ik_rows_t rows = rows_for_news(talk);
    begin_message(talk, &rows, message);
    if (!ik_repl_running_show(talk->running, &rows, message, talk->results)) {
        const ik_conversation_t *conversation = conversation_of(talk);
        ik_repl_rows_message(&rows, conversation, conversation->count - 1, talk->results);
    }
}

static void show_message(ik_repl_talk_t *talk, const ik_msg_t *message)
{
    ik_rows_t rows = rows_for_news(talk);
    if (ik_msg_is(message, IK_MSG_ASSISTANT)) {
        show_answer(talk, message);
    } else if (ik_msg_is(message, IK_MSG_TOOL_RESULT)) {
        show_result(talk, message);
    } else if (ik_msg_is(message, IK_MSG_USER) && !ik_msg_is_shell_note(message)) {
        if (!ik_view_echoes(talk->view)) {
            ik_view_begin_block(talk->view);
            ik_repl_rows_user(&rows, message->content);
        }
        ik_repl_rows_images(&rows, message);
    } else if (ik_msg_is(message, IK_MSG_TOOL_CALL)) {
        fold_reasoning(talk); /* a call is shown while it runs, and again with its result */
        end_answer(talk);
    }
}

static void on_message(ik_repl_talk_t *talk, const ik_msg_t *message)
{
    count_messages(talk, conversation_of(talk));
    if (talk->current) {
        show_message(talk, message);
        talk->shown = talk->known;
    }
    talk->news = !talk->current;
    if (ik_msg_is(message, IK_MSG_TOOL_CALL)) {
        ik_repl_running_wait(talk->running, ik_workspace_shared(talk->workspace), message);
    } else if (ik_msg_is(message, IK_MSG_TOOL_RESULT)) {
        ik_repl_running_end(talk->running, message);
    } else if (ik_msg_is(message, IK_MSG_ASSISTANT)) {
        ik_buffer_reset(&talk->answer);
        ik_buffer_reset(&talk->reasoning);
    }
}

/* --- events ------------------------------------------------------------------------------ */

/* The parent of a sub-agent that ended in the background shows its result. */
static void say_subagent_ended(ik_repl_talk_t *talk, ik_turn_reason_t reason)
{
    if (talk->current) {
        int64_t parent = ik_workspace_agent_parent(talk->workspace, talk->number);
        char *line = ik_sprintf(talk, "Agent %lld %s. /switch %lld returns to its parent.",
                                (long long)talk->number,
                                reason == IK_TURN_INTERRUPTED ? "was interrupted"
                                : reason == IK_TURN_ERROR     ? "has failed"
                                                              : "is done",
                                (long long)parent);
        say(talk, reason == IK_TURN_INTERRUPTED ? IK_ROLE_WARNING : IK_ROLE_DIM, line);
        talloc_free(line);
    }
}

static void on_turn_ended(ik_repl_talk_t *talk, ik_turn_reason_t reason)
{
    fold_reasoning(talk);
    end_answer(talk);
    ik_buffer_reset(&talk->answer);
    ik_repl_running_clear(talk->running);
    talk->retry_at_ms = 0;
    if (ik_workspace_is_subagent(talk->workspace, talk->number)) {
        say_subagent_ended(talk, reason);
    } else if (reason == IK_TURN_INTERRUPTED) {
        announce(talk, IK_ROLE_WARNING, "interrupted");
    } else if (!talk->current) {
        char *line =
            ik_sprintf(talk, "%s. /switch %lld shows its answer.",
                       reason == IK_TURN_ERROR ? "failed" : "done", (long long)talk->number);
        announce(talk, reason == IK_TURN_ERROR ? IK_ROLE_ERROR : IK_ROLE_GOOD, line);
        talloc_free(line);
    }
}

static activity_t find_activity(const ik_repl_talk_t *talk)
{
    return ik_repl_running_count(talk->running) > 0 ? RUNNING
           : talk->retry_at_ms > 0                  ? RETRYING
           : talk->reasoning.len > 0                ? THINKING
           : talk->answer.len > 0                   ? ANSWERING
                                                    : WORKING;
}

void ik_repl_talk_begin_turn(ik_repl_talk_t *talk)
{
    talk->turn_ms = ik_clock_now_ms();
    talk->activity = WORKING;
    talk->activity_ms = talk->turn_ms;
}

void ik_repl_talk_on_event(ik_repl_talk_t *talk, const ik_agent_event_t *event)
{
    if (event->kind != IK_AGENT_RETRY) {
        talk->retry_at_ms = 0;
    }
    switch (event->kind) {
    case IK_AGENT_TEXT:
        on_text(talk, event);
        break;
    case IK_AGENT_REASONING:
        if (talk->reasoning.len == 0) {
            talk->reasoning_ms = ik_clock_now_ms();
        }
        ik_buffer_append(&talk->reasoning, event->text, event->len);
        break;
    case IK_AGENT_MESSAGE:
        on_message(talk, event->message);
        break;
    case IK_AGENT_TOOL_STARTED:
        ik_repl_running_start(talk->running, ik_workspace_shared(talk->workspace), event->message);
        break;
    case IK_AGENT_TOOL_PROGRESS:
        ik_repl_running_progress(talk->running, event->message, event->text, event->len);
        break;
    case IK_AGENT_USAGE: /* the status line reads it from the workspace */
        break;
    case IK_AGENT_RETRY:
        talloc_free(talk->retry_reason);
        talk->retry_reason = ik_agent_describe_retry(talk, event);
        talk->retry_attempt = event->attempt + 1;
        talk->retry_of = event->of;
        talk->retry_at_ms = ik_clock_now_ms() + event->delay_ms;
        break;
    case IK_AGENT_NOTICE:
        announce(talk, IK_ROLE_WARNING, event->text);
        break;
    case IK_AGENT_ERROR:
        if (talk->current || !ik_workspace_is_subagent(talk->workspace, talk->number)) {
            announce(talk, IK_ROLE_ERROR, event->text);
        }
        break;
    case IK_AGENT_TURN_ENDED:
        on_turn_ended(talk, event->reason);
        break;
    }
    activity_t activity = find_activity(talk);
    if (activity != talk->activity) {
        talk->activity = activity;
        talk->activity_ms = ik_clock_now_ms();
    }
    ik_view_touch(talk->view);
}

/* --- on and off the screen --------------------------------------------------------------- */

/* Skips the oldest messages of a long conversation, which the pager shows. */
static size_t skip_earlier(ik_repl_talk_t *talk, const ik_conversation_t *conversation)
{
    size_t from = talk->shown;
    if (conversation->count - from > EARLIER_MESSAGES) {
        size_t left_out = conversation->count - EARLIER_MESSAGES - from;
        char *line = ik_sprintf(talk, "… %zu earlier messages, Ctrl-O", left_out);
        ik_view_begin_block(talk->view);
        say(talk, IK_ROLE_DIM, line);
        talloc_free(line);
        from += left_out;
    }
    return from;
}

static void print_missing(ik_repl_talk_t *talk)
{
    const ik_conversation_t *conversation = conversation_of(talk);
    ik_rows_t rows = ik_view_rows(talk->view);
    size_t from = skip_earlier(talk, conversation);
    size_t results = count_results(conversation, 0, from);
    for (size_t i = from; i < conversation->count; i++) {
        const ik_msg_t *message = conversation->messages[i];
        results += ik_msg_is(message, IK_MSG_TOOL_RESULT);
        /* a call is printed with its result */
        if (!ik_msg_is(message, IK_MSG_TOOL_CALL) && !ik_msg_is(message, IK_MSG_SYSTEM) &&
            !ik_repl_rows_is_empty(message)) {
            begin_message(talk, &rows, message);
            ik_repl_rows_message(&rows, conversation, i, results);
        }
    }
    talk->shown = conversation->count;
}

/* Prints the part of the answer that came while the talk was off the screen. */
static void feed_rest(ik_repl_talk_t *talk, const char *answer, size_t len)
{
    size_t had = talk->printed == NULL ? 0 : talk->fed;
    if (len > had) {
        ik_view_begin_block(talk->view);
        feed_answer(talk, answer + had, len - had);
    }
}

/* Prints the rest of a partly printed answer that ended while the talk was off the screen. */
static void finish_answer(ik_repl_talk_t *talk)
{
    const ik_conversation_t *conversation = conversation_of(talk);
    if (talk->printed != NULL && talk->shown < conversation->count) {
        const ik_msg_t *message = conversation->messages[talk->shown];
        if (ik_msg_is(message, IK_MSG_ASSISTANT)) {
            feed_rest(talk, message->content, strlen(message->content));
            talk->shown++;
        }
        end_answer(talk);
        note_incomplete(talk, message);
    }
}

void ik_repl_talk_show(ik_repl_talk_t *talk)
{
    const ik_conversation_t *conversation = conversation_of(talk);
    talk->current = true;
    talk->news = false;
    if (conversation != NULL) {
        if (conversation->count > talk->known) {
            count_messages(talk, conversation);
        }
        finish_answer(talk);
        print_missing(talk);
    }
    feed_rest(talk, talk->answer.data, talk->answer.len);
    ik_view_touch(talk->view);
}

void ik_repl_talk_hide(ik_repl_talk_t *talk)
{
    talk->current = false;
}

bool ik_repl_talk_has_news(const ik_repl_talk_t *talk)
{
    return talk->news;
}

/* --- the live area ----------------------------------------------------------------------- */

typedef struct {
    ik_rows_t rows;
    ik_row_t row;
    void *scratch;
} canvas_t;

static void put_row(canvas_t *canvas)
{
    ik_rows_put(&canvas->rows, &canvas->row);
}

/* The last rows of a text. */
typedef struct {
    void *scratch;
    char *rows[REASONING_ROWS];
    size_t count; /* of all rows so far */
} tail_t;

static void keep_row(void *data, const char *bytes, size_t len)
{
    tail_t *tail = data;
    char **row = &tail->rows[tail->count++ % REASONING_ROWS];
    talloc_free(*row);
    *row = ik_strndup(tail->scratch, bytes, len);
}

/* Draws the last rows of the reasoning. Only its end is wrapped, however long it is. Where that
 * begins moves in large steps, so that the rows do not change with every word. */
static void draw_reasoning(const ik_repl_talk_t *talk, canvas_t *canvas)
{
    enum {
        ROWS_PER_STEP = 8
    }; /* enough for REASONING_ROWS of characters with two bytes a column */
    tail_t tail = {.scratch = talloc_new(NULL)};
    ik_rows_t rows = {.theme = canvas->row.theme,
                      .columns = canvas->rows.columns,
                      .on_row = keep_row,
                      .data = &tail};
    const char *text = talk->reasoning.data;
    size_t len = talk->reasoning.len;
    size_t step = ROWS_PER_STEP * (size_t)rows.columns;
    size_t skipped = len < 2 * step ? 0 : (len / step - 1) * step;
    for (size_t i = ik_utf8_cut_front(text, len, len - skipped); i < len;) {
        size_t line = strcspn(text + i, "\n");
        char *words = ik_strndup(tail.scratch, text + i, line);
        if (!ik_msg_text_is_blank(words)) {
            ik_rows_say(&rows, IK_ROLE_DIM, words);
        }
        i += line + 1;
    }
    for (size_t i = tail.count > REASONING_ROWS ? tail.count - REASONING_ROWS : 0; i < tail.count;
         i++) {
        const char *row = tail.rows[i % REASONING_ROWS];
        canvas->rows.on_row(canvas->rows.data, row, strlen(row));
    }
    talloc_free(tail.scratch);
}

/* Draws the row that says what the agent is doing. */
static void draw_activity(const ik_repl_talk_t *talk, canvas_t *canvas)
{
    static const char *const names[] = {
        [WORKING] = "Working", [THINKING] = "Thinking", [ANSWERING] = "Answering"};
    const ik_agent_t *agent = ik_workspace_agent(talk->workspace, talk->number);
    int64_t now = ik_clock_now_ms();
    int64_t left = talk->retry_at_ms - now;
    size_t running = ik_repl_running_count(talk->running);
    ik_repl_working_t working = {.role = IK_ROLE_DIM,
                                 .elapsed_ms = now - talk->activity_ms,
                                 .silent_ms = ik_agent_silent_ms(agent)};
    if (talk->activity == RETRYING && left > 0) {
        working.role = IK_ROLE_WARNING;
        working.what =
            ik_sprintf(canvas->scratch, "attempt %d of %d in %lld s: %s", talk->retry_attempt,
                       talk->retry_of, (long long)((left + 999) / 1000), talk->retry_reason);
    } else if (talk->activity == RETRYING) { /* the attempt has begun */
        working.what = names[WORKING];
        working.elapsed_ms = -left;
    } else if (talk->activity == RUNNING) {
        working.what =
            ik_sprintf(canvas->scratch, "%zu tool%s running", running, running == 1 ? "" : "s");
    } else {
        working.what = names[talk->activity];
    }
    ik_repl_working_draw(&canvas->row, &working, ik_view_spinner(talk->view), canvas->rows.columns);
    put_row(canvas);
}

/* Draws the open items of the todo list, as far as there is room. */
static void draw_todo(ik_repl_talk_t *talk, canvas_t *canvas, int most)
{
    const ik_conversation_t *conversation = conversation_of(talk);
    if (conversation == NULL || conversation->count < talk->searched) {
        return;
    }
    size_t found = ik_todo_find(conversation, talk->searched, conversation->count);
    talk->todo = found > 0 ? found : talk->todo;
    talk->searched = conversation->count;
    ik_tool_display_t list;
    ik_tool_item_t item;
    if (talk->todo == 0 || most <= 0 ||
        ik_todo_read(canvas->scratch, conversation->messages[talk->todo - 1], &list) == NULL) {
        return;
    }
    int open = 0;
    for (size_t at = 0; ik_tool_display_next_item(&list, &at, &item);) {
        open += item.state != IK_TOOL_ITEM_COMPLETED;
    }
    most = most < TODO_ROWS ? most : TODO_ROWS;
    for (size_t at = 0; most > 0 && ik_tool_display_next_item(&list, &at, &item);) {
        if (item.state == IK_TOOL_ITEM_COMPLETED) {
            continue;
        }
        if (most == 1 && open > 1) {
            ik_row_add_format(&canvas->row, IK_ROLE_DIM, "… %d more open", open);
        } else {
            ik_repl_rows_item(&canvas->row, &item);
        }
        put_row(canvas);
        most--;
        open--;
    }
}

/* Draws what waits: text for the running turn as "next", other lines as "queued". */
static void draw_queue(const ik_repl_talk_t *talk, canvas_t *canvas, int most)
{
    const ik_workspace_line_t *line;
    int count = 0;
    while (ik_workspace_queued(talk->workspace, talk->number, (size_t)count) != NULL) {
        count++;
    }
    most = most < QUEUE_ROWS ? most : QUEUE_ROWS;
    for (int i = 0; i < count; i++) {
        if (i == most) {
            ik_row_add_format(&canvas->row, IK_ROLE_DIM, "… %d more waiting", count - i);
            put_row(canvas);
            return;
        }
        line = ik_workspace_queued(talk->workspace, talk->number, (size_t)i);
        ik_row_add_role(&canvas->row, IK_ROLE_DIM,
                        line->kind == IK_WORKSPACE_SUBMIT_NEXT ? "next: " : "queued: ");
        ik_row_add_role(&canvas->row, IK_ROLE_DIM,
                        ik_strndup(canvas->scratch, line->text,
                                   ik_command_public_length(talk->host, line->text)));
        put_row(canvas);
    }
}

void ik_repl_talk_draw(ik_repl_talk_t *talk, int max_rows, bool interruptible, ik_rows_fn on_row,
                       void *data)
{
    const char *waiting_for = ik_workspace_queued(talk->workspace, talk->number, 0) == NULL
                                  ? NULL
                                  : ik_workspace_waiting_for(talk->workspace);
    void *scratch = talloc_new(talk);
    canvas_t canvas = {
        .rows = {.on_row = on_row, .data = data, .columns = ik_view_rows(talk->view).columns},
        .scratch = scratch};
    bool busy = ik_workspace_is_busy(talk->workspace, talk->number);
    ik_row_init(&canvas.row, scratch, ik_view_theme(talk->view));
    if (talk->printed != NULL) {
        ik_backlog_draw_open(talk->printed, on_row, data);
    }
    draw_todo(talk, &canvas, (max_rows - 2) / 2); /* leaves room for what happens */
    if (ik_repl_running_count(talk->running) > 0) {
        ik_repl_running_draw(talk->running, talk->view, max_rows - 1, on_row, data);
    } else if (talk->reasoning.len > 0) {
        draw_reasoning(talk, &canvas);
    }
    if (busy && interruptible) {
        draw_activity(talk, &canvas);
    } else if (waiting_for != NULL) {
        ik_row_add_format(&canvas.row, IK_ROLE_DIM, "%s %s", ik_view_spinner(talk->view),
                          waiting_for);
        put_row(&canvas);
    }
    draw_queue(talk, &canvas, max_rows - 2);
    talloc_free(scratch);
}

/* --- for the status line ----------------------------------------------------------------- */

bool ik_repl_talk_becomes_full(ik_repl_talk_t *talk, bool is_full)
{
    bool before = talk->full;
    talk->full = is_full;
    return is_full && !before;
}

int64_t ik_repl_talk_busy_ms(const ik_repl_talk_t *talk)
{
    return talk->turn_ms == 0 ? 0 : ik_clock_now_ms() - talk->turn_ms;
}

/* --- /show and the pager ----------------------------------------------------------------- */

static ik_rows_t rows_of_pager(const ik_repl_talk_t *talk, int columns, ik_pager_row_fn on_row,
                               void *row_data)
{
    return (ik_rows_t){.theme = ik_view_theme(talk->view),
                       .columns = columns,
                       .full = true,
                       .on_row = on_row,
                       .data = row_data};
}

static void render_result(void *data, size_t part, int columns, ik_pager_row_fn on_row,
                          void *row_data)
{
    const ik_repl_talk_t *talk = data;
    const ik_conversation_t *conversation = conversation_of(talk);
    ik_rows_t rows = rows_of_pager(talk, columns, on_row, row_data);
    (void)part;
    if (talk->paged < conversation->count) { /* not lost with a refused turn */
        ik_repl_rows_message(&rows, conversation, talk->paged, talk->paged_number);
    }
}

/* Plain mode has no pager. */
static void open_result(ik_repl_talk_t *talk, size_t index, size_t number)
{
    if (ik_view_prompt(talk->view) == NULL) {
        ik_rows_t rows = ik_view_rows(talk->view);
        rows.full = true;
        ik_view_begin_block(talk->view);
        ik_repl_rows_message(&rows, conversation_of(talk), index, number);
        return;
    }
    ik_pager_source_t source = {
        .count = 1, .render = render_result, .data = talk, .from_start = true};
    char *title = ik_sprintf(talk, "result %zu", number);
    talk->paged = index;
    talk->paged_number = number;
    ik_view_open_pager(talk->view, &source, title);
    talloc_free(title);
}

res_t ik_repl_talk_show_result(ik_repl_talk_t *talk, size_t number)
{
    const ik_conversation_t *conversation = conversation_of(talk);
    size_t results = 0;
    for (size_t i = 0; conversation != NULL && i < conversation->count; i++) {
        results += ik_msg_is(conversation->messages[i], IK_MSG_TOOL_RESULT);
        if (results == number && ik_msg_is(conversation->messages[i], IK_MSG_TOOL_RESULT)) {
            open_result(talk, i, number);
            return OK;
        }
    }
    return ERR(NOT_FOUND, "There is no tool result %zu (%zu so far).", number, results);
}

/* Counts the results up to this page. The count is kept between calls, because a search asks for
 * one page after the other in either direction. */
static size_t number_page(ik_repl_talk_t *talk, const ik_conversation_t *conversation, size_t part)
{
    if (part < talk->page) {
        talk->page_results -= count_results(conversation, part + 1, talk->page);
    } else {
        talk->page_results += count_results(conversation, talk->page, part + 1);
    }
    talk->page = part + 1;
    return talk->page_results;
}

static void render_page(void *data, size_t part, int columns, ik_pager_row_fn on_row,
                        void *row_data)
{
    ik_repl_talk_t *talk = data;
    const ik_conversation_t *conversation = conversation_of(talk);
    ik_rows_t rows = rows_of_pager(talk, columns, on_row, row_data);
    if (part < conversation->count && !ik_msg_is(conversation->messages[part], IK_MSG_TOOL_CALL)) {
        ik_repl_rows_message(&rows, conversation, part, number_page(talk, conversation, part));
        ik_rows_gap(&rows);
    }
}

ik_pager_source_t ik_repl_talk_pages(ik_repl_talk_t *talk)
{
    const ik_conversation_t *conversation = conversation_of(talk);
    return (ik_pager_source_t){.count = conversation == NULL ? 0 : conversation->count,
                               .render = render_page,
                               .data = talk};
}
