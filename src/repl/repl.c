/*
 * The interactive front end passes keys and lines to the workspace and shows its events. repl_talk
 * shows the conversation of one agent, terminal/view drives the terminal, repl_host serves slash
 * commands, repl_shell runs "!CMD", and repl_draft saves unsent text.
 */
#include "repl/repl.h"

#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/print.h"
#include "base/shell_quote.h"
#include "command/command_session_list.h"
#include "repl/repl_state.h"
#include "store/history.h"

enum {
    STATUS_DONE = 0,
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,
    CANCEL_AGAIN_MS = 2000,
    SEND_RETURNED_MS = 1000, /* for the second Esc */
    FINISH_MS = 1000,        /* at the end, for delivery to a shared history */
    LEAVING_MS = 1000,       /* at the end, for running tools: twice their grace period */
};

void ik_repl_say(ik_repl_t *repl, ik_role_t role, const char *text)
{
    ik_rows_t rows = ik_view_rows(repl->view);
    ik_rows_say(&rows, role, text);
}

void ik_repl_leave(ik_repl_t *repl, int status)
{
    if (!repl->done) {
        repl->done = true;
        repl->status = status;
    }
}

/* --- input ------------------------------------------------------------------------------- */

/* Whether Esc has something to interrupt: the agent with the focus, its queue, or a !CMD. */
static bool is_occupied(const ik_repl_t *repl)
{
    int64_t focus = ik_workspace_focus(repl->workspace);
    return repl->shell != NULL || ik_workspace_is_busy(repl->workspace, focus) ||
           ik_workspace_queued(repl->workspace, focus, 0) != NULL;
}

/* Holds the queues until the command is done. */
static void run_command(ik_repl_t *repl, const char *line, bool busy)
{
    if (!ik_view_echoes(repl->view)) {
        ik_rows_t rows = ik_view_rows(repl->view);
        ik_view_begin_block(repl->view);
        char *shown = ik_strndup(NULL, line, ik_command_public_length(&repl->host, line));
        ik_rows_lines(&rows, IK_ROLE_USER, shown);
        talloc_free(shown);
    }
    repl->host.columns = (size_t)ik_view_rows(repl->view).columns;
    ik_workspace_hold(repl->workspace);
    ik_command_run(&repl->host, line, busy);
    ik_workspace_release(repl->workspace);
}

/* Commands and messages wait in the same queue. */
static void submit(ik_repl_t *repl, const char *text, ik_workspace_submit_t kind)
{
    ik_workspace_t *workspace = repl->workspace;
    bool command = ik_command_is_line(text) || text[0] == IK_PROMPT_SIGN_SHELL;
    if (text[strspn(text, " \t\n")] != '\0') {
        ik_workspace_submit(workspace, ik_workspace_focus(workspace), text,
                            command ? NULL : ik_workspace_attach(workspace, text),
                            command ? IK_WORKSPACE_SUBMIT_COMMAND : kind);
    }
}

/* A slash command runs at once, unless it needs the tools and discovery is still running. */
static void on_submit(void *data, const char *text)
{
    ik_repl_t *repl = data;
    ik_workspace_t *workspace = repl->workspace;
    if (ik_repl_question_submit(repl, text)) {
        /* it was an answer */
    } else if (repl->setup != NULL && !repl->done && ik_setup_submit(repl->setup, text)) {
        return; /* it may be a key: nothing else sees it */
    } else if (ik_command_is_line(text) && !repl->done && ik_workspace_is_open(workspace) &&
               !ik_command_must_wait(&repl->host, text)) {
        run_command(repl, text, is_occupied(repl));
    } else {
        submit(repl, text, IK_WORKSPACE_SUBMIT_NEXT);
    }
    ik_repl_question_draft_changed(repl);
    ik_repl_draft_changed(repl->draft);
}

/* Alt-Enter while the agent works: commands wait for the end of the turn, too. */
static void queue_draft(ik_repl_t *repl)
{
    char *text = ik_prompt_take(repl, ik_view_prompt(repl->view));
    submit(repl, text, IK_WORKSPACE_SUBMIT_QUEUED);
    talloc_free(text);
}

/* Moves the text that was entered last back from the queue into the draft, which is empty. */
static void recover_latest(ik_repl_t *repl)
{
    char *text =
        ik_workspace_take_latest(repl, repl->workspace, ik_workspace_focus(repl->workspace));
    if (text != NULL) {
        ik_prompt_set_text(ik_view_prompt(repl->view), text);
        ik_repl_draft_changed(repl->draft);
    }
    talloc_free(text);
}

