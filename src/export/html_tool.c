#include "export/html_tool.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "conversation/figure.h"
#include "conversation/tool_fields.h"
#include "export/html_code.h"
#include "export/html_cut.h"
#include "export/html_escape.h"
#include "export/html_image.h"

typedef struct {
    ik_buffer_t *out;
    void *scratch;
    const ik_transcript_entry_t *entry;
    bool has_arguments; /* the arguments are JSON */
    ik_tool_fields_t arguments;
    bool has_result; /* the result is JSON */
    ik_tool_fields_t result;
} tool_t;

/* --- the line ---------------------------------------------------------------------------- */

typedef struct {
    const char *class;
    const char *mark;
    const char *words;
} state_t;

static const state_t *state_of(const tool_t *tool)
{
    static const state_t ok = {"ok", "✓", "succeeded"};
    static const state_t failed = {"failed", "✗", "failed"};
    static const state_t lost = {"lost", "?", "no result"};
    if (!tool->entry->answered) {
        return &lost;
    }
    return tool->entry->success && !ik_tool_fields_is_failure(&tool->result) ? &ok : &failed;
}

/* The summary of a call is name(arguments); in an imported session it may be anything. */
static void append_call(const tool_t *tool)
{
    const ik_transcript_text_t *name = &tool->entry->name;
    bool is_call = strcmp(tool->entry->event.kind, "tool_call") == 0;
    const char *summary =
        is_call && tool->entry->event.content != NULL ? tool->entry->event.content : "";
    size_t len = strlen(summary);
    bool begins = name->len > 0 && len >= name->len && memcmp(summary, name->bytes, name->len) == 0;
    ik_buffer_append_text(tool->out, "<span class=\"call\"><b>");
    ik_html_escape(tool->out, name->len > 0 ? name->bytes : "", name->len);
    ik_buffer_append_text(tool->out, "</b>");
    ik_html_escape(tool->out, summary + (begins ? name->len : 0), begins ? len - name->len : len);
    ik_buffer_append_text(tool->out, "</span>");
}

static void append_line(const tool_t *tool)
{
    const state_t *state = state_of(tool);
    ik_buffer_append_format(
        tool->out, "<summary><span class=\"state\" role=\"img\" aria-label=\"%s\">%s</span> ",
        state->words, state->mark);
    append_call(tool);
    ik_buffer_append_text(tool->out, " <span class=\"outcome\">");
    ik_html_escape_text(tool->out, !tool->entry->answered ? "no result"
                                   : tool->entry->result_summary == NULL
                                       ? ""
                                       : tool->entry->result_summary);
    ik_buffer_append_text(tool->out, "</span>");
    if (tool->entry->wall_ms >= 0) {
        ik_buffer_append_format(tool->out, " <span class=\"took\">%s</span>",
                                ik_figure_of_duration(tool->entry->wall_ms).text);
    }
    ik_buffer_append_text(tool->out, "</summary>\n");
}

/* --- the unfolded part ------------------------------------------------------------------- */

typedef struct {
    const char *text;
    size_t len;
    const ik_code_language_t *language;
    bool may_be_diff;
} block_t;

static void append_pre(ik_buffer_t *out, block_t block)
{
    size_t shown = ik_html_cut(block.text, block.len);
    ik_buffer_append_text(out, "<pre><code>");
    if (block.may_be_diff && ik_html_code_is_diff(block.text, shown)) {
        ik_html_code_append_diff(out, block.text, shown);
    } else {
        ik_html_code_append(out, block.language, block.text, shown);
    }
    ik_buffer_append_text(out, "</code></pre>\n");
    ik_html_cut_append_note(out, shown, block.len);
}

static void append_block(const tool_t *tool, const ik_tool_field_t *field)
{
    char *language = ik_tool_fields_format_language(tool->scratch, &tool->arguments, field);
    block_t block = {.may_be_diff = true,
                     .language = ik_code_colour_find(language, strlen(language))};
    block.text = ik_tool_fields_format_value(tool->scratch, field, &block.len);
    if (block.len == 0 && field->key.len == 0) {
        return;
    }
    ik_buffer_append_text(tool->out, "<div class=\"part\">\n");
    if (field->key.len > 0) {
        ik_buffer_append_text(tool->out, "<p class=\"label\">");
        ik_html_escape_text(tool->out, ik_tool_fields_format_name(tool->scratch, field));
        ik_buffer_append_text(tool->out, "</p>\n");
    }
    append_pre(tool->out, block);
    ik_buffer_append_text(tool->out, "</div>\n");
}

