/*
 * Sub-agents: agents that work on a task for a tool call of another agent (op "agent" of the host
 * channel). A sub-agent is a member of the session with a conversation of its own; the task ends
 * with its first turn, and its last words are the answer to the request.
 */
#include <string.h>

#include "agent/agent_prompt.h"
#include "base/alloc.h"
#include "base/sanitiser.h"
#include "base/utf8.h"
#include "store/event_facts.h"
#include "workspace/workspace_state.h"

enum {
    AT_ONCE_MAX = 4,     /* sub-agents of one agent that work */
    LEVELS_MAX = 2,      /* of sub-agents below an agent of the user */
    TOOLS_MAX = 256,     /* in a request */
    TEXT_MAX = 96 << 10, /* bytes of an answer; the session has all of it */
    DOING_MAX = 200,     /* bytes */
};

/* A request until it is answered. A child of the request, which is freed when it is answered, when
 * the tool cancels it, and when the call ends. */
struct ik_workspace_task {
    ik_workspace_t *workspace;
    ik_host_request_t *request;
    ik_workspace_member_t *member; /* that works on it; NULL: it waits, or it is over */
    ik_workspace_task_t *next;     /* that waits */
    const char *prompt;
    const char *name;         /* of the agent's file; NULL: none */
    const char *system;       /* the body of that file; NULL: none */
    const char *const *tools; /* NULL: those of the parent */
    const char *model;        /* NULL: that of the parent */
    bool lenient;             /* the model is named by a file: it need not exist here */
    ik_mode_t mode;
};

/* --- what is known of sub-agents --------------------------------------------------------- */

static const ik_delegation_t *delegation_of(const ik_workspace_t *workspace, int64_t number)
{
    return workspace->session == NULL ? NULL : ik_session_delegation(workspace->session, number);
}

bool ik_workspace_is_subagent(const ik_workspace_t *workspace, int64_t number)
{
    return delegation_of(workspace, number) != NULL;
}

bool ik_workspace_has_ended(const ik_workspace_t *workspace, int64_t number)
{
    return ik_workspace_is_subagent(workspace, number) &&
           !ik_workspace_is_busy(workspace, number) && number != workspace->focus->number;
}

const char *ik_workspace_agent_name(const ik_workspace_t *workspace, int64_t number)
{
    const ik_delegation_t *delegation = delegation_of(workspace, number);
    return delegation == NULL ? NULL : delegation->name;
}

const char *ik_workspace_agent_doing(const ik_workspace_t *workspace, int64_t number)
{
    const ik_workspace_member_t *member = ik_workspace_find_member(workspace, number);
    return member == NULL || member->doing == NULL ? "" : member->doing;
}

void ik_workspace_add_usage(ik_workspace_usage_t *sum, const ik_usage_t *usage, double cost)
{
    ik_usage_add(&sum->usage, usage);
    if (cost >= 0) {
        sum->cost = (sum->cost < 0 ? 0 : sum->cost) + cost;
    }
}

ik_workspace_usage_t ik_workspace_agent_usage(const ik_workspace_t *workspace, int64_t number)
{
    const ik_workspace_member_t *member = ik_workspace_find_member(workspace, number);
    ik_workspace_usage_t sum = {.usage = IK_USAGE_NONE, .cost = -1};
    if (member != NULL) {
        sum = member->spent;
    }
    for (size_t i = 0; i < workspace->member_count; i++) {
        int64_t child = workspace->members[i]->number;
        if (workspace->members[i]->parent == number) {
            ik_workspace_usage_t more = ik_workspace_agent_usage(workspace, child);
            ik_workspace_add_usage(&sum, &more.usage, more.cost);
        }
    }
    return sum;
}

/* Levels of sub-agents above and including this agent; a fork has those of its parent. */
static int level_of(const ik_workspace_t *workspace, int64_t number)
{
    int level = 0;
    for (; number != 0; number = ik_workspace_agent_parent(workspace, number)) {
        level += ik_workspace_is_subagent(workspace, number);
    }
    return level;
}

bool ik_workspace_may_delegate(const ik_workspace_t *workspace, int64_t number)
{
    return level_of(workspace, number) < LEVELS_MAX;
}

/* --- events ------------------------------------------------------------------------------ */

static void announce(const ik_workspace_member_t *member, bool ended, ik_turn_reason_t reason)
{
    ik_workspace_t *workspace = member->workspace;
    const ik_delegation_t *delegation = delegation_of(workspace, member->number);
    ik_workspace_usage_t spent = ik_workspace_agent_usage(workspace, member->number);
    ik_workspace_subagent_t subagent = {
        .parent = member->parent,
        .name = delegation->name,
        .call_id = delegation->call_id,
        .ended = ended,
        .reason = reason,
        .usage = spent.usage,
        .cost = spent.cost,
    };
    ik_workspace_emit(workspace, &(ik_workspace_event_t){.kind = IK_WORKSPACE_SUBAGENT,
                                                         .agent = member->number,
                                                         .subagent = &subagent});
}

