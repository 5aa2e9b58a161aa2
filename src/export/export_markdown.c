/*
 * A document for reading: messages of the user are quoted, answers stand as they are, and a tool
 * call is a line with its arguments and result in fences below it. Long results are cut; JSON Lines
 * have everything.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/line_diff.h"
#include "base/utf8.h"
#include "conversation/figure.h"
#include "conversation/message.h"
#include "conversation/tool_display.h"
#include "conversation/tool_fields.h"
#include "export/export.h"
#include "export/export_facts.h"
#include "export/html_code.h"
#include "export/markdown_message.h"
#include "export/markdown_text.h"
#include "store/transcript.h"

enum { MOST_SHOWN = 8000 };

typedef struct {
    FILE *file;
    ik_buffer_t out;
    const ik_store_agents_t *agents;
    int level;     /* of a turn's heading */
    int64_t turns; /* written so far, of all agents */
} document_t;

static void flush(document_t *document)
{
    if (document->out.len > 0) {
        fwrite(document->out.data, 1, document->out.len, document->file);
        ik_buffer_reset(&document->out);
    }
}

static void add(document_t *document, const char *markdown)
{
    ik_buffer_append_text(&document->out, markdown);
}

/* --- messages ---------------------------------------------------------------------------- */

static const char *content_of(const ik_transcript_entry_t *entry)
{
    return entry->event.content == NULL ? "" : entry->event.content;
}

static void add_message(document_t *document, const char *text, size_t len)
{
    ik_markdown_message_append(&document->out, text, len, document->level);
    add(document, "\n");
}

static void add_quoted(document_t *document, const char *text)
{
    ik_buffer_t message;
    ik_buffer_init(&message, NULL, IK_BUFFER_UNLIMITED); /* bounded by the message */
    ik_buffer_append_text(&message, "");
    ik_markdown_message_append(&message, text, strlen(text), document->level);
    for (const char *line = message.data; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        ik_buffer_append_text(&document->out, len == 0 ? ">" : "> ");
        ik_buffer_append(&document->out, line, len);
        add(document, "\n");
        line += line[len] == '\n' ? len + 1 : len;
    }
    add(document, "\n");
    ik_buffer_reset(&message);
}

/* Images are named: a document of text has no place for them. */
static void add_images(document_t *document, const ik_transcript_entry_t *entry)
{
    for (size_t i = 0; i < entry->image_count; i++) {
        char *name = ik_msg_image_describe(NULL, &entry->images[i]);
        add(document, "*Image: ");
        ik_markdown_text_append_line(&document->out, name);
        add(document, "*\n\n");
        talloc_free(name);
    }
}

static void add_user(document_t *document, const ik_transcript_entry_t *entry)
{
    ik_figure_t time = ik_figure_of_utc_minute(entry->event.created_us);
    document->turns++;
    ik_buffer_append_format(&document->out, "%.*s %" PRId64 ". You\n\n", document->level, "######",
                            document->turns);
    if (time.text[0] != '\0') {
        ik_buffer_append_format(&document->out, "*%s*\n\n", time.text);
    }
    add_quoted(document, content_of(entry));
    add_images(document, entry);
}

static void add_folded(document_t *document, const char *summary, const char *text, size_t len)
{
    ik_buffer_append_format(&document->out, "<details><summary>%s</summary>\n\n", summary);
    add_message(document, text, len);
    add(document, "</details>\n\n");
}

static void add_reasoning(document_t *document, const ik_transcript_entry_t *entry)
{
    if (entry->reasoning.bytes != NULL && entry->reasoning.len > 0) {
        add_folded(document, "Reasoning", entry->reasoning.bytes, entry->reasoning.len);
    }
}

static void add_small(document_t *document, const char **separator, const char *before,
                      const char *text)
{
    if (*text != '\0') {
        ik_buffer_append_format(&document->out, "%s%s", *separator, before);
        ik_markdown_text_append_line(&document->out, text);
        *separator = " · ";
    }
}

static void add_answer_facts(document_t *document, const ik_transcript_entry_t *entry)
{
    if (!entry->facts.answer) {
        return;
    }
    void *scratch = talloc_new(NULL);
    const char *separator = "<sub>";
    add_small(document, &separator, "", entry->facts.model == NULL ? "" : entry->facts.model);
    add_small(document, &separator,
              "tokens: ", ik_figure_format_usage(scratch, &entry->facts.usage));
    add_small(document, &separator, "",
              entry->facts.cost < 0 ? "" : ik_figure_of_cost(entry->facts.cost).text);
    add_small(document, &separator, "", ik_figure_of_utc_minute(entry->event.created_us).text);
    add(document, strcmp(separator, "<sub>") == 0 ? "" : "</sub>\n\n");
    talloc_free(scratch);
}

