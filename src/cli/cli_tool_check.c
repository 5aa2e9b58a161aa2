/*
 * `ikigai tool check`: runs an author's executable through the tool protocol and says what to fix.
 * The tool runs in an empty folder, so that it cannot damage the author's project if it
 * misunderstands its input.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/json.h"
#include "base/ownership.h"
#include "base/print.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "io/interrupt.h"
#include "tool/tool_describe.h"
#include "tool/tool_images.h"
#include "tool/tool_schema.h"

enum { LARGE_INPUT = 1024 * 1024, OUTPUT_MAX = 32 * 1024 * 1024, STDERR_MAX = 4096 };

typedef struct {
    ik_cli_t *cli;
    const char *path; /* absolute */
    char *folder;     /* where it runs */
    ik_interrupt_t *interrupt;
    ik_tool_schema_t *schema;
    size_t problems;
    size_t checks;
} examination_t;

/* One run of the tool. */
typedef struct {
    bool done;
    const void *ctx;
    ik_process_end_t end;
    int exit_code;
    char *error;
    char *out;
    size_t out_len;
    uint64_t dropped;
    char *err;
    int64_t wall_ms;
} trial_t;

/* --- reporting --------------------------------------------------------------------------- */

static void report(const char *mark, const char *what, const char *detail)
{
    char *line = detail == NULL ? ik_sprintf(NULL, "%s  %s", mark, what)
                                : ik_sprintf(NULL, "%s  %s: %s", mark, what, detail);
    ik_print_line(stdout, line);
    talloc_free(line);
}

static void pass(examination_t *exam, const char *what)
{
    exam->checks++;
    report("ok  ", what, NULL);
}

static void fix(examination_t *exam, const char *what, const char *advice)
{
    exam->checks++;
    exam->problems++;
    report("FIX ", what, advice);
}

static void advise(const char *what, const char *advice)
{
    report("note", what, advice);
}

/* --- running ----------------------------------------------------------------------------- */

static void on_end(void *data, ik_process_result_t *result)
{
    trial_t *trial = data;
    trial->end = result->end;
    trial->exit_code = result->exit_code;
    trial->error = ik_strdup(trial->ctx, result->error.message);
    trial->out_len = result->out.len;
    trial->out =
        ik_strndup(trial->ctx, result->out.len > 0 ? result->out.data : "", result->out.len);
    trial->dropped = result->out.dropped;
    trial->err =
        ik_strndup(trial->ctx, result->err.len > 0 ? result->err.data : "", result->err.len);
    trial->wall_ms = result->wall_ms;
    trial->done = true;
}

static trial_t try_command(examination_t *exam, const char *const *argv, const char *input,
                           size_t len, int64_t limit_ms)
{
    trial_t trial = {.ctx = exam->cli->ctx};
    ik_process_options_t options = {.argv = argv,
                                    .folder = exam->folder,
                                    .input = input,
                                    .input_len = len,
                                    .max_out = OUTPUT_MAX,
                                    .max_err = STDERR_MAX,
                                    .stop_when_full = true,
                                    .idle_ms = limit_ms,
                                    .max_ms = limit_ms,
                                    .on_end = on_end,
                                    .data = &trial};
    ik_process_t *process;
    res_t started = ik_process_start(exam->cli->ctx, exam->cli->host, &options, &process);
    if (is_err(&started)) {
        trial.end = IK_PROCESS_NOT_STARTED;
        trial.error = ik_strdup(exam->cli->ctx, started.message);
        trial.out = trial.err = ik_strdup(exam->cli->ctx, "");
        return trial;
    }
    ik_loop_run_until(exam->cli->loop, &trial.done);
    return trial;
}

