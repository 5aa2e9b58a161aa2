#include "agent/instructions.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/utf8.h"
#include "conversation/figure.h"

enum { CUT_NOTE_MAX = 64 };

typedef struct {
    ik_instructions_t *found;
    const char *bound; /* without symlinks; files must lie in it; NULL: anywhere */
    size_t room;       /* bytes left of the maximum */
    struct stat other; /* a file that is not read again; st_ino 0: none */
    bool nested;       /* for an envelope: tags are not escaped */
    bool (*is_known)(void *data, const char *path); /* these are not read; NULL: none */
    void *data;
} search_t;

/* --- reading one file -------------------------------------------------------------------- */

static void add_problem(ik_instructions_t *found, const char *path, char *text)
{
    found->problems =
        ik_resize_array(found, found->problems, ik_instruction_problem_t, found->problem_count + 1);
    found->problems[found->problem_count++] =
        (ik_instruction_problem_t){.path = path, .text = text};
}

static void add_errno(ik_instructions_t *found, const char *path, int error)
{
    add_problem(found, path, ik_sprintf(found, "cannot read %s: %s", path, strerror(error)));
}

/* Reads one byte more than fits, which shows that the file is longer. */
static bool read_start(int fd, size_t room, ik_buffer_t *bytes)
{
    size_t want = room + 1;
    ik_buffer_reserve(bytes, want);
    while (bytes->len < want) {
        ssize_t n = read(fd, bytes->data + bytes->len, want - bytes->len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            bytes->data[bytes->len] = '\0';
            return n == 0;
        }
        bytes->len += (size_t)n;
    }
    bytes->data[bytes->len] = '\0';
    return true;
}

/* Cuts the text so that it fits together with a last line that says so. */
static void cut(ik_instruction_t *file, ik_buffer_t *text, size_t room)
{
    size_t kept = ik_utf8_cut(text->data, text->len, room - CUT_NOTE_MAX);
    const char *newline = memrchr(text->data, '\n', kept);
    kept = newline == NULL ? kept : (size_t)(newline - text->data) + 1;
    text->len = kept;
    ik_buffer_append_format(text, "%s[cut here: %zu of %zu bytes]\n", newline == NULL ? "\n" : "",
                            kept, file->size);
    file->cut = true;
}

/* Whether the text after a '<' makes it a tag of ours. A model reads past blanks and characters
 * that cannot be seen, so bytes that are no visible ASCII do not count, wherever they stand. */
static bool is_own_tag(const char *text)
{
    static const char name[] = "agents_md";
    size_t matched = 0;
    for (; name[matched] != '\0' && *text != '\0'; text++) {
        if (tolower((unsigned char)*text) == name[matched]) {
            matched++;
        } else if (isgraph((unsigned char)*text) && *text != '/') {
            return false;
        }
    }
    return name[matched] == '\0';
}

/* Appends the bytes as valid UTF-8 and escapes agents_md tags: a file must not be able to close its
 * own section and pose as the rest of the prompt. */
static void append_without_tags(ik_buffer_t *out, const char *bytes, size_t len)
{
    ik_buffer_t clean;
    ik_buffer_init(&clean, NULL, 3 * len + 1); /* an invalid byte becomes U+FFFD */
    ik_utf8_append_clean(&clean, bytes, len);
    ik_buffer_append_byte(&clean, '\0');
    const char *text = clean.data;
    for (const char *tag; (tag = strchr(text, '<')) != NULL; text = tag + 1) {
        ik_buffer_append(out, text, (size_t)(tag - text));
        ik_buffer_append_text(out, is_own_tag(tag + 1) ? "&lt;" : "<");
    }
    ik_buffer_append_text(out, text);
    ik_buffer_reset(&clean);
}

