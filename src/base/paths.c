#include "base/paths.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"

#ifndef IKIGAI_PREFIX
#define IKIGAI_PREFIX "/usr/local"
#endif

/* --- text -------------------------------------------------------------------------------- */

static bool is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static char *absolute(const void *ctx, const char *cwd, const char *path)
{
    char *full = path[0] == '/' ? ik_strdup(ctx, path) : ik_file_join(ctx, cwd, path);
    for (size_t len = strlen(full); len > 1 && full[len - 1] == '/'; len--) {
        full[len - 1] = '\0';
    }
    return full;
}

/* --- comparing --------------------------------------------------------------------------- */

/* Resolves symlinks as far as the path exists; the rest stays as written. */
static char *canonical(const void *ctx, const char *path)
{
    char resolved[PATH_MAX];
    char *existing = ik_strdup(ctx, path);
    while (realpath(existing, resolved) == NULL) {
        if (strcmp(existing, "/") == 0) {
            return ik_strdup(ctx, path);
        }
        existing = ik_file_folder(ctx, existing);
    }
    const char *rest = path + strlen(existing);
    while (*rest == '/') {
        rest++;
    }
    return *rest == '\0' ? ik_strdup(ctx, resolved) : ik_file_join(ctx, resolved, rest);
}

static bool is_same(const char *a, const char *b)
{
    struct stat status_a;
    struct stat status_b;
    if (stat(a, &status_a) == 0 && stat(b, &status_b) == 0) {
        return status_a.st_dev == status_b.st_dev && status_a.st_ino == status_b.st_ino;
    }
    void *scratch = talloc_new(NULL);
    bool same = strcmp(canonical(scratch, a), canonical(scratch, b)) == 0;
    talloc_free(scratch);
    return same;
}

/* --- the table --------------------------------------------------------------------------- */

/* The installation that contains the binary (a build tree, ~/.local, a moved prefix), or the
 * default. */
static const char *find_prefix(const void *ctx, const ik_paths_origin_t *origin)
{
    const char *found = origin->default_prefix;
    if (is_given(origin->executable)) {
        struct stat status;
        char *prefix = ik_file_folder(ctx, ik_file_folder(ctx, origin->executable));
        bool installed = stat(ik_file_join(ctx, prefix, "libexec/ikigai"), &status) == 0;
        found = installed && S_ISDIR(status.st_mode) ? prefix : found;
    }
    return found;
}

#define AT(field_) offsetof(ik_paths_t, field_)
#define ELSEWHERE SIZE_MAX

/* To add a path: add a field in paths.h and a row here. The manual is made from this table. A path
 * that depends on more than its root is built ELSEWHERE and has a row for the manual alone. */
