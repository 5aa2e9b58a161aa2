/* The session on the screen and its agents: beginning, going on, forking, switching, ending. */
#include <string.h>

#include "agent/agent_prompt.h"
#include "agent/agent_target.h"
#include "base/alloc.h"
#include "base/sanitiser.h"
#include "repl/repl_state.h"
#include "store/session_lines.h"
#include "terminal/choice.h"

/* --- talks ------------------------------------------------------------------------------- */

static void on_turn_end(void *data, ik_repl_talk_t *talk, ik_turn_reason_t reason)
{
    ik_repl_on_turn_end(data, talk, reason);
}

static void on_usage(void *data, ik_repl_talk_t *talk, const ik_agent_event_t *event)
{
    ik_repl_t *repl = data;
    (void)talk;
    ik_usage_add(&repl->usage.usage, &event->usage);
    if (event->cost >= 0) {
        repl->usage.cost = repl->usage.cost < 0 ? event->cost : repl->usage.cost + event->cost;
    }
}

static ik_repl_talk_t *create_talk(ik_repl_t *repl, int64_t number)
{
    ik_repl_talk_options_t options = {.view = repl->view,
                                      .shared = &repl->shared,
                                      .on_turn_end = on_turn_end,
                                      .on_usage = on_usage,
                                      .data = repl};
    return ik_repl_talk_create(repl, &options, number);
}

static ik_repl_talk_t *add_talk(ik_repl_t *repl, ik_repl_talk_t *talk)
{
    repl->talks = ik_resize_array(repl, repl->talks, ik_repl_talk_t *, repl->talk_count + 1);
    repl->talks[repl->talk_count++] = talk;
    return talk;
}

static void move_queue(ik_repl_talk_t *to, ik_repl_talk_t *from)
{
    while (ik_repl_talk_next(from) != NULL) {
        ik_repl_talk_queue(to, ik_repl_talk_next(from));
        ik_repl_talk_drop_next(from);
    }
}

/* What waits for agents that go is for nobody else. */
static void give_back_others(ik_repl_t *repl)
{
    for (size_t i = 0; i < repl->talk_count; i++) {
        if (repl->talks[i] != repl->current) {
            ik_repl_give_back_queue(repl, repl->talks[i]);
        }
    }
}

/* The pager may be showing it. */
static void remove_talk(ik_repl_t *repl, size_t index)
{
    ik_repl_view_close_pager(repl->view);
    talloc_free(repl->talks[index]);
    repl->talk_count--;
    memmove(repl->talks + index, repl->talks + index + 1,
            (repl->talk_count - index) * sizeof(*repl->talks));
}

static size_t find_talk(const ik_repl_t *repl, int64_t number)
{
    size_t i = 0;
    while (i < repl->talk_count && ik_repl_talk_number(repl->talks[i]) != number) {
        i++;
    }
    return i;
}

bool ik_repl_session_is_busy(const ik_repl_t *repl)
{
    for (size_t i = 0; i < repl->talk_count; i++) {
        if (ik_repl_talk_is_busy(repl->talks[i])) {
            return true;
        }
    }
    return false;
}

/* --- agents ------------------------------------------------------------------------------ */

static ik_agent_options_t agent_options(ik_repl_t *repl, ik_session_t *session,
                                        ik_repl_talk_t *talk)
{
    return (ik_agent_options_t){.shared = &repl->shared,
                                .target = repl->target,
                                .session = session,
                                .without_tools = repl->options->wish->without_tools,
                                .on_event = ik_repl_talk_on_event,
                                .data = talk};
}

static void on_prompt_line(void *data, const char *line)
{
    ik_repl_say(data, IK_ROLE_DIM, line);
}

/* While tools are looked for, that there are some is a good guess. */
static bool has_tools(const ik_repl_t *repl)
{
    const ik_tool_registry_t *registry = repl->shared.tool_registry;
    return !repl->options->wish->without_tools && (registry == NULL || registry->count > 0);
}

static char *gather_prompt(ik_repl_t *repl, const void *ctx)
{
    return ik_agent_prompt_gather(ctx, repl->options->paths->cwd,
                                  repl->options->config->system_prompt, has_tools(repl),
                                  on_prompt_line, repl);
}

