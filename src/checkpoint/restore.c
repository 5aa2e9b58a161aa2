/*
 * The order: look at all files and decide; store what is there now; remove files, then the folders
 * that this empties; write files. A file can so take the place of a folder and the other way round.
 * The state before has a second name until the state after is stored.
 */
#include "checkpoint/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/random.h"
#include "base/replace_file.h"
#include "checkpoint/safe_open.h"
#include "checkpoint/take.h"

/* A folder in which names changed, which is not synced yet. */
typedef struct {
    int fd; /* -1: none */
    dev_t device;
    ino_t inode;
} unsynced_t;

typedef struct job {
    const ik_change_t *change;
    unsynced_t *unsynced;
    ik_entry_t now;
    ik_restore_file_t file;
    bool skipped;           /* it already is as it should be, or was not asked for */
    const ik_entry_t *was;  /* before a run that was cut off restored it; NULL: it did not */
    bool shared;            /* another job has a name of the file that is there now */
    const struct job *twin; /* written earlier; both were names of one file. NULL: none */
} job_t;

static bool is_due(const job_t *job)
{
    return !job->skipped && job->file.outcome == IK_RESTORE_DONE;
}

/* --- deciding ------------------------------------------------------------------------------ */

static bool is_asked_for(const ik_restore_request_t *request, const char *path)
{
    for (size_t i = 0; i < request->path_count; i++) {
        size_t len = strlen(request->paths[i]);
        if (len == 0 || (strncmp(path, request->paths[i], len) == 0 &&
                         (path[len] == '\0' || path[len] == '/'))) {
            return true;
        }
    }
    return !request->restricted;
}

static bool is_changed(const ik_change_t *changes, size_t count, const char *path, size_t len)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = ik_state_compare_paths(changes[middle].path, changes[middle].len, path, len);
        if (order == 0) {
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

static bool is_available(ik_place_t *place, const ik_change_t *change)
{
    const ik_entry_t *target = change->before;
    if (target->kind == IK_ENTRY_ABSENT) {
        return true;
    }
    if (target->kind != IK_ENTRY_FILE && target->kind != IK_ENTRY_LINK) {
        return false;
    }
    ik_buffer_t content;
    ik_buffer_init(&content, NULL, IK_BUFFER_UNLIMITED); /* bounded by the size in the state */
    bool found = ik_place_content(place, target, change->before_owner, &content);
    ik_buffer_reset(&content);
    return found;
}

/* A folder counts as absent where a file is looked for: what is in it has paths of its own. */
static void look(ik_place_t *place, const ik_change_t *change, ik_entry_t *now)
{
    *now = ik_take_look(place, change->path, change->before, change->after);
    if (now->kind == IK_ENTRY_SPECIAL && S_ISDIR(now->mode)) {
        now->kind = IK_ENTRY_ABSENT;
    }
}

static void decide(ik_place_t *place, const ik_restore_request_t *request, job_t *job,
                   const ik_change_t *others, size_t other_count)
{
    const ik_change_t *change = job->change;
    bool forced = request->force || request->restricted;
    look(place, change, &job->now);
    job->file = (ik_restore_file_t){.path = change->path};
    if (ik_place_same(place, &job->now, NULL, change->before, change->before_owner)) {
        job->skipped = true;
    } else if (!forced &&
               (change->between || is_changed(others, other_count, change->path, change->len) ||
                !ik_place_same(place, &job->now, NULL, change->after, change->after_owner))) {
        job->file.outcome = IK_RESTORE_CHANGED;
    } else if (!is_available(place, change)) {
        job->file.outcome = IK_RESTORE_UNAVAILABLE;
    }
}

static int compare_sizes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A turn that moves a file whose content is not kept makes another one with the only copy of it. A
 * file that cannot be kept stays if a content of its size is missing. */
static void spare_moved(const void *ctx, ik_place_t *place, job_t *jobs, size_t count)
{
    uint64_t *missing = ik_new_array(ctx, uint64_t, count);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const ik_change_t *change = jobs[i].change;
        if (change->before->kind == IK_ENTRY_UNKEPT) {
            ik_entry_t now; /* also of a file that was not asked for */
            look(place, change, &now);
            if (!ik_place_same(place, &now, NULL, change->before, change->before_owner)) {
                missing[n++] = change->before->size;
            }
        }
    }
    qsort(missing, n, sizeof(*missing), compare_sizes);
    for (size_t i = 0; n > 0 && i < count; i++) {
        job_t *job = &jobs[i];
        bool unkept = job->now.kind == IK_ENTRY_UNKEPT ||
                      job->change->after->kind == IK_ENTRY_UNKEPT ||
                      job->now.size > ik_take_size_max(place);
        if (is_due(job) && unkept && job->now.kind != IK_ENTRY_ABSENT &&
            bsearch(&job->now.size, missing, n, sizeof(*missing), compare_sizes) != NULL) {
            job->file.outcome = IK_RESTORE_UNAVAILABLE;
        }
    }
    talloc_free(missing);
}

