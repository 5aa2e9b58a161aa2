#include "headless/headless.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent_prompt.h"
#include "agent/agent_target.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/print.h"
#include "base/utf8.h"
#include "command/command.h"
#include "conversation/message.h"
#include "headless/headless_output.h"
#include "io/interrupt.h"
#include "store/session_lines.h"

/* Output is flushed at most this often: fast streams in fewer pieces, slow ones at once. */
enum { FLUSH_MS = 5 };
enum { READER_MS = 2000 }; /* for a reader that takes nothing, of lines or after a signal */
enum { LEVEL_MS = 2000 };  /* for the level, after a signal */
enum { INPUT_MAX = 16 * 1024 * 1024 };
enum { INPUT_MS = 3000 }; /* without input, before the user is told what is awaited */
enum { STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

typedef struct {
    const ik_headless_options_t *options;
    ik_workspace_t *workspace;
    const ik_headless_output_t *output;
    void *output_state;
    FILE *out;       /* passes on to stdout */
    bool has_reader; /* standard output is a pipe or socket */
    bool given_up;   /* its reader took nothing after a signal */
    FILE *err;       /* passes on to stderr */
    bool err_shared; /* standard error is the pipe or socket of standard output */
    bool err_reader; /* it is another pipe or socket */
    bool err_unread; /* whose reader did not take the last line in time */
    bool begun;      /* the turn has begun, and output_state is set */
    bool resumed;
    bool level_known;  /* of confinement */
    bool over;         /* status is set; the program ends when the level is known */
    ik_timer_t *level; /* then, after a signal: until it does not wait any longer */
    ik_timer_t *flush; /* joins output that arrives at about the same time */
    bool flush_due;
    int64_t flushed_ms;
    bool done;
    int status;
    bool held;              /* the turn has ended, but sub-agents are still ending */
    ik_agent_event_t ended; /* then: its end */
    int signal;             /* the last signal that came; 0: none */
    bool signalled;         /* one has come */
    const char *piped;      /* standard input for a custom command; NULL: none */
} headless_t;

static void complain(headless_t *headless, const char *message)
{
    fputs("ikigai: ", headless->err);
    ik_print_line(headless->err, message);
}

static void on_level_late(void *data)
{
    headless_t *headless = data;
    headless->done = true;
}

/* The first line of the output, if there is one, needs the level. */
static void end(headless_t *headless, int status)
{
    headless->status = status;
    headless->over = true;
    headless->done = !headless->begun || headless->level_known;
    if (headless->signalled) {
        ik_timer_start(headless->level, LEVEL_MS);
    }
}

/* --- standard output --------------------------------------------------------------------- */

/* Waits until there is room for PIPE_BUF bytes. A reader may take its time, as a pager does, until
 * a signal asks the program to end. The loop cannot notice the signal while this waits. */
static bool wait_for_reader(headless_t *headless)
{
    struct pollfd ready[] = {
        {.fd = STDOUT_FILENO, .events = POLLOUT},
        {.fd = ik_loop_signal_fd(headless->options->loop), .events = POLLIN},
    };
    bool ending = headless->signalled;
    while (!headless->given_up) {
        int count = poll(ready, ending ? 1 : 2, ending ? READER_MS : -1);
        if (count > 0 && ready[0].revents != 0) {
            return true;
        }
        headless->given_up = count == 0;
        ending = ending || count > 0;
    }
    return false;
}

/* Errors stay with stdout, where main looks for them. */
static ssize_t pass_on(void *data, const char *bytes, size_t len)
{
    headless_t *headless = data;
    size_t most = headless->has_reader ? PIPE_BUF : len;
    for (size_t done = 0; done < len && ferror(stdout) == 0; done += most) {
        if (headless->has_reader && !wait_for_reader(headless)) {
            break;
        }
        fwrite(bytes + done, 1, len - done < most ? len - done : most, stdout);
        fflush(stdout);
    }
    return (ssize_t)len;
}

/* Not every program that starts this one reads standard error, so the turn does not wait for its
 * reader: what is not taken in time is dropped, and from then on all that finds no room. */
static bool wait_for_err_reader(headless_t *headless)
{
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
    int count;
    do {
        count = poll(&room, 1, headless->err_unread ? 0 : READER_MS);
    } while (count < 0 && errno == EINTR);
    headless->err_unread = count == 0;
    return !headless->err_unread;
}

static ssize_t pass_on_lines(void *data, const char *bytes, size_t len)
{
    headless_t *headless = data;
    bool has_reader = headless->err_shared || headless->err_reader;
    size_t most = has_reader ? PIPE_BUF : len;
    for (size_t done = 0; done < len; done += most) {
        if ((headless->err_shared && !wait_for_reader(headless)) ||
            (headless->err_reader && !wait_for_err_reader(headless))) {
            break;
        }
        fwrite(bytes + done, 1, len - done < most ? len - done : most, stderr);
    }
    return (ssize_t)len;
}

static bool is_pipe(int fd, struct stat *status)
{
    return fstat(fd, status) == 0 && (S_ISFIFO(status->st_mode) || S_ISSOCK(status->st_mode));
}

static void open_output(headless_t *headless)
{
    struct stat out;
    struct stat err;
    headless->has_reader = is_pipe(STDOUT_FILENO, &out);
    headless->err_reader = is_pipe(STDERR_FILENO, &err);
    headless->err_shared = headless->has_reader && headless->err_reader &&
                           out.st_dev == err.st_dev && out.st_ino == err.st_ino;
    headless->err_reader = headless->err_reader && !headless->err_shared;
    headless->out = fopencookie(headless, "w", (cookie_io_functions_t){.write = pass_on});
    headless->err = fopencookie(headless, "w", (cookie_io_functions_t){.write = pass_on_lines});
    if (headless->out == NULL || headless->err == NULL) {
        ik_alloc_fail();
    }
    setvbuf(headless->err, NULL, _IOLBF, 0);
}

/* --- the turn ---------------------------------------------------------------------------- */

static void on_flush(void *data)
{
    headless_t *headless = data;
    headless->flush_due = false;
    headless->flushed_ms = ik_clock_now_ms();
    fflush(headless->out);
    if (ferror(stdout)) { /* the reader is gone, or the disk is full */
        ik_workspace_interrupt(headless->workspace, ik_workspace_focus(headless->workspace));
    }
}

static void expect_flush(headless_t *headless)
{
    if (!headless->flush_due) {
        headless->flush_due = true;
        ik_timer_start(headless->flush, headless->flushed_ms + FLUSH_MS - ik_clock_now_ms());
    }
}

static void print_event(headless_t *headless, int64_t agent, const ik_agent_event_t *event)
{
    headless->output->on_event(headless->output_state, agent, event);
    if (agent == 0 && event->kind == IK_AGENT_TURN_ENDED) {
        int interrupted = headless->signal == 0 ? STATUS_FAILED : 128 + headless->signal;
        end(headless, event->reason == IK_TURN_ERROR         ? STATUS_FAILED
                      : event->reason == IK_TURN_INTERRUPTED ? interrupted
                                                             : STATUS_DONE);
    } else {
        expect_flush(headless);
    }
}

/* An interrupted turn may end before its sub-agents, whose results are still to be stored. */
static void on_agent_event(headless_t *headless, int64_t agent, const ik_agent_event_t *event)
{
    const ik_workspace_t *workspace = headless->workspace;
    if (headless->over) {
        return;
    }
    if (agent != ik_workspace_focus(workspace)) {
        print_event(headless, agent, event);
    } else if (event->kind == IK_AGENT_TURN_ENDED && ik_workspace_is_busy(workspace, 0)) {
        headless->held = true;
        headless->ended = *event;
    } else {
        print_event(headless, 0, event);
    }
}

static void on_subagent(headless_t *headless, const ik_workspace_event_t *event)
{
    if (headless->over) {
        return;
    }
    headless->output->on_subagent(headless->output_state, event->agent, event->subagent);
    expect_flush(headless);
    if (headless->held && !ik_workspace_is_busy(headless->workspace, 0)) {
        print_event(headless, 0, &headless->ended);
    }
}

static void announce_offline(headless_t *headless)
{
    const char *unused = ik_agent_target_describe_unused_key(headless, headless->options->config);
    fprintf(headless->err,
            "No model is configured, so the offline model answers, which only runs tools.\n%s\n",
            unused != NULL ? unused
                           : "Run ikigai setup, set OPENAI_API_KEY, ANTHROPIC_API_KEY or "
                             "GEMINI_API_KEY, or choose a model with -m provider/model.");
    fputs(ik_agent_target_describe_local_servers(headless), headless->err);
}

static void print_level(headless_t *headless)
{
    headless->output->on_level(headless->output_state, ik_workspace_level(headless->workspace));
    char *notice = ik_workspace_describe_level(headless, headless->workspace);
    if (notice != NULL) {
        headless->output->on_event(
            headless->output_state, 0,
            &(ik_agent_event_t){.kind = IK_AGENT_NOTICE, .text = notice, .len = strlen(notice)});
    }
    talloc_free(notice);
    expect_flush(headless); /* of all lines that waited for the level */
}

static void begin_output(headless_t *headless)
{
    ik_workspace_t *workspace = headless->workspace;
    ik_workspace_require_agent(workspace); /* prints its notices about AGENTS.md first */
    ik_headless_facts_t facts = {
        .session_id = ik_session_id(ik_workspace_session(workspace)),
        .resumed = headless->resumed,
        .target = ik_workspace_target(workspace),
        .registry = ik_workspace_shared(workspace)->tool_registry,
        .folder = headless->options->paths->cwd,
        .mode = ik_mode_name(ik_workspace_mode(workspace, ik_workspace_focus(workspace))),
        .out = headless->out,
        .err = headless->err};
    if (ik_workspace_is_makeshift(workspace)) {
        announce_offline(headless);
    }
    headless->output_state = headless->output->begin(headless, &facts);
    headless->begun = true;
    if (headless->level_known) {
        print_level(headless);
    }
}

/* --- the workspace ----------------------------------------------------------------------- */

/* Lines before and after the turn go to standard error; lines in between are events. */
static void print_line(headless_t *headless, const ik_workspace_event_t *event)
{
    if (headless->begun && !headless->over) {
        print_event(headless, 0,
                    &(ik_agent_event_t){
                        .kind = IK_AGENT_NOTICE, .text = event->text, .len = strlen(event->text)});
    } else if (event->level == IK_WORKSPACE_ERROR) {
        complain(headless, event->text);
    } else {
        ik_print_line(headless->err, event->text);
    }
}

/* -r without an id: there is no user to choose one. */
static void refuse_choosing(headless_t *headless, const ik_store_list_t *sessions)
{
    complain(headless, sessions->count == 0
                           ? "-r needs the id of a session, and there are no sessions yet"
                           : "-r needs the id of a session; its beginning is enough:");
    if (sessions->count > 0) {
        /* Sessions of other folders are offered when this folder has none. */
        bool elsewhere = strcmp(sessions->sessions[0].cwd, headless->options->paths->cwd) != 0;
        fputs(ik_session_lines_table(headless, sessions, 0, elsewhere), headless->err);
    }
    end(headless, STATUS_USAGE);
}

/* After the first line of the output the turn ends as any other. */
static void fail(headless_t *headless, const ik_workspace_event_t *event)
{
    const char *why = event->result->message;
    if (headless->begun && !headless->over) {
        print_event(headless, 0,
                    &(ik_agent_event_t){
                        .kind = IK_AGENT_ERROR, .code = "FAILED", .text = why, .len = strlen(why)});
        print_event(headless, 0,
                    &(ik_agent_event_t){.kind = IK_AGENT_TURN_ENDED, .reason = IK_TURN_ERROR});
    } else {
        complain(headless, why);
    }
    end(headless, event->misconfigured ? STATUS_USAGE : STATUS_FAILED);
}

static void run_custom(headless_t *headless, const char *line);

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
        on_agent_event(headless, event->agent, event->event);
        break;
    case IK_WORKSPACE_SUBAGENT:
        on_subagent(headless, event);
        break;
    case IK_WORKSPACE_COMMAND:
        run_custom(headless, event->text);
        break;
    case IK_WORKSPACE_LEVEL:
        headless->level_known = true;
        if (headless->begun) {
            print_level(headless);
        }
        headless->done = headless->over;
        break;
    case IK_WORKSPACE_QUESTION:
        ik_workspace_decline(headless->workspace);
        break;
    case IK_WORKSPACE_FAILED:
        fail(headless, event);
        break;
    default: /* the user has one agent and one session */
        break;
    }
}

