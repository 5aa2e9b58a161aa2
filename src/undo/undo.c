#include "undo/undo.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "undo/checkpoint_run.h"

/* Restoring many files on a slow disk takes a while. */
enum { PATIENCE_MS = 30 * 60 * 1000 };

struct ik_undo_task {
    ik_undo_place_t place;
    ik_undo_request_t request;
    ik_undo_log_t *log;
    const ik_undo_line_t *line;
    ik_checkpoint_run_t *run;
    ik_timer_t *later; /* ends a task that needs no program */
    ik_undo_fn on_end;
    ik_undo_diff_fn on_diff;
    void *data;

    /* --- the plan */
    bool redo;
    const ik_undo_record_t *record; /* that is finished or redone; NULL: another undo */
    const ik_undo_line_t *source;   /* whose events are taken back; NULL: a redo */
    int64_t from;                   /* seqs of the first and last event that are taken back */
    int64_t until;
    ik_undo_segments_t segments;
    ik_undo_segments_t others;
    const char **names; /* as the program names them; NULL: all */
    size_t name_count;
    ik_undo_outcome_t outcome;
    json_t *answer; /* NULL: no files were looked at */
};

/* --- JSON -------------------------------------------------------------------------------- */

static void append_states(ik_buffer_t *out, const char *const *states)
{
    if (states == NULL) {
        ik_buffer_append_text(out, "null");
        return;
    }
    ik_buffer_append_byte(out, '[');
    for (size_t i = 0; states[i] != NULL; i++) {
        ik_buffer_append_text(out, i == 0 ? "" : ",");
        ik_json_append_text(out, states[i]);
    }
    ik_buffer_append_byte(out, ']');
}

static void add_segments(ik_buffer_t *out, const char *name, const ik_undo_segments_t *segments)
{
    ik_json_begin_member(out, name);
    ik_buffer_append_byte(out, '[');
    for (size_t i = 0; i < segments->count; i++) {
        ik_buffer_append_text(out, i == 0 ? "{\"before\":" : ",{\"before\":");
        append_states(out, segments->items[i].before);
        ik_buffer_append_text(out, ",\"after\":");
        append_states(out, segments->items[i].after);
        ik_buffer_append_byte(out, '}');
    }
    ik_buffer_append_byte(out, ']');
}

static void add_flag(ik_buffer_t *out, const char *name, bool value)
{
    ik_json_begin_member(out, name);
    ik_buffer_append_text(out, value ? "true" : "false");
}

void ik_undo_append_text(ik_buffer_t *out, const json_t *answer)
{
    json_t *text = json_object_get(answer, "text");
    if (json_is_string(text)) {
        ik_buffer_append(out, json_string_value(text), json_string_length(text));
    }
    ik_buffer_append_text(out, ""); /* data is never NULL */
}

/* --- the end of a task ------------------------------------------------------------------- */

static void end_task(ik_undo_task_t *task, const res_t *result)
{
    res_t ended = *result;
    ik_alloc_take(task); /* on_end may free its owner */
    if (task->on_diff != NULL) {
        task->on_diff(task->data, &ended, is_ok(&ended) ? task->answer : NULL);
    } else {
        task->on_end(task->data, &ended, is_ok(&ended) ? &task->outcome : NULL);
    }
    json_decref(task->answer);
    talloc_free(task);
}

/* --- recording --------------------------------------------------------------------------- */

/* Adds the states around the restoring, if files were restored. */
static void add_restore(ik_buffer_t *out, const json_t *answer)
{
    static const char *const names[] = {"before", "after"};
    if (json_array_size(json_object_get(answer, "restored")) == 0) {
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        char *states = ik_json_format(NULL, json_object_get(answer, names[i]));
        ik_json_begin_member(out, names[i]);
        ik_buffer_append_text(out, states);
        talloc_free(states);
    }
}