static void print_unsent(ik_repl_t *repl, const char *text, const char *heading)
{
    ik_rows_t rows = ik_view_rows(repl->view);
    ik_repl_say(repl, IK_ROLE_WARNING, heading);
    ik_rows_lines(&rows, IK_ROLE_TEXT, text);
}

void ik_repl_return_text(ik_repl_t *repl, const char *text, const char *heading)
{
    ik_prompt_t *prompt = ik_view_prompt(repl->view);
    if (prompt != NULL) {
        ik_prompt_prepend_text(prompt, text);
        ik_view_touch(repl->view);
    } else {
        print_unsent(repl, text, heading);
    }
    ik_repl_draft_changed(repl->draft);
}

/* Moves the agent's queue back into the draft. */
static void give_back_queue(ik_repl_t *repl, int64_t agent)
{
    char *text = ik_workspace_take_queue(repl, repl->workspace, agent);
    if (text != NULL) {
        ik_repl_return_text(repl, text, "Not sent:");
    }
    talloc_free(text);
}

/* Remembers what waits for an agent as it is to be sent: messages are joined, but a command stays
 * by itself. A message that follows "!make" is not part of it. */
static void remember_queue(ik_repl_t *repl, int64_t agent)
{
    ik_repl_returned_t *returned = &repl->returned;
    bool joins = false; /* a message joins the line before it */
    const ik_workspace_line_t *line;
    for (size_t i = 0; (line = ik_workspace_queued(repl->workspace, agent, i)) != NULL; i++) {
        bool command = line->kind == IK_WORKSPACE_SUBMIT_COMMAND;
        if (joins && !command) {
            char **last = &returned->lines[returned->count - 1];
            *last = ik_sprintf(returned->lines, "%s\n%s", *last, line->text);
        } else {
            returned->lines = ik_resize_array(repl, returned->lines, char *, returned->count + 1);
            returned->lines[returned->count++] = ik_strdup(returned->lines, line->text);
        }
        joins = !command;
    }
}

/* The first Esc: moves the queue of the agent with the focus back into the draft and remembers it.
 */
static void return_queue(ik_repl_t *repl)
{
    ik_prompt_t *prompt = ik_view_prompt(repl->view);
    int64_t focus = ik_workspace_focus(repl->workspace);
    ik_repl_returned_t *returned = &repl->returned;
    if (ik_workspace_queued(repl->workspace, focus, 0) == NULL) {
        return;
    }
    talloc_free(returned->lines);
    *returned = (ik_repl_returned_t){0};
    remember_queue(repl, focus);
    returned->draft = ik_prompt_text(returned->lines, prompt);
    char *text = ik_workspace_take_queue(NULL, repl->workspace, focus);
    ik_prompt_prepend_text(prompt, text);
    talloc_free(text);
    returned->version = ik_prompt_version(prompt);
    returned->at_ms = ik_clock_now_ms();
    ik_repl_draft_changed(repl->draft);
}

/* The second Esc: sends what the first one returned to the draft, unless the draft was changed.
 * What was being typed stays. */
static bool send_returned(ik_repl_t *repl)
{
    ik_prompt_t *prompt = ik_view_prompt(repl->view);
    ik_repl_returned_t returned = repl->returned;
    bool due = returned.lines != NULL && ik_prompt_version(prompt) == returned.version &&
               ik_clock_now_ms() - returned.at_ms < SEND_RETURNED_MS;
    repl->returned = (ik_repl_returned_t){0};
    if (due) {
        ik_prompt_set_text(prompt, returned.draft);
        for (size_t i = 0; i < returned.count; i++) {
            submit(repl, returned.lines[i], IK_WORKSPACE_SUBMIT_QUEUED);
        }
        ik_repl_draft_changed(repl->draft);
    }
    talloc_free(returned.lines);
    return due;
}

/* --- talks ------------------------------------------------------------------------------- */

static size_t find_talk(const ik_repl_t *repl, int64_t agent)
{
    size_t i = 0;
    while (i < repl->talk_count && ik_repl_talk_number(repl->talks[i]) != agent) {
        i++;
    }
    return i;
}

ik_repl_talk_t *ik_repl_obtain_talk(ik_repl_t *repl, int64_t agent)
{
    size_t index = find_talk(repl, agent);
    if (index == repl->talk_count) {
        repl->talks = ik_resize_array(repl, repl->talks, ik_repl_talk_t *, repl->talk_count + 1);
        repl->talks[repl->talk_count++] = ik_repl_talk_create(repl, repl->view, &repl->host, agent);
    }
    return repl->talks[index];
}

