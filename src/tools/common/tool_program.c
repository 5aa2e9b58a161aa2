#include "tools/common/tool_program.h"
#include "base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"

/* --- --schema and --help ----------------------------------------------------------------- */

static const char *type_name(ik_tool_param_type_t type)
{
    switch (type) {
    case IK_TOOL_PARAM_STRING:
        return "string";
    case IK_TOOL_PARAM_INTEGER:
        return "integer";
    case IK_TOOL_PARAM_BOOLEAN:
        return "boolean";
    case IK_TOOL_PARAM_ARRAY:
        return "array";
    }
    return "string";
}

static void append_member(ik_buffer_t *out, const char *key, const char *value)
{
    ik_json_append_text(out, key);
    ik_buffer_append_byte(out, ':');
    ik_json_append_text(out, value);
}

static void append_required(ik_buffer_t *out, const ik_tool_param_t *params)
{
    ik_buffer_append_text(out, "},\"required\":[");
    const char *separator = "";
    for (const ik_tool_param_t *p = params; p->name != NULL; p++) {
        if (p->required) {
            ik_buffer_append_text(out, separator);
            ik_json_append_text(out, p->name);
            separator = ",";
        }
    }
    ik_buffer_append_text(out, "]}");
}

static void format_schema(ik_buffer_t *out, const ik_tool_program_t *program)
{
    ik_buffer_append_byte(out, '{');
    append_member(out, "name", program->name);
    ik_buffer_append_byte(out, ',');
    append_member(out, "description", program->description);
    ik_buffer_append_text(out, ",\"parameters\":{\"type\":\"object\",\"properties\":{");
    for (const ik_tool_param_t *p = program->params; p->name != NULL; p++) {
        if (p != program->params) {
            ik_buffer_append_byte(out, ',');
        }
        ik_json_append_text(out, p->name);
        ik_buffer_append_text(out, ":{");
        append_member(out, "type", type_name(p->type));
        ik_buffer_append_byte(out, ',');
        append_member(out, "description", p->description);
        if (p->items != NULL) {
            ik_buffer_append_format(out, ",\"items\":%s", p->items);
        }
        ik_buffer_append_byte(out, '}');
    }
    append_required(out, program->params);
    ik_buffer_append_text(out, ",\"returns\":");
    ik_buffer_append_text(out, program->returns);
    if (program->parallel) {
        ik_buffer_append_text(out, ",\"parallel\":true");
    }
    ik_buffer_append_format(out, ",\"effects\":{\"write\":\"%s\",\"network\":%s}",
                            ik_effects_write_name(program->effects.write),
                            program->effects.network ? "true" : "false");
    if (program->escalation != NULL) {
        ik_buffer_append_format(out, ",\"escalation\":{\"parameter\":\"%s\"}", program->escalation);
    }
    if (program->display != IK_DISPLAY_USUAL) {
        ik_buffer_append_format(out, ",\"display\":\"%s\"", ik_display_name(program->display));
    }
    const char *op;
    for (size_t i = 0; (op = ik_host_op_name(program->host, i)) != NULL; i++) {
        ik_buffer_append_format(out, "%s\"%s\"", i == 0 ? ",\"host\":[" : ",", op);
    }
    ik_buffer_append_text(out, program->host == 0 ? "}\n" : "]}\n");
}

static void format_help(ik_buffer_t *out, const ik_tool_program_t *program, const char *file)
{
    ik_buffer_append_format(out,
                            "%s - %s\n\nReads one JSON object on stdin and prints one on stdout.\n"
                            "\nUsage: echo '{...}' | %s\n       %s --schema | --help | --version\n"
                            "\nParameters:\n",
                            program->name, program->description, file, file);
    for (const ik_tool_param_t *p = program->params; p->name != NULL; p++) {
        ik_buffer_append_format(out, "  %s (%s%s)\n    %s\n", p->name, type_name(p->type),
                                p->required ? ", required" : "", p->description);
    }
    ik_buffer_append_format(out, "\nLimits:\n  %s\n", program->limits);
}

/* --- reading the call -------------------------------------------------------------------- */

