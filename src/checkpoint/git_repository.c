#include "checkpoint/git_repository.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "checkpoint/git_config.h"

enum {
    LINK_SIZE_MAX = 4096,         /* of the .git file of a worktree or submodule */
    RULES_SIZE_MAX = 1024 * 1024, /* of one file of ignore rules or attributes */
};
#define INDEX_SIZE_MAX ((size_t)1 << 30)

typedef struct {
    const void *ctx;
    const char *home; /* NULL when not known */
    bool autocrlf;
    bool bare;
    bool sha256;
    char *excludes_file;
    char *attributes_file;
    char *worktree;
} settings_t;

static bool is_false(const char *value)
{
    return strcasecmp(value, "false") == 0 || strcasecmp(value, "no") == 0 ||
           strcasecmp(value, "off") == 0 || strcmp(value, "0") == 0 || value[0] == '\0';
}

static char *expand_home(const settings_t *settings, const char *path)
{
    return strncmp(path, "~/", 2) == 0 && settings->home != NULL
               ? ik_sprintf(settings->ctx, "%s/%s", settings->home, path + 2)
               : ik_strdup(settings->ctx, path);
}

static void on_setting(void *data, const char *name, const char *value)
{
    settings_t *settings = data;
    if (strcmp(name, "core.autocrlf") == 0) {
        /* A later "false" might be in a file whose condition does not hold. */
        settings->autocrlf |= !is_false(value);
    } else if (strcmp(name, "core.bare") == 0) {
        settings->bare = !is_false(value);
    } else if (strcmp(name, "core.excludesfile") == 0) {
        settings->excludes_file = expand_home(settings, value);
    } else if (strcmp(name, "core.attributesfile") == 0) {
        settings->attributes_file = expand_home(settings, value);
    } else if (strcmp(name, "core.worktree") == 0) {
        settings->worktree = ik_strdup(settings->ctx, value);
    } else if (strcmp(name, "extensions.objectformat") == 0) {
        settings->sha256 = strcasecmp(value, "sha256") == 0;
    }
}

/* The path named on the first line of a file after prefix, relative to folder; NULL if the file is
 * not there or does not begin so. */
static char *follow_link_file(const void *ctx, const char *folder, const char *name,
                              const char *prefix)
{
    char *path = ik_sprintf(ctx, "%s/%s", folder, name);
    char *text;
    size_t len;
    size_t prefix_len = strlen(prefix);
    res_t result = ik_file_read(ctx, path, LINK_SIZE_MAX, &text, &len);
    if (is_err(&result) || strncmp(text, prefix, prefix_len) != 0) {
        return NULL;
    }
    text[strcspn(text, "\r\n")] = '\0';
    const char *target = text + prefix_len;
    return target[0] == '\0'  ? NULL
           : target[0] == '/' ? ik_strdup(ctx, target)
                              : ik_sprintf(ctx, "%s/%s", folder, target);
}

static bool exists(const void *ctx, const char *folder, const char *name)
{
    return access(ik_sprintf(ctx, "%s/%s", folder, name), F_OK) == 0;
}

/* The folder of a repository and the one it shares with other worktrees; false when this is no
 * repository. */
static bool find_folders(const void *ctx, const char *root, char **git, char **common)
{
    *git = ik_sprintf(ctx, "%s/.git", root);
    struct stat st;
    if (stat(*git, &st) != 0) {
        return false;
    }
    if (!S_ISDIR(st.st_mode)) {
        *git = follow_link_file(ctx, root, ".git", "gitdir: ");
        if (*git == NULL) {
            return false;
        }
    }
    char *shared = follow_link_file(ctx, *git, "commondir", "");
    *common = shared == NULL ? *git : shared;
    return exists(ctx, *git, "HEAD") && exists(ctx, *common, "objects");
}

char *ik_git_repository_find_root(const void *ctx, const char *folder)
{
    void *scratch = talloc_new(NULL);
    char *path = ik_strdup(scratch, folder[1] == '\0' ? "" : folder);
    char *found = NULL;
    struct stat here;
    struct stat above;
    bool known = stat(folder, &here) == 0;
    for (;;) {
        char *git;
        char *common;
        if (find_folders(scratch, path, &git, &common)) {
            found = ik_strdup(ctx, path);
            break;
        }
        char *slash = strrchr(path, '/');
        if (slash == NULL) {
            break;
        }
        *slash = '\0';
        /* As git, not beyond the file system of the folder. */
        if (!known || stat(path[0] == '\0' ? "/" : path, &above) != 0 ||
            above.st_dev != here.st_dev) {
            break;
        }
    }
    talloc_free(scratch);
    return found;
}

/* --- settings ------------------------------------------------------------------------------ */

