#include "extend/extension_folder.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"

enum {
    IN_IKIGAI = 1 << 0, /* .ikigai of a project */
    IN_AGENTS = 1 << 1, /* .agents */
    IN_CLAUDE = 1 << 2, /* .claude */
    USER_AGENTS = 1 << 3,
    USER_CLAUDE = 1 << 4,
    NEAREST_ONLY = 1 << 5, /* of a project: in the working folder alone */
};

static const struct {
    const char *name;
    const char *folder;
    unsigned places; /* besides ~/.ikigai */
} kinds[] = {
    [IK_EXTENSION_COMMAND] = {"command", "commands", IN_IKIGAI | IN_CLAUDE | USER_CLAUDE},
    [IK_EXTENSION_SKILL] = {"skill", "skills",
                            IN_IKIGAI | IN_AGENTS | IN_CLAUDE | USER_AGENTS | USER_CLAUDE},
    [IK_EXTENSION_HOOK] = {"hook", "hooks", IN_IKIGAI},
    [IK_EXTENSION_AGENT] = {"agent", "agents", IN_IKIGAI | IN_CLAUDE},
    [IK_EXTENSION_TOOL] = {"tool", "tools", IN_IKIGAI | NEAREST_ONLY},
};
_Static_assert(IK_LENGTH(kinds) == IK_EXTENSION_KINDS, "every kind has a row");

/* In the order of precedence. */
static const struct {
    unsigned place;
    const char *below;
} project_places[] = {{IN_IKIGAI, ".ikigai"}, {IN_AGENTS, ".agents"}, {IN_CLAUDE, ".claude"}},
  user_places[] = {{USER_AGENTS, ".agents"}, {USER_CLAUDE, ".claude"}};

const char *ik_extension_kind_name(ik_extension_kind_t kind)
{
    return kinds[kind].name;
}

typedef struct {
    ik_extension_folders_t *found;
    ik_extension_kind_t kind;
    struct stat *status; /* of the folders found */
    bool missing_too;
} search_t;

static void add(search_t *search, const char *parent, const char *below, bool of_project)
{
    ik_extension_folders_t *found = search->found;
    struct stat status = {0};
    char *path = ik_sprintf(found, "%s%s%s/%s", parent, *below == '\0' ? "" : "/", below,
                            kinds[search->kind].folder);
    bool usable = search->missing_too || (stat(path, &status) == 0 && S_ISDIR(status.st_mode));
    for (size_t i = 0; usable && !search->missing_too && i < found->count; i++) {
        usable =
            search->status[i].st_dev != status.st_dev || search->status[i].st_ino != status.st_ino;
    }
    if (!usable) {
        talloc_free(path);
        return;
    }
    char real[PATH_MAX];
    bool skills = search->kind == IK_EXTENSION_SKILL && !of_project;
    if (skills && readlink(path, real, sizeof(real)) > 0 && realpath(path, real) != NULL) {
        path = ik_strdup(found, real); /* the model reads them in a room, which has no such link */
    }
    found->folders =
        ik_resize_array(found, found->folders, ik_extension_folder_t, found->count + 1);
    search->status = ik_resize_array(found, search->status, struct stat, found->count + 1);
    search->status[found->count] = status;
    found->folders[found->count++] =
        (ik_extension_folder_t){.kind = search->kind, .path = path, .of_project = of_project};
}

static void add_level(search_t *search, const char *folder)
{
    for (size_t i = 0; i < IK_LENGTH(project_places); i++) {
        if (kinds[search->kind].places & project_places[i].place) {
            add(search, folder, project_places[i].below, true);
        }
    }
}

/* From the working folder up to the root of the repository. */
static void add_project(search_t *search, const ik_paths_t *paths)
{
    void *scratch = talloc_new(NULL);
    bool nearest = kinds[search->kind].places & NEAREST_ONLY;
    char *folder = ik_strdup(scratch, paths->cwd);
    char *root = nearest ? folder : ik_paths_find_root(scratch, folder);
    add_level(search, folder);
    while (strcmp(folder, root) != 0) {
        folder = ik_file_folder(scratch, folder);
        add_level(search, folder);
    }
    talloc_free(scratch);
}

ik_extension_folders_t *ik_extension_folders_list_project(const void *ctx, const ik_paths_t *paths,
                                                          ik_extension_kind_t kind)
{
    search_t search = {
        .found = ik_new(ctx, ik_extension_folders_t), .kind = kind, .missing_too = true};
    add_project(&search, paths);
    return search.found;
}

ik_extension_folders_t *ik_extension_folders_find(const void *ctx, const ik_paths_t *paths,
                                                  ik_extension_kind_t kind)
{
    search_t user = {.found = ik_new(ctx, ik_extension_folders_t), .kind = kind};
    add(&user, paths->home, "", false);
    for (size_t i = 0; paths->account_home != NULL && i < IK_LENGTH(user_places); i++) {
        if (kinds[kind].places & user_places[i].place) {
            add(&user, paths->account_home, user_places[i].below, false);
        }
    }
    size_t own = user.found->count;
    add_project(&user, paths);
    /* The user's were found first, so that none of them counts as the project's; they come last. */
    ik_extension_folders_t *all = user.found;
    ik_extension_folder_t *sorted = ik_new_array(all, ik_extension_folder_t, all->count);
    for (size_t i = 0; i < all->count; i++) {
        sorted[i] = all->folders[(i + own) % all->count];
    }
    talloc_free(all->folders);
    talloc_free(user.status);
    all->folders = sorted;
    return all;
}
