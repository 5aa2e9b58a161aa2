/*
 * `ikigai session show`: a session as people read it, or all of it as one JSON object. Both are
 * printed as they are read, so that the longest session takes little memory. Who speaks stands at
 * the beginning of a line and what is said is indented: no message can pass for somebody else's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/print.h"
#include "base/sanitiser.h"
#include "cli/cli_history.h"
#include "cli/cli_session.h"
#include "conversation/figure.h"
#include "conversation/message.h"
#include "conversation/tool_fields.h"
#include "store/session_lines.h"
#include "store/transcript.h"

typedef struct {
    const char *id;
    bool json;
    bool full;
} wish_t;

/* --- for people: the facts --------------------------------------------------------------- */

static void print_fact(const char *name, const char *value)
{
    if (*value != '\0') {
        printf("%-10s", name);
        ik_print_line(stdout, value);
    }
}

static void print_facts(const void *ctx, const ik_store_session_t *session)
{
    ik_holder_t self = ik_holder_self();
    print_fact("Session", session->id);
    print_fact("Title", session->title);
    print_fact("Folder", ik_session_lines_folder(ctx, session->cwd));
    print_fact("Host", strcmp(self.host, session->host) == 0 ? "" : session->host);
    print_fact("Model", session->model);
    print_fact("Started", ik_figure_of_local_time(session->created_us).text);
    print_fact("Last used", ik_figure_of_local_time(session->updated_us).text);
    print_fact("Turns", ik_figure_of_count(session->turns).text);
    print_fact("Messages", ik_figure_of_count(session->messages).text);
    print_fact("Tokens", ik_figure_format_usage(ctx, &session->usage));
    print_fact("Cost", session->cost < 0 ? "" : ik_figure_of_cost(session->cost).text);
}

/* --- for people: what was said ----------------------------------------------------------- */

typedef struct {
    bool full;
    bool answering; /* the last one to speak was the model */
    void *scratch;  /* of one entry */
} telling_t;

static void print_heading(const char *who, int64_t us)
{
    char *heading = ik_sprintf(NULL, "%s, %s", who, ik_figure_of_local_time(us).text);
    putchar('\n');
    ik_print_line(stdout, heading);
    talloc_free(heading);
}

/* Every line of a text, indented. */
static void print_indented(const char *indent, const char *text, size_t len)
{
    ik_buffer_t clean;
    ik_buffer_init(&clean, NULL, IK_BUFFER_UNLIMITED);
    ik_sanitise_append(&clean, text, len);
    for (size_t at = 0; at < clean.len;) {
        const char *line = clean.data + at;
        size_t width = strcspn(line, "\n");
        fputs(width == 0 ? "" : indent, stdout);
        fwrite(line, 1, width, stdout);
        putchar('\n');
        at += width + 1;
    }
    ik_buffer_reset(&clean);
}

static void print_said(const ik_store_event_t *event)
{
    if (event->content != NULL) {
        print_indented("  ", event->content, strlen(event->content));
    }
}

/* A summary: one line behind a mark. */
static void print_marked(const telling_t *telling, const char *mark, const char *summary,
                         const char *more)
{
    fputs(mark, stdout);
    ik_print_line(stdout,
                  ik_sprintf(telling->scratch, "%s%s", summary == NULL ? "" : summary, more));
}

static void print_field(const telling_t *telling, const ik_tool_field_t *field)
{
    size_t len;
    const char *value = ik_tool_fields_format_value(telling->scratch, field, &len);
    if (field->key.len == 0) {
        print_indented("      ", value, len);
        return;
    }
    const char *name = ik_tool_fields_format_name(telling->scratch, field);
    if (ik_tool_fields_is_long(field)) {
        print_marked(telling, "    ", name, ":");
        print_indented("      ", value, len);
    } else {
        print_marked(telling, "    ", name, ik_sprintf(telling->scratch, ": %s", value));
    }
}

/* Arguments or an output: what is in the JSON, or the text as it is. */
static void print_fields(const telling_t *telling, ik_transcript_text_t text, bool is_json,
                         const ik_tool_fields_t *fields)
{
    if (!is_json || fields->left_out > 0) {
        print_indented("      ", text.bytes, text.len);
        return;
    }
    for (size_t i = 0; i < fields->count; i++) {
        print_field(telling, &fields->fields[i]);
    }
}