/* Closes the pager, which may be showing the talk. */
static void remove_talk(ik_repl_t *repl, size_t index)
{
    ik_view_close_pager(repl->view);
    talloc_free(repl->talks[index]);
    repl->talk_count--;
    memmove(repl->talks + index, repl->talks + index + 1,
            (repl->talk_count - index) * sizeof(*repl->talks));
}

static void show_talk(ik_repl_t *repl, int64_t agent)
{
    ik_repl_talk_t *talk = ik_repl_obtain_talk(repl, agent);
    if (repl->current != NULL) {
        ik_repl_talk_hide(repl->current);
        char *line = ik_sprintf(repl, "── agent %lld ──", (long long)agent);
        ik_view_begin_block(repl->view);
        ik_repl_say(repl, IK_ROLE_RULE, line);
        talloc_free(line);
    }
    repl->current = talk;
    ik_repl_talk_show(talk);
}

/* After an undo or redo another agent continues the conversation. What both have in common is on
 * the screen already. */
static void replace_talk(ik_repl_t *repl, int64_t agent)
{
    int64_t old = ik_repl_talk_number(repl->current);
    ik_repl_talk_hide(repl->current);
    repl->current = ik_repl_obtain_talk(repl, agent);
    ik_repl_talk_mark_shown(repl->current);
    ik_repl_talk_show(repl->current);
    remove_talk(repl, find_talk(repl, old));
}

/* Plain mode, which cannot edit the draft, prints it. Its file is kept until a line is entered. */
static void restore_draft(ik_repl_t *repl)
{
    const char *id = ik_session_id(ik_workspace_session(repl->workspace));
    char *text = ik_repl_draft_find(repl, repl->draft, id);
    if (text != NULL && ik_view_prompt(repl->view) != NULL) {
        ik_repl_return_text(repl, text, "Not sent:");
    } else if (text != NULL) {
        print_unsent(repl, text, "Not sent:");
    }
    talloc_free(text);
}

/* --- choosing a session ------------------------------------------------------------------ */

static void on_session_chosen(void *data, const char *id, bool second)
{
    (void)second;
    ik_workspace_choose(((ik_repl_t *)data)->workspace, id);
}

static void offer_sessions(ik_repl_t *repl, const ik_store_list_t *list)
{
    ik_choice_row_t *rows = ik_command_session_list_rows(repl, list);
    ik_view_list_open(repl->view, &(ik_view_list_options_t){.title = "Resume which session?",
                                                            .rows = rows,
                                                            .count = list->count,
                                                            .on_taken = on_session_chosen,
                                                            .data = repl});
    talloc_free(rows);
}

/* --- workspace events -------------------------------------------------------------------- */

static void end_session(ik_repl_t *repl)
{
    for (size_t i = 0; i < ik_workspace_agent_count(repl->workspace); i++) {
        give_back_queue(repl, ik_workspace_agent_number(repl->workspace, i));
    }
    ik_repl_shell_drop(repl, 0);
    while (repl->talk_count > 0) {
        remove_talk(repl, repl->talk_count - 1);
    }
    repl->current = NULL;
}

static void begin_session(ik_repl_t *repl, const ik_workspace_event_t *event)
{
    const ik_workspace_start_t *start = repl->options->start;
    bool first = repl->current != NULL; /* end_session clears it */
    if (first) {
        remove_talk(repl, 0);
        repl->current = NULL;
    }
    show_talk(repl, event->agent);
    if (event->resumed ||
        (first && (start->continue_last || start->choose || start->resume != NULL))) {
        restore_draft(repl);
    } else if (!first) {
        ik_view_begin_block(repl->view);
        ik_repl_say(repl, IK_ROLE_DIM, "New conversation.");
    }
    ik_repl_draft_set_session(repl->draft, ik_session_id(ik_workspace_session(repl->workspace)));
    if (repl->setup_due) {
        repl->setup_due = false;
        ik_repl_setup_start(repl);
    }
}

static void end_agent(ik_repl_t *repl, int64_t agent)
{
    size_t index = find_talk(repl, agent);
    ik_repl_shell_drop(repl, agent);
    give_back_queue(repl, agent);
    if (index < repl->talk_count) {
        remove_talk(repl, index);
    }
}

/* After a failure the queue returns to the draft: the rest of it would fail as well. After an
 * interrupt it has returned already; what was sent since then follows now. */
