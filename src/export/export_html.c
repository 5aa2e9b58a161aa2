/*
 * One self-contained page: no scripts, fonts or connections, no images but those in the page
 * itself, and a content security policy that forbids them. Long parts are folded in <details>,
 * which needs no script. All text from the session passes through html_escape.h. The page is
 * written while the log is read, so it takes the memory of one answer.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "conversation/figure.h"
#include "export/export.h"
#include "export/export_facts.h"
#include "export/html_code.h"
#include "export/html_cut.h"
#include "export/html_escape.h"
#include "export/html_image.h"
#include "export/html_markdown.h"
#include "export/html_style.h"
#include "export/html_tool.h"
#include "store/transcript.h"

typedef struct {
    FILE *file;
    ik_buffer_t out;
    const ik_store_agents_t *agents;
    const char *images; /* folder of the blobs; NULL: none */
    int64_t turns;      /* written so far, of all agents */
    bool in_turn;       /* the section of a turn is open */
} page_t;

static void flush(page_t *page)
{
    if (page->out.len > 0) {
        fwrite(page->out.data, 1, page->out.len, page->file);
        ik_buffer_reset(&page->out);
    }
}

static void add(page_t *page, const char *html)
{
    ik_buffer_append_text(&page->out, html);
}

static void add_text(page_t *page, const char *text)
{
    ik_html_escape_text(&page->out, text);
}

/* --- parts of a message ------------------------------------------------------------------ */

static void append_time(ik_buffer_t *out, int64_t us)
{
    ik_figure_t text = ik_figure_of_utc_minute(us);
    if (text.text[0] != '\0') {
        ik_buffer_append_format(out, "<time datetime=\"%s\">%s</time>",
                                ik_figure_of_utc_second(us).text, text.text);
    }
}

static void append_small(ik_buffer_t *out, const char *before, const char *text)
{
    if (*text != '\0') {
        ik_buffer_append_text(out, out->len == 0 ? "" : "<span class=\"sep\">·</span>");
        ik_buffer_append_text(out, before);
        ik_html_escape_text(out, text);
    }
}

/* The line below an answer: model, tokens, cost and time. "" for other messages. */
static char *format_small(const void *ctx, const ik_transcript_entry_t *entry)
{
    if (!entry->facts.answer) {
        return ik_strdup(ctx, "");
    }
    ik_buffer_t line;
    void *scratch = talloc_new(NULL);
    ik_buffer_init(&line, scratch, IK_BUFFER_UNLIMITED); /* bounded by the model's name */
    append_small(&line, "", entry->facts.model == NULL ? "" : entry->facts.model);
    append_small(&line, "tokens: ", ik_figure_format_usage(scratch, &entry->facts.usage));
    append_small(&line, "", entry->facts.cost < 0 ? "" : ik_figure_of_cost(entry->facts.cost).text);
    ik_buffer_append_text(&line, line.len == 0 ? "" : "<span class=\"sep\">·</span>");
    append_time(&line, entry->event.created_us);
    char *small = ik_sprintf(ctx, "<p class=\"small\">%s</p>\n", line.data);
    talloc_free(scratch);
    return small;
}

static void add_as_is(page_t *page, const char *class, const char *text, size_t len)
{
    size_t shown = ik_html_cut(text, len);
    ik_buffer_append_format(&page->out, "<div class=\"%s\">", class);
    ik_html_escape(&page->out, text, shown);
    add(page, "</div>\n");
    ik_html_cut_append_note(&page->out, shown, len);
}

static void add_markdown(page_t *page, const char *text, size_t len)
{
    size_t before = page->out.len;
    add(page, "<div class=\"md\">\n");
    if (ik_html_markdown_append(&page->out, text, len)) {
        add(page, "</div>\n");
    } else {
        page->out.len = before;
        add_as_is(page, "as-is", text, len);
    }
}

static void open_aside(page_t *page, const char *summary, const ik_store_event_t *event)
{
    add(page, "<details class=\"aside\"");
    if (event != NULL) {
        ik_buffer_append_format(&page->out, " id=\"a%" PRId64 "-%" PRId64 "\"", event->agent,
                                event->seq);
    }
    add(page, "><summary>");
    add_text(page, summary);
    add(page, "</summary>\n<div class=\"body\">\n");
}

static void close_aside(page_t *page)
{
    add(page, "</div>\n</details>\n");
}

/* --- messages ---------------------------------------------------------------------------- */

static const char *content_of(const ik_transcript_entry_t *entry)
{
    return entry->event.content == NULL ? "" : entry->event.content;
}

static void end_turn(page_t *page)
{
    add(page, page->in_turn ? "</section>\n" : "");
    page->in_turn = false;
}

