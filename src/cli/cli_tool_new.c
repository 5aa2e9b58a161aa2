/*
 * `ikigai tool new`: creates a small, working, commented tool for its author to change. The example
 * counts the words of a text; it has a required and an optional parameter and one error.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/print.h"
#include "cli/cli.h"

enum {
    TEMPLATE_MAX = 65536,
    COMPILER_OUTPUT_MAX = 65536,
    COMPILER_MS = 60000,
};

typedef struct {
    const char *name;
    const char *template; /* in PREFIX/share/ikigai/templates */
    const char *suffix;   /* of the source file of a compiled language */
} language_t;

static const language_t languages[] = {
    {"sh", "tool.sh", ""}, {"python", "tool.py", ""}, {"c", "tool.c", ".c"}};

static const language_t *find_language(const char *name)
{
    for (size_t i = 0; i < IK_LENGTH(languages); i++) {
        if (strcmp(languages[i].name, name) == 0) {
            return &languages[i];
        }
    }
    return NULL;
}

/* Replaces @NAME@ by the tool's name and @FILE@ by its path. */
static char *fill_template(const void *ctx, const char *text, const char *name, const char *file)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the template */
    while (*text != '\0') {
        if (strncmp(text, "@NAME@", 6) == 0 || strncmp(text, "@FILE@", 6) == 0) {
            ik_buffer_append_text(&out, text[1] == 'N' ? name : file);
            text += 6;
        } else {
            ik_buffer_append_byte(&out, *text++);
        }
    }
    return ik_buffer_finish(&out);
}

static res_t write_new(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0 && errno == EEXIST) {
        return ERR(CONFLICT, "%s already exists; nothing was changed", path);
    }
    size_t len = strlen(text);
    bool written = fd >= 0 && write(fd, text, len) == (ssize_t)len;
    res_t result = OK;
    if (!written) {
        result = ERR(SYSTEM, "Cannot write %s: %s", path, strerror(errno));
    }
    if (fd >= 0 && close(fd) != 0 && is_ok(&result)) {
        result = ERR(SYSTEM, "Cannot write %s: %s", path, strerror(errno));
    }
    if (!written && fd >= 0) {
        unlink(path);
    }
    return result;
}

typedef struct {
    bool done;
    int exit_code;
    char *output;
    const void *ctx;
} compile_t;

static void on_compiled(void *data, ik_process_result_t *result)
{
    compile_t *compile = data;
    compile->exit_code = result->exit_code;
    compile->output =
        ik_strndup(compile->ctx, result->err.len > 0 ? result->err.data : "", result->err.len);
    compile->done = true;
}

static int compile_source(ik_cli_t *cli, const char *source, const char *path)
{
    /* The umask makes the program as private as the source. */
    const char *argv[] = {"/bin/sh", "-c", "umask 077 && exec cc -O2 -o \"$1\" \"$2\" -ljansson",
                          "cc",      path, source,
                          NULL};
    compile_t compile = {.ctx = cli->ctx, .exit_code = -1};
    ik_process_options_t options = {.argv = argv,
                                    .folder = cli->paths->cwd,
                                    .max_out = COMPILER_OUTPUT_MAX,
                                    .max_err = COMPILER_OUTPUT_MAX,
                                    .idle_ms = COMPILER_MS,
                                    .max_ms = COMPILER_MS,
                                    .on_end = on_compiled,
                                    .data = &compile};
    ik_process_t *process;
    res_t started = ik_process_start(cli->ctx, cli->host, &options, &process);
    if (is_ok(&started)) {
        ik_loop_run_until(cli->loop, &compile.done);
    }
    if (compile.exit_code == 0) {
        return IK_CLI_DONE;
    }
    ik_print_text(stderr, compile.output == NULL ? started.message : compile.output);
    return ik_cli_fail(ik_sprintf(cli->ctx,
                                  "%s was written but could not be compiled. A C compiler and "
                                  "jansson's headers (libjansson-dev) are needed: "
                                  "cc -O2 -o %s %s -ljansson",
                                  source, path, source));
}

/* The file in a folder of tools whose tool has that name; NULL: there is none. */
static const char *find_named(const ik_cli_t *cli, const char *path, const char *name)
{
    DIR *folder = opendir(path);
    const char *found = NULL;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (strcmp(ik_tool_schema_name_of_file(cli->ctx, entry->d_name), name) == 0) {
            found = ik_sprintf(cli->ctx, "%s/%s", path, entry->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

static int write_tool(ik_cli_t *cli, const language_t *language, const char *file, const char *name)
{
    const char *path = ik_sprintf(cli->ctx, "%s/%s", cli->paths->user_tools, file);
    const char *source = ik_sprintf(cli->ctx, "%s%s", path, language->suffix);
    bool compiled = *language->suffix != '\0';
    struct stat existing;
    if (lstat(path, &existing) == 0) { /* open would follow a dangling symbolic link */
        return ik_cli_fail(ik_sprintf(cli->ctx, "%s already exists; nothing was changed", path));
    }
    const char *own = find_named(cli, cli->paths->user_tools, name);
    if (own != NULL) { /* only one of the two would be used */
        return ik_cli_fail(
            ik_sprintf(cli->ctx, "%s already is the tool %s; nothing was changed", own, name));
    }
    char *template;
    size_t len;
    res_t written = ik_file_read(
        cli->ctx, ik_sprintf(cli->ctx, "%s/%s", cli->paths->templates, language->template),
        TEMPLATE_MAX, &template, &len);
    if (is_ok(&written)) {
        written = ik_file_make_private_folder(cli->paths->user_tools);
    }
    if (is_ok(&written)) {
        written = write_new(source, fill_template(cli->ctx, template, name, path),
                            compiled ? 0600 : 0700);
    }
    if (is_err(&written)) {
        return ik_cli_fail(written.message);
    }
    int status = compiled ? compile_source(cli, source, path) : IK_CLI_DONE;
    if (status == IK_CLI_DONE) {
        const char *shipped = find_named(cli, cli->paths->system_tools, name);
        if (compiled) {
            printf("%s is a working tool, made of %s. After a change: cc -O2 -o %s %s -ljansson && "
                   "ikigai tool check %s\n",
                   path, source, path, source, path);
        } else {
            printf("%s is a working tool. Change it, then: ikigai tool check %s\n", path, path);
        }
        if (shipped != NULL) {
            printf("It overrides %s (%s) from now on.\n", name, shipped);
        }
    }
    return status;
}

static int run_new(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *file = args->args[0];
    char *name = ik_tool_schema_name_of_file(cli->ctx, file);
    const char *wanted = ik_cli_args_value(args, "--lang");
    const language_t *language = find_language(wanted == NULL ? "sh" : wanted);
    if (!ik_tool_schema_valid_name(name)) {
        ik_cli_fail(ik_sprintf(cli->ctx,
                               "'%s' is not a valid tool name: use at most 64 letters, digits, '_' "
                               "and '-', and do not begin with a digit",
                               file));
        return IK_CLI_USAGE;
    }
    if (language == NULL) {
        ik_cli_fail(ik_sprintf(cli->ctx, "--lang must be sh, python or c, not '%s'", wanted));
        return IK_CLI_USAGE;
    }
    return write_tool(cli, language, file, name);
}

const ik_cli_command_t ik_cli_tool_new = {
    .name = "tool new",
    .args = "NAME",
    .help = "Writes a small working tool to ~/.ikigai/tools for you to change.",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--lang", .value = "sh|python|c", .help = "the language; sh by default"}, {0}},
    .min_args = 1,
    .max_args = 1,
    .new_name = true,
    .run = run_new,
};
