/*
 * The provider for a machine without a key or a network. It has no language model but runs the same
 * agent loop: a request in plain words becomes one tool call, and the answer reports its result.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "provider/offline/offline_command.h"
#include "provider/stream.h"

enum { SHOWN_MAX = 4000 }; /* bytes of a result that the answer quotes */

/* The answer ends with it once per conversation, so its beginning must not change: conversations
 * are resumed by later versions. */
#define NOTICE_BEGINNING "I am not a language model, only an offline stand-in"
static const char notice[] = NOTICE_BEGINNING
    " that turns simple requests into tool calls. For a model, run `ikigai setup`; or set "
    "`OPENAI_API_KEY`, `ANTHROPIC_API_KEY` or `GEMINI_API_KEY`, or choose one with `-m "
    "provider/model` or as `model` in `~/.ikigai/config.json`.\n";

static void say(ik_stream_t *stream, const char *text)
{
    ik_stream_add_text(stream, text, strlen(text));
}

/* --- reporting a result ------------------------------------------------------------------ */

/* The text of a result: its output if it has one, else the string or JSON that it is. */
static char *take_text(const void *ctx, ik_json_span_t result)
{
    ik_json_span_t output;
    if (ik_json_find_kind(result, "output", IK_JSON_STRING, &output)) {
        result = output;
    }
    return ik_json_kind(result) == IK_JSON_STRING ? ik_json_decode(ctx, result, NULL)
                                                  : ik_strndup(ctx, result.text, result.len);
}

/* The first words of the report. */
static char *describe_result(const void *ctx, const ik_msg_t *message, const char *name,
                             ik_json_span_t result)
{
    ik_json_span_t value;
    if (ik_json_find_kind(result, "exit_code", IK_JSON_NUMBER, &value)) {
        return ik_sprintf(ctx, "`%s` ended with exit code %ld", name, strtol(value.text, NULL, 10));
    }
    if (ik_json_find_kind(result, "count", IK_JSON_NUMBER, &value)) {
        return ik_sprintf(ctx, "`%s`: %s", name, message->content);
    }
    return ik_sprintf(ctx, "`%s` returned", name);
}

/* Quotes the text in a code block, cut after the last line that fits. */
static void say_text(ik_stream_t *stream, const void *ctx, char *text)
{
    size_t len = strlen(text);
    size_t kept = ik_utf8_cut(text, len, SHOWN_MAX);
    const char *newline = kept < len ? memrchr(text, '\n', kept) : NULL;
    kept = newline == NULL ? kept : (size_t)(newline - text) + 1;
    text[kept] = '\0';
    const char *fence = "```";
    while (strstr(text, fence) != NULL) {
        fence = ik_sprintf(ctx, "%s`", fence);
    }
    bool ended = kept > 0 && text[kept - 1] == '\n';
    say(stream, ik_sprintf(ctx, ":\n\n%s\n", fence));
    say(stream, text);
    say(stream, ik_sprintf(ctx, "%s%s\n", ended ? "" : "\n", fence));
    if (kept < len) {
        say(stream, ik_sprintf(ctx, "\n%zu more bytes are not shown.\n", len - kept));
    }
}

static void say_result(ik_stream_t *stream, const void *ctx, const ik_msg_t *message,
                       const char *name, ik_json_span_t result)
{
    say(stream, describe_result(ctx, message, name, result));
    char *text = take_text(ctx, result);
    if (*text == '\0') {
        say(stream, ", without output.\n");
    } else {
        say_text(stream, ctx, text);
    }
}

/* The result in an envelope, or the envelope itself when the call failed. */
static ik_json_span_t open_envelope(ik_json_span_t envelope)
{
    ik_json_span_t inner = envelope;
    if (ik_json_kind(envelope) == IK_JSON_OBJECT) {
        ik_json_find(envelope, "result", &inner);
    }
    return inner;
}

static bool find_error(ik_json_span_t envelope, ik_json_span_t *error)
{
    return ik_json_find_kind(open_envelope(envelope), "error", IK_JSON_STRING, error);
}

static void say_envelope(ik_stream_t *stream, const void *ctx, const ik_msg_t *message,
                         const char *name, ik_json_span_t envelope)
{
    ik_json_span_t error;
    if (find_error(envelope, &error)) {
        say(stream, ik_sprintf(ctx, "`%s` failed: %s\n", name, ik_json_decode(ctx, error, NULL)));
    } else {
        say_result(stream, ctx, message, name, open_envelope(envelope));
    }
}

/* Where the user has seen the result, the report only says how the call ended. */
static void report(ik_stream_t *stream, const void *ctx, const ik_request_t *request,
                   const ik_msg_t *message)
{
    const char *name = ik_msg_field_text(ctx, message, "name");
    const char *output = ik_msg_field_text(ctx, message, "output");
    ik_json_span_t envelope;
    ik_json_span_t error;
    ik_json_span_t code;
    name = name == NULL ? "tool" : name;
    if (output == NULL || !ik_json_scan(output, strlen(output), &envelope, NULL)) {
        say(stream, ik_sprintf(ctx, "`%s` returned nothing that can be read.\n", name));
    } else if (!request->results_shown) {
        say_envelope(stream, ctx, message, name, envelope);
    } else if (find_error(envelope, &error)) {
        say(stream, ik_sprintf(ctx, "`%s` failed.\n", name));
    } else if (ik_json_find_kind(open_envelope(envelope), "exit_code", IK_JSON_NUMBER, &code)) {
        say(stream,
            ik_sprintf(ctx, "`%s` ended with exit code %ld.\n", name, strtol(code.text, NULL, 10)));
    } else {
        say(stream, "Done.\n");
    }
}

