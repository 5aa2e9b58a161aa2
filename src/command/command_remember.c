/* /remember: appends a line to the instructions of the project or of the user. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/instructions.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/replace_file.h"
#include "base/sanitiser.h"
#include "command/command_list.h"

enum {
    FILE_SIZE_MAX = 1024 * 1024,
    ATTEMPTS = 3, /* another program may change the file at the same moment */
};

/* --- files ------------------------------------------------------------------------------- */

static bool is_there(const void *ctx, const char *folder, const char *name)
{
    struct stat status;
    return lstat(ik_file_join(ctx, folder, name), &status) == 0;
}

static char *find_project_file(const void *ctx, const char *root)
{
    bool other = !is_there(ctx, root, "AGENTS.md") && is_there(ctx, root, "CLAUDE.md");
    return ik_file_join(ctx, root, other ? "CLAUDE.md" : "AGENTS.md");
}

/* Opens the file and finds out its real path. *fd is -1 if there is no file. bound is the folder
 * that it must lie in, because a project may have made it a link; NULL: anywhere. */
static res_t open_file(const char *path, const char *bound, int *fd, char real[PATH_MAX])
{
    char descriptor[64];
    struct stat status;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0 && errno == ENOENT && (bound == NULL || lstat(path, &status) != 0)) {
        snprintf(real, PATH_MAX, "%s", path);
        return OK;
    }
    if (*fd < 0) {
        return ERR(SYSTEM, "Cannot read %s: %s.", path, strerror(errno));
    }
    snprintf(descriptor, sizeof(descriptor), "/proc/self/fd/%d", *fd);
    ssize_t len = readlink(descriptor, real, PATH_MAX - 1);
    real[len < 0 ? 0 : len] = '\0';
    res_t result = OK;
    if (len < 0 || (bound != NULL && !ik_file_is_within(real, bound))) {
        result = ERR(DENIED, "%s links to %s, which is outside %s: the line was not added.", path,
                     real, bound == NULL ? path : bound);
    } else if (fstat(*fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        result = ERR(INVALID, "%s is not a regular file: the line was not added.", path);
    }
    if (is_err(&result)) {
        close(*fd);
    }
    return result;
}