static void on_agent_event(ik_repl_t *repl, int64_t agent, const ik_agent_event_t *event)
{
    ik_repl_talk_t *talk = ik_repl_obtain_talk(repl, agent);
    ik_repl_talk_on_event(talk, event);
    if (event->kind == IK_AGENT_TOOL_STARTED || event->kind == IK_AGENT_TURN_ENDED) {
        ik_repl_status_watch_context(repl); /* the answer is complete on the screen */
    }
    if (event->kind != IK_AGENT_TURN_ENDED) {
        return;
    }
    if (event->reason == IK_TURN_ERROR && ik_view_prompt(repl->view) != NULL) {
        give_back_queue(repl, agent);
    }
    if (event->reason != IK_TURN_INTERRUPTED && !ik_workspace_is_subagent(repl->workspace, agent) &&
        ik_repl_talk_busy_ms(talk) >= 1000 * repl->options->config->notify_after_seconds) {
        char *text = ik_sprintf(repl, "%s: %s", event->reason == IK_TURN_ERROR ? "failed" : "done",
                                ik_workspace_agent_title(repl->workspace, agent));
        ik_view_notify(repl->view, text);
        talloc_free(text);
    }
}

/* The spinner turns while the agent on the screen is busy. At the end of input, the program ends
 * when all other agents are idle, too. */
static void settle(ik_repl_t *repl)
{
    const ik_workspace_t *workspace = repl->workspace;
    int64_t focus = ik_workspace_focus(workspace);
    bool waits = ik_workspace_waiting_for(workspace) != NULL;
    bool queued = ik_workspace_queued(workspace, focus, 0) != NULL;
    bool busy = ik_workspace_is_busy(workspace, focus) || repl->shell != NULL;
    bool undoing = ik_workspace_is_undoing(workspace);
    bool idle = !busy && !queued && !waits && !undoing;
    ik_view_set_busy(repl->view, busy || undoing || (queued && waits));
    if (repl->ending && idle && !ik_workspace_is_busy(workspace, 0)) {
        ik_repl_leave(repl, STATUS_DONE);
    } else if (!repl->ending && idle && ik_workspace_question(workspace) == NULL) {
        ik_view_want_line(repl->view);
    }
}

/* What Alt-Enter and Up do depends on it. */
static void tell_prompt(ik_repl_t *repl)
{
    ik_prompt_t *prompt = ik_view_prompt(repl->view);
    int64_t focus = ik_workspace_focus(repl->workspace);
    if (prompt != NULL) {
        ik_prompt_set_working(prompt,
                              repl->shell != NULL || ik_workspace_is_busy(repl->workspace, focus),
                              ik_workspace_queued(repl->workspace, focus, 0) != NULL);
    }
}

static void say_line(ik_repl_t *repl, const ik_workspace_event_t *event)
{
    static const ik_role_t roles[] = {[IK_WORKSPACE_TEXT] = IK_ROLE_TEXT,
                                      [IK_WORKSPACE_NOTE] = IK_ROLE_DIM,
                                      [IK_WORKSPACE_WARNING] = IK_ROLE_WARNING,
                                      [IK_WORKSPACE_ERROR] = IK_ROLE_ERROR};
    ik_repl_say(repl, roles[event->level], event->text);
}

static void say_level(ik_repl_t *repl)
{
    char *line = ik_workspace_describe_level(repl, repl->workspace);
    if (line != NULL) {
        ik_repl_say(repl, IK_ROLE_WARNING, line);
    }
    talloc_free(line);
}

