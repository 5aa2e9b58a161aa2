/*
 * Takes states of a folder's files, compares them and restores them, for undo. One JSON object on
 * standard input names the operation, one line of JSON on standard output is the answer:
 *
 *   take     {"folder", "blobs", "previous": [ID…], "tree", "paths", "database",
 *             "max_files", "max_bytes"}
 *            -> {"state", "files", "changed", "left_out": [{"path", "bytes"}], "limit"}
 *   diff     {"folder", "blobs", "segments", "format": "patch"|"stat"|"json"}
 *            -> {"text"} or {"files": [{"path", "status", "added", "removed", "binary"}]}
 *   restore  {"folder", "blobs", "segments", "others", "force", "paths", "dry_run", …}
 *            -> {"restored": [{"path"}], "conflicts": [{"path", "reason"}], "before", "after"}
 *   sweep    {"blobs", "keep": [ID…], "max_bytes"} -> {"removed", "bytes"}
 *
 * The files of "database", an absolute path, are left out where a state is taken; without it, or
 * with null, only what is beside the blobs. A segment is {"before": [ID…], "after": [ID…]}; with
 * "after": null what is there now is its end. A path that is not UTF-8 is written {"path_base64"}.
 * A failure is {"error"} and exit status 1, with "code": "GONE" when a state is no longer there.
 * diff leaves out segments whose states are gone and adds "incomplete": true; restore leaves out
 * such others.
 *
 * The program executes nothing, and the folder, its repository and its files may be hostile.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/json.h"
#include "checkpoint/patch.h"
#include "checkpoint/place.h"
#include "checkpoint/restore.h"
#include "checkpoint/segment.h"
#include "checkpoint/sweep.h"
#include "checkpoint/take.h"

enum { REQUEST_MAX = 256 << 20, DEFAULT_FILES = 50000, DEFAULT_BYTES = 256 << 20 };

/* --- reading the request -------------------------------------------------------------------- */

static uint64_t get_limit(const json_t *request, const char *name, uint64_t otherwise)
{
    const json_t *value = json_object_get(request, name);
    return json_is_integer(value) && json_integer_value(value) >= 0
               ? (uint64_t)json_integer_value(value)
               : otherwise;
}

/* A string, or {"path_base64"}; NULL when it cannot be a path. */
static const char *get_path(const void *ctx, const json_t *value)
{
    const json_t *said = json_is_object(value) ? json_object_get(value, "path") : value;
    const char *text = json_string_value(said);
    const char *coded = json_string_value(json_object_get(value, "path_base64"));
    if (coded == NULL) {
        return text != NULL && strlen(text) == json_string_length(said) ? text : NULL;
    }
    ik_buffer_t bytes;
    ik_buffer_init(&bytes, ctx, REQUEST_MAX);
    ik_buffer_append(&bytes, "", 0);
    return ik_base64_append_decoded(&bytes, coded, strlen(coded)) && strlen(bytes.data) == bytes.len
               ? ik_buffer_finish(&bytes)
               : NULL;
}

static res_t need_path(const void *ctx, const json_t *request, const char *name, const char **out)
{
    *out = get_path(ctx, json_object_get(request, name));
    return *out == NULL || (*out)[0] != '/' ? ERR(INVALID, "\"%s\" must be an absolute path", name)
                                            : OK;
}

static res_t get_paths(const void *ctx, const json_t *request, const char ***out, size_t *count)
{
    const json_t *array = json_object_get(request, "paths");
    *count = 0;
    *out = ik_new_array(ctx, const char *, json_array_size(array));
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *path = get_path(ctx, json_array_get(array, i));
        if (path == NULL || path[0] == '\0') {
            return ERR(INVALID, "\"paths\" must contain paths");
        }
        (*out)[(*count)++] = path;
    }
    return OK;
}

/* Loads the states of a list of ids. With lenient, those that cannot be loaded are left out. */
static res_t get_states(const void *ctx, ik_place_t *place, const json_t *ids, bool lenient,
                        ik_state_t ***out, size_t *count)
{
    *count = 0;
    *out = ik_new_array(ctx, ik_state_t *, json_array_size(ids));
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const char *id = json_string_value(json_array_get(ids, i));
        if (id == NULL) {
            return ERR(INVALID, "A state must be named by a string");
        }
        res_t loaded = ik_states_load(place->states, id, &(*out)[*count]);
        if (is_ok(&loaded)) {
            ++*count;
        } else if (!lenient) {
            return loaded;
        }
    }
    return OK;
}

