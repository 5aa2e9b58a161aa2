#include "tool/tool_external.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/keeper_protocol.h"
#include "base/utf8.h"
#include "confinement/confinement.h"
#include "tool/tool_images.h"
#include "tool/tool_wrapper.h"

/* JSON escaping turns one byte into at most six; the slack is for the JSON around the text. */
enum { ESCAPE_FACTOR = 6, OUTPUT_SLACK = 65536, STDERR_MAX = 65536 };

enum { STDERR_KEPT = 16384 }; /* bytes of stderr that the result of a successful call keeps */

typedef struct {
    const ik_tool_context_t *context;
    const char *name;
    ik_process_t *process;
    int64_t idle_ms;
    ik_config_limits_t limits;
    uint64_t keeper_limits[IK_KEEPER_LIMITS]; /* the same */
    ik_process_host_t *host;
    ik_tool_images_t *images; /* being taken out of the result; NULL: none are */
    char *printed;            /* the output that has them */
    const char *note;         /* for its envelope */
    ik_timer_t *deliver;      /* delivers the result of a process that could not be started */
    ik_tool_result_t result;
    ik_host_channel_t *channel;    /* NULL: the tool has none */
    char *confined;                /* what its result tells of limits, may be ""; NULL: none */
    ik_confinement_watch_t *watch; /* over protected places; NULL: unconfined */
    void (*on_progress)(void *data, const char *text, size_t len);
    void (*on_end)(void *data, const ik_tool_result_t *result);
    void *data;
} call_t;

/* Bytes that a tool may print apart from images. */
static size_t max_printed(const call_t *call)
{
    return ESCAPE_FACTOR * ik_tool_max_output(call->context) + OUTPUT_SLACK;
}

/* --- from the process's end to the envelope ---------------------------------------------- */

/* process is NULL when none was started. */
static ik_tool_failure_t describe_failure(const char *code, const char *error,
                                          const ik_process_result_t *process, const char *note)
{
    ik_tool_failure_t failure = {
        .error = error, .code = code, .exit_code = -1, .out = "", .err = "", .note = note};
    if (process != NULL) {
        failure.exit_code = process->exit_code;
        failure.out = process->out.len > 0 ? process->out.data : "";
        failure.out_len = process->out.len;
        failure.err = process->err.len > 0 ? process->err.data : "";
        failure.err_len = process->err.len;
    }
    return failure;
}

static void set_failure(call_t *call, const char *code, const char *error,
                        const ik_process_result_t *process, const char *note)
{
    ik_tool_failure_t failure = describe_failure(code, error, process, note);
    call->result.envelope =
        ik_tool_wrap_failure(call->result.owner, &failure, ik_tool_max_output(call->context));
    call->result.success = false;
}

/* For a tool that was stopped: the envelope has what it had printed by then. */
static void set_unfinished(call_t *call, const char *code, const char *error,
                           ik_process_result_t *process)
{
    ik_tool_failure_t failure = describe_failure(code, error, process, NULL);
    call->result.envelope = ik_tool_wrap_take_unfinished(
        call->result.owner, &process->out, &failure, ik_tool_max_output(call->context));
    call->result.success = false;
}

/* Keeps the stderr of a successful call. */
static void keep_stderr(call_t *call, const ik_buffer_t *printed)
{
    if (printed->len == 0) {
        return;
    }
    uint64_t total = printed->len + printed->dropped;
    size_t kept = ik_utf8_cut(printed->data, printed->len, STDERR_KEPT);
    ik_buffer_t text;
    ik_buffer_init(&text, call->result.owner, IK_BUFFER_UNLIMITED); /* bounded by STDERR_KEPT */
    ik_utf8_append_string(&text, printed->data, kept);
    if (kept < total) {
        ik_buffer_append_format(&text, "\n[... %" PRIu64 " bytes omitted ...]\n", total - kept);
    }
    call->result.err = ik_buffer_finish(&text);
}