static void add_user(page_t *page, const ik_transcript_entry_t *entry)
{
    const ik_store_event_t *event = &entry->event;
    end_turn(page);
    page->in_turn = true;
    page->turns++;
    ik_buffer_append_format(&page->out,
                            "<section class=\"turn\" id=\"a%" PRId64 "-%" PRId64 "\">\n"
                            "<h3><a href=\"#a%" PRId64 "-%" PRId64 "\">%" PRId64 ". You</a> ",
                            event->agent, event->seq, event->agent, event->seq, page->turns);
    append_time(&page->out, event->created_us);
    add(page, "</h3>\n");
    add_as_is(page, "words", content_of(entry), strlen(content_of(entry)));
    ik_html_image_append(&page->out, entry, page->images);
}

static void add_reasoning(page_t *page, const ik_transcript_entry_t *entry)
{
    if (entry->reasoning.bytes != NULL && entry->reasoning.len > 0) {
        open_aside(page, "Reasoning", NULL);
        add_markdown(page, entry->reasoning.bytes, entry->reasoning.len);
        close_aside(page);
    }
}

static void add_cut_off(page_t *page, const ik_transcript_entry_t *entry)
{
    add(page, entry->incomplete ? "<p class=\"cut\">(answer cut off)</p>\n" : "");
}

static void add_answer(page_t *page, const ik_transcript_entry_t *entry)
{
    char *small = format_small(NULL, entry);
    add_reasoning(page, entry);
    ik_buffer_append_format(&page->out, "<div class=\"answer\" id=\"a%" PRId64 "-%" PRId64 "\">\n",
                            entry->event.agent, entry->event.seq);
    add_markdown(page, content_of(entry), strlen(content_of(entry)));
    add_cut_off(page, entry);
    add(page, small);
    add(page, "</div>\n");
    talloc_free(small);
}

static void add_tool(page_t *page, const ik_transcript_entry_t *entry)
{
    char *small = format_small(NULL, entry);
    add_reasoning(page, entry);
    ik_html_tool_append(&page->out, entry, page->images, small);
    add_cut_off(page, entry);
    talloc_free(small);
}

static void add_system(page_t *page, const ik_transcript_entry_t *entry)
{
    open_aside(page, "System prompt", &entry->event);
    add_as_is(page, "as-is", content_of(entry), strlen(content_of(entry)));
    close_aside(page);
}

static void add_note(page_t *page, const ik_transcript_entry_t *entry)
{
    ik_buffer_append_format(&page->out, "<div class=\"note\" id=\"a%" PRId64 "-%" PRId64 "\">",
                            entry->event.agent, entry->event.seq);
    add_text(page, content_of(entry));
    add(page, "</div>\n");
    if (entry->summary.len > 0) {
        char *small = format_small(NULL, entry);
        open_aside(page, "Summary", NULL);
        add_markdown(page, entry->summary.bytes, entry->summary.len);
        add(page, small);
        close_aside(page);
        talloc_free(small);
    }
}

/* A message of an unknown kind is shown with all its data. */
static void add_unknown(page_t *page, const ik_transcript_entry_t *entry)
{
    const char *data = entry->event.data_json;
    open_aside(page, entry->event.kind, &entry->event);
    add_as_is(page, "as-is", content_of(entry), strlen(content_of(entry)));
    if (data != NULL) {
        add_as_is(page, "as-is mono", data, strlen(data));
    }
    close_aside(page);
}

static void on_entry(void *data, const ik_transcript_entry_t *entry)
{
    static void (*const add_kind[IK_TRANSCRIPT_KIND_COUNT])(page_t *,
                                                            const ik_transcript_entry_t *) = {
        [IK_TRANSCRIPT_OTHER] = add_unknown, [IK_TRANSCRIPT_USER] = add_user,
        [IK_TRANSCRIPT_ANSWER] = add_answer, [IK_TRANSCRIPT_TOOL] = add_tool,
        [IK_TRANSCRIPT_SYSTEM] = add_system, [IK_TRANSCRIPT_NOTE] = add_note,
    };
    page_t *page = data;
    add_kind[entry->kind](page, entry);
    flush(page);
}

/* --- agents ------------------------------------------------------------------------------ */

/* "Sub-agent NAME of", or "Forked from". */
static void add_relation(page_t *page, ik_store_t *store, const ik_store_agent_t *agent,
                         const char *sub, const char *forked)
{
    void *scratch = talloc_new(NULL);
    const ik_delegation_t *delegation = ik_transcript_delegation(scratch, store, agent);
    add(page, delegation == NULL ? forked : sub);
    if (delegation != NULL && delegation->name != NULL) {
        add(page, " ");
        add_text(page, delegation->name);
    }
    add(page, delegation == NULL ? " from " : " of ");
    talloc_free(scratch);
}

static void add_origin(page_t *page, ik_store_t *store, const ik_store_agent_t *agent)
{
    const ik_store_agent_t *origin = ik_transcript_origin(page->agents, agent);
    add(page, "<p>");
    add_relation(page, store, agent, "Sub-agent", "Forked");
    ik_buffer_append_format(&page->out, "<a href=\"#agent-%" PRId64 "\">agent %" PRId64 "</a>",
                            agent->parent, agent->parent);
    if (origin != NULL) {
        ik_buffer_append_format(&page->out,
                                " at <a href=\"#a%" PRId64 "-%" PRId64 "\">message %" PRId64 "</a>",
                                origin->number, agent->forked_at, agent->forked_at);
    }
    add(page, ". ");
    append_time(&page->out, agent->created_us);
    add(page, "</p>\n");
}

