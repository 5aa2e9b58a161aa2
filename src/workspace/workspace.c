#include "workspace/workspace.h"

#include <string.h>
#include <sys/stat.h>

#include "agent/agent_target.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/config_change.h"
#include "base/config_provider.h"
#include "base/key_host.h"
#include "undo/blob_sweep.h"
#include "workspace/workspace_state.h"

/* --- events ------------------------------------------------------------------------------ */

void ik_workspace_emit(ik_workspace_t *workspace, const ik_workspace_event_t *event)
{
    workspace->options.on_event(workspace->options.data, event);
}

void ik_workspace_say(ik_workspace_t *workspace, ik_workspace_level_t level, const char *text)
{
    ik_workspace_emit(workspace, &(ik_workspace_event_t){
                                     .kind = IK_WORKSPACE_LINE, .level = level, .text = text});
}

void ik_workspace_say_untrusted(ik_workspace_t *workspace, const size_t counts[IK_EXTENSION_KINDS])
{
    size_t total = 0;
    size_t parts = 0; /* left to be named */
    ik_buffer_t line;
    ik_buffer_init(&line, workspace, IK_BUFFER_UNLIMITED); /* a few words for each kind */
    for (size_t i = 0; i < IK_EXTENSION_KINDS; i++) {
        total += counts[i];
        parts += counts[i] > 0;
    }
    for (size_t i = 0; i < IK_EXTENSION_KINDS; i++) {
        if (counts[i] > 0) {
            parts--;
            ik_buffer_append_format(&line, "%zu %s%s%s", counts[i],
                                    ik_extension_kind_name((ik_extension_kind_t)i),
                                    counts[i] == 1 ? "" : "s",
                                    parts == 0   ? ""
                                    : parts == 1 ? " and "
                                                 : ", ");
        }
    }
    if (total > 0) {
        ik_buffer_append_format(&line,
                                " of the project %s not trusted and not used. Review: /trust or "
                                "ikigai trust",
                                total == 1 ? "is" : "are");
        ik_workspace_say(workspace, IK_WORKSPACE_WARNING, line.data);
    }
    ik_buffer_reset(&line);
}

void ik_workspace_fail(ik_workspace_t *workspace, const res_t *result)
{
    workspace->stopping = true;
    ik_workspace_emit(workspace,
                      &(ik_workspace_event_t){.kind = IK_WORKSPACE_FAILED,
                                              .result = result,
                                              .misconfigured = workspace->target == NULL});
}

void ik_workspace_fail_usage(ik_workspace_t *workspace, const res_t *result)
{
    workspace->stopping = true;
    ik_workspace_emit(workspace, &(ik_workspace_event_t){.kind = IK_WORKSPACE_FAILED,
                                                         .result = result,
                                                         .misconfigured = true});
}

static void emit_for(ik_workspace_member_t *member, ik_workspace_event_kind_t kind)
{
    ik_workspace_emit(member->workspace,
                      &(ik_workspace_event_t){.kind = kind, .agent = member->number});
}

/* --- the queues -------------------------------------------------------------------------- */

/* What keeps everything waiting. */
static const char *starting_with(const ik_workspace_t *workspace)
{
    if (workspace->choosing) {
        return "choosing a session";
    }
    if (workspace->opening != NULL) {
        return "opening the session";
    }
    if (workspace->target == NULL || workspace->session == NULL) {
        return "starting";
    }
    if (workspace->shared.tool_scan_state == TOOL_SCAN_IN_PROGRESS) {
        return "looking for tools";
    }
    if (workspace->rechecking) {
        return "checking your tools";
    }
    return NULL;
}

const char *ik_workspace_waiting_for(const ik_workspace_t *workspace)
{
    const char *what = starting_with(workspace);
    const ik_workspace_member_t *member = workspace->focus;
    bool hooks = workspace->greeting != NULL || (member != NULL && member->queue_count > 0 &&
                                                 ik_workspace_check_runs(member->queue[0].check));
    return what != NULL ? what : hooks ? "running hooks" : NULL;
}

/* Removes a line from the queue. */
static void drop_line(ik_workspace_member_t *member, size_t index)
{
    ik_workspace_line_t *line = &member->queue[index];
    talloc_free((void *)line->text); /* and what hangs on it */
    member->queue_count--;
    memmove(line, line + 1, (member->queue_count - index) * sizeof(*line));
    emit_for(member, IK_WORKSPACE_QUEUE);
}