static const char *const limit_names[IK_KEEPER_LIMITS] = {
    [IK_KEEPER_LIMIT_MEMORY] = "memory",
    [IK_KEEPER_LIMIT_FILE_SIZE] = "file_size",
    [IK_KEEPER_LIMIT_PROCESSES] = "processes",
    [IK_KEEPER_LIMIT_CPU_SECONDS] = "cpu_seconds",
};

/* The limit that ended what a successful tool has run, as far as its result shows: the exit code of
 * a shell tells of the signal of its command, and our own tools tell that memory ran out. */
static const char *find_limit_of_command(const call_t *call)
{
    const ik_config_limits_t *limits = &call->limits;
    bool any = limits->memory > 0 || limits->file_size > 0 || limits->cpu_seconds > 0;
    const char *envelope = call->result.envelope;
    ik_json_span_t whole;
    ik_json_span_t result;
    ik_json_span_t value;
    if (!any || !call->result.success || !ik_json_scan(envelope, strlen(envelope), &whole, NULL) ||
        !ik_json_find_kind(whole, "result", IK_JSON_OBJECT, &result)) {
        return NULL;
    }
    if (limits->memory > 0 && ik_json_find_kind(result, "error_code", IK_JSON_STRING, &value) &&
        ik_json_key_is(value, "OUT_OF_MEMORY")) {
        return limit_names[IK_KEEPER_LIMIT_MEMORY];
    }
    long code = ik_json_find_kind(result, "exit_code", IK_JSON_NUMBER, &value)
                    ? strtol(value.text, NULL, 10)
                    : 0;
    if (limits->file_size > 0 && code == 128 + SIGXFSZ) {
        return limit_names[IK_KEEPER_LIMIT_FILE_SIZE];
    }
    return ik_process_is_cpu_limit((int)code - 128, call->result.cpu_us, limits->cpu_seconds)
               ? limit_names[IK_KEEPER_LIMIT_CPU_SECONDS]
               : NULL;
}

static void on_images(void *data, const ik_tool_images_end_t *end);

/* For exit code 0: the output is the result, if it is JSON. */
static void read_output(call_t *call, ik_process_result_t *process, const char *note)
{
    const char *text = process->out.len > 0 ? process->out.data : "";
    size_t len = process->out.len;
    ik_json_span_t result;
    ik_json_fault_t fault;
    /* The envelope around it must be JSON that we read, too. */
    bool valid = process->out.dropped == 0 && ik_json_scan_part(text, len, 1, &result, &fault);
    if (valid && ik_tool_images_found(result)) {
        call->note = note;
        keep_stderr(call, &process->err);
        call->printed = ik_buffer_take(call, &process->out);
        ik_tool_images_options_t options = {
            .context = call->context,
            .host = call->host,
            .tool = call->name,
            .result = result,
            .on_end = on_images,
            .data = call,
        };
        call->images = ik_tool_images_start(call, &options);
        return;
    }
    if (process->out.dropped > 0 || len > max_printed(call)) {
        set_failure(call, IK_TOOL_INVALID_OUTPUT,
                    ik_sprintf(call, "Tool '%s' returned more output than the limit of %zu bytes",
                               call->name, max_printed(call)),
                    process, note);
    } else if (valid) {
        call->result.envelope = ik_tool_wrap_take_success(call->result.owner, &process->out, result,
                                                          ik_tool_max_output(call->context), note);
        call->result.success = true;
        keep_stderr(call, &process->err);
    } else {
        set_failure(call, IK_TOOL_INVALID_OUTPUT,
                    ik_sprintf(call, "Tool '%s' returned malformed JSON: %s at byte %zu",
                               call->name, fault.reason, fault.offset),
                    process, note);
    }
}

static void read_exit(call_t *call, ik_process_result_t *process)
{
    const char *note = NULL;
    if (process->leftovers > 0) {
        note = ik_sprintf(call, "Stopped %zu background process%s", process->leftovers,
                          process->leftovers == 1 ? "" : "es");
    }
    if (process->limit >= 0) {
        set_unfinished(call, IK_TOOL_CRASHED,
                       ik_sprintf(call, "Tool '%s' was ended by the limit %s", call->name,
                                  limit_names[process->limit]),
                       process);
    } else if (process->exit_code != 0) {
        set_failure(
            call, IK_TOOL_CRASHED,
            ik_sprintf(call, "Tool '%s' crashed with exit code %d", call->name, process->exit_code),
            process, note);
    } else {
        read_output(call, process, note);
    }
}

