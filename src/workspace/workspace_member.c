/* The agents of a session and what the workspace knows about each: loading, forking, switching,
 * ending. */
#include <string.h>

#include "agent/agent_prompt.h"
#include "base/alloc.h"
#include "base/sanitiser.h"
#include "base/utf8.h"
#include "extend/extension_catalogue.h"
#include "store/event_facts.h"
#include "workspace/workspace_state.h"

enum { TITLE_MAX = 60 }; /* bytes */

/* --- members ----------------------------------------------------------------------------- */

static int free_member(ik_workspace_member_t *member)
{
    ik_workspace_abandon_task(member);
    return 0;
}

ik_workspace_member_t *ik_workspace_create_member(ik_workspace_t *workspace, int64_t number)
{
    ik_workspace_member_t *member = ik_new(workspace, ik_workspace_member_t);
    talloc_set_destructor(member, free_member);
    member->number = number;
    member->mode = workspace->mode;
    member->mode_chosen = workspace->mode_forced;
    member->workspace = workspace;
    member->spent = (ik_workspace_usage_t){.usage = IK_USAGE_NONE, .cost = -1};
    return member;
}

void ik_workspace_add_member(ik_workspace_member_t *member)
{
    ik_workspace_t *workspace = member->workspace;
    workspace->members = ik_resize_array(workspace, workspace->members, ik_workspace_member_t *,
                                         workspace->member_count + 1);
    workspace->members[workspace->member_count++] = member;
}

static void remove_member(ik_workspace_t *workspace, const ik_workspace_member_t *member)
{
    for (size_t i = 0; i < workspace->member_count; i++) {
        if (workspace->members[i] == member) {
            workspace->member_count--;
            memmove(workspace->members + i, workspace->members + i + 1,
                    (workspace->member_count - i) * sizeof(*workspace->members));
        }
    }
}

ik_workspace_member_t *ik_workspace_find_member(const ik_workspace_t *workspace, int64_t number)
{
    for (size_t i = 0; i < workspace->member_count; i++) {
        if (workspace->members[i]->number == number) {
            return workspace->members[i];
        }
    }
    return NULL;
}

void ik_workspace_create_root(ik_workspace_t *workspace)
{
    workspace->usage = (ik_workspace_usage_t){.usage = IK_USAGE_NONE, .cost = -1};
    workspace->focus = ik_workspace_create_member(workspace, IK_STORE_ROOT_AGENT);
    ik_workspace_add_member(workspace->focus);
}

void ik_workspace_adopt_queue(ik_workspace_member_t *to, ik_workspace_member_t *from)
{
    to->queue =
        ik_resize_array(to, to->queue, ik_workspace_line_t, to->queue_count + from->queue_count);
    for (size_t i = 0; i < from->queue_count; i++) {
        ik_workspace_line_t *line = &to->queue[to->queue_count++];
        *line = from->queue[i];
        line->text = ik_strdup(to, line->text);
        talloc_steal(line->text, line->images);
        line->check = NULL; /* the hooks of the other session look at it */
        line->checked = false;
    }
    to->submitted = from->submitted;
    from->queue_count = 0;
}

void ik_workspace_flush_notes(ik_workspace_member_t *member)
{
    for (size_t i = 0; i < member->note_count; i += 2) {
        ik_agent_add_note(member->agent, member->notes[i], member->notes[i + 1]);
    }
    TALLOC_FREE(member->notes);
    member->note_count = 0;
}

void ik_workspace_set_title(ik_workspace_member_t *member, const ik_msg_t *message)
{
    if (!ik_msg_is(message, IK_MSG_USER) || ik_msg_is_shell_note(message)) {
        return;
    }
    const char *text = message->content;
    char *start = ik_strndup(member, text, ik_utf8_cut(text, ik_msg_typed_len(message), TITLE_MAX));
    talloc_free(member->title);
    member->title = ik_sanitise_line(member, start);
    talloc_free(start);
}

void ik_workspace_set_context(ik_workspace_member_t *member, const ik_usage_t *usage)
{
    member->context = (usage->in > 0 ? usage->in : 0) + (usage->out > 0 ? usage->out : 0);
}