/* The event that records the task; replaced is the agent whose place its writer takes, or 0. */
static ik_msg_t *create_record(const void *ctx, const ik_undo_task_t *task, int64_t replaced)
{
    ik_buffer_t data;
    ik_buffer_init(&data, ctx, IK_BUFFER_UNLIMITED); /* bounded by the answer */
    ik_json_add_number(&data, "turns", (int64_t)task->outcome.turns);
    ik_json_add_text(&data, "prompt", task->outcome.prompt);
    if (replaced != 0) {
        ik_json_add_number(&data, "agent", replaced);
    }
    if (!task->redo) {
        ik_json_add_number(&data, "message", task->from);
        ik_json_add_number(&data, "until", task->until);
    }
    if (!task->redo && task->record != NULL) {
        add_flag(&data, "finishes", true);
    } else if (task->names != NULL) {
        add_flag(&data, "restricted", true);
    }
    add_restore(&data, task->answer);
    ik_undo_outcome_add_files(&data, "conflicts", &task->outcome.conflicts);
    ik_buffer_append_byte(&data, '}');
    return ik_msg_create(ctx, task->redo ? IK_MSG_REDO : IK_MSG_UNDO,
                         ik_undo_outcome_describe(ctx, &task->outcome, false), data.data);
}

/* The mode is a setting of the user and no part of the turns: the agent keeps the one that was set
 * last. */
static ik_msg_t *create_mode(const void *ctx, const ik_undo_task_t *task, const char *before)
{
    const char *mode = task->line->mode;
    if (mode == NULL || (before != NULL && strcmp(mode, before) == 0)) {
        return NULL;
    }
    ik_buffer_t data;
    ik_buffer_init(&data, ctx, IK_BUFFER_UNLIMITED); /* a word */
    ik_json_add_text(&data, "mode", mode);
    ik_buffer_append_byte(&data, '}');
    return ik_msg_create(ctx, IK_MSG_MODE, ik_sprintf(ctx, "The mode is %s.", mode), data.data);
}

/* Appends the record to the log of the agent, whose conversation stays. */
static res_t record_in_place(ik_undo_task_t *task)
{
    ik_msg_t *record = create_record(task, task, 0);
    return ik_session_append(task->place.session, task->place.agent, &record, 1, IK_STORE_FULL);
}

/* Creates the agent that begins with the log of parent up to event `at`, and takes the place of the
 * current one. */
static res_t record_in_fork(ik_undo_task_t *task, int64_t parent, int64_t at, const char *mode)
{
    ik_session_t *session = task->place.session;
    ik_msg_t *events[2] = {create_record(task, task, task->place.agent),
                           create_mode(task, task, mode)};
    int64_t agent = ik_session_fork(session, parent, at);
    task->outcome.agent = agent;
    return ik_session_append(session, agent, events, events[1] == NULL ? 1 : 2, IK_STORE_FULL);
}

static res_t record_undo(ik_undo_task_t *task)
{
    const ik_undo_turn_t *turn = NULL;
    if (task->record != NULL || task->request.keep_conversation) {
        return record_in_place(task);
    }
    for (size_t i = 0; i < task->line->turn_count; i++) {
        turn = task->line->turns[i].seq == task->from ? &task->line->turns[i] : turn;
    }
    return record_in_fork(task, task->place.agent, task->from - 1,
                          turn == NULL ? NULL : turn->mode);
}

static res_t record_redo(ik_undo_task_t *task)
{
    int64_t agent = task->record->agent;
    return agent == 0 ? record_in_place(task)
                      : record_in_fork(task, agent, task->record->until,
                                       ik_undo_log_line(task->log, agent)->mode);
}

/* --- the outcome ------------------------------------------------------------------------- */

static bool is_named(const ik_undo_task_t *task, const char *path)
{
    for (size_t i = 0; i < task->name_count; i++) {
        if (strcmp(task->names[i], path) == 0) {
            return true;
        }
    }
    return false;
}

/* The conflicts of the undo that this one finishes; those of an imported log may have no reason. */
static ik_undo_files_t read_older_conflicts(const ik_undo_task_t *task)
{
    const char *text = task->redo || task->record == NULL ? NULL : task->record->conflicts;
    json_t *older = text == NULL ? NULL : ik_json_parse(text, strlen(text), NULL);
    ik_undo_files_t files = ik_undo_outcome_read_files(task, older);
    json_decref(older);
    for (size_t i = 0; i < files.count; i++) {
        files.items[i].reason = files.items[i].reason == NULL ? "changed" : files.items[i].reason;
    }
    return files;
}

/* When names finish an undo, the conflicts of the other files are still left. */
static void keep_older_conflicts(ik_undo_task_t *task)
{
    if (task->names == NULL) {
        return;
    }
    ik_undo_files_t files = read_older_conflicts(task);
    for (size_t i = 0; i < files.count; i++) {
        const char *path = files.items[i].path;
        if (!is_named(task, path) && !ik_undo_outcome_has_file(&task->outcome.conflicts, path)) {
            ik_undo_files_t *conflicts = &task->outcome.conflicts;
            ik_undo_outcome_add_file(task, conflicts, path, files.items[i].reason);
            conflicts->items[conflicts->count - 1].error = files.items[i].error;
        }
    }
}