static void take_text(search_t *search, const char *path, size_t size, const ik_buffer_t *bytes)
{
    static const char bom[] = "\xef\xbb\xbf";
    ik_instructions_t *found = search->found;
    ik_instruction_t file = {.path = path, .size = size < bytes->len ? bytes->len : size};
    size_t skipped = bytes->len >= 3 && memcmp(bytes->data, bom, 3) == 0 ? 3 : 0;
    ik_buffer_t text;
    if (memchr(bytes->data, '\0', bytes->len) != NULL) {
        add_problem(found, path, ik_sprintf(found, "%s is left out: it is not text", path));
        return;
    }
    ik_buffer_init(&text, found, IK_BUFFER_UNLIMITED); /* bounded by bytes */
    if (search->nested) {
        ik_utf8_append_clean(&text, bytes->data + skipped, bytes->len - skipped);
    } else {
        append_without_tags(&text, bytes->data + skipped, bytes->len - skipped);
    }
    if (text.len == 0) {
        ik_buffer_reset(&text);
        return;
    }
    if (text.len > search->room && search->room < 2 * CUT_NOTE_MAX) {
        text.len = 0;
        ik_buffer_append_format(&text, "[left out: nearer files take all of %d KB]\n",
                                IK_INSTRUCTIONS_MAX / 1024);
        file.left_out = true;
    } else {
        if (text.len > search->room) {
            cut(&file, &text, search->room);
        }
        search->room -= text.len;
    }
    file.text = ik_buffer_finish(&text);
    found->files = ik_resize_array(found, found->files, ik_instruction_t, found->count + 1);
    found->files[found->count++] = file;
}

/* --- finding files ----------------------------------------------------------------------- */

typedef enum {
    ABSENT,
    UNUSABLE, /* a problem says why */
    FOUND,
} presence_t;

/* Whether the file behind an O_PATH descriptor may be read. *status is its status. */
static presence_t check(search_t *search, const char *path, const char *descriptor, int fd,
                        struct stat *status)
{
    ik_instructions_t *found = search->found;
    char target[PATH_MAX];
    ssize_t len = readlink(descriptor, target, sizeof(target) - 1);
    if (len < 0 || fstat(fd, status) != 0) {
        add_errno(found, path, errno);
        return UNUSABLE;
    }
    target[len] = '\0';
    if (search->bound != NULL && !ik_file_is_within(target, search->bound)) {
        add_problem(found, path,
                    ik_sprintf(found, "%s is left out: it links to %s, which is outside %s", path,
                               target, search->bound));
        return UNUSABLE;
    }
    if (!S_ISREG(status->st_mode)) {
        add_problem(found, path, ik_sprintf(found, "%s is not a regular file", path));
        return S_ISDIR(status->st_mode) ? ABSENT : UNUSABLE;
    }
    return FOUND;
}

/* path is on search->found. */
static presence_t look_at(search_t *search, const char *path)
{
    char descriptor[64];
    struct stat status = {0};
    /* O_PATH has no effect on a FIFO or a device. The file is then opened through the descriptor,
     * so that it cannot be replaced after the check. */
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        return ABSENT;
    }
    if (fd < 0) {
        add_errno(search->found, path, errno);
        return UNUSABLE;
    }
    snprintf(descriptor, sizeof(descriptor), "/proc/self/fd/%d", fd);
    presence_t presence = check(search, path, descriptor, fd, &status);
    bool again = status.st_ino == search->other.st_ino && status.st_dev == search->other.st_dev;
    bool known = search->is_known != NULL && search->is_known(search->data, path);
    if (presence == FOUND && !again && !known) {
        ik_buffer_t bytes;
        ik_buffer_init(&bytes, search->found, search->room + 1);
        int readable = open(descriptor, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (readable >= 0 && read_start(readable, search->room, &bytes)) {
            take_text(search, path, (size_t)status.st_size, &bytes);
        } else {
            add_errno(search->found, path, errno);
        }
        if (readable >= 0) {
            close(readable);
        }
        ik_buffer_reset(&bytes);
    }
    close(fd);
    return presence;
}

