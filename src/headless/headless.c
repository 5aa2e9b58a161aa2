#include "headless/headless.h"

#include <stdio.h>
#include <string.h>

#include "agent/agent_target.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/print.h"
#include "headless/headless_input.h"
#include "headless/headless_output.h"
#include "io/interrupt.h"
#include "store/session_lines.h"

/* A fast stream is written in fewer pieces, a slow one at once. */
enum { FLUSH_MS = 5 };
enum { STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

typedef struct {
    const ik_headless_options_t *options;
    ik_workspace_t *workspace;
    const ik_headless_output_t *output;
    void *output_state;
    bool begun; /* the turn: output_state is there */
    bool resumed;
    ik_timer_t *flush; /* prints what came at about the same time in one piece */
    bool flush_due;
    int64_t flushed_ms;
    bool done;
    int status;
    int signal; /* that interrupted; 0: none */
} headless_t;

static void complain(const char *message)
{
    fputs("ikigai: ", stderr);
    ik_print_line(stderr, message);
}

static void end(headless_t *headless, int status)
{
    headless->status = status;
    headless->done = true;
}

/* --- the turn ---------------------------------------------------------------------------- */

static void on_flush(void *data)
{
    headless_t *headless = data;
    headless->flush_due = false;
    headless->flushed_ms = ik_clock_now_ms();
    if (fflush(stdout) != 0 || ferror(stdout)) { /* the reader is gone, or the disk is full */
        ik_workspace_interrupt(headless->workspace, ik_workspace_focus(headless->workspace));
    }
}

static void print_event(headless_t *headless, const ik_agent_event_t *event)
{
    headless->output->on_event(headless->output_state, event);
    if (event->kind == IK_AGENT_TURN_ENDED) {
        int interrupted = headless->signal == 0 ? STATUS_FAILED : 128 + headless->signal;
        end(headless, event->reason == IK_TURN_ERROR         ? STATUS_FAILED
                      : event->reason == IK_TURN_INTERRUPTED ? interrupted
                                                             : STATUS_DONE);
    } else if (!headless->flush_due) {
        headless->flush_due = true;
        ik_timer_start(headless->flush, headless->flushed_ms + FLUSH_MS - ik_clock_now_ms());
    }
}

static void announce_offline(const void *ctx)
{
    fputs("No model is configured, so the offline model answers: it runs tools, but it is no "
          "language model.\n"
          "Set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or choose one with "
          "-m provider/model.\n",
          stderr);
    fputs(ik_agent_target_describe_local_servers(ctx), stderr);
}

static void begin_output(headless_t *headless)
{
    ik_workspace_t *workspace = headless->workspace;
    ik_workspace_require_agent(workspace); /* what it says about AGENTS.md belongs before it */
    ik_headless_facts_t facts = {.session_id = ik_session_id(ik_workspace_session(workspace)),
                                 .resumed = headless->resumed,
                                 .target = ik_workspace_target(workspace),
                                 .registry = ik_workspace_shared(workspace)->tool_registry,
                                 .folder = headless->options->paths->cwd};
    if (ik_workspace_is_makeshift(workspace)) {
        announce_offline(headless);
    }
    headless->output_state = headless->output->begin(headless, &facts);
    headless->begun = true;
}

/* --- the workspace ----------------------------------------------------------------------- */

/* What concerns the beginning and the end goes to standard error, whatever the output's form. */
static void print_line(headless_t *headless, const ik_workspace_event_t *event)
{
    if (headless->begun && !headless->done) {
        print_event(headless, &(ik_agent_event_t){.kind = IK_AGENT_NOTICE,
                                                  .text = event->text,
                                                  .len = strlen(event->text)});
    } else if (event->level == IK_WORKSPACE_ERROR) {
        complain(event->text);
    } else {
        ik_print_line(stderr, event->text);
    }
}

/* -r without an id: there is no user to choose one. */
static void refuse_choosing(headless_t *headless, const ik_store_list_t *sessions)
{
    complain(sessions->count == 0 ? "-r needs the id of a session, and there are no sessions here"
                                  : "-r needs the id of a session; its beginning is enough:");
    if (sessions->count > 0) {
        const char *cwd = ik_workspace_paths(headless->workspace)->cwd;
        bool here = strcmp(sessions->sessions[0].cwd, cwd) == 0;
        fputs(ik_session_lines_table(headless, sessions, 0, !here), stderr);
    }
    end(headless, STATUS_USAGE);
}

static void on_event(void *data, const ik_workspace_event_t *event)
{
    headless_t *headless = data;
    switch (event->kind) {
    case IK_WORKSPACE_LINE:
        print_line(headless, event);
        break;
    case IK_WORKSPACE_SESSION:
        headless->resumed = event->resumed;
        break;
    case IK_WORKSPACE_CHOOSE:
        refuse_choosing(headless, event->sessions);
        break;
    case IK_WORKSPACE_READY:
        begin_output(headless);
        break;
    case IK_WORKSPACE_AGENT:
        print_event(headless, event->event);
        break;
    case IK_WORKSPACE_QUESTION:
        ik_workspace_decline(headless->workspace);
        break;
    case IK_WORKSPACE_FAILED:
        complain(event->result->message);
        end(headless, event->misconfigured ? STATUS_USAGE : STATUS_FAILED);
        break;
    default: /* there is one agent and one session */
        break;
    }
}

/* The second signal does not wait for tools to end: leaving ends them, too. */
static void on_interrupt(void *data, int signal)
{
    headless_t *headless = data;
    ik_agent_event_t ended = {.kind = IK_AGENT_TURN_ENDED, .reason = IK_TURN_INTERRUPTED};
    bool again = headless->signal != 0;
    if (headless->done) {
        return;
    }
    headless->signal = signal;
    if (!headless->begun) {
        end(headless, 128 + signal);
    } else if (again) {
        print_event(headless, &ended);
    } else {
        ik_workspace_interrupt(headless->workspace, ik_workspace_focus(headless->workspace));
    }
}

/* --- running ----------------------------------------------------------------------------- */

static int run(headless_t *headless)
{
    const ik_headless_options_t *options = headless->options;
    ik_workspace_t *workspace = headless->workspace;
    char *prompt = NULL;
    res_t started = ik_workspace_start(workspace);
    if (is_ok(&started) && !options->wish->choose) {
        /* the request is near: libcurl is loaded while the input is read */
        ik_http_prepare(ik_workspace_shared(workspace)->http);
        started = ik_headless_input_read(headless, options->wish->prompt, &prompt);
    }
    if (is_err(&started)) {
        complain(started.message);
        return STATUS_USAGE;
    }
    ik_interrupt_t *interrupt =
        ik_interrupt_create(headless, options->loop, on_interrupt, headless);
    if (prompt != NULL) {
        ik_workspace_submit(workspace, ik_workspace_focus(workspace), prompt, false);
    }
    if (!ik_loop_run_until(options->loop, &headless->done)) {
        PANIC("the turn has nothing to wait for");
    }
    if (headless->begun) {
        headless->output->end(headless->output_state);
    }
    talloc_free(interrupt);
    fflush(stdout);
    return headless->status;
}

int ik_headless_run(const void *ctx, const ik_headless_options_t *options)
{
    headless_t *headless = ik_new(ctx, headless_t);
    ik_workspace_options_t workspace = {.paths = options->paths,
                                        .config = options->config,
                                        .loop = options->loop,
                                        .host = options->host,
                                        .start = options->wish,
                                        .unattended = true,
                                        .on_event = on_event,
                                        .data = headless};
    headless->options = options;
    headless->output = options->json ? &ik_headless_json : &ik_headless_text;
    headless->flush = ik_timer_create(headless, options->loop, on_flush, headless);
    headless->workspace = ik_workspace_create(headless, &workspace);
    int status = run(headless);
    ik_workspace_close(headless->workspace, IK_HISTORY_FINISH_MS);
    talloc_free(headless);
    return status;
}