/* Takes a line out of the queue and returns it as a message of the user, on ctx. first, which may
 * be NULL, are images that it gets besides its own. */
static ik_msg_t *remove_line(const void *ctx, ik_workspace_member_t *member, size_t index,
                             const ik_workspace_images_t *first)
{
    const ik_workspace_line_t *line = &member->queue[index];
    char *data = ik_workspace_format_images(NULL, first, line->images);
    ik_msg_t *message = ik_msg_create(ctx, IK_MSG_USER, line->text, data);
    talloc_free(data);
    drop_line(member, index);
    return message;
}

/* As remove_line for a message that is sent: with what hooks add to it. */
static ik_msg_t *remove_message(const void *ctx, ik_workspace_member_t *member, size_t index,
                                const ik_workspace_images_t *first)
{
    const ik_workspace_line_t *line = &member->queue[index];
    bool begins = !ik_workspace_is_busy(member->workspace, member->number);
    ik_workspace_announce_images(member->workspace, first, line->images);
    char *text =
        ik_workspace_join_context(NULL, member->workspace, line->text, line->check, begins);
    ik_msg_t *plain = remove_line(NULL, member, index, first);
    char *data = ik_msg_format_typed(plain, plain->data_json, text, strlen(plain->content));
    ik_msg_t *message = ik_msg_create(ctx, IK_MSG_USER, text, data);
    talloc_free(plain);
    talloc_free(text);
    return message;
}

/* --- what hooks say about a line --------------------------------------------------------- */

/* Removes a line that a hook blocks; why must not belong to the line. */
static void block_line(ik_workspace_member_t *member, size_t index, const char *why)
{
    char *text = ik_strdup(NULL, member->queue[index].text);
    bool idle = !ik_workspace_is_busy(member->workspace, member->number);
    drop_line(member, index);
    if (idle) {
        emit_for(member, IK_WORKSPACE_TURN);
    }
    ik_workspace_report_block(member, text, why, idle);
    talloc_free(text);
}

typedef struct {
    ik_workspace_member_t *member;
    uint64_t order; /* of the line */
} asked_line_t;

static void on_line_checked(void *data, const char *why)
{
    const asked_line_t *asked = data;
    ik_workspace_member_t *member = asked->member;
    ik_workspace_t *workspace = member->workspace;
    size_t index = 0;
    while (index < member->queue_count && member->queue[index].order != asked->order) {
        index++;
    }
    if (why != NULL && index < member->queue_count) {
        block_line(member, index, why); /* asked is freed with the line */
    }
    ik_workspace_pump(workspace);
}

/* Shows a line to the hooks, once. */
static void check_line(ik_workspace_member_t *member, ik_workspace_line_t *line)
{
    if (!line->checked && line->kind != IK_WORKSPACE_SUBMIT_COMMAND) {
        asked_line_t *asked = ik_new(line->text, asked_line_t);
        *asked = (asked_line_t){.member = member, .order = line->order};
        line->checked = true;
        line->check =
            ik_workspace_check_start(line->text, member, line->text, on_line_checked, asked);
    }
}

/* Whether the line can be taken: its images are ready, and hooks have seen it. */
static bool is_ready(ik_workspace_member_t *member, ik_workspace_line_t *line)
{
    check_line(member, line);
    return !ik_workspace_images_wait(line->images) && !ik_workspace_check_runs(line->check);
}

ik_msg_t *ik_workspace_take_next(void *data, const void *ctx)
{
    ik_workspace_member_t *member = data;
    const ik_workspace_t *workspace = member->workspace;
    for (size_t i = 0; !workspace->stopping && !workspace->closed && i < member->queue_count; i++) {
        if (member->queue[i].kind == IK_WORKSPACE_SUBMIT_NEXT) {
            return is_ready(member, &member->queue[i]) ? remove_message(ctx, member, i, NULL)
                                                       : NULL;
        }
    }
    return NULL;
}

void ik_workspace_begin_turn(ik_workspace_member_t *member)
{
    member->workspace->usage.turns++;
    emit_for(member, IK_WORKSPACE_TURN);
}