static void begin_agent(ik_repl_t *repl, ik_repl_talk_t *talk)
{
    void *scratch = talloc_new(repl);
    ik_agent_options_t options = agent_options(repl, repl->session, talk);
    options.system_prompt = gather_prompt(repl, scratch);
    ik_repl_talk_adopt_agent(talk, ik_agent_create(talk, &options), true);
    talloc_free(scratch);
}

/* It was left for a child before anything was said to it, the system prompt included. */
static bool has_empty_log(const ik_session_t *session, int64_t number)
{
    const ik_store_agent_t *agent = ik_store_find_agent(ik_session_agents(session), number);
    return agent != NULL && agent->last_seq == 0;
}

static res_t load_agent(ik_repl_t *repl, ik_session_t *session, ik_repl_talk_t *talk)
{
    ik_agent_t *agent;
    int64_t number = ik_repl_talk_number(talk);
    void *scratch = talloc_new(repl);
    ik_agent_options_t options = agent_options(repl, session, talk);
    options.system_prompt = has_empty_log(session, number) ? gather_prompt(repl, scratch) : NULL;
    res_t loaded = ik_agent_resume(talk, &options, number, &agent);
    if (is_ok(&loaded)) {
        ik_repl_talk_adopt_agent(talk, agent, false);
    }
    talloc_free(scratch);
    return loaded;
}

void ik_repl_session_load_agents(ik_repl_t *repl)
{
    for (size_t i = 0; repl->session != NULL && i < repl->talk_count; i++) {
        if (ik_repl_talk_agent(repl->talks[i]) == NULL && repl->talks[i] != repl->current) {
            /* what cannot be read is said when it is wanted */
            load_agent(repl, repl->session, repl->talks[i]);
        }
    }
}

/* It is in the store from the first message on; its id is known at once, for the draft. */
static void begin_session(ik_repl_t *repl)
{
    ik_session_facts_t facts = {.cwd = repl->options->paths->cwd, .model = repl->target->name};
    repl->session = ik_session_create(repl, repl->shared.history, &facts);
    ik_repl_draft_set_session(repl->draft, ik_session_id(repl->session));
}

void ik_repl_session_require_agent(ik_repl_t *repl)
{
    if (ik_repl_talk_agent(repl->current) == NULL) {
        begin_agent(repl, repl->current);
    }
}

/* --- one session after another ----------------------------------------------------------- */

/* Each before what it uses. */
void ik_repl_session_drop(ik_repl_t *repl)
{
    ik_repl_shell_drop(repl, NULL);
    while (repl->talk_count > 0) {
        remove_talk(repl, repl->talk_count - 1);
    }
    TALLOC_FREE(repl->session);
}

void ik_repl_session_init(ik_repl_t *repl)
{
    repl->usage = (ik_command_usage_t){.usage = IK_USAGE_NONE, .cost = -1};
    repl->current = add_talk(repl, create_talk(repl, IK_STORE_ROOT_AGENT));
    ik_repl_talk_show(repl->current);
}

void ik_repl_session_clear(ik_repl_t *repl)
{
    ik_repl_talk_t *entered = create_talk(repl, 0);
    move_queue(entered, repl->current); /* behind the command that came here */
    give_back_others(repl);
    ik_repl_session_drop(repl);
    ik_repl_session_init(repl);
    move_queue(repl->current, entered);
    talloc_free(entered);
    begin_session(repl);
    ik_repl_view_begin_block(repl->view);
    ik_repl_say(repl, IK_ROLE_DIM, "A new conversation begins.");
}

/* A talk for every agent that goes on; there is one for the last already, which goes on even if all
 * have ended. */
static void add_talks(ik_repl_t *repl, ik_repl_talk_t *last)
{
    const ik_store_agents_t *agents = ik_session_agents(repl->session);
    for (size_t i = 0; i < agents->count; i++) {
        int64_t number = agents->agents[i].number;
        if (number == ik_repl_talk_number(last)) {
            add_talk(repl, last);
        } else if (!ik_session_has_ended(repl->session, number)) {
            add_talk(repl, create_talk(repl, number));
        }
    }
}

