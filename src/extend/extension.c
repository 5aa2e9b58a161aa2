#include "extend/extension.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/hook_event.h"
#include "base/mode.h"
#include "base/ownership.h"
#include "base/sanitiser.h"
#include "base/utf8.h"
#include "extend/front_matter.h"
#include "trust/trust_copy.h"

enum {
    OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
    MAX_DEPTH = 4,             /* folders in folders */
    MAX_FOLDERS = 2000,        /* in one place */
    HEAD_MAX = 32 * 1024,      /* bytes that are read for the front matter */
    NAME_MAX_LENGTH = 64,      /* of a skill */
    DESCRIPTION_MAX = 4 * 1024 /* bytes that are kept */
};

typedef struct {
    const ik_extension_options_t *options;
    ik_extensions_t *found;
    const ik_extension_folder_t *folder;
    const char *place;   /* where the folder is read: itself or its trusted copy */
    const char *refusal; /* why nothing in the folder is used; NULL: it may be */
    bool untrusted;      /* the reason is that the project is not trusted */
    size_t visited;      /* folders so far */
    size_t rank;         /* of the folder */
    size_t capacity;
    int opened;       /* the file to add, if it is open already; else -1 */
    ik_buffer_t head; /* the beginning of a file */
    void *scratch;
} search_t;

/* --- one file ---------------------------------------------------------------------------- */

/* Reads the beginning of a regular file. Returns why it cannot be used, or NULL. There may be
 * hundreds of files: a short read has the whole of one, and its status is not needed. */
static const char *read_head(search_t *search, const char *path)
{
    struct stat status = {.st_mode = S_IFREG};
    int fd = search->opened >= 0 ? search->opened : open(path, OPEN_FLAGS);
    ik_buffer_t *head = &search->head;
    const char *fault = NULL;
    ssize_t got;
    search->opened = -1;
    ik_buffer_reserve(head, HEAD_MAX);
    do {
        got = fd < 0 ? -1 : read(fd, head->data, HEAD_MAX);
    } while (fd >= 0 && got < 0 && errno == EINTR);
    int error = errno;
    head->len = got > 0 ? (size_t)got : 0;
    bool whole = got > 0 && got < HEAD_MAX;
    if (fd >= 0 && !whole && fstat(fd, &status) < 0) {
        got = -1;
        error = errno;
    }
    if (!S_ISREG(status.st_mode)) {
        fault = "it is not a regular file";
    } else if (got < 0) {
        fault = ik_sprintf(search->found, "it cannot be read: %s", strerror(error));
    } else if (status.st_size > IK_EXTENSION_FILE_MAX) {
        fault = "it is larger than 1 MB";
    } else if (memchr(head->data, '\0', head->len) != NULL) {
        fault = "it is not text";
    }
    if (fd >= 0) {
        close(fd);
    }
    return fault;
}

/* Text of any origin as one clean line. */
static char *clean_line(const void *ctx, const char *text, size_t len)
{
    ik_buffer_t clean;
    ik_buffer_init(&clean, NULL, IK_BUFFER_UNLIMITED); /* bounded by the next line */
    ik_utf8_append_clean(&clean, text, ik_utf8_cut(text, len, DESCRIPTION_MAX));
    ik_buffer_append_byte(&clean, '\0');
    for (size_t i = 0; i + 1 < clean.len; i++) {
        clean.data[i] = strchr("\t\r\n", clean.data[i]) != NULL ? ' ' : clean.data[i];
    }
    char *line = ik_sanitise_line(ctx, clean.data);
    ik_buffer_reset(&clean);
    return line;
}

/* The first line of the body that is not empty, without the signs of a heading. */
static char *first_line(const void *ctx, const ik_front_matter_t *matter)
{
    const char *at = matter->body;
    size_t left = matter->body_len;
    while (left > 0 && strchr("# \t\r\n", *at) != NULL) {
        at++;
        left--;
    }
    const char *newline = left == 0 ? NULL : memchr(at, '\n', left);
    return clean_line(ctx, at, newline == NULL ? left : (size_t)(newline - at));
}