/* Makes the path absolute without "." and ".." in it; symlinks are left alone. */
static char *normalise(const void *ctx, const char *folder, const char *name)
{
    char *path = name[0] == '/' ? ik_strdup(ctx, name) : ik_sprintf(ctx, "%s/%s", folder, name);
    char *out = path;
    for (const char *at = path; *at != '\0';) {
        at += strspn(at, "/");
        size_t len = strcspn(at, "/");
        if (len == 2 && strncmp(at, "..", 2) == 0) {
            while (out > path && *--out != '/') {
            }
        } else if (len > 0 && !(len == 1 && *at == '.')) {
            *out++ = '/';
            memmove(out, at, len);
            out += len;
        }
        at += len;
    }
    *out = '\0';
    return path;
}

/* As the program names a file: relative to the folder, absolute outside it. */
static const char *to_name(const char *folder, const char *path)
{
    size_t len = strlen(folder);
    bool inside = strncmp(path, folder, len) == 0 && path[len] == '/';
    return inside ? path + len + 1 : path;
}

/* Files that were changed and of which no state was recorded. Where undo of files is switched off,
 * the user knows. */
static void add_unrecorded(ik_undo_task_t *task)
{
    const ik_config_t *config = task->place.config;
    if (task->source == NULL || task->request.keep_files || task->names != NULL ||
        config->undo_max_files == 0 || config->undo_max_bytes == 0) {
        return;
    }
    for (size_t i = 0; i < task->source->named_count; i++) {
        const ik_undo_named_t *named = &task->source->named[i];
        const char *path =
            to_name(task->place.folder, normalise(task, task->place.folder, named->path));
        if (named->unrecorded && named->seq >= task->from && named->seq <= task->until &&
            !ik_undo_outcome_has_file(&task->outcome.conflicts, path)) {
            ik_undo_outcome_add_file(task, &task->outcome.conflicts, path, "unavailable");
        }
    }
}

static void conclude(ik_undo_task_t *task)
{
    res_t recorded = OK;
    task->outcome.agent = task->place.agent;
    task->outcome.restored =
        ik_undo_outcome_read_files(task, json_object_get(task->answer, "restored"));
    if (task->answer != NULL) {
        task->outcome.conflicts =
            ik_undo_outcome_read_files(task, json_object_get(task->answer, "conflicts"));
    }
    task->outcome.dry_run = task->request.dry_run;
    task->outcome.what = task->redo             ? IK_UNDO_BROUGHT_BACK
                         : task->record != NULL ? IK_UNDO_FINISHED
                                                : IK_UNDO_TAKEN_BACK;
    task->outcome.files_only =
        task->record != NULL ? task->record->agent == 0 : task->request.keep_conversation;
    add_unrecorded(task);
    keep_older_conflicts(task);
    if (task->redo && ik_undo_outcome_has_unwritten(&task->outcome)) {
        task->outcome.files_only = true; /* not recorded, so that it can be tried again */
    } else if (!task->request.dry_run) {
        recorded = task->redo ? record_redo(task) : record_undo(task);
    }
    end_task(task, &recorded);
}

/* When the states are gone, what file_write and file_edit changed is known from their calls. */
static ik_undo_files_t find_unavailable(const ik_undo_task_t *task)
{
    ik_undo_files_t files = {0};
    for (size_t i = 0; task->source != NULL && i < task->source->named_count; i++) {
        const ik_undo_named_t *named = &task->source->named[i];
        const char *path =
            to_name(task->place.folder, normalise(task, task->place.folder, named->path));
        bool wanted = task->name_count == 0 || is_named(task, path);
        if (named->seq >= task->from && named->seq <= task->until && wanted &&
            !ik_undo_outcome_has_file(&files, path)) {
            ik_undo_outcome_add_file(task, &files, path, "unavailable");
        }
    }
    return files;
}

