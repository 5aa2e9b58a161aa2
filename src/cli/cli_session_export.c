/* `ikigai session export` and `import`: write sessions to files and read them back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/print.h"
#include "cli/cli_history.h"
#include "export/export.h"
#include "export/import.h"
#include "undo/blob_sweep.h"
#include "undo/undo.h"

/* --- export ------------------------------------------------------------------------------ */

typedef struct {
    const char *id;
    const ik_export_t *format;
    const char *path; /* NULL: standard output */
    bool force;
} options_t;

/* Writes the whole export to *bytes, which the caller frees. */
static res_t write_to_memory(const options_t *options, const ik_export_source_t *source,
                             char **bytes, size_t *len)
{
    *bytes = NULL;
    FILE *out = open_memstream(bytes, len);
    if (out == NULL) {
        return ERR(SYSTEM, "Cannot export: %s", strerror(errno));
    }
    res_t written = options->format->write(out, source);
    bool whole = !ferror(out);
    if (fclose(out) != 0 || !whole) {
        return ERR(SYSTEM, "Not enough memory: export to standard output instead");
    }
    return written;
}

/* --force does not replace devices and folders. */
static res_t check_target(const options_t *options)
{
    struct stat status;
    if (stat(options->path, &status) == 0 && !S_ISREG(status.st_mode)) {
        return ERR(INVALID, "%s is not a regular file: omit --output to use standard output",
                   options->path);
    }
    if (!options->force && lstat(options->path, &status) == 0) {
        return ERR(CONFLICT, "%s already exists: choose another file, or replace it with --force",
                   options->path);
    }
    return OK;
}

typedef struct {
    ik_buffer_t text;
    bool done;
    res_t result;
} patch_t;

static void on_patch(void *data, const res_t *result, const json_t *answer)
{
    patch_t *patch = data;
    patch->done = true;
    patch->result = *result;
    if (answer != NULL) {
        ik_undo_append_text(&patch->text, answer);
    }
}

/* What the session changed. The contents may be gone: then the export has no patch. */
static const char *find_patch(ik_cli_t *cli, ik_store_t *store, const ik_store_session_t *session)
{
    patch_t patch = {0};
    ik_undo_place_t place = {.host = cli->host,
                             .paths = cli->paths,
                             .config = cli->config,
                             .store = store,
                             .session_id = session->id,
                             .folder = session->cwd};
    ik_buffer_init(&patch.text, cli->ctx, IK_BUFFER_UNLIMITED); /* bounded by the answer */
    ik_undo_start_diff(cli->ctx, &place, false, IK_UNDO_PATCH, on_patch, &patch);
    ik_loop_run_until(cli->loop, &patch.done);
    if (is_err(&patch.result)) {
        ik_cli_fail(ik_sprintf(cli->ctx, "The export does not show what the session changed: %s",
                               patch.result.message));
    }
    return patch.text.data;
}

/* Redirected output is streamed, so that the size does not matter. For a terminal, which must not
 * interpret control characters, and for a named file, which must not appear before it is complete,
 * the export is built in memory. */
static res_t export_session(ik_cli_t *cli, ik_history_t *history, void *data)
{
    const options_t *options = data;
    ik_store_session_t session;
    ik_store_t *store;
    char *bytes;
    size_t len;
    TRY(ik_cli_history_read(cli, history, options->id, &session, &store));
    ik_export_source_t source = {.store = store, .session = &session, .images = cli->paths->images};
    if (options->format->shows_changes) {
        source.patch = find_patch(cli, store, &session);
    }
    if (options->path == NULL && !isatty(STDOUT_FILENO)) {
        return options->format->write(stdout, &source);
    }
    res_t written = write_to_memory(options, &source, &bytes, &len);
    if (is_ok(&written) && options->path == NULL) {
        ik_print(stdout, bytes, len);
    } else if (is_ok(&written)) {
        written = ik_file_write_private(options->path, bytes, len);
    }
    free(bytes);
    return written;
}