static void read_settings(settings_t *settings, const char *git, const char *common,
                          int64_t *ctime_ns)
{
    const void *ctx = settings->ctx;
    const char *system = getenv("GIT_CONFIG_SYSTEM");
    const char *global = getenv("GIT_CONFIG_GLOBAL");
    const char *xdg = getenv("XDG_CONFIG_HOME");
    const char *without_system = getenv("GIT_CONFIG_NOSYSTEM");
    settings->home = getenv("HOME");
    if (without_system == NULL || is_false(without_system)) {
        ik_git_config_read(system != NULL ? system : "/etc/gitconfig", on_setting, settings,
                           ctime_ns);
    }
    if (global != NULL) {
        ik_git_config_read(global, on_setting, settings, ctime_ns);
    } else {
        if (xdg != NULL && xdg[0] != '\0') {
            ik_git_config_read(ik_sprintf(ctx, "%s/git/config", xdg), on_setting, settings,
                               ctime_ns);
        } else if (settings->home != NULL) {
            ik_git_config_read(ik_sprintf(ctx, "%s/.config/git/config", settings->home), on_setting,
                               settings, ctime_ns);
        }
        if (settings->home != NULL) {
            ik_git_config_read(ik_sprintf(ctx, "%s/.gitconfig", settings->home), on_setting,
                               settings, ctime_ns);
        }
    }
    settings->bare = false;
    settings->worktree = NULL;
    ik_git_config_read(ik_sprintf(ctx, "%s/config", common), on_setting, settings, ctime_ns);
    ik_git_config_read(ik_sprintf(ctx, "%s/config.worktree", git), on_setting, settings, ctime_ns);
}

/* PREFIX/git/NAME of the user's configuration; NULL when there is no home. */
static char *user_file(const settings_t *settings, const char *name)
{
    const char *xdg = getenv("XDG_CONFIG_HOME");
    if (xdg != NULL && xdg[0] != '\0') {
        return ik_sprintf(settings->ctx, "%s/git/%s", xdg, name);
    }
    return settings->home == NULL
               ? NULL
               : ik_sprintf(settings->ctx, "%s/.config/git/%s", settings->home, name);
}

static void add_excludes(ik_git_repository_t *repository, const void *ctx, const char *path)
{
    char *text;
    size_t len;
    if (path == NULL) {
        return;
    }
    res_t result = ik_file_read(ctx, path, RULES_SIZE_MAX, &text, &len);
    if (is_ok(&result)) {
        repository->excludes = ik_ignore_parse(repository, text, len, 0, repository->excludes);
    }
}

static void add_attributes(ik_git_repository_t *repository, const void *ctx, const char *path)
{
    char *text;
    size_t len;
    struct stat st;
    if (path == NULL || stat(path, &st) != 0) {
        return;
    }
    res_t result = ik_file_read(ctx, path, RULES_SIZE_MAX, &text, &len);
    if (is_err(&result)) {
        repository->converts_all = true;
        return;
    }
    int64_t ctime = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
    if (ctime > repository->attributes_ctime_ns) {
        repository->attributes_ctime_ns = ctime;
    }
    repository->conversions =
        ik_git_repository_add_attributes(repository, text, len, 0, repository->conversions);
}

/* --- attributes ---------------------------------------------------------------------------- */

/* Whether a word of an attributes line can make git convert a file. Words of macros are unknown and
 * therefore can. */
static bool word_converts(const char *word, size_t len)
{
    static const char *const harmless[] = {
        "binary",
        "diff",
        "merge",
        "whitespace",
        "export-ignore",
        "export-subst",
        "delta",
        "encoding",
        "conflict-marker-size",
        "linguist-generated",
        "linguist-vendored",
        "linguist-language",
        "linguist-documentation",
        "linguist-detectable",
        "lockable",
    };
    if (word[0] == '-' || word[0] == '!') {
        return false;
    }
    const char *equals = memchr(word, '=', len);
    size_t name = equals == NULL ? len : (size_t)(equals - word);
    for (size_t i = 0; i < IK_LENGTH(harmless); i++) {
        if (strlen(harmless[i]) == name && memcmp(harmless[i], word, name) == 0) {
            return false;
        }
    }
    return true;
}

/* The pattern of a line if its attributes convert, for the ignore rules; a quoted pattern becomes
 * one that matches everything. */
static void add_line(ik_buffer_t *rules, const char *line, size_t len)
{
    while (len > 0 && isspace((unsigned char)line[0])) {
        line++;
        len--;
    }
    if (len == 0 || line[0] == '#' || (len > 6 && memcmp(line, "[attr]", 6) == 0)) {
        return;
    }
    bool quoted = line[0] == '"';
    size_t pattern = 0;
    while (pattern < len && !isspace((unsigned char)line[pattern])) {
        pattern++;
    }
    for (size_t at = pattern; at < len;) {
        while (at < len && isspace((unsigned char)line[at])) {
            at++;
        }
        size_t start = at;
        while (at < len && !isspace((unsigned char)line[at])) {
            at++;
        }
        if (at > start && word_converts(line + start, at - start)) {
            if (quoted) {
                ik_buffer_append_text(rules, "*\n");
            } else {
                ik_buffer_append(rules, line, pattern);
                ik_buffer_append_byte(rules, '\n');
            }
            return;
        }
    }
}