/* Takes one line from the agent's queue; false if none can be taken now. */
static bool take_line(ik_workspace_member_t *member)
{
    ik_workspace_t *workspace = member->workspace;
    if (member->queue_count == 0 || ik_workspace_is_busy(workspace, member->number)) {
        return false;
    }
    bool command = member->queue[0].kind == IK_WORKSPACE_SUBMIT_COMMAND;
    if (command && member != workspace->focus) {
        return false;
    }
    if (!command && workspace->recheck_due) {
        ik_workspace_expect_message(workspace); /* the pump runs again when it is done */
        return false;
    }
    if (!command && workspace->greeting_stop != NULL) {
        char *why = ik_alloc_take(workspace->greeting_stop);
        workspace->greeting_stop = NULL;
        block_line(member, 0, why);
        talloc_free(why);
        return true;
    }
    if (!command && (workspace->greeting != NULL || !is_ready(member, &member->queue[0]) ||
                     ik_workspace_images_wait(workspace->images))) {
        return false; /* the pump runs again when they are ready */
    }
    int64_t number = member->number;
    ik_msg_t *line = command ? remove_line(workspace, member, 0, NULL)
                             : remove_message(workspace, member, 0, workspace->images);
    if (command) {
        ik_workspace_emit(workspace, &(ik_workspace_event_t){.kind = IK_WORKSPACE_COMMAND,
                                                             .agent = number,
                                                             .text = line->content});
    } else {
        if (member->agent == NULL) {
            ik_workspace_require_agent(workspace);
        }
        TALLOC_FREE(workspace->images); /* only the first message has them */
        ik_workspace_begin_turn(member);
        ik_agent_start_turn(member->agent, line->content, line->data_json);
        ik_workspace_store_mode(member);
    }
    talloc_free(line);
    return true;
}

static bool can_take(const ik_workspace_t *workspace)
{
    return !workspace->stopping && !workspace->closed && workspace->holds == 0 &&
           starting_with(workspace) == NULL && !ik_workspace_has_own_question(workspace);
}

/* Taking a line may add or free agents: every round starts with the first one. */
void ik_workspace_pump(ik_workspace_t *workspace)
{
    if (workspace->pumping || workspace->stopping || workspace->closed) {
        return;
    }
    workspace->pumping = true;
    if (!workspace->ready && starting_with(workspace) == NULL) {
        workspace->ready = true;
        ik_workspace_emit(workspace, &(ik_workspace_event_t){.kind = IK_WORKSPACE_READY});
        ik_workspace_say_notices(workspace);
    }
    for (bool taken = true; taken && can_take(workspace);) {
        taken = take_line(workspace->focus);
        for (size_t i = 0; !taken && can_take(workspace) && i < workspace->member_count; i++) {
            taken = take_line(workspace->members[i]);
        }
    }
    workspace->pumping = false;
    ik_workspace_emit(workspace, &(ik_workspace_event_t){.kind = IK_WORKSPACE_SETTLED});
}

/* Where a line joins the queue: a message for the running turn goes before messages that wait for
 * the end of the turn. */
static size_t find_place(const ik_workspace_member_t *member, ik_workspace_submit_t kind)
{
    size_t place = 0;
    while (place < member->queue_count &&
           (kind != IK_WORKSPACE_SUBMIT_NEXT ||
            member->queue[place].kind != IK_WORKSPACE_SUBMIT_QUEUED)) {
        place++;
    }
    return place;
}

void ik_workspace_submit(ik_workspace_t *workspace, int64_t number, const char *text,
                         ik_workspace_images_t *images, ik_workspace_submit_t kind)
{
    ik_workspace_member_t *member = ik_workspace_find_member(workspace, number);
    if (kind == IK_WORKSPACE_SUBMIT_NEXT && !ik_workspace_is_busy(workspace, number)) {
        kind = IK_WORKSPACE_SUBMIT_QUEUED;
    }
    size_t place = find_place(member, kind);
    member->queue =
        ik_resize_array(member, member->queue, ik_workspace_line_t, member->queue_count + 1);
    memmove(member->queue + place + 1, member->queue + place,
            (member->queue_count - place) * sizeof(*member->queue));
    ik_workspace_line_t *line = &member->queue[place];
    *line = (ik_workspace_line_t){
        .text = ik_strdup(member, text), .kind = kind, .order = ++member->submitted};
    line->images = talloc_steal(line->text, images);
    member->queue_count++;
    workspace->recheck_due = workspace->recheck_due || ik_mcp_is_stale(workspace->mcp);
    if (kind == IK_WORKSPACE_SUBMIT_NEXT) {
        check_line(member, line); /* it may be taken at any time */
    }
    emit_for(member, IK_WORKSPACE_QUEUE);
    ik_workspace_pump(workspace);
}