static void add_cut_off(document_t *document, const ik_transcript_entry_t *entry)
{
    add(document, entry->incomplete ? "*(answer cut off)*\n\n" : "");
}

static void add_answer(document_t *document, const ik_transcript_entry_t *entry)
{
    add_reasoning(document, entry);
    add_message(document, content_of(entry), strlen(content_of(entry)));
    add_cut_off(document, entry);
    add_answer_facts(document, entry);
}

static void add_system(document_t *document, const ik_transcript_entry_t *entry)
{
    add_folded(document, "System prompt", content_of(entry), strlen(content_of(entry)));
}

/* A star followed by white space would begin a list, so leading white space goes. */
static void add_note(document_t *document, const ik_transcript_entry_t *entry)
{
    const char *text = content_of(entry) + strspn(content_of(entry), " \t\r\n\v\f");
    if (*text != '\0') {
        add(document, "*");
        ik_markdown_text_append_line(&document->out, text);
        add(document, "*\n\n");
    }
    if (entry->summary.len > 0) {
        add_folded(document, "Summary", entry->summary.bytes, entry->summary.len);
        add_answer_facts(document, entry);
    }
}

/* --- tool calls -------------------------------------------------------------------------- */

static void add_block(document_t *document, const char *language, const char *text, size_t len)
{
    size_t shown = ik_utf8_cut(text, len, MOST_SHOWN);
    ik_markdown_text_append_fenced(&document->out, language, text, shown);
    add(document, "\n");
    if (shown < len) {
        ik_buffer_append_format(
            &document->out, "*Shows the first %s of %s. A JSON Lines export has all of it.*\n\n",
            ik_figure_of_size(shown).text, ik_figure_of_size(len).text);
    }
}

static void on_changed_line(void *data, ik_line_change_t change, const char *line, size_t len)
{
    static const char marks[] = {
        [IK_LINE_KEPT] = ' ', [IK_LINE_REMOVED] = '-', [IK_LINE_ADDED] = '+'};
    ik_buffer_t *diff = data;
    ik_buffer_append_byte(diff, marks[change]);
    ik_buffer_append(diff, line, len);
    if (line[len - 1] != '\n') {
        ik_buffer_append_byte(diff, '\n');
    }
}

static void add_change(document_t *document, void *scratch, const ik_tool_fields_t *fields)
{
    size_t old_len;
    size_t fresh_len;
    ik_buffer_t diff;
    char *old =
        ik_tool_fields_format_value(scratch, ik_tool_fields_find(fields, "old_string"), &old_len);
    char *fresh =
        ik_tool_fields_format_value(scratch, ik_tool_fields_find(fields, "new_string"), &fresh_len);
    ik_buffer_init(&diff, scratch, IK_BUFFER_UNLIMITED); /* bounded by both texts */
    ik_buffer_append_text(&diff, "");
    ik_line_diff_run(old, old_len, fresh, fresh_len, on_changed_line, &diff);
    add_block(document, "diff", diff.data, diff.len);
}

static void add_field(document_t *document, void *scratch, const ik_tool_fields_t *arguments,
                      const ik_tool_field_t *field)
{
    size_t len;
    char *text = ik_tool_fields_format_value(scratch, field, &len);
    char *language = ik_tool_fields_format_language(scratch, arguments, field);
    if (len == 0) {
        return;
    }
    if (field->key.len > 0) {
        ik_markdown_text_append_line(&document->out, ik_tool_fields_format_name(scratch, field));
        add(document, ":\n\n");
    }
    add_block(document, ik_html_code_is_diff(text, len) ? "diff" : language, text, len);
}

/* Adds the fields that do not fit into the line of the call. */
static void add_fields(document_t *document, void *scratch, const ik_tool_fields_t *arguments,
                       const ik_tool_fields_t *fields)
{
    if (ik_tool_fields_are_change(fields)) {
        add_change(document, scratch, fields);
    }
    for (size_t i = 0; i < fields->count; i++) {
        const ik_tool_field_t *field = &fields->fields[i];
        if (ik_tool_fields_is_long(field) && !ik_tool_fields_is_of_change(fields, field)) {
            add_field(document, scratch, arguments, field);
        }
    }
}

/* --- declared ways to show a result ------------------------------------------------------- */