static void on_restored(void *data, const res_t *result, const json_t *answer)
{
    ik_undo_task_t *task = data;
    ik_undo_files_t gone = {0};
    task->run = NULL;
    if (result->code == IK_ERR_GONE) {
        gone = find_unavailable(task);
    }
    if (is_err(result) && gone.count == 0) {
        res_t failed = result->code == IK_ERR_GONE
                           ? ERR(GONE, "The files of these turns are no longer recorded; /rewind N "
                                       "conversation takes back the conversation alone")
                           : *result;
        end_task(task, &failed);
        return;
    }
    task->outcome.conflicts = gone;
    task->answer = json_incref((json_t *)answer);
    conclude(task);
}

/* --- calling the program ----------------------------------------------------------------- */

static void begin_request(ik_buffer_t *out, const ik_undo_task_t *task, const char *op)
{
    ik_buffer_init(out, task, IK_BUFFER_UNLIMITED); /* bounded by the log */
    ik_json_add_text(out, "op", op);
    ik_undo_segments_t segments = ik_undo_log_join(task, &task->segments);
    add_segments(out, "segments", &segments);
}

static void send_request(ik_undo_task_t *task, ik_buffer_t *request, ik_checkpoint_run_fn on_end)
{
    ik_buffer_append_byte(request, '}');
    json_t *object = ik_json_parse(request->data, request->len, NULL);
    task->run =
        ik_checkpoint_run_start(task, &(ik_checkpoint_run_options_t){.host = task->place.host,
                                                                     .paths = task->place.paths,
                                                                     .request = object,
                                                                     .folder = task->place.folder,
                                                                     .max_ms = PATIENCE_MS,
                                                                     .on_end = on_end,
                                                                     .data = task});
    json_decref(object);
    ik_buffer_reset(request);
}

static void restore(ik_undo_task_t *task)
{
    ik_buffer_t request;
    begin_request(&request, task, "restore");
    add_segments(&request, "others", &task->others);
    add_flag(&request, "force", task->request.force);
    add_flag(&request, "dry_run", task->request.dry_run);
    ik_json_add_number(&request, "max_files", task->place.config->undo_max_files);
    ik_json_add_number(&request, "max_bytes", task->place.config->undo_max_bytes);
    ik_json_begin_member(&request, "paths");
    ik_buffer_append_text(&request, task->names == NULL ? "null" : "[");
    for (size_t i = 0; i < task->name_count; i++) {
        ik_buffer_append_text(&request, i == 0 ? "" : ",");
        if (ik_utf8_valid(task->names[i], strlen(task->names[i]))) {
            ik_json_append_text(&request, task->names[i]);
        } else {
            ik_undo_outcome_append_file(&request, &(ik_undo_file_t){.path = task->names[i]});
        }
    }
    ik_buffer_append_text(&request, task->names == NULL ? "" : "]");
    send_request(task, &request, on_restored);
}

/* --- names ------------------------------------------------------------------------------- */

static void add_name(ik_undo_task_t *task, const char *name)
{
    if (!is_named(task, name)) {
        task->names = ik_resize_array(task, task->names, const char *, task->name_count + 1);
        task->names[task->name_count++] = ik_strdup(task->names, name);
    }
}

/* Adds the files that the name stands for: the file itself, or those in the folder. */
static bool add_matches(ik_undo_task_t *task, const char *base, const char *name,
                        const ik_undo_files_t *changed)
{
    bool found = false;
    char *path = normalise(task, base, name);
    for (size_t i = 0; i < changed->count; i++) {
        char *whole = normalise(task, task->place.folder, changed->items[i].path);
        if (ik_file_is_within(whole, path)) {
            add_name(task, to_name(task->place.folder, whole));
            found = true;
        }
        talloc_free(whole);
    }
    talloc_free(path);
    return found;
}

/* Names are relative to the folder of the session, or else to the working folder. A conflict can be
 * named although the turns, all in all, did not change the file. */
static void on_changed(void *data, const res_t *result, const json_t *answer)
{
    ik_undo_task_t *task = data;
    task->run = NULL;
    if (is_err(result)) {
        end_task(task, result);
        return;
    }
    ik_undo_files_t changed = ik_undo_outcome_read_files(task, json_object_get(answer, "files"));
    if (json_is_true(json_object_get(answer, "incomplete"))) {
        ik_undo_files_t gone = find_unavailable(task);
        for (size_t i = 0; i < gone.count; i++) {
            ik_undo_outcome_add_file(task, &changed, gone.items[i].path, NULL);
        }
    }
    ik_undo_files_t left = read_older_conflicts(task);
    for (size_t i = 0; i < left.count; i++) {
        ik_undo_outcome_add_file(task, &changed, left.items[i].path, NULL);
    }
    for (size_t i = 0; task->request.names[i] != NULL; i++) {
        const char *name = task->request.names[i];
        if (!add_matches(task, task->place.folder, name, &changed) &&
            !add_matches(task, task->place.paths->cwd, name, &changed)) {
            res_t unknown = ERR(NOT_FOUND, "There is no change of %s to undo", name);
            end_task(task, &unknown);
            return;
        }
    }
    restore(task);
}