/* --- a run that was cut off ------------------------------------------------------------------ */

/* Finds the files that such a run has restored, so that this one accounts for them. */
static void find_restored(ik_place_t *place, const ik_restore_request_t *request, job_t *jobs,
                          size_t count)
{
    char id[IK_STATE_ID_SIZE];
    ik_state_t *before;
    ik_states_cut_off(place->states, request->what, id);
    if (id[0] == '\0') {
        return;
    }
    res_t loaded = ik_states_load(place->states, id, &before);
    for (size_t i = 0; is_ok(&loaded) && i < count; i++) {
        job_t *job = &jobs[i];
        const ik_change_t *change = job->change;
        const ik_entry_t *was = ik_state_find(before, change->path, change->len, NULL);
        if (job->skipped && was != NULL && is_asked_for(request, change->path) &&
            !ik_place_same(place, &job->now, NULL, was, before)) {
            job->skipped = false;
            job->was = was;
        }
    }
}

/* --- hard links ---------------------------------------------------------------------------- */

/* Jobs are in the order of their paths in one array. */
static int compare_inodes(const job_t *a, const ik_entry_t *of_a, const job_t *b,
                          const ik_entry_t *of_b)
{
    if (of_a->device != of_b->device) {
        return of_a->device < of_b->device ? -1 : 1;
    }
    if (of_a->inode != of_b->inode) {
        return of_a->inode < of_b->inode ? -1 : 1;
    }
    return a < b ? -1 : a > b;
}

static int compare_now(const void *a, const void *b)
{
    const job_t *x = *(job_t *const *)a;
    const job_t *y = *(job_t *const *)b;
    return compare_inodes(x, &x->now, y, &y->now);
}

static int compare_before(const void *a, const void *b)
{
    const job_t *x = *(job_t *const *)a;
    const job_t *y = *(job_t *const *)b;
    return compare_inodes(x, x->change->before, y, y->change->before);
}

/* Finds the jobs whose paths are names of one file now, and those whose paths were before. */
static void find_links(const void *ctx, job_t *jobs, size_t count)
{
    job_t **due = ik_new_array(ctx, job_t *, count);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_due(&jobs[i]) && jobs[i].was == NULL) {
            due[n++] = &jobs[i];
        }
    }
    if (n < 2) {
        return;
    }
    qsort(due, n, sizeof(*due), compare_now);
    for (size_t i = 1; i < n; i++) {
        if (due[i]->now.device == due[i - 1]->now.device &&
            due[i]->now.inode == due[i - 1]->now.inode) {
            due[i]->shared = due[i - 1]->shared = true;
        }
    }
    qsort(due, n, sizeof(*due), compare_before);
    for (size_t i = 1; i < n; i++) {
        const ik_entry_t *before = due[i]->change->before;
        if (before->kind == IK_ENTRY_FILE &&
            ik_entry_same_stat(before, due[i - 1]->change->before)) {
            due[i]->twin = due[i - 1];
        }
    }
}

