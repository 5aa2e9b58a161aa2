#include "confinement/room_plan.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/keeper_protocol.h"

/* In the user's home. */
static const char *const secret_places[] = {
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".config/gh",
    ".config/gcloud",
    ".netrc",
    ".git-credentials",
    ".docker/config.json",
    ".local/share/keyrings",
    ".password-store",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".librewolf",
    ".thunderbird",
    "snap/firefox",
    "snap/chromium",
    "snap/thunderbird",
    ".var/app/org.mozilla.firefox",
    ".var/app/org.mozilla.Thunderbird",
    ".var/app/org.mozilla.thunderbird",
    ".var/app/org.chromium.Chromium",
    ".var/app/com.google.Chrome",
    ".var/app/com.brave.Browser",
    ".var/app/com.microsoft.Edge",
};
static const char *const system_secrets[] = {"/run/user"};
static const char *const cache_places[] = {".cache", ".npm", ".cargo", ".gradle", ".m2", "go"};

/* In the project. A program that the user runs later would obey what is written there. */
static const char *const protected_places[] = {
    ".ikigai", ".vscode", ".idea", ".envrc", ".mcp.json", ".claude", ".codex", ".gemini",
};
/* commondir names another folder whose hooks and config count. */
static const char *const protected_in_git[] = {"hooks", "config", "config.worktree", "commondir"};

enum {
    MODULES_DEPTH = 8, /* of submodules within submodules, and of folders in their names */
    MODULES_MAX = 100, /* with more of them in a folder, all are read-only */
    GIT_FILE_MAX = 4096,
};

typedef struct {
    ik_room_plan_t *plan;
    char **mounts; /* mount points of this process, NULL-terminated */
    ik_write_t write;
} planner_t;

/* --- paths ------------------------------------------------------------------------------- */

/* A path without symbolic links; the path itself when it does not exist. */
static const char *resolve(const void *ctx, const char *path)
{
    char resolved[PATH_MAX];
    return ik_strdup(ctx, realpath(path, resolved) != NULL ? resolved : path);
}

