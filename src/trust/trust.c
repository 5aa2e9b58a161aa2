#include "trust/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/host_protocol.h"
#include "base/json.h"
#include "base/ownership.h"
#include "trust/trust_copy.h"

enum { FORMAT = 1, TRUST_FILE_MAX = 32 * 1024 * 1024 };

/* --- the recorded decisions -------------------------------------------------------------- */

/* The recorded folders, {name: {hash, trusted_at, files, effects}}; an empty object when there are
 * none. A name is that of name_record. New reference. A file that is damaged, or that other users
 * may write, is an error. */
static res_t load_records(const ik_paths_t *paths, json_t **folders)
{
    char *text;
    size_t len;
    *folders = NULL;
    res_t owned = ik_ownership_check_file(paths->trust_file);
    if (owned.code == IK_ERR_NOT_FOUND) {
        *folders = json_object();
        return OK;
    }
    TRY(owned);
    TRY(ik_file_read(NULL, paths->trust_file, TRUST_FILE_MAX, &text, &len));
    json_error_t error;
    json_t *root = ik_json_parse(text, len, &error);
    talloc_free(text);
    json_t *found = json_object_get(root, "folders");
    bool usable =
        json_is_object(found) && json_integer_value(json_object_get(root, "format")) == FORMAT;
    *folders = usable ? json_incref(found) : NULL;
    json_decref(root);
    if (*folders == NULL) {
        return ERR(INVALID, "%s is damaged; remove it to start without any trust",
                   paths->trust_file);
    }
    return OK;
}

/* Held from before the records are read until after they are saved. Without it a decision made at
 * the same time elsewhere would be lost; at worst a refresh would restore trust that the user has
 * just revoked. *lock is a descriptor to close. */
static res_t lock_records(const ik_paths_t *paths, int *lock)
{
    TRY(ik_file_make_private_folder(paths->home));
    *lock = open(paths->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0 || flock(*lock, LOCK_EX) < 0) {
        res_t failed = ERR(SYSTEM, "Cannot lock %s: %s", paths->home, strerror(errno));
        if (*lock >= 0) {
            close(*lock);
        }
        return failed;
    }
    return OK;
}

static res_t save_records(const ik_paths_t *paths, json_t *folders)
{
    json_t *root = json_pack("{s:i, s:O}", "format", FORMAT, "folders", folders);
    char *text = ik_json_format(NULL, root);
    json_decref(root);
    res_t saved = ik_file_make_private_folder(paths->home);
    if (is_ok(&saved)) {
        saved = ik_file_write_private(paths->trust_file, text, strlen(text));
    }
    talloc_free(text);
    return saved;
}

/* NULL when a name is not UTF-8. */
static json_t *record_of_snapshot(const ik_trust_snapshot_t *snapshot, json_int_t trusted_at)
{
    json_t *files = json_object();
    for (size_t i = 0; i < snapshot->count; i++) {
        const ik_trust_snapshot_file_t *file = &snapshot->files[i];
        json_t *record = json_pack("{s:i, s:s, s:s*, s:s*}", "mode", (int)file->mode, "identity",
                                   file->identity, "hash", file->hash, "target", file->target);
        if (json_object_set_new(files, file->path, record) != 0) {
            json_decref(files);
            return NULL;
        }
    }
    return json_pack("{s:s, s:I, s:o}", "hash", snapshot->hash, "trusted_at", trusted_at, "files",
                     files);
}

/* The recorded file of that path, or NULL. */
static json_t *find_recorded(json_t *record, const char *path)
{
    return json_object_get(json_object_get(record, "files"), path);
}

static const char *recorded_text(json_t *file, const char *key)
{
    return json_string_value(json_object_get(file, key));
}

/* --- checking ---------------------------------------------------------------------------- */

static char *describe_file_change(const void *ctx, const ik_trust_snapshot_file_t *file,
                                  json_t *recorded)
{
    const char *content = file->target == NULL ? file->hash : file->target;
    const char *old = recorded_text(recorded, file->target == NULL ? "hash" : "target");
    if (recorded == NULL) {
        return ik_sprintf(ctx, "%s is new", file->path);
    }
    if (old == NULL || strcmp(old, content) != 0) {
        return ik_sprintf(ctx, "%s changed", file->path);
    }
    if (file->target == NULL &&
        json_integer_value(json_object_get(recorded, "mode")) != (json_int_t)file->mode) {
        return ik_sprintf(ctx, "the permissions of %s changed", file->path);
    }
    return NULL;
}