/* --- answering --------------------------------------------------------------------------- */

/* The text of the last answer, on ctx: the messages of the model at the end. */
static char *last_words(const void *ctx, const ik_agent_t *agent)
{
    const ik_conversation_t *conversation = ik_agent_conversation(agent);
    size_t from = conversation->count;
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by the answer */
    ik_buffer_append_text(&text, "");
    while (from > 0 && ik_msg_is(conversation->messages[from - 1], IK_MSG_ASSISTANT)) {
        from--;
    }
    for (; from < conversation->count; from++) {
        const char *content = conversation->messages[from]->content;
        ik_buffer_append_text(&text, content == NULL ? "" : content);
    }
    if (text.len > TEXT_MAX) {
        size_t whole = text.len;
        text.len = ik_utf8_cut(text.data, text.len, TEXT_MAX);
        ik_buffer_append_format(&text, "\n[cut here: %zu of %zu bytes]", text.len, whole);
    }
    return ik_buffer_finish(&text);
}

static void succeed(ik_workspace_task_t *task, const ik_workspace_member_t *member)
{
    ik_workspace_usage_t spent = ik_workspace_agent_usage(task->workspace, member->number);
    ik_buffer_t result;
    ik_buffer_init(&result, NULL, IK_BUFFER_UNLIMITED); /* bounded by the answer */
    ik_json_add_text(&result, "text", last_words(task, member->agent));
    ik_json_begin_member(&result, "usage");
    ik_usage_format_cost(&result, &spent.usage, spent.cost);
    ik_json_add_number(&result, "agent", member->number);
    ik_buffer_append_byte(&result, '}');
    ik_host_request_succeed(task->request, result.data, result.len);
    ik_buffer_reset(&result);
}

/* The turn of a sub-agent has ended, and its task with it. */
static void end_task(ik_workspace_member_t *member, ik_turn_reason_t reason)
{
    ik_workspace_t *workspace = member->workspace;
    ik_workspace_task_t *task = member->task;
    member->on_task = false;
    member->task = NULL;
    announce(member, true, reason);
    if (task != NULL) {
        task->member = NULL; /* nothing is left to interrupt */
        if (reason == IK_TURN_INTERRUPTED) {
            ik_host_request_fail(task->request, IK_HOST_CANCELLED, "Agent %lld was interrupted",
                                 (long long)member->number);
        } else if (reason == IK_TURN_ERROR) {
            ik_host_request_fail(task->request, IK_HOST_MODEL_ERROR, "%s",
                                 member->failure == NULL ? "The model failed" : member->failure);
        } else {
            succeed(task, member);
        }
    }
    TALLOC_FREE(member->failure);
    TALLOC_FREE(member->doing);
    ik_timer_start(workspace->farewell, 0); /* frees the conversation, and starts those that wait */
}

static void set_doing(ik_workspace_member_t *member, const char *text, size_t len)
{
    char *start = ik_strndup(NULL, text, ik_utf8_cut(text, len, DOING_MAX));
    char *line = ik_sanitise_line(member, start);
    talloc_free(start);
    bool same = member->doing != NULL && strcmp(member->doing, line) == 0;
    talloc_free(member->doing);
    member->doing = line;
    if (!same && member->task != NULL) {
        char *progress = ik_sprintf(NULL, "agent %lld: %s", (long long)member->number, line);
        ik_host_request_progress(member->task->request, progress);
        talloc_free(progress);
    }
}

void ik_workspace_watch_task(ik_workspace_member_t *member, const ik_agent_event_t *event)
{
    static const char thinking[] = "thinking";
    static const char answering[] = "answering";
    if (event->kind == IK_AGENT_USAGE) {
        ik_workspace_add_usage(&member->spent, &event->usage, event->cost);
    }
    if (!member->on_task) {
        return;
    }
    switch (event->kind) {
    case IK_AGENT_REASONING:
        set_doing(member, thinking, strlen(thinking));
        break;
    case IK_AGENT_TEXT:
        set_doing(member, answering, strlen(answering));
        break;
    case IK_AGENT_TOOL_STARTED:
        set_doing(member, event->message->content, strlen(event->message->content));
        break;
    case IK_AGENT_RETRY:
        set_doing(member, event->text, event->len);
        break;
    case IK_AGENT_ERROR:
        talloc_free(member->failure);
        member->failure = ik_strndup(member, event->text, event->len);
        break;
    case IK_AGENT_TURN_ENDED:
        end_task(member, event->reason);
        break;
    default:
        break;
    }
}

