#include "repl/repl_talk.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/sanitiser.h"
#include "base/utf8.h"
#include "repl/repl_running.h"
#include "store/event_facts.h"

enum {
    EARLIER_MESSAGES = 200, /* of a session that goes on, printed at most */
    QUEUE_ROWS = 3,
    REASONING_ROWS = 3,
    TITLE_MAX = 60, /* bytes */
};

struct ik_repl_talk {
    ik_repl_view_t *view;
    ik_repl_talk_options_t options;
    int64_t number;
    ik_agent_t *agent; /* NULL: none yet */
    bool current;      /* on the screen */
    bool news;         /* something came while it was not */
    size_t known;      /* so many messages the conversation had with the last one that came */
    size_t shown;      /* so many of them are in the history of the screen */
    size_t results;    /* so many of them are tool results */

    /* the answer that is being said */
    ik_repl_answer_t *printed; /* NULL: nothing of it is on the screen */
    size_t fed;                /* bytes of the answer that it has */
    ik_buffer_t answer;        /* its text, for whoever looks later */
    ik_buffer_t reasoning;
    int64_t reasoning_ms; /* when it began */

    ik_repl_running_t *running; /* tools */
    int64_t turn_ms;            /* when the turn began */
    int64_t retry_at_ms;        /* 0: no attempt waits */
    char *retry_reason;
    int retry_attempt; /* the next one … */
    int retry_of;      /* … of so many */
    int64_t context;
    char *title;

    char **queue;
    size_t queue_count;
    char **notes; /* pairs: text and data, which may be NULL */
    size_t note_count;

    size_t page; /* up to this page of the pager there are … */
    size_t page_results;
};

static int close_talk(ik_repl_talk_t *talk)
{
    if (talk->printed != NULL) {
        ik_repl_backlog_drop_answer(talk->printed);
    }
    return 0;
}

ik_repl_talk_t *ik_repl_talk_create(const void *ctx, const ik_repl_talk_options_t *options,
                                    int64_t number)
{
    ik_repl_talk_t *talk = ik_new(ctx, ik_repl_talk_t);
    talk->view = options->view;
    talk->options = *options;
    talk->number = number;
    talk->running = ik_repl_running_create(talk);
    talk->title = ik_strdup(talk, "");
    ik_buffer_init(&talk->answer, talk, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&talk->reasoning, talk, IK_BUFFER_UNLIMITED);
    talloc_set_destructor(talk, close_talk);
    return talk;
}

int64_t ik_repl_talk_number(const ik_repl_talk_t *talk)
{
    return talk->number;
}

ik_agent_t *ik_repl_talk_agent(const ik_repl_talk_t *talk)
{
    return talk->agent;
}

bool ik_repl_talk_is_busy(const ik_repl_talk_t *talk)
{
    return talk->agent != NULL && ik_agent_is_busy(talk->agent);
}

static void set_context(ik_repl_talk_t *talk, const ik_usage_t *usage)
{
    talk->context = (usage->in > 0 ? usage->in : 0) + (usage->out > 0 ? usage->out : 0);
}

static void set_title(ik_repl_talk_t *talk, const char *text)
{
    char *start = ik_strndup(talk, text, ik_utf8_cut(text, strlen(text), TITLE_MAX));
    talloc_free(talk->title);
    talk->title = ik_sanitise_line(talk, start);
    talloc_free(start);
}

/* How much of the context the last answer took. */
static void look_for_usage(ik_repl_talk_t *talk, const ik_conversation_t *conversation)
{
    void *scratch = talloc_new(talk);
    for (size_t i = conversation->count; i > 0 && talk->context == 0; i--) {
        const ik_msg_t *message = conversation->messages[i - 1];
        ik_store_event_t event = {.kind = message->kind, .data_json = message->data_json};
        ik_event_facts_t facts = ik_event_facts(scratch, &event);
        if (facts.answer) {
            set_context(talk, &facts.usage);
        }
        if (ik_msg_is(message, IK_MSG_USER) && !ik_repl_rows_is_command(message)) {
            break;
        }
    }
    talloc_free(scratch);
}

static size_t count_results(const ik_conversation_t *conversation, size_t from, size_t until)
{
    size_t count = 0;
    for (size_t i = from; i < until; i++) {
        count += ik_msg_is(conversation->messages[i], IK_MSG_TOOL_RESULT);
    }
    return count;
}