/* Takes what is there now as the end of a segment. */
static res_t end_now(const void *ctx, ik_place_t *place, ik_segment_t *segment)
{
    ik_take_request_t request = {.previous = segment->before,
                                 .previous_count = segment->before_count};
    const char **paths = NULL;
    for (size_t i = 0; i < segment->before_count; i++) {
        const ik_state_t *state = segment->before[i];
        request.tree |= state->tree;
        for (size_t e = 0; e < state->count; e++) {
            const ik_entry_t *entry = &state->entries[e];
            bool named = !state->tree || entry->path[0] == '/' || entry->kind == IK_ENTRY_ABSENT;
            if (named && entry->path_len > 0 && entry->path[entry->path_len - 1] != '/') {
                paths = ik_resize_array(ctx, paths, const char *, request.path_count + 1);
                paths[request.path_count++] =
                    entry->path[0] == '/' ? entry->path
                                          : ik_sprintf(ctx, "%s/%s", place->folder, entry->path);
            }
        }
    }
    request.paths = paths;
    ik_take_t taken;
    TRY(ik_take_run(place, &request, &taken));
    segment->after = ik_new_array(ctx, ik_state_t *, 1);
    segment->after[0] = taken.state;
    segment->after_count = 1;
    return OK;
}

/* Leaves out states of the tree that a later one in the list overrides: calls of several agents
 * that overlapped have one each. What such a state lists must not count as shared by both ends. */
static void drop_overridden(ik_state_t **states, size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        bool overridden = false;
        for (size_t k = i + 1; states[i]->tree && k < *count; k++) {
            overridden = overridden ||
                         (states[k]->tree && strcmp(states[k]->folder, states[i]->folder) == 0);
        }
        if (!overridden) {
            states[kept++] = states[i];
        }
    }
    *count = kept;
}

static res_t get_segment(const void *ctx, ik_place_t *place, const json_t *item,
                         ik_segment_t *segment)
{
    const json_t *after = json_object_get(item, "after");
    TRY(get_states(ctx, place, json_object_get(item, "before"), false, &segment->before,
                   &segment->before_count));
    if (json_is_array(after)) {
        TRY(get_states(ctx, place, after, false, &segment->after, &segment->after_count));
    } else if (ik_segment_is_elsewhere(segment, place)) {
        return ERR(NOT_FOUND, "The end of calls in another folder was not recorded");
    } else {
        TRY(end_now(ctx, place, segment));
    }
    drop_overridden(segment->before, &segment->before_count);
    drop_overridden(segment->after, &segment->after_count);
    if (ik_segment_is_elsewhere(segment, place)) {
        ik_segment_translate(ctx, segment, place);
    }
    return OK;
}

/* Loads segments. gone may be NULL: then a state that is gone is an error; otherwise segments with
 * such states are left out, and *gone says that there were some. */
static res_t get_segments(const void *ctx, ik_place_t *place, const json_t *array,
                          ik_segment_t **out, size_t *count, bool *gone)
{
    *count = 0;
    *out = ik_new_array(ctx, ik_segment_t, json_array_size(array));
    for (size_t i = 0; i < json_array_size(array); i++) {
        res_t loaded = get_segment(ctx, place, json_array_get(array, i), &(*out)[*count]);
        if (is_ok(&loaded)) {
            ++*count;
        } else if (gone == NULL || loaded.code == IK_ERR_INVALID) {
            return loaded;
        } else {
            *gone = true;
        }
    }
    return OK;
}

static res_t open_place(const void *ctx, const json_t *request, ik_place_t **place)
{
    const char *folder;
    const char *blobs;
    TRY(need_path(ctx, request, "folder", &folder));
    TRY(need_path(ctx, request, "blobs", &blobs));
    const char *database = get_path(ctx, json_object_get(request, "database"));
    TRY(ik_place_open(ctx, folder, blobs, database, place));
    (*place)->max_files = get_limit(request, "max_files", DEFAULT_FILES);
    (*place)->max_bytes = get_limit(request, "max_bytes", DEFAULT_BYTES);
    return ik_sweep_lock(blobs, false);
}

static res_t cannot_open(const ik_place_t *place)
{
    return ERR(SYSTEM, "Cannot open %s: %s", place->folder, strerror(place->error));
}

