#include "repl/repl_rows.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/image.h"
#include "base/sanitiser.h"
#include "conversation/figure.h"
#include "terminal/code_rows.h"
#include "terminal/markdown.h"
#include "terminal/markdown_wrap.h"

/* --- users and models -------------------------------------------------------------------- */

void ik_repl_rows_user(const ik_rows_t *rows, const char *text)
{
    void *scratch = talloc_new(NULL);
    ik_style_t style = ik_theme_style(rows->theme, IK_ROLE_USER);
    ik_row_t row;
    size_t shown = 0;
    ik_row_init(&row, scratch, rows->theme);
    do {
        size_t len = strcspn(text, "\n");
        ik_row_add_role(&row, IK_ROLE_MARK, shown == 0 ? "> " : "  ");
        ik_row_add(&row, style, text, len);
        ik_rows_put(rows, &row);
        text += len;
        text += *text == '\n';
        shown++;
    } while (*text != '\0' && (rows->full || shown < IK_REPL_USER_ROWS_MAX));
    if (*text != '\0') {
        size_t more = ik_rows_count_lines(text, strlen(text));
        ik_rows_say(rows, IK_ROLE_DIM,
                    ik_sprintf(scratch, "… %s more line%s, Ctrl-O",
                               ik_figure_of_count((int64_t)more).text, more == 1 ? "" : "s"));
    }
    talloc_free(scratch);
}

/* The terminal shows PNG only; see terminal/view_picture.c. */
static void add_preview(const ik_rows_t *rows, const ik_msg_image_t *image)
{
    char *bytes;
    size_t len;
    if (rows->pictures == NULL || rows->backlog == NULL ||
        ik_image_kind_of(image->media_type) != IK_IMAGE_PNG) {
        return;
    }
    res_t read =
        ik_blob_get(NULL, rows->pictures, image->sha256.hex, IK_IMAGE_BYTES_MAX, &bytes, &len);
    if (is_ok(&read)) {
        ik_backlog_add_picture(rows->backlog, bytes, len);
        talloc_free(bytes);
    }
}

void ik_repl_rows_images(const ik_rows_t *rows, const ik_msg_t *message)
{
    void *scratch = talloc_new(NULL);
    ik_msg_image_t *images;
    size_t count = ik_msg_images(scratch, message, &images);
    ik_row_t row;
    ik_row_init(&row, scratch, rows->theme);
    for (size_t i = 0; i < count; i++) {
        ik_row_add_format(&row, IK_ROLE_DIM, "%s[%s]", ik_msg_is(message, IK_MSG_USER) ? "  " : "",
                          ik_msg_image_describe(scratch, &images[i]));
        ik_rows_put(rows, &row);
        add_preview(rows, &images[i]);
    }
    talloc_free(scratch);
}

void ik_repl_rows_answer(const ik_rows_t *rows, const char *text)
{
    if (rows->backlog != NULL) {
        ik_backlog_answer_t *answer = ik_backlog_begin_answer(rows->backlog, true);
        ik_backlog_feed_answer(answer, text, strlen(text));
        ik_backlog_end_answer(answer);
        return;
    }
    ik_markdown_options_t options = {.theme = rows->theme,
                                     .columns = rows->columns,
                                     .max_open = IK_ROWS_MAX,
                                     .on_row = rows->on_row,
                                     .data = rows->data};
    ik_markdown_t *markdown = ik_markdown_create(NULL, &options);
    ik_markdown_feed(markdown, text, strlen(text));
    ik_markdown_end(markdown);
    talloc_free(markdown);
}

void ik_repl_rows_reasoning(const ik_rows_t *rows, const char *text, int64_t wall_ms)
{
    size_t lines = ik_rows_count_lines(text, strlen(text));
    char *line = ik_sprintf(NULL, "✻ thought%s%s, %s line%s", wall_ms < 0 ? "" : " for ",
                            wall_ms < 0 ? "" : ik_figure_of_duration(wall_ms).text,
                            ik_figure_of_count((int64_t)lines).text, lines == 1 ? "" : "s");
    ik_rows_say(rows, IK_ROLE_DIM, line);
    talloc_free(line);
    if (rows->full) {
        ik_rows_lines(rows, IK_ROLE_DIM, text);
    }
}

/* Shows a !CMD as when it ran: the command, then its output. */
static void add_command(const ik_rows_t *rows, const ik_msg_t *message, const char *content)
{
    char *command = ik_msg_field_text(NULL, message, "command");
    assert(command != NULL); /* ik_msg_is_shell_note checked it */
    char *line = ik_sprintf(command, "! %s", command);
    const char *output = strchr(content, '$');
    output = output == NULL ? NULL : strstr(output, command);
    ik_rows_lines(rows, IK_ROLE_USER, line);
    if (output != NULL) {
        output += strlen(command);
        ik_code_rows_output(rows->theme, output + (*output == '\n'),
                            strlen(output + (*output == '\n')), rows->full ? 0 : IK_ROWS_MAX,
                            rows->full ? 0 : IK_REPL_BYTES_MAX, rows->on_row, rows->data);
    }
    talloc_free(command);
}

