/* /export: writes this session to a new file. It never overwrites a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "command/command_list.h"
#include "export/export.h"

typedef struct {
    const char *file;   /* as the user wrote it; NULL: not given */
    const char *format; /* NULL: not given */
} options_t;

/* --- options ------------------------------------------------------------------------------- */

static bool parse_options(const ik_command_args_t *args, options_t *options)
{
    *options = (options_t){0};
    for (size_t i = 0; i < args->count; i++) {
        const char *word = args->words[i];
        if (strcmp(word, "--format") == 0 && i + 1 < args->count) {
            options->format = args->words[++i];
        } else if (strncmp(word, "--", 2) == 0 || options->file != NULL) {
            return false;
        } else {
            options->file = word;
        }
    }
    return true;
}

/* The given format, else that of the file's suffix, else Markdown. NULL: an unknown format. */
static const ik_export_t *choose_format(const options_t *options)
{
    if (options->format != NULL) {
        return ik_export_find(options->format);
    }
    const char *dot = options->file == NULL ? NULL : strrchr(options->file, '.');
    const ik_export_t *by_suffix = dot == NULL ? NULL : ik_export_find(dot + 1);
    return by_suffix == NULL ? &ik_export_markdown : by_suffix;
}

/* There is no shell that would expand ~/. */
static char *choose_path(ik_command_host_t *host, const void *ctx, const options_t *options,
                         const ik_export_t *format)
{
    const char *home = getenv("HOME");
    if (options->file == NULL) {
        return ik_sprintf(ctx, "%s/ikigai-%s.%s", ik_workspace_paths(host->workspace)->cwd,
                          ik_session_id(ik_workspace_session(host->workspace)), format->name);
    }
    if (strncmp(options->file, "~/", 2) == 0 && home != NULL) {
        return ik_sprintf(ctx, "%s%s", home, options->file + 1);
    }
    return options->file[0] == '/'
               ? ik_strdup(ctx, options->file)
               : ik_sprintf(ctx, "%s/%s", ik_workspace_paths(host->workspace)->cwd, options->file);
}

/* --- writing ------------------------------------------------------------------------------- */

/* Creates a private file; IK_ERR_CONFLICT if it exists. */
static res_t create_file(const char *path, FILE **out)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) {
        return ERR(CONFLICT, "%s already exists: choose another file", path);
    }
    if (fd < 0) {
        return ERR(SYSTEM, "Cannot write %s: %s", path, strerror(errno));
    }
    *out = fdopen(fd, "w");
    if (*out == NULL) {
        PANIC("no memory for a stream");
    }
    return OK;
}

static res_t write_file(const char *path, const ik_export_t *format,
                        const ik_export_source_t *source)
{
    FILE *out = NULL;
    TRY(create_file(path, &out));
    res_t written = format->write(out, source);
    bool whole = !ferror(out);
    if ((fclose(out) != 0 || !whole) && is_ok(&written)) {
        written = ERR(SYSTEM, "Cannot write all of %s: is the disk full?", path);
    }
    if (is_err(&written)) {
        unlink(path);
    }
    return written;
}

/* An export; what the session changed is found out first. */
typedef struct {
    ik_command_host_t *host;
    const ik_export_t *format;
    char *path;
    ik_buffer_t patch;
} exporting_t;

static res_t export_session(const exporting_t *exporting)
{
    ik_command_host_t *host = exporting->host;
    ik_session_t *session = ik_workspace_session(host->workspace);
    ik_store_t *store;
    ik_store_session_t facts;
    if (ik_workspace_shared(host->workspace)->history == NULL) {
        return ERR(NOT_FOUND, "There is no history to export from.");
    }
    TRY(ik_session_flush(session));
    TRY(ik_history_local(ik_workspace_shared(host->workspace)->history, &store));
    res_t found = ik_store_find(exporting, store, ik_session_id(session), &facts);
    if (found.code == IK_ERR_NOT_FOUND) {
        return ERR(NOT_FOUND, "This session has no messages yet.");
    }
    ik_export_source_t source = {.store = store,
                                 .session = &facts,
                                 .images = ik_workspace_paths(host->workspace)->images,
                                 .patch = exporting->patch.data};
    return is_err(&found) ? found : write_file(exporting->path, exporting->format, &source);
}

static void finish(exporting_t *exporting)
{
    ik_command_host_t *host = exporting->host;
    res_t exported = export_session(exporting);
    if (is_err(&exported)) {
        host->screen->fail(host, exported.message);
    } else {
        host->screen->print_line(host, ik_sprintf(exporting, "Exported to %s", exporting->path));
    }
    talloc_free(exporting);
}

/* The contents may be gone: then the export has no patch. */
static void on_patch(void *data, const res_t *result, const json_t *answer)
{
    exporting_t *exporting = data;
    if (is_err(result)) {
        exporting->host->screen->fail(
            exporting->host,
            ik_sprintf(exporting, "The export does not show what the session changed: %s",
                       result->message));
    } else {
        ik_undo_append_text(&exporting->patch, answer);
    }
    finish(exporting);
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    options_t options;
    if (!parse_options(args, &options)) {
        ik_command_misuse(host, &ik_command_export, NULL);
        return;
    }
    const ik_export_t *format = choose_format(&options);
    if (format == NULL) {
        ik_command_misuse(host, &ik_command_export,
                          ik_sprintf(args, "Unknown format '%s'.", options.format));
        return;
    }
    exporting_t *exporting = ik_new(host->workspace, exporting_t);
    exporting->host = host;
    exporting->format = format;
    exporting->path = choose_path(host, exporting, &options, format);
    ik_buffer_init(&exporting->patch, exporting, IK_BUFFER_UNLIMITED); /* bounded by the answer */
    res_t started = format->shows_changes ? ik_workspace_diff(host->workspace, false, IK_UNDO_PATCH,
                                                              on_patch, exporting)
                                          : ERR(INVALID, "nothing to find out");
    if (is_err(&started)) {
        finish(exporting);
    }
}

static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    (void)host;
    if (word <= 2) {
        ik_command_words_add(out, "--format", "jsonl, md or html");
    }
    if (word >= 2) {
        ik_command_words_add(out, "jsonl", "everything, can be imported");
        ik_command_words_add(out, "md", "Markdown");
        ik_command_words_add(out, "html", "one page for a browser");
    }
}

const ik_command_t ik_command_export = {
    .name = "export",
    .usage = "[FILE] [--format jsonl|md|html]",
    .help = "Writes this session to a new file.",
    .max_args = 3,
    .run = run,
    .complete = complete,
};