/* The folder need not exist: a call may have removed it. */
static res_t open_folder(const void *ctx, const json_t *request, ik_place_t **place)
{
    TRY(open_place(ctx, request, place));
    return (*place)->error == 0 || (*place)->error == ENOENT ? OK : cannot_open(*place);
}

/* --- the operations -------------------------------------------------------------------------- */

static void add_left_out(ik_buffer_t *out, const ik_state_t *state)
{
    void *scratch = talloc_new(NULL);
    ik_json_begin_member(out, "left_out");
    ik_buffer_append_byte(out, '[');
    bool first = true;
    for (const ik_state_t *layer = state; layer != NULL; layer = layer->base) {
        for (size_t i = 0; i < layer->count; i++) {
            const ik_entry_t *entry = &layer->entries[i];
            if ((entry->kind != IK_ENTRY_UNKEPT && !ik_entry_is_unreadable(entry)) ||
                ik_state_find(state, entry->path, entry->path_len, NULL) != entry) {
                continue;
            }
            ik_buffer_t object;
            ik_buffer_init(&object, scratch, IK_BUFFER_UNLIMITED); /* bounded by the path */
            ik_patch_add_path(&object, entry->path);
            ik_json_add_number(&object, "bytes", (int64_t)entry->size);
            ik_buffer_append_text(out, first ? "" : ",");
            ik_buffer_append(out, object.data, object.len);
            ik_buffer_append_byte(out, '}');
            first = false;
        }
    }
    ik_buffer_append_byte(out, ']');
    talloc_free(scratch);
}

/* Beyond max_bytes the oldest states go, but not this one and those before it. */
static void make_room(const void *ctx, ik_place_t *place, const ik_take_request_t *request,
                      const ik_state_t *state)
{
    if (ik_contents_total(place->contents) + ik_git_objects_total(place->objects) <=
        place->max_bytes) {
        return;
    }
    const char **held = ik_new_array(ctx, const char *, request->previous_count + 1);
    ik_sweep_request_t what = {.blobs = place->blobs,
                               .keep_all = true,
                               .max_bytes = place->max_bytes / 8 * 7,
                               /* not at every call */ .held = held};
    held[what.held_count++] = state->id;
    for (size_t i = 0; i < request->previous_count; i++) {
        held[what.held_count++] = request->previous[i]->id;
    }
    ik_sweep_t swept;
    res_t result = ik_sweep_lock(place->blobs, true);
    if (is_ok(&result)) {
        result = ik_sweep_run(ctx, &what, &swept);
    }
    (void)result; /* the state is stored all the same */
}

static res_t run_take(const void *ctx, const json_t *request, ik_buffer_t *out)
{
    ik_place_t *place;
    ik_take_request_t what = {.tree = json_is_true(json_object_get(request, "tree"))};
    const char **paths;
    ik_take_t taken;
    TRY(open_folder(ctx, request, &place));
    TRY(get_states(ctx, place, json_object_get(request, "previous"), true, &what.previous,
                   &what.previous_count));
    if (place->error != 0 && what.previous_count == 0) {
        return cannot_open(place);
    }
    TRY(get_paths(ctx, request, &paths, &what.path_count));
    what.paths = paths;
    TRY(ik_take_run(place, &what, &taken));
    ik_json_add_text(out, "state", taken.state->id);
    ik_json_add_number(out, "files", (int64_t)taken.state->file_count);
    ik_json_begin_member(out, "changed");
    ik_buffer_append_text(out, taken.changed ? "true" : "false");
    add_left_out(out, taken.state);
    if (ik_contents_added(place->contents) > 0) {
        make_room(ctx, place, &what, taken.state);
    }
    ik_json_add_text(out, "limit", taken.limit);
    ik_buffer_append_byte(out, '}');
    return OK;
}