static mode_t kind_of(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

/* --- steps ------------------------------------------------------------------------------- */

/* The text is the plan's. */
static void add_text(ik_room_plan_t *plan, char *text)
{
    if ((plan->count & (plan->count + 1)) == 0) {
        plan->steps = ik_resize_array(plan, plan->steps, const char *, 2 * plan->count + 2);
    }
    plan->steps[plan->count++] = text;
    plan->steps[plan->count] = NULL;
}

static void add(ik_room_plan_t *plan, ik_room_step_t kind, const char *path)
{
    add_text(plan, ik_sprintf(plan, "%c%s", (char)kind, path));
}

/* --- the system -------------------------------------------------------------------------- */

/* The mount points; a space in one is written \040, and so on. */
static char **read_mounts(const void *ctx)
{
    char **mounts = ik_new_array(ctx, char *, 1);
    size_t count = 0;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t size = 0;
    while (file != NULL && getline(&line, &size, file) > 0) {
        char path[PATH_MAX];
        if (sscanf(line, "%*s %*s %*s %*s %4095s", path) != 1) {
            continue;
        }
        char *to = path;
        for (const char *from = path; *from != '\0'; from++) {
            if (*from == '\\' && strlen(from) >= 4) {
                char digits[] = {from[1], from[2], from[3], '\0'};
                *to++ = (char)strtol(digits, NULL, 8);
                from += 3;
            } else {
                *to++ = *from;
            }
        }
        *to = '\0';
        mounts = ik_resize_array(ctx, mounts, char *, count + 2);
        mounts[count++] = ik_strdup(mounts, path);
    }
    mounts[count] = NULL;
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return mounts;
}

/* Whether something is mounted below the folder. The kernel does not allow an overlay of such a
 * folder, because that could uncover what the mount hides. */
static bool has_mount_below(const planner_t *planner, const char *folder)
{
    for (size_t i = 0; planner->mounts[i] != NULL; i++) {
        if (ik_file_is_within(planner->mounts[i], folder) &&
            strcmp(planner->mounts[i], folder) != 0) {
            return true;
        }
    }
    return false;
}

static void show_folder(planner_t *planner, const char *folder);

static void show_entry(planner_t *planner, const char *path)
{
    static const char *const made_otherwise[] = {"/proc", "/sys", "/dev", "/tmp"};
    ik_room_plan_t *plan = planner->plan;
    for (size_t i = 0; i < IK_LENGTH(made_otherwise); i++) {
        if (strcmp(path, made_otherwise[i]) == 0) {
            return;
        }
    }
    char target[PATH_MAX];
    ssize_t len;
    switch (kind_of(path)) {
    case S_IFLNK:
        len = readlink(path, target, sizeof(target) - 1);
        if (len > 0) {
            add(plan, IK_ROOM_LINK, path);
            add_text(plan, ik_strndup(plan, target, (size_t)len));
        }
        break;
    case S_IFDIR:
        /* Sockets of the system's services stay out of reach even where everything is writable. */
        if (planner->write == IK_WRITE_ANYWHERE && !ik_file_is_within(path, "/run")) {
            add(plan, IK_ROOM_WRITABLE, path);
        } else if (has_mount_below(planner, path)) {
            add(plan, IK_ROOM_FOLDER, path);
            show_folder(planner, path);
        } else {
            add(plan, IK_ROOM_OVERLAY, path);
        }
        break;
    case S_IFREG:
        add(plan, IK_ROOM_READABLE, path);
        break;
    default:
        break;
    }
}

static void show_folder(planner_t *planner, const char *folder)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            char *path = ik_file_join(planner->plan, folder, entry->d_name);
            show_entry(planner, path);
            talloc_free(path);
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

/* --- /tmp and caches --------------------------------------------------------------------- */

static void append(const void *ctx, const char ***list, size_t *count, const char *path)
{
    *list = ik_resize_array(ctx, *list, const char *, *count + 2);
    (*list)[(*count)++] = ik_strdup(*list, path);
    (*list)[*count] = NULL;
}

static void add_unique(const void *ctx, const char ***list, size_t *count, const char *path)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp((*list)[i], path) == 0) {
            return;
        }
    }
    append(ctx, list, count, path);
}

/* Only a folder can be a cache. */
static void add_cache(const void *ctx, const char ***copies, size_t *count, const char *path)
{
    const char *folder = resolve(ctx, path);
    mode_t kind = kind_of(folder);
    if (kind == 0 || kind == S_IFDIR) {
        add_unique(ctx, copies, count, folder);
    }
}

const char **ik_room_plan_copies(const void *ctx, const ik_room_places_t *places)
{
    const char **copies = NULL;
    size_t count = 0;
    add_unique(ctx, &copies, &count, "/tmp");
    for (size_t i = 0; places->user_home != NULL && i < IK_LENGTH(cache_places); i++) {
        add_cache(ctx, &copies, &count, ik_file_join(ctx, places->user_home, cache_places[i]));
    }
    for (size_t i = 0; places->caches != NULL && places->caches[i] != NULL; i++) {
        add_cache(ctx, &copies, &count, places->caches[i]);
    }
    return copies;
}

/* --- the project ------------------------------------------------------------------------- */

/* The text of a small file up to the end of its first line; NULL when it cannot be read. */
static char *read_line(const void *ctx, const char *path)
{
    char *text;
    size_t len;
    res_t read = ik_file_read(ctx, path, GIT_FILE_MAX, &text, &len);
    if (is_err(&read)) {
        return NULL;
    }
    text[strcspn(text, "\r\n")] = '\0';
    return text;
}

/* A relative path is relative to folder. */
static const char *resolve_from(const void *ctx, const char *folder, const char *path)
{
    return resolve(ctx, path[0] == '/' ? path : ik_file_join(ctx, folder, path));
}

/* The git folder that the project's .git file names; NULL when .git is not such a file, nor a link
 * to one. */
static const char *find_git_folder(const void *ctx, const char *project)
{
    const char *dot_git = resolve(ctx, ik_file_join(ctx, project, ".git"));
    char *line = kind_of(dot_git) == S_IFREG ? read_line(ctx, dot_git) : NULL;
    return line == NULL || strncmp(line, "gitdir: ", 8) != 0 ? NULL
                                                             : resolve_from(ctx, project, line + 8);
}