/* Describes the first difference between the record and the snapshot. */
static char *describe_change(const void *ctx, const ik_trust_snapshot_t *snapshot, json_t *record)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        const ik_trust_snapshot_file_t *file = &snapshot->files[i];
        char *change = describe_file_change(ctx, file, find_recorded(record, file->path));
        if (change != NULL) {
            return change;
        }
    }
    const char *path;
    json_t *recorded;
    json_object_foreach(json_object_get(record, "files"), path, recorded)
    {
        if (ik_trust_snapshot_find(snapshot, path) == NULL) {
            return ik_sprintf(ctx, "%s is gone", path);
        }
    }
    return ik_strdup(ctx, "its record is damaged");
}

static void refuse(ik_trust_status_t *status, const char *reason)
{
    status->state = IK_TRUST_REFUSED;
    status->reason = ik_strdup(status, reason);
}

/* The recorded hash of a file that has not changed since; data is the folder's record. */
static const char *known_hash(void *data, const ik_trust_snapshot_file_t *file)
{
    json_t *recorded = find_recorded(data, file->path);
    const char *identity = recorded_text(recorded, "identity");
    bool same = identity != NULL && *identity != '\0' && strcmp(identity, file->identity) == 0;
    return same ? recorded_text(recorded, "hash") : NULL;
}

/* Whether the identity of a file is not recorded yet or differs from the record (it was touched, or
 * copied back), so that the next check would have to read the file again. */
static bool record_is_stale(const ik_trust_snapshot_t *snapshot, json_t *record)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        const ik_trust_snapshot_file_t *file = &snapshot->files[i];
        const char *recorded = recorded_text(find_recorded(record, file->path), "identity");
        if (file->target == NULL && *file->identity != '\0' &&
            (recorded == NULL || strcmp(recorded, file->identity) != 0)) {
            return true;
        }
    }
    return false;
}

/* Whether a trusted folder uses this copy; data are the recorded folders. */
static bool hash_in_use(void *data, const char *hash)
{
    const char *folder;
    json_t *record;
    json_object_foreach((json_t *)data, folder, record)
    {
        const char *used = recorded_text(record, "hash");
        if (used != NULL && strcmp(used, hash) == 0) {
            return true;
        }
    }
    return false;
}

/* Records the snapshot as trusted. A refresh only updates the identities of files and, unless
 * member is NULL, what tools are allowed besides; it fails when these bytes are no longer trusted.
 */
static res_t record_snapshot(const ik_paths_t *paths, const ik_trust_snapshot_t *snapshot,
                             bool refresh, const char *member, json_t *allowed)
{
    int lock;
    json_t *folders = NULL;
    TRY(lock_records(paths, &lock));
    res_t saved = load_records(paths, &folders);
    json_t *old = json_object_get(folders, snapshot->record);
    const char *trusted = recorded_text(old, "hash");
    if (is_ok(&saved) && refresh && (trusted == NULL || strcmp(trusted, snapshot->hash) != 0)) {
        saved = ERR(CONFLICT, "The trust was revoked in the meantime");
    }
    if (is_ok(&saved)) {
        json_int_t when = refresh ? json_integer_value(json_object_get(old, "trusted_at"))
                                  : (json_int_t)time(NULL);
        json_t *record = record_of_snapshot(snapshot, when);
        static const char *const kept[] = {"effects", "host"};
        for (size_t i = 0; refresh && i < IK_LENGTH(kept); i++) {
            bool changed = member != NULL && strcmp(member, kept[i]) == 0;
            json_t *value = changed ? allowed : json_object_get(old, kept[i]);
            if (value != NULL) {
                json_object_set(record, kept[i], value);
            }
        }
        saved =
            record != NULL && json_object_set_new(folders, snapshot->record, record) == 0
                ? save_records(paths, folders)
                : ERR(INVALID, "The name of %s or of a file in it is not UTF-8", snapshot->folder);
    }
    if (is_ok(&saved) && !refresh) {
        ik_trust_copy_clean(paths->trusted, hash_in_use, folders);
    }
    json_decref(folders);
    close(lock);
    return saved;
}