/* --- writing ------------------------------------------------------------------------------- */

static void fail(job_t *job, const void *ctx, int error)
{
    job->file.outcome = error == ESTALE || error == ELOOP || error == ENOTDIR || error == EISDIR ||
                                error == ENOTEMPTY || error == EEXIST
                            ? IK_RESTORE_CHANGED
                            : IK_RESTORE_UNAVAILABLE;
    job->file.error = ik_strdup(ctx, strerror(error));
}

static void sync_now(unsynced_t *unsynced)
{
    if (unsynced->fd >= 0) {
        fsync(unsynced->fd);
        close(unsynced->fd);
        unsynced->fd = -1;
    }
}

/* Makes changes of names in the folder survive a power failure, together with the next ones in the
 * same folder. */
static void sync_later(unsynced_t *unsynced, int folder)
{
    struct stat st;
    if (fstat(folder, &st) != 0) {
        return;
    }
    if (unsynced->fd >= 0 && unsynced->device == st.st_dev && unsynced->inode == st.st_ino) {
        return;
    }
    sync_now(unsynced);
    unsynced->fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsynced->device = st.st_dev;
    unsynced->inode = st.st_ino;
}

/* Whether the file is still what was looked at. Restoring another name of the file has changed its
 * ctime. */
static bool is_still(int folder, const char *name, const job_t *job, struct stat *st)
{
    const ik_entry_t *now = &job->now;
    if (fstatat(folder, name, st, AT_SYMLINK_NOFOLLOW) != 0) {
        return now->kind == IK_ENTRY_ABSENT;
    }
    if (now->kind == IK_ENTRY_ABSENT) {
        return S_ISDIR(st->st_mode);
    }
    ik_entry_t found = {0};
    ik_entry_set_stat(&found, st);
    found.size = S_ISLNK(st->st_mode) ? now->size : found.size;
    found.ctime_ns = job->shared ? now->ctime_ns : found.ctime_ns;
    return ik_entry_same_stat(&found, now);
}

static int remove_file(ik_place_t *place, const job_t *job)
{
    const char *path = job->change->path;
    const char *name;
    struct stat st;
    int at = ik_place_at(place, &path);
    int folder = ik_safe_open_parent(at, path, &name);
    if (folder < 0) {
        return errno;
    }
    int error = 0;
    if (!is_still(folder, name, job, &st)) {
        error = ESTALE;
    } else if (unlinkat(folder, name, 0) != 0) {
        error = errno;
    } else {
        sync_later(job->unsynced, folder);
    }
    close(folder);
    return error;
}

/* Removes the folders above a removed file that are empty now and were not there before. */
static void remove_folders(ik_place_t *place, const job_t *job)
{
    char *path = ik_strdup(NULL, job->change->path);
    for (char *slash = strrchr(path, '/'); slash != NULL && slash > path;
         slash = strrchr(path, '/')) {
        *slash = '\0';
        const char *below = path;
        const char *name;
        if (ik_segment_had_folder(job->change->first, path, strlen(path))) {
            break;
        }
        int at = ik_place_at(place, &below);
        int folder = ik_safe_open_parent(at, below, &name);
        bool removed = folder >= 0 && unlinkat(folder, name, AT_REMOVEDIR) == 0;
        if (folder >= 0) {
            close(folder);
        }
        if (!removed) {
            break;
        }
    }
    talloc_free(path);
}

