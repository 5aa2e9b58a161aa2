/*
 * `ikigai session show`: shows a session as text or as one JSON object. Both are printed as they
 * are read, so that a long session takes little memory. Speakers are named at the beginning of a
 * line and messages are indented, so that no message can imitate another speaker.
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
#include "undo/undo_log.h"

typedef struct {
    const char *id;
    bool json;
    bool full;
} options_t;

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
    bool answering; /* the model spoke last */
    void *scratch;  /* of one entry */
} showing_t;

static void print_heading(const char *who, int64_t us)
{
    char *heading = ik_sprintf(NULL, "%s, %s", who, ik_figure_of_local_time(us).text);
    putchar('\n');
    ik_print_line(stdout, heading);
    talloc_free(heading);
}

static void print_indented(const char *indent, const char *text, size_t len)
{
    ik_buffer_t clean;
    ik_buffer_init(&clean, NULL, IK_BUFFER_UNLIMITED); /* bounded by the message */
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

/* Prints a summary as one line after a mark. */
static void print_marked(const showing_t *showing, const char *mark, const char *summary,
                         const char *more)
{
    fputs(mark, stdout);
    ik_print_line(stdout,
                  ik_sprintf(showing->scratch, "%s%s", summary == NULL ? "" : summary, more));
}

static void print_images(const showing_t *showing, const ik_transcript_entry_t *entry)
{
    for (size_t i = 0; i < entry->image_count; i++) {
        print_marked(showing, "  [", ik_msg_image_describe(showing->scratch, &entry->images[i]),
                     "]");
    }
}

static void print_field(const showing_t *showing, const ik_tool_field_t *field)
{
    size_t len;
    const char *value = ik_tool_fields_format_value(showing->scratch, field, &len);
    if (field->key.len == 0) {
        print_indented("      ", value, len);
        return;
    }
    const char *name = ik_tool_fields_format_name(showing->scratch, field);
    if (ik_tool_fields_is_long(field)) {
        print_marked(showing, "    ", name, ":");
        print_indented("      ", value, len);
    } else {
        print_marked(showing, "    ", name, ik_sprintf(showing->scratch, ": %s", value));
    }
}

/* Prints arguments or an output: the fields of the JSON, or the text unchanged. */
static void print_fields(const showing_t *showing, ik_transcript_text_t text, bool is_json,
                         const ik_tool_fields_t *fields)
{
    if (!is_json || fields->left_out > 0) {
        print_indented("      ", text.bytes, text.len);
        return;
    }
    for (size_t i = 0; i < fields->count; i++) {
        print_field(showing, &fields->fields[i]);
    }
}

static void show_call(showing_t *showing, const ik_transcript_entry_t *entry)
{
    ik_tool_fields_t fields;
    if (!showing->answering) {
        print_heading("assistant", entry->event.created_us);
    }
    print_marked(showing, "> ", entry->event.content, "");
    if (showing->full) {
        bool is_json =
            ik_tool_fields_of_arguments(entry->arguments.bytes, entry->arguments.len, &fields);
        print_fields(showing, entry->arguments, is_json, &fields);
    }
}

static void show_result(showing_t *showing, const ik_transcript_entry_t *entry)
{
    ik_tool_fields_t fields;
    const char *cost = entry->wall_ms < 0 ? ""
                                          : ik_sprintf(showing->scratch, ", %s",
                                                       ik_figure_of_duration(entry->wall_ms).text);
    print_marked(showing, "< ", entry->result_summary, cost);
    print_images(showing, entry);
    if (showing->full) {
        bool is_json = ik_tool_fields_of_envelope(entry->output.bytes, entry->output.len, &fields);
        print_fields(showing, entry->output, is_json, &fields);
    }
}

static void show_tool(showing_t *showing, const ik_transcript_entry_t *entry)
{
    if (strcmp(entry->event.kind, IK_MSG_TOOL_CALL) == 0) {
        show_call(showing, entry);
    }
    if (entry->answered) {
        show_result(showing, entry);
    }
    showing->answering = true;
}

static void show_answer(showing_t *showing, const ik_transcript_entry_t *entry)
{
    print_heading("assistant", entry->event.created_us);
    if (showing->full && entry->reasoning.len > 0) {
        puts("  (thinking)");
        print_indented("      ", entry->reasoning.bytes, entry->reasoning.len);
    }
    print_said(&entry->event);
    if (entry->incomplete) {
        puts("  (answer cut off)");
    }
    showing->answering = true;
}

static void show_system(showing_t *showing, const ik_transcript_entry_t *entry)
{
    const char *prompt = entry->event.content == NULL ? "" : entry->event.content;
    if (showing->full) {
        print_heading("system prompt", entry->event.created_us);
        print_said(&entry->event);
    } else {
        printf("\nsystem prompt, %zu bytes: --full shows it\n", strlen(prompt));
    }
    showing->answering = false;
}

/* Messages of the user, notes, and kinds that a newer program may write. */
static void show_other(showing_t *showing, const ik_transcript_entry_t *entry)
{
    print_heading(entry->event.kind, entry->event.created_us);
    print_said(&entry->event);
    if (showing->full && entry->summary.len > 0) {
        print_indented("      ", entry->summary.bytes, entry->summary.len);
    }
    print_images(showing, entry);
    showing->answering = false;
}

static void on_entry(void *data, const ik_transcript_entry_t *entry)
{
    showing_t *showing = data;
    switch (entry->kind) {
    case IK_TRANSCRIPT_TOOL:
        show_tool(showing, entry);
        break;
    case IK_TRANSCRIPT_ANSWER:
        show_answer(showing, entry);
        break;
    case IK_TRANSCRIPT_SYSTEM:
        show_system(showing, entry);
        break;
    default:
        show_other(showing, entry);
    }
    talloc_free_children(showing->scratch);
}

static void print_agent(ik_store_t *store, const ik_store_agent_t *agent, bool undone)
{
    void *scratch = talloc_new(NULL);
    const ik_delegation_t *delegation = ik_transcript_delegation(scratch, store, agent);
    printf("\n--- agent %" PRId64, agent->number);
    if (delegation != NULL) {
        const char *name = delegation->name == NULL ? "" : delegation->name;
        printf(", sub-agent %s%sof agent %" PRId64, ik_sanitise_line(scratch, name),
               *name == '\0' ? "" : " ", agent->parent);
    } else if (agent->parent != 0) {
        printf(", forked from agent %" PRId64 " after its message %" PRId64, agent->parent,
               agent->forked_at);
    }
    puts(undone ? ", undone ---" : " ---");
    talloc_free(scratch);
}

static res_t show_text(ik_store_t *store, const ik_store_session_t *session,
                       const ik_store_agents_t *agents, bool full)
{
    showing_t showing = {.full = full, .scratch = talloc_new(agents)};
    ik_undo_log_t *log = NULL;
    print_facts(agents, session);
    if (agents->count > 1) {
        TRY(ik_undo_log_read(agents, store, session->id, &log));
    }
    for (size_t i = 0; i < agents->count; i++) {
        const ik_store_agent_t *agent = &agents->agents[i];
        if (log != NULL) {
            print_agent(store, agent, ik_undo_log_is_replaced(log, agent->number));
        }
        showing.answering = false;
        TRY(ik_transcript_read(store, agent, on_entry, &showing));
    }
    return OK;
}

/* --- for programs ------------------------------------------------------------------------ */

typedef struct {
    ik_buffer_t line;
    const char *separator; /* before the next message */
} writing_t;

/* Stored data that is not a JSON object becomes {}, so that the output stays valid. */
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
    if (ik_msg_kind_is_record(event->kind)) {
        return OK;
    }
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

static void write_agents(ik_buffer_t *object, ik_store_t *store, const ik_store_agents_t *agents)
{
    ik_buffer_t each;
    ik_buffer_init(&each, agents, IK_BUFFER_UNLIMITED); /* numbers and names */
    ik_json_begin_member(object, "agents");
    ik_buffer_append_byte(object, '[');
    for (size_t i = 0; i < agents->count; i++) {
        const ik_store_agent_t *agent = &agents->agents[i];
        each.len = 0;
        ik_json_add_number(&each, "number", agent->number);
        ik_json_add_number(&each, "parent", agent->parent);
        ik_json_add_number(&each, "forked_at", agent->forked_at);
        ik_cli_session_add_time(&each, "created", agent->created_us);
        const ik_delegation_t *delegation = ik_transcript_delegation(agents, store, agent);
        if (delegation != NULL) {
            ik_json_add_text(&each, "name", delegation->name);
            ik_json_add_text(&each, "tool_call_id", delegation->call_id);
        }
        ik_buffer_append_format(object, "%s%s}", i == 0 ? "" : ",", each.data);
    }
    ik_buffer_append_byte(object, ']');
}

/* Writes one object over several lines: the session, then a message per line. */
static res_t write_json(ik_store_t *store, const ik_store_session_t *session,
                        const ik_store_agents_t *agents)
{
    writing_t writing = {.separator = ""};
    ik_buffer_init(&writing.line, agents, IK_BUFFER_UNLIMITED); /* bounded by the message */
    ik_cli_session_add_facts(&writing.line, session);
    write_agents(&writing.line, store, agents);
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
    const options_t *options = data;
    ik_store_session_t session;
    ik_store_t *store;
    ik_store_agents_t *agents;
    TRY(ik_cli_history_read(cli, history, options->id, &session, &store));
    TRY(ik_store_agents(cli->ctx, store, session.id, &agents));
    return options->json ? write_json(store, &session, agents)
                         : show_text(store, &session, agents, options->full);
}

static int run_show(ik_cli_t *cli, const ik_cli_args_t *args)
{
    options_t options = {.id = args->args[0],
                         .json = ik_cli_args_has(args, "--json"),
                         .full = ik_cli_args_has(args, "--full")};
    return ik_cli_history_run(cli, args, show_session, &options);
}

const ik_cli_command_t ik_cli_session_show = {
    .name = "session show",
    .args = "ID",
    .help = "Shows a session.",
    .options = (const ik_cli_option_t[]){{.name = "--full",
                                          .help = "with the system prompt, the reasoning, and the "
                                                  "complete input and output of tools"},
                                         IK_CLI_JSON_OPTION,
                                         IK_CLI_DB_OPTION,
                                         {0}},
    .min_args = 1,
    .max_args = 1,
    .run = run_show,
};