/* A value that is not known allows nothing. */
static void read_extras(ik_trust_status_t *status, json_t *record)
{
    json_t *recorded = json_object_get(record, "effects");
    const char *tool;
    json_t *value;
    status->extras = ik_new_array(status, ik_trust_extra_t, json_object_size(recorded));
    json_object_foreach(recorded, tool, value)
    {
        ik_trust_extra_t *extra = &status->extras[status->extra_count++];
        const char *write = recorded_text(value, "write");
        *extra = (ik_trust_extra_t){
            .tool = ik_strdup(status, tool),
            .effects = {.network = json_is_true(json_object_get(value, "network"))}};
        for (ik_write_t each = IK_WRITE_NONE; each <= IK_WRITE_ANYWHERE; each++) {
            if (write != NULL && strcmp(write, ik_effects_write_name(each)) == 0) {
                extra->effects.write = each;
            }
        }
    }
}

static void read_host(ik_trust_status_t *status, json_t *record)
{
    json_t *recorded = json_object_get(record, "host");
    const char *tool;
    json_t *names;
    status->hosts = ik_new_array(status, ik_trust_extra_t, json_object_size(recorded));
    json_object_foreach(recorded, tool, names)
    {
        ik_trust_extra_t *host = &status->hosts[status->host_count++];
        size_t i;
        json_t *name;
        host->tool = ik_strdup(status, tool);
        json_array_foreach(names, i, name)
        {
            host->host |= json_is_string(name) ? ik_host_op_parse(json_string_value(name)) : 0;
        }
    }
}

/* The name of the decision about a folder, on ctx: its canonical path, and the use that a link
 * makes of it. Without that a link called hooks would run what is trusted as skills. */
static char *name_record(const void *ctx, const char *folder, const char *resolved)
{
    const char *slash = strrchr(folder, '/');
    const char *use = slash == NULL ? folder : slash + 1;
    return strcmp(use, strrchr(resolved, '/') + 1) == 0
               ? ik_strdup(ctx, resolved)
               : ik_sprintf(ctx, "%s//%s", resolved, use); /* no canonical path contains that */
}

static void compare_with_record(ik_trust_status_t *status, const char *folder, const char *name,
                                json_t *record, bool holds_tools)
{
    res_t taken = ik_trust_snapshot_create(status, folder, known_hash, record, &status->snapshot);
    const char *trusted = recorded_text(record, "hash");
    if (is_ok(&taken)) {
        status->snapshot->record = ik_strdup(status->snapshot, name);
    }
    if (is_err(&taken)) {
        refuse(status, taken.message);
    } else if (holds_tools ? status->snapshot->tool_count == 0 : status->snapshot->count == 0) {
        status->state = IK_TRUST_ABSENT;
    } else if (trusted == NULL) {
        status->state = IK_TRUST_NEVER;
    } else if (strcmp(trusted, status->snapshot->hash) == 0) {
        status->state = IK_TRUST_GIVEN;
        read_extras(status, record);
        read_host(status, record);
    } else {
        status->state = IK_TRUST_CHANGED;
        status->changed = describe_change(status, status->snapshot, record);
        status->trusted_hash = ik_strdup(status, trusted);
    }
}

static char *canonical(const void *ctx, const char *folder)
{
    char *resolved = realpath(folder, NULL);
    char *copy = resolved == NULL ? NULL : ik_strdup(ctx, resolved);
    free(resolved);
    return copy;
}

ik_trust_status_t *ik_trust_check(const void *ctx, const ik_paths_t *paths, const char *folder)
{
    ik_trust_status_t *status = ik_new(ctx, ik_trust_status_t);
    char *resolved = folder == NULL ? NULL : canonical(status, folder);
    if (resolved == NULL) {
        if (folder != NULL && errno != ENOENT) {
            refuse(status, strerror(errno));
        }
        return status;
    }
    json_t *folders = NULL;
    res_t loaded = load_records(paths, &folders);
    char *decision = name_record(status, folder, resolved);
    json_t *record = json_object_get(folders, decision);
    const char *name = strrchr(folder, '/');
    if (is_err(&loaded)) {
        refuse(status, loaded.message);
    } else if (name != NULL && strcmp(name, "/.mcp.json") == 0 &&
               strcmp(strrchr(resolved, '/'), name) != 0) {
        /* A snapshot has no other single file (trust_snapshot.h). */
        refuse(status,
               ik_sprintf(status, "it is a symlink to %s; replace it with a copy", resolved));
    } else {
        compare_with_record(status, resolved, decision, record,
                            name != NULL && strcmp(name, "/tools") == 0);
    }
    if (status->state == IK_TRUST_GIVEN && record_is_stale(status->snapshot, record)) {
        /* Saves hashing the files at the next start; a failure to save does no harm. */
        record_snapshot(paths, status->snapshot, true, NULL, NULL);
    }
    json_decref(folders);
    return status;
}

