#include "repl/repl.h"

#include <signal.h>
#include <string.h>

#include "agent/agent_target.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "repl/repl_state.h"

enum {
    STATUS_DONE = 0,
    STATUS_USAGE = 2,
    CANCEL_AGAIN_MS = 2000,
    LONG_TURN_MS = 10000, /* whoever looked away wants to hear that it is over */
    FINISH_MS = 1000,     /* for the delivery to a shared history at the end */
    LEAVING_MS = 1000,    /* for tools that run at the end: twice the grace they have */
    LEAVING_CHECK_MS = 5,
};

void ik_repl_say(ik_repl_t *repl, ik_role_t role, const char *text)
{
    ik_repl_rows_t rows = ik_repl_view_rows(repl->view);
    ik_repl_rows_say(&rows, role, text);
}

void ik_repl_leave(ik_repl_t *repl, int status)
{
    if (!repl->done) {
        repl->done = true;
        repl->status = status;
    }
}

const ik_target_t *ik_repl_target(const ik_repl_t *repl)
{
    const ik_agent_t *agent = ik_repl_talk_agent(repl->current);
    return agent == NULL ? repl->target : ik_agent_target(agent);
}

/* --- what was entered -------------------------------------------------------------------- */

const char *ik_repl_waiting_for(const ik_repl_t *repl)
{
    if (repl->target == NULL) {
        return "starting";
    }
    if (repl->choices != NULL) {
        return "choosing a session";
    }
    if (repl->opening != NULL) {
        return "opening the session";
    }
    if (repl->shared.tool_scan_state == TOOL_SCAN_IN_PROGRESS) {
        return "looking for tools";
    }
    if (repl->rechecking) {
        return "asking your tools again";
    }
    return NULL;
}

/* Esc has something to do. */
static bool is_occupied(const ik_repl_t *repl)
{
    return repl->shell != NULL || ik_repl_talk_is_busy(repl->current) ||
           ik_repl_talk_next(repl->current) != NULL;
}

static void run_command(ik_repl_t *repl, const char *line, bool busy)
{
    if (!ik_repl_view_echoes(repl->view)) {
        ik_repl_rows_t rows = ik_repl_view_rows(repl->view);
        ik_repl_view_begin_block(repl->view);
        ik_repl_rows_lines(&rows, IK_ROLE_USER, line);
    }
    repl->host.columns = (size_t)ik_repl_view_rows(repl->view).columns;
    repl->in_command = true;
    ik_command_run(&repl->host, line, busy);
    repl->in_command = false;
}

/* A command that needs tools waits as a message does. */
static void take_command(ik_repl_t *repl, const char *line)
{
    if (ik_command_must_wait(&repl->host, line)) {
        ik_repl_talk_queue(repl->current, line);
    } else {
        run_command(repl, line, is_occupied(repl));
    }
}

/* Commands are about what is on the screen. */
static bool is_for_screen(const char *text)
{
    return ik_command_is_line(text) || text[0] == IK_PROMPT_SIGN_SHELL;
}

/* One thing of the queue; false when nothing can be done now. */
static bool take_next(ik_repl_t *repl, ik_repl_talk_t *talk)
{
    const char *next = ik_repl_talk_next(talk);
    if (next == NULL || repl->done || ik_repl_talk_is_busy(talk) || repl->shell != NULL ||
        repl->on_answer != NULL || ik_repl_waiting_for(repl) != NULL ||
        (is_for_screen(next) && talk != repl->current)) {
        return false;
    }
    if (!is_for_screen(next) && repl->recheck_due) {
        ik_repl_tools_recheck(repl); /* goes on from there */
        return false;
    }
    char *text = ik_strdup(repl, next);
    ik_repl_talk_drop_next(talk);
    ik_repl_draft_changed(repl->draft);
    if (ik_command_is_line(text)) {
        run_command(repl, text, false);
    } else if (text[0] == IK_PROMPT_SIGN_SHELL) {
        ik_repl_shell_start(repl, text + 1 + strspn(text + 1, " \t"));
    } else {
        ik_repl_session_require_agent(repl);
        repl->usage.turns++;
        ik_repl_talk_start_turn(talk, text);
    }
    talloc_free(text);
    return true;
}