static void restore_draft(ik_repl_t *repl)
{
    ik_prompt_t *prompt = ik_repl_view_prompt(repl->view);
    const char *id = repl->session == NULL ? NULL : ik_session_id(repl->session);
    char *text = prompt == NULL ? NULL : ik_repl_draft_find(repl, repl->draft, id);
    if (text != NULL) {
        ik_prompt_prepend_text(prompt, text);
        ik_repl_view_touch(repl->view);
    }
    talloc_free(text);
}

/* --- going on with a stored one ---------------------------------------------------------- */

/* The session to go on with and how; lives while it is being opened. */
typedef struct {
    ik_repl_t *repl;
    bool at_start; /* then a failure is the end of the program */
    bool fork;
    ik_store_session_t found;
} opening_t;

static void fail_opening(opening_t *opening, const char *message)
{
    ik_repl_t *repl = opening->repl;
    ik_repl_say(repl, IK_ROLE_ERROR, message);
    repl->opening = NULL;
    if (opening->at_start) {
        ik_repl_leave(repl, 1);
    } else if (repl->session == NULL) {
        begin_session(repl);
    }
    talloc_free(opening);
    ik_repl_pump(repl);
}

static void choose_kept_target(ik_repl_t *repl, const char *model)
{
    char *notice;
    const ik_target_t *target;
    res_t chosen = ik_agent_target_choose(repl, repl->options->config, repl->shared.models, model,
                                          &target, &notice);
    if (notice != NULL) {
        ik_repl_say(repl, IK_ROLE_WARNING, notice);
    }
    if (is_ok(&chosen)) {
        repl->target = target;
    }
}

/* talk is the one with its last agent. */
static void take_session(opening_t *opening, ik_session_t *session, ik_repl_talk_t *talk)
{
    ik_repl_t *repl = opening->repl;
    move_queue(talk, repl->current); /* what was entered while it was being opened */
    give_back_others(repl);
    ik_repl_session_drop(repl);
    repl->session = session;
    repl->usage.usage = opening->found.usage;
    repl->usage.cost = opening->found.cost;
    repl->usage.turns = opening->found.turns;
    choose_kept_target(repl, opening->found.model);
    ik_agent_set_target(ik_repl_talk_agent(talk), repl->target);
    add_talks(repl, talk);
    repl->current = talk;
    ik_repl_talk_show(talk);
    restore_draft(repl);
    ik_repl_draft_set_session(repl->draft, ik_session_id(session));
}

/* What can fail comes before the old session goes. */
static res_t load_session(opening_t *opening, ik_session_t *session)
{
    ik_repl_talk_t *talk = create_talk(opening->repl, ik_session_last_agent(session));
    res_t loaded = load_agent(opening->repl, session, talk);
    if (is_ok(&loaded)) {
        take_session(opening, session, talk);
    } else {
        talloc_free(talk);
        talloc_free(session);
    }
    return loaded;
}

static void open_session(opening_t *opening)
{
    ik_repl_t *repl = opening->repl;
    ik_session_t *session;
    res_t opened =
        opening->fork
            ? ik_session_open_copy(repl, repl->shared.history, opening->found.id, &session)
            : ik_session_open(repl, repl->shared.history, opening->found.id, &session);
    if (is_ok(&opened)) {
        opened = load_session(opening, session);
    } else if (!opening->fork) {
        ik_history_release(repl->shared.history, opening->found.id); /* it was claimed */
    }
    if (is_err(&opened)) {
        fail_opening(opening, opened.message);
        return;
    }
    repl->opening = NULL;
    talloc_free(opening);
    ik_repl_pump(repl);
}

static void on_claimed(void *data, const res_t *result, const ik_holder_t *other)
{
    opening_t *opening = data;
    if (result->code == IK_ERR_CONFLICT && other->pid != 0) {
        fail_opening(opening, ik_sprintf(opening,
                                         "Session %s is in use by pid %lld on %s. Wait until it is "
                                         "done, or go on in a copy: ikigai -r %s --fork",
                                         opening->found.id, (long long)other->pid, other->host,
                                         opening->found.id));
    } else if (is_err(result)) {
        fail_opening(opening, result->message);
    } else {
        open_session(opening);
    }
}