static void on_event(void *data, const ik_workspace_event_t *event)
{
    ik_repl_t *repl = data;
    if (repl->closed) { /* hooks may still have something to say */
        if (event->kind == IK_WORKSPACE_LINE) {
            ik_print_line(stderr, event->text);
        }
        return;
    }
    switch (event->kind) {
    case IK_WORKSPACE_LINE:
        say_line(repl, event);
        break;
    case IK_WORKSPACE_SESSION_ENDS:
        end_session(repl);
        break;
    case IK_WORKSPACE_SESSION:
        begin_session(repl, event);
        break;
    case IK_WORKSPACE_FORKED:
        ik_repl_talk_mark_shown(ik_repl_obtain_talk(repl, event->agent));
        break;
    case IK_WORKSPACE_SUBAGENT: /* it is shown when the user switches to it */
        break;
    case IK_WORKSPACE_FOCUS:
        show_talk(repl, event->agent);
        break;
    case IK_WORKSPACE_AGENT_ENDS:
        end_agent(repl, event->agent);
        break;
    case IK_WORKSPACE_REPLACED:
        replace_talk(repl, event->agent);
        break;
    case IK_WORKSPACE_TURN:
        ik_repl_talk_begin_turn(ik_repl_obtain_talk(repl, event->agent));
        break;
    case IK_WORKSPACE_AGENT:
        on_agent_event(repl, event->agent, event->event);
        break;
    case IK_WORKSPACE_COMMAND:
        if (event->text[0] == IK_PROMPT_SIGN_SHELL) {
            ik_repl_shell_start(repl, event->text + 1 + strspn(event->text + 1, " \t"));
        } else {
            run_command(repl, event->text, false);
        }
        break;
    case IK_WORKSPACE_QUEUE:
        ik_repl_draft_changed(repl->draft);
        break;
    case IK_WORKSPACE_BLOCKED:
        ik_repl_return_text(repl, event->text, "Not sent:");
        break;
    case IK_WORKSPACE_QUESTION:
        ik_repl_question_show(repl);
        if (repl->ending) {
            ik_timer_start(repl->unanswered, 0); /* not while it is being asked */
        }
        break;
    case IK_WORKSPACE_FAILED:
        ik_repl_say(repl, IK_ROLE_ERROR, ik_sprintf(repl, "ikigai: %s", event->result->message));
        ik_repl_leave(repl, event->misconfigured ? STATUS_USAGE : STATUS_FAILED);
        break;
    case IK_WORKSPACE_SETTLED:
        settle(repl);
        ik_repl_status_watch_context(repl);
        break;
    case IK_WORKSPACE_CHOOSE:
        offer_sessions(repl, event->sessions);
        break;
    case IK_WORKSPACE_LEVEL:
        say_level(repl);
        break;
    case IK_WORKSPACE_JOBS: /* the status line counts them */
    case IK_WORKSPACE_READY:
        break;
    }
    tell_prompt(repl);
    ik_view_touch(repl->view);
}

/* --- keys -------------------------------------------------------------------------------- */

/* The queue returns to the draft at once, before the turn ends, so that it is not sent. In plain
 * mode there is no draft, and it is sent after what is interrupted. */
static void interrupt(ik_repl_t *repl)
{
    int64_t focus = ik_workspace_focus(repl->workspace);
    if (ik_workspace_question(repl->workspace) != NULL) {
        ik_workspace_decline(repl->workspace);
        settle(repl);
        return;
    }
    bool working = repl->shell != NULL || ik_workspace_is_busy(repl->workspace, focus);
    if (ik_view_prompt(repl->view) != NULL) {
        return_queue(repl);
    } else if (!working) {
        give_back_queue(repl, focus);
    }
    if (repl->shell != NULL) {
        ik_repl_shell_cancel(repl);
    } else {
        ik_workspace_interrupt(repl->workspace, focus);
    }
    settle(repl);
}

/* Ends the turn of an agent whose tool asks, which Esc would only decline: the tool could ask
 * again.
 */
static bool interrupt_asker(ik_repl_t *repl)
{
    const ik_question_t *question = ik_workspace_question(repl->workspace);
    if (question == NULL || question->tool == NULL) {
        return false;
    }
    ik_workspace_interrupt(repl->workspace, question->agent);
    settle(repl);
    return true;
}

static void on_unanswered(void *data)
{
    const ik_repl_t *repl = data;
    ik_workspace_decline(repl->workspace);
}

/* Queued lines of plain mode still run after the end of input; questions are declined. An undo is
 * finished first, unless the user insists: a redo would lack the files that it had restored. */
static void end_input(ik_repl_t *repl)
{
    bool insists = repl->ending;
    if (!repl->ending) {
        repl->unanswered = ik_timer_create(repl, repl->options->loop, on_unanswered, repl);
    }
    repl->ending = true;
    if (ik_view_prompt(repl->view) != NULL &&
        (insists || !ik_workspace_is_undoing(repl->workspace))) {
        ik_repl_leave(repl, STATUS_DONE);
    }
    ik_workspace_decline(repl->workspace);
    settle(repl);
}

static void cancel(ik_repl_t *repl)
{
    int64_t now = ik_clock_now_ms();
    if (interrupt_asker(repl)) {
        return;
    }
    if (is_occupied(repl) || ik_workspace_question(repl->workspace) != NULL) {
        interrupt(repl);
    } else if (repl->cancelled_ms != 0 && now - repl->cancelled_ms < CANCEL_AGAIN_MS) {
        end_input(repl);
    } else {
        repl->cancelled_ms = now;
        ik_prompt_set_hint(ik_view_prompt(repl->view), "Press Ctrl-C again to leave");
    }
}