/* --- planning ---------------------------------------------------------------------------- */

/* Takes back the turns from this one on. */
static res_t plan_turns(ik_undo_task_t *task)
{
    const ik_undo_line_t *line = task->line;
    const ik_undo_request_t *request = &task->request;
    size_t count = line->turn_count;
    if (count == 0) {
        return ERR(NOT_FOUND, "There is nothing to undo");
    }
    if (request->message > count || request->turns > count) {
        return ERR(NOT_FOUND, "There %s only %zu turn%s to undo", count == 1 ? "is" : "are", count,
                   count == 1 ? "" : "s");
    }
    size_t first = request->message > 0 ? request->message - 1 : count - request->turns;
    task->outcome.turns = count - first;
    task->outcome.prompt = line->turns[first].prompt;
    task->source = line;
    task->from = line->turns[first].seq;
    task->until = line->last_seq;
    task->request.keep_conversation = request->keep_conversation || request->names != NULL;
    if (!request->keep_files) {
        task->segments = ik_undo_log_between(line, task->from, task->until);
    }
    return OK;
}

/* Finishes the last undo: what it took back is in the log of the agent that it replaced. */
static void plan_finish(ik_undo_task_t *task)
{
    const ik_undo_record_t *record = task->record;
    const ik_undo_line_t *line =
        record->agent == 0 ? task->line : ik_undo_log_line(task->log, record->agent);
    task->source = line;
    task->outcome.turns = (size_t)record->turns;
    task->outcome.prompt = record->prompt;
    task->from = record->message;
    task->until = record->until;
    task->segments = ik_undo_log_between(line, task->from, task->until);
}

static res_t plan_undo(ik_undo_task_t *task)
{
    const ik_undo_record_t *undone = task->line->undone;
    bool insists = task->request.force || task->request.names != NULL;
    if (insists && undone != NULL && undone->conflicts != NULL && !undone->restricted) {
        task->record = undone;
        plan_finish(task);
    } else {
        TRY(plan_turns(task));
    }
    return ik_undo_log_find_others(task->log, task->place.store, task->place.folder, task->source,
                                   &task->segments, &task->others);
}

static res_t plan_redo(ik_undo_task_t *task)
{
    task->record = task->line->undone;
    if (task->record == NULL) {
        return ERR(NOT_FOUND, "There is nothing to redo");
    }
    task->outcome.turns = (size_t)task->record->turns;
    task->outcome.prompt = task->record->prompt;
    task->segments = task->record->restores;
    return OK;
}

/* Reads the log, which must have all events. */
static res_t read_log(ik_undo_task_t *task)
{
    if (task->place.session != NULL) {
        TRY(ik_session_flush(task->place.session));
    }
    res_t read = ik_undo_log_read(task, task->place.store, task->place.session_id, &task->log);
    if (read.code == IK_ERR_NOT_FOUND && task->place.session != NULL) {
        task->line = ik_new(task, ik_undo_line_t); /* nothing is stored yet */
        return OK;
    }
    TRY(read);
    if (task->place.agent == 0) {
        task->place.agent = ik_undo_log_last_agent(task->log);
    }
    task->line = ik_undo_log_line(task->log, task->place.agent);
    return OK;
}

static ik_undo_task_t *create_task(const void *ctx, const ik_undo_place_t *place, void *data)
{
    ik_undo_task_t *task = ik_new(ctx, ik_undo_task_t);
    task->place = *place;
    task->place.session_id = ik_strdup(task, place->session_id);
    task->place.folder = ik_strdup(task, place->folder);
    task->outcome.prompt = "";
    task->data = data;
    return task;
}

/* --- ending without the program ------------------------------------------------------------ */

typedef struct {
    ik_undo_task_t *task;
    res_t result;
} ending_t;

static void on_ending(void *data)
{
    const ending_t *ending = data;
    if (is_ok(&ending->result) && ending->task->on_diff == NULL) {
        conclude(ending->task);
    } else {
        end_task(ending->task, &ending->result);
    }
}