static void open_found(opening_t *opening, const ik_store_session_t *session)
{
    ik_repl_t *repl = opening->repl;
    if (repl->session != NULL && strcmp(session->id, ik_session_id(repl->session)) == 0) {
        fail_opening(opening, "This is the session you are in.");
        return;
    }
    opening->found = *session;
    opening->found.id = ik_strdup(opening, session->id);
    opening->found.model = ik_strdup(opening, session->model);
    if (opening->fork) {
        open_session(opening);
    } else {
        repl->opening = ik_history_claim_start(opening, repl->shared.history, opening->found.id,
                                               on_claimed, opening);
    }
}

static void on_found(void *data, const res_t *result, const ik_store_session_t *session)
{
    opening_t *opening = data;
    if (is_err(result)) {
        fail_opening(opening, result->message);
    } else {
        open_found(opening, session);
    }
}

/* Nothing is there to go on with. */
static void begin_instead(opening_t *opening, const char *why)
{
    ik_repl_t *repl = opening->repl;
    ik_repl_say(repl, IK_ROLE_DIM, why);
    repl->opening = NULL;
    talloc_free(opening);
    restore_draft(repl);
    begin_session(repl);
    ik_repl_pump(repl);
}

static const char none_here[] = "There is no session in this folder yet: a new one begins.";

static void on_listed(void *data, const res_t *result, const ik_store_list_t *list)
{
    opening_t *opening = data;
    if (is_err(result)) {
        fail_opening(opening, result->message);
    } else if (list->count > 0) {
        open_found(opening, &list->sessions[0]);
    } else {
        begin_instead(opening, none_here);
    }
}

/* --- choosing one ------------------------------------------------------------------------ */

static void show_choices(opening_t *opening, const ik_store_list_t *list)
{
    ik_repl_t *repl = opening->repl;
    ik_prompt_t *prompt = ik_repl_view_prompt(repl->view);
    ik_repl_choices_t *choices = ik_new(repl, ik_repl_choices_t);
    choices->ids = ik_new_array(choices, char *, list->count);
    choices->items = ik_new_array(choices, ik_completion_t, list->count);
    for (size_t i = 0; i < list->count; i++) {
        const ik_store_session_t *session = &list->sessions[i];
        choices->ids[i] = ik_strdup(choices, session->id);
        choices->items[i] = (ik_completion_t){
            .text = ik_sanitise_line(choices, session->title),
            .note = ik_session_lines_note(choices, session),
        };
    }
    repl->choices = choices;
    repl->opening = NULL;
    talloc_free(opening);
    ik_prompt_choose(prompt, "Resume which session? ", choices->items, list->count);
    ik_repl_view_touch(repl->view);
    ik_repl_pump(repl);
}

/* Lines are read one by one there: the list is printed, and the next line may name one. */
static void print_choices(opening_t *opening)
{
    ik_repl_t *repl = opening->repl;
    repl->opening = NULL;
    talloc_free(opening);
    begin_session(repl);
    ik_command_run(&repl->host, "/resume", false);
    ik_repl_pump(repl);
}

static void on_choices(void *data, const res_t *result, const ik_store_list_t *list)
{
    opening_t *opening = data;
    if (is_err(result)) {
        fail_opening(opening, result->message);
    } else if (list->count == 0) {
        begin_instead(opening, none_here);
    } else if (ik_repl_view_prompt(opening->repl->view) == NULL) {
        print_choices(opening);
    } else {
        show_choices(opening, list);
    }
}

static opening_t *create_opening(ik_repl_t *repl, bool at_start)
{
    opening_t *opening = ik_new(repl, opening_t);
    opening->repl = repl;
    opening->at_start = at_start;
    opening->fork = at_start && repl->options->wish->fork;
    return opening;
}

void ik_repl_session_resume(ik_repl_t *repl, const char *id)
{
    if (repl->opening == NULL) {
        opening_t *opening = create_opening(repl, false);
        repl->opening = ik_history_find_start(opening, repl->shared.history, id, on_found, opening);
    }
}

void ik_repl_session_on_chosen(ik_repl_t *repl, size_t index)
{
    ik_repl_choices_t *choices = repl->choices;
    opening_t *opening = create_opening(repl, false);
    opening->fork = repl->options->wish->fork;
    repl->choices = NULL;
    if (index == SIZE_MAX) {
        begin_instead(opening, "No session was chosen: a new one begins.");
    } else {
        repl->opening = ik_history_find_start(opening, repl->shared.history, choices->ids[index],
                                              on_found, opening);
    }
    talloc_free(choices);
}