static res_t read_stdin(ik_buffer_t *input)
{
    struct stat st = {0};
    size_t chunk = 65536;
    /* ikigai passes the arguments as a memory file, whose size is known: one read is enough. */
    if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        if ((uint64_t)st.st_size > IK_TOOL_ARGUMENTS_MAX) {
            return ERR(LIMIT, "The arguments are longer than 1 GB");
        }
        chunk = (size_t)st.st_size + 1;
    }
    for (;;) {
        size_t room = ik_buffer_reserve(input, chunk);
        ssize_t got = read(STDIN_FILENO, input->data + input->len, room);
        if (got == 0) {
            input->data[input->len] = '\0';
            return OK;
        }
        if (got > 0) {
            input->len += (size_t)got;
            bool whole_file = S_ISREG(st.st_mode) && (size_t)got < room;
            if (whole_file) {
                input->data[input->len] = '\0';
                return OK;
            }
        } else if (errno != EINTR) {
            return ERR(SYSTEM, "Cannot read standard input: %s", strerror(errno));
        }
        if (input->len > IK_TOOL_ARGUMENTS_MAX) {
            return ERR(LIMIT, "The arguments are longer than 1 GB");
        }
    }
}

static res_t check_integer(const ik_tool_param_t *param, json_t **value)
{
    double real = json_is_real(*value) ? json_real_value(*value) : 0.5;
    if (real == floor(real) && fabs(real) < 9e15) {
        *value = json_integer((json_int_t)real); /* 3.0 is what some models write for 3 */
    } else if (!json_is_integer(*value)) {
        return ERR(INVALID, "Parameter '%s' must be an integer", param->name);
    } else {
        json_incref(*value);
    }
    int64_t integer = json_integer_value(*value);
    bool bounded = param->min != 0 || param->max != 0;
    if (bounded && (integer < param->min || integer > param->max)) {
        json_decref(*value);
        if (param->max == INT64_MAX) {
            return ERR(INVALID, "Parameter '%s' must be at least %" PRId64, param->name,
                       param->min);
        }
        return ERR(INVALID, "Parameter '%s' must be between %" PRId64 " and %" PRId64, param->name,
                   param->min, param->max);
    }
    return OK;
}

/* On success *value is a new reference. */
static res_t check_value(const ik_tool_param_t *param, json_t **value)
{
    switch (param->type) {
    case IK_TOOL_PARAM_INTEGER:
        return check_integer(param, value);
    case IK_TOOL_PARAM_BOOLEAN:
        if (!json_is_boolean(*value)) {
            return ERR(INVALID, "Parameter '%s' must be a boolean", param->name);
        }
        break;
    case IK_TOOL_PARAM_ARRAY:
        if (!json_is_array(*value)) {
            return ERR(INVALID, "Parameter '%s' must be an array", param->name);
        }
        break;
    case IK_TOOL_PARAM_STRING:
        if (!json_is_string(*value)) {
            return ERR(INVALID, "Parameter '%s' must be a string", param->name);
        }
        if (param->text &&
            memchr(json_string_value(*value), '\0', json_string_length(*value)) != NULL) {
            return ERR(INVALID, "Parameter '%s' must not contain a NUL character", param->name);
        }
        break;
    }
    json_incref(*value);
    return OK;
}

static res_t check_params(ik_tool_call_t *call, const json_t *given)
{
    for (const ik_tool_param_t *p = call->program->params; p->name != NULL; p++) {
        json_t *value = json_object_get(given, p->name);
        if (value == NULL || json_is_null(value)) {
            if (p->required) {
                return ERR(INVALID, "Missing required parameter '%s'", p->name);
            }
            continue;
        }
        TRY(check_value(p, &value));
        json_object_set_new(call->params, p->name, value);
    }
    return OK;
}

static res_t parse_call(ik_tool_call_t *call)
{
    ik_buffer_t input;
    ik_buffer_init(&input, call->ctx, IK_BUFFER_UNLIMITED); /* read_stdin has a limit */
    TRY(read_stdin(&input));
    json_error_t error;
    json_t *given = ik_json_parse(input.data, input.len, &error);
    if (given == NULL) {
        return ERR(INVALID, "Invalid JSON on standard input: %s", error.text);
    }
    ik_json_adopt(call->ctx, given);
    if (!json_is_object(given)) {
        return ERR(INVALID, "Standard input must be one JSON object");
    }
    call->params = ik_json_adopt(call->ctx, json_object());
    return check_params(call, given);
}

