#include "repl/repl_files.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/sanitiser.h"

enum {
    FRESH_MS = 5000,
    PATIENCE_MS = 10000,
    OUTPUT_MAX = 16 * 1024 * 1024,
    FILES_MAX = 100000,
};

struct ik_repl_files {
    ik_process_host_t *host;
    const ik_paths_t *paths;
    void (*on_ready)(void *data);
    void *data;
    char *glob;            /* path of the glob tool */
    ik_process_t *process; /* NULL: none is running */
    bool by_glob;          /* process is the glob tool: there is no repository */
    int64_t asked_ms;
    ik_choice_row_t *items;
    size_t count;
    ik_choice_row_t *before; /* the previous items, which the prompt may use until the next call */
};

ik_repl_files_t *ik_repl_files_create(const void *ctx, ik_process_host_t *host,
                                      const ik_paths_t *paths, void (*on_ready)(void *data),
                                      void *data)
{
    ik_repl_files_t *files = ik_new(ctx, ik_repl_files_t);
    files->host = host;
    files->paths = paths;
    files->glob = ik_sprintf(files, "%s/glob", paths->system_tools);
    files->on_ready = on_ready;
    files->data = data;
    files->asked_ms = -FRESH_MS;
    return files;
}

/* Whether a draft can hold the path. In another form it would name another file. */
static bool can_be_typed(const char *path, size_t len)
{
    return memchr(path, '\n', len) == NULL && ik_sanitise_is_clean(path, len);
}

/* Splits a list of paths and takes ownership of the text. */
static void take_paths(ik_repl_files_t *files, char *text, size_t len, char separator)
{
    size_t most = 1;
    for (size_t i = 0; i < len; i++) {
        most += text[i] == separator;
    }
    files->before = files->items;
    most = most > FILES_MAX ? FILES_MAX : most;
    files->items = ik_new_array(files, ik_choice_row_t, most);
    files->count = 0;
    talloc_steal(files->items, text);
    char *end = text + len;
    while (text < end && files->count < most) {
        char *stop = memchr(text, separator, (size_t)(end - text));
        stop = stop == NULL ? end : stop;
        if (stop > text && can_be_typed(text, (size_t)(stop - text))) {
            *stop = '\0';
            files->items[files->count++].text = text;
        }
        text = stop + 1;
    }
}

/* {"output":"a\nb","count":2} */
static void take_glob(ik_repl_files_t *files, const ik_process_result_t *result)
{
    ik_json_span_t value;
    ik_json_span_t output;
    size_t len;
    if (ik_json_scan(result->out.data == NULL ? "" : result->out.data, result->out.len, &value,
                     NULL) &&
        ik_json_find_kind(value, "output", IK_JSON_STRING, &output)) {
        char *text = ik_json_decode(files, output, &len);
        take_paths(files, text, len, '\n');
    }
}

static void start(ik_repl_files_t *files);

static void on_end(void *data, ik_process_result_t *result)
{
    ik_repl_files_t *files = data;
    files->process = NULL;
    bool worked = result->end == IK_PROCESS_EXITED && result->exit_code == 0;
    if (!worked && !files->by_glob) {
        files->by_glob = true; /* no git, or no repository */
        start(files);
        return;
    }
    if (files->by_glob) {
        take_glob(files, result);
    } else if (result->out.len > 0) {
        char *text = ik_strndup(files, result->out.data, result->out.len);
        take_paths(files, text, result->out.len, '\0');
    }
    files->on_ready(files->data);
}

static void start(ik_repl_files_t *files)
{
    static const char pattern[] = "{\"pattern\":\"**\"}";
    const char *glob[] = {files->glob, NULL};
    /* The configuration of a repository may come from anyone. Without these settings it could have
     * git run a program, as its monitor of files or as the transport for missing objects. */
    const char *git[] = {"/usr/bin/env",
                         "GIT_ALLOW_PROTOCOL=none",
                         "git",
                         "-c",
                         "core.fsmonitor=",
                         "ls-files",
                         "-co",
                         "--exclude-standard",
                         "--deduplicate",
                         "-z",
                         NULL};
    ik_process_options_t options = {
        .argv = files->by_glob ? glob : git,
        .folder = files->paths->cwd,
        .input = files->by_glob ? pattern : NULL,
        .input_len = files->by_glob ? sizeof(pattern) - 1 : 0,
        .max_out = OUTPUT_MAX,
        .idle_ms = PATIENCE_MS,
        .max_ms = PATIENCE_MS,
        .on_end = on_end,
        .data = files,
    };
    res_t started = ik_process_start(files, files->host, &options, &files->process);
    if (is_err(&started)) {
        files->process = NULL; /* the list stays as it is */
    }
}

void ik_repl_files_list(ik_repl_files_t *files, ik_completions_t *out)
{
    int64_t now = ik_clock_now_ms();
    TALLOC_FREE(files->before);
    if (files->process == NULL && now - files->asked_ms >= FRESH_MS) {
        files->asked_ms = now;
        files->by_glob = false;
        start(files);
    }
    out->items = files->items;
    out->count = files->count;
    out->pending = files->process != NULL;
}
