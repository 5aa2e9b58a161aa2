/* The images of the user's messages: those of --image, and files that a message names as "@FILE".
 * Files are read when the message is entered, so that it is sent with the picture of that time. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/image.h"
#include "base/image_path.h"
#include "base/utf8.h"
#include "workspace/workspace_state.h"

enum {
    HEAD = 64 * 1024, /* bytes in which a file without an image's name must turn out to be one */
    WORDS_MAX = 200,  /* "@FILE" in one message */
};

/* --- files ------------------------------------------------------------------------------- */

/* Reads at most max bytes of a regular file, without waiting for a device or a pipe. */
static res_t read_start(const void *ctx, const char *path, size_t max, char **bytes, size_t *len,
                        uint64_t *total)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0) {
        res_t failed =
            ERR(SYSTEM, "%s", errno == ENOENT ? "there is no such file" : strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return failed;
    }
    if (!S_ISREG(status.st_mode)) {
        close(fd);
        return ERR(INVALID, "it is %s", S_ISDIR(status.st_mode) ? "a folder" : "not a file");
    }
    ik_buffer_t content;
    ssize_t got = 1;
    ik_buffer_init(&content, ctx, max);
    ik_buffer_append_text(&content, "");
    while (got > 0 && content.len < max) {
        size_t room = ik_buffer_reserve(&content, HEAD);
        got = read(fd, content.data + content.len, room);
        content.len += got > 0 ? (size_t)got : 0;
        got = got < 0 && errno == EINTR ? 1 : got;
    }
    res_t result = got < 0 ? ERR(SYSTEM, "%s", strerror(errno)) : OK;
    close(fd);
    *len = content.len;
    *total = (uint64_t)status.st_size > content.len ? (uint64_t)status.st_size : content.len;
    *bytes = ik_buffer_take(ctx, &content);
    return result;
}

/* The last part of a path as valid UTF-8, on ctx. */
static char *name_of(const void *ctx, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL || slash[1] == '\0' ? path : slash + 1;
    ik_buffer_t name;
    ik_buffer_init(&name, ctx, IK_BUFFER_UNLIMITED); /* bounded by the path */
    ik_buffer_append_text(&name, "");
    ik_utf8_append_clean(&name, base, strlen(base));
    return ik_buffer_finish(&name);
}

/* Reads, checks and stores an image. *is_image: the file is one, or has the name of one, so that
 * an error is worth telling. */
static res_t load_image(const void *ctx, const ik_workspace_t *workspace, const char *path,
                        ik_msg_image_t *image, bool *is_image)
{
    ik_image_t facts;
    char *bytes;
    size_t len;
    uint64_t total;
    *is_image = ik_image_path_is_named_image(path);
    TRY(read_start(ctx, path, HEAD, &bytes, &len, &total));
    *is_image = *is_image || ik_image_parse(bytes, len, &facts);
    if (total > len && *is_image) {
        TRY(read_start(ctx, path, IK_IMAGE_BYTES_MAX, &bytes, &len, &total));
    }
    TRY(ik_image_check(bytes, len, total, &facts));
    return ik_msg_image_store(workspace->options.paths->images, name_of(ctx, path), bytes, len,
                              image);
}

static char *resolve(const void *ctx, const ik_workspace_t *workspace, const char *path)
{
    return ik_image_path_resolve(ctx, path, workspace->options.paths->cwd, getenv("HOME"));
}

bool ik_workspace_is_image(const ik_workspace_t *workspace, const char *path)
{
    void *scratch = talloc_new(NULL);
    ik_image_t facts;
    char *bytes;
    size_t len;
    uint64_t total;
    res_t read = read_start(scratch, resolve(scratch, workspace, path), HEAD, &bytes, &len, &total);
    bool is_image =
        is_ok(&read) && (ik_image_parse(bytes, len, &facts) || ik_image_path_is_named_image(path));
    talloc_free(scratch);
    return is_image;
}

/* --- @FILE ------------------------------------------------------------------------------- */

/* What a message names. */
typedef struct {
    ik_workspace_t *workspace;
    void *scratch;
    ik_msg_image_t images[IK_WORKSPACE_IMAGES_MAX];
    size_t count;
    size_t left_out; /* because there are too many */
} attachment_t;

static void warn(ik_workspace_t *workspace, const char *text)
{
    if (workspace->ready) {
        ik_workspace_say(workspace, IK_WORKSPACE_WARNING, text);
        return;
    }
    workspace->notices =
        ik_resize_array(workspace, workspace->notices, char *, workspace->notice_count + 1);
    workspace->notices[workspace->notice_count++] = ik_strdup(workspace->notices, text);
}

void ik_workspace_say_notices(ik_workspace_t *workspace)
{
    for (size_t i = 0; i < workspace->notice_count; i++) {
        ik_workspace_say(workspace, IK_WORKSPACE_WARNING, workspace->notices[i]);
    }
    TALLOC_FREE(workspace->notices);
    workspace->notice_count = 0;
}