/* The spinner turns while something on the screen goes on. */
static void update_busy(ik_repl_t *repl)
{
    bool waits = ik_repl_talk_next(repl->current) != NULL && ik_repl_waiting_for(repl) != NULL;
    ik_repl_view_set_busy(repl->view,
                          ik_repl_talk_is_busy(repl->current) || repl->shell != NULL || waits);
}

static bool is_idle(const ik_repl_t *repl)
{
    return !ik_repl_talk_is_busy(repl->current) && repl->shell == NULL &&
           ik_repl_talk_next(repl->current) == NULL && ik_repl_waiting_for(repl) == NULL;
}

/* Nobody works, in the background neither. */
static bool is_all_done(const ik_repl_t *repl)
{
    return is_idle(repl) && !ik_repl_session_is_busy(repl);
}

/* --- sessions that were begun without the shared history ----------------------------------- */

/* Nobody answered when the input has ended: the question comes again. */
static void on_delivery_answer(ik_command_host_t *host, void *data, bool yes)
{
    ik_repl_t *repl = host->data;
    (void)data;
    if (repl->ending || repl->done) {
        return;
    }
    ik_history_decide(repl->shared.history, yes);
    ik_repl_say(repl, IK_ROLE_DIM,
                yes ? "They are delivered."
                    : "They stay here; `ikigai session deliver` delivers them later.");
}

static void ask_about_withheld(ik_repl_t *repl)
{
    int64_t count = repl->withheld;
    if (count == 0 || repl->on_answer != NULL || repl->choices != NULL || repl->ending) {
        return;
    }
    repl->withheld = 0;
    char *question = ik_sprintf(
        repl, "%lld earlier session%s of this machine %s not in the shared history %s. Deliver %s?",
        (long long)count, count == 1 ? "" : "s", count == 1 ? "is" : "are",
        ik_history_address(repl->shared.history), count == 1 ? "it" : "them");
    repl->host.actions->ask(&repl->host, question, on_delivery_answer, talloc_new(repl));
    talloc_free(question);
}

/* Talks may come and go while commands run, so that the list is looked at anew each time. Whoever
 * runs a command comes here afterwards. */
void ik_repl_pump(ik_repl_t *repl)
{
    bool taken = true;
    if (repl->in_command) {
        return;
    }
    while (taken && !repl->done) {
        taken = take_next(repl, repl->current);
        for (size_t i = 0; !taken && i < repl->talk_count; i++) {
            taken = take_next(repl, repl->talks[i]);
        }
    }
    update_busy(repl);
    ask_about_withheld(repl);
    if (repl->ending && is_all_done(repl)) {
        ik_repl_leave(repl, STATUS_DONE);
    } else if (!repl->ending && is_idle(repl) && repl->on_answer == NULL) {
        ik_repl_view_want_line(repl->view);
    }
    ik_repl_view_touch(repl->view);
}

static void on_submit(void *data, const char *text)
{
    ik_repl_t *repl = data;
    if (repl->on_answer != NULL && !repl->done) {
        ik_repl_host_answer(repl, text);
    } else if (ik_command_is_line(text) && repl->target != NULL && repl->opening == NULL &&
               !repl->done) {
        take_command(repl, text);
    } else if (text[strspn(text, " \t\n")] != '\0') {
        ik_repl_talk_queue(repl->current, text);
    }
    ik_repl_draft_changed(repl->draft);
    ik_repl_pump(repl);
}

/* --- the end of a turn ------------------------------------------------------------------- */

/* What was queued goes back to the draft: whoever interrupts wants to think again, and after a
 * failure the rest would fail as well. */
void ik_repl_give_back_queue(ik_repl_t *repl, ik_repl_talk_t *talk)
{
    ik_prompt_t *prompt = ik_repl_view_prompt(repl->view);
    char *text = ik_repl_talk_take_queue(repl, talk);
    if (text == NULL) {
        return;
    }
    if (prompt != NULL) {
        ik_prompt_prepend_text(prompt, text);
    } else {
        ik_repl_rows_t rows = ik_repl_view_rows(repl->view);
        ik_repl_say(repl, IK_ROLE_WARNING, "This was not sent:");
        ik_repl_rows_lines(&rows, IK_ROLE_TEXT, text);
    }
    ik_repl_draft_changed(repl->draft);
    talloc_free(text);
}

