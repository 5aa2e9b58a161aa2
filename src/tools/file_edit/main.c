/* file_edit: replaces an exact text in a file and changes no other byte. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tools/common/file_error.h"
#include "tools/common/tool_program.h"
#include "tools/file_edit/edit_hint.h"
#include "tools/file_edit/edit_match.h"

#define FILE_MAX ((size_t)1 << 30)
#define RESULT_MAX ((size_t)2 << 30)

static ik_edit_text_t text_param(const ik_tool_call_t *call, const char *name)
{
    ik_edit_text_t text;
    text.bytes = ik_tool_param_string(call, name, &text.len, NULL);
    return text;
}

static ik_file_error_t read_to_end(int fd, ik_buffer_t *content, size_t expected)
{
    size_t chunk = expected + 1; /* one read gets the whole file, a second one its end */
    for (;;) {
        size_t room = ik_buffer_reserve(content, chunk);
        if (room == 0) {
            return IK_FILE_ERROR_TOO_LARGE; /* it has grown since fstat */
        }
        ssize_t got = read(fd, content->data + content->len, room);
        if (got == 0) {
            return IK_FILE_ERROR_NONE;
        }
        if (got < 0 && errno != EINTR) {
            return IK_FILE_ERROR_READ;
        }
        content->len += got > 0 ? (size_t)got : 0;
        chunk = 65536;
    }
}

/* *st is the file's status before the first byte was read. */
static ik_file_error_t read_file(const char *path, ik_buffer_t *content, struct stat *st)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        return ik_file_error_of_open(errno);
    }
    ik_file_error_t error = IK_FILE_ERROR_NONE;
    if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode)) {
        error = IK_FILE_ERROR_OPEN;
    } else if (st->st_size > (off_t)FILE_MAX) {
        error = IK_FILE_ERROR_TOO_LARGE;
    } else {
        error = read_to_end(fd, content, (size_t)st->st_size);
    }
    close(fd);
    return error;
}

static void add_outcome(ik_tool_call_t *call, const char *path, size_t count)
{
    char *message = ik_sprintf(call->ctx, "Replaced %zu %s in %s", count,
                               count == 1 ? "occurrence" : "occurrences", basename(path));
    ik_tool_answer_output(call, message, strlen(message));
    ik_tool_answer_integer(call, "replacements", (int64_t)count);
}

static void replace(ik_tool_call_t *call, const char *path, ik_edit_text_t file,
                    const struct stat *st, size_t count)
{
    ik_edit_text_t wanted = text_param(call, "old_string");
    ik_edit_text_t replacement = text_param(call, "new_string");
    size_t result = file.len - count * wanted.len + count * replacement.len;
    if (result > RESULT_MAX) {
        ik_tool_answer_error(call, "SIZE_FAILED",
                             "The edited file would have %zu bytes, more than 2 GB: %s", result,
                             path);
        return;
    }
    ik_buffer_t edited;
    ik_buffer_init(&edited, call->ctx, result);
    ik_edit_match_replace(&edited, file, wanted, replacement, count);
    /* The answer is built first, so that OUT_OF_MEMORY never follows a successful edit. */
    add_outcome(call, path, count);
    ik_tool_answer_reserve(call);
    ik_replaced_t replaced =
        ik_replace_file(path, edited.data, edited.len, &(ik_replace_options_t){.expected = st});
    if (replaced.error != 0) {
        ik_tool_answer_restart(call);
        ik_file_error_answer(call, ik_file_error_of_replace(&replaced), path);
        return;
    }
    if (replaced.note != NULL) {
        ik_tool_answer_string(call, "note", replaced.note);
    }
    ik_tool_answer_send(call);
}

static void edit(ik_tool_call_t *call, const char *path, ik_edit_text_t file, const struct stat *st)
{
    ik_edit_text_t wanted = text_param(call, "old_string");
    bool all = ik_tool_param_boolean(call, "replace_all");
    size_t count = ik_edit_match_count(file, wanted);
    if (count == 0 && all) {
        add_outcome(call, path, 0);
        ik_tool_answer_send(call);
    } else if (count == 0) {
        ik_tool_answer_error_with(call, "NOT_FOUND", "String not found in file", "hint",
                                  ik_edit_hint_find(call->ctx, file, wanted));
    } else if (count > 1 && !all) {
        ik_tool_answer_error(call, "NOT_UNIQUE",
                             "String found %zu times, use replace_all to replace all", count);
    } else {
        replace(call, path, file, st, count);
    }
}

static void run(ik_tool_call_t *call)
{
    const char *path = ik_tool_param_string(call, "file_path", NULL, NULL);
    ik_edit_text_t wanted = text_param(call, "old_string");
    ik_edit_text_t replacement = text_param(call, "new_string");
    if (wanted.len == 0) {
        ik_tool_answer_error(call, "INVALID_ARG", "old_string cannot be empty");
        return;
    }
    if (wanted.len == replacement.len && memcmp(wanted.bytes, replacement.bytes, wanted.len) == 0) {
        ik_tool_answer_error(call, "INVALID_ARG", "old_string and new_string are identical");
        return;
    }
    struct stat st;
    ik_buffer_t content;
    ik_buffer_init(&content, call->ctx, FILE_MAX + 1);
    ik_file_error_t error = read_file(path, &content, &st);
    if (error != IK_FILE_ERROR_NONE) {
        ik_file_error_answer(call, error, path);
        return;
    }
    edit(call, path, (ik_edit_text_t){.bytes = content.data, .len = content.len}, &st);
}

static const ik_tool_param_t params[] = {
    {.name = "file_path",
     .type = IK_TOOL_PARAM_STRING,
     .required = true,
     .text = true,
     .description = "Absolute or relative path to file"},
    {.name = "old_string",
     .type = IK_TOOL_PARAM_STRING,
     .required = true,
     .description = "Exact text to find and replace"},
    {.name = "new_string",
     .type = IK_TOOL_PARAM_STRING,
     .required = true,
     .description = "Text to replace old_string with"},
    {.name = "replace_all",
     .type = IK_TOOL_PARAM_BOOLEAN,
     .description = "Replace all occurrences (default: false, fails if not unique)"},
    {0},
};

static const ik_tool_program_t program = {
    .name = "file_edit",
    .description =
        "Edit a file by replacing exact text matches. You must read the file before editing.",
    .params = params,
    .returns = "{\"type\":\"object\",\"properties\":{"
               "\"output\":{\"type\":\"string\",\"description\":\"What was replaced\"},"
               "\"replacements\":{\"type\":\"integer\","
               "\"description\":\"Number of occurrences replaced\"},"
               "\"note\":{\"type\":\"string\",\"description\":\"A warning, when there is one\"}},"
               "\"required\":[\"output\",\"replacements\"]}",
    .limits = "Files of up to 1 GB, results of up to 2 GB; beyond that the answer is SIZE_FAILED. "
              "Memory: the file and the result.",
    .effects = {.write = IK_WRITE_PROJECT},
    .run = run,
};

int main(int argc, char **argv)
{
    return ik_tool_program_main(&program, argc, argv);
}