/* Describes an abnormal end; NULL if the tool exited by itself. */
static const char *describe_end(const examination_t *exam, const trial_t *trial)
{
    switch (trial->end) {
    case IK_PROCESS_EXITED:
        if (trial->exit_code > 128 && trial->exit_code < 128 + NSIG) {
            return ik_sprintf(exam->cli->ctx, "it was killed by signal %d; it must not crash",
                              trial->exit_code - 128);
        }
        return NULL;
    case IK_PROCESS_IDLE:
    case IK_PROCESS_OVERTIME:
        return "it did not end in time; does it wait for anything other than the end of stdin?";
    case IK_PROCESS_FLOODED:
        return "it never stops printing";
    default:
        return ik_sprintf(exam->cli->ctx,
                          "it cannot be started (%s); check its first line and permissions",
                          trial->error);
    }
}

/* --- the schema -------------------------------------------------------------------------- */

static trial_t ask_schema(examination_t *exam)
{
    const char *argv[] = {exam->path, "--schema", NULL};
    return try_command(exam, argv, NULL, 0, exam->cli->config->schema_timeout_ms);
}

static bool schema_exits_well(examination_t *exam, const trial_t *trial)
{
    const char *wrong = describe_end(exam, trial);
    if (wrong != NULL) {
        fix(exam, "--schema", wrong);
    } else if (trial->exit_code != 0) {
        fix(exam, "--schema",
            ik_sprintf(exam->cli->ctx, "it exits with %d; print the schema and exit with 0",
                       trial->exit_code));
    } else {
        return true;
    }
    return false;
}

static void show_stderr(const examination_t *exam, const char *what, trial_t *trial)
{
    if (trial->err[0] != '\0') {
        trial->err[strcspn(trial->err, "\n")] = '\0';
        advise(ik_sprintf(exam->cli->ctx, "%s writes to stderr", what), trial->err);
    }
}