static size_t output_limit(void)
{
    const char *text = getenv("IKIGAI_MAX_OUTPUT");
    if (text == NULL || *text == '\0') {
        return IK_TOOL_OUTPUT_MAX;
    }
    char *end;
    errno = 0;
    unsigned long long limit = strtoull(text, &end, 10);
    bool usable = *end == '\0' && errno == 0 && *text != '-' && limit < IK_TOOL_OUTPUT_MAX;
    return usable ? (size_t)limit : IK_TOOL_OUTPUT_MAX;
}

/* --- running out of memory --------------------------------------------------------------- */

typedef enum {
    OUTPUT_NONE,
    OUTPUT_INSIDE, /* the string of "output" is open */
    OUTPUT_WHOLE,
} output_state_t;

/* The error is formatted in advance, because formatting it may need memory. */
static struct {
    pthread_mutex_t lock;
    output_state_t state;
    void (*abandon)(void);
    char error[128]; /* the members error and error_code */
} output = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_out_of_memory(void)
{
    pthread_mutex_lock(&output.lock); /* never released, so that no other thread writes */
    if (output.abandon != NULL) {
        output.abandon();
    }
    if (output.state != OUTPUT_WHOLE) {
        const char *begin = output.state == OUTPUT_NONE ? "{" : "\",";
        bool written = ik_file_write_all(STDOUT_FILENO, begin, strlen(begin)) &&
                       ik_file_write_all(STDOUT_FILENO, output.error, strlen(output.error));
        _exit(written ? 0 : 1);
    }
    _exit(0);
}

static void prepare_for_out_of_memory(const ik_tool_program_t *program)
{
    snprintf(output.error, sizeof(output.error),
             "\"error\":\"Out of memory during %s\",\"error_code\":\"OUT_OF_MEMORY\"}",
             program->name);
    output.abandon = program->abandon;
    ik_alloc_on_failure(on_out_of_memory);
    json_set_alloc_funcs(ik_alloc_plain, free);
}

static int answer_option(const ik_tool_program_t *program, const char *file, const char *option)
{
    ik_buffer_t out;
    ik_buffer_init(&out, NULL, IK_BUFFER_UNLIMITED); /* bounded by the tool's table */
    if (strcmp(option, "--schema") == 0) {
        format_schema(&out, program);
    } else if (strcmp(option, "--help") == 0) {
        format_help(&out, program, file);
    } else if (strcmp(option, "--version") == 0) {
        ik_buffer_append_format(&out, "%s (ikigai) %s\n", program->name, IKIGAI_VERSION);
    } else {
        fprintf(stderr, "%s: unknown argument '%s'; try --help\n", program->name, option);
        return 2;
    }
    bool written = ik_file_write_all(STDOUT_FILENO, out.data, out.len);
    ik_buffer_reset(&out);
    return written ? 0 : 1;
}

/* job: as a job in the background. */
static int answer_call(const ik_tool_program_t *program, bool job)
{
    signal(SIGPIPE, SIG_IGN);
    prepare_for_out_of_memory(program);
    ik_json_seed();
    ik_tool_call_t *call = ik_new(NULL, ik_tool_call_t);
    call->ctx = call;
    call->program = program;
    call->max_output = output_limit();
    ik_buffer_init(&call->answer, call, IK_BUFFER_UNLIMITED); /* bounded by max_output */
    res_t parsed = parse_call(call);
    if (is_ok(&parsed) && job) {
        return program->job(call);
    }
    if (is_ok(&parsed)) {
        program->run(call);
    } else {
        ik_tool_answer_error(call, "INVALID_ARG", "%s", parsed.message);
    }
    int status = call->answered ? 0 : 1;
    talloc_free(call);
    return status;
}

int ik_tool_program_main(const ik_tool_program_t *program, int argc, char **argv)
{
    bool job = argc > 1 && program->job != NULL && strcmp(argv[1], "--job") == 0;
    return argc > 1 && !job ? answer_option(program, argv[0], argv[1]) : answer_call(program, job);
}