static void append_change(const tool_t *tool, const ik_tool_fields_t *fields)
{
    size_t before_len;
    size_t after_len;
    char *before = ik_tool_fields_format_value(
        tool->scratch, ik_tool_fields_find(fields, "old_string"), &before_len);
    char *after = ik_tool_fields_format_value(
        tool->scratch, ik_tool_fields_find(fields, "new_string"), &after_len);
    size_t before_shown = ik_html_cut(before, before_len);
    size_t after_shown = ik_html_cut(after, after_len);
    ik_buffer_append_text(tool->out, "<div class=\"part\">\n<pre><code>");
    ik_html_code_append_change(tool->out, before, before_shown, after, after_shown);
    ik_buffer_append_text(tool->out, "</code></pre>\n");
    ik_html_cut_append_note(tool->out, before_shown, before_len);
    ik_html_cut_append_note(tool->out, after_shown, after_len);
    ik_buffer_append_text(tool->out, "</div>\n");
}

static void append_shorts(const tool_t *tool, const ik_tool_fields_t *fields)
{
    bool open = false;
    for (size_t i = 0; i < fields->count; i++) {
        const ik_tool_field_t *field = &fields->fields[i];
        if (!ik_tool_fields_is_long(field) && !ik_tool_fields_is_of_change(fields, field)) {
            ik_buffer_append_text(tool->out, open ? "" : "<dl class=\"fields\">\n");
            open = true;
            size_t len;
            char *text = ik_tool_fields_format_value(tool->scratch, field, &len);
            ik_buffer_append_text(tool->out, "<dt>");
            ik_html_escape_text(tool->out, ik_tool_fields_format_name(tool->scratch, field));
            ik_buffer_append_text(tool->out, "</dt><dd class=\"mono\">");
            ik_html_escape(tool->out, text, len);
            ik_buffer_append_text(tool->out, "</dd>\n");
        }
    }
    ik_buffer_append_text(tool->out, open ? "</dl>\n" : "");
}

static void append_blocks(const tool_t *tool, const ik_tool_fields_t *fields)
{
    if (ik_tool_fields_are_change(fields)) {
        append_change(tool, fields);
    }
    for (size_t i = 0; i < fields->count; i++) {
        const ik_tool_field_t *field = &fields->fields[i];
        if (ik_tool_fields_is_long(field) && !ik_tool_fields_is_of_change(fields, field)) {
            append_block(tool, field);
        }
    }
}

static void append_left_out(const tool_t *tool, const ik_tool_fields_t *fields)
{
    if (fields->left_out > 0) {
        ik_buffer_append_format(tool->out, "<p class=\"cut\">%zu more fields are not shown.</p>\n",
                                fields->left_out);
    }
}

static void append_raw(const tool_t *tool, const ik_transcript_text_t *text)
{
    if (text->bytes != NULL && text->len > 0) {
        ik_buffer_append_text(tool->out, "<div class=\"part\">\n");
        append_pre(tool->out, (block_t){.text = text->bytes, .len = text->len});
        ik_buffer_append_text(tool->out, "</div>\n");
    }
}

static void append_arguments(const tool_t *tool)
{
    if (!tool->has_arguments) {
        append_raw(tool, &tool->entry->arguments);
        return;
    }
    append_shorts(tool, &tool->arguments);
    append_blocks(tool, &tool->arguments);
    append_left_out(tool, &tool->arguments);
}

/* The output comes before the short fields. */
static void append_result(const tool_t *tool)
{
    ik_buffer_append_format(tool->out, "<div class=\"result\" id=\"a%" PRId64 "-%" PRId64 "\">\n",
                            tool->entry->event.agent, tool->entry->result_seq);
    if (tool->has_result) {
        append_blocks(tool, &tool->result);
        append_shorts(tool, &tool->result);
        append_left_out(tool, &tool->result);
    } else {
        append_raw(tool, &tool->entry->output);
    }
    ik_buffer_append_text(tool->out, "</div>\n");
}

/* --- the whole --------------------------------------------------------------------------- */

void ik_html_tool_append(ik_buffer_t *out, const ik_transcript_entry_t *entry, const char *images,
                         const char *small)
{
    tool_t tool = {.out = out, .entry = entry, .scratch = talloc_new(NULL)};
    tool.has_arguments =
        entry->arguments.bytes != NULL &&
        ik_tool_fields_of_arguments(entry->arguments.bytes, entry->arguments.len, &tool.arguments);
    tool.has_result =
        entry->output.bytes != NULL &&
        ik_tool_fields_of_envelope(entry->output.bytes, entry->output.len, &tool.result);
    ik_buffer_append_format(out, "<details class=\"tool %s\"", state_of(&tool)->class);
    if (entry->event.seq != entry->result_seq) {
        ik_buffer_append_format(out, " id=\"a%" PRId64 "-%" PRId64 "\"", entry->event.agent,
                                entry->event.seq);
    }
    ik_buffer_append_text(out, ">\n");
    append_line(&tool);
    ik_buffer_append_text(out, "<div class=\"body\">\n");
    append_arguments(&tool);
    if (entry->answered) {
        append_result(&tool);
    }
    ik_html_image_append(out, entry, images);
    ik_buffer_append_text(out, small);
    ik_buffer_append_text(out, "</div>\n</details>\n");
    talloc_free(tool.scratch);
}
