/*
 * Jobs: commands in the background. A tool that declares "job" starts itself again over its host
 * channel, as TOOL --job, in the room and with the limits of its call. The keeper of that room is
 * the parent of the job and ends it with everything it started, also when ikigai dies.
 *
 * Output is kept until it is read: the beginning and the end of what was printed since the last
 * read. A job that is silent costs no wake-up.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/head_tail.h"
#include "base/json.h"
#include "base/random.h"
#include "base/sanitiser.h"
#include "base/utf8.h"
#include "base/width.h"
#include "workspace/workspace_state.h"

enum {
    RUNNING_MAX = 16,
    ENDED_MAX = 32,          /* jobs that have ended and are still known */
    OUTPUT_MAX = 128 * 1024, /* bytes that are kept; escaped, they fit into one answer */
    ID_LENGTH = 4,
    WAIT_SECONDS = 600, /* unless the call says otherwise */
    WAIT_SECONDS_MAX = 24 * 60 * 60,
    NOTE_COLUMNS = 60, /* of the command, in a line for the user */
};

typedef struct waiter waiter_t;

typedef struct {
    ik_workspace_t *workspace;
    char id[ID_LENGTH + 1];
    char *command;
    char *confined;        /* what it is confined to; NULL: it is not */
    ik_process_t *process; /* NULL: it has ended */
    bool ending;           /* it was asked to */
    int exit_code;         /* -1: not known */
    int64_t started_ms;
    int64_t ended_ms;
    ik_head_tail_t output; /* that was not read yet */
    void *output_memory;
    char rest[4]; /* the beginning of a character */
    size_t rest_len;
    waiter_t *waiters;
} job_t;

struct ik_workspace_jobs {
    job_t **jobs; /* in the order of their start */
    size_t count;
    size_t running;
};

/* A request that is answered at the end of a job. It is a child of the request. */
struct waiter {
    job_t *job;
    ik_host_request_t *request;
    ik_timer_t *timer; /* NULL: without a time limit */
    waiter_t *next;
};

/* --- output ------------------------------------------------------------------------------ */

static void begin_output(job_t *job)
{
    long wanted = job->workspace->options.config->max_output_size;
    talloc_free(job->output_memory);
    job->output_memory = talloc_new(job);
    ik_head_tail_init(&job->output, job->output_memory,
                      wanted < OUTPUT_MAX ? (size_t)wanted : OUTPUT_MAX);
}

/* The length of the text without a character at its end that is not complete. */
static size_t complete_length(const char *bytes, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        unsigned char c = (unsigned char)bytes[len - back];
        size_t wanted = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        if ((c & 0xc0) != 0x80) {
            return wanted > back ? len - back : len;
        }
    }
    return len;
}

/* A character may come in two pieces, with a read of the output between them. */
static void on_output(void *data, bool err, const char *bytes, size_t len)
{
    job_t *job = data;
    (void)err; /* it has joined the output */
    if (job->rest_len == 0) {
        size_t complete = complete_length(bytes, len);
        ik_head_tail_add(&job->output, bytes, complete);
        job->rest_len = len - complete;
        memcpy(job->rest, bytes + complete, job->rest_len);
        return;
    }
    ik_buffer_t joined;
    ik_buffer_init(&joined, job, IK_BUFFER_UNLIMITED); /* one read of a pipe */
    ik_buffer_append(&joined, job->rest, job->rest_len);
    ik_buffer_append(&joined, bytes, len);
    job->rest_len = 0;
    on_output(job, err, joined.data, joined.len);
    ik_buffer_reset(&joined);
}

/* --- answers ----------------------------------------------------------------------------- */

static int64_t seconds_of(const job_t *job)
{
    int64_t end = job->process == NULL ? job->ended_ms : ik_clock_now_ms();
    return (end - job->started_ms) / 1000;
}

/* {"job", "state", "exit_code", …, open. */
static void append_state(ik_buffer_t *out, const job_t *job)
{
    ik_json_add_text(out, "job", job->id);
    ik_json_add_text(out, "state", job->process != NULL ? "running" : "ended");
    if (job->process == NULL && job->exit_code >= 0) {
        ik_json_add_number(out, "exit_code", job->exit_code);
    } else {
        ik_json_add_text(out, "exit_code", NULL);
    }
}