static res_t add_agent(page_t *page, ik_store_t *store, const ik_store_agent_t *agent)
{
    ik_buffer_append_format(&page->out, "<section class=\"agent\" id=\"agent-%" PRId64 "\">\n",
                            agent->number);
    if (page->agents->count > 1) {
        ik_buffer_append_format(&page->out, "<h2>Agent %" PRId64 "</h2>\n", agent->number);
    }
    if (agent->parent != 0) {
        add_origin(page, store, agent);
    }
    res_t read = ik_transcript_read(store, agent, on_entry, page);
    end_turn(page);
    add(page, "</section>\n");
    flush(page);
    return read;
}

/* --- the page ---------------------------------------------------------------------------- */

static void add_head(page_t *page, const ik_store_session_t *session)
{
    const char *title = ik_export_facts_title(session);
    add(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta http-equiv=\"Content-Security-Policy\" content=\"");
    ik_html_style_append_policy(&page->out);
    add(page, "\">\n"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
              "<meta name=\"color-scheme\" content=\"light dark\">\n"
              "<meta name=\"referrer\" content=\"no-referrer\">\n"
              "<meta name=\"generator\" content=\"ikigai " IKIGAI_VERSION "\">\n"
              "<title>");
    ik_html_escape_attribute(&page->out, title, strlen(title));
    add(page, "</title>\n<style>");
    add(page, ik_html_style);
    add(page, "</style>\n</head>\n<body>\n");
}

static void add_facts(page_t *page, const ik_store_session_t *session)
{
    void *scratch = talloc_new(NULL);
    ik_export_fact_t facts[IK_EXPORT_FACTS_MAX];
    size_t count = ik_export_facts(scratch, session, facts);
    add(page, "<dl class=\"facts\">\n");
    for (size_t i = 0; i < count; i++) {
        ik_buffer_append_format(&page->out, "<div><dt>%s</dt><dd%s>", facts[i].name,
                                facts[i].is_code ? " class=\"mono\"" : "");
        add_text(page, facts[i].value);
        add(page, "</dd></div>\n");
    }
    add(page, "</dl>\n");
    talloc_free(scratch);
}

static void add_contents(page_t *page, ik_store_t *store)
{
    if (page->agents->count < 2) {
        return;
    }
    add(page, "<nav aria-label=\"Agents\">\n<ul>\n");
    for (size_t i = 0; i < page->agents->count; i++) {
        const ik_store_agent_t *agent = &page->agents->agents[i];
        ik_buffer_append_format(&page->out,
                                "<li><a href=\"#agent-%" PRId64 "\">Agent %" PRId64 "</a>",
                                agent->number, agent->number);
        if (agent->parent != 0) {
            add(page, ", ");
            add_relation(page, store, agent, "sub-agent", "forked");
            ik_buffer_append_format(&page->out, "agent %" PRId64, agent->parent);
        }
        add(page, "</li>\n");
    }
    add(page, "</ul>\n</nav>\n");
}

static res_t add_page(page_t *page, const ik_export_source_t *source)
{
    const ik_store_session_t *session = source->session;
    add_head(page, session);
    add(page, "<header>\n<p class=\"brand\">ikigai session</p>\n<h1>");
    add_text(page, ik_export_facts_title(session));
    add(page, "</h1>\n");
    add_facts(page, session);
    add_contents(page, source->store);
    add(page, "</header>\n<main>\n");
    for (size_t i = 0; i < page->agents->count; i++) {
        TRY(add_agent(page, source->store, &page->agents->agents[i]));
    }
    if (source->patch != NULL && *source->patch != '\0') {
        add(page, "<section id=\"changes\">\n<h2>Changes</h2>\n<pre><code>");
        ik_html_code_append_diff(&page->out, source->patch, strlen(source->patch));
        add(page, "</code></pre>\n</section>\n");
    }
    add(page, "</main>\n<footer>Exported by ikigai " IKIGAI_VERSION ".</footer>\n"
              "</body>\n</html>\n");
    flush(page);
    return OK;
}

static res_t write_html(FILE *out, const ik_export_source_t *source)
{
    void *scratch = talloc_new(NULL);
    ik_store_agents_t *agents;
    page_t page = {.file = out, .images = source->images};
    ik_buffer_init(&page.out, scratch, IK_BUFFER_UNLIMITED); /* one message; then flushed */
    res_t written = ik_store_agents(scratch, source->store, source->session->id, &agents);
    if (is_ok(&written)) {
        page.agents = agents;
        written = add_page(&page, source);
    }
    talloc_free(scratch);
    return written;
}

const ik_export_t ik_export_html = {.name = "html", .shows_changes = true, .write = write_html};