/* What the last words of the user were, and how many results there are. */
static void look_back(ik_repl_talk_t *talk)
{
    const ik_conversation_t *conversation = ik_agent_conversation(talk->agent);
    look_for_usage(talk, conversation);
    talk->known = conversation->count;
    for (size_t i = 0; i < conversation->count; i++) {
        const ik_msg_t *message = conversation->messages[i];
        talk->results += ik_msg_is(message, IK_MSG_TOOL_RESULT);
        if (ik_msg_is(message, IK_MSG_USER) && !ik_repl_rows_is_command(message)) {
            set_title(talk, message->content);
        }
    }
}

void ik_repl_talk_adopt_agent(ik_repl_talk_t *talk, ik_agent_t *agent, bool shown)
{
    talk->agent = talloc_steal(talk, agent);
    talk->number = ik_agent_number(agent);
    look_back(talk);
    if (shown) {
        talk->shown = ik_agent_conversation(agent)->count;
    }
}

/* --- saying ------------------------------------------------------------------------------ */

static void say(ik_repl_talk_t *talk, ik_role_t role, const char *text)
{
    ik_repl_rows_t rows = ik_repl_view_rows(talk->view);
    ik_repl_rows_say(&rows, role, text);
}

/* Something about an agent in the background says whose it is. */
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

/* The thinking is over: one row of it stays. */
static void fold_reasoning(ik_repl_talk_t *talk)
{
    if (talk->reasoning.len == 0) {
        return;
    }
    if (talk->current) {
        ik_repl_rows_t rows = ik_repl_view_rows(talk->view);
        ik_repl_view_begin_block(talk->view);
        ik_repl_rows_reasoning(&rows, talk->reasoning.data, ik_clock_now_ms() - talk->reasoning_ms);
    }
    ik_buffer_reset(&talk->reasoning);
}

/* In the background nothing is printed: half an answer goes on when its talk is shown again. */
static void end_answer(ik_repl_talk_t *talk)
{
    if (talk->printed != NULL && talk->current) {
        ik_repl_backlog_end_answer(talk->printed);
        talk->printed = NULL;
    }
}