void ik_workspace_shrink_context(ik_workspace_member_t *member, const ik_msg_t *summary)
{
    int64_t tokens = ik_msg_field_number(summary, "tokens_after", 0);
    member->context = tokens > 0 ? tokens : 0;
}

/* Sets title and context of an agent from its conversation. */
static void describe(ik_workspace_member_t *member)
{
    const ik_conversation_t *conversation = ik_agent_conversation(member->agent);
    void *scratch = talloc_new(member);
    for (size_t i = conversation->count; i > 0; i--) {
        const ik_msg_t *message = conversation->messages[i - 1];
        ik_store_event_t event = {.kind = message->kind, .data_json = message->data_json};
        bool wanted = member->context == 0 && !ik_msg_is(message, IK_MSG_TOOL_RESULT);
        ik_event_facts_t facts = wanted ? ik_event_facts(scratch, &event) : (ik_event_facts_t){0};
        if (facts.answer && ik_msg_is_summary(message)) {
            ik_workspace_shrink_context(member, message);
        } else if (facts.answer) {
            ik_workspace_set_context(member, &facts.usage);
        }
        if (ik_msg_is(message, IK_MSG_USER) && !ik_msg_is_shell_note(message)) {
            ik_workspace_set_title(member, message);
            break;
        }
    }
    talloc_free(scratch);
}

/* Counts what the answers of a loaded agent used. */
static void measure(ik_workspace_member_t *member)
{
    const ik_conversation_t *conversation = ik_agent_conversation(member->agent);
    void *scratch = talloc_new(member);
    member->spent = (ik_workspace_usage_t){.usage = IK_USAGE_NONE, .cost = -1};
    for (size_t i = 0; i < conversation->count; i++) {
        const ik_msg_t *message = conversation->messages[i];
        ik_store_event_t event = {.kind = message->kind, .data_json = message->data_json};
        ik_event_facts_t facts = ik_event_facts(scratch, &event);
        if (facts.answer) {
            ik_workspace_add_usage(&member->spent, &facts.usage, facts.cost);
        }
        talloc_free_children(scratch);
    }
    talloc_free(scratch);
}

size_t ik_workspace_agent_count(const ik_workspace_t *workspace)
{
    return workspace->member_count;
}

int64_t ik_workspace_agent_number(const ik_workspace_t *workspace, size_t index)
{
    return workspace->members[index]->number;
}

int64_t ik_workspace_agent_parent(const ik_workspace_t *workspace, int64_t number)
{
    const ik_store_agent_t *stored =
        workspace->session == NULL
            ? NULL
            : ik_store_find_agent(ik_session_agents(workspace->session), number);
    return stored == NULL ? 0 : stored->parent;
}

int64_t ik_workspace_focus(const ik_workspace_t *workspace)
{
    return workspace->focus->number;
}

ik_agent_t *ik_workspace_agent(const ik_workspace_t *workspace, int64_t number)
{
    const ik_workspace_member_t *member = ik_workspace_find_member(workspace, number);
    return member == NULL ? NULL : member->agent;
}

const char *ik_workspace_agent_title(const ik_workspace_t *workspace, int64_t number)
{
    const ik_workspace_member_t *member = ik_workspace_find_member(workspace, number);
    return member == NULL || member->title == NULL ? "" : member->title;
}

int64_t ik_workspace_agent_context(const ik_workspace_t *workspace, int64_t number)
{
    const ik_workspace_member_t *member = ik_workspace_find_member(workspace, number);
    return member == NULL ? 0 : member->context;
}

static bool is_busy(const ik_workspace_member_t *member)
{
    return member->custom != NULL || (member->agent != NULL && ik_agent_is_busy(member->agent));
}

size_t ik_workspace_agent_messages(const ik_workspace_t *workspace, int64_t number)
{
    const ik_workspace_member_t *member = ik_workspace_find_member(workspace, number);
    return member == NULL          ? 0
           : member->agent == NULL ? member->messages
                                   : ik_agent_conversation(member->agent)->count;
}

const char *ik_workspace_agent_model(const ik_workspace_t *workspace, int64_t number)
{
    const ik_workspace_member_t *member = ik_workspace_find_member(workspace, number);
    return member != NULL && member->agent != NULL   ? ik_agent_target(member->agent)->name
           : member != NULL && member->model != NULL ? member->model
                                                     : ik_workspace_target(workspace)->name;
}