const ik_workspace_line_t *ik_workspace_queued(const ik_workspace_t *workspace, int64_t number,
                                               size_t index)
{
    const ik_workspace_member_t *member = ik_workspace_find_member(workspace, number);
    return member == NULL || index >= member->queue_count ? NULL : &member->queue[index];
}

char *ik_workspace_take_latest(const void *ctx, ik_workspace_t *workspace, int64_t number)
{
    ik_workspace_member_t *member = ik_workspace_find_member(workspace, number);
    size_t latest = 0;
    if (member == NULL || member->queue_count == 0) {
        return NULL;
    }
    for (size_t i = 1; i < member->queue_count; i++) {
        latest = member->queue[i].order > member->queue[latest].order ? i : latest;
    }
    ik_msg_t *line = remove_line(NULL, member, latest, NULL);
    char *text = ik_strdup(ctx, line->content);
    talloc_free(line);
    return text;
}

char *ik_workspace_take_queue(const void *ctx, ik_workspace_t *workspace, int64_t number)
{
    ik_workspace_member_t *member = ik_workspace_find_member(workspace, number);
    ik_buffer_t joined;
    if (member == NULL || member->queue_count == 0) {
        return NULL;
    }
    ik_buffer_init(&joined, ctx, IK_BUFFER_UNLIMITED); /* bounded by what was entered */
    while (member->queue_count > 0) {
        ik_msg_t *line = remove_line(NULL, member, 0, NULL);
        ik_buffer_append_text(&joined, joined.len == 0 ? "" : "\n");
        ik_buffer_append_text(&joined, line->content);
        talloc_free(line);
    }
    return ik_buffer_finish(&joined);
}

void ik_workspace_hold(ik_workspace_t *workspace)
{
    workspace->holds++;
}

void ik_workspace_release(ik_workspace_t *workspace)
{
    workspace->holds--;
    ik_workspace_pump(workspace);
}

void ik_workspace_add_note(ik_workspace_t *workspace, int64_t number, const char *text,
                           const char *data_json)
{
    ik_workspace_member_t *member = ik_workspace_find_member(workspace, number);
    if (workspace->checkpointer != NULL) {
        ik_checkpointer_discard(workspace->checkpointer); /* the command may have changed files */
    }
    member->notes = ik_resize_array(member, member->notes, char *, member->note_count + 2);
    member->notes[member->note_count++] = ik_strdup(member->notes, text);
    member->notes[member->note_count++] =
        data_json == NULL ? NULL : ik_strdup(member->notes, data_json);
    if (member->agent != NULL && !ik_agent_is_busy(member->agent)) {
        ik_workspace_flush_notes(member);
    }
}

bool ik_workspace_compact(ik_workspace_t *workspace, const char *focus)
{
    ik_workspace_member_t *member = workspace->focus;
    bool compacted = ik_agent_compact(ik_workspace_require_agent(workspace), focus);
    if (ik_agent_is_busy(member->agent)) {
        emit_for(member, IK_WORKSPACE_TURN);
    }
    return compacted;
}

void ik_workspace_interrupt(ik_workspace_t *workspace, int64_t number)
{
    ik_workspace_member_t *member = ik_workspace_find_member(workspace, number);
    if (member != NULL && member->custom != NULL) {
        ik_workspace_cancel_custom(member);
    } else if (member != NULL && ik_workspace_is_busy(workspace, number)) {
        ik_agent_interrupt(member->agent);
    } else if (member != NULL && member->queue_count > 0 &&
               member->queue[0].kind != IK_WORKSPACE_SUBMIT_COMMAND &&
               (workspace->greeting != NULL || ik_workspace_check_runs(member->queue[0].check))) {
        /* the hooks of a message that is not sent yet */
        TALLOC_FREE(workspace->greeting);
        drop_line(member, 0);
        emit_for(member, IK_WORKSPACE_TURN);
        ik_workspace_on_agent_event(member, &(ik_agent_event_t){.kind = IK_AGENT_TURN_ENDED,
                                                                .reason = IK_TURN_INTERRUPTED});
    }
    ik_workspace_interrupt_subagents(workspace, number);
}

/* --- the working folder ------------------------------------------------------------------ */

