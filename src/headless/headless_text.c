#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/print.h"
#include "base/sanitiser.h"
#include "headless/headless_output.h"

/* A call of the model whose result has not come yet. */
typedef struct {
    char *text; /* bash(command="make") */
    bool said;
} call_t;

typedef struct {
    FILE *out;
    FILE *err;
    bool on_terminal;
    ik_sanitiser_t sanitiser; /* cleans the answer for a terminal */
    bool line_open;           /* the last byte was not a newline */
    call_t *calls;            /* results come in the order of the calls */
    size_t call_count;
    size_t next; /* the call of the next result */
} text_t;

static void *begin(const void *ctx, const ik_headless_facts_t *facts)
{
    text_t *text = ik_new(ctx, text_t);
    text->out = facts->out;
    text->err = facts->err;
    text->on_terminal = isatty(STDOUT_FILENO) != 0;
    ik_sanitiser_init(&text->sanitiser);
    return text;
}

static void print_bytes(text_t *text, const char *bytes, size_t len)
{
    fwrite(bytes, 1, len, text->out);
    text->line_open = bytes[len - 1] != '\n';
}

static void on_clean_text(void *data, ik_style_t style, const char *clean, size_t len)
{
    (void)style;
    print_bytes(data, clean, len);
}

static void close_line(text_t *text)
{
    ik_sanitiser_end(&text->sanitiser, on_clean_text, text);
    if (text->line_open) {
        fputc('\n', text->out);
        text->line_open = false;
    }
}

static void print_answer(text_t *text, const ik_agent_event_t *event)
{
    if (event->begins) {
        close_line(text);
    }
    if (text->on_terminal) {
        ik_sanitiser_feed(&text->sanitiser, event->text, event->len, on_clean_text, text);
    } else {
        print_bytes(text, event->text, event->len);
    }
}

/* Standard error may be the same terminal, so earlier output must be flushed first. */
static void begin_saying(text_t *text)
{
    if (text->on_terminal) {
        close_line(text);
    }
    fflush(text->out);
}

static void say(text_t *text, const char *mark, const char *line)
{
    begin_saying(text);
    fputs(mark, text->err);
    ik_print_line(text->err, line);
}

static void expect_call(text_t *text, const ik_msg_t *call)
{
    text->calls = ik_resize_array(text, text->calls, call_t, text->call_count + 1);
    text->calls[text->call_count++] = (call_t){.text = ik_strdup(text->calls, call->content)};
}

static void say_call(text_t *text, const char *content)
{
    for (size_t i = text->next; i < text->call_count; i++) {
        if (!text->calls[i].said && strcmp(text->calls[i].text, content) == 0) {
            text->calls[i].said = true;
            break;
        }
    }
    say(text, "> ", content);
}

/* A call that was denied did not start, so its line is still missing. */
static void say_result(text_t *text, const ik_msg_t *result)
{
    if (text->next < text->call_count && !text->calls[text->next].said) {
        say(text, "> ", text->calls[text->next].text);
    }
    if (text->next < text->call_count && ++text->next == text->call_count) {
        TALLOC_FREE(text->calls);
        text->call_count = text->next = 0;
    }
    say(text, "< ", result->content);
}

static void say_retry(text_t *text, const ik_agent_event_t *event)
{
    begin_saying(text);
    fprintf(text->err, "Attempt %d of %d in %.1f s: ", event->attempt + 1, event->of,
            (double)event->delay_ms / 1000);
    char *reason = ik_agent_describe_retry(NULL, event);
    ik_print_line(text->err, reason);
    talloc_free(reason);
}

/* Of a sub-agent only its calls, and what went wrong: its answer is for its parent. */
static void say_of_subagent(text_t *text, int64_t agent, const ik_agent_event_t *event)
{
    char *who = ik_sprintf(NULL, "agent %lld%s", (long long)agent,
                           event->kind == IK_AGENT_TOOL_STARTED ? " > " : ": ");
    if (event->kind == IK_AGENT_TOOL_STARTED) {
        say(text, who, event->message->content);
    } else if (event->kind == IK_AGENT_NOTICE || event->kind == IK_AGENT_ERROR) {
        say(text, who, event->text);
    }
    talloc_free(who);
}

static void on_subagent(void *state, int64_t agent, const ik_workspace_subagent_t *subagent)
{
    (void)state;
    (void)agent;
    (void)subagent; /* the call of its parent says it */
}

static void on_event(void *state, int64_t agent, const ik_agent_event_t *event)
{
    text_t *text = state;
    if (agent != 0) {
        say_of_subagent(text, agent, event);
        return;
    }
    switch (event->kind) {
    case IK_AGENT_TEXT:
        print_answer(text, event);
        break;
    case IK_AGENT_TOOL_STARTED:
        say_call(text, event->message->content);
        break;
    case IK_AGENT_MESSAGE: /* answers were printed as they arrived */
        if (ik_msg_is(event->message, IK_MSG_TOOL_CALL)) {
            expect_call(text, event->message);
        } else if (ik_msg_is(event->message, IK_MSG_TOOL_RESULT)) {
            say_result(text, event->message);
        }
        break;
    case IK_AGENT_RETRY:
        say_retry(text, event);
        break;
    case IK_AGENT_NOTICE:
        say(text, "", event->text);
        break;
    case IK_AGENT_ERROR:
        say(text, "ikigai: ", event->text);
        break;
    default: /* reasoning, progress and usage are shown by the REPL and --json */
        break;
    }
}

static void on_level(void *state, const char *level)
{
    (void)state;
    (void)level; /* a notice says it, where it matters */
}

static void end(void *state)
{
    close_line(state);
}

const ik_headless_output_t ik_headless_text = {
    .begin = begin,
    .on_level = on_level,
    .on_event = on_event,
    .on_subagent = on_subagent,
    .end = end,
};