/* --- making a call ----------------------------------------------------------------------- */

static void call(ik_stream_t *stream, const ik_request_t *request,
                 const ik_offline_command_t *command)
{
    ik_stream_call_t *made = ik_stream_add_call(stream);
    ik_buffer_append_format(&made->given_id, "offline_%zu", request->conversation->count);
    ik_buffer_append_text(&made->name, command->tool);
    ik_buffer_append_text(&made->arguments, command->arguments);
}

static void say_help(ik_stream_t *stream, const void *ctx, const ik_request_t *request,
                     const char *beginning)
{
    ik_buffer_t list;
    ik_buffer_init(&list, ctx, IK_BUFFER_UNLIMITED); /* bounded by the tools */
    ik_offline_command_describe(&list, request);
    say(stream, beginning);
    say(stream, " What I understand:\n\n");
    say(stream, list.data);
}

/* A page for users who do not know yet what to ask. */
static void greet(ik_stream_t *stream, const void *ctx, const ik_request_t *request)
{
    ik_buffer_t list;
    ik_buffer_init(&list, ctx, IK_BUFFER_UNLIMITED); /* bounded by the table of requests */
    ik_buffer_append_text(&list, "");
    ik_offline_command_suggest(&list, request);
    say(stream, "Hello! I can run the tools of this folder for you. Try:\n\n");
    say(stream, list.data);
    say(stream, "- `/help` in the terminal, for commands and keys\n"
                "- `ikigai setup` in your shell, to set up a model that understands everything "
                "else\n");
}

/* Turns a request into a call; true when one was made. */
static bool obey(ik_stream_t *stream, const void *ctx, const ik_request_t *request,
                 const char *text)
{
    ik_offline_command_t command;
    ik_offline_command_parse(ctx, text, request, &command);
    if (command.greeting) {
        greet(stream, ctx, request);
        return false;
    }
    if (request->tool_count == 0) {
        say(stream, "There are no tools here, so I can do nothing.\n");
        return false;
    }
    if (request->forbid_tools) {
        say(stream, "No more tools may be used in this turn, so I can do nothing.\n");
        return false;
    }
    if (command.tool != NULL) {
        call(stream, request, &command);
        return true;
    }
    say_help(stream, ctx, request,
             command.problem == NULL ? "I did not understand that." : command.problem);
    return false;
}

/* --- summaries --------------------------------------------------------------------------- */

/* Lists the last calls with their results, one line each. */
static void summarise(ik_stream_t *stream, const void *ctx, const ik_request_t *request)
{
    enum { LINES_MAX = 20, LINE_MAX = 160 };
    const ik_conversation_t *conversation = request->conversation;
    size_t first = conversation->count;
    size_t lines = 0;
    while (first > 0 && lines < LINES_MAX) {
        lines += ik_msg_is(conversation->messages[--first], IK_MSG_TOOL_CALL);
    }
    say(stream, "Tool calls and their results:\n");
    for (size_t i = first; i < conversation->count; i++) {
        const ik_msg_t *message = conversation->messages[i];
        bool is_call = ik_msg_is(message, IK_MSG_TOOL_CALL);
        if ((is_call || ik_msg_is(message, IK_MSG_TOOL_RESULT)) && message->content != NULL) {
            size_t len = ik_utf8_cut(message->content, strcspn(message->content, "\n"), LINE_MAX);
            say(stream,
                ik_sprintf(ctx, "%s%.*s\n", is_call ? "- " : "  ", (int)len, message->content));
        }
    }
}

/* --- the provider ------------------------------------------------------------------------ */

static const ik_msg_t *find_last(const ik_conversation_t *conversation)
{
    for (size_t i = conversation->count; i > 0; i--) {
        const ik_msg_t *message = conversation->messages[i - 1];
        if (ik_msg_is(message, IK_MSG_USER) || ik_msg_is(message, IK_MSG_TOOL_RESULT)) {
            return message;
        }
    }
    return NULL;
}

static bool was_noticed(const ik_conversation_t *conversation)
{
    for (size_t i = 0; i < conversation->count; i++) {
        const ik_msg_t *message = conversation->messages[i];
        if (ik_msg_is_summary(message) || /* an earlier answer had it */
            (ik_msg_is(message, IK_MSG_ASSISTANT) && message->content != NULL &&
             strstr(message->content, NOTICE_BEGINNING) != NULL)) {
            return true;
        }
    }
    return false;
}

static void answer(ik_stream_t *stream, const ik_request_t *request)
{
    void *scratch = talloc_new(NULL);
    const ik_msg_t *last = find_last(request->conversation);
    bool called = false;
    if (request->closing != NULL) {
        summarise(stream, scratch, request);
    } else if (last != NULL && ik_msg_is(last, IK_MSG_TOOL_RESULT)) {
        report(stream, scratch, request, last);
    } else {
        const char *text = last == NULL || last->content == NULL ? "" : last->content;
        called = obey(stream, scratch, request, text);
    }
    if (!called && request->closing == NULL && !was_noticed(request->conversation)) {
        say(stream, "\n");
        say(stream, notice);
    }
    stream->usage = (ik_usage_t){.in = 0,
                                 .cached = IK_USAGE_UNKNOWN,
                                 .cache_write = IK_USAGE_UNKNOWN,
                                 .out = 0,
                                 .reasoning = IK_USAGE_UNKNOWN};
    stream->stop = called ? IK_STOP_TOOL_USE : IK_STOP_END;
    stream->terminal = true;
    stream->done = true;
    talloc_free(scratch);
}

const ik_provider_t ik_provider_offline = {.name = "offline", .answer = answer};