/* JSON parsers differ on duplicate names: some take the first, some the last, some refuse both. */
static void check_doubles(examination_t *exam, const trial_t *trial)
{
    json_error_t error;
    json_t *root =
        json_loadb(trial->out, trial->out_len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (root == NULL && json_error_code(&error) == json_error_duplicate_key) {
        fix(exam, "schema", ik_sprintf(exam->cli->ctx, "line %d: %s", error.line, error.text));
    }
    json_decref(root);
}

static bool check_schema(examination_t *exam)
{
    trial_t trial = ask_schema(exam);
    show_stderr(exam, "--schema", &trial);
    if (!schema_exits_well(exam, &trial)) {
        return false;
    }
    ik_tool_schema_findings_t findings = {.ctx = exam->cli->ctx, .all = true};
    res_t parsed =
        ik_tool_schema_examine(exam->cli->ctx, trial.out, trial.out_len, &findings, &exam->schema);
    for (size_t i = 0; i < findings.fault_count; i++) {
        fix(exam, "schema", findings.faults[i]);
    }
    for (size_t i = 0; i < findings.repair_count; i++) {
        fix(exam, "schema", findings.repairs[i]);
    }
    if (is_err(&parsed)) {
        if (findings.fault_count == 0) {
            fix(exam, "--schema prints one JSON object with name, description and parameters",
                parsed.message);
        }
        return false;
    }
    check_doubles(exam, &trial);
    pass(exam, ik_sprintf(exam->cli->ctx, "--schema: valid, as '%s', in %lld ms",
                          exam->schema->name, (long long)trial.wall_ms));
    trial_t again = ask_schema(exam);
    if (again.out_len != trial.out_len || memcmp(again.out, trial.out, trial.out_len) != 0) {
        fix(exam, "--schema", "two runs differ; the same bytes every time keep model caches warm");
    } else {
        pass(exam, "--schema: the same bytes every time");
    }
    char *effects = ik_tool_describe_effects(
        exam->cli->ctx, exam->schema->declares_effects ? &exam->schema->effects : NULL);
    report("ok  ", "Effects", effects); /* shown, not judged */
    if (exam->schema->host != 0) {
        report("ok  ", "Asks ikigai for",
               ik_tool_describe_host(exam->cli->ctx, exam->schema->host));
    }
    return true;
}

static void check_schema_alone(examination_t *exam)
{
    /* nice only starts the tool: env would take a path with a "=" for a variable. */
    const char *argv[] = {"/usr/bin/env", "-i",       "PATH=/usr/local/bin:/usr/bin:/bin",
                          "nice",         "-n",       "0",
                          exam->path,     "--schema", NULL};
    trial_t trial = try_command(exam, argv, NULL, 0, exam->cli->config->schema_timeout_ms);
    ik_tool_schema_t *schema;
    if (describe_end(exam, &trial) == NULL && trial.exit_code == 0) {
        res_t parsed = ik_tool_schema_parse(exam->cli->ctx, trial.out, trial.out_len, &schema);
        if (is_ok(&parsed)) {
            pass(exam, "--schema: needs nothing from the environment");
            return;
        }
    }
    fix(exam, "--schema fails without environment variables",
        "it must not need credentials, HOME or configuration; check those when it is called");
}

/* A name that is only in required is probably misspelt, or its description was forgotten. */
static void check_required(examination_t *exam)
{
    json_t *properties = json_object_get(exam->schema->parameters, "properties");
    size_t i;
    json_t *required;
    json_array_foreach(json_object_get(exam->schema->parameters, "required"), i, required)
    {
        const char *name = json_string_value(required);
        if (json_object_get(properties, name) == NULL) {
            fix(exam, "schema",
                ik_sprintf(exam->cli->ctx,
                           "parameters: required names '%.60s', which is not in properties", name));
        }
    }
}

static void check_wording(examination_t *exam)
{
    const char *name;
    json_t *property;
    json_object_foreach(json_object_get(exam->schema->parameters, "properties"), name, property)
    {
        if (json_object_get(property, "type") == NULL) {
            advise(ik_sprintf(exam->cli->ctx, "parameter %s has no type", name),
                   "models send better values when they know it");
        }
        if (!json_is_string(json_object_get(property, "description"))) {
            advise(ik_sprintf(exam->cli->ctx, "parameter %s has no description", name),
                   "models send better values when they know what it means");
        }
    }
    if (exam->schema->returns == NULL) {
        advise("returns is not declared", "it helps the model to read the answer");
    }
}

/* --- calls ------------------------------------------------------------------------------- */

/* The result with its images described, while it is made. */
typedef struct {
    const void *ctx;
    bool done;
    char *result;
    size_t len;
} described_t;

static void on_described(void *data, const ik_tool_images_end_t *end)
{
    described_t *described = data;
    described->result = ik_strndup(described->ctx, end->result, end->result_len);
    described->len = end->result_len;
    described->done = true;
}

/* Returns what is wrong with the first image that is not accepted; NULL: nothing. */
static const char *check_images(const examination_t *exam, ik_json_span_t value)
{
    ik_cli_t *cli = exam->cli;
    described_t described = {.ctx = cli->ctx};
    ik_tool_context_t context = ik_cli_tool_context(cli);
    context.folder = exam->folder;
    ik_tool_images_options_t options = {.context = &context,
                                        .host = cli->host,
                                        .tool = exam->schema->name,
                                        .result = value,
                                        .on_end = on_described,
                                        .data = &described};
    ik_tool_images_t *images = ik_tool_images_start(cli->ctx, &options);
    ik_loop_run_until(ik_process_host_loop(cli->host), &described.done);
    talloc_free(images);
    ik_json_span_t result;
    ik_json_span_t list;
    ik_json_span_t entry;
    ik_json_span_t error;
    size_t position = 0;
    if (!ik_json_scan(described.result, described.len, &result, NULL) ||
        !ik_json_find_kind(result, "images", IK_JSON_ARRAY, &list)) {
        return NULL;
    }
    for (size_t number = 1; ik_json_next_element(list, &position, &entry); number++) {
        if (ik_json_find_kind(entry, "error", IK_JSON_STRING, &error)) {
            return ik_sprintf(cli->ctx, "image %zu is not accepted: %s", number,
                              ik_json_decode(cli->ctx, error, NULL));
        }
    }
    return NULL;
}

/* Returns what is wrong with the answer; NULL: nothing. */
static const char *check_output(const examination_t *exam, const trial_t *trial)
{
    const char *wrong = describe_end(exam, trial);
    ik_json_span_t value;
    ik_json_fault_t fault;
    if (wrong != NULL) {
        return wrong;
    }
    if (trial->exit_code != 0) {
        return trial->err[0] != '\0'
                   ? NULL
                   : ik_sprintf(exam->cli->ctx,
                                "it exits with %d and says nothing; print the reason to stderr, "
                                "or answer {\"error\":…,\"error_code\":…} and exit with 0",
                                trial->exit_code);
    }
    if (trial->out_len == 0) {
        return "it exits with 0 but prints nothing; print one JSON value";
    }
    if (!ik_json_scan(trial->out, trial->out_len, &value, &fault)) {
        return ik_sprintf(exam->cli->ctx,
                          "stdout is not one JSON value (%s at byte %zu); write messages for "
                          "people to stderr",
                          fault.reason, fault.offset);
    }
    if (!ik_utf8_valid(trial->out, trial->out_len)) {
        return "stdout is not UTF-8";
    }
    return ik_tool_images_found(value) ? check_images(exam, value) : NULL;
}

typedef struct {
    const char *what;
    const char *bytes;
    size_t len;
} input_t;

static input_t text_input(const char *what, const char *text)
{
    return (input_t){.what = what, .bytes = text, .len = strlen(text)};
}

/* Returns false if the tool did not exit by itself. */
static bool check_input(examination_t *exam, const input_t *input)
{
    const char *argv[] = {exam->path, NULL};
    long seconds = exam->schema->timeout_seconds > 0 ? exam->schema->timeout_seconds
                                                     : exam->cli->config->tool_timeout_seconds;
    trial_t trial = try_command(exam, argv, input->bytes, input->len, (int64_t)seconds * 1000);
    const char *wrong = check_output(exam, &trial);
    if (wrong != NULL) {
        fix(exam, input->what, wrong);
    } else {
        pass(exam, ik_sprintf(exam->cli->ctx, "%s: %s", input->what,
                              trial.exit_code == 0 ? "answered" : "refused cleanly"));
        show_stderr(exam, input->what, &trial);
    }
    return trial.end == IK_PROCESS_EXITED;
}

static bool takes_text(json_t *property)
{
    const char *type = json_string_value(json_object_get(property, "type"));
    return type == NULL || strcmp(type, "string") == 0;
}

static char *build_wrong_types(const examination_t *exam)
{
    json_t *arguments = json_object();
    const char *name;
    json_t *property;
    json_object_foreach(json_object_get(exam->schema->parameters, "properties"), name, property)
    {
        json_object_set_new(arguments, name,
                            takes_text(property) ? json_pack("{s:[]}", "wrong")
                                                 : json_string("wrong"));
    }
    char *formatted = ik_json_format(exam->cli->ctx, arguments);
    json_decref(arguments);
    return formatted;
}

/* The string parameters share a megabyte. */
static char *build_large(const examination_t *exam)
{
    json_t *properties = json_object_get(exam->schema->parameters, "properties");
    json_t *arguments = json_object();
    const char *name;
    json_t *property;
    json_object_foreach(properties, name, property)
    {
        if (takes_text(property)) {
            json_object_set_new(arguments, name, json_null());
        }
    }
    if (json_object_size(arguments) == 0) {
        json_object_set_new(arguments, "unknown", json_null());
    }
    size_t share = LARGE_INPUT / json_object_size(arguments);
    char *text = ik_new_array(exam->cli->ctx, char, share + 1);
    memset(text, 'x', share);
    json_object_foreach(arguments, name, property)
    {
        json_object_set_new(arguments, name, json_string(text));
    }
    char *formatted = ik_json_format(exam->cli->ctx, arguments);
    json_decref(arguments);
    return formatted;
}

static void check_calls(examination_t *exam)
{
    static const char not_utf8[] = "{\"a\": \"\xff\xfe\"}";
    const input_t inputs[] = {
        text_input("empty input", ""),
        text_input("no parameters ({})", "{}"),
        text_input("input that is not JSON", "this is not JSON"),
        text_input("input that is not an object", "[1, 2, 3]"),
        text_input("unknown parameter", "{\"unknown_parameter\": true}"),
        text_input("parameters of the wrong type", build_wrong_types(exam)),
        text_input("a megabyte of input", build_large(exam)),
        {.what = "input that is not UTF-8", .bytes = not_utf8, .len = sizeof(not_utf8) - 1},
    };
    size_t count = IK_LENGTH(inputs);
    size_t tried = 0;
    while (tried < count && check_input(exam, &inputs[tried++])) {
    }
    if (tried < count) {
        /* Each would take the whole time limit again. */
        advise("other inputs were not tried", "fix this one first");
    }
}

/* --- the command ------------------------------------------------------------------------- */

static bool check_file(examination_t *exam)
{
    struct stat status;
    if (stat(exam->path, &status) != 0) {
        fix(exam, exam->path, "there is no such file");
    } else if (!S_ISREG(status.st_mode)) {
        fix(exam, exam->path, "it is not a file");
    } else if (access(exam->path, X_OK) != 0) {
        fix(exam, exam->path, "it is not executable; run chmod +x");
    } else {
        res_t owned = ik_ownership_check_file(exam->path);
        if (is_ok(&owned)) {
            pass(exam, "the file is executable, and only you can change it");
        } else {
            fix(exam, "ikigai would not run it", owned.message);
        }
        return true;
    }
    return false;
}

/* Ends as the signal asks, with what was found so far and without the folder. */
static void on_interrupt(void *data, int signal)
{
    examination_t *exam = data;
    fflush(stdout);
    rmdir(exam->folder);
    TALLOC_FREE(exam->interrupt); /* restores what the signal does */
    raise(signal);
}

static int run_check(ik_cli_t *cli, const ik_cli_args_t *args)
{
    char *resolved = realpath(args->args[0], NULL);
    examination_t exam = {.cli = cli, .path = resolved == NULL ? args->args[0] : resolved};
    char folder[] = "/tmp/ikigai-check-XXXXXX";
    exam.folder = mkdtemp(folder);
    if (exam.folder == NULL) {
        free(resolved);
        return ik_cli_fail("cannot create a folder in /tmp");
    }
    exam.interrupt = ik_interrupt_create(cli->ctx, cli->loop, on_interrupt, &exam);
    if (check_file(&exam) && check_schema(&exam)) {
        check_required(&exam);
        check_schema_alone(&exam);
        check_wording(&exam);
        check_calls(&exam);
    }
    TALLOC_FREE(exam.interrupt);
    if (rmdir(exam.folder) != 0) {
        advise("it left files behind in its working folder", exam.folder);
    }
    free(resolved);
    if (exam.problems > 0) {
        printf("\n%zu of %zu check%s %s fixing.\n", exam.problems, exam.checks,
               exam.checks == 1 ? "" : "s", exam.problems == 1 ? "needs" : "need");
        return IK_CLI_FAILED;
    }
    printf("\nAll %zu checks passed.\n", exam.checks);
    return IK_CLI_DONE;
}

const ik_cli_command_t ik_cli_tool_check = {
    .name = "tool check",
    .args = "PATH",
    .help = "Runs your executable through the tool protocol and says what to fix.",
    .min_args = 1,
    .max_args = 1,
    .run = run_check,
};
