/* What commands may ask of the interactive program, and what completion lists show. */
#include <string.h>

#include "base/alloc.h"
#include "repl/repl_state.h"

static ik_repl_t *repl_of(ik_command_host_t *host)
{
    return host->data;
}

/* --- text -------------------------------------------------------------------------------- */

static void print(ik_command_host_t *host, const char *text)
{
    ik_repl_rows_t rows = ik_repl_view_rows(repl_of(host)->view);
    ik_repl_rows_lines(&rows, IK_ROLE_TEXT, text);
}

static void print_line(ik_command_host_t *host, const char *text)
{
    ik_repl_say(repl_of(host), IK_ROLE_TEXT, text);
}

static void fail(ik_command_host_t *host, const char *text)
{
    ik_repl_say(repl_of(host), IK_ROLE_ERROR, text);
}

static void ask(ik_command_host_t *host, const char *question, ik_command_answer_fn on_answer,
                void *data)
{
    ik_repl_t *repl = repl_of(host);
    repl->on_answer = on_answer;
    repl->answer_data = talloc_steal(repl, data);
    ik_repl_say(repl, IK_ROLE_WARNING, question);
    ik_repl_view_ask(repl->view, "[y/N] ");
}

void ik_repl_host_answer(ik_repl_t *repl, const char *text)
{
    ik_command_answer_fn on_answer = repl->on_answer;
    void *data = repl->answer_data;
    bool yes = strcasecmp(text, "y") == 0 || strcasecmp(text, "yes") == 0;
    repl->on_answer = NULL;
    repl->answer_data = NULL;
    ik_repl_view_ask(repl->view, NULL);
    on_answer(&repl->host, data, yes);
    talloc_free(data);
}

/* --- the agent --------------------------------------------------------------------------- */

static ik_agent_t *agent(ik_command_host_t *host)
{
    ik_repl_t *repl = repl_of(host);
    ik_repl_session_require_agent(repl);
    return ik_repl_talk_agent(repl->current);
}

static ik_session_t *session(ik_command_host_t *host)
{
    ik_repl_session_require_agent(repl_of(host));
    return repl_of(host)->session;
}

static const ik_target_t *target(ik_command_host_t *host)
{
    return ik_repl_target(repl_of(host));
}

static res_t set_model(ik_command_host_t *host, const char *model)
{
    ik_repl_t *repl = repl_of(host);
    const ik_target_t *chosen;
    TRY(ik_target_create(repl, repl->options->config, repl->shared.models, model, &chosen));
    repl->target = chosen;
    ik_agent_t *current = ik_repl_talk_agent(repl->current);
    if (current != NULL) {
        ik_agent_set_target(current, chosen);
    }
    ik_repl_view_touch(repl->view);
    return OK;
}

static void usage(ik_command_host_t *host, ik_command_usage_t *out)
{
    ik_repl_t *repl = repl_of(host);
    *out = repl->usage;
    out->context_used = ik_repl_talk_context(repl->current);
    out->context_size = ik_repl_target(repl)->facts->context;
}

/* --- tools and sessions ------------------------------------------------------------------ */

static void refresh(ik_command_host_t *host)
{
    ik_repl_tools_start(repl_of(host), true);
}

static void begin_session(ik_command_host_t *host)
{
    ik_repl_session_clear(repl_of(host));
}

static void resume_session(ik_command_host_t *host, const char *id)
{
    ik_repl_session_resume(repl_of(host), id);
}

static int64_t parent_of(const ik_repl_t *repl, int64_t number)
{
    const ik_store_agent_t *stored =
        repl->session == NULL ? NULL
                              : ik_store_find_agent(ik_session_agents(repl->session), number);
    return stored == NULL ? 0 : stored->parent;
}

static ik_command_agent_t *agents(ik_command_host_t *host, const void *ctx, size_t *count)
{
    ik_repl_t *repl = repl_of(host);
    ik_repl_session_load_agents(repl);
    ik_command_agent_t *list = ik_new_array(ctx, ik_command_agent_t, repl->talk_count);
    for (size_t i = 0; i < repl->talk_count; i++) {
        const ik_repl_talk_t *talk = repl->talks[i];
        const ik_agent_t *one = ik_repl_talk_agent(talk);
        list[i] = (ik_command_agent_t){
            .number = ik_repl_talk_number(talk),
            .parent = parent_of(repl, ik_repl_talk_number(talk)),
            .current = talk == repl->current,
            .busy = ik_repl_talk_is_busy(talk),
            .unseen = ik_repl_talk_has_news(talk),
            .messages = one == NULL ? 0 : ik_agent_conversation(one)->count,
            .model = one == NULL ? ik_repl_target(repl)->name : ik_agent_target(one)->name,
            .title = ik_strdup(list, ik_repl_talk_title(talk)),
        };
    }
    *count = repl->talk_count;
    return list;
}

static void fork_agent(ik_command_host_t *host, const char *prompt)
{
    ik_repl_session_fork(repl_of(host), prompt);
}