ik_ignore_t *ik_git_repository_add_attributes(const void *ctx, const char *text, size_t len,
                                              size_t base_len, ik_ignore_t *outer)
{
    ik_buffer_t rules;
    ik_buffer_init(&rules, NULL, 2 * RULES_SIZE_MAX);
    const char *end = text + len;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline == NULL ? end : newline;
        add_line(&rules, text, (size_t)(stop - text));
        text = newline == NULL ? end : newline + 1;
    }
    ik_ignore_t *added = outer;
    if (rules.len > 0) {
        added = ik_ignore_parse(ctx, rules.data, rules.len, base_len, outer);
    }
    ik_buffer_reset(&rules);
    return added;
}

/* --- the index ----------------------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const ik_git_index_entry_t *)a)->path, ((const ik_git_index_entry_t *)b)->path);
}

/* Adds the names of the shared part of a split index. */
static void add_shared(ik_git_repository_t *repository, const char *path)
{
    char *bytes;
    size_t len;
    const char *shared;
    res_t result = ik_file_read(repository, path, INDEX_SIZE_MAX, &bytes, &len);
    if (is_err(&result)) {
        return;
    }
    ik_git_index_t *more =
        ik_git_index_parse(repository, bytes, len, repository->object_size, &shared);
    if (more == NULL) {
        return;
    }
    ik_git_index_t *index = repository->index;
    index->entries =
        ik_resize_array(index, index->entries, ik_git_index_entry_t, index->count + more->count);
    memcpy(index->entries + index->count, more->entries,
           more->count * sizeof(ik_git_index_entry_t));
    index->count += more->count;
    qsort(index->entries, index->count, sizeof(ik_git_index_entry_t), compare_entries);
}

/* An index that is being replaced while it is read has the old time or the new one; the file that
 * was read has the time of its own descriptor. */
static void read_index(ik_git_repository_t *repository, const void *ctx, const char *git)
{
    repository->index = ik_new(repository, ik_git_index_t);
    char *path = ik_sprintf(ctx, "%s/index", git);
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return;
    }
    ik_buffer_t bytes;
    ik_buffer_init(&bytes, repository, INDEX_SIZE_MAX);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size < INDEX_SIZE_MAX) {
        ik_buffer_reserve(&bytes, (size_t)st.st_size + 1);
        for (ssize_t got = 1; got > 0 && bytes.len < (size_t)st.st_size;) {
            got = read(fd, bytes.data + bytes.len, (size_t)st.st_size - bytes.len);
            bytes.len += got > 0 ? (size_t)got : 0;
        }
        const char *shared;
        ik_git_index_t *index =
            ik_git_index_parse(repository, bytes.data, bytes.len, repository->object_size, &shared);
        if (index != NULL) {
            repository->index = index;
            repository->index_mtime_ns =
                (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        }
        if (index != NULL && shared != NULL) {
            add_shared(repository, ik_sprintf(ctx, "%s/sharedindex.%s", git, shared));
        }
    }
    close(fd);
}

/* --- opening ------------------------------------------------------------------------------- */

ik_git_repository_t *ik_git_repository_open(const void *ctx, const char *root)
{
    void *scratch = talloc_new(NULL);
    char *git;
    char *common;
    if (!find_folders(scratch, root, &git, &common)) {
        talloc_free(scratch);
        return NULL;
    }
    ik_git_repository_t *repository = ik_new(ctx, ik_git_repository_t);
    settings_t settings = {.ctx = scratch};
    read_settings(&settings, git, common, &repository->settings_ctime_ns);
    repository->root = ik_strdup(repository, root);
    repository->object_size = settings.sha256 ? 32 : 20;
    char *objects = realpath(ik_sprintf(scratch, "%s/objects", common), NULL);
    repository->objects = ik_strdup(repository, objects == NULL ? "/nonexistent" : objects);
    free(objects);

    repository->converts_all = settings.autocrlf;
    add_attributes(repository, scratch, "/etc/gitattributes");
    add_attributes(repository, scratch,
                   settings.attributes_file != NULL ? settings.attributes_file
                                                    : user_file(&settings, "attributes"));
    add_attributes(repository, scratch, ik_sprintf(scratch, "%s/info/attributes", common));
    add_excludes(repository, scratch,
                 settings.excludes_file != NULL ? settings.excludes_file
                                                : user_file(&settings, "ignore"));
    add_excludes(repository, scratch, ik_sprintf(scratch, "%s/info/exclude", common));

    bool elsewhere = settings.bare;
    if (settings.worktree != NULL) {
        const char *named = settings.worktree[0] == '/'
                                ? settings.worktree
                                : ik_sprintf(scratch, "%s/%s", git, settings.worktree);
        char *real = realpath(named, NULL);
        elsewhere = real == NULL || strcmp(real, root[0] == '\0' ? "/" : root) != 0;
        free(real);
    }
    if (elsewhere) {
        repository->index = ik_new(repository, ik_git_index_t);
    } else {
        read_index(repository, scratch, git);
    }
    talloc_free(scratch);
    return repository;
}