/* The folder with the objects and hooks of a linked worktree, which lies outside of the project;
 * NULL when the project is not a worktree. A repository cannot name any other folder of the user:
 * the worktree's own folder, STORE/worktrees/NAME, has to name the project in turn. */
static const char *find_worktree_store(const void *ctx, const char *project, const char **own)
{
    *own = find_git_folder(ctx, project);
    if (*own == NULL) {
        return NULL;
    }
    char *back = read_line(ctx, ik_file_join(ctx, *own, "gitdir"));
    char *common = read_line(ctx, ik_file_join(ctx, *own, "commondir"));
    if (back == NULL || common == NULL ||
        strcmp(resolve_from(ctx, *own, back), ik_file_join(ctx, project, ".git")) != 0) {
        return NULL;
    }
    const char *store = resolve_from(ctx, *own, common);
    char *worktrees = ik_file_folder(ctx, *own);
    bool is_store = strcmp(worktrees, ik_file_join(ctx, store, "worktrees")) == 0 &&
                    kind_of(ik_file_join(ctx, store, "objects")) == S_IFDIR;
    return is_store ? store : NULL;
}

/* What is protected lies where tools may write. */
typedef struct {
    ik_room_plan_t *plan;
    const char *project;
    const char *store; /* of a worktree; NULL: none */
} guard_t;

/* Makes a link a mount point, because it could be replaced otherwise. Returns the place, or what it
 * links to; NULL when nothing more is to be protected. Outside of the project and its store,
 * everything is read-only anyway, and a folder that contains the link has to stay writable. */
static const char *protect_link(const guard_t *guard, const char *path)
{
    mode_t kind = kind_of(path);
    if (kind != S_IFLNK) {
        return kind == 0 ? NULL : path;
    }
    add(guard->plan, IK_ROOM_READABLE, path);
    const char *target = resolve(guard->plan, path);
    bool writable = ik_file_is_within(target, guard->project) ||
                    (guard->store != NULL && ik_file_is_within(target, guard->store));
    return writable && kind_of(target) != 0 && !ik_file_is_within(path, target) ? target : NULL;
}

static void protect(const guard_t *guard, const char *path)
{
    ik_room_plan_t *plan = guard->plan;
    const char *place = protect_link(guard, path);
    if (place != NULL) {
        add(plan, IK_ROOM_READABLE, place);
    }
    append(plan, &plan->protected, &plan->protected_count, path);
}

static void protect_in_git(const guard_t *guard, const char *folder)
{
    for (size_t i = 0; i < IK_LENGTH(protected_in_git); i++) {
        protect(guard, ik_file_join(guard->plan, folder, protected_in_git[i]));
    }
}

static void protect_modules(const guard_t *guard, const char *folder, int depth,
                            ik_room_step_t kind);
static void protect_worktrees(const guard_t *guard, const char *folder, int depth);

/* A folder that holds a protected place must be a mount point: otherwise it could be renamed, and
 * another one made in its place. */
static void protect_git(const guard_t *guard, const char *folder, int depth)
{
    ik_room_plan_t *plan = guard->plan;
    char *modules = ik_file_join(plan, folder, "modules");
    char *worktrees = ik_file_join(plan, folder, "worktrees");
    add(plan, IK_ROOM_WRITABLE, folder);
    protect_in_git(guard, folder);
    if (kind_of(modules) == S_IFLNK) {
        protect(guard, modules);
    } else if (kind_of(modules) == S_IFDIR) {
        protect_modules(guard, modules, depth, IK_ROOM_WRITABLE);
    }
    if (kind_of(worktrees) == S_IFLNK) {
        protect(guard, worktrees);
    } else if (kind_of(worktrees) == S_IFDIR) {
        protect_worktrees(guard, worktrees, depth);
    }
}

/* Protects the git folders of submodules. The git folder of a submodule "libs/a" is modules/libs/a:
 * a folder without a HEAD is a part of names. It is read-only, because a HEAD that is made in it
 * would hide the git folders below it from the next room. */
