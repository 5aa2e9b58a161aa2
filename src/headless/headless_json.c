/*
 * The first line needs the level of confinement. The request to the model does not wait for it: the
 * lines that come before the level is known are kept. On a busy machine an answer can come faster,
 * so what does not fit into KEPT_MAX goes to a temporary file.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/print.h"
#include "confinement/confinement.h"
#include "headless/headless_output.h"

enum { KEPT_MAX = 1 << 20 };

typedef struct {
    FILE *out;
    FILE *waiting;     /* where lines go instead until the first one is printed; then NULL */
    ik_buffer_t first; /* the first line, not closed */
    FILE *file;        /* the lines after it, as far as they did not fit; NULL: none */
    bool file_full;    /* there is no room for more on the disk */
    ik_buffer_t kept;  /* those after the lines in the file */
} lines_t;

/* --- lines before the level is known ----------------------------------------------------- */

/* Returns how much of the bytes the disk has room for. */
static size_t write_to_file(lines_t *lines, const char *bytes, size_t len)
{
    size_t done = 0;
    if (lines->file == NULL) {
        lines->file = tmpfile();
        lines->file_full =
            lines->file == NULL || fcntl(fileno(lines->file), F_SETFD, FD_CLOEXEC) != 0;
    }
    while (done < len && !lines->file_full) {
        ssize_t count = write(fileno(lines->file), bytes + done, len - done);
        lines->file_full = count <= 0;
        done += count > 0 ? (size_t)count : 0;
    }
    return done;
}

/* What finds no room on the disk stays in memory. */
static ssize_t keep(void *data, const char *bytes, size_t len)
{
    lines_t *lines = data;
    ik_buffer_t *kept = &lines->kept;
    size_t done = 0;
    if (kept->len + len > KEPT_MAX && !lines->file_full) {
        size_t moved = write_to_file(lines, kept->data, kept->len);
        kept->len -= moved;
        memmove(kept->data, kept->data + moved, kept->len + 1);
        done = write_to_file(lines, bytes, len);
    }
    ik_buffer_append(kept, bytes + done, len - done);
    return (ssize_t)len;
}

static void begin_keeping(lines_t *lines)
{
    ik_buffer_init(&lines->kept, lines, IK_BUFFER_UNLIMITED); /* bounded while the disk has room */
    ik_buffer_append(&lines->kept, "", 0);
    lines->waiting = fopencookie(lines, "w", (cookie_io_functions_t){.write = keep});
    if (lines->waiting == NULL) {
        ik_alloc_fail();
    }
}

static void print_kept(lines_t *lines)
{
    char piece[16384];
    size_t len;
    if (lines->file != NULL) {
        rewind(lines->file);
        while ((len = fread(piece, 1, sizeof(piece), lines->file)) > 0) {
            fwrite(piece, 1, len, lines->out);
        }
        fclose(lines->file);
    }
    fwrite(lines->kept.data, 1, lines->kept.len, lines->out);
    ik_buffer_reset(&lines->kept);
}

/* --- lines ------------------------------------------------------------------------------- */

/* Begins an object whose first member is its type. agent: that of a sub-agent, or 0. */
static void open_line(ik_buffer_t *line, const char *type, int64_t agent)
{
    ik_buffer_init(line, NULL, IK_BUFFER_UNLIMITED); /* bounded by the event */
    ik_json_add_text(line, "type", type);
    if (agent != 0) {
        ik_json_add_number(line, "agent", agent);
    }
}

static void add_bytes(ik_buffer_t *line, const char *name, const char *text, size_t len)
{
    ik_json_begin_member(line, name);
    ik_json_append_string(line, text, len);
}

static void close_line(lines_t *lines, ik_buffer_t *line)
{
    ik_buffer_append_byte(line, '}');
    ik_print_json(lines->waiting != NULL ? lines->waiting : lines->out, line->data, line->len);
    ik_buffer_reset(line);
}

static void add_tools(ik_buffer_t *line, const ik_tool_registry_t *registry)
{
    ik_json_begin_member(line, "tools");
    ik_buffer_append_byte(line, '[');
    for (size_t i = 0; registry != NULL && i < registry->count; i++) {
        ik_buffer_append_text(line, i == 0 ? "" : ",");
        ik_json_append_text(line, registry->entries[i]->name);
    }
    ik_buffer_append_byte(line, ']');
}

static void *begin(const void *ctx, const ik_headless_facts_t *facts)
{
    lines_t *lines = ik_new(ctx, lines_t);
    ik_buffer_t *line = &lines->first;
    lines->out = facts->out;
    open_line(line, "session", 0);
    ik_json_add_text(line, "id", facts->session_id);
    ik_json_add_text(line, "model", facts->target->name);
    ik_json_add_text(line, "cwd", facts->folder);
    ik_json_begin_member(line, "resumed");
    ik_buffer_append_text(line, facts->resumed ? "true" : "false");
    ik_json_add_text(line, "mode", facts->mode);
    add_tools(line, facts->registry);
    begin_keeping(lines);
    return lines;
}

static void on_level(void *state, const char *level)
{
    lines_t *lines = state;
    fclose(lines->waiting);
    lines->waiting = NULL;
    ik_json_add_text(&lines->first, "confinement", level);
    close_line(lines, &lines->first);
    print_kept(lines);
}