bool ik_workspace_is_busy(const ik_workspace_t *workspace, int64_t number)
{
    for (size_t i = 0; i < workspace->member_count; i++) {
        const ik_workspace_member_t *member = workspace->members[i];
        if ((number == 0 || number == member->number) && is_busy(member)) {
            return true;
        }
    }
    return number == 0 && workspace->leaving_count > 0;
}

/* --- agents ------------------------------------------------------------------------------ */

static void on_prompt_line(void *data, const char *line)
{
    ik_workspace_say(data, IK_WORKSPACE_NOTE, line);
}

/* Adds to the counts, one for each kind, what is not used because its project is not trusted. */
static const ik_extensions_t *find_extensions(ik_workspace_t *workspace, const void *ctx,
                                              ik_extension_kind_t kind, size_t *untrusted)
{
    ik_extension_options_t options = ik_workspace_extension_options(workspace);
    const ik_extensions_t *found = ik_extensions_find(ctx, &options, kind);
    for (size_t i = 0; i < found->count; i++) {
        untrusted[kind] += found->items[i].untrusted;
    }
    return found;
}

static char *list_extensions(ik_workspace_t *workspace, const void *ctx, ik_extension_kind_t kind,
                             size_t *untrusted)
{
    void *scratch = talloc_new(NULL);
    const ik_extensions_t *found = find_extensions(workspace, scratch, kind, untrusted);
    char *catalogue = ik_extension_catalogue_format(ctx, found, kind);
    talloc_free(scratch);
    return catalogue;
}

/* Appends a paragraph, which may be NULL, to a prompt, which may be NULL; on ctx. */
static char *append_paragraph(const void *ctx, char *prompt, const char *paragraph)
{
    if (prompt == NULL || paragraph == NULL) {
        return prompt != NULL || paragraph == NULL ? prompt : ik_strdup(ctx, paragraph);
    }
    return ik_sprintf(ctx, "%s%s%s", prompt, prompt[strlen(prompt) - 1] == '\n' ? "\n" : "\n\n",
                      paragraph);
}

static void ignore_line(void *data, const char *line)
{
    (void)data;
    (void)line; /* the first agent of the session has said it */
}

/* While discovery runs, the prompt assumes that there are tools. member is a sub-agent with this
 * body and these tools, or NULL. */
static char *gather_prompt(ik_workspace_t *workspace, const void *ctx,
                           const ik_workspace_member_t *member, const char *body,
                           const char *const *tools)
{
    const ik_tool_registry_t *registry = workspace->shared.tool_registry;
    bool quiet = member != NULL;
    bool has_tools = !workspace->options.start->without_tools &&
                     (registry == NULL || registry->count > 0) &&
                     (tools == NULL || tools[0] != NULL);
    bool delegates =
        has_tools && (member == NULL || ik_workspace_may_delegate(workspace, member->number));
    char *prompt =
        ik_agent_prompt_gather(ctx, workspace->options.paths,
                               body == NULL ? workspace->options.config->system_prompt : body,
                               has_tools, quiet ? ignore_line : on_prompt_line, workspace);
    size_t untrusted[IK_EXTENSION_KINDS] = {0};
    if (has_tools) {
        prompt = append_paragraph(ctx, prompt,
                                  list_extensions(workspace, ctx, IK_EXTENSION_SKILL, untrusted));
    }
    if (delegates) {
        prompt = append_paragraph(ctx, prompt,
                                  list_extensions(workspace, ctx, IK_EXTENSION_AGENT, untrusted));
    }
    if (has_tools) {
        prompt =
            append_paragraph(ctx, prompt, ik_mcp_format_instructions(ctx, workspace->mcp, tools));
    }
    if (quiet) { /* the first agent of the session has said it */
        return append_paragraph(ctx, prompt, ik_agent_prompt_task);
    }
    (void)find_extensions(workspace, ctx, IK_EXTENSION_COMMAND, untrusted); /* only counted here */
    ik_workspace_say_untrusted(workspace, untrusted);
    return prompt;
}

