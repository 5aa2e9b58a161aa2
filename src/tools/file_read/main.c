/* file_read: reads a file, or a range of its lines. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/image.h"
#include "base/json.h"
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

/* --- images -------------------------------------------------------------------------------- */

/* Reads what is left of a file to the buffer, up to its maximum. */
static bool read_rest(int fd, ik_buffer_t *bytes)
{
    for (;;) {
        size_t room = ik_buffer_reserve(bytes, 65536);
        ssize_t got = room == 0 ? 0 : read(fd, bytes->data + bytes->len, room);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got == 0;
        }
        bytes->len += (size_t)got;
    }
}

/* Answers with the data of an image, so that ikigai need not read the file again, or with the
 * reason why it is not accepted. */
static void answer_image(ik_tool_call_t *call, const char *path, const ik_buffer_t *bytes,
                         uint64_t total)
{
    ik_image_t image;
    res_t checked = ik_image_check(bytes->data, bytes->len, total, &image);
    const char *type = ik_image_media_type(image.kind);
    char *text = type == NULL ? ik_strdup(call->ctx, "a damaged image")
                              : ik_sprintf(call->ctx, "%s, %ux%u pixels, %llu bytes", type,
                                           image.width, image.height, (unsigned long long)total);
    ik_tool_answer_output(call, text, strlen(text));
    ik_json_begin_member(&call->answer, "images");
    ik_buffer_append_text(&call->answer, "[{\"path\":");
    ik_json_append_text(&call->answer, path);
    if (bytes->len < total || type == NULL) {
        ik_buffer_append_text(&call->answer, ",\"error\":");
        ik_json_append_text(&call->answer, checked.message);
        ik_buffer_append_text(&call->answer, ",\"error_code\":\"INVALID_IMAGE\"}]");
    } else {
        ik_buffer_append_format(&call->answer, ",\"media_type\":\"%s\",\"data\":\"", type);
        ik_base64_append(&call->answer, bytes->data, bytes->len);
        ik_buffer_append_text(&call->answer, "\"}]");
    }
    ik_tool_answer_send(call);
}

/* Answers when the file is an image; otherwise returns false, whatever the reason. */
static bool try_image(ik_tool_call_t *call, const char *path)
{
    enum { HEADER = 64, IMAGE_MAX = 16 * 1024 * 1024 };
    int fd;
    struct stat st = {0};
    ik_buffer_t bytes;
    if (open_file(path, &fd, &st) != IK_FILE_ERROR_NONE) {
        return false;
    }
    ik_buffer_init(&bytes, call->ctx, HEADER);
    bool found =
        S_ISREG(st.st_mode) && read_rest(fd, &bytes) && ik_image_begins(bytes.data, bytes.len);
    bytes.max = IMAGE_MAX;
    found = found && read_rest(fd, &bytes);
    close(fd);
    /* a text may begin as an image does: GIF89a is plain letters */
    found = found &&
            (memchr(bytes.data, '\0', bytes.len) != NULL || !ik_utf8_valid(bytes.data, bytes.len));
    if (found) {
        bool whole = bytes.len < IMAGE_MAX || (size_t)st.st_size <= bytes.len;
        answer_image(call, path, &bytes, whole ? bytes.len : (uint64_t)st.st_size);
    }
    ik_buffer_reset(&bytes);
    return found;
}

static void run(ik_tool_call_t *call)
{
    const char *path = ik_tool_param_string(call, "file_path", NULL, NULL);
    ik_buffer_t text;
    if (try_image(call, path)) {
        return;
    }
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
               "\"description\":\"Length of the uncut text in bytes\"},"
               "\"images\":{\"type\":\"array\",\"items\":{\"type\":\"object\"},"
               "\"description\":\"The image, if the file is one\"}},"
               "\"required\":[\"output\"]}",
    .parallel = true,
    .limits =
        "Keeps the first IKIGAI_MAX_OUTPUT bytes of the text (default 1 GB) and counts the rest. "
        "Memory: at most ten times that, whatever the size of the file. An image of at most 16 MB "
        "is answered with its data.",
    .run = run,
};

int main(int argc, char **argv)
{
    return ik_tool_program_main(&program, argc, argv);
}
