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
#include "provider/wire_image.h"
#include "tool/image_scale.h"
#include "workspace/workspace_state.h"

enum {
    HEAD = 64 * 1024,  /* bytes in which a file without an image's name must turn out to be one */
    WORDS_MAX = 20000, /* in one message that begin with "@" */
    SCALED_MAX = 64 * 1024 * 1024, /* bytes of an image that is made smaller */
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

/* --- images of one message --------------------------------------------------------------- */

typedef struct {
    ik_workspace_images_t *images;
    const char *shown;       /* the path as the user wrote it */
    ik_msg_image_t facts;    /* when it is stored */
    void *held;              /* the bytes, until the image is stored */
    res_t excess;            /* what is too much */
    ik_image_scale_t *scale; /* NULL: not running */
} entry_t;

struct ik_workspace_images {
    ik_workspace_t *workspace;
    bool strict;                               /* of --image: a failure ends the program */
    entry_t *entries[IK_WORKSPACE_IMAGES_MAX]; /* children, as all they point to */
    size_t count;
    size_t left_out; /* because there are too many */
};

void ik_workspace_say_when_ready(ik_workspace_t *workspace, const char *text)
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

bool ik_workspace_images_wait(const ik_workspace_images_t *images)
{
    for (size_t i = 0; images != NULL && i < images->count; i++) {
        if (images->entries[i]->scale != NULL) {
            return true;
        }
    }
    return false;
}

static res_t store(entry_t *entry, const char *path, const char *bytes, size_t len)
{
    const ik_workspace_t *workspace = entry->images->workspace;
    return ik_msg_image_store(workspace->options.paths->images, name_of(entry, path), bytes, len,
                              &entry->facts);
}

static void remove_entry(entry_t *entry)
{
    ik_workspace_images_t *images = entry->images;
    size_t i = 0;
    while (images->entries[i] != entry) {
        i++;
    }
    images->count--;
    memmove(images->entries + i, images->entries + i + 1,
            (images->count - i) * sizeof(*images->entries));
    talloc_free(entry);
}

static void refuse(entry_t *entry, const res_t *why)
{
    ik_workspace_t *workspace = entry->images->workspace;
    if (entry->images->strict) {
        res_t failed = ERR(INVALID, "cannot attach %.500s: %s", entry->shown, why->message);
        ik_workspace_fail_usage(workspace, &failed);
        return;
    }
    char *text = ik_sprintf(NULL, "Not attached: %s: %s", entry->shown, why->message);
    ik_workspace_say_when_ready(workspace, text);
    talloc_free(text);
    remove_entry(entry);
}

static void on_scaled(void *data, const char *bytes, size_t len)
{
    entry_t *entry = data;
    ik_workspace_t *workspace = entry->images->workspace;
    res_t stored = bytes == NULL ? entry->excess : store(entry, entry->shown, bytes, len);
    TALLOC_FREE(entry->scale);
    TALLOC_FREE(entry->held);
    if (is_err(&stored)) {
        refuse(entry, &stored);
    }
    for (size_t i = 0; !workspace->stopping && i < workspace->member_count; i++) {
        ik_workspace_send_custom(workspace->members[i]);
    }
    ik_workspace_pump(workspace);
}

/* Checks and stores an image of total bytes, whose first len are held, or begins to make it
 * smaller. */
static res_t take_bytes(entry_t *entry, const char *path, const char *bytes, size_t len,
                        uint64_t total)
{
    ik_image_t facts;
    entry->excess = ik_image_check(bytes, len, total, &facts);
    if (entry->excess.code == IK_ERR_LIMIT && len == total && ik_image_scale_is_possible()) {
        const ik_tool_context_t *context = &entry->images->workspace->shared.tool_context;
        entry->scale = ik_image_scale_start(entry, context->host, context->confinement, bytes, len,
                                            on_scaled, entry);
        return OK;
    }
    res_t stored = is_err(&entry->excess) ? entry->excess : store(entry, path, bytes, len);
    TALLOC_FREE(entry->held);
    return stored;
}

/* Reads, checks and stores an image, or begins to make it smaller. *is_image: the file is one, or
 * has the name of one, so that an error is worth telling. */
static res_t load_image(entry_t *entry, const char *path, bool *is_image)
{
    ik_image_t facts;
    char *bytes;
    size_t len;
    uint64_t total;
    entry->held = talloc_new(entry);
    *is_image = ik_image_path_is_named_image(path);
    TRY(read_start(entry->held, path, HEAD, &bytes, &len, &total));
    *is_image = *is_image || ik_image_parse(bytes, len, &facts);
    if (total > len && *is_image) {
        TRY(read_start(entry->held, path, SCALED_MAX, &bytes, &len, &total));
    }
    return take_bytes(entry, path, bytes, len, total);
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

/* What is named twice is sent once; a copy under another name is another picture. */
static bool is_same(const ik_msg_image_t *one, const ik_msg_image_t *other)
{
    return strcmp(one->sha256.hex, other->sha256.hex) == 0 && strcmp(one->name, other->name) == 0;
}

static bool is_named(const ik_workspace_images_t *images, const ik_msg_image_t *facts)
{
    for (size_t i = 0; i < images->count; i++) {
        const entry_t *entry = images->entries[i];
        if (entry->scale == NULL && is_same(&entry->facts, facts)) {
            return true;
        }
    }
    return false;
}

static entry_t *create_entry(ik_workspace_images_t *images, const char *shown)
{
    entry_t *entry = ik_new(images, entry_t);
    entry->images = images;
    entry->shown = ik_strdup(entry, shown);
    return entry;
}

/* Adds an image that was loaded, unless it is there already. */
static void add_entry(entry_t *entry, const res_t *loaded)
{
    ik_workspace_images_t *images = entry->images;
    bool twice = is_ok(loaded) && entry->scale == NULL && is_named(images, &entry->facts);
    bool added = is_ok(loaded) && !twice && images->count < IK_WORKSPACE_IMAGES_MAX;
    images->left_out += is_ok(loaded) && !twice && !added;
    if (added) {
        images->entries[images->count++] = entry;
    } else {
        talloc_free(entry);
    }
}

static res_t add_image(ik_workspace_images_t *images, const char *path, const char *shown,
                       bool *is_image)
{
    entry_t *entry = create_entry(images, shown);
    res_t loaded = load_image(entry, path, is_image);
    add_entry(entry, &loaded);
    return loaded;
}

/* Attaches the first candidate that exists, if it is an image. A missing file is reported only if
 * the word alone looks like the name of an image. */
static void attach_word(ik_workspace_images_t *images, void *scratch,
                        const ik_image_path_word_t *word)
{
    ik_workspace_t *workspace = images->workspace;
    const char *shown = NULL;
    char *found = NULL;
    for (size_t i = 0; i < word->count && found == NULL; i++) {
        char *path = resolve(scratch, workspace, word->paths[i]);
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
    bool is_image = true;
    res_t loaded = found == NULL ? ERR(NOT_FOUND, "there is no such file")
                                 : add_image(images, found, shown, &is_image);
    if (is_err(&loaded) && is_image) {
        ik_workspace_say_when_ready(
            workspace, ik_sprintf(scratch, "Not attached: %s: %s", shown, loaded.message));
    }
}

static ik_workspace_images_t *create_images(ik_workspace_t *workspace)
{
    ik_workspace_images_t *images = ik_new(workspace, ik_workspace_images_t);
    images->workspace = workspace;
    return images;
}

ik_workspace_images_t *ik_workspace_attach(ik_workspace_t *workspace, const char *text)
{
    ik_image_path_word_t word;
    size_t at = 0;
    size_t len = strlen(text);
    if (memchr(text, '@', len) == NULL) {
        return NULL;
    }
    ik_workspace_images_t *images = create_images(workspace);
    bool more = true;
    for (int i = 0; more && i < WORDS_MAX; i++) {
        void *scratch = talloc_new(NULL);
        more = ik_image_path_next(scratch, text, len, &at, &word);
        if (more) {
            attach_word(images, scratch, &word);
        }
        talloc_free(scratch);
    }
    if (more && memchr(text + at, '@', len - at) != NULL) {
        ik_workspace_say_when_ready(workspace,
                                    "Only the first 20,000 words with @ were looked at for images");
    }
    if (images->count == 0) {
        TALLOC_FREE(images);
    }
    return images;
}

res_t ik_workspace_attach_bytes(ik_workspace_t *workspace, ik_workspace_images_t **images,
                                const char *name, const char *bytes, size_t len)
{
    bool created = *images == NULL;
    if (created) {
        *images = create_images(workspace);
    }
    entry_t *entry = create_entry(*images, name);
    entry->held = talloc_new(entry);
    res_t taken = (*images)->count == IK_WORKSPACE_IMAGES_MAX
                      ? ERR(LIMIT, "a message has at most %d images", IK_WORKSPACE_IMAGES_MAX)
                      : take_bytes(entry, name, ik_strndup(entry->held, bytes, len), len, len);
    add_entry(entry, &taken);
    if (is_err(&taken) && created) {
        TALLOC_FREE(*images);
    }
    return taken;
}

/* --- --image ----------------------------------------------------------------------------- */

res_t ik_workspace_load_images(ik_workspace_t *workspace)
{
    const char *const *files = workspace->options.start->images;
    if (files == NULL || files[0] == NULL) {
        return OK;
    }
    workspace->images = create_images(workspace);
    workspace->images->strict = true;
    for (size_t i = 0; files[i] != NULL; i++) {
        bool is_image;
        res_t loaded = i >= IK_WORKSPACE_IMAGES_MAX
                           ? ERR(LIMIT, "a message has at most %d images", IK_WORKSPACE_IMAGES_MAX)
                           : add_image(workspace->images, files[i], files[i], &is_image);
        if (is_err(&loaded)) {
            return ERR(INVALID, "cannot attach %.500s: %s", files[i], loaded.message);
        }
    }
    return OK;
}

/* --- messages ---------------------------------------------------------------------------- */

/* The images of one message. */
typedef struct {
    ik_msg_image_t list[IK_WORKSPACE_IMAGES_MAX];
    size_t count;
    size_t left_out; /* because there are too many */
} collection_t;

static void collect(collection_t *all, const ik_workspace_images_t *images)
{
    all->left_out += images == NULL ? 0 : images->left_out;
    for (size_t i = 0; images != NULL && i < images->count; i++) {
        size_t k = 0;
        while (k < all->count && !is_same(&all->list[k], &images->entries[i]->facts)) {
            k++;
        }
        if (k == all->count && k < IK_WORKSPACE_IMAGES_MAX) {
            all->list[all->count++] = images->entries[i]->facts;
        } else if (k == all->count) {
            all->left_out++;
        }
    }
}

void ik_workspace_announce_images(ik_workspace_t *workspace, const ik_workspace_images_t *first,
                                  const ik_workspace_images_t *images)
{
    void *scratch = talloc_new(NULL);
    collection_t all = {0};
    collect(&all, first);
    collect(&all, images);
    size_t marked = all.count > IK_WIRE_IMAGES_MAX ? all.count - IK_WIRE_IMAGES_MAX : 0;
    if (all.left_out > 0) {
        ik_workspace_say_when_ready(
            workspace,
            ik_sprintf(scratch, "Not attached: %zu more image%s; a message has at most %d",
                       all.left_out, all.left_out == 1 ? "" : "s", IK_WORKSPACE_IMAGES_MAX));
    }
    if (marked > 0) {
        ik_workspace_say_when_ready(
            workspace, ik_sprintf(scratch,
                                  "The model gets only the name and size of the first %zu image%s: "
                                  "a request holds at most %d",
                                  marked, marked == 1 ? "" : "s", IK_WIRE_IMAGES_MAX));
    }
    talloc_free(scratch);
}

char *ik_workspace_format_images(const void *ctx, const ik_workspace_images_t *first,
                                 const ik_workspace_images_t *images)
{
    collection_t all = {0};
    collect(&all, first);
    collect(&all, images);
    return ik_msg_format_images(ctx, all.list, all.count);
}