void ik_workspace_abandon_task(ik_workspace_member_t *member)
{
    if (member->task != NULL) {
        member->task->member = NULL;
    }
}

void ik_workspace_interrupt_subagents(ik_workspace_t *workspace, int64_t number)
{
    for (size_t i = 0; i < workspace->member_count; i++) {
        const ik_workspace_member_t *member = workspace->members[i];
        if (member->on_task && member->parent == number) {
            ik_workspace_interrupt(workspace, member->number);
        }
    }
}

/* Destructor: the tool cancels the request, or its call has ended. */
static int cancel_task(ik_workspace_task_t *task)
{
    ik_workspace_t *workspace = task->workspace;
    ik_workspace_task_t **at = &workspace->waiting;
    while (*at != NULL && *at != task) {
        at = &(*at)->next;
    }
    if (*at == task) {
        *at = task->next;
    }
    if (task->member != NULL) {
        task->member->task = NULL;
        ik_agent_interrupt(task->member->agent);
    }
    return 0;
}

/* --- starting ---------------------------------------------------------------------------- */

static size_t count_working(const ik_workspace_t *workspace, int64_t parent)
{
    size_t working = 0;
    for (size_t i = 0; i < workspace->member_count; i++) {
        const ik_workspace_member_t *member = workspace->members[i];
        working += member->on_task && member->parent == parent;
    }
    return working;
}