static void add_checklist(document_t *document, const ik_tool_display_t *shown)
{
    ik_tool_item_t item;
    for (size_t at = 0; ik_tool_display_next_item(shown, &at, &item);) {
        char *content = ik_json_decode(NULL, item.content, NULL);
        add(document, item.state == IK_TOOL_ITEM_COMPLETED ? "- [x] " : "- [ ] ");
        ik_markdown_text_append_line(&document->out, content);
        add(document, item.state == IK_TOOL_ITEM_IN_PROGRESS ? " *(in progress)*\n" : "\n");
        talloc_free(content);
    }
    add(document, "\n");
}

static void add_shown(document_t *document, void *scratch, const ik_tool_fields_t *arguments,
                      const ik_tool_display_t *shown)
{
    enum { TABLE_ROWS = 1000 };
    size_t len;
    size_t left_out = 0;
    char *text =
        ik_json_is(shown->part, IK_JSON_STRING) ? ik_json_decode(scratch, shown->part, &len) : NULL;
    const char *language = ik_tool_fields_format_suffix(scratch, arguments);
    switch (shown->display) {
    case IK_DISPLAY_CHECKLIST:
        add_checklist(document, shown);
        break;
    case IK_DISPLAY_TABLE:
        add(document, ik_tool_display_format_table(scratch, shown, TABLE_ROWS, &left_out));
        add(document, "\n");
        break;
    case IK_DISPLAY_MARKDOWN:
        ik_markdown_message_append(&document->out, text, len, document->level);
        add(document, "\n");
        break;
    case IK_DISPLAY_DIFF:
        add_block(document, "diff", text, len);
        break;
    case IK_DISPLAY_CODE:
        if (shown->language.len > 0) {
            language = ik_json_decode(scratch, shown->language, NULL);
        }
        add_block(document, ik_code_colour_find(language, strlen(language)) == NULL ? "" : language,
                  text, len);
        break;
    default: /* images follow the result */
        break;
    }
    if (left_out > 0) {
        ik_buffer_append_format(&document->out, "*%zu more rows.*\n\n", left_out);
    }
}

static void add_raw(document_t *document, const ik_transcript_text_t *text)
{
    if (text->bytes != NULL && text->len > 0) {
        add_block(document, "", text->bytes, text->len);
    }
}

/* The line of a call; a result without a call has only the name of the tool. */
static void add_tool_line(document_t *document, const ik_transcript_entry_t *entry)
{
    bool is_call = strcmp(entry->event.kind, IK_MSG_TOOL_CALL) == 0;
    const char *call = is_call && entry->event.content != NULL ? entry->event.content
                       : entry->name.bytes != NULL             ? entry->name.bytes
                                                               : "a tool";
    const char *outcome = !entry->answered                ? "no result"
                          : entry->result_summary != NULL ? entry->result_summary
                          : entry->success                ? "done"
                                                          : "failed";
    add(document, "**Tool** ");
    ik_markdown_text_append_code(&document->out, call);
    add(document, " → ");
    ik_markdown_text_append_line(&document->out, outcome);
    if (entry->wall_ms >= 0) {
        ik_buffer_append_format(&document->out, " (%s)",
                                ik_figure_of_duration(entry->wall_ms).text);
    }
    add(document, "\n\n");
}

static void add_tool(document_t *document, const ik_transcript_entry_t *entry)
{
    const ik_transcript_text_t *given = &entry->arguments;
    const ik_transcript_text_t *output = &entry->output;
    void *scratch = talloc_new(NULL);
    ik_tool_fields_t arguments = {0};
    ik_tool_fields_t result;
    add_reasoning(document, entry);
    add_tool_line(document, entry);
    if (given->bytes != NULL && ik_tool_fields_of_arguments(given->bytes, given->len, &arguments)) {
        add_fields(document, scratch, &arguments, &arguments);
    } else {
        add_raw(document, given);
    }
    if (entry->answered && output->bytes != NULL &&
        ik_tool_fields_of_envelope(output->bytes, output->len, &result)) {
        ik_tool_display_t shown;
        if (ik_tool_display_find(output->bytes, output->len, entry->display, &shown)) {
            ik_tool_fields_remove(&result, shown.part);
            add_shown(document, scratch, &arguments, &shown);
        }
        add_fields(document, scratch, &arguments, &result);
    } else if (entry->answered) {
        add_raw(document, output);
    }
    add_images(document, entry);
    add_cut_off(document, entry);
    add_answer_facts(document, entry);
    talloc_free(scratch);
}

