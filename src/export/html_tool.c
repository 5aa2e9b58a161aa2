#include "export/html_tool.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "conversation/figure.h"
#include "conversation/tool_display.h"
#include "conversation/tool_fields.h"
#include "export/html_code.h"
#include "export/html_cut.h"
#include "export/html_escape.h"
#include "export/html_image.h"
#include "export/html_markdown.h"

typedef struct {
    ik_buffer_t *out;
    void *scratch;
    const ik_transcript_entry_t *entry;
    bool has_arguments; /* the arguments are JSON */
    ik_tool_fields_t arguments;
    bool has_result; /* the result is JSON */
    ik_tool_fields_t result;
    ik_tool_display_t shown; /* the part of it that is shown in a declared way */
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
    char *language = ik_tool_fields_format_suffix(tool->scratch, fields);
    size_t before_shown = ik_html_cut(before, before_len);
    size_t after_shown = ik_html_cut(after, after_len);
    ik_buffer_append_text(tool->out, "<div class=\"part\">\n<pre><code>");
    ik_html_code_append_change(tool->out, ik_code_colour_find(language, strlen(language)), before,
                               before_shown, after, after_shown);
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

/* --- declared ways to show a result ------------------------------------------------------- */

static void append_checklist(const tool_t *tool)
{
    ik_tool_item_t item;
    size_t len;
    ik_buffer_append_text(tool->out, "<ul class=\"checklist\">\n");
    for (size_t at = 0; ik_tool_display_next_item(&tool->shown, &at, &item);) {
        ik_buffer_append_format(tool->out, "<li>%s ", ik_tool_display_mark(item.state));
        char *content = ik_json_decode(tool->scratch, item.content, &len);
        ik_html_escape(tool->out, content, len);
        ik_buffer_append_text(tool->out, "</li>\n");
    }
    ik_buffer_append_text(tool->out, "</ul>\n");
}

static void append_markdown(const tool_t *tool, const char *text, size_t len)
{
    size_t shown = ik_html_cut(text, len);
    if (ik_html_markdown_append(tool->out, text, shown)) {
        ik_html_cut_append_note(tool->out, shown, len);
    } else {
        append_pre(tool->out, (block_t){.text = text, .len = len});
    }
}

static void append_text(const tool_t *tool)
{
    size_t len;
    char *text = ik_json_decode(tool->scratch, tool->shown.part, &len);
    if (tool->shown.display == IK_DISPLAY_MARKDOWN) {
        append_markdown(tool, text, len);
        return;
    }
    char *language = tool->shown.language.len > 0
                         ? ik_json_decode(tool->scratch, tool->shown.language, NULL)
                         : ik_tool_fields_format_suffix(tool->scratch, &tool->arguments);
    append_pre(tool->out, (block_t){.text = text,
                                    .len = len,
                                    .language = ik_code_colour_find(language, strlen(language)),
                                    .may_be_diff = tool->shown.display == IK_DISPLAY_DIFF});
}

static void append_shown(const tool_t *tool)
{
    enum { TABLE_ROWS = 1000 };
    size_t left_out;
    ik_buffer_append_text(tool->out, "<div class=\"part\">\n");
    if (tool->shown.display == IK_DISPLAY_CHECKLIST) {
        append_checklist(tool);
    } else if (tool->shown.display == IK_DISPLAY_TABLE) {
        char *table =
            ik_tool_display_format_table(tool->scratch, &tool->shown, TABLE_ROWS, &left_out);
        append_markdown(tool, table, strlen(table));
        if (left_out > 0) {
            ik_buffer_append_format(
                tool->out, "<p class=\"cut\">%zu more rows are not shown.</p>\n", left_out);
        }
    } else if (tool->shown.display != IK_DISPLAY_IMAGE) { /* images follow the result */
        append_text(tool);
    }
    ik_buffer_append_text(tool->out, "</div>\n");
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
        if (tool->shown.display != IK_DISPLAY_USUAL) {
            append_shown(tool);
        }
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
    if (tool.has_result &&
        ik_tool_display_find(entry->output.bytes, entry->output.len, entry->display, &tool.shown)) {
        ik_tool_fields_remove(&tool.result, tool.shown.part);
    }
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
