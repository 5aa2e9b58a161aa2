#include "setup/setup_suggestions.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/json.h"

enum { READ_MAX = 1024 * 1024 }; /* a longer file is not read */

/* --- what the folder has ------------------------------------------------------------------- */

static bool exists(const char *folder, const char *name)
{
    struct stat status;
    char *path = ik_sprintf(NULL, "%s/%s", folder, name);
    bool found = stat(path, &status) == 0;
    talloc_free(path);
    return found;
}

static char *read_text(const void *ctx, const char *folder, const char *name)
{
    char *text = NULL;
    size_t len;
    char *path = ik_sprintf(ctx, "%s/%s", folder, name);
    res_t read = ik_file_read(ctx, path, READ_MAX, &text, &len);
    return is_ok(&read) ? text : NULL;
}

/* Whether a line of a makefile, "all test: prerequisites", has the target. */
static bool has_target(const char *line, size_t len, const char *target)
{
    const char *colon = memchr(line, ':', len);
    size_t target_len = strlen(target);
    if (colon == NULL || *line == '\t' || *line == '#' ||
        memchr(line, '=', (size_t)(colon - line)) != NULL ||
        (colon + 1 < line + len && colon[1] == '=')) {
        return false;
    }
    for (const char *at = line; at < colon;) {
        size_t word = strcspn(at, " \t:");
        if (word == target_len && strncmp(at, target, word) == 0) {
            return true;
        }
        at += word + strspn(at + word, " \t");
    }
    return false;
}

/* Make reads the first of these names that exists. */
static bool has_make_test(const char *folder)
{
    static const char *const names[] = {"GNUmakefile", "makefile", "Makefile"};
    void *scratch = talloc_new(NULL);
    const char *text = NULL;
    bool found = false;
    for (size_t i = 0; text == NULL && i < IK_LENGTH(names); i++) {
        text = read_text(scratch, folder, names[i]);
    }
    while (!found && text != NULL && *text != '\0') {
        size_t len = strcspn(text, "\n");
        found = has_target(text, len, "test");
        text += len + (text[len] == '\n');
    }
    talloc_free(scratch);
    return found;
}

static bool has_npm_test(const char *folder)
{
    void *scratch = talloc_new(NULL);
    ik_json_span_t root;
    ik_json_span_t scripts;
    ik_json_span_t script;
    const char *text = read_text(scratch, folder, "package.json");
    bool found = text != NULL && ik_json_scan(text, strlen(text), &root, NULL) &&
                 ik_json_find_kind(root, "scripts", IK_JSON_OBJECT, &scripts) &&
                 ik_json_find_kind(scripts, "test", IK_JSON_STRING, &script);
    talloc_free(scratch);
    return found;
}

/* The command that runs the tests; NULL: not known. */
static const char *find_test_command(const char *folder)
{
    if (has_make_test(folder)) {
        return "make test";
    }
    if (has_npm_test(folder)) {
        return "npm test";
    }
    if (exists(folder, "Cargo.toml")) {
        return "cargo test";
    }
    if (exists(folder, "go.mod")) {
        return "go test ./...";
    }
    if (exists(folder, "pytest.ini") || exists(folder, "pyproject.toml")) {
        return "pytest";
    }
    return NULL;
}

char *ik_setup_suggestions(const void *ctx, const char *folder)
{
    ik_buffer_t lines;
    const char *test = find_test_command(folder);
    ik_buffer_init(&lines, ctx, IK_BUFFER_UNLIMITED); /* three lines */
    ik_buffer_append_text(&lines, "explain this project\n");
    if (test != NULL) {
        ik_buffer_append_format(&lines, "run %s and fix what fails\n", test);
    }
    if (!exists(folder, "AGENTS.md") && !exists(folder, "CLAUDE.md")) {
        ik_buffer_append_text(&lines, "/init\n"); /* writes AGENTS.md */
    }
    ik_buffer_append_text(&lines, exists(folder, ".git") ? "review my last commit\n"
                                                         : "what could be improved here?\n");
    return ik_buffer_finish(&lines);
}