void ik_repl_session_begin(ik_repl_t *repl)
{
    const ik_repl_options_t *options = repl->options;
    if (options->wish->choose) {
        opening_t *opening = create_opening(repl, true);
        ik_store_filter_t filter = {
            .cwd = options->paths->cwd, .limit = IK_CHOICE_MAX, .uncounted = true};
        repl->opening =
            ik_history_list_start(opening, repl->shared.history, &filter, on_choices, opening);
    } else if (options->wish->resume != NULL) {
        opening_t *opening = create_opening(repl, true);
        repl->opening = ik_history_find_start(opening, repl->shared.history, options->wish->resume,
                                              on_found, opening);
    } else if (options->wish->continue_last) {
        opening_t *opening = create_opening(repl, true);
        ik_store_filter_t filter = {.cwd = options->paths->cwd, .limit = 1, .uncounted = true};
        repl->opening =
            ik_history_list_start(opening, repl->shared.history, &filter, on_listed, opening);
    } else {
        begin_session(repl);
    }
}

/* --- several agents ---------------------------------------------------------------------- */

static void make_current(ik_repl_t *repl, ik_repl_talk_t *talk)
{
    char *line = ik_sprintf(repl, "── agent %lld ──", (long long)ik_repl_talk_number(talk));
    if (repl->current != NULL) {
        ik_repl_talk_hide(repl->current);
    }
    repl->current = talk;
    ik_repl_view_begin_block(repl->view);
    ik_repl_say(repl, IK_ROLE_RULE, line);
    ik_repl_talk_show(talk);
    talloc_free(line);
}

void ik_repl_session_fork(ik_repl_t *repl, const char *prompt)
{
    ik_repl_session_require_agent(repl);
    ik_agent_t *parent = ik_repl_talk_agent(repl->current);
    ik_repl_talk_t *talk = add_talk(repl, create_talk(repl, 0));
    ik_agent_t *agent = ik_agent_fork(talk, parent, ik_repl_talk_on_event, talk);
    ik_repl_talk_adopt_agent(talk, agent, true);
    make_current(repl, talk);
    if (prompt != NULL) {
        ik_repl_talk_queue(talk, prompt);
    }
}

res_t ik_repl_session_switch(ik_repl_t *repl, int64_t number)
{
    size_t index = find_talk(repl, number);
    if (index == repl->talk_count) {
        return ERR(NOT_FOUND, "There is no agent %lld. /agents lists them.", (long long)number);
    }
    ik_repl_talk_t *talk = repl->talks[index];
    if (talk == repl->current) {
        return ERR(INVALID, "Agent %lld is the one you talk to.", (long long)number);
    }
    if (ik_repl_talk_agent(talk) == NULL) {
        TRY(load_agent(repl, repl->session, talk));
    }
    make_current(repl, talk);
    return OK;
}

/* Its end is part of its log, so that it stays away when the session goes on. */
static void end_agent(ik_repl_t *repl, ik_repl_talk_t *talk)
{
    ik_agent_t *agent = ik_repl_talk_agent(talk);
    int64_t number = ik_repl_talk_number(talk);
    if (agent != NULL) {
        ik_agent_interrupt(agent);
    }
    ik_session_end_agent(repl->session, number);
}

res_t ik_repl_session_kill(ik_repl_t *repl, int64_t number)
{
    size_t index = find_talk(repl, number);
    if (index == repl->talk_count) {
        return ERR(NOT_FOUND, "There is no agent %lld. /agents lists them.", (long long)number);
    }
    if (repl->talk_count == 1) {
        return ERR(INVALID, "Agent %lld is the only one. /clear begins a new conversation.",
                   (long long)number);
    }
    ik_repl_talk_t *talk = repl->talks[index];
    if (talk == repl->current) {
        TRY(ik_repl_session_switch(repl, ik_repl_talk_number(repl->talks[index == 0 ? 1 : 0])));
    }
    ik_repl_shell_drop(repl, talk);
    ik_repl_give_back_queue(repl, talk);
    end_agent(repl, talk);
    remove_talk(repl, find_talk(repl, number));
    return OK;
}