static ik_agent_options_t agent_options(ik_workspace_member_t *member, ik_session_t *session)
{
    ik_workspace_t *workspace = member->workspace;
    return (ik_agent_options_t){.shared = &workspace->shared,
                                .target = workspace->target,
                                .session = session,
                                .without_tools = workspace->options.start->without_tools,
                                .on_event = ik_workspace_on_agent_event,
                                .steering = ik_workspace_take_next,
                                .data = member};
}

/* A stored agent has an empty log if it was forked before its first message. It gets the system
 * prompt now. */
res_t ik_workspace_load_agent(ik_workspace_member_t *member, ik_session_t *session)
{
    ik_workspace_t *workspace = member->workspace;
    const ik_store_agent_t *stored =
        ik_store_find_agent(ik_session_agents(session), member->number);
    void *scratch = talloc_new(workspace);
    ik_agent_options_t options = agent_options(member, session);
    if (stored != NULL && stored->last_seq == 0) {
        options.system_prompt = gather_prompt(workspace, scratch, NULL, NULL, NULL);
    }
    res_t loaded = ik_agent_resume(member, &options, member->number, &member->agent);
    if (is_ok(&loaded)) {
        describe(member);
        ik_workspace_restore_mode(member);
    }
    talloc_free(scratch);
    return loaded;
}

ik_agent_t *ik_workspace_require_agent(ik_workspace_t *workspace)
{
    ik_workspace_member_t *member = workspace->focus;
    if (member->agent == NULL) {
        void *scratch = talloc_new(workspace);
        ik_agent_options_t options = agent_options(member, workspace->session);
        options.system_prompt = gather_prompt(workspace, scratch, NULL, NULL, NULL);
        member->agent = ik_agent_create(member, &options);
        ik_workspace_apply_mode(member);
        talloc_free(scratch);
    }
    return member->agent;
}

void ik_workspace_create_subagent(ik_workspace_member_t *member, const ik_target_t *target,
                                  const char *body, const char *const *tools)
{
    ik_workspace_t *workspace = member->workspace;
    void *scratch = talloc_new(workspace);
    ik_agent_options_t options = agent_options(member, workspace->session);
    options.number = member->number;
    options.target = target;
    options.tools = tools;
    options.system_prompt = gather_prompt(workspace, scratch, member, body, tools);
    member->agent = ik_agent_create(member, &options);
    ik_workspace_apply_mode(member);
    talloc_free(scratch);
}

/* A log that cannot be read is reported when the user switches to its agent. Ended sub-agents are
 * described, and freed again. */
void ik_workspace_load_agents(ik_workspace_t *workspace)
{
    for (size_t i = 0; workspace->session != NULL && i < workspace->member_count; i++) {
        ik_workspace_member_t *member = workspace->members[i];
        if (member->agent == NULL && member->model == NULL && member != workspace->focus) {
            ik_workspace_load_agent(member, workspace->session);
        }
        if (member->agent != NULL) {
            measure(member);
        }
    }
    ik_workspace_unload_subagents(workspace);
}

void ik_workspace_end_agent(ik_workspace_member_t *member)
{
    ik_session_end_agent(member->workspace->session, member->number);
    talloc_free(member);
}

void ik_workspace_say_farewell(void *data)
{
    ik_workspace_t *workspace = data;
    size_t left = 0;
    for (size_t i = 0; i < workspace->leaving_count; i++) {
        ik_workspace_member_t *member = workspace->leaving[i];
        if (is_busy(member)) {
            workspace->leaving[left++] = member;
        } else {
            ik_workspace_end_agent(member);
        }
    }
    workspace->leaving_count = left;
    ik_workspace_unload_subagents(workspace);
    ik_workspace_start_waiting(workspace);
    ik_workspace_free_old_tools(workspace);
    ik_workspace_pump(workspace);
}

/* --- several agents ---------------------------------------------------------------------- */

static void set_focus(ik_workspace_t *workspace, ik_workspace_member_t *member)
{
    workspace->focus = member;
    ik_timer_start(workspace->farewell, 0); /* the one before may be an ended sub-agent */
    ik_workspace_emit(workspace,
                      &(ik_workspace_event_t){.kind = IK_WORKSPACE_FOCUS, .agent = member->number});
    ik_workspace_pump(workspace);
}