static void make_envelope(call_t *call, ik_process_result_t *process)
{
    const char *name = call->name;
    switch (process->end) {
    case IK_PROCESS_EXITED:
        read_exit(call, process);
        break;
    case IK_PROCESS_IDLE:
        set_unfinished(call, IK_TOOL_TIMEOUT,
                       ik_tool_wrap_describe_timeout(call, name, call->idle_ms, true), process);
        break;
    case IK_PROCESS_OVERTIME:
        set_unfinished(
            call, IK_TOOL_TIMEOUT,
            ik_tool_wrap_describe_timeout(
                call, name, (int64_t)call->context->config->tool_max_seconds * 1000, false),
            process);
        break;
    case IK_PROCESS_CANCELLED:
        set_unfinished(call, IK_TOOL_INTERRUPTED,
                       ik_sprintf(call, "Tool '%s' was interrupted", name), process);
        break;
    case IK_PROCESS_NOT_STARTED:
    case IK_PROCESS_LOST:
    case IK_PROCESS_FLOODED:
        set_failure(
            call, IK_TOOL_CRASHED,
            ik_sprintf(call, "Tool '%s' could not be run: %s", name, process->error.message),
            process, NULL);
        break;
    }
}

/* Says in the envelope of a confined call what held it, and what it did nevertheless. */
static void tell_confinement(call_t *call)
{
    if (call->confined == NULL) {
        return;
    }
    if (*call->confined != '\0') {
        call->result.envelope =
            ik_tool_wrap_add_confined(call->result.owner, call->result.envelope, call->confined);
    }
    const char *appeared = call->watch == NULL ? NULL : ik_confinement_changes(call, call->watch);
    if (appeared != NULL) {
        call->result.envelope =
            ik_tool_wrap_add_note(call->result.owner, call->result.envelope, appeared);
    }
}

static void deliver(call_t *call, const char *limit)
{
    if (limit != NULL) {
        call->result.envelope =
            ik_tool_wrap_add_ended_by(call->result.owner, call->result.envelope, limit);
    }
    tell_confinement(call);
    call->on_end(call->data, &call->result);
}

static void on_process_end(void *data, ik_process_result_t *process)
{
    call_t *call = data;
    call->process = NULL; /* it frees itself */
    TALLOC_FREE(call->channel);
    call->result.wall_ms = process->wall_ms;
    call->result.cpu_us = process->cpu_us;
    call->result.max_rss_kb = process->max_rss_kb;
    make_envelope(call, process);
    if (call->images == NULL) {
        deliver(call,
                process->limit >= 0 ? limit_names[process->limit] : find_limit_of_command(call));
    }
}

/* The images are taken out of the result: the rest becomes the envelope. */
static void on_images(void *data, const ik_tool_images_end_t *end)
{
    call_t *call = data;
    ik_tool_images_succeed(end, ik_tool_max_output(call->context), call->note, &call->result);
    deliver(call, find_limit_of_command(call));
}

static bool on_process_progress(void *data, const char *line, size_t len)
{
    call_t *call = data;
    ik_json_span_t object;
    ik_json_span_t text;
    if (!ik_json_scan(line, len, &object, NULL) || ik_json_kind(object) != IK_JSON_OBJECT ||
        !ik_json_find(object, "text", &text) || ik_json_kind(text) != IK_JSON_STRING) {
        return false;
    }
    size_t text_len;
    char *decoded = ik_json_decode(call, text, &text_len);
    call->on_progress(call->data, decoded, text_len);
    talloc_free(decoded);
    return true;
}

/* --- starting ---------------------------------------------------------------------------- */

