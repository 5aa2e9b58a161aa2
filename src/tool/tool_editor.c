#include "tool/tool_editor.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "tool/tool_external.h"
#include "tool/tool_wrapper.h"

enum {
    TEXT_MAX = 16 * 1024 * 1024, /* bytes of a file that is compared or written back */
    PATIENCE_MS = 10000,         /* for the editor */
};

typedef struct {
    const ik_tool_context_t *context;
    const ik_tool_registry_entry_t *entry;
    ik_tool_request_t request; /* with copies of its texts */
    bool changes;              /* it writes the file */
    char *path;
    void *waiting; /* at the editor; NULL: not waiting */
    ik_timer_t *timer;
    char *folder; /* of the copy; NULL: none */
    char *copy;
    bool saved;    /* the disk has what the editor has */
    void *running; /* the external call; NULL: none */
    ik_tool_result_t *result;
} call_t;

/* --- files ------------------------------------------------------------------------------- */

bool ik_tool_editor_serves(const char *name, ik_tool_source_t source)
{
    return source == IK_TOOL_SYSTEM &&
           (strcmp(name, "file_read") == 0 || strcmp(name, "file_write") == 0 ||
            strcmp(name, "file_edit") == 0);
}

/* Hidden files are those that rooms protect, and secrets if the project is the home folder. below
 * is the path from the project on, with its first slash. */
static bool is_plain(const char *below)
{
    for (const char *part = below; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (*part == '.' || *part == '\0' || *part == '/') {
            return false;
        }
    }
    return true;
}

static bool is_hidden(const ik_config_t *config, const char *path)
{
    for (const char **place = config->hidden; place != NULL && *place != NULL; place++) {
        char real[PATH_MAX];
        if (ik_file_is_within(path, realpath(*place, real) == NULL ? *place : real)) {
            return true;
        }
    }
    return false;
}

char *ik_tool_editor_find(const void *ctx, const char *folder, const ik_config_t *config,
                          const char *arguments, size_t len)
{
    char root[PATH_MAX];
    char parent[PATH_MAX];
    struct stat status;
    ik_json_span_t object, value;
    size_t name_len;
    if (!ik_json_scan(arguments, len, &object, NULL) ||
        !ik_json_find_kind(object, "file_path", IK_JSON_STRING, &value)) {
        return NULL;
    }
    void *scratch = talloc_new(NULL);
    char *named = ik_json_decode(scratch, value, &name_len);
    char *full = NULL;
    if (*named == '\0' || strlen(named) != name_len || realpath(folder, root) == NULL) {
        talloc_free(scratch);
        return NULL;
    }
    char *path = *named == '/' ? named : ik_file_join(scratch, root, named);
    char *above = ik_file_folder(scratch, path);
    if (realpath(above, parent) != NULL && ik_file_is_within(parent, root)) {
        full = ik_file_join(ctx, parent, strrchr(path, '/') + 1);
        bool missing = lstat(full, &status) < 0;
        if (!is_plain(full + (strcmp(root, "/") == 0 ? 0 : strlen(root))) ||
            is_hidden(config, full) || (!missing && !S_ISREG(status.st_mode))) {
            TALLOC_FREE(full);
        }
    }
    talloc_free(scratch);
    return full;
}

bool ik_tool_editor_is_saved(const char *path, const char *text, size_t len)
{
    char *bytes;
    size_t bytes_len;
    void *scratch = talloc_new(NULL);
    res_t read = ik_file_read(scratch, path, TEXT_MAX, &bytes, &bytes_len);
    bool same = is_ok(&read) && bytes_len == len && memcmp(bytes, text, len) == 0;
    talloc_free(scratch);
    return same;
}

/* --- the end ----------------------------------------------------------------------------- */

static int remove_copy(call_t *call)
{
    talloc_free(call->waiting);
    if (call->folder != NULL) {
        ik_file_remove_tree(AT_FDCWD, call->folder);
    }
    return 0;
}

static void deliver(void *data)
{
    call_t *call = data;
    call->request.on_end(call->request.data, call->result);
}

static void fail(call_t *call, const char *code, const char *why)
{
    call->result = ik_new(call, ik_tool_result_t);
    call->result->owner = talloc_new(call);
    call->result->envelope = ik_tool_wrap_refusal(call->result->owner, code, why);
}

/* Runs the call on the disk. */
static void run_plainly(call_t *call)
{
    call->running = ik_tool_external.start(call, call->context, call->entry, &call->request);
}

static void stop_waiting(call_t *call)
{
    TALLOC_FREE(call->waiting);
    TALLOC_FREE(call->timer);
}

static void wait_for_editor(call_t *call, void (*on_timeout)(void *data))
{
    call->timer =
        ik_timer_create(call, ik_process_host_loop(call->context->host), on_timeout, call);
    ik_timer_start(call->timer, PATIENCE_MS);
}

/* --- writing ----------------------------------------------------------------------------- */

static void on_written(void *data, bool written)
{
    call_t *call = data;
    call->waiting = NULL;
    TALLOC_FREE(call->timer);
    if (written) {
        deliver(call);
    } else if (call->saved) {
        run_plainly(call);
    } else {
        fail(call, "WRITE_FAILED", "The editor has unsaved changes and could not write the file");
        deliver(call);
    }
}

static void on_write_timeout(void *data)
{
    stop_waiting(data);
    on_written(data, false);
}