/* on_end is called from the loop, never from a function that starts a task. */
static void end_later(ik_undo_task_t *task, const res_t *result)
{
    ending_t *ending = ik_new(task, ending_t);
    *ending = (ending_t){.task = task, .result = *result};
    task->later = ik_timer_create(task, ik_process_host_loop(task->place.host), on_ending, ending);
    ik_timer_start(task->later, 0);
}

/* --- starting ---------------------------------------------------------------------------- */

static void copy_request(ik_undo_task_t *task, const ik_undo_request_t *request)
{
    size_t count = 0;
    task->request = *request;
    task->request.turns = request->message == 0 && request->turns == 0 ? 1 : request->turns;
    while (request->names != NULL && request->names[count] != NULL) {
        count++;
    }
    const char **names = count == 0 ? NULL : ik_new_array(task, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        names[i] = ik_strdup(names, request->names[i]);
    }
    task->request.names = names;
}

ik_undo_task_t *ik_undo_start(const void *ctx, const ik_undo_place_t *place,
                              const ik_undo_request_t *request, ik_undo_fn on_end, void *data)
{
    ik_undo_task_t *task = create_task(ctx, place, data);
    ik_buffer_t changes;
    task->on_end = on_end;
    copy_request(task, request);
    res_t planned = read_log(task);
    planned = is_ok(&planned) ? plan_undo(task) : planned;
    if (is_err(&planned)) {
        end_later(task, &planned);
    } else if (task->request.names != NULL) {
        begin_request(&changes, task, "diff");
        ik_json_add_text(&changes, "format", "json");
        send_request(task, &changes, on_changed);
    } else if (task->segments.count > 0) {
        restore(task);
    } else {
        end_later(task, &planned);
    }
    return task;
}

ik_undo_task_t *ik_undo_start_redo(const void *ctx, const ik_undo_place_t *place, ik_undo_fn on_end,
                                   void *data)
{
    ik_undo_task_t *task = create_task(ctx, place, data);
    task->on_end = on_end;
    task->redo = true;
    res_t planned = read_log(task);
    planned = is_ok(&planned) ? plan_redo(task) : planned;
    if (is_err(&planned)) {
        end_later(task, &planned);
    } else if (task->segments.count > 0) {
        restore(task);
    } else {
        end_later(task, &planned);
    }
    return task;
}

static void on_diff(void *data, const res_t *result, const json_t *answer)
{
    ik_undo_task_t *task = data;
    task->run = NULL;
    task->answer = json_incref((json_t *)answer);
    end_task(task, result);
}

ik_undo_task_t *ik_undo_start_diff(const void *ctx, const ik_undo_place_t *place, bool turn,
                                   ik_undo_format_t format, ik_undo_diff_fn on_end, void *data)
{
    static const char *const names[] = {
        [IK_UNDO_PATCH] = "patch", [IK_UNDO_STAT] = "stat", [IK_UNDO_JSON] = "json"};
    ik_undo_task_t *task = create_task(ctx, place, data);
    ik_buffer_t request;
    task->on_diff = on_end;
    res_t read = read_log(task);
    if (is_err(&read)) {
        end_later(task, &read);
        return task;
    }
    const ik_undo_line_t *line = task->line;
    if (turn && line->turn_count > 0) {
        task->segments =
            ik_undo_log_between(line, line->turns[line->turn_count - 1].seq, INT64_MAX);
    } else if (!turn && task->log != NULL) {
        task->segments = ik_undo_log_everything(task->log);
    }
    for (size_t i = 0; i < task->segments.count; i++) {
        /* An unsure segment may have the work of others, so it counts as one that changed nothing,
         * unless its calls are running in this process. */
        ik_undo_segment_t *segment = &task->segments.items[i];
        bool running = segment->ended_us == INT64_MAX && task->place.session != NULL;
        if (segment->unsure && !running) {
            segment->after = segment->before;
        }
    }
    if (task->segments.count == 0) {
        task->answer =
            format == IK_UNDO_JSON
                ? json_pack("{s:[]}", "files")
                : json_pack("{s:s}", "text", format == IK_UNDO_STAT ? "0 files changed\n" : "");
        end_later(task, &read);
        return task;
    }
    begin_request(&request, task, "diff");
    ik_json_add_text(&request, "format", names[format]);
    send_request(task, &request, on_diff);
    return task;
}
