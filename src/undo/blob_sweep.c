#include "undo/blob_sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/blob.h"
#include "base/file.h"
#include "conversation/message.h"
#include "store/history.h"
#include "undo/checkpoint_run.h"

enum {
    SWEEP_MS = 120000,
    YOUNG_SECONDS = 3600, /* an image that is younger may belong to a message that waits */
    DATABASES_MAX = 1 << 20,
};

/* What sessions name. */
typedef struct {
    json_t *states; /* an array of ids */
    json_t *images; /* an object by name */
} needed_t;

/* --- what is needed ------------------------------------------------------------------------ */

/* A record names states in arrays of strings. */
static void add_states(needed_t *needed, ik_json_span_t data)
{
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    while (ik_json_next_member(data, &position, &key, &value)) {
        size_t at = 0;
        ik_json_span_t state;
        while (ik_json_is(value, IK_JSON_ARRAY) && ik_json_next_element(value, &at, &state)) {
            if (ik_json_is(state, IK_JSON_STRING)) {
                char *id = ik_json_decode(NULL, state, NULL);
                json_array_append_new(needed->states, json_string(id));
                talloc_free(id);
            }
        }
    }
}

static void add_images(needed_t *needed, const ik_store_event_t *event)
{
    ik_msg_t *message = ik_msg_create(NULL, event->kind, NULL, event->data_json);
    ik_msg_image_t *images;
    size_t count = ik_msg_images(message, message, &images);
    for (size_t i = 0; i < count; i++) {
        json_object_set_new(needed->images, images[i].sha256.hex, json_true());
    }
    talloc_free(message);
}

static res_t on_event(void *data, const ik_store_event_t *event)
{
    needed_t *needed = data;
    ik_json_span_t span;
    if (event->data_json == NULL ||
        !ik_json_scan(event->data_json, strlen(event->data_json), &span, NULL) ||
        !ik_json_is(span, IK_JSON_OBJECT)) {
        return OK;
    }
    if (ik_msg_kind_is_record(event->kind)) {
        add_states(needed, span);
    } else {
        add_images(needed, event);
    }
    return OK;
}

static res_t find_needed(const void *ctx, ik_store_t *store, needed_t *needed)
{
    ik_store_list_t *list;
    TRY(ik_store_list(ctx, store, &(ik_store_filter_t){.uncounted = true}, &list));
    for (size_t i = 0; i < list->count; i++) {
        ik_store_agents_t *agents;
        TRY(ik_store_agents(ctx, store, list->sessions[i].id, &agents));
        for (size_t a = 0; a < agents->count; a++) {
            const ik_store_agent_t *agent = &agents->agents[a];
            TRY(ik_store_read(store, agent, agent->forked_at, on_event, needed));
        }
        talloc_free(agents);
    }
    return OK;
}

/* --- other databases ----------------------------------------------------------------------- */

/* The paths, each ended by a NUL; "" when there are none. */
static res_t read_databases(const void *ctx, const ik_paths_t *paths, char **bytes, size_t *len)
{
    char *path = ik_sprintf(NULL, "%s/databases", paths->blobs);
    res_t result = ik_file_read(ctx, path, DATABASES_MAX, bytes, len);
    if (result.code == IK_ERR_NOT_FOUND) {
        *bytes = ik_strdup(ctx, "");
        *len = 0;
        result = OK;
    }
    talloc_free(path);
    return result;
}

void ik_blob_sweep_remember(const ik_paths_t *paths, const char *database)
{
    if (strcmp(database, paths->database) == 0 || strcmp(database, ":memory:") == 0 ||
        access(paths->blobs, F_OK) != 0) {
        return;
    }
    void *scratch = talloc_new(NULL);
    const char *path = database[0] == '/' ? database : ik_file_join(scratch, paths->cwd, database);
    char *known;
    size_t len;
    res_t result = read_databases(scratch, paths, &known, &len);
    bool found = is_err(&result);
    for (size_t at = 0; !found && at < len; at += strlen(known + at) + 1) {
        found = strcmp(known + at, path) == 0;
    }
    if (!found) {
        int fd = open(ik_sprintf(scratch, "%s/databases", paths->blobs),
                      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0) {
            ik_file_write_all(fd, path, strlen(path) + 1);
            close(fd);
        }
    }
    talloc_free(scratch);
}