/* A second signal does not wait for tools to end; the exit of the program ends them. Nor does a
 * signal after the turn wait for the level. */
static void on_interrupt(void *data, int signal)
{
    headless_t *headless = data;
    ik_agent_event_t ended = {.kind = IK_AGENT_TURN_ENDED, .reason = IK_TURN_INTERRUPTED};
    bool again = headless->signalled;
    headless->signal = signal;
    headless->signalled = true;
    if (headless->over) {
        headless->done = true;
    } else if (!headless->begun) {
        end(headless, 128 + signal);
    } else if (again) {
        print_event(headless, 0, &ended);
    } else {
        ik_workspace_interrupt(headless->workspace, ik_workspace_focus(headless->workspace));
    }
}

/* --- input ------------------------------------------------------------------------------- */

/* Nothing is piped in from a terminal, /dev/null or a closed descriptor. */
static bool is_piped(void)
{
    struct stat status;
    return fstat(STDIN_FILENO, &status) == 0 &&
           (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode) || S_ISSOCK(status.st_mode));
}

/* A program that starts this one may leave a pipe open into which it never writes. */
static void say_what_is_awaited(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&input, 1, INPUT_MS) == 0) {
        fputs("Waiting for the end of standard input. If there is none to read, use < /dev/null.\n",
              stderr);
    }
}