/* Answers with what is new, and forgets it. Frees the request. */
static void answer(ik_host_request_t *request, job_t *job, bool timed_out)
{
    ik_buffer_t text;
    ik_buffer_t out;
    ik_buffer_init(&text, request, IK_BUFFER_UNLIMITED); /* bounded by OUTPUT_MAX */
    ik_buffer_init(&out, request, IK_BUFFER_UNLIMITED);  /* likewise */
    ik_buffer_append_text(&text, "");
    uint64_t total = job->output.total;
    bool truncated = ik_head_tail_format(&job->output, &text);
    begin_output(job);
    append_state(&out, job);
    ik_json_begin_member(&out, "output");
    ik_json_append_string(&out, text.data, text.len);
    if (truncated) {
        ik_buffer_append_text(&out, ",\"truncated\":true");
        ik_json_add_number(&out, "total_bytes", (int64_t)total);
    }
    ik_buffer_append_text(&out, timed_out ? ",\"timed_out\":true}" : "}");
    ik_host_request_confine(request, job->confined);
    ik_host_request_succeed(request, out.data, out.len);
}

static int remove_waiter(waiter_t *waiter)
{
    waiter_t **link = &waiter->job->waiters;
    while (*link != waiter) {
        link = &(*link)->next;
    }
    *link = waiter->next;
    return 0;
}

static void on_waited(void *data)
{
    waiter_t *waiter = data;
    answer(waiter->request, waiter->job, true);
}

/* seconds < 0: without a time limit. */
static void wait_for_end(ik_host_request_t *request, job_t *job, int64_t seconds)
{
    waiter_t *waiter = ik_new(request, waiter_t);
    waiter->job = job;
    waiter->request = request;
    waiter->next = job->waiters;
    job->waiters = waiter;
    talloc_set_destructor(waiter, remove_waiter);
    if (seconds >= 0) {
        waiter->timer = ik_timer_create(waiter, job->workspace->options.loop, on_waited, waiter);
        ik_timer_start(waiter->timer, seconds * 1000);
    }
}

/* --- the end of a job -------------------------------------------------------------------- */

static void report_change(ik_workspace_t *workspace)
{
    ik_workspace_emit(workspace, &(ik_workspace_event_t){.kind = IK_WORKSPACE_JOBS});
}

/* Tells the user of a job that ended by itself and that no call waited for. */
static void say_end(job_t *job)
{
    ik_workspace_t *workspace = job->workspace;
    void *scratch = talloc_new(NULL);
    ik_buffer_t command;
    ik_buffer_init(&command, scratch, IK_BUFFER_UNLIMITED); /* bounded by NOTE_COLUMNS */
    ik_width_append(&command, ik_sanitise_line(scratch, job->command), NOTE_COLUMNS,
                    IK_WIDTH_KEEP_START);
    char *code = job->exit_code < 0 ? ik_strdup(scratch, "")
                                    : ik_sprintf(scratch, " with exit code %d", job->exit_code);
    ik_workspace_say(workspace, IK_WORKSPACE_NOTE,
                     ik_sprintf(scratch, "Job %s ended%s: %s", job->id, code, command.data));
    talloc_free(scratch);
}

/* Forgets the oldest jobs that have ended, beyond a number. */
static void forget_oldest(ik_workspace_jobs_t *jobs)
{
    for (size_t i = 0; jobs->count - jobs->running > ENDED_MAX; i++) {
        if (jobs->jobs[i]->process == NULL && jobs->jobs[i]->waiters == NULL) {
            talloc_free(jobs->jobs[i]);
            jobs->count--;
            memmove(jobs->jobs + i, jobs->jobs + i + 1, (jobs->count - i) * sizeof(*jobs->jobs));
            i--;
        }
    }
}