void ik_repl_on_turn_end(ik_repl_t *repl, ik_repl_talk_t *talk, ik_turn_reason_t reason)
{
    bool failed = reason == IK_TURN_INTERRUPTED || reason == IK_TURN_ERROR;
    if (failed && ik_repl_view_prompt(repl->view) != NULL) {
        ik_repl_give_back_queue(repl, talk);
    }
    if (ik_repl_talk_busy_ms(talk) > LONG_TURN_MS) {
        ik_repl_view_notify(repl->view, "ikigai: the turn is over");
    }
    ik_session_flush(repl->session);
    if (!ik_repl_session_is_busy(repl)) {
        ik_repl_tools_tidy(repl);
        ik_history_tidy(repl->shared.history);
    }
    ik_repl_pump(repl);
}

/* --- keys that are for the program ------------------------------------------------------- */

static void interrupt(ik_repl_t *repl)
{
    ik_agent_t *agent = ik_repl_talk_agent(repl->current);
    if (repl->shell != NULL) {
        ik_repl_shell_cancel(repl);
    } else if (agent != NULL && ik_agent_is_busy(agent)) {
        ik_agent_interrupt(agent);
    } else {
        ik_repl_give_back_queue(repl, repl->current);
    }
    update_busy(repl);
}

/* What waited for the answer goes on. */
static void refuse(ik_repl_t *repl)
{
    ik_repl_host_answer(repl, "");
    ik_repl_pump(repl);
}

static void cancel(ik_repl_t *repl)
{
    int64_t now = ik_clock_now_ms();
    if (repl->on_answer != NULL) {
        refuse(repl);
    } else if (is_occupied(repl)) {
        interrupt(repl);
    } else if (repl->cancelled_ms != 0 && now - repl->cancelled_ms < CANCEL_AGAIN_MS) {
        ik_repl_leave(repl, STATUS_DONE);
    } else {
        repl->cancelled_ms = now;
        ik_prompt_set_hint(ik_repl_view_prompt(repl->view), "Press Ctrl-C again to leave");
    }
}

void ik_repl_open_pager(ik_repl_t *repl)
{
    ik_pager_source_t source = ik_repl_talk_pages(repl->current);
    if (source.count == 0) {
        ik_repl_say(repl, IK_ROLE_DIM, "Nothing was said yet.");
    } else {
        ik_repl_view_open_pager(repl->view, &source, "transcript");
    }
}

/* The end of input: what was entered before is still done. Nobody answers any more. */
static void end_input(ik_repl_t *repl)
{
    repl->ending = true;
    if (ik_repl_view_prompt(repl->view) != NULL) {
        ik_repl_leave(repl, STATUS_DONE);
    } else if (repl->on_answer != NULL) {
        ik_repl_host_answer(repl, "");
    }
    ik_repl_pump(repl);
}

static void on_action(void *data, ik_prompt_action_t action)
{
    ik_repl_t *repl = data;
    switch (action) {
    case IK_PROMPT_ESCAPE:
        if (repl->on_answer != NULL) {
            refuse(repl);
        } else {
            interrupt(repl);
        }
        break;
    case IK_PROMPT_CANCEL:
        cancel(repl);
        break;
    case IK_PROMPT_END:
        end_input(repl);
        break;
    case IK_PROMPT_PAGER:
        ik_repl_open_pager(repl);
        break;
    case IK_PROMPT_CHOSEN:
        ik_repl_session_on_chosen(repl, ik_prompt_chosen(ik_repl_view_prompt(repl->view)));
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
        ik_prompt_set_hint(ik_repl_view_prompt(repl->view), NULL);
    }
    ik_repl_tools_recheck(repl);
    ik_repl_draft_changed(repl->draft);
}

/* In plain mode Ctrl-C is a signal; there it interrupts first. */
static void on_leave(void *data, int signal)
{
    ik_repl_t *repl = data;
    bool plain = ik_repl_view_prompt(repl->view) == NULL;
    if (plain && signal == SIGINT && repl->on_answer != NULL) {
        refuse(repl);
    } else if (plain && signal == SIGINT && is_occupied(repl)) {
        interrupt(repl);
    } else {
        ik_repl_leave(repl, 128 + signal);
    }
}

/* --- the live area ----------------------------------------------------------------------- */

static void draw_activity(void *data, int max_rows, ik_repl_row_fn on_row, void *row_data)
{
    ik_repl_t *repl = data;
    const char *waits = ik_repl_talk_next(repl->current) == NULL ? NULL : ik_repl_waiting_for(repl);
    ik_repl_shell_draw(repl, max_rows, on_row, row_data);
    ik_repl_talk_draw(repl->current, waits, max_rows, on_row, row_data);
}