static void look_into(search_t *search, const char *folder)
{
    static const char *const names[] = {"AGENTS.md", "CLAUDE.md"};
    for (size_t i = 0; i < IK_LENGTH(names); i++) {
        if (look_at(search, ik_file_join(search->found, folder, names[i])) != ABSENT) {
            break;
        }
    }
}

/* The path without symlinks; the path itself if it does not exist. */
static const char *resolve(const void *ctx, const char *path)
{
    char real[PATH_MAX];
    return realpath(path, real) == NULL ? path : ik_strdup(ctx, real);
}

/* Whether the folder is or contains the user's home, with all files that a project in it must not
 * link to. */
static bool holds_home(const void *ctx, const char *user, const char *folder)
{
    const char *home = getenv("HOME");
    return (user != NULL && ik_file_is_within(resolve(ctx, ik_file_folder(ctx, user)), folder)) ||
           (home != NULL && *home == '/' && ik_file_is_within(resolve(ctx, home), folder));
}

static void reverse(ik_instructions_t *found)
{
    for (size_t i = 0; i < found->count / 2; i++) {
        ik_instruction_t *other = &found->files[found->count - 1 - i];
        ik_instruction_t kept = found->files[i];
        found->files[i] = *other;
        *other = kept;
    }
}

res_t ik_instructions_find(const void *ctx, const char *user, const char *cwd,
                           ik_instructions_t **out)
{
    *out = ik_new(ctx, ik_instructions_t);
    if (cwd[0] != '/') {
        return ERR(INVALID, "%s is not an absolute path", cwd);
    }
    void *scratch = talloc_new(NULL);
    search_t search = {.found = *out, .room = IK_INSTRUCTIONS_MAX};
    const char *root = ik_paths_find_root(scratch, cwd);
    const char *bound = resolve(scratch, root);
    bool is_home = strcmp(root, cwd) != 0 && holds_home(scratch, user, bound);
    if (user != NULL && stat(user, &search.other) != 0) {
        search.other = (struct stat){0};
    }
    for (const char *folder = cwd;; folder = ik_file_folder(scratch, folder)) {
        search.bound = is_home ? resolve(scratch, folder) : bound;
        look_into(&search, folder);
        if (strcmp(folder, root) == 0) {
            break;
        }
    }
    if (user != NULL) {
        search_t own = {.found = *out, .room = IK_INSTRUCTIONS_MAX};
        look_at(&own, ik_strdup(*out, user));
    }
    reverse(*out);
    talloc_free(scratch);
    return OK;
}

ik_instructions_t *ik_instructions_find_below(const void *ctx, const char *cwd, const char *file,
                                              bool (*is_known)(void *data, const char *path),
                                              void *data)
{
    void *scratch = talloc_new(NULL);
    const char *top = resolve(scratch, cwd);
    const char *folder = ik_file_folder(scratch, file);
    const char *root = resolve(scratch, ik_paths_find_root(scratch, top));
    bool is_home = holds_home(scratch, NULL, root);
    search_t search = {.found = ik_new(ctx, ik_instructions_t),
                       .room = IK_INSTRUCTIONS_MAX,
                       .nested = true,
                       .is_known = is_known,
                       .data = data};
    if (stat(file, &search.other) != 0) {
        search.other = (struct stat){0};
    }
    for (; ik_file_is_within(folder, top) && strcmp(folder, top) != 0;
         folder = ik_file_folder(scratch, folder)) {
        search.bound = is_home ? folder : root;
        look_into(&search, folder);
    }
    talloc_free(scratch);
    reverse(search.found);
    if (search.found->count == 0 && search.found->problem_count == 0) {
        TALLOC_FREE(search.found);
    }
    return search.found;
}

char *ik_instructions_format(const void *ctx, const ik_instruction_t *file)
{
    const char *name = strrchr(file->path, '/');
    return ik_sprintf(ctx, "%s: %s (%s%s)", name == NULL ? file->path : name + 1, file->path,
                      ik_figure_of_size(file->size).text,
                      file->left_out ? ", left out: nearer files take all the room"
                      : file->cut    ? ", cut"
                                     : "");
}