void ik_repl_open_pager(ik_repl_t *repl)
{
    ik_pager_source_t source = ik_repl_talk_pages(repl->current);
    if (source.count == 0) {
        ik_repl_say(repl, IK_ROLE_DIM, "No messages yet.");
    } else {
        ik_view_open_pager(repl->view, &source, "transcript");
    }
}

static void switch_tool_output(ik_repl_t *repl)
{
    bool brief = !ik_view_rows(repl->view).brief;
    ik_view_set_brief(repl->view, brief);
    ik_view_begin_block(repl->view);
    ik_repl_say(repl, IK_ROLE_DIM, brief ? "tool_output: short" : "tool_output: full");
}

/* The mode full is entered with /mode only. */
static void next_mode(ik_repl_t *repl)
{
    static const ik_mode_t next[] = {[IK_MODE_AUTO] = IK_MODE_ASK,
                                     [IK_MODE_ASK] = IK_MODE_PLAN,
                                     [IK_MODE_PLAN] = IK_MODE_AUTO,
                                     [IK_MODE_FULL] = IK_MODE_AUTO};
    int64_t focus = ik_workspace_focus(repl->workspace);
    ik_workspace_set_mode(repl->workspace, focus, next[ik_workspace_mode(repl->workspace, focus)]);
}

static void on_action(void *data, ik_prompt_action_t action)
{
    ik_repl_t *repl = data;
    if (repl->setup != NULL && ik_workspace_question(repl->workspace) == NULL &&
        ik_setup_act(repl->setup, action)) {
        return;
    }
    switch (action) {
    case IK_PROMPT_ESCAPE:
        if (ik_workspace_question(repl->workspace) != NULL || !send_returned(repl)) {
            interrupt(repl);
        }
        break;
    case IK_PROMPT_QUEUE:
        queue_draft(repl);
        break;
    case IK_PROMPT_RECOVER:
        recover_latest(repl);
        break;
    case IK_PROMPT_CANCEL:
        cancel(repl);
        break;
    case IK_PROMPT_END:
        end_input(repl);
        break;
    case IK_PROMPT_PAGER:
        if (!ik_repl_question_open_pager(repl)) {
            ik_repl_open_pager(repl);
        }
        break;
    case IK_PROMPT_ANSWER:
        ik_repl_question_answer(repl);
        break;
    case IK_PROMPT_TOOL_OUTPUT:
        switch_tool_output(repl);
        break;
    case IK_PROMPT_IMAGE:
        ik_repl_images_paste(repl);
        break;
    case IK_PROMPT_MODE:
        next_mode(repl);
        break;
    case IK_PROMPT_CHOSEN: /* the next line is wanted, unless the choice began something */
        settle(repl);
        break;
    default:
        break;
    }
}

static void on_draft(void *data)
{
    ik_repl_t *repl = data;
    if (repl->cancelled_ms != 0) {
        repl->cancelled_ms = 0;
        ik_prompt_set_hint(ik_view_prompt(repl->view), NULL);
    }
    ik_workspace_expect_message(repl->workspace);
    ik_repl_question_draft_changed(repl);
    ik_repl_draft_changed(repl->draft);
}

/* In plain mode Ctrl-C is a signal, which interrupts first. */
static void on_leave(void *data, int signal)
{
    ik_repl_t *repl = data;
    bool plain = ik_view_prompt(repl->view) == NULL;
    bool occupied = is_occupied(repl) || ik_workspace_question(repl->workspace) != NULL;
    if (plain && signal == SIGINT && occupied) {
        if (!interrupt_asker(repl)) {
            interrupt(repl);
        }
    } else {
        ik_repl_leave(repl, 128 + signal);
    }
}

/* --- the live area ----------------------------------------------------------------------- */

/* Whether the agent on the screen waits for the user's answer. */
static bool is_asking(const ik_repl_t *repl)
{
    const ik_question_t *question = ik_workspace_question(repl->workspace);
    return question != NULL && question->agent == ik_workspace_focus(repl->workspace);
}

static void draw_activity(void *data, int max_rows, ik_rows_fn on_row, void *row_data)
{
    ik_repl_t *repl = data;
    ik_repl_shell_draw(repl, max_rows, on_row, row_data);
    bool interruptible = repl->shell == NULL && !is_asking(repl);
    ik_repl_talk_draw(repl->current, max_rows, interruptible, on_row, row_data);
    ik_repl_question_draw(repl, max_rows, on_row, row_data);
}

static void draw_status(void *data, ik_row_t *row)
{
    ik_repl_status_draw(data, row);
}

/* --- starting ---------------------------------------------------------------------------- */

/* Whether the prompt of the command line is a command; other words with a slash are a message, as
 * with -p. */
