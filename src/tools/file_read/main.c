/* file_read: reads a file, or a range of its lines. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/utf8.h"
#include "tools/common/file_error.h"
#include "tools/common/tool_program.h"
#include "tools/file_read/line_range.h"

/* Bytes read beyond max_output, to notice a cut and to place it between characters. */
enum { LOOK_AHEAD = 4 };

/* Refuses files that have no end or cannot be read from the start; /dev/null is allowed. */
static ik_file_error_t check_kind(const struct stat *st)
{
    if (S_ISDIR(st->st_mode)) {
        return IK_FILE_ERROR_OPEN;
    }
    if (S_ISFIFO(st->st_mode) || S_ISSOCK(st->st_mode)) {
        return IK_FILE_ERROR_SEEK;
    }
    bool is_null = major(st->st_rdev) == 1 && minor(st->st_rdev) == 3;
    return S_ISCHR(st->st_mode) && !is_null ? IK_FILE_ERROR_SIZE : IK_FILE_ERROR_NONE;
}

static ik_file_error_t open_file(const char *path, int *fd, struct stat *st)
{
    /* O_NONBLOCK: opening a pipe without a writer, or a terminal, may block. */
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0) {
        /* ENXIO: a socket, or a device without a driver. The kind says more than the errno. */
        int error = errno;
        bool known = error == ENXIO && stat(path, st) == 0 && check_kind(st) != IK_FILE_ERROR_NONE;
        return known ? check_kind(st) : ik_file_error_of_open(error);
    }
    ik_file_error_t error = fstat(*fd, st) < 0 ? IK_FILE_ERROR_SIZE : check_kind(st);
    if (error != IK_FILE_ERROR_NONE) {
        close(*fd);
    }
    return error;
}

static ik_file_error_t read_range(ik_tool_call_t *call, const char *path, ik_buffer_t *text,
                                  uint64_t *total)
{
    int fd;
    struct stat st = {0};
    ik_file_error_t error = open_file(path, &fd, &st);
    if (error != IK_FILE_ERROR_NONE) {
        return error;
    }
    ik_line_range_t range = {
        .skip = (uint64_t)ik_tool_param_integer(call, "offset", 1) - 1,
        .lines = IK_LINE_RANGE_ALL,
        .size = (uint64_t)st.st_size,
    };
    if (ik_tool_param_given(call, "limit")) {
        range.lines = (uint64_t)ik_tool_param_integer(call, "limit", 0);
    }
    if (S_ISBLK(st.st_mode)) {
        range.size = (uint64_t)lseek(fd, 0, SEEK_END);
        lseek(fd, 0, SEEK_SET);
    }
    bool read = ik_line_range_read(fd, &range, text, total);
    close(fd);
    return read ? IK_FILE_ERROR_NONE : IK_FILE_ERROR_READ;
}

/* The text is cut after invalid bytes were replaced, because that makes it longer. total_bytes is
 * the length in the file. */
static void answer_text(ik_tool_call_t *call, const ik_buffer_t *text, uint64_t total)
{
    ik_buffer_t clean;
    ik_buffer_init(&clean, call->ctx, IK_BUFFER_UNLIMITED); /* at most 3 * text->len */
    const ik_buffer_t *shown = text;
    if (!ik_utf8_valid(text->data, text->len)) {
        ik_utf8_append_clean(&clean, text->data, text->len);
        shown = &clean;
    }
    size_t kept = ik_utf8_cut(shown->data, shown->len, call->max_output);
    ik_tool_answer_output(call, shown->data, kept);
    if (kept < shown->len) {
        ik_tool_answer_boolean(call, "truncated", true);
        ik_tool_answer_integer(call, "total_bytes", (int64_t)total);
    }
    ik_tool_answer_send(call);
}

static void run(ik_tool_call_t *call)
{
    const char *path = ik_tool_param_string(call, "file_path", NULL, NULL);
    ik_buffer_t text;
    ik_buffer_init(&text, call->ctx, call->max_output + LOOK_AHEAD);
    ik_buffer_append(&text, "", 0); /* for an empty file: data must not be NULL */
    uint64_t total;
    ik_file_error_t error = read_range(call, path, &text, &total);
    if (error != IK_FILE_ERROR_NONE) {
        ik_file_error_answer(call, error, path);
        return;
    }
    answer_text(call, &text, total);
}

static const ik_tool_param_t params[] = {
    {.name = "file_path",
     .type = IK_TOOL_PARAM_STRING,
     .required = true,
     .text = true,
     .description = "Absolute or relative path to file"},
    {.name = "offset",
     .type = IK_TOOL_PARAM_INTEGER,
     .min = 1,
     .max = INT64_MAX,
     .description = "Line number to start reading from (1-based)"},
    {.name = "limit",
     .type = IK_TOOL_PARAM_INTEGER,
     .min = 1,
     .max = INT64_MAX,
     .description = "Number of lines to read"},
    {0},
};

static const ik_tool_program_t program = {
    .name = "file_read",
    .description = "Read contents of a file",
    .params = params,
    .returns = "{\"type\":\"object\",\"properties\":{"
               "\"output\":{\"type\":\"string\",\"description\":\"The text read\"},"
               "\"truncated\":{\"type\":\"boolean\",\"description\":\"The text was cut\"},"
               "\"total_bytes\":{\"type\":\"integer\","
               "\"description\":\"Length of the uncut text in bytes\"}},"
               "\"required\":[\"output\"]}",
    .parallel = true,
    .limits =
        "Keeps the first IKIGAI_MAX_OUTPUT bytes of the text (default 1 GB) and counts the rest. "
        "Memory: at most ten times that, whatever the size of the file.",
    .run = run,
};

int main(int argc, char **argv)
{
    return ik_tool_program_main(&program, argc, argv);
}