static res_t run_diff(const void *ctx, const json_t *request, ik_buffer_t *out)
{
    ik_place_t *place;
    ik_segment_t *segments;
    size_t count;
    const char *format = json_string_value(json_object_get(request, "format"));
    ik_patch_format_t chosen;
    if (format != NULL && strcmp(format, "patch") == 0) {
        chosen = IK_PATCH_FULL;
    } else if (format != NULL && strcmp(format, "stat") == 0) {
        chosen = IK_PATCH_STAT;
    } else if (format != NULL && strcmp(format, "json") == 0) {
        chosen = IK_PATCH_JSON;
    } else {
        return ERR(INVALID, "\"format\" must be patch, stat or json");
    }
    TRY(open_place(ctx, request, &place));
    bool gone = false;
    TRY(get_segments(ctx, place, json_object_get(request, "segments"), &segments, &count, &gone));
    if (gone) {
        ik_json_begin_member(out, "incomplete");
        ik_buffer_append_text(out, "true");
    }
    if (chosen == IK_PATCH_JSON) {
        ik_json_begin_member(out, "files");
        ik_buffer_append_byte(out, '[');
        ik_patch_append(out, place, segments, count, chosen);
        ik_buffer_append_text(out, "]}");
        return OK;
    }
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by the changes */
    ik_buffer_append(&text, "", 0);
    ik_patch_append(&text, place, segments, count, chosen);
    ik_json_begin_member(out, "text");
    ik_json_append_string(out, text.data, text.len);
    ik_buffer_append_byte(out, '}');
    return OK;
}

static void add_files(ik_buffer_t *out, const char *name, const ik_restore_t *restored, bool done)
{
    ik_json_begin_member(out, name);
    ik_buffer_append_byte(out, '[');
    bool first = true;
    for (size_t i = 0; i < restored->count; i++) {
        const ik_restore_file_t *file = &restored->files[i];
        if ((file->outcome == IK_RESTORE_DONE) != done) {
            continue;
        }
        ik_buffer_t object;
        ik_buffer_init(&object, NULL, IK_BUFFER_UNLIMITED); /* bounded by the path */
        ik_patch_add_path(&object, file->path);
        if (!done) {
            ik_json_add_text(&object, "reason",
                             file->outcome == IK_RESTORE_CHANGED ? "changed" : "unavailable");
        }
        if (file->error != NULL) {
            ik_json_add_text(&object, "error", file->error);
        }
        ik_buffer_append_text(out, first ? "" : ",");
        ik_buffer_append(out, object.data, object.len);
        ik_buffer_append_byte(out, '}');
        ik_buffer_reset(&object);
        first = false;
    }
    ik_buffer_append_byte(out, ']');
}

static void add_state(ik_buffer_t *out, const char *name, const ik_state_t *state)
{
    ik_json_begin_member(out, name);
    ik_buffer_append_byte(out, '[');
    if (state != NULL) {
        ik_json_append_text(out, state->id);
    }
    ik_buffer_append_byte(out, ']');
}

/* The path as states write it, however the caller wrote it. */
static const char *path_in_state(const void *ctx, const ik_place_t *place, const char *folder,
                                 const char *path)
{
    char *clean = ik_strdup(ctx, path);
    size_t len = strlen(clean);
    while (len > 1 && clean[len - 1] == '/') {
        clean[--len] = '\0';
    }
    const char *roots[] = {place->folder, folder};
    for (int i = 0; i < 2 && clean[0] == '/'; i++) {
        size_t root = strlen(roots[i]);
        while (root > 0 && roots[i][root - 1] == '/') {
            root--;
        }
        if (strncmp(clean, roots[i], root) == 0 && (clean[root] == '/' || clean[root] == '\0')) {
            clean += root + (clean[root] == '/');
            break;
        }
    }
    while (strncmp(clean, "./", 2) == 0) {
        clean += 2;
    }
    return strcmp(clean, ".") == 0 ? "" : clean;
}

/* A text that is the same whenever these segments are restored. */
static const char *name_segments(const void *ctx, const json_t *request, const ik_place_t *place)
{
    char *segments =
        json_dumps(json_object_get(request, "segments"), JSON_COMPACT | JSON_SORT_KEYS);
    const char *text = ik_sprintf(ctx, "%s\n%s", place->folder, segments);
    free(segments);
    return text;
}