/* Appends the content of the file and the line; adds the line end that the file lacks. */
static res_t make_content(ik_buffer_t *content, int fd, const char *path, const char *line)
{
    char bytes[65536];
    ssize_t n;
    while ((n = read(fd, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR)) {
        ik_buffer_append(content, bytes, n < 0 ? 0 : (size_t)n);
        if (content->len > FILE_SIZE_MAX) {
            return ERR(LIMIT, "%s is longer than 1 MB: the line was not added.", path);
        }
    }
    if (n < 0) {
        return ERR(SYSTEM, "Cannot read %s: %s.", path, strerror(errno));
    }
    bool windows = content->len > 0 && memmem(content->data, content->len, "\r\n", 2) != NULL;
    const char *end = windows ? "\r\n" : "\n";
    if (content->len > 0 && content->data[content->len - 1] != '\n') {
        ik_buffer_append_text(content, end);
    }
    ik_buffer_append_text(content, line);
    ik_buffer_append_text(content, end);
    return OK;
}

/* ESTALE in *error: the file was changed meanwhile. */
static res_t try_to_append(const void *ctx, const char *path, const char *bound, const char *line,
                           int *error)
{
    int fd;
    char real[PATH_MAX];
    struct stat status;
    struct stat link;
    ik_buffer_t content;
    ik_buffer_init(&content, ctx, IK_BUFFER_UNLIMITED); /* bounded by FILE_SIZE_MAX */
    *error = 0;
    TRY(open_file(path, bound, &fd, real));
    bool exists = fd >= 0 && fstat(fd, &status) == 0;
    res_t made = OK;
    if (exists) {
        made = make_content(&content, fd, path, line);
        close(fd);
    } else {
        ik_buffer_append_format(&content, "%s\n", line);
    }
    TRY(made);
    ik_replace_options_t options = {.expected = exists ? &status : NULL,
                                    .unguarded = true,
                                    .private = bound == NULL && lstat(path, &link) != 0};
    *error = ik_replace_file(real, content.data, content.len, &options).error;
    return *error == 0 ? OK : ERR(SYSTEM, "Cannot write %s: %s.", path, strerror(*error));
}

static res_t append_line(const void *ctx, const char *path, const char *bound, const char *line)
{
    int error;
    res_t result = try_to_append(ctx, path, bound, line, &error);
    for (int i = 1; i < ATTEMPTS && error == ESTALE; i++) {
        result = try_to_append(ctx, path, bound, line, &error);
    }
    return result;
}

/* --- the command ------------------------------------------------------------------------- */

/* A line, and where it can go. */
typedef struct {
    ik_command_host_t *host;
    const char *line;
    const char *root; /* of the project */
    const char *project_file;
    const char *user_file;
} memo_t;

static const char *const choices[] = {"project", "user", "no", NULL};

static memo_t *create_memo(ik_command_host_t *host, const char *text)
{
    const ik_paths_t *paths = ik_workspace_paths(host->workspace);
    memo_t *memo = ik_new(host->ctx, memo_t);
    memo->host = host;
    memo->line = ik_sprintf(memo, "- %s", ik_sanitise_line(memo, text));
    memo->root = ik_paths_find_root(memo, paths->cwd);
    memo->project_file = find_project_file(memo, memo->root);
    memo->user_file = paths->user_agents_md;
    return memo;
}

/* The conversation keeps its prompt, which providers cache; before the first message there is none
 * yet. */
static void remember(const memo_t *memo, bool for_user)
{
    ik_command_host_t *host = memo->host;
    const ik_workspace_t *workspace = host->workspace;
    const char *path = for_user ? memo->user_file : memo->project_file;
    bool begun = ik_workspace_agent(workspace, ik_workspace_focus(workspace)) != NULL;
    res_t made = for_user ? ik_file_make_private_folder(ik_workspace_paths(workspace)->home) : OK;
    res_t added =
        is_err(&made) ? made : append_line(memo, path, for_user ? NULL : memo->root, memo->line);
    if (is_err(&added)) {
        host->screen->fail(host, added.message);
        return;
    }
    host->screen->print_line(
        host, ik_sprintf(memo, "Added to %s. It counts from %s on.", path,
                         begun ? "the next conversation (/clear)" : "your next message"));
}

static void on_answer(void *data, const char *answer)
{
    memo_t *memo = data;
    if (answer == NULL || strcmp(answer, "no") == 0) {
        memo->host->screen->print_line(memo->host, "Nothing was added.");
    } else {
        remember(memo, strcmp(answer, "user") == 0);
    }
    talloc_free(memo);
}

/* The text behind the option, if it begins with it. */
static const char *skip_option(const char *text, const char *option)
{
    size_t len = strlen(option);
    bool given = strncmp(text, option, len) == 0 && strchr(" \t\r\n", text[len]) != NULL;
    return given ? text + len + strspn(text + len, " \t\r\n") : NULL;
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    const char *for_user = skip_option(args->rest, "--user");
    const char *for_project = skip_option(args->rest, "--project");
    const char *literal = skip_option(args->rest, "--");
    const char *text = for_user != NULL      ? for_user
                       : for_project != NULL ? for_project
                       : literal != NULL     ? literal
                                             : args->rest;
    if (*text == '\0') {
        ik_command_misuse(host, &ik_command_remember, NULL);
        return;
    }
    memo_t *memo = create_memo(host, text);
    if (for_user != NULL || for_project != NULL) {
        remember(memo, for_user != NULL);
        talloc_free(memo);
        return;
    }
    host->screen->print_line(host, memo->line);
    ik_workspace_ask(
        host->workspace,
        &(ik_question_t){.text = ik_sprintf(args,
                                            "Remember this line? p: for the project, in "
                                            "%s; u: for you, in %s; n: no",
                                            memo->project_file, memo->user_file),
                         .choices = choices,
                         .fallback = 2,
                         .keys = true},
        on_answer, memo);
}

static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    (void)host;
    if (word == 1) {
        ik_command_words_add(out, "--project", "in the project's AGENTS.md");
        ik_command_words_add(out, "--user", "in ~/.ikigai/AGENTS.md");
    }
}

const ik_command_t ik_command_remember = {
    .name = "remember",
    .usage = "[--user|--project] TEXT",
    .help = "Adds a line to AGENTS.md, as the message \"# TEXT\" does.",
    .flags = IK_COMMAND_TAKES_REST,
    .min_args = 1,
    .max_args = 1,
    .run = run,
    .complete = complete,
};
