#include "repl/repl_draft.h"

#include <dirent.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

enum {
    SAVE_MS = 500,
    HASH_LEN = 16, /* hex digits in a file name before the dot */
    TEXT_MAX = 64 * 1024 * 1024,
};

struct ik_repl_draft {
    ik_timer_t *timer;
    ik_repl_draft_text_fn text;
    void *data;
    char *folder;
    char hash[HASH_LEN + 1]; /* of the working folder */
    char *path;              /* NULL: no session yet */
    char *saved;             /* the file written last, which is locked; NULL: none */
    char *found;             /* the file read last; NULL: none, or its text is saved again */
    int lock_fd;             /* on saved; -1: none */
    bool due;                /* there are unsaved changes */
    bool failed;             /* they could not be saved; the next change or the end tries again */
};

/* --- files ------------------------------------------------------------------------------- */

static void hash_folder(const char *cwd, char *hex)
{
    SHA2_CTX state;
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256Init(&state);
    SHA256Update(&state, (const uint8_t *)cwd, strlen(cwd));
    SHA256Final(digest, &state);
    for (size_t i = 0; i < HASH_LEN / 2; i++) {
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    }
}

static char *make_path(const void *ctx, const ik_repl_draft_t *draft, const char *session_id)
{
    return ik_sprintf(ctx, "%s/%s.%s", draft->folder, draft->hash, session_id);
}

static bool is_same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* A file is locked while the program that wrote it runs. */
static bool is_unlocked(int folder_fd, const char *name)
{
    int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    bool unlocked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return unlocked;
}

static void unlock(ik_repl_draft_t *draft)
{
    if (draft->lock_fd >= 0) {
        close(draft->lock_fd);
        draft->lock_fd = -1;
    }
}

static void lock(ik_repl_draft_t *draft)
{
    int fd = open(draft->saved, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        flock(fd, LOCK_EX | LOCK_NB);
    }
    unlock(draft); /* releases the file before it */
    draft->lock_fd = fd;
}

/* --- the folder -------------------------------------------------------------------------- */

typedef bool (*accept_fn)(const ik_repl_draft_t *draft, int folder_fd, const char *name);

static bool is_older(const struct stat *a, const struct stat *b)
{
    return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec < b->st_mtim.tv_sec
                                                  : a->st_mtim.tv_nsec < b->st_mtim.tv_nsec;
}

typedef struct {
    char *name; /* the oldest or newest accepted file; NULL: none */
    struct stat status;
    size_t count; /* of all files */
} survey_t;

static void look_at(const ik_repl_draft_t *draft, int folder_fd, const char *name, bool newest,
                    accept_fn accept, survey_t *survey)
{
    struct stat status;
    if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) {
        return;
    }
    survey->count++;
    bool better = survey->name == NULL || (newest ? is_older(&survey->status, &status)
                                                  : is_older(&status, &survey->status));
    if (better && accept(draft, folder_fd, name)) {
        talloc_free(survey->name);
        survey->name = ik_strdup(NULL, name);
        survey->status = status;
    }
}

/* Finds the newest or the oldest accepted file. The caller frees the name. */
static survey_t survey_folder(const ik_repl_draft_t *draft, bool newest, accept_fn accept)
{
    survey_t survey = {.name = NULL};
    const struct dirent *entry;
    DIR *folder = opendir(draft->folder);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        look_at(draft, dirfd(folder), entry->d_name, newest, accept, &survey);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return survey;
}

static bool may_remove(const ik_repl_draft_t *draft, int folder_fd, const char *name)
{
    (void)draft;
    return is_unlocked(folder_fd, name);
}

/* Removes files above the limit, oldest first; other programs may have left more than one. */
static void remove_oldest(ik_repl_draft_t *draft)
{
    for (int i = 0; i < IK_REPL_DRAFT_FILES_MAX; i++) {
        survey_t survey = survey_folder(draft, false, may_remove);
        bool too_many = survey.count > IK_REPL_DRAFT_FILES_MAX && survey.name != NULL;
        if (too_many) {
            char *path = ik_sprintf(draft, "%s/%s", draft->folder, survey.name);
            unlink(path);
            talloc_free(path);
        }
        talloc_free(survey.name);
        if (!too_many) {
            return;
        }
    }
}

/* --- saving ------------------------------------------------------------------------------ */

static res_t write_text(const ik_repl_draft_t *draft, const char *text)
{
    res_t written = ik_file_write_private_fast(draft->path, text, strlen(text));
    if (written.code == IK_ERR_NOT_FOUND) {
        TRY(ik_file_make_private_folder(draft->folder));
        written = ik_file_write_private_fast(draft->path, text, strlen(text));
    }
    return written;
}