static void draw_status(void *data, ik_row_t *row)
{
    ik_repl_status_draw(data, row);
}

/* --- beginning --------------------------------------------------------------------------- */

static void on_history_notice(void *data, const char *line)
{
    ik_repl_say(data, IK_ROLE_WARNING, line);
}

static void on_withheld(void *data, int64_t count)
{
    ik_repl_t *repl = data;
    repl->withheld = count;
    ik_repl_pump(repl);
}

static void fill_shared(ik_repl_t *repl)
{
    const ik_repl_options_t *options = repl->options;
    repl->shared.config = options->config;
    repl->shared.loop = options->loop;
    repl->shared.http = ik_http_create(repl, options->loop);
    repl->shared.history =
        ik_history_create(repl, &(ik_history_options_t){.db = options->config->db,
                                                        .file = options->paths->database,
                                                        .loop = options->loop,
                                                        .on_notice = on_history_notice,
                                                        .on_withheld = on_withheld,
                                                        .deliver_all = options->wish->deliver_all,
                                                        .data = repl});
    repl->shared.gate = &ik_call_gate_open;
    repl->shared.tool_context = (ik_tool_context_t){
        .host = options->host, .config = options->config, .folder = options->paths->cwd};
    repl->shared.tool_scan_state = TOOL_SCAN_IN_PROGRESS;
}

static res_t choose_target(ik_repl_t *repl)
{
    ik_models_t *models;
    char *notice;
    res_t loaded = ik_models_load(repl, repl->options->paths, &models);
    if (is_err(&loaded)) {
        ik_repl_say(repl, IK_ROLE_WARNING, loaded.message);
    }
    repl->shared.models = models;
    return ik_agent_target_choose(repl, repl->options->config, models, NULL, &repl->target,
                                  &notice);
}

/* Everything that the first frame did not wait for. */
static void on_start(void *data)
{
    ik_repl_t *repl = data;
    res_t chosen = choose_target(repl);
    if (is_err(&chosen)) {
        ik_repl_say(repl, IK_ROLE_ERROR, chosen.message);
        ik_repl_leave(repl, STATUS_USAGE);
        return;
    }
    ik_repl_status_welcome(repl);
    ik_repl_tools_start(repl, false);
    ik_repl_session_begin(repl);
    ik_history_wrote(repl->shared.history); /* what an earlier program left, and what it may ask */
    if (repl->options->wish->prompt != NULL) {
        ik_repl_talk_queue(repl->current, repl->options->wish->prompt);
    }
    ik_repl_view_set_title(repl->view, ik_sprintf(repl, "ikigai: %s", repl->options->paths->cwd));
    ik_repl_pump(repl);
}

static void append_lines(ik_buffer_t *out, const char *text)
{
    if (text != NULL && *text != '\0') {
        ik_buffer_append_text(out, out->len == 0 ? "" : "\n");
        ik_buffer_append_text(out, text);
    }
}

/* All that was typed and not sent: what waits for an agent, and the draft. */
static char *draft_text(void *data, const void *ctx)
{
    ik_repl_t *repl = data;
    ik_prompt_t *prompt = ik_repl_view_prompt(repl->view);
    void *scratch = talloc_new(NULL);
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < repl->talk_count; i++) {
        append_lines(&text, ik_repl_talk_queued(scratch, repl->talks[i]));
    }
    append_lines(&text, prompt == NULL ? NULL : ik_prompt_text(scratch, prompt));
    talloc_free(scratch);
    return ik_buffer_finish(&text);
}

static void on_files(void *data)
{
    ik_repl_t *repl = data;
    if (ik_repl_view_prompt(repl->view) != NULL) {
        ik_prompt_refresh(ik_repl_view_prompt(repl->view));
        ik_repl_view_touch(repl->view);
    }
}

static res_t create_view(ik_repl_t *repl)
{
    const ik_repl_options_t *options = repl->options;
    ik_repl_view_options_t view = {.loop = options->loop,
                                   .paths = options->paths,
                                   .plain = options->plain,
                                   .completion = ik_repl_host_completion(repl),
                                   .listener = {.on_submit = on_submit,
                                                .on_action = on_action,
                                                .on_draft = on_draft,
                                                .on_leave = on_leave,
                                                .draw_activity = draw_activity,
                                                .draw_status = draw_status,
                                                .data = repl}};
    return ik_repl_view_create(repl, &view, &repl->view);
}