static res_t read_all(ik_buffer_t *input)
{
    enum { STEP = 65536 };
    say_what_is_awaited();
    for (;;) {
        size_t room = ik_buffer_reserve(input, STEP);
        ssize_t got = read(STDIN_FILENO, input->data + input->len, room);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return ERR(SYSTEM, "cannot read standard input: %s", strerror(errno));
        }
        if (got == 0) {
            input->data[input->len] = '\0';
            return OK;
        }
        input->len += (size_t)got;
        if (input->len > INPUT_MAX) {
            return ERR(LIMIT, "more than %d MB on standard input: give the model a file to read",
                       INPUT_MAX / 1024 / 1024);
        }
    }
}

/* Joins the prompt, which may be NULL, and standard input, unless that is a terminal or a device.
 * The result is valid UTF-8. */
static res_t read_prompt(const void *ctx, const char *prompt, char **out)
{
    ik_buffer_t input;
    ik_buffer_t text;
    ik_buffer_init(&input, ctx, 2 * (size_t)INPUT_MAX);
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by argv and the input */
    if (prompt != NULL) {
        ik_utf8_append_string(&text, prompt, strlen(prompt));
    }
    if (is_piped()) {
        TRY(read_all(&input));
    }
    if (input.len > 0 && text.len > 0) {
        ik_buffer_append_text(&text, "\n\n");
    }
    ik_utf8_append_string(&text, input.data, input.len);
    ik_buffer_reset(&input);
    ik_buffer_append_text(&text, "");
    *out = ik_buffer_take(ctx, &text);
    return OK;
}