static void forget(char **path, const char *except)
{
    if (*path != NULL && !is_same(*path, except)) {
        unlink(*path);
    }
    TALLOC_FREE(*path);
}

static bool save(ik_repl_draft_t *draft, const char *text)
{
    bool is_new = !is_same(draft->path, draft->saved);
    res_t written = write_text(draft, text);
    if (is_err(&written)) {
        return false; /* keeps the older file */
    }
    forget(&draft->saved, draft->path);
    forget(&draft->found, draft->path);
    draft->saved = ik_strdup(draft, draft->path);
    lock(draft);
    if (is_new) {
        remove_oldest(draft);
    }
    return true;
}

void ik_repl_draft_save_now(ik_repl_draft_t *draft)
{
    if ((!draft->due && !draft->failed) || draft->path == NULL) {
        return;
    }
    draft->due = false;
    draft->failed = false;
    ik_timer_stop(draft->timer);
    char *text = draft->text(draft->data, draft);
    if (text[0] == '\0') {
        unlink(draft->path);
        forget(&draft->saved, NULL);
        forget(&draft->found, NULL);
        unlock(draft);
    } else {
        draft->failed = !save(draft, text);
    }
    talloc_free(text);
}

static void on_timer(void *data)
{
    ik_repl_draft_save_now(data);
}

void ik_repl_draft_changed(ik_repl_draft_t *draft)
{
    if (!draft->due && draft->path != NULL) {
        ik_timer_start(draft->timer, SAVE_MS);
    }
    draft->due = true;
}

/* --- creating ---------------------------------------------------------------------------- */

static int close_draft(ik_repl_draft_t *draft)
{
    unlock(draft);
    return 0;
}

ik_repl_draft_t *ik_repl_draft_create(const void *ctx, ik_loop_t *loop, const ik_paths_t *paths,
                                      ik_repl_draft_text_fn text, void *data)
{
    ik_repl_draft_t *draft = ik_new(ctx, ik_repl_draft_t);
    draft->timer = ik_timer_create(draft, loop, on_timer, draft);
    draft->text = text;
    draft->data = data;
    draft->folder = ik_strdup(draft, paths->drafts);
    draft->lock_fd = -1;
    hash_folder(paths->cwd, draft->hash);
    talloc_set_destructor(draft, close_draft);
    return draft;
}

void ik_repl_draft_set_session(ik_repl_draft_t *draft, const char *session_id)
{
    talloc_free(draft->path);
    draft->path = make_path(draft, draft, session_id);
    if (draft->due || (draft->saved != NULL && !is_same(draft->saved, draft->path))) {
        draft->due = false;
        ik_repl_draft_changed(draft);
    }
}

/* --- finding ----------------------------------------------------------------------------- */

static char *read_text(const void *ctx, const char *path)
{
    char *text = NULL;
    size_t len;
    res_t read = ik_file_read(ctx, path, TEXT_MAX, &text, &len);
    return is_ok(&read) && len > 0 ? text : NULL;
}

/* Whether a draft of this folder was left by a program that has ended. Temporary files have a
 * second dot in their names. */
static bool is_left_here(const ik_repl_draft_t *draft, int folder_fd, const char *name)
{
    bool own = draft->saved != NULL && strcmp(strrchr(draft->saved, '/') + 1, name) == 0;
    return !own && strncmp(name, draft->hash, HASH_LEN) == 0 && name[HASH_LEN] == '.' &&
           strchr(name + HASH_LEN + 1, '.') == NULL && is_unlocked(folder_fd, name);
}

char *ik_repl_draft_find(const void *ctx, ik_repl_draft_t *draft, const char *session_id)
{
    char *text = NULL;
    char *path = session_id == NULL ? NULL : make_path(NULL, draft, session_id);
    if (path != NULL && !is_same(path, draft->saved)) { /* the saved text is already shown */
        text = read_text(ctx, path);
    }
    if (text == NULL) {
        talloc_free(path);
        survey_t left = survey_folder(draft, true, is_left_here);
        path = left.name == NULL ? NULL : ik_sprintf(NULL, "%s/%s", draft->folder, left.name);
        text = path == NULL ? NULL : read_text(ctx, path);
        talloc_free(left.name);
    }
    if (text != NULL) {
        talloc_free(draft->found);
        draft->found = ik_strdup(draft, path);
    }
    talloc_free(path);
    return text;
}