static void on_end(void *data, ik_process_result_t *result)
{
    job_t *job = data;
    ik_workspace_t *workspace = job->workspace;
    bool expected = job->waiters != NULL || result->end == IK_PROCESS_CANCELLED;
    job->process = NULL; /* it frees itself */
    job->exit_code = result->exit_code;
    job->ended_ms = ik_clock_now_ms();
    ik_head_tail_add(&job->output, job->rest, job->rest_len);
    job->rest_len = 0;
    if (result->end == IK_PROCESS_NOT_STARTED || result->end == IK_PROCESS_LOST) {
        ik_head_tail_add(&job->output, result->error.message, strlen(result->error.message));
    }
    workspace->jobs->running--;
    while (job->waiters != NULL) {
        answer(job->waiters->request, job, false);
    }
    if (!expected && !workspace->options.unattended) {
        say_end(job);
    }
    forget_oldest(workspace->jobs);
    report_change(workspace);
}

/* --- requests of tools ------------------------------------------------------------------- */

static job_t *find(const ik_workspace_t *workspace, const char *id)
{
    const ik_workspace_jobs_t *jobs = workspace->jobs;
    for (size_t i = 0; i < jobs->count; i++) {
        if (strcmp(jobs->jobs[i]->id, id) == 0) {
            return jobs->jobs[i];
        }
    }
    return NULL;
}

static res_t start_process(job_t *job, const ik_host_caller_t *caller, ik_json_span_t input)
{
    const char *argv[] = {caller->path, "--job", NULL};
    ik_process_options_t options = {.argv = argv,
                                    .env = caller->env,
                                    .folder = caller->folder,
                                    .input = input.text,
                                    .input_len = input.len,
                                    .join_err = true,
                                    .on_output = on_output,
                                    .idle_ms = IK_PROCESS_NO_LIMIT,
                                    .max_ms = IK_PROCESS_NO_LIMIT,
                                    .on_end = on_end,
                                    .data = job};
    memcpy(options.limits, caller->limits, sizeof(options.limits));
    return ik_process_start(job, caller->host, &options, &job->process);
}

/* The id is random: a conversation that is resumed may name jobs that are long gone. */
static void start_job(ik_workspace_t *workspace, ik_host_request_t *request)
{
    ik_workspace_jobs_t *jobs = workspace->jobs;
    const char *command = NULL;
    ik_json_span_t input;
    if (!ik_host_request_text(request, "command", true, &command)) {
        return;
    }
    if (!ik_json_find_kind(request->params, "input", IK_JSON_OBJECT, &input)) {
        ik_host_request_fail(request, IK_HOST_INVALID_REQUEST,
                             "The parameter 'input' must be an object");
        return;
    }
    if (jobs->running >= RUNNING_MAX) {
        ik_host_request_fail(request, IK_HOST_LIMIT, "%d jobs are running: end one of them first",
                             RUNNING_MAX);
        return;
    }
    job_t *job = ik_new(jobs, job_t);
    job->workspace = workspace;
    job->command = ik_strdup(job, command);
    job->confined =
        request->caller->confined == NULL ? NULL : ik_strdup(job, request->caller->confined);
    job->exit_code = -1;
    job->started_ms = ik_clock_now_ms();
    do {
        ik_random_name(job->id, ID_LENGTH);
    } while (find(workspace, job->id) != NULL);
    begin_output(job);
    res_t started = start_process(job, request->caller, input);
    if (is_err(&started)) {
        talloc_free(job);
        ik_host_request_fail(request, "START_FAILED", "The job cannot be started: %s",
                             started.message);
        return;
    }
    jobs->jobs = ik_resize_array(jobs, jobs->jobs, job_t *, jobs->count + 1);
    jobs->jobs[jobs->count++] = job;
    jobs->running++;
    ik_buffer_t out;
    ik_buffer_init(&out, request, IK_BUFFER_UNLIMITED); /* two short texts */
    ik_json_add_text(&out, "job", job->id);
    ik_json_add_text(&out, "state", "running");
    ik_buffer_append_byte(&out, '}');
    ik_host_request_succeed(request, out.data, out.len);
    report_change(workspace);
}

