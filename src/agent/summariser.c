#include "agent/summariser.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/utf8.h"

enum { PROMPT_MAX = 64 * 1024 };

struct ik_summariser {
    ik_summariser_options_t options;
    ik_exchange_t *exchange;
};

/* --- the prompt -------------------------------------------------------------------------- */

static res_t read_prompt(const void *ctx, const char *path, char **prompt)
{
    size_t len;
    TRY(ik_file_read(ctx, path, PROMPT_MAX, prompt, &len));
    if (strlen(*prompt) != len || !ik_utf8_valid(*prompt, len)) {
        return ERR(INVALID, "%s is not UTF-8 text", path);
    }
    if (ik_msg_text_is_blank(*prompt)) {
        return ERR(INVALID, "%s is empty", path);
    }
    return OK;
}

char *ik_summariser_read_prompt(const void *ctx, const ik_shared_ctx_t *shared, char **problem)
{
    char *prompt;
    res_t own = read_prompt(ctx, shared->user_compact_prompt, &prompt);
    *problem = NULL;
    if (is_ok(&own)) {
        return prompt;
    }
    if (own.code != IK_ERR_NOT_FOUND) {
        *problem = ik_sprintf(ctx, "%s; the shipped prompt is used.", own.message);
    }
    res_t shipped = read_prompt(ctx, shared->compact_prompt, &prompt);
    if (is_err(&shipped)) {
        *problem = ik_sprintf(ctx, "There is no prompt for a summary: %s", shipped.message);
        return NULL;
    }
    return prompt;
}

/* --- the answer -------------------------------------------------------------------------- */

static char *join_text(const void *ctx, const ik_stream_t *stream)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by the stream */
    ik_buffer_append_text(&text, "");
    for (size_t i = 0; i < stream->item_count; i++) {
        ik_buffer_append_text(&text, text.len == 0 ? "" : "\n\n");
        ik_buffer_append(&text, stream->items[i]->text.data, stream->items[i]->text.len);
    }
    while (text.len > 0 && strchr(" \t\r\n", text.data[text.len - 1]) != NULL) {
        text.data[--text.len] = '\0';
    }
    return ik_buffer_finish(&text);
}

static bool has_call(const ik_stream_t *stream)
{
    size_t i = 0;
    while (i < stream->item_count && stream->items[i]->call == NULL) {
        i++;
    }
    return i < stream->item_count || stream->stop == IK_STOP_TOOL_USE ||
           stream->stop == IK_STOP_BAD_TOOL_CALL;
}

/* Why the answer cannot be used; NULL: it can, if it has text. */
static const char *find_fault(const ik_stream_t *stream)
{
    if (stream->stop == IK_STOP_ERROR) {
        return stream->error.message;
    }
    if (has_call(stream)) {
        return "the model called a tool";
    }
    switch (stream->stop) {
    case IK_STOP_END:
        return stream->refused ? "the model refused" : NULL;
    case IK_STOP_MAX_TOKENS:
        return "the answer was cut at the output limit";
    case IK_STOP_CONTEXT_FULL:
        return "the context window is full";
    case IK_STOP_REFUSAL:
        return "the model refused";
    case IK_STOP_FILTERED:
        return "the provider's filter blocked it";
    default:
        return "the answer was cut off";
    }
}

static void on_answer(void *data, ik_stream_t *stream)
{
    ik_summariser_t *summariser = data;
    ik_summariser_result_t result = {.stream = stream,
                                     .sent = ik_exchange_sent(summariser->exchange),
                                     .why = find_fault(stream)};
    if (result.why == NULL) {
        char *text = join_text(summariser, stream);
        result.text = ik_msg_text_is_blank(text) ? NULL : text;
        result.why = result.text == NULL ? "the model's answer is empty" : NULL;
    }
    summariser->options.on_end(summariser->options.data, &result);
}

/* --- the request ------------------------------------------------------------------------- */

ik_summariser_t *ik_summariser_start(const void *ctx, const ik_summariser_options_t *options)
{
    ik_summariser_t *summariser = ik_new(ctx, ik_summariser_t);
    ik_request_t *request = options->request;
    char *words = options->focus == NULL
                      ? ik_strdup(summariser, options->prompt)
                      : ik_sprintf(summariser, "%s\nThe user asks to keep in particular:\n%s\n",
                                   options->prompt, options->focus);
    summariser->options = *options;
    request->closing = ik_msg_create(summariser, IK_MSG_USER, words, NULL);
    request->forbid_tools = true;
    ik_exchange_options_t exchange = {
        .shared = options->shared,
        .request = request,
        .wire = options->wire,
        .on_end = on_answer,
        .data = summariser,
    };
    summariser->exchange = ik_exchange_start(summariser, &exchange);
    return summariser;
}

int64_t ik_summariser_silent_ms(const ik_summariser_t *summariser)
{
    return ik_exchange_silent_ms(summariser->exchange);
}