static void feed_answer(ik_repl_talk_t *talk, const char *text, size_t len)
{
    if (talk->printed == NULL) {
        ik_repl_rows_t rows = ik_repl_view_rows(talk->view);
        ik_repl_view_begin_block(talk->view);
        talk->printed = ik_repl_backlog_begin_answer(rows.backlog, false);
        talk->fed = 0;
    }
    ik_repl_backlog_feed_answer(talk->printed, text, len);
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

static void on_reasoning(ik_repl_talk_t *talk, const ik_agent_event_t *event)
{
    if (talk->reasoning.len == 0) {
        talk->reasoning_ms = ik_clock_now_ms();
    }
    ik_buffer_append(&talk->reasoning, event->text, event->len);
}

/* --- messages ---------------------------------------------------------------------------- */

static void note_incomplete(ik_repl_talk_t *talk, const ik_msg_t *message)
{
    ik_json_span_t incomplete;
    if (ik_msg_field(message, "incomplete", &incomplete)) {
        say(talk, IK_ROLE_WARNING, "(the answer broke off here)");
    }
}

/* An answer was shown while it came, unless it came as a whole or somebody else was on the screen.
 */
static void show_answer(ik_repl_talk_t *talk, const ik_msg_t *message)
{
    ik_repl_rows_t rows = ik_repl_view_rows(talk->view);
    fold_reasoning(talk);
    if (talk->printed != NULL) {
        end_answer(talk);
    } else if (!ik_msg_text_is_blank(message->content)) {
        ik_repl_view_begin_block(talk->view);
        ik_repl_rows_answer(&rows, message->content);
    }
    note_incomplete(talk, message);
}

static void show_result(ik_repl_talk_t *talk, const ik_msg_t *message)
{
    ik_repl_rows_t rows = ik_repl_view_rows(talk->view);
    ik_repl_view_begin_block(talk->view);
    if (!ik_repl_running_show(talk->running, &rows, message, talk->results)) {
        const ik_conversation_t *conversation = ik_agent_conversation(talk->agent);
        ik_repl_rows_message(&rows, conversation, conversation->count - 1, talk->results);
    }
}

static void show_message(ik_repl_talk_t *talk, const ik_msg_t *message)
{
    ik_repl_rows_t rows = ik_repl_view_rows(talk->view);
    if (ik_msg_is(message, IK_MSG_ASSISTANT)) {
        show_answer(talk, message);
    } else if (ik_msg_is(message, IK_MSG_TOOL_RESULT)) {
        show_result(talk, message);
    } else if (ik_msg_is(message, IK_MSG_USER) && !ik_repl_rows_is_command(message) &&
               !ik_repl_view_echoes(talk->view)) {
        ik_repl_view_begin_block(talk->view);
        ik_repl_rows_user(&rows, message->content);
    } else if (ik_msg_is(message, IK_MSG_TOOL_CALL)) {
        fold_reasoning(talk); /* the call is shown while it runs, and with its result */
        end_answer(talk);
    }
}

/* A conversation that has not grown has lost a turn that was refused: what was shown of it and
 * counted is gone, and what came now was shown by nobody. */
static void count_message(ik_repl_talk_t *talk, const ik_msg_t *message)
{
    const ik_conversation_t *conversation = ik_agent_conversation(talk->agent);
    if (conversation->count > talk->known) {
        talk->results += ik_msg_is(message, IK_MSG_TOOL_RESULT);
    } else {
        talk->results = count_results(conversation, 0, conversation->count);
        talk->shown = talk->shown < conversation->count ? talk->shown : conversation->count - 1;
        talk->page = 0;
        talk->page_results = 0;
    }
    talk->known = conversation->count;
}

static void on_message(ik_repl_talk_t *talk, const ik_msg_t *message)
{
    count_message(talk, message);
    if (ik_msg_is(message, IK_MSG_USER) && !ik_repl_rows_is_command(message)) {
        set_title(talk, message->content);
    }
    if (talk->current) {
        show_message(talk, message);
        talk->shown = ik_agent_conversation(talk->agent)->count;
    }
    talk->news = !talk->current;
    if (ik_msg_is(message, IK_MSG_TOOL_CALL)) {
        ik_repl_running_wait(talk->running, talk->options.shared, message);
    } else if (ik_msg_is(message, IK_MSG_TOOL_RESULT)) {
        ik_repl_running_end(talk->running, message);
    } else if (ik_msg_is(message, IK_MSG_ASSISTANT)) {
        ik_buffer_reset(&talk->answer);
        ik_buffer_reset(&talk->reasoning);
    }
}

/* --- events ------------------------------------------------------------------------------ */

static void on_retry(ik_repl_talk_t *talk, const ik_agent_event_t *event)
{
    talloc_free(talk->retry_reason);
    talk->retry_reason = ik_agent_describe_retry(talk, event);
    talk->retry_attempt = event->attempt + 1;
    talk->retry_of = event->of;
    talk->retry_at_ms = ik_clock_now_ms() + event->delay_ms;
}

static void add_notes(ik_repl_talk_t *talk)
{
    for (size_t i = 0; i < talk->note_count; i += 2) {
        ik_agent_add_note(talk->agent, talk->notes[i], talk->notes[i + 1]);
    }
    TALLOC_FREE(talk->notes);
    talk->note_count = 0;
}

static void announce_end(ik_repl_talk_t *talk, ik_turn_reason_t reason)
{
    if (reason == IK_TURN_INTERRUPTED) {
        announce(talk, IK_ROLE_WARNING, "interrupted");
    } else if (!talk->current) {
        char *line =
            ik_sprintf(talk, "%s. /switch %lld shows what it said.",
                       reason == IK_TURN_ERROR ? "failed" : "done", (long long)talk->number);
        announce(talk, reason == IK_TURN_ERROR ? IK_ROLE_ERROR : IK_ROLE_GOOD, line);
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
    announce_end(talk, reason);
    add_notes(talk);
    talk->options.on_turn_end(talk->options.data, talk, reason);
}

static void on_usage(ik_repl_talk_t *talk, const ik_agent_event_t *event)
{
    set_context(talk, &event->usage);
    talk->options.on_usage(talk->options.data, talk, event);
}

void ik_repl_talk_on_event(void *data, const ik_agent_event_t *event)
{
    ik_repl_talk_t *talk = data;
    ik_repl_view_t *view = talk->view;
    if (event->kind != IK_AGENT_RETRY) {
        talk->retry_at_ms = 0;
    }
    switch (event->kind) {
    case IK_AGENT_TEXT:
        on_text(talk, event);
        break;
    case IK_AGENT_REASONING:
        on_reasoning(talk, event);
        break;
    case IK_AGENT_MESSAGE:
        on_message(talk, event->message);
        break;
    case IK_AGENT_TOOL_STARTED:
        ik_repl_running_start(talk->running, talk->options.shared, event->message);
        break;
    case IK_AGENT_TOOL_PROGRESS:
        ik_repl_running_progress(talk->running, event->message, event->text, event->len);
        break;
    case IK_AGENT_USAGE:
        on_usage(talk, event);
        break;
    case IK_AGENT_RETRY:
        on_retry(talk, event);
        break;
    case IK_AGENT_NOTICE:
        announce(talk, IK_ROLE_WARNING, event->text);
        break;
    case IK_AGENT_ERROR:
        announce(talk, IK_ROLE_ERROR, event->text);
        break;
    case IK_AGENT_TURN_ENDED:
        on_turn_ended(talk, event->reason);
        break;
    }
    ik_repl_view_touch(view);
}

/* --- on and off the screen --------------------------------------------------------------- */

/* A very long past is in the pager. */
static size_t skip_earlier(ik_repl_talk_t *talk, const ik_conversation_t *conversation)
{
    size_t from = talk->shown;
    if (conversation->count - from > EARLIER_MESSAGES) {
        size_t left_out = conversation->count - EARLIER_MESSAGES - from;
        char *line = ik_sprintf(talk, "… %zu earlier messages, Ctrl-O", left_out);
        ik_repl_view_begin_block(talk->view);
        say(talk, IK_ROLE_DIM, line);
        talloc_free(line);
        from += left_out;
    }
    return from;
}

static bool is_shown_alone(const ik_msg_t *message)
{
    return !ik_msg_is(message, IK_MSG_TOOL_CALL) && !ik_msg_is(message, IK_MSG_SYSTEM);
}

static void print_missing(ik_repl_talk_t *talk)
{
    const ik_conversation_t *conversation = ik_agent_conversation(talk->agent);
    ik_repl_rows_t rows = ik_repl_view_rows(talk->view);
    size_t from = skip_earlier(talk, conversation);
    size_t results = count_results(conversation, 0, from);
    for (size_t i = from; i < conversation->count; i++) {
        results += ik_msg_is(conversation->messages[i], IK_MSG_TOOL_RESULT);
        if (is_shown_alone(conversation->messages[i])) {
            ik_repl_view_begin_block(talk->view);
            ik_repl_rows_message(&rows, conversation, i, results);
        }
    }
    talk->shown = conversation->count;
}

/* What came of the answer since it was last on the screen. */
static void feed_rest(ik_repl_talk_t *talk, const char *answer, size_t len)
{
    size_t had = talk->printed == NULL ? 0 : talk->fed;
    if (len > had) {
        ik_repl_view_begin_block(talk->view);
        feed_answer(talk, answer + had, len - had);
    }
}

/* The answer that was half on the screen when another talk came has ended meanwhile. */
static void finish_answer(ik_repl_talk_t *talk)
{
    const ik_conversation_t *conversation = ik_agent_conversation(talk->agent);
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
    talk->current = true;
    talk->news = false;
    if (talk->agent != NULL) {
        finish_answer(talk);
        print_missing(talk);
    }
    feed_rest(talk, talk->answer.data, talk->answer.len);
    ik_repl_view_touch(talk->view);
}

void ik_repl_talk_hide(ik_repl_talk_t *talk)
{
    talk->current = false;
}

bool ik_repl_talk_has_news(const ik_repl_talk_t *talk)
{
    return talk->news;
}

/* --- the queue --------------------------------------------------------------------------- */

void ik_repl_talk_queue(ik_repl_talk_t *talk, const char *text)
{
    talk->queue = ik_resize_array(talk, talk->queue, char *, talk->queue_count + 1);
    talk->queue[talk->queue_count++] = ik_strdup(talk, text);
    ik_repl_view_touch(talk->view);
}

const char *ik_repl_talk_next(const ik_repl_talk_t *talk)
{
    return talk->queue_count == 0 ? NULL : talk->queue[0];
}

void ik_repl_talk_drop_next(ik_repl_talk_t *talk)
{
    talloc_free(talk->queue[0]);
    talk->queue_count--;
    memmove(talk->queue, talk->queue + 1, talk->queue_count * sizeof(*talk->queue));
}

char *ik_repl_talk_queued(const void *ctx, const ik_repl_talk_t *talk)
{
    if (talk->queue_count == 0) {
        return NULL;
    }
    ik_buffer_t joined;
    ik_buffer_init(&joined, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < talk->queue_count; i++) {
        ik_buffer_append_text(&joined, i == 0 ? "" : "\n");
        ik_buffer_append_text(&joined, talk->queue[i]);
    }
    return ik_buffer_finish(&joined);
}

char *ik_repl_talk_take_queue(const void *ctx, ik_repl_talk_t *talk)
{
    char *joined = ik_repl_talk_queued(ctx, talk);
    while (talk->queue_count > 0) {
        ik_repl_talk_drop_next(talk);
    }
    ik_repl_view_touch(talk->view);
    return joined;
}

void ik_repl_talk_add_note(ik_repl_talk_t *talk, const char *text, const char *data_json)
{
    talk->notes = ik_resize_array(talk, talk->notes, char *, talk->note_count + 2);
    talk->notes[talk->note_count++] = ik_strdup(talk->notes, text);
    talk->notes[talk->note_count++] = data_json == NULL ? NULL : ik_strdup(talk->notes, data_json);
    if (!ik_repl_talk_is_busy(talk)) {
        add_notes(talk);
    }
}

/* --- the live area ----------------------------------------------------------------------- */

typedef struct {
    ik_repl_rows_t rows;
    ik_row_t row;
} canvas_t;

static void put_row(canvas_t *canvas)
{
    ik_repl_rows_put(&canvas->rows, &canvas->row);
}

/* The last rows of what is being thought. */
static void draw_reasoning(const ik_repl_talk_t *talk, canvas_t *canvas)
{
    const char *text = talk->reasoning.data;
    size_t len = talk->reasoning.len;
    size_t begin = ik_repl_rows_find_tail(text, len, REASONING_ROWS);
    ik_row_add_role(&canvas->row, IK_ROLE_DIM, ik_repl_view_spinner(talk->view));
    ik_row_add_role(&canvas->row, IK_ROLE_DIM, " thinking");
    put_row(canvas);
    while (begin < len) {
        const char *newline = memchr(text + begin, '\n', len - begin);
        size_t end = newline == NULL ? len : (size_t)(newline - text);
        ik_row_add(&canvas->row, ik_theme_style(canvas->row.theme, IK_ROLE_DIM), text + begin,
                   end - begin);
        put_row(canvas);
        begin = end + 1;
    }
}

static void draw_waiting(const ik_repl_talk_t *talk, canvas_t *canvas, const char *waiting_for)
{
    int64_t seconds = ik_repl_talk_busy_ms(talk) / 1000;
    ik_row_add_role(&canvas->row, IK_ROLE_DIM, ik_repl_view_spinner(talk->view));
    if (talk->retry_at_ms > 0) {
        int64_t left = ik_repl_talk_retry_ms(talk);
        ik_row_add_format(&canvas->row, IK_ROLE_WARNING,
                          " attempt %d of %d in %lld s: ", talk->retry_attempt, talk->retry_of,
                          (long long)((left + 999) / 1000));
        ik_row_add_role(&canvas->row, IK_ROLE_WARNING, talk->retry_reason);
    } else if (waiting_for != NULL) {
        ik_row_add_format(&canvas->row, IK_ROLE_DIM, " %s", waiting_for);
    } else {
        ik_row_add_format(&canvas->row, IK_ROLE_DIM, " waiting for the model, %lld s",
                          (long long)seconds);
    }
    put_row(canvas);
}

static void draw_queue(const ik_repl_talk_t *talk, canvas_t *canvas)
{
    for (size_t i = 0; i < talk->queue_count; i++) {
        if (i == QUEUE_ROWS) {
            ik_row_add_format(&canvas->row, IK_ROLE_DIM, "… %zu more queued",
                              talk->queue_count - i);
            put_row(canvas);
            return;
        }
        ik_row_add_role(&canvas->row, IK_ROLE_DIM, "queued: ");
        ik_row_add_role(&canvas->row, IK_ROLE_DIM, talk->queue[i]);
        put_row(canvas);
    }
}

void ik_repl_talk_draw(ik_repl_talk_t *talk, const char *waiting_for, int max_rows,
                       ik_repl_row_fn on_row, void *data)
{
    void *scratch = talloc_new(talk);
    canvas_t canvas = {.rows = {.on_row = on_row, .data = data}};
    bool busy = ik_repl_talk_is_busy(talk);
    ik_row_init(&canvas.row, scratch, ik_repl_view_theme(talk->view));
    if (talk->printed != NULL) {
        ik_repl_backlog_draw_open(talk->printed, on_row, data);
    }
    if (ik_repl_running_count(talk->running) > 0) {
        ik_repl_running_draw(talk->running, talk->view, max_rows, on_row, data);
    } else if (talk->reasoning.len > 0) {
        draw_reasoning(talk, &canvas);
    } else if (talk->printed == NULL && (busy || waiting_for != NULL)) {
        draw_waiting(talk, &canvas, waiting_for);
    }
    draw_queue(talk, &canvas);
    talloc_free(scratch);
}

/* --- for the status line ----------------------------------------------------------------- */

size_t ik_repl_talk_running(const ik_repl_talk_t *talk)
{
    return ik_repl_running_count(talk->running);
}

int64_t ik_repl_talk_retry_ms(const ik_repl_talk_t *talk)
{
    int64_t left = talk->retry_at_ms - ik_clock_now_ms();
    return talk->retry_at_ms == 0 ? -1 : left < 0 ? 0 : left;
}

int64_t ik_repl_talk_context(const ik_repl_talk_t *talk)
{
    return talk->context;
}

int64_t ik_repl_talk_busy_ms(const ik_repl_talk_t *talk)
{
    return talk->turn_ms == 0 ? 0 : ik_clock_now_ms() - talk->turn_ms;
}

const char *ik_repl_talk_title(const ik_repl_talk_t *talk)
{
    return talk->title;
}

void ik_repl_talk_start_turn(ik_repl_talk_t *talk, const char *text)
{
    talk->turn_ms = ik_clock_now_ms();
    ik_agent_start_turn(talk->agent, text);
}

/* --- looking back ------------------------------------------------------------------------ */

res_t ik_repl_talk_show_result(ik_repl_talk_t *talk, size_t number)
{
    const ik_conversation_t *conversation =
        talk->agent == NULL ? NULL : ik_agent_conversation(talk->agent);
    size_t results = 0;
    for (size_t i = 0; conversation != NULL && i < conversation->count; i++) {
        results += ik_msg_is(conversation->messages[i], IK_MSG_TOOL_RESULT);
        if (results == number && ik_msg_is(conversation->messages[i], IK_MSG_TOOL_RESULT)) {
            ik_repl_rows_t rows = ik_repl_view_rows(talk->view);
            rows.full = true;
            ik_repl_view_begin_block(talk->view);
            ik_repl_rows_message(&rows, conversation, i, number);
            return OK;
        }
    }
    return ERR(NOT_FOUND, "There is no tool result %zu; there are %zu so far", number, results);
}

/* How many results there are up to this page. A search asks for one page after the other, forwards
 * or backwards, and counts no result twice. */
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
    const ik_conversation_t *conversation = ik_agent_conversation(talk->agent);
    ik_repl_rows_t rows = {.theme = ik_repl_view_theme(talk->view),
                           .columns = columns,
                           .full = true,
                           .on_row = on_row,
                           .data = row_data};
    if (part < conversation->count && !ik_msg_is(conversation->messages[part], IK_MSG_TOOL_CALL)) {
        ik_repl_rows_message(&rows, conversation, part, number_page(talk, conversation, part));
        ik_repl_rows_gap(&rows);
    }
}

ik_pager_source_t ik_repl_talk_pages(ik_repl_talk_t *talk)
{
    return (ik_pager_source_t){
        .count = talk->agent == NULL ? 0 : ik_agent_conversation(talk->agent)->count,
        .render = render_page,
        .data = talk};
}