static void list_jobs(const ik_workspace_t *workspace, ik_host_request_t *request)
{
    enum { COMMAND_MAX = 4096 }; /* bytes, so that the list fits into one answer */
    ik_buffer_t out;
    ik_buffer_init(&out, request, IK_BUFFER_UNLIMITED); /* bounded by the number of jobs */
    ik_buffer_append_text(&out, "{\"jobs\":[");
    for (size_t i = 0; i < workspace->jobs->count; i++) {
        const job_t *job = workspace->jobs->jobs[i];
        size_t len = strlen(job->command);
        ik_buffer_t entry;
        ik_buffer_init(&entry, request, IK_BUFFER_UNLIMITED); /* bounded by COMMAND_MAX */
        append_state(&entry, job);
        ik_json_begin_member(&entry, "command");
        ik_json_append_string(&entry, job->command, ik_utf8_cut(job->command, len, COMMAND_MAX));
        ik_json_add_number(&entry, "seconds", seconds_of(job));
        ik_buffer_append_text(&out, i == 0 ? "" : ",");
        ik_buffer_append(&out, entry.data, entry.len);
        ik_buffer_append_byte(&out, '}');
        ik_buffer_reset(&entry);
    }
    ik_buffer_append_text(&out, "]}");
    ik_host_request_succeed(request, out.data, out.len);
}

void ik_workspace_start_job_request(void *data, ik_host_request_t *request)
{
    ik_workspace_t *workspace = data;
    const char *action = NULL;
    const char *id = NULL;
    int64_t seconds = WAIT_SECONDS;
    if (!ik_host_request_text(request, "action", true, &action)) {
        return;
    }
    if (strcmp(action, "start") == 0) {
        start_job(workspace, request);
        return;
    }
    if (strcmp(action, "list") == 0) {
        list_jobs(workspace, request);
        return;
    }
    bool waits = strcmp(action, "wait") == 0;
    bool ends = strcmp(action, "end") == 0;
    if (!waits && !ends && strcmp(action, "output") != 0) {
        ik_host_request_fail(request, IK_HOST_INVALID_REQUEST,
                             "The parameter 'action' must be start, list, output, wait or end");
        return;
    }
    if (!ik_host_request_text(request, "job", true, &id) ||
        !ik_host_request_number(request, "timeout_seconds", 0, WAIT_SECONDS_MAX, &seconds)) {
        return;
    }
    job_t *job = find(workspace, id);
    if (job == NULL) {
        ik_host_request_fail(request, "NO_SUCH_JOB",
                             "There is no job '%.40s'. Jobs end with the ikigai that started them",
                             id);
    } else if (job->process == NULL || (!waits && !ends)) {
        answer(request, job, false);
    } else {
        wait_for_end(request, job, ends ? -1 : seconds);
        if (ends) {
            job->ending = true;
            ik_process_cancel(job->process);
        }
    }
}

/* --- for the front ends ------------------------------------------------------------------ */

void ik_workspace_create_jobs(ik_workspace_t *workspace)
{
    workspace->jobs = ik_new(workspace, ik_workspace_jobs_t);
}

const size_t *ik_workspace_jobs_counter(const ik_workspace_t *workspace)
{
    return &workspace->jobs->running;
}

size_t ik_workspace_jobs_running(const ik_workspace_t *workspace)
{
    return workspace->jobs->running;
}

bool ik_workspace_job_at(const ik_workspace_t *workspace, size_t index, ik_workspace_job_t *out)
{
    if (index >= workspace->jobs->count) {
        return false;
    }
    const job_t *job = workspace->jobs->jobs[index];
    *out = (ik_workspace_job_t){.id = job->id,
                                .command = job->command,
                                .running = job->process != NULL,
                                .exit_code = job->exit_code,
                                .seconds = seconds_of(job)};
    return true;
}

bool ik_workspace_end_job(ik_workspace_t *workspace, const char *id)
{
    job_t *job = find(workspace, id);
    if (job == NULL || job->process == NULL) {
        return false;
    }
    job->ending = true;
    ik_process_cancel(job->process);
    return true;
}

/* Freeing a job ends its process. */
size_t ik_workspace_end_jobs(ik_workspace_t *workspace)
{
    ik_workspace_jobs_t *jobs = workspace->jobs;
    size_t stopped = 0;
    for (size_t i = 0; i < jobs->count; i++) {
        while (jobs->jobs[i]->waiters != NULL) {
            ik_host_request_fail(jobs->jobs[i]->waiters->request, IK_HOST_CANCELLED,
                                 "ikigai is about to leave");
        }
        stopped += jobs->jobs[i]->process != NULL && !jobs->jobs[i]->ending;
        talloc_free(jobs->jobs[i]);
    }
    jobs->count = jobs->running = 0;
    return stopped;
}