static res_t find_needed_elsewhere(const void *ctx, ik_process_host_t *host,
                                   const ik_paths_t *paths, needed_t *needed)
{
    char *known;
    size_t len;
    TRY(read_databases(ctx, paths, &known, &len));
    for (size_t at = 0; at < len; at += strlen(known + at) + 1) {
        const char *path = known + at;
        if (access(path, F_OK) != 0 && errno == ENOENT) {
            continue;
        }
        ik_history_t *history = ik_history_create(
            ctx,
            &(ik_history_options_t){.db = path, .file = path, .loop = ik_process_host_loop(host)});
        ik_store_t *store;
        TRY(ik_history_local(history, &store));
        TRY(find_needed(ctx, store, needed));
        talloc_free(history);
    }
    return OK;
}

/* --- removing ------------------------------------------------------------------------------ */

/* Removes the images in FOLDER/ab that are not needed. */
static void sweep_images_in(const char *folder, const char *first, const needed_t *needed)
{
    char *path = ik_sprintf(NULL, "%s/%s", folder, first);
    DIR *listing = opendir(path);
    const struct dirent *entry;
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        char *name = ik_sprintf(path, "%s%s", first, entry->d_name);
        struct stat status;
        if (ik_blob_is_name(name) && json_object_get(needed->images, name) == NULL &&
            fstatat(dirfd(listing), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            time(NULL) - status.st_mtime > YOUNG_SECONDS) {
            unlinkat(dirfd(listing), entry->d_name, 0);
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
    talloc_free(path);
}

static void sweep_images(const char *folder, const needed_t *needed)
{
    DIR *listing = opendir(folder);
    const struct dirent *entry;
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        if (strlen(entry->d_name) == 2 && entry->d_name[0] != '.') {
            sweep_images_in(folder, entry->d_name, needed);
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
}

typedef struct {
    bool done;
    res_t result;
} sweep_t;

static void on_swept(void *data, const res_t *result, const json_t *answer)
{
    (void)answer;
    *(sweep_t *)data = (sweep_t){.done = true, .result = *result};
}

static res_t sweep_states(ik_process_host_t *host, const ik_paths_t *paths,
                          const ik_config_t *config, const needed_t *needed)
{
    sweep_t sweep = {0};
    json_t *request = json_pack("{s:s, s:O, s:I}", "op", "sweep", "keep", needed->states,
                                "max_bytes", (json_int_t)config->undo_max_bytes);
    ik_checkpoint_run_t *run =
        ik_checkpoint_run_start(NULL, &(ik_checkpoint_run_options_t){.host = host,
                                                                     .paths = paths,
                                                                     .request = request,
                                                                     .max_ms = SWEEP_MS,
                                                                     .on_end = on_swept,
                                                                     .data = &sweep});
    json_decref(request);
    if (!ik_loop_run_until(ik_process_host_loop(host), &sweep.done)) {
        talloc_free(run);
        return ERR(SYSTEM, "the program checkpoint has not answered");
    }
    return sweep.result;
}

res_t ik_blob_sweep_run(ik_process_host_t *host, const ik_paths_t *paths, const ik_config_t *config,
                        ik_store_t *store)
{
    if (access(paths->blobs, F_OK) != 0) {
        return OK;
    }
    void *scratch = talloc_new(NULL);
    needed_t needed = {.states = json_array(), .images = json_object()};
    res_t result = find_needed(scratch, store, &needed);
    if (is_ok(&result)) {
        result = find_needed_elsewhere(scratch, host, paths, &needed);
    }
    if (is_ok(&result)) {
        sweep_images(paths->images, &needed);
        result = sweep_states(host, paths, config, &needed);
    }
    json_decref(needed.states);
    json_decref(needed.images);
    talloc_free(scratch);
    return result;
}