/* 0, 0: there is none. */
static ik_workspace_folder_t look_at_folder(const ik_workspace_t *workspace)
{
    struct stat status;
    return stat(workspace->options.paths->cwd, &status) < 0
               ? (ik_workspace_folder_t){0}
               : (ik_workspace_folder_t){.device = status.st_dev, .inode = status.st_ino};
}

static bool is_same_folder(const ik_workspace_folder_t *a, const ik_workspace_folder_t *b)
{
    return a->device == b->device && a->inode == b->inode;
}

/* Rooms hold the folder in which they were made: calls in it fail, with reasons that do not say
 * why, after it was removed or another one took its place. */
static void watch_folder(ik_workspace_t *workspace)
{
    ik_workspace_folder_t now = look_at_folder(workspace);
    if (is_same_folder(&now, &workspace->folder_seen)) {
        return;
    }
    workspace->folder_seen = now;
    if (is_same_folder(&now, &workspace->folder)) {
        return;
    }
    char *line =
        ik_sprintf(NULL,
                   now.inode == 0 ? "The working folder %s was removed, so tools fail. When it "
                                    "is there again, leave and start ikigai in it: -c "
                                    "continues this session."
                                  : "The working folder %s was replaced by another one, and "
                                    "tools may still see the old one. Leave and start ikigai "
                                    "in it again: -c continues this session.",
                   workspace->options.paths->cwd);
    ik_workspace_say(workspace, IK_WORKSPACE_WARNING, line);
    talloc_free(line);
}

/* --- agent events ------------------------------------------------------------------------ */

/* Images of its sessions are kept although the usual database does not name them. */
static void remember_database(const ik_workspace_t *workspace)
{
    ik_blob_sweep_remember(
        workspace->options.paths,
        ik_history_local_file(workspace->options.config->db, workspace->options.paths->database));
}

void ik_workspace_on_agent_event(void *data, const ik_agent_event_t *event)
{
    ik_workspace_member_t *member = data;
    ik_workspace_t *workspace = member->workspace;
    if (workspace->closed) {
        return;
    }
    if (member->ended) {
        ik_workspace_watch_task(member, event);
        if (event->kind == IK_AGENT_TURN_ENDED) {
            ik_timer_start(workspace->farewell, 0);
        }
        return;
    }
    if (event->kind == IK_AGENT_USAGE) {
        ik_workspace_usage_t *sums = &workspace->usage;
        ik_workspace_set_context(member, &event->usage);
        ik_workspace_add_usage(sums, &event->usage, event->cost);
    }
    if (event->kind == IK_AGENT_MESSAGE) {
        ik_workspace_set_title(member, event->message);
        remember_database(workspace);
        if (ik_msg_is_summary(event->message)) {
            ik_workspace_shrink_context(member, event->message);
        }
    }
    ik_workspace_emit(workspace, &(ik_workspace_event_t){.kind = IK_WORKSPACE_AGENT,
                                                         .agent = member->number,
                                                         .event = event});
    if (event->kind == IK_AGENT_MESSAGE) {
        watch_folder(workspace);
    }
    ik_workspace_watch_task(member, event);
    if (event->kind == IK_AGENT_TURN_ENDED) {
        if (member->turn_target != NULL && ik_agent_target(member->agent) == member->turn_target) {
            ik_agent_set_target(member->agent, member->usual_target);
        }
        member->turn_target = NULL;
        if (member->agent != NULL) { /* NULL: hooks blocked its first message */
            ik_workspace_flush_notes(member);
        }
        ik_session_flush(workspace->session);
        remember_database(workspace);
        if (!ik_workspace_is_busy(workspace, 0)) {
            ik_workspace_free_old_tools(workspace);
            ik_history_tidy(workspace->shared.history);
        }
        ik_workspace_pump(workspace);
    }
}

/* --- the model --------------------------------------------------------------------------- */

static res_t confirm_host(ik_workspace_t *workspace, const ik_target_t *target);

res_t ik_workspace_choose_target(ik_workspace_t *workspace, const char *kept)
{
    char *notice;
    const ik_target_t *target;
    res_t chosen = ik_agent_target_choose(workspace, workspace->options.config,
                                          workspace->shared.models, kept, &target, &notice);
    if (notice != NULL) {
        ik_workspace_say(workspace, IK_WORKSPACE_WARNING, notice);
    }
    if (is_ok(&chosen)) {
        chosen = confirm_host(workspace, target);
    }
    if (is_ok(&chosen)) {
        workspace->target = target;
    }
    return chosen;
}