static res_t begin(ik_repl_t *repl)
{
    const ik_repl_options_t *options = repl->options;
    fill_shared(repl);
    repl->old_registries = talloc_new(repl);
    repl->host = (ik_command_host_t){.actions = &ik_repl_host_actions,
                                     .ctx = repl,
                                     .paths = options->paths,
                                     .shared = &repl->shared,
                                     .data = repl};
    repl->files = ik_repl_files_create(repl, options->host, options->paths, on_files, repl);
    repl->draft = ik_repl_draft_create(repl, options->loop, options->paths, draft_text, repl);
    TRY(create_view(repl));
    ik_repl_session_init(repl);
    ik_repl_view_open(repl->view);
    repl->start = ik_timer_create(repl, options->loop, on_start, repl);
    ik_timer_start(repl->start, 0);
    return OK;
}

/* --- ending ------------------------------------------------------------------------------ */

static bool is_signalled(const ik_repl_t *repl)
{
    return repl->status > 128;
}

typedef struct {
    ik_repl_t *repl;
    ik_timer_t *timer;
    int64_t until_ms;
    bool over;
} leaving_t;

static void on_leaving(void *data)
{
    leaving_t *leaving = data;
    bool busy = ik_repl_session_is_busy(leaving->repl) || leaving->repl->shell != NULL;
    leaving->over = !busy || ik_clock_now_ms() >= leaving->until_ms;
    if (!leaving->over) {
        ik_timer_start(leaving->timer, LEAVING_CHECK_MS);
    }
}

/* What came of the answers is kept, and what the tools have printed: they get their time to end as
 * they do after Esc. */
static void interrupt_all(ik_repl_t *repl)
{
    ik_repl_shell_cancel(repl);
    for (size_t i = 0; i < repl->talk_count; i++) {
        ik_agent_t *agent = ik_repl_talk_agent(repl->talks[i]);
        if (agent != NULL) {
            ik_agent_interrupt(agent);
        }
    }
    leaving_t leaving = {.repl = repl, .until_ms = ik_clock_now_ms() + LEAVING_MS};
    leaving.timer = ik_timer_create(repl, repl->options->loop, on_leaving, &leaving);
    on_leaving(&leaving);
    ik_loop_run_until(repl->options->loop, &leaving.over);
    talloc_free(leaving.timer);
}

/* Also of a session that was never opened. */
static void save_draft(ik_repl_t *repl)
{
    if (repl->session == NULL) {
        char *id = ik_store_new_id(repl);
        ik_repl_draft_set_session(repl->draft, id);
        talloc_free(id);
    }
    ik_repl_draft_save_now(repl->draft);
}

static void say_farewell(ik_repl_t *repl)
{
    if (repl->session != NULL && repl->usage.turns > 0 && !is_signalled(repl)) {
        char *line = ik_sprintf(repl, "ikigai -r %.8s goes on with this session.",
                                ik_session_id(repl->session));
        ik_repl_view_begin_block(repl->view);
        ik_repl_say(repl, IK_ROLE_DIM, line);
        talloc_free(line);
    }
}

/* Each before what it uses. The terminal is given back early: what follows may take a moment. */
static void end(ik_repl_t *repl)
{
    repl->done = true;
    interrupt_all(repl);
    save_draft(repl);
    say_farewell(repl);
    ik_repl_view_close(repl->view);
    ik_repl_session_drop(repl);
    TALLOC_FREE(repl->clipboard);
    TALLOC_FREE(repl->discovery);
    if (!is_signalled(repl)) {
        ik_history_tidy(repl->shared.history);
        ik_history_finish(repl->shared.history, FINISH_MS);
    }
    TALLOC_FREE(repl->shared.history);
}

int ik_repl_run(const void *ctx, const ik_repl_options_t *options)
{
    ik_repl_t *repl = ik_new(ctx, ik_repl_t);
    repl->options = options;
    res_t begun = begin(repl);
    if (is_err(&begun)) {
        fprintf(stderr, "ikigai: %s\n", begun.message);
        talloc_free(repl);
        return STATUS_USAGE;
    }
    ik_loop_run_until(options->loop, &repl->done);
    int status = repl->status;
    end(repl);
    talloc_free(repl);
    return status;
}