static res_t switch_agent(ik_command_host_t *host, int64_t number)
{
    return ik_repl_session_switch(repl_of(host), number);
}

static res_t kill_agent(ik_command_host_t *host, int64_t number)
{
    return ik_repl_session_kill(repl_of(host), number);
}

/* --- the rest ---------------------------------------------------------------------------- */

static res_t show_result(ik_command_host_t *host, size_t number)
{
    return ik_repl_talk_show_result(repl_of(host)->current, number);
}

static void copy(ik_command_host_t *host, const char *text, size_t len)
{
    ik_repl_copy(repl_of(host), text, len);
}

static void open_pager(ik_command_host_t *host)
{
    ik_repl_open_pager(repl_of(host));
}

/* Parts of a text of which the pager renders only those that are seen. */
enum { LINES_PER_PART = 500 };

typedef struct {
    const ik_repl_t *repl;
    char **parts;
    size_t count;
} pages_t;

static void render_text(void *data, size_t part, int columns, ik_pager_row_fn on_row,
                        void *row_data)
{
    const pages_t *pages = data;
    ik_repl_rows_t rows = ik_repl_view_rows(pages->repl->view);
    rows.columns = columns;
    rows.full = true;
    rows.on_row = on_row;
    rows.data = row_data;
    ik_repl_rows_lines(&rows, IK_ROLE_TEXT, pages->parts[part]);
}

static void show_text(ik_command_host_t *host, const char *title, const char *text)
{
    ik_repl_t *repl = repl_of(host);
    if (ik_repl_view_prompt(repl->view) == NULL) {
        print(host, text);
        return;
    }
    ik_repl_view_close_pager(repl->view); /* it may show what goes now */
    talloc_free(repl->shown_text);
    pages_t *pages = ik_new(repl, pages_t);
    repl->shown_text = pages;
    pages->repl = repl;
    while (*text != '\0') {
        const char *end = text;
        for (int lines = 0; lines < LINES_PER_PART && *end != '\0'; lines++) {
            end += strcspn(end, "\n");
            end += *end == '\n';
        }
        pages->parts = ik_resize_array(pages, pages->parts, char *, pages->count + 1);
        pages->parts[pages->count++] = ik_strndup(pages, text, (size_t)(end - text));
        text = end;
    }
    ik_pager_source_t source = {
        .count = pages->count, .render = render_text, .data = pages, .from_start = true};
    ik_repl_view_open_pager(repl->view, &source, title);
}

static void leave(ik_command_host_t *host)
{
    ik_repl_leave(repl_of(host), 0);
}

const ik_command_actions_t ik_repl_host_actions = {
    .print = print,
    .print_line = print_line,
    .fail = fail,
    .ask = ask,
    .agent = agent,
    .session = session,
    .target = target,
    .set_model = set_model,
    .usage = usage,
    .refresh = refresh,
    .begin_session = begin_session,
    .resume_session = resume_session,
    .agents = agents,
    .fork = fork_agent,
    .switch_agent = switch_agent,
    .kill_agent = kill_agent,
    .show_result = show_result,
    .copy = copy,
    .open_pager = open_pager,
    .show_text = show_text,
    .leave = leave,
};

/* --- completion -------------------------------------------------------------------------- */

/* The answer to the last question, which it replaces. */
static ik_completion_t *renew_items(ik_repl_t *repl, size_t count)
{
    talloc_free(repl->completions);
    repl->completions = ik_new_array(repl, ik_completion_t, count + 1);
    return repl->completions;
}

static void complete_commands(void *data, ik_completions_t *out)
{
    ik_repl_t *repl = data;
    const ik_command_t *const *table = ik_command_table(&out->count);
    out->items = renew_items(repl, out->count);
    for (size_t i = 0; i < out->count; i++) {
        out->items[i].text = ik_sprintf(out->items, "/%s", table[i]->name);
        out->items[i].note = table[i]->help;
    }
}

static void complete_arguments(void *data, const char *name, int word, ik_completions_t *out)
{
    ik_repl_t *repl = data;
    const ik_command_t *command = ik_command_find(name, strlen(name));
    ik_command_words_t words = {.ctx = talloc_new(repl)};
    if (command != NULL && command->complete != NULL && ik_repl_waiting_for(repl) == NULL) {
        command->complete(&repl->host, word, &words);
    }
    out->items = renew_items(repl, words.count);
    out->count = words.count;
    talloc_steal(out->items, words.ctx);
    for (size_t i = 0; i < words.count; i++) {
        out->items[i] = (ik_completion_t){.text = words.texts[i], .note = words.notes[i]};
    }
}

static void complete_files(void *data, ik_completions_t *out)
{
    ik_repl_files_list(((ik_repl_t *)data)->files, out);
}

ik_completion_source_t ik_repl_host_completion(ik_repl_t *repl)
{
    return (ik_completion_source_t){.commands = complete_commands,
                                    .arguments = complete_arguments,
                                    .files = complete_files,
                                    .data = repl};
}