static bool has(const char *const *names, const char *name)
{
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

/* The names that both lists have, on ctx; NULL stands for all. */
static const char *const *intersect(const void *ctx, const char *const *one, const char *const *two)
{
    size_t count = 0;
    if (one == NULL || two == NULL) {
        return one == NULL ? two : one;
    }
    while (one[count] != NULL) {
        count++;
    }
    const char **both = ik_new_array(ctx, const char *, count + 1);
    count = 0;
    for (; *one != NULL; one++) {
        if (has(two, *one)) {
            both[count++] = *one;
        }
    }
    both[count] = NULL;
    return both;
}

/* A model that a file names and that cannot be used here is no reason to refuse the task: the file
 * was perhaps written for another program. */
static res_t choose_target(const ik_workspace_task_t *task, ik_workspace_member_t *member,
                           const ik_agent_t *parent, const ik_target_t **target)
{
    ik_workspace_t *workspace = task->workspace;
    *target = ik_agent_target(parent);
    if (task->model == NULL) {
        return OK;
    }
    const ik_target_t *chosen;
    res_t found = ik_workspace_create_target(member, workspace, task->model, &chosen);
    if (is_ok(&found)) {
        *target = chosen;
    } else if (task->lenient) {
        char *line = ik_sprintf(NULL, "The agent %s asks for the model %s, which is not used: %s",
                                task->name, task->model, found.message);
        ik_workspace_say(workspace, IK_WORKSPACE_WARNING, line);
        talloc_free(line);
        return OK;
    }
    return found;
}

static void begin(ik_workspace_task_t *task)
{
    ik_workspace_t *workspace = task->workspace;
    int64_t parent = task->request->caller->agent;
    const ik_agent_t *agent = ik_workspace_agent(workspace, parent);
    ik_workspace_member_t *member = ik_workspace_create_member(workspace, 0);
    const ik_target_t *target;
    res_t chosen = choose_target(task, member, agent, &target);
    if (is_err(&chosen)) {
        talloc_free(member);
        ik_host_request_fail(task->request, IK_HOST_INVALID_REQUEST, "%s", chosen.message);
        return;
    }
    ik_delegation_t delegation = {
        .name = task->name,
        .call_id = task->request->caller->call_id,
        .tools = intersect(task, ik_agent_conversation(agent)->tools, task->tools)};
    member->number = ik_session_delegate(workspace->session, parent, &delegation);
    member->mode = ik_mode_narrower(task->mode, ik_workspace_mode(workspace, parent));
    member->mode_chosen = member->mode != IK_MODE_AUTO;
    member->parent = parent;
    member->on_task = true;
    member->task = task;
    task->member = member;
    ik_workspace_add_member(member);
    ik_workspace_create_subagent(member, target, task->system, delegation.tools);
    announce(member, false, IK_TURN_END);
    ik_workspace_emit(workspace,
                      &(ik_workspace_event_t){.kind = IK_WORKSPACE_TURN, .agent = member->number});
    ik_agent_start_turn(member->agent, task->prompt, "{\"delegated\":true}");
    ik_workspace_store_mode(member);
    set_doing(member, "working", strlen("working"));
}

/* Those of an agent that is being interrupted wait for the end of their call. */
void ik_workspace_start_waiting(ik_workspace_t *workspace)
{
    for (ik_workspace_task_t **at = &workspace->waiting; *at != NULL;) {
        ik_workspace_task_t *task = *at;
        int64_t parent = task->request->caller->agent;
        const ik_agent_t *agent = ik_workspace_agent(workspace, parent);
        if (agent != NULL && !ik_agent_is_interrupted(agent) &&
            count_working(workspace, parent) < AT_ONCE_MAX) {
            *at = task->next;
            task->next = NULL;
            begin(task);
            at = &workspace->waiting; /* a failed one may have changed the list */
        } else {
            at = &task->next;
        }
    }
}

/* Reads the file that describes the agent. False: the request was answered. */
static bool take_file(ik_workspace_task_t *task)
{
    ik_extension_options_t options = ik_workspace_extension_options(task->workspace);
    const ik_extensions_t *found = ik_extensions_find(task, &options, IK_EXTENSION_AGENT);
    const ik_extension_t *file = ik_extensions_lookup(found, task->name, strlen(task->name));
    char *body = NULL;
    size_t len;
    res_t read = file == NULL || !file->used ? OK : ik_extension_read(task, file, &body, &len);
    if (body == NULL) {
        char *name = ik_sanitise_line(NULL, task->name);
        const char *why = file == NULL    ? "no file describes it"
                          : is_err(&read) ? read.message
                                          : file->reason;
        ik_host_request_fail(task->request, IK_HOST_UNKNOWN_AGENT, "There is no agent %s: %s", name,
                             why);
        talloc_free(name);
        return false;
    }
    ik_mode_t mode;
    task->name = file->name;
    task->system = ik_msg_text_is_blank(body) ? NULL : body;
    task->tools = intersect(task, file->tools, task->tools);
    if (task->model == NULL) {
        task->model = file->model;
        task->lenient = true;
    }
    if (file->mode != NULL && ik_mode_parse(file->mode, &mode)) {
        task->mode = ik_mode_narrower(task->mode, mode);
    }
    return true;
}

void ik_workspace_start_task(void *data, ik_host_request_t *request)
{
    ik_workspace_t *workspace = data;
    const char *prompt = NULL;
    const char *name = NULL;
    const char *const *tools = NULL;
    const char *model = NULL;
    const char *mode = NULL;
    ik_mode_t narrowest = IK_MODE_FULL; /* the parent's is taken into account when it begins */
    if (!ik_host_request_text(request, "prompt", true, &prompt) ||
        !ik_host_request_text(request, "agent", false, &name) ||
        !ik_host_request_texts(request, "tools", TOOLS_MAX, &tools) ||
        !ik_host_request_text(request, "model", false, &model) ||
        !ik_host_request_text(request, "mode", false, &mode)) {
        return;
    }
    if (ik_msg_text_is_blank(prompt)) {
        ik_host_request_fail(request, IK_HOST_INVALID_REQUEST, "prompt is empty");
        return;
    }
    if (mode != NULL && !ik_mode_parse(mode, &narrowest)) {
        ik_host_request_fail(request, IK_HOST_INVALID_REQUEST,
                             "mode must be auto, ask, plan or full");
        return;
    }
    if (ik_workspace_agent(workspace, request->caller->agent) == NULL || workspace->stopping) {
        ik_host_request_fail(request, IK_HOST_CANCELLED, "The agent of this call is ending");
        return;
    }
    if (!ik_workspace_may_delegate(workspace, request->caller->agent)) {
        ik_host_request_fail(request, IK_HOST_LIMIT,
                             "Agent %lld is a sub-agent of a sub-agent and cannot start others",
                             (long long)request->caller->agent);
        return;
    }
    ik_workspace_task_t *task = ik_new(request, ik_workspace_task_t);
    task->workspace = workspace;
    task->request = request;
    task->prompt = prompt;
    task->name = name;
    task->tools = tools;
    task->model = model == NULL || strcmp(model, "inherit") == 0 ? NULL : model;
    task->mode = narrowest;
    if (name != NULL && !take_file(task)) {
        return;
    }
    talloc_set_destructor(task, cancel_task);
    ik_workspace_task_t **last = &workspace->waiting;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = task;
    ik_workspace_start_waiting(workspace);
}

/* --- afterwards -------------------------------------------------------------------------- */

void ik_workspace_unload_subagents(ik_workspace_t *workspace)
{
    for (size_t i = 0; i < workspace->member_count; i++) {
        ik_workspace_member_t *member = workspace->members[i];
        if (member->agent != NULL && member->queue_count == 0 &&
            ik_workspace_has_ended(workspace, member->number)) {
            talloc_free(member->model);
            member->model = ik_strdup(member, ik_agent_target(member->agent)->name);
            member->messages = ik_agent_conversation(member->agent)->count;
            TALLOC_FREE(member->agent);
        }
    }
}