static void tell_call(telling_t *telling, const ik_transcript_entry_t *entry)
{
    ik_tool_fields_t fields;
    if (!telling->answering) {
        print_heading("assistant", entry->event.created_us);
    }
    print_marked(telling, "> ", entry->event.content, "");
    if (telling->full) {
        bool is_json =
            ik_tool_fields_of_arguments(entry->arguments.bytes, entry->arguments.len, &fields);
        print_fields(telling, entry->arguments, is_json, &fields);
    }
}

static void tell_result(telling_t *telling, const ik_transcript_entry_t *entry)
{
    ik_tool_fields_t fields;
    const char *cost = entry->wall_ms < 0 ? ""
                                          : ik_sprintf(telling->scratch, ", %s",
                                                       ik_figure_of_duration(entry->wall_ms).text);
    print_marked(telling, "< ", entry->result_summary, cost);
    if (telling->full) {
        bool is_json = ik_tool_fields_of_envelope(entry->output.bytes, entry->output.len, &fields);
        print_fields(telling, entry->output, is_json, &fields);
    }
}

static void tell_tool(telling_t *telling, const ik_transcript_entry_t *entry)
{
    if (strcmp(entry->event.kind, IK_MSG_TOOL_CALL) == 0) {
        tell_call(telling, entry);
    }
    if (entry->answered) {
        tell_result(telling, entry);
    }
    telling->answering = true;
}

static void tell_answer(telling_t *telling, const ik_transcript_entry_t *entry)
{
    print_heading("assistant", entry->event.created_us);
    if (telling->full && entry->reasoning.len > 0) {
        puts("  (thinking)");
        print_indented("      ", entry->reasoning.bytes, entry->reasoning.len);
    }
    print_said(&entry->event);
    if (entry->incomplete) {
        puts("  (it broke off here)");
    }
    telling->answering = true;
}

static void tell_system(telling_t *telling, const ik_transcript_entry_t *entry)
{
    const char *prompt = entry->event.content == NULL ? "" : entry->event.content;
    if (telling->full) {
        print_heading("system prompt", entry->event.created_us);
        print_said(&entry->event);
    } else {
        printf("\nsystem prompt, %zu bytes: --full shows it\n", strlen(prompt));
    }
    telling->answering = false;
}

/* The user; notes, and what a later program may write. */
static void tell_other(telling_t *telling, const ik_transcript_entry_t *entry)
{
    print_heading(entry->event.kind, entry->event.created_us);
    print_said(&entry->event);
    telling->answering = false;
}

static void on_entry(void *data, const ik_transcript_entry_t *entry)
{
    telling_t *telling = data;
    switch (entry->kind) {
    case IK_TRANSCRIPT_TOOL:
        tell_tool(telling, entry);
        break;
    case IK_TRANSCRIPT_ANSWER:
        tell_answer(telling, entry);
        break;
    case IK_TRANSCRIPT_SYSTEM:
        tell_system(telling, entry);
        break;
    default:
        tell_other(telling, entry);
    }
    talloc_free_children(telling->scratch);
}

static void print_agent(const ik_store_agent_t *agent)
{
    printf("\n--- agent %" PRId64, agent->number);
    if (agent->parent != 0) {
        printf(", begun as a copy of agent %" PRId64 " up to its message %" PRId64, agent->parent,
               agent->forked_at);
    }
    puts(" ---");
}

static res_t tell(ik_store_t *store, const ik_store_session_t *session,
                  const ik_store_agents_t *agents, bool full)
{
    telling_t telling = {.full = full, .scratch = talloc_new(agents)};
    print_facts(agents, session);
    for (size_t i = 0; i < agents->count; i++) {
        const ik_store_agent_t *agent = &agents->agents[i];
        if (agents->count > 1) {
            print_agent(agent);
        }
        telling.answering = false;
        TRY(ik_transcript_read(store, agent, on_entry, &telling));
    }
    return OK;
}

/* --- for programs ------------------------------------------------------------------------ */

typedef struct {
    ik_buffer_t line;
    const char *separator; /* before the next message */
} writing_t;