/* --- reading parameters ------------------------------------------------------------------ */

const char *ik_tool_param_string(const ik_tool_call_t *call, const char *name, size_t *len,
                                 const char *fallback)
{
    const json_t *value = json_object_get(call->params, name);
    if (value == NULL) {
        if (len != NULL) {
            *len = fallback == NULL ? 0 : strlen(fallback);
        }
        return fallback;
    }
    if (len != NULL) {
        *len = json_string_length(value);
    }
    return json_string_value(value);
}

int64_t ik_tool_param_integer(const ik_tool_call_t *call, const char *name, int64_t fallback)
{
    const json_t *value = json_object_get(call->params, name);
    return value == NULL ? fallback : json_integer_value(value);
}

bool ik_tool_param_boolean(const ik_tool_call_t *call, const char *name)
{
    return json_is_true(json_object_get(call->params, name));
}

bool ik_tool_param_given(const ik_tool_call_t *call, const char *name)
{
    return json_object_get(call->params, name) != NULL;
}

/* --- answering --------------------------------------------------------------------------- */

void ik_tool_answer_reserve(ik_tool_call_t *call)
{
    ik_buffer_reserve(&call->answer, 4096);
}

void ik_tool_answer_restart(ik_tool_call_t *call)
{
    call->answer.len = 0;
}

void ik_tool_answer_integer(ik_tool_call_t *call, const char *key, int64_t value)
{
    ik_json_add_number(&call->answer, key, value);
}

void ik_tool_answer_boolean(ik_tool_call_t *call, const char *key, bool value)
{
    ik_json_begin_member(&call->answer, key);
    ik_buffer_append_text(&call->answer, value ? "true" : "false");
}

void ik_tool_answer_string(ik_tool_call_t *call, const char *key, const char *value)
{
    ik_json_add_text(&call->answer, key, value);
}

void ik_tool_answer_output(ik_tool_call_t *call, const char *text, size_t len)
{
    ik_buffer_t clean;
    ik_buffer_init(&clean, call, IK_BUFFER_UNLIMITED); /* at most 3 * len */
    if (!ik_utf8_valid(text, len)) {
        ik_utf8_append_clean(&clean, text, len);
        text = clean.data;
        len = clean.len;
    }
    size_t kept = ik_utf8_cut(text, len, call->max_output);
    ik_json_begin_member(&call->answer, "output");
    ik_json_append_string(&call->answer, text, kept);
    if (kept < len) {
        ik_tool_answer_boolean(call, "truncated", true);
        ik_tool_answer_integer(call, "total_bytes", (int64_t)len);
    }
    ik_buffer_reset(&clean);
}

void ik_tool_answer_send(ik_tool_call_t *call)
{
    ik_buffer_append_byte(&call->answer, '}');
    call->answered = ik_tool_answer_write_part(call->answer.data, call->answer.len, true);
}

bool ik_tool_answer_write_part(const char *bytes, size_t len, bool last)
{
    pthread_mutex_lock(&output.lock);
    bool written = ik_file_write_all(STDOUT_FILENO, bytes, len);
    output.state = last ? OUTPUT_WHOLE : OUTPUT_INSIDE;
    pthread_mutex_unlock(&output.lock);
    return written;
}

void ik_tool_answer_done(ik_tool_call_t *call)
{
    call->answered = true;
}

void ik_tool_answer_begin_error(ik_tool_call_t *call, const char *code, const char *error)
{
    ik_tool_answer_string(call, "error", error);
    ik_tool_answer_string(call, "error_code", code);
}

void ik_tool_answer_error_with(ik_tool_call_t *call, const char *code, const char *error,
                               const char *key, const char *value)
{
    ik_tool_answer_begin_error(call, code, error);
    if (key != NULL) {
        ik_tool_answer_string(call, key, value);
    }
    ik_tool_answer_send(call);
}

void ik_tool_answer_error(ik_tool_call_t *call, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *error = ik_vsprintf(call, format, args);
    va_end(args);
    ik_tool_answer_error_with(call, code, error, NULL, NULL);
}