const ik_target_t *ik_workspace_target(const ik_workspace_t *workspace)
{
    const ik_agent_t *agent = workspace->focus->agent;
    return agent == NULL ? workspace->target : ik_agent_target(agent);
}

bool ik_workspace_is_makeshift(const ik_workspace_t *workspace)
{
    return workspace->target != NULL &&
           ik_agent_target_is_makeshift(workspace->options.config, workspace->target);
}

res_t ik_workspace_create_target(const void *ctx, ik_workspace_t *workspace, const char *model,
                                 const ik_target_t **out)
{
    TRY(ik_target_create(ctx, workspace->options.config, workspace->shared.models, model, out));
    return confirm_host(workspace, *out);
}

res_t ik_workspace_set_model(ik_workspace_t *workspace, const char *model)
{
    const ik_target_t *chosen;
    TRY(ik_workspace_create_target(workspace, workspace, model, &chosen));
    workspace->target = chosen;
    if (workspace->focus->agent != NULL) {
        ik_agent_set_target(workspace->focus->agent, chosen);
    }
    return OK;
}

res_t ik_workspace_choose_for_turn(ik_workspace_member_t *member, const char *model)
{
    ik_workspace_t *workspace = member->workspace;
    const ik_target_t *chosen;
    TRY(ik_workspace_create_target(workspace, workspace, model, &chosen));
    member->usual_target = ik_agent_target(member->agent);
    member->turn_target = chosen;
    ik_agent_set_target(member->agent, chosen);
    return OK;
}

res_t ik_workspace_remember_model(ik_workspace_t *workspace, const char *model)
{
    return ik_config_change_model(workspace->options.config, workspace->options.paths, model);
}

res_t ik_workspace_set_key(ik_workspace_t *workspace, const char *provider, const char *key)
{
    return ik_config_change_key(workspace->options.config, workspace->options.paths, provider, key);
}

res_t ik_workspace_forget_key(ik_workspace_t *workspace, const char *provider, bool *removed,
                              const char **variable)
{
    return ik_config_change_forget_key(workspace->options.config, workspace->options.paths,
                                       provider, removed, variable);
}

ik_model_query_t *ik_workspace_query_models(
    ik_workspace_t *workspace, const ik_config_provider_t *provider, const char *key,
    void (*on_end)(void *data, const ik_model_query_answer_t *answer), void *data)
{
    return ik_model_query_start(workspace->queries,
                                &(ik_model_query_options_t){.provider = provider,
                                                            .key = key,
                                                            .loop = workspace->shared.loop,
                                                            .http = workspace->shared.http,
                                                            .on_end = on_end,
                                                            .data = data});
}

/* --- starting and stopping --------------------------------------------------------------- */

static void on_history_notice(void *data, const char *line)
{
    ik_workspace_say(data, IK_WORKSPACE_WARNING, line);
}

/* Without an answer, the next start asks again. */
static void on_delivery_answer(void *data, const char *answer)
{
    ik_workspace_t *workspace = data;
    if (answer == NULL) {
        return;
    }
    bool all = strcmp(answer, "yes") == 0;
    ik_history_decide(workspace->shared.history, all);
    ik_workspace_say(workspace, IK_WORKSPACE_NOTE,
                     all ? "Delivering earlier sessions."
                         : "Not delivered. To deliver them later: ikigai session deliver");
}

/* Asks about sessions that began without the shared history. */
static void on_withheld(void *data, int64_t count)
{
    static const char *const choices[] = {"yes", "no", NULL};
    ik_workspace_t *workspace = data;
    char *text = ik_sprintf(
        workspace,
        "%lld earlier session%s of this machine %s not in the shared history %s. Deliver %s?",
        (long long)count, count == 1 ? "" : "s", count == 1 ? "is" : "are",
        ik_history_address(workspace->shared.history), count == 1 ? "it" : "them");
    ik_workspace_ask(workspace, &(ik_question_t){.text = text, .choices = choices, .fallback = 1},
                     on_delivery_answer, workspace);
    talloc_free(text);
}