/* data is what was stored, but never makes the whole invalid. */
static void add_data(ik_buffer_t *object, const char *data)
{
    ik_json_span_t value;
    ik_json_begin_member(object, "data");
    if (data != NULL && ik_json_scan(data, strlen(data), &value, NULL) &&
        ik_json_is(value, IK_JSON_OBJECT)) {
        ik_buffer_append(object, value.text, value.len);
    } else {
        ik_buffer_append_text(object, "{}");
    }
}

static res_t on_written_event(void *data, const ik_store_event_t *event)
{
    writing_t *writing = data;
    writing->line.len = 0;
    ik_json_add_number(&writing->line, "agent", event->agent);
    ik_json_add_number(&writing->line, "seq", event->seq);
    ik_cli_session_add_time(&writing->line, "created", event->created_us);
    ik_json_add_text(&writing->line, "kind", event->kind);
    ik_json_add_text(&writing->line, "content", event->content);
    add_data(&writing->line, event->data_json);
    ik_buffer_append_byte(&writing->line, '}');
    fputs(writing->separator, stdout);
    ik_print_json(stdout, writing->line.data, writing->line.len);
    writing->separator = ",";
    return OK;
}

static void write_agents(ik_buffer_t *object, const ik_store_agents_t *agents)
{
    ik_buffer_t each;
    ik_buffer_init(&each, agents, IK_BUFFER_UNLIMITED);
    ik_json_begin_member(object, "agents");
    ik_buffer_append_byte(object, '[');
    for (size_t i = 0; i < agents->count; i++) {
        const ik_store_agent_t *agent = &agents->agents[i];
        each.len = 0;
        ik_json_add_number(&each, "number", agent->number);
        ik_json_add_number(&each, "parent", agent->parent);
        ik_json_add_number(&each, "forked_at", agent->forked_at);
        ik_cli_session_add_time(&each, "created", agent->created_us);
        ik_buffer_append_format(object, "%s%s}", i == 0 ? "" : ",", each.data);
    }
    ik_buffer_append_byte(object, ']');
}

/* One object over several lines: the session, then a message per line. */
static res_t write_json(ik_store_t *store, const ik_store_session_t *session,
                        const ik_store_agents_t *agents)
{
    writing_t writing = {.separator = ""};
    ik_buffer_init(&writing.line, agents, IK_BUFFER_UNLIMITED);
    ik_cli_session_add_facts(&writing.line, session);
    write_agents(&writing.line, agents);
    ik_json_begin_member(&writing.line, "messages");
    ik_buffer_append_byte(&writing.line, '[');
    ik_print_json(stdout, writing.line.data, writing.line.len);
    for (size_t i = 0; i < agents->count; i++) {
        TRY(ik_store_read(store, &agents->agents[i], agents->agents[i].forked_at, on_written_event,
                          &writing));
    }
    puts("]}");
    return OK;
}

/* --- the command ------------------------------------------------------------------------- */

static res_t show_session(ik_cli_t *cli, ik_history_t *history, void *data)
{
    const wish_t *wish = data;
    ik_store_session_t session;
    ik_store_t *store;
    ik_store_agents_t *agents;
    TRY(ik_cli_history_read(cli, history, wish->id, &session, &store));
    TRY(ik_store_agents(cli->ctx, store, session.id, &agents));
    return wish->json ? write_json(store, &session, agents)
                      : tell(store, &session, agents, wish->full);
}

static int run_show(ik_cli_t *cli, const ik_cli_args_t *args)
{
    wish_t wish = {.id = args->args[0],
                   .json = ik_cli_args_has(args, "--json"),
                   .full = ik_cli_args_has(args, "--full")};
    return ik_cli_history_run(cli, args, show_session, &wish);
}

const ik_cli_command_t ik_cli_session_show = {
    .name = "session show",
    .args = "ID",
    .help = "Shows what was said.",
    .options = (const ik_cli_option_t[]){{.name = "--full",
                                          .help = "with the system prompt, the reasoning, and all "
                                                  "that tools were given and answered"},
                                         IK_CLI_JSON_OPTION,
                                         IK_CLI_DB_OPTION,
                                         {0}},
    .min_args = 1,
    .max_args = 1,
    .run = run_show,
};