static const ik_paths_entry_t entries[] = {
    {AT(user_config), IK_PATHS_HOME, "config.json", "your configuration"},
    {AT(keys), IK_PATHS_HOME, "keys.json", "your provider keys; readable by you alone"},
    {AT(permissions), IK_PATHS_HOME, "permissions.json",
     "your rules about tool calls, and where keys may be sent"},
    {AT(mcp_auth), IK_PATHS_HOME, "mcp-auth.json",
     "your logins to MCP servers; readable by you alone"},
    {AT(offline), IK_PATHS_HOME, "offline",
     "exists if you chose to look around offline; `ikigai setup` removes it"},
    {AT(user_models), IK_PATHS_HOME, "models.json", "your model data, if you keep any"},
    {AT(user_compact), IK_PATHS_HOME, "compact.md", "your prompt for summaries, if you have one"},
    {AT(user_agents_md), IK_PATHS_HOME, "AGENTS.md",
     "your instructions for the model, in every project"},
    {AT(user_tools), IK_PATHS_HOME, "tools", "your tools"},
    {ELSEWHERE, IK_PATHS_HOME, "commands", "your custom commands"},
    {ELSEWHERE, IK_PATHS_HOME, "skills", "your skills"},
    {ELSEWHERE, IK_PATHS_HOME, "agents", "your descriptions of agents"},
    {ELSEWHERE, IK_PATHS_HOME, "hooks", "your hooks, in a folder for each event"},
    {AT(trust_file), IK_PATHS_HOME, "trust.json", "which projects you trusted, and in what state"},
    {AT(trusted), IK_PATHS_HOME, "trusted",
     "copies of what you trusted; tools and hooks run from there"},
    {AT(cache), IK_PATHS_HOME, "cache",
     "schemas of tools, lists and logs of MCP servers; can be removed at any time"},
    {AT(rooms), IK_PATHS_HOME, "rooms",
     "what confined tools wrote to their copies of caches; can be removed while no session runs"},
    {AT(database), IK_PATHS_HOME, "ikigai.db", "your sessions"},
    {AT(recall), IK_PATHS_HOME, "history", "prompts you sent, for Up and Ctrl-R"},
    {AT(drafts), IK_PATHS_HOME, "drafts", "drafts you have not sent yet"},
    {AT(pasted), IK_PATHS_HOME, "pasted", "images you pasted from the clipboard, the last 50"},
    {AT(blobs), IK_PATHS_HOME, "blobs", "contents that sessions refer to, stored once each"},
    {AT(images), IK_PATHS_HOME, "blobs/images", "images in your sessions"},
    {AT(project_config), IK_PATHS_PROJECT, ".ikigai/config.json",
     "the project's configuration; only four keys are honoured"},
    {AT(project_tools), IK_PATHS_PROJECT, ".ikigai/tools",
     "the project's tools; they run once you have trusted them"},
    {ELSEWHERE, IK_PATHS_PROJECT, ".ikigai/commands", "its custom commands, once trusted"},
    {ELSEWHERE, IK_PATHS_PROJECT, ".ikigai/skills", "its skills, once trusted"},
    {ELSEWHERE, IK_PATHS_PROJECT, ".ikigai/agents", "its descriptions of agents, once trusted"},
    {ELSEWHERE, IK_PATHS_PROJECT, ".ikigai/hooks", "its hooks, once trusted"},
    {ELSEWHERE, IK_PATHS_PROJECT, ".ikigai/permissions.json",
     "the project's rules; only those that deny or ask count"},
    {ELSEWHERE, IK_PATHS_PROJECT, ".mcp.json", "the project's MCP servers, once trusted"},
    {ELSEWHERE, IK_PATHS_PROJECT, "AGENTS.md",
     "instructions for the model; also in parent folders up to the root of the repository"},
    {AT(system_config), IK_PATHS_PREFIX, "etc/ikigai/config.json",
     "the system's configuration; `/etc/ikigai/config.json` for an installation in `/usr`"},
    {AT(system_tools), IK_PATHS_PREFIX, "libexec/ikigai", "the tools that come with ikigai"},
    {AT(keeper), IK_PATHS_PREFIX, "lib/ikigai/keeper", "the parent of all tool processes"},
    {AT(checkpoint), IK_PATHS_PREFIX, "lib/ikigai/checkpoint",
     "records the files of a project, for undo"},
    {AT(sixel), IK_PATHS_PREFIX, "lib/ikigai/sixel",
     "makes previews of images for Sixel terminals"},
    {AT(models), IK_PATHS_PREFIX, "share/ikigai/models.json", "model data"},
    {AT(compact_prompt), IK_PATHS_PREFIX, "share/ikigai/compact.md",
     "the prompt for summaries of long conversations"},
    {AT(templates), IK_PATHS_PREFIX, "share/ikigai/templates", "templates of `ikigai tool new`"},
    {AT(manual), IK_PATHS_PREFIX, "share/ikigai/manual", "the chapters of `ikigai help`"},
};
enum { ENTRY_COUNT = IK_LENGTH(entries) };

enum { ELSEWHERE_COUNT = 11 };

_Static_assert(ENTRY_COUNT - ELSEWHERE_COUNT + 5 == sizeof(ik_paths_t) / sizeof(const char *),
               "every path but prefix, program, home, account_home and cwd is in the table");

const ik_paths_entry_t *ik_paths_entries(size_t *count)
{
    *count = ENTRY_COUNT;
    return entries;
}

static const char *root_of(const ik_paths_t *paths, const ik_paths_entry_t *entry)
{
    if (entry->offset == AT(system_config) && strcmp(paths->prefix, "/usr") == 0) {
        return "/";
    }
    return entry->root == IK_PATHS_PREFIX ? paths->prefix
           : entry->root == IK_PATHS_HOME ? paths->home
                                          : paths->cwd;
}

static void fill(ik_paths_t *paths)
{
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        if (entries[i].offset != ELSEWHERE) {
            const char **field = (const char **)((char *)paths + entries[i].offset);
            *field = ik_file_join(paths, root_of(paths, &entries[i]), entries[i].below);
        }
    }
}

/* No file is both the project's and the user's. */
static void fill_project(ik_paths_t *paths)
{
    fill(paths);
    if (is_same(paths->project_tools, paths->user_tools)) {
        paths->project_tools = NULL;
    }
    if (is_same(paths->project_config, paths->user_config)) {
        paths->project_config = NULL;
    }
}