ik_workspace_t *ik_workspace_create(const void *ctx, const ik_workspace_options_t *options)
{
    ik_workspace_t *workspace = ik_new(ctx, ik_workspace_t);
    workspace->options = *options;
    workspace->old_registries = talloc_new(workspace);
    workspace->queries = talloc_new(workspace);
    workspace->operations =
        (ik_host_operations_t){.operations = ik_workspace_operations, .data = workspace};
    workspace->farewell =
        ik_timer_create(workspace, options->loop, ik_workspace_say_farewell, workspace);
    workspace->shared = (ik_shared_ctx_t){
        .config = options->config,
        .loop = options->loop,
        .http = ik_http_create(workspace, options->loop),
        .history = ik_history_create(
            workspace,
            &(ik_history_options_t){.db = options->config->db,
                                    .file = options->paths->database,
                                    .loop = options->loop,
                                    .on_notice = on_history_notice,
                                    .on_withheld = options->unattended ? NULL : on_withheld,
                                    .deliver_all = options->start->deliver_all,
                                    .data = workspace}),
        .tool_context = {.host = options->host,
                         .config = options->config,
                         .folder = options->paths->cwd,
                         .file_read =
                             ik_sprintf(workspace, "%s/file-read", options->paths->system_tools),
                         .editor = options->editor,
                         .images = options->paths->images,
                         .program = options->paths->program,
                         .operations = &workspace->operations},
        .gate = options->gate == NULL ? &ik_call_gate_open : options->gate,
        .tool_scan_state = TOOL_SCAN_IN_PROGRESS,
        .user_compact_prompt = options->paths->user_compact,
        .compact_prompt = options->paths->compact_prompt,
        .results_shown = !options->unattended,
        .images = options->paths->images,
    };
    ik_workspace_create_gate(workspace);
    ik_workspace_create_hooks(workspace);
    ik_workspace_create_servers(workspace);
    ik_workspace_create_jobs(workspace);
    ik_workspace_create_checkpointer(workspace);
    ik_workspace_create_root(workspace);
    workspace->folder = workspace->folder_seen = look_at_folder(workspace);
    return workspace;
}

/* --- where keys may be sent ---------------------------------------------------------------- */

static char *describe_host(const void *ctx, const ik_config_provider_t *provider,
                           const char *origin)
{
    return ik_sprintf(ctx, "The key of %s would be sent to %s, which is not %s's own server",
                      provider->name, origin, provider->name);
}

typedef struct {
    ik_workspace_t *workspace;
    ik_config_provider_t *provider;
    char *origin;
} host_question_t;

static void on_host_answer(void *data, const char *answer)
{
    host_question_t *asked = data;
    ik_workspace_t *workspace = asked->workspace;
    if (answer != NULL && strcmp(answer, "yes") == 0) {
        asked->provider->key_held = false;
        res_t kept =
            ik_key_host_confirm(workspace->options.paths, asked->provider->name, asked->origin);
        if (is_err(&kept)) {
            ik_workspace_say(workspace, IK_WORKSPACE_WARNING, kept.message);
        }
    } else {
        ik_config_change_withhold_key(workspace->options.config, asked->provider->name);
        ik_workspace_say(workspace, IK_WORKSPACE_NOTE,
                         "The key is not sent. Choose another model with /model.");
    }
    talloc_free(asked);
}

/* Asks whether the key of the target may be sent to its address, if that is not clear. The queues
 * wait for the answer; without a user it is an error. */
static res_t confirm_host(ik_workspace_t *workspace, const ik_target_t *target)
{
    static const char *const choices[] = {"yes", "no", NULL};
    ik_config_provider_t *provider =
        ik_config_provider_find(workspace->options.config, target->config->name);
    if (provider->api_key == NULL || provider->key_held) {
        return OK; /* there is nothing to ask, or it was asked */
    }
    host_question_t *asked = ik_new(workspace, host_question_t);
    asked->workspace = workspace;
    asked->provider = provider;
    asked->origin = ik_key_host_to_confirm(asked, workspace->options.paths, provider);
    if (asked->origin == NULL) {
        talloc_free(asked);
        return OK;
    }
    char *text = describe_host(asked, provider, asked->origin);
    if (workspace->options.unattended) {
        res_t refused = ERR(INVALID,
                            "%s; nothing was sent. To allow it, start ikigai in a terminal, or "
                            "add it to hosts in %s",
                            text, workspace->options.paths->permissions);
        talloc_free(asked);
        return refused;
    }
    provider->key_held = true;
    char *question = ik_sprintf(asked, "%s. Send it?", text);
    ik_workspace_ask(workspace,
                     &(ik_question_t){.text = question, .choices = choices, .fallback = 1},
                     on_host_answer, asked);
    return OK;
}