static res_t run_restore(const void *ctx, const json_t *request, ik_buffer_t *out)
{
    ik_place_t *place;
    ik_segment_t *segments;
    ik_segment_t *others;
    const char **paths;
    ik_restore_request_t what = {
        .force = json_is_true(json_object_get(request, "force")),
        .dry_run = json_is_true(json_object_get(request, "dry_run")),
        .restricted = json_is_array(json_object_get(request, "paths")),
    };
    ik_restore_t restored;
    TRY(open_folder(ctx, request, &place));
    TRY(get_segments(ctx, place, json_object_get(request, "segments"), &segments,
                     &what.segment_count, NULL));
    bool gone;
    TRY(get_segments(ctx, place, json_object_get(request, "others"), &others, &what.other_count,
                     &gone));
    TRY(get_paths(ctx, request, &paths, &what.path_count));
    const char *folder = get_path(ctx, json_object_get(request, "folder"));
    for (size_t i = 0; i < what.path_count; i++) {
        paths[i] = path_in_state(ctx, place, folder, paths[i]);
    }
    what.what = name_segments(ctx, request, place);
    what.segments = segments;
    what.others = others;
    what.paths = paths;
    TRY(ik_restore_run(ctx, place, &what, &restored));
    add_files(out, "restored", &restored, true);
    add_files(out, "conflicts", &restored, false);
    add_state(out, "before", restored.before);
    add_state(out, "after", restored.after);
    ik_buffer_append_byte(out, '}');
    return OK;
}

/* Removes states that no session names, and what only they needed. */
static res_t run_sweep(const void *ctx, const json_t *request, ik_buffer_t *out)
{
    const json_t *ids = json_object_get(request, "keep");
    const char **keep = ik_new_array(ctx, const char *, json_array_size(ids));
    ik_sweep_request_t what = {.keep = keep};
    ik_sweep_t swept;
    TRY(need_path(ctx, request, "blobs", &what.blobs));
    if (!json_is_array(ids)) {
        return ERR(INVALID, "\"keep\" must be an array");
    }
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const char *id = json_string_value(json_array_get(ids, i));
        if (id != NULL) {
            keep[what.keep_count++] = id;
        }
    }
    what.max_bytes = get_limit(request, "max_bytes", DEFAULT_BYTES);
    TRY(ik_sweep_lock(what.blobs, true));
    TRY(ik_sweep_run(ctx, &what, &swept));
    ik_json_add_number(out, "removed", (int64_t)swept.removed);
    ik_json_add_number(out, "bytes", (int64_t)swept.bytes);
    ik_buffer_append_byte(out, '}');
    return OK;
}

/* --- main ------------------------------------------------------------------------------------ */

typedef struct {
    const char *name;
    res_t (*run)(const void *ctx, const json_t *request, ik_buffer_t *out);
} operation_t;

static const operation_t operations[] = {
    {"take", run_take},
    {"diff", run_diff},
    {"restore", run_restore},
    {"sweep", run_sweep},
};

static res_t answer(const void *ctx, ik_buffer_t *out)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, REQUEST_MAX);
    ik_buffer_append(&text, "", 0);
    for (;;) {
        size_t room = ik_buffer_reserve(&text, 65536);
        ssize_t got = room == 0 ? 0 : read(STDIN_FILENO, text.data + text.len, room);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        text.len += (size_t)got;
    }
    json_error_t fault;
    json_t *request = ik_json_adopt(ctx, ik_json_parse(text.data, text.len, &fault));
    const char *name = json_string_value(json_object_get(request, "op"));
    for (size_t i = 0; name != NULL && i < sizeof(operations) / sizeof(operations[0]); i++) {
        if (strcmp(operations[i].name, name) == 0) {
            return operations[i].run(ctx, request, out);
        }
    }
    return name == NULL ? ERR(INVALID, "The request is not a JSON object with \"op\"")
                        : ERR(INVALID, "Unknown operation '%s'", name);
}

/* A mapped file of the repository became shorter. */
static void on_bus_error(int number)
{
    (void)number;
    static const char text[] = "{\"error\":\"A file changed while it was read\"}\n";
    ssize_t ignored = write(STDOUT_FILENO, text, sizeof(text) - 1);
    (void)ignored;
    _exit(1);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGBUS, on_bus_error);
    ik_json_seed();
    void *ctx = talloc_new(NULL);
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the changes */
    res_t result = answer(ctx, &out);
    if (is_err(&result)) {
        ik_buffer_reset(&out);
        ik_json_add_text(&out, "error", result.message);
        if (result.code == IK_ERR_NOT_FOUND || result.code == IK_ERR_DAMAGED) {
            ik_json_add_text(&out, "code", "GONE");
        }
        ik_buffer_append_byte(&out, '}');
    }
    ik_buffer_append_byte(&out, '\n');
    bool written = ik_file_write_all(STDOUT_FILENO, out.data, out.len);
    talloc_free(ctx);
    return is_ok(&result) && written ? 0 : 1;
}