ik_paths_t *ik_paths_create_shown(const void *ctx)
{
    ik_paths_t *paths = ik_new(ctx, ik_paths_t);
    paths->prefix = "PREFIX";
    paths->home = "~/.ikigai";
    paths->cwd = "";
    fill(paths);
    return paths;
}

char *ik_paths_show(const void *ctx, const ik_paths_entry_t *entry)
{
    ik_paths_t roots = {.prefix = "PREFIX", .home = "~/.ikigai", .cwd = ""};
    return ik_file_join(ctx, root_of(&roots, entry), entry->below);
}

res_t ik_paths_create_from(const void *ctx, const ik_paths_origin_t *origin, ik_paths_t **out)
{
    bool own = is_given(origin->ikigai_home);
    const char *given = own ? origin->ikigai_home : origin->user_home;
    if (!is_given(given)) {
        return ERR(NOT_FOUND, "no home folder: set HOME or IKIGAI_HOME");
    }
    /* A relative path would turn a project's files into the user's own. */
    if (given[0] != '/') {
        return ERR(INVALID,
                   "%s is '%.100s', which is not an absolute path; set it to one that "
                   "begins with /",
                   own ? "IKIGAI_HOME" : "HOME", given);
    }
    ik_paths_t *paths = ik_new(ctx, ik_paths_t);
    void *scratch = talloc_new(paths);
    paths->cwd = ik_strdup(paths, origin->cwd);
    if (is_given(origin->user_home) && origin->user_home[0] == '/') {
        paths->account_home = absolute(paths, paths->cwd, origin->user_home);
    }
    paths->prefix = absolute(paths, paths->cwd, find_prefix(scratch, origin));
    paths->program = is_given(origin->executable)
                         ? ik_strdup(paths, origin->executable)
                         : ik_file_join(paths, paths->prefix, "bin/ikigai");
    paths->home =
        absolute(paths, paths->cwd, own ? given : ik_file_join(scratch, given, ".ikigai"));
    fill_project(paths);
    talloc_free(scratch);
    *out = paths;
    return OK;
}

ik_paths_t *ik_paths_create_at(const void *ctx, const ik_paths_t *paths, const char *cwd)
{
    ik_paths_t *other = ik_new(ctx, ik_paths_t);
    other->cwd = absolute(other, "/", cwd);
    other->account_home =
        paths->account_home == NULL ? NULL : ik_strdup(other, paths->account_home);
    other->prefix = ik_strdup(other, paths->prefix);
    other->home = ik_strdup(other, paths->home);
    fill_project(other);
    return other;
}

/* --- this process ------------------------------------------------------------------------ */

/* The passwd entry is asked for only if the home is needed for ikigai's own files. */
static const char *find_user_home(bool needed)
{
    const char *home = getenv("HOME");
    if (is_given(home) || !needed) {
        return home;
    }
    const struct passwd *entry = getpwuid(geteuid());
    return entry == NULL ? NULL : entry->pw_dir;
}

res_t ik_paths_create(const void *ctx, ik_paths_t **out)
{
    char cwd[PATH_MAX];
    char executable[PATH_MAX];
    if (getcwd(cwd, sizeof(cwd)) == NULL) {
        const char *reason = errno == ENOENT   ? "it was removed; change to another folder"
                             : errno == ERANGE ? "its path is too long"
                                               : strerror(errno);
        return ERR(SYSTEM, "cannot find the working folder: %s", reason);
    }
    ssize_t len = readlink("/proc/self/exe", executable, sizeof(executable));
    bool known = len > 0 && len < (ssize_t)sizeof(executable);
    if (known) {
        executable[len] = '\0';
    }
    const char *ikigai_home = getenv("IKIGAI_HOME");
    ik_paths_origin_t origin = {
        .executable = known ? executable : NULL,
        .default_prefix = IKIGAI_PREFIX,
        .ikigai_home = ikigai_home,
        .user_home = find_user_home(!is_given(ikigai_home)),
        .cwd = cwd,
    };
    return ik_paths_create_from(ctx, &origin, out);
}

/* --- the repository ---------------------------------------------------------------------- */

char *ik_paths_find_root(const void *ctx, const char *cwd)
{
    char *folder = ik_strdup(ctx, cwd);
    for (;;) {
        struct stat status;
        char *mark = ik_file_join(folder, folder, ".git"); /* a file in a worktree */
        if (lstat(mark, &status) == 0) {
            return folder;
        }
        if (strcmp(folder, "/") == 0 || strcmp(folder, ".") == 0) {
            talloc_free(folder);
            return ik_strdup(ctx, cwd);
        }
        char *parent = ik_file_folder(ctx, folder);
        talloc_free(folder);
        folder = parent;
    }
}