/* --- deciding ---------------------------------------------------------------------------- */

/* The copy contains the reviewed bytes in any case, but the user expects to have trusted the folder
 * in its present state. */
static res_t check_unchanged(const ik_trust_snapshot_t *reviewed)
{
    ik_trust_snapshot_t *now;
    TRY(ik_trust_snapshot_create(NULL, reviewed->folder, NULL, NULL, &now));
    res_t result = OK;
    if (strcmp(now->hash, reviewed->hash) != 0) {
        json_t *record = record_of_snapshot(reviewed, 0);
        char *change = describe_change(now, now, record);
        result = ERR(CONFLICT, "%s in the meantime; review again", change);
        json_decref(record);
    }
    talloc_free(now);
    return result;
}

res_t ik_trust_grant(const ik_paths_t *paths, const ik_trust_snapshot_t *snapshot)
{
    char *copy;
    TRY(ik_trust_copy_create(NULL, paths->trusted, snapshot, &copy));
    talloc_free(copy);
    TRY(check_unchanged(snapshot));
    return record_snapshot(paths, snapshot, false, NULL, NULL);
}

res_t ik_trust_grant_extras(const ik_paths_t *paths, const ik_trust_snapshot_t *snapshot,
                            const ik_trust_extra_t *extras, size_t count)
{
    json_t *effects = json_object();
    for (size_t i = 0; i < count; i++) {
        json_object_set_new(effects, extras[i].tool,
                            json_pack("{s:s, s:b}", "write",
                                      ik_effects_write_name(extras[i].effects.write), "network",
                                      extras[i].effects.network));
    }
    res_t saved = record_snapshot(paths, snapshot, true, "effects", effects);
    json_decref(effects);
    return saved;
}

res_t ik_trust_grant_host(const ik_paths_t *paths, const ik_trust_snapshot_t *snapshot,
                          const ik_trust_extra_t *hosts, size_t count)
{
    json_t *host = json_object();
    for (size_t i = 0; i < count; i++) {
        json_t *names = json_array();
        const char *name;
        for (size_t j = 0; (name = ik_host_op_name(hosts[i].host, j)) != NULL; j++) {
            json_array_append_new(names, json_string(name));
        }
        json_object_set_new(host, hosts[i].tool, names);
    }
    res_t saved = record_snapshot(paths, snapshot, true, "host", host);
    json_decref(host);
    return saved;
}

bool ik_trust_allows_host(const ik_trust_status_t *status, const char *tool, unsigned host)
{
    for (size_t i = 0; i < status->host_count; i++) {
        if (strcmp(status->hosts[i].tool, tool) == 0) {
            return (host & ~status->hosts[i].host) == 0;
        }
    }
    return host == 0;
}

bool ik_trust_allows(const ik_trust_status_t *status, const char *tool, ik_effects_t effects)
{
    for (size_t i = 0; i < status->extra_count; i++) {
        const ik_trust_extra_t *extra = &status->extras[i];
        if (strcmp(extra->tool, tool) == 0 && effects.write <= extra->effects.write &&
            (extra->effects.network || !effects.network)) {
            return true;
        }
    }
    return false;
}

static res_t forget(const ik_paths_t *paths, const char *folder, bool *known)
{
    json_t *folders;
    TRY(load_records(paths, &folders));
    json_t *record = json_incref(json_object_get(folders, folder));
    res_t saved = OK;
    *known = record != NULL;
    if (*known) {
        json_object_del(folders, folder);
        saved = save_records(paths, folders);
    }
    if (is_ok(&saved)) {
        const char *hash = recorded_text(record, "hash");
        if (hash != NULL && !hash_in_use(folders, hash)) {
            ik_trust_copy_remove(paths->trusted, hash);
        }
    }
    json_decref(record);
    json_decref(folders);
    return saved;
}

res_t ik_trust_revoke(const ik_paths_t *paths, const char *folder, bool *known)
{
    int lock;
    TRY(lock_records(paths, &lock));
    /* A folder that no longer exists is looked up by its path as given. */
    char *resolved = canonical(NULL, folder);
    char *decision = resolved == NULL ? NULL : name_record(resolved, folder, resolved);
    res_t forgotten = forget(paths, decision == NULL ? folder : decision, known);
    talloc_free(resolved);
    close(lock);
    return forgotten;
}
