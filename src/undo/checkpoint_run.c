#include "undo/checkpoint_run.h"

#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/json.h"

/* A patch of a large session has to fit. */
enum { OUTPUT_MAX = 256 * 1024 * 1024, STDERR_MAX = 4096 };

struct ik_checkpoint_run {
    ik_checkpoint_run_options_t options;
    ik_process_t *process;
    ik_timer_t *failed; /* reports that the program could not be started */
    res_t error;
};

static void finish(ik_checkpoint_run_t *run, const res_t *result, const json_t *answer)
{
    ik_checkpoint_run_options_t options = run->options;
    talloc_free(run); /* on_end may start the next one */
    options.on_end(options.data, result, answer);
}

static void on_failed(void *data)
{
    ik_checkpoint_run_t *run = data;
    res_t error = run->error;
    finish(run, &error, NULL);
}

/* For a program that did not answer: the first line of its standard error, or its exit status. */
static res_t describe_exit(const ik_process_result_t *process)
{
    const char *text = process->err.len > 0 ? process->err.data : "";
    size_t len = strcspn(text, "\n");
    return len > 0 ? ERR(SYSTEM, "the program checkpoint failed: %.*s", (int)len, text)
                   : ERR(SYSTEM, "the program checkpoint exited with %d", process->exit_code);
}

static res_t read_answer(const ik_process_result_t *process, int64_t max_ms, json_t **answer)
{
    *answer = NULL;
    switch (process->end) {
    case IK_PROCESS_EXITED:
        break;
    case IK_PROCESS_IDLE:
    case IK_PROCESS_OVERTIME:
        return ERR(LIMIT, "the program checkpoint took longer than %lld s",
                   (long long)max_ms / 1000);
    case IK_PROCESS_FLOODED:
        return ERR(LIMIT, "the answer of the program checkpoint is too long");
    default:
        return ERR(SYSTEM, "the program checkpoint could not be run: %s", process->error.message);
    }
    json_t *read =
        process->out.len == 0 ? NULL : ik_json_parse(process->out.data, process->out.len, NULL);
    const char *error = json_string_value(json_object_get(read, "error"));
    bool gone = json_object_get(read, "code") != NULL; /* "GONE" */
    res_t result = error != NULL && gone     ? ERR(GONE, "%s", error)
                   : error != NULL           ? ERR(SYSTEM, "%s", error)
                   : process->exit_code != 0 ? describe_exit(process)
                   : !json_is_object(read)
                       ? ERR(SYSTEM, "the answer of the program checkpoint is not valid")
                       : OK;
    if (is_err(&result)) {
        json_decref(read);
    } else {
        *answer = read;
    }
    return result;
}

static void on_end(void *data, ik_process_result_t *process)
{
    ik_checkpoint_run_t *run = data;
    json_t *answer;
    res_t result = read_answer(process, run->options.max_ms, &answer);
    run->process = NULL; /* it frees itself */
    finish(run, &result, answer);
    json_decref(answer);
}

json_t *ik_checkpoint_run_path(const char *path)
{
    json_t *text = json_string(path);
    if (text != NULL) {
        return text;
    }
    ik_buffer_t coded;
    ik_buffer_init(&coded, NULL, IK_BUFFER_UNLIMITED); /* bounded by the path */
    ik_base64_append(&coded, path, strlen(path));
    json_t *value = json_pack("{s:s}", "path_base64", coded.data);
    ik_buffer_reset(&coded);
    return value;
}

static res_t start(ik_checkpoint_run_t *run)
{
    const ik_checkpoint_run_options_t *options = &run->options;
    json_t *request = json_copy((json_t *)options->request);
    json_object_set_new(request, "blobs", ik_checkpoint_run_path(options->paths->blobs));
    if (options->folder != NULL) {
        json_object_set_new(request, "folder", ik_checkpoint_run_path(options->folder));
    }
    if (options->database != NULL) {
        char *path = ik_file_join(NULL, options->paths->cwd, options->database);
        json_object_set_new(
            request, "database",
            ik_checkpoint_run_path(options->database[0] == '/' ? options->database : path));
        talloc_free(path);
    }
    char *input = json_dumps(request, JSON_COMPACT);
    json_decref(request);
    ik_process_options_t process = {
        .argv = (const char *[]){options->paths->checkpoint, NULL},
        .folder = "/",
        .input = input,
        .input_len = strlen(input),
        .max_out = OUTPUT_MAX,
        .stop_when_full = true,
        .impatient = true,
        .max_err = STDERR_MAX,
        .idle_ms = options->max_ms,
        .max_ms = options->max_ms,
        .on_end = on_end,
        .data = run,
    };
    res_t started = ik_process_start(run, options->host, &process, &run->process);
    free(input);
    return started;
}

ik_checkpoint_run_t *ik_checkpoint_run_start(const void *ctx,
                                             const ik_checkpoint_run_options_t *options)
{
    ik_checkpoint_run_t *run = ik_new(ctx, ik_checkpoint_run_t);
    run->options = *options;
    run->error = start(run);
    run->options.request = NULL;
    if (is_err(&run->error)) {
        run->failed = ik_timer_create(run, ik_process_host_loop(options->host), on_failed, run);
        ik_timer_start(run->failed, 0);
    }
    return run;
}