static int run_export(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *format = ik_cli_args_value(args, "--format");
    options_t options = {.id = args->args[0],
                         .format = ik_export_find(format == NULL ? "jsonl" : format),
                         .path = ik_cli_args_value(args, "--output"),
                         .force = ik_cli_args_has(args, "--force")};
    if (ik_cli_args_has(args, "--json") && options.format != &ik_export_jsonl) {
        return ik_cli_misuse(args->command,
                             "--json means --format jsonl and cannot be used with another format");
    }
    if (options.format == NULL) {
        return ik_cli_misuse(args->command, ik_sprintf(cli->ctx, "--format is one of %s, not '%s'",
                                                       ik_export_names, format));
    }
    res_t possible = options.path == NULL ? OK : check_target(&options);
    return is_ok(&possible) ? ik_cli_history_run(cli, args, export_session, &options)
                            : ik_cli_fail(possible.message);
}

const ik_cli_command_t ik_cli_session_export = {
    .name = "session export",
    .args = "ID",
    .help = "Writes a session as JSON Lines, which import reads, as Markdown or as HTML.",
    .options =
        (const ik_cli_option_t[]){
            {.name = "--format",
             .value = "jsonl|md|html",
             .help = "the format; jsonl by default",
             .more = "JSON Lines hold everything and can be imported; Markdown and HTML (one "
                     "self-contained page) are for people"},
            {.name = "--json", .help = "short for --format jsonl"},
            {.name = "--output",
             .value = "FILE",
             .help = "write to a new file instead of standard output",
             .more = "only you can read it; it appears when it is complete"},
            {.name = "--force", .help = "replace an existing file"},
            IK_CLI_DB_OPTION,
            {0}},
    .min_args = 1,
    .max_args = 1,
    .run = run_export,
};

/* --- import ------------------------------------------------------------------------------ */

static res_t print_import(const void *ctx, ik_store_t *store, const ik_import_t *import)
{
    ik_store_session_t session;
    TRY(ik_store_find(ctx, store, import->session_id, &session));
    ik_print_line(stdout, ik_sprintf(ctx, "%s  %s %lld message%s  %s", import->session_id,
                                     import->known ? "already present," : "imported,",
                                     (long long)import->messages, import->messages == 1 ? "" : "s",
                                     session.title));
    return OK;
}

typedef struct {
    const char *path;
    const char *db;
} import_options_t;

static res_t import_file(ik_cli_t *cli, ik_history_t *history, FILE *in, const char *name,
                         const char *db)
{
    ik_store_t *store;
    ik_import_t *imports;
    size_t count;
    TRY(ik_history_local(history, &store));
    TRY(ik_import_read(cli->ctx, in, name, store, cli->paths->images, &imports, &count));
    ik_blob_sweep_remember(cli->paths, ik_history_local_file(db, cli->paths->database));
    for (size_t i = 0; i < count; i++) {
        TRY(ik_history_share(history, imports[i].session_id));
        TRY(print_import(imports, store, &imports[i]));
    }
    ik_cli_history_settle(history);
    return OK;
}

static res_t import_sessions(ik_cli_t *cli, ik_history_t *history, void *data)
{
    const import_options_t *options = data;
    const char *path = options->path;
    if (strcmp(path, "-") == 0) {
        return import_file(cli, history, stdin, "standard input", options->db);
    }
    FILE *in = fopen(path, "re");
    if (in == NULL) {
        return ERR(SYSTEM, "Cannot open %s: %s", path, strerror(errno));
    }
    res_t imported = import_file(cli, history, in, path, options->db);
    fclose(in);
    return imported;
}

static int run_import(ik_cli_t *cli, const ik_cli_args_t *args)
{
    const char *db = ik_cli_args_value(args, "--db");
    import_options_t options = {.path = args->args[0], .db = db == NULL ? cli->config->db : db};
    return ik_cli_history_run_new(cli, args, import_sessions, &options);
}

const ik_cli_command_t ik_cli_session_import = {
    .name = "session import",
    .args = "FILE|-",
    .help = "Imports sessions from JSON Lines that export wrote; - is standard input.",
    .options = (const ik_cli_option_t[]){IK_CLI_DB_OPTION, {0}},
    .min_args = 1,
    .max_args = 1,
    .run = run_import,
};