static bool is_skill_name(const char *name)
{
    size_t len = strlen(name);
    bool usable = len > 0 && len <= NAME_MAX_LENGTH && name[0] != '-' && name[len - 1] != '-' &&
                  strstr(name, "--") == NULL;
    return usable && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

/* A name that can be typed: one word that prints as it is. */
static bool can_be_typed(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && strpbrk(name, " \t\r\n/\"'") == NULL && ik_utf8_valid(name, len) &&
           ik_sanitise_is_clean(name, len);
}

static void warn(ik_extension_t *item, const char *reason)
{
    item->reason = item->reason == NULL ? reason : item->reason;
}

static void refuse(ik_extension_t *item, const char *reason)
{
    if (item->used) {
        item->used = false;
        item->reason = reason;
    }
}

/* Gives the item the name in its front matter, if that is usable. place: what else names it. */
static void take_name(const search_t *search, ik_extension_t *item, const ik_front_matter_t *matter,
                      bool (*is_usable)(const char *name), const char *place)
{
    const char *name = ik_front_matter_text(matter, "name");
    if (name == NULL) {
        return;
    }
    if (!is_usable(name)) {
        warn(item,
             ik_sprintf(search->found, "its name %s is not usable: the name is that of its %s",
                        clean_line(matter, name, strlen(name)), place));
    } else if (strcmp(name, item->name) != 0) {
        warn(item, ik_sprintf(search->found, "its name differs from its %s %s", place, item->name));
        item->name = ik_strdup(search->found, name);
    }
}

size_t ik_extension_described(const ik_extension_t *item)
{
    size_t len = strlen(item->description);
    size_t shown = 0;
    bool valid;
    for (int i = 0; i < IK_EXTENSION_DESCRIPTION_MAX && shown < len; i++) {
        shown += ik_utf8_step(item->description + shown, len - shown, &valid);
    }
    return shown;
}

static void require_description(const search_t *search, ik_extension_t *item,
                                const ik_front_matter_t *matter)
{
    if (matter->unclosed || *item->description == '\0') {
        refuse(item, matter->problem != NULL ? ik_strdup(search->found, matter->problem)
                                             : "its front matter has no description");
    } else if (ik_extension_described(item) < strlen(item->description)) {
        warn(item, "its description is longer than 1024 characters: the model sees the beginning");
    }
}

static void take_skill(const search_t *search, ik_extension_t *item,
                       const ik_front_matter_t *matter)
{
    if (ik_front_matter_text(matter, "name") == NULL) {
        warn(item, "its front matter has no name: the name is that of its folder");
    }
    take_name(search, item, matter, is_skill_name, "folder");
    item->hides = ik_front_matter_is_true(matter, "disable-model-invocation");
    require_description(search, item, matter);
}

/* The name of a tool, which other agents call differently. */
static const char *name_tool(const void *ctx, const char *text, size_t len)
{
    static const struct {
        const char *other;
        const char *own;
    } names[] = {{"Read", "file_read"}, {"Write", "file_write"}, {"Edit", "file_edit"},
                 {"Bash", "bash"},      {"Grep", "grep"},        {"Glob", "glob"}};
    const char *name = ik_strndup(ctx, text, len);
    for (size_t i = 0; i < IK_LENGTH(names); i++) {
        name = strcmp(name, names[i].other) == 0 ? names[i].own : name;
    }
    return name;
}

/* A list, or names with commas or blanks between them. NULL: all tools, as without the key. */
static const char *const *read_tools(const void *ctx, const ik_front_matter_entry_t *entry)
{
    bool none = entry != NULL && entry->flow != NULL; /* "[]" */
    if (entry == NULL || (entry->text == NULL && entry->items == NULL && !none) ||
        (entry->text != NULL && entry->text[strspn(entry->text, " \t")] == '\0')) {
        return NULL;
    }
    const char **tools = ik_new_array(ctx, const char *, 1);
    size_t count = 0;
    const char *only[] = {entry->text};
    const char *const *texts = entry->text != NULL ? only : entry->items;
    for (size_t i = 0; i < (entry->text != NULL ? 1 : entry->item_count); i++) {
        for (const char *at = texts[i]; at != NULL;) {
            size_t len = strcspn(at, ", \t\r\n");
            tools = ik_resize_array(ctx, tools, const char *, count + 2);
            tools[count] = name_tool(tools, at, len);
            if (strcmp(tools[count], "*") == 0) {
                return NULL;
            }
            count += *tools[count] != '\0';
            at = at[len] == '\0' ? NULL : at + len + 1;
        }
    }
    tools[count] = NULL;
    return tools;
}

/* The model of an item; NULL: that of the conversation. */
static const char *read_model(const void *ctx, const ik_front_matter_t *matter)
{
    const char *model = ik_front_matter_text(matter, "model");
    return model == NULL || strcmp(model, "inherit") == 0 ? NULL : ik_strdup(ctx, model);
}

static void take_agent(const search_t *search, ik_extension_t *item,
                       const ik_front_matter_t *matter)
{
    const char *mode = ik_front_matter_text(matter, "mode");
    const ik_front_matter_entry_t *modes = ik_front_matter_find(matter, "mode");
    const ik_front_matter_entry_t *tools = ik_front_matter_find(matter, "tools");
    ik_mode_t known;
    take_name(search, item, matter, can_be_typed, "file");
    item->model = read_model(search->found, matter);
    item->tools = read_tools(search->found, tools);
    item->mode = mode == NULL ? NULL : ik_strdup(search->found, mode);
    if (!can_be_typed(item->name)) {
        refuse(item, "its name cannot be typed: rename the file");
    }
    if (mode != NULL && !ik_mode_parse(mode, &known)) {
        refuse(item, ik_sprintf(search->found, "its mode %s is not auto, ask, plan or full",
                                clean_line(matter, mode, strlen(mode))));
    }
    /* A limit that is not understood must not become none. */
    if (modes != NULL && modes->text == NULL) {
        refuse(item, "its mode is not auto, ask, plan or full");
    }
    if (tools != NULL && tools->map) {
        refuse(item, "its tools are not a list of names");
    }
    require_description(search, item, matter);
}

static void take_command(const search_t *search, ik_extension_t *item,
                         const ik_front_matter_t *matter)
{
    const ik_front_matter_entry_t *hint = ik_front_matter_find(matter, "argument-hint");
    /* "[FILE]" is a list only for YAML */
    const char *hinted = hint == NULL ? NULL : hint->flow != NULL ? hint->flow : hint->text;
    if (*item->description == '\0' && !matter->unclosed) {
        item->description = first_line(search->found, matter);
    }
    item->model = read_model(search->found, matter);
    item->hint = hinted == NULL || *hinted == '\0'
                     ? NULL
                     : clean_line(search->found, hinted, strlen(hinted));
    if (!can_be_typed(item->name)) {
        refuse(item, "its name cannot be typed: rename the file");
    } else if (matter->unclosed) {
        refuse(item, ik_strdup(search->found, matter->problem));
    }
}

/* Fills in what the front matter says, and decides whether the item is usable by itself. */
static void examine(search_t *search, ik_extension_t *item)
{
    ik_buffer_t *head = &search->head;
    item->description = "";
    const char *fault = read_head(search, item->file);
    if (fault != NULL) {
        refuse(item, fault);
        return;
    }
    ik_buffer_append_text(head, "");
    ik_front_matter_t *matter = ik_front_matter_parse(search->scratch, head->data, head->len);
    const char *description = ik_front_matter_text(matter, "description");
    if (description != NULL) {
        item->description = clean_line(search->found, description, strlen(description));
    }
    if (item->kind == IK_EXTENSION_SKILL) {
        take_skill(search, item, matter);
    } else if (item->kind == IK_EXTENSION_AGENT) {
        take_agent(search, item, matter);
    } else {
        take_command(search, item, matter);
    }
    if (matter->problem != NULL) {
        warn(item, ik_strdup(search->found, matter->problem));
    }
    talloc_free(matter);
}

/* A hook is an executable in the folder of its event. */
static void take_hook(const search_t *search, ik_extension_t *item, const char *below)
{
    struct stat status;
    ik_hook_event_t event;
    item->description = "";
    item->event = ik_strndup(search->found, below, strcspn(below, "/"));
    res_t owned = item->of_project ? OK : ik_ownership_check_file(item->file);
    if (!ik_hook_event_parse(item->event, &event)) {
        refuse(item, ik_sprintf(search->found, "there is no event %s",
                                clean_line(search->scratch, item->event, strlen(item->event))));
    } else if (stat(item->file, &status) != 0 || !S_ISREG(status.st_mode)) {
        refuse(item, "it is not a regular file");
    } else if (access(item->file, X_OK) != 0) {
        refuse(item, "it is not executable");
    } else if (is_err(&owned)) {
        refuse(item, ik_strdup(search->found, owned.message));
    }
}

/* below: the path of the file in its folder. */
static void add_item(search_t *search, const char *name, const char *below)
{
    ik_extensions_t *found = search->found;
    if (found->count == search->capacity) {
        search->capacity = search->capacity == 0 ? 16 : search->capacity * 2;
        found->items = ik_resize_array(found, found->items, ik_extension_t, search->capacity);
    }
    ik_extension_t *item = &found->items[found->count++];
    *item = (ik_extension_t){.kind = search->folder->kind,
                             .name = ik_strdup(found, name),
                             .path = ik_sprintf(found, "%s/%s", search->folder->path, below),
                             .file = ik_sprintf(found, "%s/%s", search->place, below),
                             .of_project = search->folder->of_project,
                             .rank = search->rank,
                             .used = true};
    if (item->kind == IK_EXTENSION_HOOK) {
        take_hook(search, item, below);
    } else {
        examine(search, item);
    }
    if (search->refusal != NULL && item->used) {
        refuse(item, search->refusal);
        item->untrusted = search->untrusted;
    }
    item->unusable = !item->used && !search->untrusted;
}

/* --- one folder -------------------------------------------------------------------------- */

static bool is_file(int folder, const char *name)
{
    struct stat status;
    return fstatat(folder, name, &status, 0) == 0 && S_ISREG(status.st_mode);
}

/* Not a link to one. */
static bool is_folder(int folder, const struct dirent *entry)
{
    struct stat status;
    return entry->d_type != DT_UNKNOWN
               ? entry->d_type == DT_DIR
               : fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                     S_ISDIR(status.st_mode);
}

static void list_folder(search_t *search, const char *below, int depth);

/* A skill is a folder with SKILL.md. Other folders may hold skills; a link is not followed into
 * those, because it may lead in a circle. There may be hundreds, so SKILL.md is opened at once,
 * from its folder. */
static void list_skill(search_t *search, int folder, const char *name, const char *below,
                       bool is_folder, int depth)
{
    char *file = ik_sprintf(search->scratch, "%s/SKILL.md", name);
    search->opened = openat(folder, file, OPEN_FLAGS);
    if (search->opened >= 0 || (errno != ENOENT && errno != ENOTDIR)) {
        add_item(search, name, ik_sprintf(search->scratch, "%s/SKILL.md", below));
    } else if (is_folder) {
        list_folder(search, below, depth + 1);
    }
}

/* A command or an agent. */
static void list_file(search_t *search, int folder, const char *name, const char *below,
                      bool is_folder, int depth)
{
    size_t len = strlen(name);
    if (is_folder) {
        list_folder(search, below, depth + 1);
    } else if (len > 3 && strcmp(name + len - 3, ".md") == 0 && is_file(folder, name)) {
        char *command = ik_strndup(search->scratch, below, strlen(below) - 3);
        for (char *slash = command; (slash = strchr(slash, '/')) != NULL;) {
            *slash = ':';
        }
        add_item(search, command, below);
    }
}

/* Hooks are directly in the folders of their events; other folders may hold what they need. */
static void list_hook(search_t *search, int folder, const char *name, const char *below,
                      bool is_folder, int depth)
{
    (void)folder;
    if (depth == 1 && !is_folder) {
        add_item(search, name, below);
    } else if (depth == 0 && is_folder) {
        list_folder(search, below, depth + 1);
    }
}

static void list_folder(search_t *search, const char *below, int depth)
{
    static void (*const list[])(search_t *, int, const char *, const char *, bool, int) = {
        [IK_EXTENSION_COMMAND] = list_file,
        [IK_EXTENSION_SKILL] = list_skill,
        [IK_EXTENSION_HOOK] = list_hook,
        [IK_EXTENSION_AGENT] = list_file,
    };
    char *path = *below == '\0' ? ik_strdup(search->scratch, search->place)
                                : ik_sprintf(search->scratch, "%s/%s", search->place, below);
    DIR *folder = depth > MAX_DEPTH || search->visited++ >= MAX_FOLDERS ? NULL : opendir(path);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        const char *name = entry->d_name;
        if (name[0] == '.' || strcmp(name, "node_modules") == 0) {
            continue;
        }
        char *inner = *below == '\0' ? ik_strdup(search->scratch, name)
                                     : ik_sprintf(search->scratch, "%s/%s", below, name);
        list[search->folder->kind](search, dirfd(folder), name, inner,
                                   is_folder(dirfd(folder), entry), depth);
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

/* Decides where the folder is read, and whether it is used. */
static void admit(search_t *search)
{
    const ik_extension_folder_t *folder = search->folder;
    const ik_paths_t *paths = search->options->paths;
    search->place = folder->path;
    search->refusal = NULL;
    search->untrusted = false;
    if (!folder->of_project) {
        res_t owned = ik_ownership_check_folder(folder->path);
        if (is_err(&owned)) {
            search->refusal = ik_strdup(search->found, owned.message);
        }
        return;
    }
    ik_trust_status_t *trust = ik_trust_check(search->scratch, paths, folder->path);
    bool trusted = trust->state == IK_TRUST_GIVEN;
    char *copy;
    if (trust->state == IK_TRUST_REFUSED) {
        search->refusal = ik_sprintf(search->found, "it cannot be trusted: %s", trust->reason);
    } else if (trust->snapshot != NULL && (trusted || search->options->trust_project)) {
        res_t copied = ik_trust_copy_create(search->found, paths->trusted, trust->snapshot, &copy);
        search->refusal = is_err(&copied) ? ik_strdup(search->found, copied.message) : NULL;
        search->place = is_err(&copied) ? folder->path : copy;
    } else {
        search->refusal =
            trust->state == IK_TRUST_CHANGED
                ? ik_sprintf(search->found, "the project changed since you trusted it (%s)",
                             clean_line(search->scratch, trust->changed, strlen(trust->changed)))
                : "the project is not trusted";
    }
    search->untrusted = search->refusal != NULL;
}

/* --- all --------------------------------------------------------------------------------- */

static int compare_items(const void *a, const void *b)
{
    const ik_extension_t *first = a;
    const ik_extension_t *second = b;
    bool hooks = first->event != NULL && second->event != NULL;
    int events = hooks ? strcmp(first->event, second->event) : 0;
    int owners = hooks ? second->of_project - first->of_project : 0;
    int order = events != 0 ? events : owners != 0 ? owners : strcmp(first->name, second->name);
    int rank = (first->rank > second->rank) - (first->rank < second->rank);
    return order != 0 ? order : rank != 0 ? rank : strcmp(first->path, second->path);
}

/* Whether only one of both can be used. A project's hooks run besides those of the user. */
static bool is_same(const ik_extension_t *a, const ik_extension_t *b)
{
    bool hooks = a->event != NULL && b->event != NULL;
    return strcmp(a->name, b->name) == 0 &&
           (!hooks || (strcmp(a->event, b->event) == 0 && a->of_project == b->of_project));
}

/* Sorts the items, and uses one of each name. */
static void choose(const ik_extension_options_t *options, ik_extensions_t *found)
{
    const ik_extension_t *chosen = NULL;
    if (found->count > 0) {
        qsort(found->items, found->count, sizeof(*found->items), compare_items);
    }
    for (size_t i = 0; i < found->count; i++) {
        ik_extension_t *item = &found->items[i];
        bool typed = item->kind == IK_EXTENSION_COMMAND || item->kind == IK_EXTENSION_SKILL;
        if (typed && options->is_built_in != NULL && options->is_built_in(item->name)) {
            char *reason = ik_sprintf(found, "/%s is a built-in command", item->name);
            (item->kind == IK_EXTENSION_COMMAND ? refuse : warn)(item, reason);
        }
        if (chosen != NULL && is_same(chosen, item)) {
            refuse(item, ik_sprintf(found, "%s takes precedence", chosen->path));
        } else if (item->used) {
            chosen = item;
        }
    }
}

ik_extensions_t *ik_extensions_find(const void *ctx, const ik_extension_options_t *options,
                                    ik_extension_kind_t kind)
{
    search_t search = {.options = options, .found = ik_new(ctx, ik_extensions_t), .opened = -1};
    search.scratch = talloc_new(NULL);
    ik_buffer_init(&search.head, search.scratch, 2 * HEAD_MAX);
    ik_extension_folders_t *folders =
        ik_extension_folders_find(search.scratch, options->paths, kind);
    for (search.rank = 0; search.rank < folders->count; search.rank++) {
        search.folder = &folders->folders[search.rank];
        search.visited = 0;
        admit(&search);
        list_folder(&search, "", 0);
    }
    talloc_free(search.scratch);
    choose(options, search.found);
    return search.found;
}

const ik_extension_t *ik_extensions_lookup(const ik_extensions_t *extensions, const char *name,
                                           size_t len)
{
    const ik_extension_t *untrusted = NULL;
    for (size_t i = 0; i < extensions->count; i++) {
        const ik_extension_t *item = &extensions->items[i];
        if (strncmp(item->name, name, len) != 0 || item->name[len] != '\0') {
            continue;
        }
        if (item->used) {
            return item;
        }
        untrusted = untrusted == NULL && item->untrusted ? item : untrusted;
    }
    return untrusted;
}

res_t ik_extension_read(const void *ctx, const ik_extension_t *extension, char **body, size_t *len)
{
    char *text;
    size_t text_len;
    if (!extension->of_project) {
        TRY(ik_ownership_check_file(extension->file));
    }
    TRY(ik_file_read(ctx, extension->file, IK_EXTENSION_FILE_MAX, &text, &text_len));
    if (memchr(text, '\0', text_len) != NULL) {
        talloc_free(text);
        return ERR(INVALID, "%s is not text", extension->path);
    }
    ik_buffer_t clean;
    ik_front_matter_t *matter = ik_front_matter_parse(ctx, text, text_len);
    ik_buffer_init(&clean, ctx, IK_BUFFER_UNLIMITED); /* bounded by the file */
    ik_utf8_append_clean(&clean, matter->body, matter->body_len);
    ik_buffer_append_text(&clean, "");
    talloc_free(matter);
    talloc_free(text);
    *len = clean.len;
    *body = ik_buffer_finish(&clean);
    return OK;
}