static bool is_command(const ik_repl_t *repl, const char *prompt)
{
    if (prompt[0] != '/' || !ik_command_is_line(prompt)) {
        return false;
    }
    void *scratch = talloc_new(NULL);
    bool known = ik_command_find(prompt, strcspn(prompt, " \t\r\n")) != NULL ||
                 ik_workspace_find_custom(scratch, repl->workspace, prompt) != NULL;
    talloc_free(scratch);
    return known;
}

/* Runs after the first frame. */
static void on_start(void *data)
{
    ik_repl_t *repl = data;
    ik_workspace_t *workspace = repl->workspace;
    const char *prompt = repl->options->start->prompt;
    ik_workspace_hold(workspace);
    res_t started = ik_workspace_start(workspace);
    if (is_err(&started)) {
        ik_repl_say(repl, IK_ROLE_ERROR, started.message);
        ik_repl_leave(repl, STATUS_USAGE);
        return;
    }
    bool offers_setup = ik_repl_setup_is_due(repl);
    ik_repl_status_welcome(repl, offers_setup);
    if (offers_setup && repl->options->start->choose) {
        repl->setup_due = true;
    } else if (offers_setup) {
        ik_repl_setup_start(repl);
    }
    if (prompt == NULL && repl->options->start->images[0] != NULL) {
        ik_repl_say(repl, IK_ROLE_DIM,
                    repl->options->start->images[1] == NULL
                        ? "The image is sent with your first message."
                        : "The images are sent with your first message.");
    }
    if (prompt != NULL) {
        bool command = is_command(repl, prompt);
        ik_workspace_submit(workspace, ik_workspace_focus(workspace), prompt,
                            command ? NULL : ik_workspace_attach(workspace, prompt),
                            command ? IK_WORKSPACE_SUBMIT_COMMAND : IK_WORKSPACE_SUBMIT_QUEUED);
    }
    ik_view_set_title(repl->view, ik_sprintf(repl, "ikigai: %s", repl->options->paths->cwd));
    ik_workspace_release(workspace);
}

static void append_unsent(ik_repl_t *repl, ik_buffer_t *text, const char *unsent)
{
    ik_buffer_append_text(text, text->len == 0 ? "" : "\n");
    ik_buffer_append(text, unsent, ik_command_public_length(&repl->host, unsent));
}

/* All unsent text: the queues of all agents, and the draft. */
static char *draft_text(void *data, const void *ctx)
{
    ik_repl_t *repl = data;
    const ik_workspace_t *workspace = repl->workspace;
    ik_prompt_t *prompt = ik_view_prompt(repl->view);
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by what was typed */
    ik_buffer_append_text(&text, "");
    for (size_t i = 0; i < ik_workspace_agent_count(workspace); i++) {
        int64_t number = ik_workspace_agent_number(workspace, i);
        const ik_workspace_line_t *line;
        for (size_t k = 0; (line = ik_workspace_queued(workspace, number, k)) != NULL; k++) {
            append_unsent(repl, &text, line->text);
        }
    }
    char *draft = prompt == NULL ? NULL : ik_prompt_text(NULL, prompt);
    if (draft != NULL && *draft != '\0') {
        append_unsent(repl, &text, draft);
    }
    talloc_free(draft);
    return ik_buffer_finish(&text);
}

static void on_files(void *data)
{
    ik_repl_t *repl = data;
    if (ik_view_prompt(repl->view) != NULL) {
        ik_prompt_refresh(ik_view_prompt(repl->view));
        ik_view_touch(repl->view);
    }
}

static res_t begin(ik_repl_t *repl)
{
    const ik_repl_options_t *options = repl->options;
    ik_view_options_t view = {.loop = options->loop,
                              .host = options->host,
                              .paths = options->paths,
                              .config = options->config,
                              .plain = options->plain,
                              .vi = options->config->keys == IK_CONFIG_KEYS_VI,
                              .completion = ik_repl_host_completion(repl),
                              .listener = {.on_submit = on_submit,
                                           .on_action = on_action,
                                           .on_draft = on_draft,
                                           .on_leave = on_leave,
                                           .draw_activity = draw_activity,
                                           .draw_status = draw_status,
                                           .data = repl}};
    ik_workspace_options_t workspace = {.paths = options->paths,
                                        .config = options->config,
                                        .loop = options->loop,
                                        .host = options->host,
                                        .start = options->start,
                                        .on_event = on_event,
                                        .data = repl};
    repl->workspace = ik_workspace_create(repl, &workspace);
    repl->question = ik_repl_question_create(repl);
    repl->host = (ik_command_host_t){
        .screen = &ik_repl_host_screen, .workspace = repl->workspace, .ctx = repl, .data = repl};
    repl->files = ik_repl_files_create(repl, options->host, options->paths, on_files, repl);
    repl->draft = ik_repl_draft_create(repl, options->loop, options->paths, draft_text, repl);
    TRY(ik_view_create(repl, &view, &repl->view));
    ik_view_set_brief(repl->view, options->config->tool_output == IK_CONFIG_TOOL_OUTPUT_SHORT);
    show_talk(repl, ik_workspace_focus(repl->workspace));
    ik_view_open(repl->view);
    repl->start = ik_timer_create(repl, options->loop, on_start, repl);
    ik_timer_start(repl->start, 0);
    return OK;
}