static int64_t idle_limit_ms(const ik_config_t *config, const ik_tool_registry_entry_t *entry)
{
    const ik_config_tool_t *configured = ik_config_tool(config, entry->name);
    long seconds = config->tool_timeout_seconds;
    if (configured != NULL && configured->timeout_seconds > 0) {
        seconds = configured->timeout_seconds;
    } else if (entry->schema->timeout_seconds > 0) {
        seconds = entry->schema->timeout_seconds;
    }
    return (int64_t)seconds * 1000;
}

/* job: for a job that the tool may start. */
static const char **tool_environment(call_t *call, const ik_tool_request_t *request, bool job)
{
    enum { OWN_VARIABLES = 7 };
    const ik_config_t *config = call->context->config;
    char **passed = ik_config_tool_environment(call, config, call->name, request->by_user);
    size_t passed_count = 0;
    while (passed[passed_count] != NULL) {
        passed_count++;
    }
    const char **env = ik_new_array(call, const char *, passed_count + OWN_VARIABLES + 1);
    for (size_t i = 0; i < passed_count; i++) {
        env[i] = passed[i];
    }
    const char **next = env + passed_count;
    *next++ = ik_sprintf(call, "IKIGAI_TOOL_CALL_ID=%s", request->call_id);
    *next++ = ik_sprintf(call, "IKIGAI_SESSION_ID=%s", request->session_id);
    *next++ = ik_sprintf(call, "IKIGAI_MAX_OUTPUT=%ld", config->max_output_size);
    if (!job) {
        *next++ = ik_sprintf(call, "IKIGAI_PROGRESS_FD=%d", IK_KEEPER_PROGRESS);
    }
    if (!job && call->channel != NULL) {
        *next++ = ik_sprintf(call, "IKIGAI_HOST_FD=%d", IK_KEEPER_CHANNEL);
        *next++ = ik_sprintf(call, "IKIGAI_BIN=%s", call->context->program);
    }
    if (request->confined != NULL) {
        *next++ = "TMPDIR=/tmp";
    }
    return env;
}

/* Only a result that carries images may be longer than text can be. */
static size_t on_full(void *data, const ik_buffer_t *out)
{
    (void)data;
    bool images = memmem(out->data, out->len, "\"images\"", 8) != NULL &&
                  memmem(out->data, out->len, "\"data\"", 6) != NULL;
    return out->max + (images ? IK_TOOL_IMAGES_BYTES_MAX : 0);
}

static void on_charge(void *data, const char *model, const ik_usage_t *usage, double cost)
{
    call_t *call = data;
    ik_msg_completions_t *sum = &call->result.completions;
    if (sum->model == NULL) {
        sum->usage = IK_USAGE_NONE;
        sum->cost = -1;
    }
    sum->model = ik_strdup(call->result.owner, model);
    ik_usage_add(&sum->usage, usage);
    if (cost >= 0) {
        sum->cost = (sum->cost < 0 ? 0 : sum->cost) + cost;
    }
}

static void on_confined(void *data, const char *confined)
{
    call_t *call = data;
    talloc_free(call->confined);
    call->confined = confined == NULL ? NULL : ik_strdup(call, confined);
}

/* An open request stops the clocks of the call. */
static void on_channel_open(void *data, bool open)
{
    const call_t *call = data;
    if (call->process != NULL) {
        ik_process_pause_clocks(call->process, open);
    }
}

/* *tool_end stays as it is if the tool declares nothing that it asks ikigai for. */
static res_t open_channel(call_t *call, const ik_tool_registry_entry_t *entry,
                          const ik_tool_request_t *request, int *tool_end)
{
    if (entry->schema->host == 0 || call->context->operations == NULL) {
        return OK;
    }
    ik_host_channel_options_t options = {
        .loop = ik_process_host_loop(call->context->host),
        .operations = call->context->operations,
        .declared = ik_tool_registry_host(entry),
        .caller = {.agent = request->agent, .tool = entry->name, .call_id = request->call_id},
        .on_open = on_channel_open,
        .on_charge = on_charge,
        .on_confined = on_confined,
        .data = call,
    };
    if ((options.declared & IK_HOST_JOB) != 0) {
        options.caller.host = call->host;
        options.caller.path = entry->path;
        options.caller.folder = call->context->folder;
        options.caller.env = tool_environment(call, request, true);
        options.caller.limits = call->keeper_limits;
        options.caller.confined =
            request->confined == NULL ? NULL : ik_strdup(call, request->confined);
    }
    return ik_host_channel_create(call, &options, tool_end, &call->channel);
}