/* --- custom commands --------------------------------------------------------------------- */

/* Whether the prompt is "/NAME ARGS" of a custom command. *refusal says why it must not be used, on
 * ctx; NULL: it may. */
static bool is_custom(headless_t *headless, char **refusal)
{
    const char *prompt = headless->options->start->prompt;
    *refusal = NULL;
    if (prompt == NULL || !ik_command_is_line(prompt) ||
        ik_command_find(prompt, strcspn(prompt, " \t\r\n")) != NULL) {
        return false;
    }
    const ik_extension_t *found = ik_workspace_find_custom(headless, headless->workspace, prompt);
    if (found != NULL && !found->used) {
        *refusal = ik_sprintf(headless,
                              "/%s is not used: %s; nothing was sent. Review it with ikigai trust, "
                              "or pass --trust",
                              found->name, found->reason);
    }
    return found != NULL;
}

static void run_custom(headless_t *headless, const char *line)
{
    res_t started = ik_workspace_run_custom(headless->workspace, line, headless->piped, NULL);
    if (is_err(&started)) {
        complain(headless, started.message);
        end(headless, STATUS_FAILED);
    }
}

/* --- running ----------------------------------------------------------------------------- */

/* The message that "/init TEXT" stands for, on ctx; another prompt itself. */
static char *expand_prompt(const void *ctx, char *prompt)
{
    static const char name[] = "/init";
    static const char blanks[] = " \t\r\n";
    size_t len = sizeof(name) - 1;
    if (strncmp(prompt, name, len) != 0 || strchr(blanks, prompt[len]) == NULL) {
        return prompt;
    }
    char *wishes = prompt + len + strspn(prompt + len, blanks);
    for (size_t end = strlen(wishes); end > 0 && strchr(blanks, wishes[end - 1]) != NULL; end--) {
        wishes[end - 1] = '\0';
    }
    return ik_agent_prompt_format_init(ctx, wishes);
}