/* --- ending ------------------------------------------------------------------------------ */

/* Saves the draft even if no session was opened. */
static void save_draft(ik_repl_t *repl)
{
    if (ik_workspace_session(repl->workspace) == NULL) {
        char *id = ik_store_new_id(repl);
        ik_repl_draft_set_session(repl->draft, id);
        talloc_free(id);
    }
    ik_repl_draft_save_now(repl->draft);
}

static void end_jobs(ik_repl_t *repl)
{
    size_t ended = ik_workspace_end_jobs(repl->workspace);
    if (ended > 0) {
        char *line =
            ik_sprintf(repl, "Stopped %zu background job%s.", ended, ended == 1 ? "" : "s");
        ik_view_begin_block(repl->view);
        ik_repl_say(repl, IK_ROLE_DIM, line);
        talloc_free(line);
    }
}

/* " --db FILE" if the session is in a file that only the option names; a session of a shared
 * history is in the usual file, too. */
static char *format_db_option(ik_repl_t *repl)
{
    const char *db = repl->options->db;
    const char *usual = repl->options->paths->database;
    if (db == NULL || strcmp(ik_history_local_file(db, usual), usual) == 0) {
        return ik_strdup(repl, "");
    }
    ik_buffer_t option;
    ik_buffer_init(&option, repl, IK_BUFFER_UNLIMITED); /* bounded by the path */
    ik_buffer_append_text(&option, " --db ");
    if (strpbrk(db, " \t\n\"'\\!#$&()*;<>?[]`{|}~") == NULL) {
        ik_buffer_append_text(&option, db);
    } else {
        ik_shell_quote(&option, db);
    }
    return ik_buffer_finish(&option);
}

static void say_farewell(ik_repl_t *repl)
{
    ik_session_t *session = ik_workspace_session(repl->workspace);
    if (session != NULL && ik_workspace_usage(repl->workspace)->turns > 0 && repl->status <= 128) {
        char *option = format_db_option(repl);
        res_t saved = ik_session_finish(session);
        char *line =
            is_ok(&saved)
                ? ik_sprintf(option, "Resume with: ikigai%s -r %.8s", option,
                             ik_session_id(session))
                : ik_sprintf(option, "Not all of this conversation was saved: %s", saved.message);
        ik_view_begin_block(repl->view);
        ik_repl_say(repl, is_ok(&saved) ? IK_ROLE_DIM : IK_ROLE_WARNING, line);
        talloc_free(option);
    }
}

/* Restores the terminal before the steps that may take a moment. */
static void end(ik_repl_t *repl)
{
    repl->done = true;
    ik_repl_shell_cancel(repl);
    TALLOC_FREE(repl->setup);
    ik_workspace_stop(repl->workspace, LEAVING_MS);
    ik_view_end_editor(repl->view);
    save_draft(repl);
    end_jobs(repl);
    say_farewell(repl);
    ik_view_close(repl->view);
    repl->closed = true;
    ik_repl_shell_drop(repl, 0);
    TALLOC_FREE(repl->clipboard);
    TALLOC_FREE(repl->image);
    ik_workspace_close(repl->workspace, repl->status > 128 ? 0 : FINISH_MS);
}

int ik_repl_run(const void *ctx, const ik_repl_options_t *options)
{
    ik_repl_t *repl = ik_new(ctx, ik_repl_t);
    repl->options = options;
    res_t begun = begin(repl);
    if (is_err(&begun)) {
        fprintf(stderr, "ikigai: %s\n", begun.message);
        ik_workspace_close(repl->workspace, 0);
        talloc_free(repl);
        return STATUS_USAGE;
    }
    ik_loop_run_until(options->loop, &repl->done);
    int status = repl->status;
    end(repl);
    talloc_free(repl);
    return status;
}