static res_t start_process(call_t *call, const ik_tool_registry_entry_t *entry,
                           const ik_tool_request_t *request)
{
    const ik_config_t *config = call->context->config;
    const char *argv[] = {entry->path, NULL};
    int channel = 0;
    call->host = request->room == NULL ? call->context->host : request->room;
    call->limits = ik_config_tool_limits(config, entry->name);
    call->keeper_limits[IK_KEEPER_LIMIT_MEMORY] = (uint64_t)call->limits.memory;
    call->keeper_limits[IK_KEEPER_LIMIT_FILE_SIZE] = (uint64_t)call->limits.file_size;
    call->keeper_limits[IK_KEEPER_LIMIT_PROCESSES] = (uint64_t)call->limits.processes;
    call->keeper_limits[IK_KEEPER_LIMIT_CPU_SECONDS] = (uint64_t)call->limits.cpu_seconds;
    call->idle_ms = idle_limit_ms(config, entry);
    TRY(open_channel(call, entry, request, &channel));
    ik_process_options_t options = {
        .argv = argv,
        .env = tool_environment(call, request, false),
        .folder = call->context->folder,
        .input = request->arguments,
        .input_len = request->arguments_len,
        .max_out = max_printed(call),
        .on_full = on_full,
        .max_err = STDERR_MAX,
        .idle_ms = call->idle_ms,
        .max_ms = (int64_t)config->tool_max_seconds * 1000,
        .on_progress = on_process_progress,
        .channel = channel,
        .on_end = on_process_end,
        .data = call,
    };
    memcpy(options.limits, call->keeper_limits, sizeof(options.limits));
    res_t started = ik_process_start(call, call->host, &options, &call->process);
    if (channel != 0) {
        close(channel);
    }
    return started;
}

static void on_deliver(void *data)
{
    call_t *call = data;
    call->on_end(call->data, &call->result);
}

static void start_delivery(call_t *call)
{
    call->deliver =
        ik_timer_create(call, ik_process_host_loop(call->context->host), on_deliver, call);
    ik_timer_start(call->deliver, 0);
}

static void *ik_tool_external_exec(const void *ctx, const ik_tool_context_t *context,
                                   const ik_tool_registry_entry_t *entry,
                                   const ik_tool_request_t *request)
{
    call_t *call = ik_new(ctx, call_t);
    call->context = context;
    call->result.owner = talloc_new(call);
    call->name = ik_strdup(call, request->name);
    call->on_progress = request->on_progress;
    if (request->confined != NULL) {
        call->confined = ik_strdup(call, request->confined);
        call->watch = ik_confinement_watch(call, context->folder, request->open_places);
    }
    call->on_end = request->on_end;
    call->data = request->data;
    res_t started = start_process(call, entry, request);
    if (is_err(&started)) {
        set_failure(call, IK_TOOL_CRASHED,
                    ik_sprintf(call, "Tool '%s' could not be run: %s", call->name, started.message),
                    NULL, NULL);
        tell_confinement(call);
        start_delivery(call);
    }
    return call;
}

/* A tool that has ended is cancelled while its images are read. */
static void cancel(void *data)
{
    call_t *call = data;
    TALLOC_FREE(call->channel); /* what is open ends now, not when the process has ended */
    if (call->process != NULL) {
        ik_process_cancel(call->process);
    } else if (call->images != NULL) {
        TALLOC_FREE(call->images);
        set_failure(call, IK_TOOL_INTERRUPTED,
                    ik_sprintf(call, "Tool '%s' was interrupted", call->name), NULL, NULL);
        start_delivery(call);
    }
}

const ik_tool_runner_t ik_tool_external = {.start = ik_tool_external_exec, .cancel = cancel};