static void warn_of_rest(ik_workspace_t *workspace, size_t left_out)
{
    if (left_out > 0) {
        char *text = ik_sprintf(NULL, "Not attached: %zu more image%s; a message has at most %d",
                                left_out, left_out == 1 ? "" : "s", IK_WORKSPACE_IMAGES_MAX);
        warn(workspace, text);
        talloc_free(text);
    }
}

static void add_image(attachment_t *attachment, const ik_msg_image_t *image)
{
    for (size_t i = 0; i < attachment->count; i++) {
        if (strcmp(attachment->images[i].sha256.hex, image->sha256.hex) == 0) {
            return; /* named twice */
        }
    }
    if (attachment->count == IK_WORKSPACE_IMAGES_MAX) {
        attachment->left_out++;
    } else {
        attachment->images[attachment->count++] = *image;
    }
}

/* Attaches the first candidate that exists, if it is an image. A missing file is told only if the
 * word alone looks like the name of an image. */
static void attach_word(attachment_t *attachment, const ik_image_path_word_t *word)
{
    const ik_workspace_t *workspace = attachment->workspace;
    const char *shown = NULL;
    char *found = NULL;
    for (size_t i = 0; i < word->count && found == NULL; i++) {
        char *path = resolve(attachment->scratch, workspace, word->paths[i]);
        if (access(path, F_OK) == 0) {
            found = path;
            shown = word->paths[i];
        } else if (word->ends[i] <= word->ends[0] && ik_image_path_is_named_image(path)) {
            shown = shown == NULL ? word->paths[i] : shown;
        }
    }
    if (shown == NULL) {
        return;
    }
    ik_msg_image_t image;
    bool is_image = true;
    res_t loaded = found == NULL
                       ? ERR(NOT_FOUND, "there is no such file")
                       : load_image(attachment->scratch, workspace, found, &image, &is_image);
    if (is_ok(&loaded)) {
        add_image(attachment, &image);
    } else if (is_image) {
        warn(attachment->workspace,
             ik_sprintf(attachment->scratch, "Not attached: %s: %s", shown, loaded.message));
    }
}

char *ik_workspace_attach(const void *ctx, ik_workspace_t *workspace, const char *text)
{
    ik_image_path_word_t word;
    size_t at = 0;
    size_t len = strlen(text);
    if (memchr(text, '@', len) == NULL) {
        return NULL;
    }
    void *scratch = talloc_new(NULL);
    attachment_t *attachment = ik_new(scratch, attachment_t);
    attachment->workspace = workspace;
    attachment->scratch = scratch;
    for (int i = 0; i < WORDS_MAX && ik_image_path_next(scratch, text, len, &at, &word); i++) {
        attach_word(attachment, &word);
    }
    warn_of_rest(workspace, attachment->left_out);
    char *data = ik_msg_format_images(ctx, attachment->images, attachment->count);
    talloc_free(scratch);
    return data;
}

/* --- --image ----------------------------------------------------------------------------- */

res_t ik_workspace_load_images(ik_workspace_t *workspace)
{
    const char *const *files = workspace->options.start->images;
    for (size_t i = 0; files != NULL && files[i] != NULL; i++) {
        bool is_image;
        void *scratch = talloc_new(workspace);
        workspace->images = ik_resize_array(workspace, workspace->images, ik_msg_image_t, i + 1);
        ik_msg_image_t *image = &workspace->images[i];
        res_t loaded = i >= IK_WORKSPACE_IMAGES_MAX
                           ? ERR(LIMIT, "a message has at most %d images", IK_WORKSPACE_IMAGES_MAX)
                           : load_image(scratch, workspace, files[i], image, &is_image);
        if (is_err(&loaded)) {
            talloc_free(scratch);
            return ERR(INVALID, "cannot attach %.500s: %s", files[i], loaded.message);
        }
        image->name = ik_strdup(workspace, image->name);
        talloc_free(scratch);
        workspace->image_count = i + 1;
    }
    return OK;
}

ik_msg_t *ik_workspace_add_images(ik_workspace_t *workspace, ik_msg_t *message)
{
    ik_msg_image_t *named;
    void *scratch = talloc_new(NULL);
    attachment_t *attachment = ik_new(scratch, attachment_t);
    size_t count = ik_msg_images(scratch, message, &named);
    for (size_t i = 0; i < workspace->image_count; i++) {
        add_image(attachment, &workspace->images[i]);
    }
    for (size_t i = 0; i < count; i++) {
        add_image(attachment, &named[i]);
    }
    warn_of_rest(workspace, attachment->left_out);
    char *data = ik_msg_format_images(scratch, attachment->images, attachment->count);
    ik_msg_t *whole = ik_msg_create(workspace, IK_MSG_USER, message->content, data);
    workspace->image_count = 0; /* only the first message has them */
    talloc_free(message);
    talloc_free(scratch);
    return whole;
}