/* A resumed session keeps its model: an unusable default matters only if the session's model is not
 * usable either. */
res_t ik_workspace_start(ik_workspace_t *workspace)
{
    const ik_workspace_start_t *start = workspace->options.start;
    ik_models_t *models;
    TRY(ik_workspace_load_images(workspace));
    TRY(ik_workspace_load_permissions(workspace));
    res_t loaded = ik_models_load(workspace, workspace->options.paths, &models);
    if (is_err(&loaded)) {
        ik_workspace_say(workspace, IK_WORKSPACE_WARNING, loaded.message);
    }
    workspace->shared.models = models;
    workspace->target_error = ik_workspace_choose_target(workspace, NULL);
    if (is_err(&workspace->target_error) && start->resume == NULL && !start->continue_last &&
        !start->choose) {
        return workspace->target_error;
    }
    ik_workspace_find_hooks(workspace);
    ik_workspace_find_level(workspace); /* while tools are looked for */
    ik_workspace_find_tools(workspace, false);
    ik_workspace_open_first(workspace);
    if (!workspace->options.unattended) {
        /* delivers what an earlier run left; a run without a user does so with its first message */
        ik_history_wrote(workspace->shared.history);
    }
    return OK;
}

typedef struct {
    const ik_workspace_t *workspace;
    ik_timer_t *timer;
    int64_t until_ms;
    bool over;
} stopping_t;

static void on_stopping(void *data)
{
    enum { CHECK_MS = 5 };
    stopping_t *stopping = data;
    bool busy = ik_workspace_is_busy(stopping->workspace, 0) || stopping->workspace->holds > 0;
    stopping->over = !busy || ik_clock_now_ms() >= stopping->until_ms;
    if (!stopping->over) {
        ik_timer_start(stopping->timer, CHECK_MS);
    }
}

void ik_workspace_stop(ik_workspace_t *workspace, int patience_ms)
{
    ik_loop_t *loop = workspace->options.loop;
    stopping_t stopping = {.workspace = workspace, .until_ms = ik_clock_now_ms() + patience_ms};
    workspace->stopping = true;
    for (size_t i = 0; i < workspace->member_count; i++) {
        ik_workspace_interrupt(workspace, workspace->members[i]->number);
    }
    stopping.timer = ik_timer_create(workspace, loop, on_stopping, &stopping);
    on_stopping(&stopping);
    ik_loop_run_until(loop, &stopping.over);
    talloc_free(stopping.timer);
}

enum { SERVERS_MS = 300 }; /* for servers to exit by themselves */

void ik_workspace_close(ik_workspace_t *workspace, int patience_ms)
{
    ik_workspace_part_and_wait(workspace, patience_ms == 0);
    workspace->closed = true; /* the front end hears nothing from here on */
    for (size_t i = 0; i < workspace->member_count; i++) {
        ik_workspace_interrupt(workspace, workspace->members[i]->number);
    }
    ik_workspace_drop_session(workspace);
    ik_workspace_end_jobs(workspace);
    TALLOC_FREE(workspace->discovery);
    TALLOC_FREE(workspace->queries);
    ik_mcp_close(workspace->mcp, SERVERS_MS);
    TALLOC_FREE(workspace->mcp);
    if (patience_ms > 0) {
        ik_history_tidy(workspace->shared.history);
        ik_history_finish(workspace->shared.history, patience_ms);
    }
    TALLOC_FREE(workspace->shared.history);
}

/* --- reading ----------------------------------------------------------------------------- */

const ik_shared_ctx_t *ik_workspace_shared(const ik_workspace_t *workspace)
{
    return &workspace->shared;
}

const ik_paths_t *ik_workspace_paths(const ik_workspace_t *workspace)
{
    return workspace->options.paths;
}

ik_session_t *ik_workspace_session(const ik_workspace_t *workspace)
{
    return workspace->session;
}

const ik_workspace_usage_t *ik_workspace_usage(const ik_workspace_t *workspace)
{
    return &workspace->usage;
}

bool ik_workspace_is_open(const ik_workspace_t *workspace)
{
    return workspace->session != NULL && workspace->opening == NULL;
}