/* A message of an unknown kind is shown with all its data. */
static void add_unknown(document_t *document, const ik_transcript_entry_t *entry)
{
    add(document, "**");
    ik_markdown_text_append_line(&document->out, entry->event.kind);
    add(document, "**\n\n");
    add_block(document, "", content_of(entry), strlen(content_of(entry)));
    if (entry->event.data_json != NULL) {
        add_block(document, "json", entry->event.data_json, strlen(entry->event.data_json));
    }
}

static void on_entry(void *data, const ik_transcript_entry_t *entry)
{
    static void (*const add_kind[IK_TRANSCRIPT_KIND_COUNT])(document_t *,
                                                            const ik_transcript_entry_t *) = {
        [IK_TRANSCRIPT_OTHER] = add_unknown, [IK_TRANSCRIPT_USER] = add_user,
        [IK_TRANSCRIPT_ANSWER] = add_answer, [IK_TRANSCRIPT_TOOL] = add_tool,
        [IK_TRANSCRIPT_SYSTEM] = add_system, [IK_TRANSCRIPT_NOTE] = add_note,
    };
    document_t *document = data;
    add_kind[entry->kind](document, entry);
    flush(document);
}

/* --- the document ------------------------------------------------------------------------ */

static void add_head(document_t *document, const ik_store_session_t *session)
{
    void *scratch = talloc_new(NULL);
    ik_export_fact_t facts[IK_EXPORT_FACTS_MAX];
    size_t count = ik_export_facts(scratch, session, facts);
    add(document, "# ");
    ik_markdown_text_append_line(&document->out, ik_export_facts_title(session));
    add(document, "\n\n| | |\n|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        ik_buffer_append_format(&document->out, "| %s | ", facts[i].name);
        if (facts[i].is_code) {
            ik_markdown_text_append_cell_code(&document->out, facts[i].value);
        } else {
            ik_markdown_text_append_line(&document->out, facts[i].value);
        }
        add(document, " |\n");
    }
    add(document, "\n");
    talloc_free(scratch);
}

static void add_agent_head(document_t *document, ik_store_t *store, const ik_store_agent_t *agent)
{
    ik_buffer_append_format(&document->out, "## Agent %" PRId64 "\n\n", agent->number);
    if (agent->parent == 0) {
        return;
    }
    void *scratch = talloc_new(NULL);
    const ik_delegation_t *delegation = ik_transcript_delegation(scratch, store, agent);
    if (delegation != NULL) {
        add(document, "*Sub-agent ");
        if (delegation->name != NULL) {
            ik_markdown_text_append_line(&document->out, delegation->name);
            add(document, " ");
        }
        ik_buffer_append_format(&document->out, "of agent %" PRId64 ".*\n\n", agent->parent);
        talloc_free(scratch);
        return;
    }
    talloc_free(scratch);
    const ik_store_agent_t *origin = ik_transcript_origin(document->agents, agent);
    ik_buffer_append_format(&document->out, "*Forked from agent %" PRId64, agent->parent);
    if (origin != NULL) {
        ik_buffer_append_format(&document->out, " at message %" PRId64 " of agent %" PRId64,
                                agent->forked_at, origin->number);
    }
    add(document, ".*\n\n");
}

static res_t add_document(document_t *document, const ik_export_source_t *source)
{
    bool several = document->agents->count > 1;
    document->level = several ? 3 : 2;
    add_head(document, source->session);
    for (size_t i = 0; i < document->agents->count; i++) {
        const ik_store_agent_t *agent = &document->agents->agents[i];
        if (several) {
            add_agent_head(document, source->store, agent);
        }
        TRY(ik_transcript_read(source->store, agent, on_entry, document));
    }
    if (source->patch != NULL && *source->patch != '\0') {
        add(document, "## Changes\n\n");
        ik_markdown_text_append_fenced(&document->out, "diff", source->patch,
                                       strlen(source->patch));
        add(document, "\n");
    }
    flush(document);
    return OK;
}

static res_t write_markdown(FILE *out, const ik_export_source_t *source)
{
    void *scratch = talloc_new(NULL);
    ik_store_agents_t *agents;
    document_t document = {.file = out};
    ik_buffer_init(&document.out, scratch, IK_BUFFER_UNLIMITED); /* one message; then flushed */
    res_t written = ik_store_agents(scratch, source->store, source->session->id, &agents);
    if (is_ok(&written)) {
        document.agents = agents;
        written = add_document(&document, source);
    }
    talloc_free(scratch);
    return written;
}

const ik_export_t ik_export_markdown = {
    .name = "md", .shows_changes = true, .write = write_markdown};