static void protect_modules(const guard_t *guard, const char *folder, int depth,
                            ik_room_step_t kind)
{
    ik_room_plan_t *plan = guard->plan;
    DIR *entries = depth > 0 ? opendir(folder) : NULL;
    size_t count = 0;
    while (entries != NULL && readdir(entries) != NULL) {
        count++;
    }
    if (entries == NULL || count > MODULES_MAX) {
        add(plan, IK_ROOM_READABLE, folder);
    } else {
        add(plan, kind, folder);
        rewinddir(entries);
    }
    struct dirent *entry;
    while (entries != NULL && count <= MODULES_MAX && (entry = readdir(entries)) != NULL) {
        char *module = ik_file_join(plan, folder, entry->d_name);
        bool is_other = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
        mode_t found = is_other ? kind_of(module) : 0;
        if (found == S_IFLNK) { /* links could lead back here, again and again */
            protect(guard, module);
        } else if (found == S_IFDIR && kind_of(ik_file_join(plan, module, "HEAD")) != 0) {
            protect_git(guard, module, depth - 1);
        } else if (found == S_IFDIR) {
            protect_modules(guard, module, depth - 1, IK_ROOM_READABLE);
            protect_in_git(guard, module);
        }
        talloc_free(module);
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

/* Whether this git folder is that of a linked worktree which tools cannot write. In one that they
 * can write, its file .git might as well name another folder. */
static bool is_elsewhere(const guard_t *guard, const char *folder)
{
    void *scratch = talloc_new(NULL);
    const char *back = read_line(scratch, ik_file_join(scratch, folder, "gitdir"));
    bool elsewhere =
        back == NULL || !ik_file_is_within(resolve_from(scratch, folder, back), guard->project);
    talloc_free(scratch);
    return elsewhere;
}

/* Protects the git folders of linked worktrees: git in such a worktree obeys the hooks and the
 * configuration of the folder that commondir names. gitdir tells where the worktree is. */
static void protect_worktrees(const guard_t *guard, const char *folder, int depth)
{
    ik_room_plan_t *plan = guard->plan;
    const char **found = NULL;
    size_t count = 0;
    DIR *entries = depth > 0 ? opendir(folder) : NULL;
    struct dirent *entry;
    while (entries != NULL && count <= MODULES_MAX && (entry = readdir(entries)) != NULL) {
        char *path = ik_file_join(plan, folder, entry->d_name);
        bool is_other = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
        mode_t kind = is_other ? kind_of(path) : 0;
        if (kind == S_IFLNK || (kind == S_IFDIR && is_elsewhere(guard, path))) {
            append(plan, &found, &count, path);
        }
        talloc_free(path);
    }
    bool readable = entries == NULL || count > MODULES_MAX;
    if (readable || count > 0) {
        add(plan, readable ? IK_ROOM_READABLE : IK_ROOM_WRITABLE, folder);
    }
    for (size_t i = 0; !readable && i < count; i++) {
        if (kind_of(found[i]) == S_IFLNK) {
            protect(guard, found[i]);
        } else {
            protect_git(guard, found[i], depth - 1);
            protect(guard, ik_file_join(plan, found[i], "gitdir"));
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

static void protect_project(ik_room_plan_t *plan, const char *project)
{
    const char *own = NULL;
    guard_t guard = {.plan = plan, .project = project};
    guard.store = find_worktree_store(plan, project, &own);
    if (guard.store != NULL) {
        protect_git(&guard, guard.store, MODULES_DEPTH);
        protect_git(&guard, own, MODULES_DEPTH);
    } else if (own != NULL && ik_file_is_within(own, project) && kind_of(own) == S_IFDIR) {
        protect_git(&guard, own, MODULES_DEPTH);
    }
    const char *dot_git = protect_link(&guard, ik_file_join(plan, project, ".git"));
    if (dot_git != NULL && kind_of(dot_git) == S_IFDIR) {
        protect_git(&guard, dot_git, MODULES_DEPTH);
    } else if (dot_git != NULL) {
        add(plan, IK_ROOM_READABLE, dot_git);
    }
    for (size_t i = 0; i < IK_LENGTH(protected_places); i++) {
        protect(&guard, ik_file_join(plan, project, protected_places[i]));
    }
}

static void show_project(ik_room_plan_t *plan, const ik_room_places_t *places, ik_write_t write)
{
    const char *project = places->project;
    bool writable = write != IK_WRITE_NONE && !ik_file_is_within(project, places->ikigai_home);
    if (strcmp(project, "/") != 0) {
        add(plan, writable ? IK_ROOM_WRITABLE : IK_ROOM_READABLE, project);
    }
    if (writable) {
        protect_project(plan, project);
    }
}

const char **ik_room_plan_protected(const void *ctx, const char *project)
{
    ik_room_plan_t *plan = ik_new(ctx, ik_room_plan_t);
    protect_project(plan, project);
    return plan->protected;
}

/* --- secrets ----------------------------------------------------------------------------- */

/* The places to hide that exist, without ikigai's own. */
static const char **list_hidden(const void *ctx, const ik_room_places_t *places)
{
    const char **list = NULL;
    size_t count = 0;
    for (size_t i = 0; places->user_home != NULL && i < IK_LENGTH(secret_places); i++) {
        add_unique(ctx, &list, &count,
                   resolve(ctx, ik_file_join(ctx, places->user_home, secret_places[i])));
    }
    for (size_t i = 0; i < IK_LENGTH(system_secrets); i++) {
        add_unique(ctx, &list, &count, system_secrets[i]);
    }
    for (size_t i = 0; places->hidden != NULL && places->hidden[i] != NULL; i++) {
        add_unique(ctx, &list, &count, resolve(ctx, places->hidden[i]));
    }
    return list;
}

/* The places of ikigai's that can be read, on ctx, NULL-terminated. The model is told to read
 * skills; a folder of them elsewhere has the rules of its place. */
static const char **list_shown(const void *ctx, const ik_room_places_t *places)
{
    const char **list = NULL;
    size_t count = 0;
    const char *skills = resolve(ctx, ik_file_join(ctx, places->ikigai_home, "skills"));
    add_unique(ctx, &list, &count, places->user_tools);
    add_unique(ctx, &list, &count, places->trusted);
    if (ik_file_is_within(skills, places->ikigai_home)) {
        add_unique(ctx, &list, &count, skills);
    }
    return list;
}

static void hide_secrets(ik_room_plan_t *plan, const ik_room_places_t *places)
{
    const char **hidden = list_hidden(plan, places);
    for (size_t i = 0; hidden[i] != NULL; i++) {
        if (kind_of(hidden[i]) != 0) {
            add(plan, IK_ROOM_HIDDEN, hidden[i]);
        }
    }
    add(plan, IK_ROOM_STUB, places->ikigai_home);
    add(plan, IK_ROOM_HIDDEN, places->ikigai_home);
    const char **shown = list_shown(plan, places);
    for (size_t i = 0; shown[i] != NULL; i++) {
        if (ik_file_is_within(shown[i], places->ikigai_home)) {
            add(plan, IK_ROOM_READABLE, shown[i]);
        }
    }
}

/* --- plans ------------------------------------------------------------------------------- */

static ik_room_places_t resolve_places(const void *ctx, const ik_room_places_t *given)
{
    ik_room_places_t places = *given;
    places.project = resolve(ctx, given->project);
    places.user_home = given->user_home == NULL ? NULL : resolve(ctx, given->user_home);
    places.ikigai_home = resolve(ctx, given->ikigai_home);
    places.system_tools = given->system_tools == NULL ? NULL : resolve(ctx, given->system_tools);
    places.program = given->program == NULL ? NULL : resolve(ctx, given->program);
    places.user_tools = resolve(ctx, given->user_tools);
    places.trusted = resolve(ctx, given->trusted);
    return places;
}

ik_room_plan_t *ik_room_plan_create(const void *ctx, const ik_room_places_t *given,
                                    ik_effects_t effects, const char *const *stores)
{
    ik_room_plan_t *plan = ik_new(ctx, ik_room_plan_t);
    ik_room_places_t places = resolve_places(plan, given);
    bool everywhere = effects.write == IK_WRITE_ANYWHERE ||
                      (effects.write == IK_WRITE_PROJECT && strcmp(places.project, "/") == 0);
    for (size_t i = 0; places.writable != NULL && places.writable[i] != NULL; i++) {
        everywhere = everywhere || (effects.write != IK_WRITE_NONE &&
                                    strcmp(resolve(plan, places.writable[i]), "/") == 0);
    }
    planner_t planner = {.plan = plan,
                         .mounts = read_mounts(plan),
                         .write = everywhere ? IK_WRITE_ANYWHERE : effects.write};
    plan->copies = ik_room_plan_copies(plan, &places);
    for (size_t i = 0; plan->copies[i] != NULL; i++) {
        plan->copy_count++;
        add(plan, IK_ROOM_STUB, plan->copies[i]);
    }
    show_folder(&planner, "/");
    add(plan, IK_ROOM_READABLE, "/sys");
    for (size_t i = 0; i < plan->copy_count; i++) {
        /* Where everything but /tmp is writable, the place to show a copy would really be made. */
        bool shown = !everywhere || kind_of(plan->copies[i]) != 0 ||
                     ik_file_is_within(plan->copies[i], "/tmp");
        if (stores == NULL) {
            add(plan, IK_ROOM_SHARED, shown ? plan->copies[i] : "");
        } else if (shown) {
            add(plan, IK_ROOM_COPY, plan->copies[i]);
            add_text(plan, ik_strdup(plan, stores[i]));
        }
        /* A copy of /tmp may begin empty, and ikigai may be installed there. */
        if (i == 0 && places.system_tools != NULL &&
            ik_file_is_within(places.system_tools, "/tmp")) {
            add(plan, IK_ROOM_READABLE, places.system_tools);
        }
        if (i == 0 && places.program != NULL && ik_file_is_within(places.program, "/tmp")) {
            add(plan, IK_ROOM_READABLE, places.program);
        }
        if (i == 0 && places.user_home != NULL && ik_file_is_within(places.user_home, "/tmp")) {
            add(plan, IK_ROOM_OVERLAY, places.user_home);
        }
    }
    for (size_t i = 0; places.writable != NULL && places.writable[i] != NULL; i++) {
        const char *path = resolve(plan, places.writable[i]);
        bool exists = kind_of(path) != 0 && strcmp(path, "/") != 0;
        if (effects.write != IK_WRITE_NONE && exists) {
            add(plan, IK_ROOM_WRITABLE, path);
            add(plan, IK_ROOM_MAY_WRITE, path);
        }
    }
    bool in_hidden = ik_file_is_within(places.project, places.ikigai_home);
    if (!in_hidden) {
        show_project(plan, &places, effects.write);
    }
    hide_secrets(plan, &places);
    if (in_hidden) {
        show_project(plan, &places, IK_WRITE_NONE);
    }
    for (size_t i = 0; i < plan->copy_count; i++) {
        add(plan, IK_ROOM_MAY_WRITE, plan->copies[i]);
    }
    add(plan, IK_ROOM_MAY_WRITE, "/dev");
    if (effects.write != IK_WRITE_NONE) {
        const char *own = NULL;
        const char *store = find_worktree_store(plan, places.project, &own);
        add(plan, IK_ROOM_MAY_WRITE, everywhere ? "/" : places.project);
        if (store != NULL) {
            add(plan, IK_ROOM_MAY_WRITE, store);
        }
    }
    return plan;
}

ik_room_plan_t *ik_room_plan_create_guard(const void *ctx, const ik_room_places_t *places)
{
    ik_room_plan_t *plan = ik_new(ctx, ik_room_plan_t);
    const char *project = resolve(plan, places->project);
    if (!ik_file_is_within(project, resolve(plan, places->ikigai_home))) {
        protect_project(plan, project);
    }
    return plan;
}

/* Lets through everything in the folder except the closed places and what leads to them. */
static void allow_around(ik_room_plan_t *plan, const char *folder, const char *const *closed)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        char *path = ik_file_join(plan, folder, entry->d_name);
        bool is_closed = false;
        bool leads_there = false;
        for (size_t i = 0; closed[i] != NULL; i++) {
            is_closed = is_closed || strcmp(closed[i], path) == 0;
            leads_there = leads_there || ik_file_is_within(closed[i], path);
        }
        mode_t kind = kind_of(path);
        if (is_closed || (kind != S_IFDIR && kind != S_IFREG && kind != S_IFCHR)) {
            /* left out */
        } else if (leads_there) {
            allow_around(plan, path, closed);
        } else {
            add(plan, IK_ROOM_MAY_READ, path);
        }
        talloc_free(path);
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

/* Landlock cannot take a part of a folder back, so a folder that contains a closed place is let
 * through piece by piece, as far as it exists now. */
static void allow_writing(ik_room_plan_t *plan, const char *folder, const char *const *closed)
{
    bool holds_closed = false;
    for (size_t i = 0; closed[i] != NULL; i++) {
        holds_closed = holds_closed || ik_file_is_within(closed[i], folder);
        if (ik_file_is_within(folder, closed[i])) {
            return;
        }
    }
    if (!holds_closed) {
        add(plan, IK_ROOM_MAY_WRITE, folder);
        return;
    }
    size_t first = plan->count;
    allow_around(plan, folder, closed);
    for (size_t i = first; i < plan->count; i++) {
        ((char *)plan->steps[i])[0] = IK_ROOM_MAY_WRITE;
    }
}

ik_room_plan_t *ik_room_plan_create_partial(const void *ctx, const ik_room_places_t *given,
                                            ik_effects_t effects)
{
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                          "/dev/urandom"};
    ik_room_plan_t *plan = ik_new(ctx, ik_room_plan_t);
    ik_room_places_t places = resolve_places(plan, given);
    const char **closed = list_hidden(plan, &places);
    size_t count = 0;
    while (closed[count] != NULL) {
        count++;
    }
    add_unique(plan, &closed, &count, "/dev");
    add_unique(plan, &closed, &count, places.ikigai_home);
    allow_around(plan, "/", closed);
    for (size_t i = 0; i < IK_LENGTH(devices); i++) {
        add(plan, IK_ROOM_MAY_WRITE, devices[i]);
    }
    const char **shown = list_shown(plan, &places);
    for (size_t i = 0; shown[i] != NULL; i++) {
        add(plan, IK_ROOM_MAY_READ, shown[i]);
    }
    if (effects.write == IK_WRITE_NONE) {
        return plan;
    }
    add(plan, IK_ROOM_MAY_WRITE, "/dev/shm");
    const char *own = NULL;
    const char *store = find_worktree_store(plan, places.project, &own);
    for (size_t i = 0; store != NULL && i < IK_LENGTH(protected_in_git); i++) {
        add_unique(plan, &closed, &count, ik_file_join(plan, store, protected_in_git[i]));
        add_unique(plan, &closed, &count, ik_file_join(plan, own, protected_in_git[i]));
    }
    const char **protected = store == NULL ? NULL : ik_room_plan_protected(plan, places.project);
    for (size_t i = 0; protected != NULL && protected[i] != NULL; i++) {
        bool of_worktree = ik_file_is_within(protected[i], ik_file_join(plan, store, "worktrees"));
        if (of_worktree && !ik_file_is_within(protected[i], own)) {
            add_unique(plan, &closed, &count, protected[i]);
        }
    }
    const char **wanted = NULL;
    size_t wanted_count = 0;
    add_unique(plan, &wanted, &wanted_count,
               effects.write == IK_WRITE_ANYWHERE ? "/" : places.project);
    if (store != NULL) {
        add_unique(plan, &wanted, &wanted_count, store);
    }
    for (size_t i = 0; places.writable != NULL && places.writable[i] != NULL; i++) {
        add_unique(plan, &wanted, &wanted_count, resolve(plan, places.writable[i]));
    }
    for (size_t i = 0; i < wanted_count; i++) {
        allow_writing(plan, wanted[i], closed);
    }
    if (places.user_home != NULL) { /* a home below /tmp is not writable for that */
        add_unique(plan, &closed, &count, places.user_home);
    }
    allow_writing(plan, "/tmp", closed);
    return plan;
}