static int run(headless_t *headless)
{
    const ik_headless_options_t *options = headless->options;
    ik_workspace_t *workspace = headless->workspace;
    char *prompt = NULL;
    char *refusal;
    bool custom = is_custom(headless, &refusal);
    res_t started = refusal == NULL ? ik_workspace_start(workspace) : ERR(DENIED, "%s", refusal);
    if (is_ok(&started) && !options->start->choose) {
        /* libcurl is loaded while the input is read */
        ik_http_prepare(ik_workspace_shared(workspace)->http);
        started = read_prompt(headless, custom ? NULL : options->start->prompt, &prompt);
    }
    bool blank = prompt != NULL && ik_msg_text_is_blank(prompt);
    if (is_ok(&started) && blank && !custom) {
        started = ERR(INVALID, "no prompt: give one after -p, or pipe it in");
    }
    if (is_err(&started)) {
        complain(headless, started.message);
        return STATUS_USAGE;
    }
    ik_interrupt_t *interrupt =
        ik_interrupt_create(headless, options->loop, on_interrupt, headless);
    if (custom && prompt != NULL) {
        headless->piped = blank ? NULL : prompt;
        ik_workspace_submit(workspace, ik_workspace_focus(workspace), options->start->prompt, NULL,
                            IK_WORKSPACE_SUBMIT_COMMAND);
    } else if (prompt != NULL) {
        /* Input that is appended to a prompt is data: it attaches nothing. */
        const char *own = options->start->prompt == NULL ? prompt : options->start->prompt;
        ik_workspace_images_t *images = ik_workspace_attach(workspace, own);
        prompt = expand_prompt(headless, prompt);
        ik_workspace_submit(workspace, ik_workspace_focus(workspace), prompt, images,
                            IK_WORKSPACE_SUBMIT_QUEUED);
    }
    if (!ik_loop_run_until(options->loop, &headless->done)) {
        PANIC("the turn has nothing to wait for");
    }
    if (headless->begun) {
        headless->output->end(headless->output_state);
    }
    if (headless->given_up) {
        expect_flush(headless); /* the loop needs something to wait for */
        ik_loop_run_until(options->loop, &headless->signalled);
        headless->status = 128 + headless->signal;
    }
    talloc_free(interrupt);
    fflush(headless->out);
    return headless->status;
}

int ik_headless_run(const void *ctx, const ik_headless_options_t *options)
{
    headless_t *headless = ik_new(ctx, headless_t);
    ik_workspace_options_t workspace = {.paths = options->paths,
                                        .config = options->config,
                                        .loop = options->loop,
                                        .host = options->host,
                                        .start = options->start,
                                        .unattended = true,
                                        .on_event = on_event,
                                        .data = headless};
    headless->options = options;
    headless->output = options->json ? &ik_headless_json : &ik_headless_text;
    headless->flush = ik_timer_create(headless, options->loop, on_flush, headless);
    headless->level = ik_timer_create(headless, options->loop, on_level_late, headless);
    open_output(headless);
    headless->workspace = ik_workspace_create(headless, &workspace);
    int status = run(headless);
    ik_workspace_close(headless->workspace, IK_HISTORY_FINISH_MS);
    fclose(headless->out);
    fclose(headless->err);
    talloc_free(headless);
    return status;
}