/* --- whole messages ---------------------------------------------------------------------- */

bool ik_repl_rows_is_empty(const ik_msg_t *message)
{
    ik_json_span_t field;
    return ik_msg_is(message, IK_MSG_ASSISTANT) &&
           (message->content == NULL || ik_msg_text_is_blank(message->content)) &&
           !ik_msg_field(message, "reasoning", &field) &&
           !ik_msg_field(message, "incomplete", &field);
}

static void add_answer(const ik_rows_t *rows, const ik_msg_t *message)
{
    ik_json_span_t incomplete;
    char *reasoning = ik_msg_field_text(NULL, message, "reasoning");
    if (reasoning != NULL && !ik_msg_text_is_blank(reasoning)) {
        ik_repl_rows_reasoning(rows, reasoning, -1);
    }
    talloc_free(reasoning);
    if (message->content != NULL && !ik_msg_text_is_blank(message->content)) {
        ik_repl_rows_answer(rows, message->content);
    }
    if (ik_msg_field(message, "incomplete", &incomplete)) {
        ik_rows_say(rows, IK_ROLE_WARNING, "(answer cut off)");
    }
}

/* Finds the call of a result, which is a few messages before it. */
static const ik_msg_t *find_call(const ik_conversation_t *conversation, size_t index)
{
    char *id = ik_msg_field_text(NULL, conversation->messages[index], "tool_call_id");
    const ik_msg_t *found = NULL;
    for (size_t i = index; id != NULL && found == NULL && i > 0; i--) {
        const ik_msg_t *message = conversation->messages[i - 1];
        if (ik_msg_is(message, IK_MSG_USER)) {
            break;
        }
        if (ik_msg_is(message, IK_MSG_TOOL_CALL)) {
            char *call_id = ik_msg_field_text(id, message, "id");
            found = call_id != NULL && strcmp(call_id, id) == 0 ? message : NULL;
        }
    }
    talloc_free(id);
    return found;
}

static void add_result(const ik_rows_t *rows, const ik_conversation_t *conversation, size_t index,
                       size_t number)
{
    void *scratch = talloc_new(NULL);
    const ik_msg_t *message = conversation->messages[index];
    const ik_msg_t *asked = find_call(conversation, index);
    ik_json_span_t output;
    ik_repl_call_t call = {.name = ik_msg_field_text(scratch, message, "name")};
    ik_repl_result_t result = {
        .number = number,
        .wall_ms = ik_msg_field_number(message, "wall_ms", -1),
        .display = ik_display_parse(ik_msg_field_text(scratch, message, "display"))};
    if (asked != NULL) {
        ik_repl_rows_fill_call(scratch, asked, &call);
    }
    bool has_output =
        ik_msg_field(message, "output", &output) && ik_json_is(output, IK_JSON_STRING);
    if (has_output) {
        result.output = ik_json_decode(scratch, output, &result.output_len);
    }
    ik_repl_rows_tool(rows, &call, has_output ? &result : NULL);
    ik_repl_rows_images(rows, message);
    char *err = rows->full ? ik_msg_field_text(scratch, message, "stderr") : NULL;
    if (err != NULL) {
        ik_rows_say(rows, IK_ROLE_NAME, "stderr:");
        ik_rows_lines(rows, IK_ROLE_DIM, err);
    }
    talloc_free(scratch);
}

void ik_repl_rows_message(const ik_rows_t *rows, const ik_conversation_t *conversation,
                          size_t index, size_t number)
{
    const ik_msg_t *message = conversation->messages[index];
    const char *content = message->content == NULL ? "" : message->content;
    if (ik_msg_is_shell_note(message)) {
        add_command(rows, message, content);
    } else if (ik_msg_is(message, IK_MSG_USER)) {
        ik_repl_rows_user(rows, content);
        ik_repl_rows_images(rows, message);
    } else if (ik_msg_is(message, IK_MSG_ASSISTANT)) {
        add_answer(rows, message);
    } else if (ik_msg_is(message, IK_MSG_TOOL_RESULT)) {
        add_result(rows, conversation, index, number);
    } else if (ik_msg_is(message, IK_MSG_COMPACTION)) {
        ik_rows_say(rows, IK_ROLE_DIM, content);
        char *summary = rows->full ? ik_msg_field_text(NULL, message, "summary") : NULL;
        if (summary != NULL) {
            ik_rows_lines(rows, IK_ROLE_DIM, summary);
        }
        talloc_free(summary);
    } else if (ik_msg_is(message, IK_MSG_SYSTEM) && rows->full) {
        ik_rows_lines(rows, IK_ROLE_DIM, content);
    }
}