void ik_workspace_fork(ik_workspace_t *workspace, const char *prompt)
{
    ik_agent_t *parent = ik_workspace_require_agent(workspace);
    ik_workspace_member_t *member = ik_workspace_create_member(workspace, 0);
    member->agent = ik_agent_fork(member, parent, ik_workspace_on_agent_event, member);
    member->number = ik_agent_number(member->agent);
    member->mode = workspace->focus->mode;
    member->mode_chosen = workspace->focus->mode_chosen;
    member->mode_stored = workspace->focus->mode_stored;
    ik_workspace_apply_mode(member);
    describe(member);
    ik_workspace_add_member(member);
    ik_workspace_emit(
        workspace, &(ik_workspace_event_t){.kind = IK_WORKSPACE_FORKED, .agent = member->number});
    set_focus(workspace, member);
    if (prompt != NULL) {
        ik_workspace_submit(workspace, member->number, prompt,
                            ik_workspace_attach(workspace, prompt), IK_WORKSPACE_SUBMIT_QUEUED);
    }
}

static res_t find(const ik_workspace_t *workspace, int64_t number, ik_workspace_member_t **out)
{
    *out = ik_workspace_find_member(workspace, number);
    return *out != NULL
               ? OK
               : ERR(NOT_FOUND, "There is no agent %lld. /agents lists them.", (long long)number);
}

res_t ik_workspace_switch(ik_workspace_t *workspace, int64_t number)
{
    ik_workspace_member_t *member;
    TRY(find(workspace, number, &member));
    if (member == workspace->focus) {
        return ERR(INVALID, "You are already talking to agent %lld.", (long long)number);
    }
    if (member->agent == NULL) {
        TRY(ik_workspace_load_agent(member, workspace->session));
    }
    set_focus(workspace, member);
    return OK;
}

/* An agent whose tools run stays until they have ended: the state of the files that they leave
 * belongs to its log. */
res_t ik_workspace_kill(ik_workspace_t *workspace, int64_t number)
{
    ik_workspace_member_t *member;
    TRY(find(workspace, number, &member));
    if (workspace->member_count == 1) {
        return ERR(INVALID, "Agent %lld is the only one. /clear starts a new conversation.",
                   (long long)number);
    }
    if (member == workspace->focus) {
        bool is_first = workspace->members[0] == member;
        TRY(ik_workspace_switch(workspace, workspace->members[is_first ? 1 : 0]->number));
    }
    ik_workspace_hold(workspace);
    ik_workspace_emit(workspace,
                      &(ik_workspace_event_t){.kind = IK_WORKSPACE_AGENT_ENDS, .agent = number});
    ik_workspace_interrupt(workspace, number);
    remove_member(workspace, member);
    if (is_busy(member)) {
        member->ended = true;
        workspace->leaving = ik_resize_array(workspace, workspace->leaving, ik_workspace_member_t *,
                                             workspace->leaving_count + 1);
        workspace->leaving[workspace->leaving_count++] = member;
    } else {
        ik_workspace_end_agent(member);
    }
    ik_workspace_release(workspace);
    return OK;
}

res_t ik_workspace_replace_focus(ik_workspace_t *workspace, int64_t number)
{
    ik_workspace_member_t *old = workspace->focus;
    ik_workspace_member_t *member = ik_workspace_create_member(workspace, number);
    res_t loaded = ik_workspace_load_agent(member, workspace->session);
    if (is_err(&loaded)) {
        talloc_free(member);
        return loaded;
    }
    if (old->agent != NULL) {
        ik_agent_set_target(member->agent, ik_agent_target(old->agent));
    }
    member->mode = old->mode;
    member->mode_chosen = old->mode_chosen;
    ik_workspace_apply_mode(member);
    ik_workspace_adopt_queue(member, old);
    remove_member(workspace, old);
    ik_workspace_add_member(member);
    workspace->focus = member;
    ik_workspace_emit(workspace,
                      &(ik_workspace_event_t){.kind = IK_WORKSPACE_REPLACED, .agent = number});
    talloc_free(old);
    return OK;
}