/* Messages are reported when they are stored, or with "saved":false if that failed. */
static void add_message(ik_buffer_t *line, const ik_agent_event_t *event)
{
    const ik_msg_t *message = event->message;
    ik_json_add_text(line, "kind", message->kind);
    ik_json_add_text(line, "content", message->content);
    ik_json_begin_member(line, "data");
    ik_buffer_append_text(line, message->data_json == NULL ? "{}" : message->data_json);
    if (event->unsaved) {
        ik_json_begin_member(line, "saved");
        ik_buffer_append_text(line, "false");
    }
}

static void add_progress(ik_buffer_t *line, const ik_agent_event_t *event)
{
    ik_json_span_t id;
    if (ik_msg_field(event->message, "id", &id)) {
        ik_json_begin_member(line, "tool_call_id");
        ik_buffer_append(line, id.text, id.len);
    }
    add_bytes(line, "text", event->text, event->len);
}

static void add_usage(ik_buffer_t *line, const ik_agent_event_t *event)
{
    ik_buffer_t figures;
    ik_buffer_init(&figures, NULL, IK_BUFFER_UNLIMITED); /* a few numbers */
    ik_usage_format(&figures, &event->usage);
    ik_buffer_append_byte(line, ',');
    ik_buffer_append(line, figures.data + 1, figures.len - 2); /* without the braces */
    if (event->cost >= 0) {
        ik_json_begin_member(line, "cost_usd");
        ik_buffer_append_format(line, "%.6f", event->cost);
    }
    ik_buffer_reset(&figures);
}

static void add_retry(ik_buffer_t *line, const ik_agent_event_t *event)
{
    ik_json_add_number(line, "attempt", event->attempt);
    ik_json_add_number(line, "of", event->of);
    if (event->status != 0) {
        ik_json_add_number(line, "status", event->status);
    }
    ik_json_add_number(line, "delay_ms", event->delay_ms);
    ik_json_add_text(line, "code", event->code);
    ik_json_add_text(line, "message", event->text);
}

/* "type" of the line; NULL: another event reports it. */
static const char *const types[] = {
    [IK_AGENT_TEXT] = "text_delta",
    [IK_AGENT_REASONING] = "reasoning_delta",
    [IK_AGENT_MESSAGE] = "message",
    [IK_AGENT_TOOL_STARTED] = NULL,
    [IK_AGENT_TOOL_PROGRESS] = "tool_progress",
    [IK_AGENT_USAGE] = "usage",
    [IK_AGENT_RETRY] = "retry",
    [IK_AGENT_NOTICE] = "notice",
    [IK_AGENT_ERROR] = "error",
    [IK_AGENT_TURN_ENDED] = "done",
};

/* Adds the members after the type. */
static void add_event(ik_buffer_t *line, const ik_agent_event_t *event)
{
    switch (event->kind) {
    case IK_AGENT_MESSAGE:
        add_message(line, event);
        break;
    case IK_AGENT_TOOL_PROGRESS:
        add_progress(line, event);
        break;
    case IK_AGENT_USAGE:
        add_usage(line, event);
        break;
    case IK_AGENT_RETRY:
        add_retry(line, event);
        break;
    case IK_AGENT_ERROR:
        ik_json_add_text(line, "code", event->code);
        ik_json_add_text(line, "message", event->text);
        break;
    case IK_AGENT_TURN_ENDED:
        ik_json_add_text(line, "reason", ik_turn_reason_name(event->reason));
        break;
    default:
        add_bytes(line, "text", event->text, event->len);
    }
}

/* "done" is the end of the run; the end of a sub-agent has a line of its own. */
static void on_event(void *state, int64_t agent, const ik_agent_event_t *event)
{
    if (types[event->kind] == NULL || (agent != 0 && event->kind == IK_AGENT_TURN_ENDED)) {
        return;
    }
    ik_buffer_t line;
    open_line(&line, types[event->kind], agent);
    add_event(&line, event);
    close_line(state, &line);
}

static void on_subagent(void *state, int64_t agent, const ik_workspace_subagent_t *subagent)
{
    ik_buffer_t line;
    open_line(&line, "agent", agent);
    ik_json_add_number(&line, "parent", subagent->parent);
    ik_json_add_text(&line, "name", subagent->name);
    ik_json_add_text(&line, "tool_call_id", subagent->call_id);
    ik_json_add_text(&line, "state", subagent->ended ? "ended" : "started");
    if (subagent->ended) {
        ik_json_add_text(&line, "reason", ik_turn_reason_name(subagent->reason));
        ik_json_begin_member(&line, "usage");
        ik_usage_format_cost(&line, &subagent->usage, subagent->cost);
    }
    close_line(state, &line);
}

/* Nothing can be confined where the level did not become known. */
static void end(void *state)
{
    lines_t *lines = state;
    if (lines->waiting != NULL) {
        on_level(lines, ik_confinement_level_name(IK_CONFINEMENT_NONE));
    }
}

const ik_headless_output_t ik_headless_json = {
    .begin = begin,
    .on_level = on_level,
    .on_event = on_event,
    .on_subagent = on_subagent,
    .end = end,
};