/* Opens the folder of a path and makes the missing ones. */
static int open_folder(int at, const char *path, const char **name, unsynced_t *unsynced)
{
    int folder = ik_safe_open_parent(at, path, name);
    for (const char *slash = strchr(path, '/'); folder < 0 && errno == ENOENT && slash != NULL;
         slash = strchr(slash + 1, '/')) {
        const char *last;
        char *part = ik_strndup(NULL, path, (size_t)(slash - path));
        int above = ik_safe_open_parent(at, part, &last);
        if (above >= 0) {
            if (mkdirat(above, last, 0777) == 0) {
                sync_later(unsynced, above);
            }
            close(above);
        }
        talloc_free(part);
        folder = ik_safe_open_parent(at, path, name);
    }
    return folder;
}

/* The path of a name in an open folder, which cannot be redirected. */
static char *path_in(const void *ctx, int folder, const char *name)
{
    return ik_sprintf(ctx, "/proc/self/fd/%d/%s", folder, name);
}

static int set_mode(int folder, const char *name, mode_t mode)
{
    int fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        int error = fd < 0 ? errno : ESTALE;
        if (fd >= 0) {
            close(fd);
        }
        return error;
    }
    int error = 0;
    if ((st.st_mode & 07777) != (mode & 07777)) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        error = chmod(path, mode & 07777) != 0 ? errno : 0;
    }
    close(fd);
    return error;
}

/* The permissions of a file that belongs to owner now. A program of another user must not run with
 * the rights of this one. */
static mode_t permissions(const ik_entry_t *target, uid_t owner)
{
    bool taken = (target->mode & IK_MODE_FOREIGN) != 0 && owner == geteuid();
    return target->mode & 07777 & (taken ? ~(S_ISUID | S_ISGID) : ~0);
}

/* Gives what was made under a temporary name its own. It replaces whatever is there but a folder,
 * or nothing when it is new. */
static int move_over(const job_t *job, int folder, const char *temporary, const char *name)
{
    bool is_new = job->now.kind == IK_ENTRY_ABSENT;
    int failed = renameat2(folder, temporary, folder, name, is_new ? RENAME_NOREPLACE : 0);
    if (failed != 0 && errno == EINVAL) {
        failed = renameat(folder, temporary, folder, name); /* a file system without that flag */
    }
    if (failed == 0) {
        sync_later(job->unsynced, folder);
        return 0;
    }
    int error = errno;
    unlinkat(folder, temporary, 0);
    return error;
}

static void choose_temporary(char name[48])
{
    char random[17];
    ik_random_name(random, 16);
    snprintf(name, 48, ".ikigai-%d-%s", (int)getpid(), random);
}

static int write_link(int folder, const char *name, const job_t *job, const ik_buffer_t *target)
{
    char temporary[48];
    choose_temporary(temporary);
    return symlinkat(target->data, folder, temporary) != 0
               ? errno
               : move_over(job, folder, temporary, name);
}

/* Makes the path a name of the file that was written at the twin's path. */
static int link_again(ik_place_t *place, int folder, const char *name, const job_t *job)
{
    const char *path = job->twin->change->path;
    const char *written;
    char temporary[48];
    int at = ik_place_at(place, &path);
    int from = ik_safe_open_parent(at, path, &written);
    if (from < 0) {
        return errno;
    }
    choose_temporary(temporary);
    int error = linkat(from, written, folder, temporary, 0) != 0 ? errno : 0;
    close(from);
    return error == 0 ? move_over(job, folder, temporary, name) : error;
}

/* A file with several names is not written but replaced: its other names are none of this job's
 * business. Those that the turn changed as well have jobs of their own. */