/* Whether the result reports a change. */
static bool has_changed(const ik_tool_result_t *result)
{
    ik_json_span_t envelope, inner, error;
    return result->success &&
           ik_json_scan(result->envelope, strlen(result->envelope), &envelope, NULL) &&
           ik_json_find_kind(envelope, "result", IK_JSON_OBJECT, &inner) &&
           !ik_json_find(inner, "error", &error);
}

static void on_copy_end(void *data, const ik_tool_result_t *result)
{
    call_t *call = data;
    char *text;
    size_t len;
    call->running = NULL; /* freed with the call */
    call->result = ik_tool_result_take(call, result);
    if (!call->changes || !has_changed(result)) {
        deliver(call);
        return;
    }
    res_t read = ik_file_read(call, call->copy, TEXT_MAX, &text, &len);
    const ik_tool_editor_t *editor = call->context->editor;
    call->waiting = is_ok(&read)
                        ? editor->write(editor->editor, call->path, text, len, on_written, call)
                        : NULL;
    if (call->waiting == NULL) {
        on_written(call, false);
    } else {
        wait_for_editor(call, on_write_timeout);
    }
}

/* --- reading ----------------------------------------------------------------------------- */

/* The arguments with another file, on ctx. */
static char *redirect(const void *ctx, const ik_tool_request_t *request, const char *path)
{
    ik_json_span_t arguments = {0};
    ik_buffer_t change;
    ik_buffer_t merged;
    ik_buffer_init(&change, ctx, IK_BUFFER_UNLIMITED); /* bounded by the path */
    ik_buffer_init(&merged, ctx, IK_BUFFER_UNLIMITED); /* bounded by the arguments and the path */
    ik_json_scan(request->arguments, request->arguments_len, &arguments, NULL); /* an object */
    ik_json_add_text(&change, "file_path", path);
    ik_buffer_append_byte(&change, '}');
    ik_json_append_merged(&merged, arguments, (ik_json_span_t){change.data, change.len});
    ik_buffer_reset(&change);
    return ik_buffer_finish(&merged);
}

/* Lets the tool work on a copy. false: it cannot be made. */
static bool run_on_copy(call_t *call, const char *text, size_t len)
{
    char *folder = ik_strdup(call, "/tmp/ikigai-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return false;
    }
    call->folder = folder;
    call->copy = ik_file_join(call, folder, strrchr(call->path, '/') + 1);
    if (text != NULL) {
        res_t written = ik_file_write_private_fast(call->copy, text, len);
        if (is_err(&written)) {
            return false;
        }
    }
    ik_tool_request_t request = call->request;
    request.arguments = redirect(call, &call->request, call->copy);
    request.arguments_len = strlen(request.arguments);
    request.room = NULL;
    request.confined = NULL;
    request.on_end = on_copy_end;
    request.data = call;
    call->running = ik_tool_external.start(call, call->context, call->entry, &request);
    return true;
}

static void on_read(void *data, const char *text, size_t len)
{
    call_t *call = data;
    struct stat status;
    call->waiting = NULL;
    TALLOC_FREE(call->timer);
    bool missing = lstat(call->path, &status) < 0;
    call->saved = text == NULL || ik_tool_editor_is_saved(call->path, text, len);
    bool creates = text == NULL && missing && strcmp(call->entry->name, "file_write") == 0;
    if ((text == NULL && !creates) || len > TEXT_MAX || !run_on_copy(call, text, len)) {
        run_plainly(call);
    }
}

static void on_read_timeout(void *data)
{
    stop_waiting(data);
    on_read(data, NULL, 0);
}

/* --- the runner -------------------------------------------------------------------------- */

/* The texts belong to the caller, who may free them when start returns. */
static void copy_request(call_t *call, const ik_tool_request_t *request)
{
    call->request.name = ik_strdup(call, request->name);
    call->request.arguments = ik_strndup(call, request->arguments, request->arguments_len);
    call->request.call_id = request->call_id == NULL ? NULL : ik_strdup(call, request->call_id);
    call->request.session_id =
        request->session_id == NULL ? NULL : ik_strdup(call, request->session_id);
    call->request.confined = request->confined == NULL ? NULL : ik_strdup(call, request->confined);
}

static void *start(const void *ctx, const ik_tool_context_t *context,
                   const ik_tool_registry_entry_t *entry, const ik_tool_request_t *request)
{
    const ik_tool_editor_t *editor = context->editor;
    call_t *call = ik_new(ctx, call_t);
    call->context = context;
    call->entry = entry;
    call->changes = strcmp(entry->name, "file_read") != 0;
    call->request = *request;
    bool able = editor != NULL && (!call->changes || (request->may_write && editor->write != NULL));
    call->path = able ? ik_tool_editor_find(call, context->folder, context->config,
                                            request->arguments, request->arguments_len)
                      : NULL;
    call->waiting =
        call->path == NULL ? NULL : editor->read(editor->editor, call->path, on_read, call);
    if (call->waiting == NULL) {
        run_plainly(call);
        return call;
    }
    copy_request(call, request);
    talloc_set_destructor(call, remove_copy);
    wait_for_editor(call, on_read_timeout);
    return call;
}

static void cancel(void *data)
{
    call_t *call = data;
    if (call->running != NULL) {
        ik_tool_external.cancel(call->running);
    } else if (call->waiting != NULL) {
        stop_waiting(call);
        fail(call, IK_TOOL_INTERRUPTED, "The call was interrupted while it waited for the editor");
        call->timer =
            ik_timer_create(call, ik_process_host_loop(call->context->host), deliver, call);
        ik_timer_start(call->timer, 0);
    }
}

const ik_tool_runner_t ik_tool_editor_runner = {.start = start, .cancel = cancel};