static int write_regular(int folder, const char *name, const job_t *job, const ik_buffer_t *content,
                         struct stat *st)
{
    const ik_entry_t *target = job->change->before;
    const char *bytes = content->len == 0 ? "" : content->data;
    void *scratch = talloc_new(NULL);
    int error = 0;
    if (job->now.kind == IK_ENTRY_FILE || job->now.kind == IK_ENTRY_UNKEPT) {
        bool separate = st->st_nlink > 1;
        bool same = job->now.kind == IK_ENTRY_FILE && job->now.naming == target->naming &&
                    job->now.size == target->size &&
                    memcmp(job->now.name, target->name, ik_naming_size(target->naming)) == 0;
        mode_t mode = st->st_mode;
        bool unlocked = !same && !separate && (mode & 0222) == 0;
        if (unlocked) {
            error = set_mode(folder, name, mode | 0200);
            error =
                error == 0 && fstatat(folder, name, st, AT_SYMLINK_NOFOLLOW) != 0 ? errno : error;
        }
        if (error == 0 && (!same || separate)) {
            ik_replace_options_t options = {
                .expected = st, .folder_later = true, .separate = separate};
            error = ik_replace_file(path_in(scratch, folder, name), bytes, content->len, &options)
                        .error;
        }
        sync_later(job->unsynced, folder);
        error = error == 0 ? set_mode(folder, name, permissions(target, st->st_uid)) : error;
        if (error != 0 && unlocked) {
            set_mode(folder, name, mode); /* a file that is left alone is as it was */
        }
    } else {
        char temporary[48];
        choose_temporary(temporary);
        mode_t mask = umask(0077);
        ik_replace_options_t options = {.unguarded = true, .folder_later = true};
        error = ik_replace_file(path_in(scratch, folder, temporary), bytes, content->len, &options)
                    .error;
        umask(mask);
        error = error == 0 ? set_mode(folder, temporary, permissions(target, geteuid())) : error;
        if (error == 0) {
            error = move_over(job, folder, temporary, name);
        } else {
            unlinkat(folder, temporary, 0);
        }
    }
    talloc_free(scratch);
    return error;
}

static int write_file(ik_place_t *place, const job_t *job)
{
    const ik_change_t *change = job->change;
    const char *path = change->path;
    const char *name;
    struct stat st;
    ik_buffer_t content;
    ik_buffer_init(&content, NULL, IK_BUFFER_UNLIMITED); /* likewise */
    int at = ik_place_at(place, &path);
    int folder = open_folder(at, path, &name, job->unsynced);
    if (folder < 0) {
        return errno;
    }
    int error = 0;
    if (!is_still(folder, name, job, &st)) {
        error = ESTALE;
    } else if (job->now.kind == IK_ENTRY_ABSENT && unlinkat(folder, name, AT_REMOVEDIR) != 0 &&
               errno != ENOENT) {
        error = errno; /* a folder that is not empty */
    } else if (!ik_place_content(place, change->before, change->before_owner, &content)) {
        error = ENODATA;
    } else if (change->before->kind == IK_ENTRY_LINK) {
        error = write_link(folder, name, job, &content);
    } else if (job->twin == NULL || !is_due(job->twin) ||
               link_again(place, folder, name, job) != 0) {
        error = write_regular(folder, name, job, &content, &st);
    }
    close(folder);
    ik_buffer_reset(&content);
    return error;
}

/* Makes the folder if it does not exist, to write files into it. Without any, the folder was moved
 * since, or removed. */
static res_t need_folder(ik_place_t *place, const job_t *jobs, size_t count, bool dry_run)
{
    if (place->root >= 0) {
        return OK;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_due(&jobs[i]) && jobs[i].change->before->kind != IK_ENTRY_ABSENT &&
            jobs[i].change->path[0] != '/') {
            if (!dry_run) {
                ik_place_make_folder(place);
            }
            return OK;
        }
    }
    return ERR(SYSTEM, "Cannot open %s: %s", place->folder, strerror(place->error));
}

/* --- the whole ----------------------------------------------------------------------------- */

static res_t take_states(const void *ctx, ik_place_t *place, const job_t *jobs, size_t count,
                         bool before, ik_state_t **state)
{
    const char **paths = ik_new_array(ctx, const char *, count);
    const ik_entry_t **known = ik_new_array(ctx, const ik_entry_t *, count);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_due(&jobs[i])) {
            known[n] = before ? jobs[i].was : NULL;
            paths[n++] = jobs[i].change->path;
        }
    }
    *state = NULL;
    return n == 0 ? OK : ik_take_exact(place, paths, known, n, state);
}

/* Leaves out the files that could not be written. */
static res_t drop_failed(const void *ctx, ik_place_t *place, const job_t *jobs, size_t count,
                         ik_state_t **state)
{
    const ik_state_t *all = *state;
    ik_state_t *done = ik_states_add(place->states, place->folder, false);
    done->verified_ns = all->verified_ns;
    done->taker = all->taker;
    done->taker_started = all->taker_started;
    done->entries = ik_new_array(ctx, ik_entry_t, all->count);
    for (size_t i = 0; i < count; i++) {
        const ik_change_t *change = jobs[i].change;
        const ik_entry_t *entry =
            is_due(&jobs[i]) ? ik_state_find(all, change->path, change->len, NULL) : NULL;
        if (entry != NULL) {
            done->entries[done->count++] = *entry;
        }
    }
    done->file_count = done->count;
    *state = done;
    if (done->count == 0) {
        *state = NULL;
        return OK;
    }
    return ik_states_save(place->states, done);
}

res_t ik_restore_run(const void *ctx, ik_place_t *place, const ik_restore_request_t *request,
                     ik_restore_t *out)
{
    size_t count;
    size_t other_count;
    *out = (ik_restore_t){0};
    ik_change_t *changes =
        ik_segment_changes(ctx, place, request->segments, request->segment_count, &count);
    ik_change_t *others =
        ik_segment_changes(ctx, place, request->others, request->other_count, &other_count);
    unsynced_t unsynced = {.fd = -1};
    job_t *jobs = ik_new_array(ctx, job_t, count);
    for (size_t i = 0; i < count; i++) {
        jobs[i].change = &changes[i];
        jobs[i].unsynced = &unsynced;
        if (is_asked_for(request, changes[i].path)) {
            decide(place, request, &jobs[i], others, other_count);
        } else {
            jobs[i].skipped = true;
        }
    }
    spare_moved(ctx, place, jobs, count);
    TRY(need_folder(place, jobs, count, request->dry_run));
    if (!request->dry_run) {
        find_restored(place, request, jobs, count);
        TRY(take_states(ctx, place, jobs, count, true, &out->before));
        if (out->before != NULL) {
            TRY(ik_states_set_cut_off(place->states, request->what, out->before->id));
        }
        find_links(ctx, jobs, count);
        for (size_t i = count; i > 0; i--) {
            job_t *job = &jobs[i - 1];
            if (is_due(job) && job->change->before->kind == IK_ENTRY_ABSENT) {
                int error = job->was == NULL ? remove_file(place, job) : 0;
                if (error == 0) {
                    remove_folders(place, job);
                } else {
                    fail(job, ctx, error);
                }
            }
        }
        for (size_t i = 0; i < count; i++) {
            if (is_due(&jobs[i]) && jobs[i].was == NULL &&
                jobs[i].change->before->kind != IK_ENTRY_ABSENT) {
                int error = write_file(place, &jobs[i]);
                if (error != 0) {
                    fail(&jobs[i], ctx, error);
                }
            }
        }
        sync_now(&unsynced);
        TRY(take_states(ctx, place, jobs, count, false, &out->after));
        size_t done = out->after == NULL ? 0 : out->after->count;
        if (out->before != NULL && done < out->before->count) {
            TRY(drop_failed(ctx, place, jobs, count, &out->before));
        }
        ik_states_forget_cut_off(place->states, request->what);
    }
    out->files = ik_new_array(ctx, ik_restore_file_t, count);
    for (size_t i = 0; i < count; i++) {
        if (!jobs[i].skipped) {
            out->files[out->count++] = jobs[i].file;
        }
    }
    return OK;
}
