#include "tool/tool_review_contents.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/line_diff.h"
#include "base/sanitiser.h"

enum { CONTEXT_LINES = 3, SHOWN_FILE_MAX = 1024 * 1024, SHOWN_MAX = 8 * 1024 * 1024 };

/* --- bytes as text ----------------------------------------------------------------------- */

/* Spells out control characters as less does: if they were dropped, a script could look like
 * another one. The sanitiser spells out other invisible characters. */
static void append_text(ik_buffer_t *out, const char *bytes, size_t len)
{
    ik_buffer_t spelled;
    ik_buffer_init(&spelled, NULL, IK_BUFFER_UNLIMITED); /* bounded by len */
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
            ik_buffer_append_byte(&spelled, '^');
            ik_buffer_append_byte(&spelled, (char)(c ^ 0x40));
        } else if (c == 0xc2 && i + 1 < len && (unsigned char)bytes[i + 1] < 0xa0 &&
                   (unsigned char)bytes[i + 1] >= 0x80) {
            ik_buffer_append_format(&spelled, "<U+%04X>", (unsigned char)bytes[++i]);
        } else {
            ik_buffer_append_byte(&spelled, bytes[i]);
        }
    }
    if (spelled.len > 0) {
        ik_sanitise_append(out, spelled.data, spelled.len);
    }
    ik_buffer_reset(&spelled);
}

static char *format_name(const void *ctx, const char *name)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the name */
    append_text(&out, name, strlen(name));
    char *text = ik_buffer_finish(&out);
    char *line = ik_sanitise_line(ctx, text);
    talloc_free(text);
    return line;
}

/* --- files ------------------------------------------------------------------------------- */

typedef struct {
    char *bytes;
    size_t len;
    char hash[IK_TRUST_SNAPSHOT_HASH_LENGTH + 1];
    bool is_text;
} content_t;

/* Reads a file below the folder, and the hash of exactly the bytes that were read. */
static res_t read_content(const void *ctx, int folder, const char *path, content_t *content)
{
    int copy = ik_file_open_anonymous("review", true);
    if (copy < 0) {
        return ERR(SYSTEM, "%s", strerror(errno));
    }
    res_t hashed = ik_trust_snapshot_hash_file(folder, path, copy, content->hash);
    off_t len = is_ok(&hashed) ? lseek(copy, 0, SEEK_END) : 0;
    content->len = (size_t)len;
    content->bytes = ik_new_array(ctx, char, (size_t)len + 1);
    if (is_ok(&hashed) && pread(copy, content->bytes, (size_t)len, 0) != (ssize_t)len) {
        hashed = ERR(SYSTEM, "%s", strerror(errno));
    }
    content->is_text = memchr(content->bytes, '\0', content->len) == NULL;
    close(copy);
    return hashed;
}

/* --- differences ------------------------------------------------------------------------- */

typedef struct {
    ik_line_change_t change;
    const char *line;
    size_t len;
} change_t;

typedef struct {
    const void *ctx;
    change_t *changes;
    size_t count;
    size_t capacity;
} changes_t;

static void on_change(void *data, ik_line_change_t change, const char *line, size_t len)
{
    changes_t *all = data;
    if (all->count == all->capacity) {
        all->capacity = all->capacity == 0 ? 256 : all->capacity * 2;
        all->changes = ik_resize_array(all->ctx, all->changes, change_t, all->capacity);
    }
    all->changes[all->count++] = (change_t){.change = change, .line = line, .len = len};
}

/* Returns the end of the hunk that begins at a change. Changes whose contexts touch or overlap
 * share a hunk. */
static size_t find_hunk_end(const changes_t *all, size_t begin)
{
    size_t last = begin;
    for (size_t i = begin; i < all->count && i - last <= 2 * CONTEXT_LINES; i++) {
        last = all->changes[i].change == IK_LINE_KEPT ? last : i;
    }
    size_t end = last + 1 + CONTEXT_LINES;
    return end < all->count ? end : all->count;
}

static void append_hunk(ik_buffer_t *out, const changes_t *all, size_t begin, size_t end,
                        const size_t lines[2])
{
    size_t counts[2] = {0, 0};
    for (size_t i = begin; i < end; i++) {
        counts[0] += all->changes[i].change != IK_LINE_ADDED;
        counts[1] += all->changes[i].change != IK_LINE_REMOVED;
    }
    ik_buffer_append_format(out, "@@ -%zu,%zu +%zu,%zu @@\n", lines[0] + (counts[0] > 0), counts[0],
                            lines[1] + (counts[1] > 0), counts[1]);
    for (size_t i = begin; i < end; i++) {
        const change_t *change = &all->changes[i];
        ik_buffer_append_byte(out, change->change == IK_LINE_KEPT      ? ' '
                                   : change->change == IK_LINE_REMOVED ? '-'
                                                                       : '+');
        append_text(out, change->line, change->len);
        if (change->len == 0 || change->line[change->len - 1] != '\n') {
            ik_buffer_append_text(out, "\n\\ No newline at end of file\n");
        }
    }
}

static void append_diff(ik_buffer_t *out, const content_t *old, const content_t *fresh)
{
    changes_t all = {.ctx = talloc_new(NULL)};
    size_t lines[2] = {0, 0}; /* of both texts, before position i */
    ik_line_diff_run(old->bytes, old->len, fresh->bytes, fresh->len, on_change, &all);
    for (size_t i = 0; i < all.count;) {
        size_t ahead = i;
        while (ahead < all.count && ahead - i < CONTEXT_LINES &&
               all.changes[ahead].change == IK_LINE_KEPT) {
            ahead++;
        }
        bool near = ahead < all.count && all.changes[ahead].change != IK_LINE_KEPT;
        size_t end = near ? find_hunk_end(&all, ahead) : i + 1;
        if (near) {
            append_hunk(out, &all, i, end, lines);
        }
        for (; i < end; i++) {
            lines[0] += all.changes[i].change != IK_LINE_ADDED;
            lines[1] += all.changes[i].change != IK_LINE_REMOVED;
        }
    }
    talloc_free((void *)all.ctx);
}

/* --- the whole --------------------------------------------------------------------------- */

typedef struct {
    ik_buffer_t *out;
    void *scratch; /* freed after each file */
    int folder;
    int old_folder; /* the trusted copy; -1: there is none */
    const ik_trust_snapshot_t *snapshot;
    const ik_trust_snapshot_t *old; /* NULL: there is none */
} review_t;

/* Every line gets a prefix, so that no line of the file looks like one of the review. */
static void append_whole(ik_buffer_t *out, const content_t *content)
{
    size_t shown = content->len < SHOWN_FILE_MAX ? content->len : SHOWN_FILE_MAX;
    for (size_t at = 0; at < shown;) {
        const char *line = content->bytes + at;
        const char *newline = memchr(line, '\n', shown - at);
        size_t len = newline == NULL ? shown - at : (size_t)(newline - line);
        ik_buffer_append_text(out, "| ");
        append_text(out, line, len);
        ik_buffer_append_byte(out, '\n');
        at += len + 1;
    }
    if (shown < content->len) {
        ik_buffer_append_format(out, "[%zu more bytes are not shown]\n", content->len - shown);
    }
}

static void append_binary(ik_buffer_t *out, const content_t *content)
{
    ik_buffer_append_format(out, "[not text: %zu bytes, sha256 %s]\n", content->len, content->hash);
}

static void append_change(const review_t *review, const ik_trust_snapshot_file_t *before,
                          const ik_trust_snapshot_file_t *file, const content_t *content)
{
    content_t old;
    if ((before->mode & 0100) != (file->mode & 0100)) { /* the copy is read-only */
        ik_buffer_append_format(review->out, "[it %s executable now]\n",
                                (file->mode & 0100) != 0 ? "is" : "is not");
    }
    if (strcmp(before->hash, file->hash) == 0) {
        ik_buffer_append_text(review->out, "[its content is unchanged]\n");
        return;
    }
    res_t read = read_content(review->scratch, review->old_folder, file->path, &old);
    if (is_err(&read) || !old.is_text || !content->is_text) {
        (content->is_text ? append_whole : append_binary)(review->out, content);
    } else {
        const char *name = format_name(review->scratch, file->path);
        ik_buffer_append_format(review->out, "--- a/%s\n+++ b/%s\n", name, name);
        append_diff(review->out, &old, content);
    }
}

/* Shows exactly the bytes in the snapshot, or says why it cannot. */
static void append_file(const review_t *review, const ik_trust_snapshot_file_t *file)
{
    const ik_trust_snapshot_file_t *before =
        review->old == NULL ? NULL : ik_trust_snapshot_find(review->old, file->path);
    ik_buffer_t *out = review->out;
    content_t content;
    ik_buffer_append_format(out, "=== %s%s\n", format_name(review->scratch, file->path),
                            review->old == NULL ? ""
                            : before == NULL    ? " (new)"
                                                : " (changed)");
    if (file->target != NULL) {
        ik_buffer_append_format(out, "[link to %s]\n", format_name(review->scratch, file->target));
        return;
    }
    res_t read = read_content(review->scratch, review->folder, file->path, &content);
    if (is_err(&read) || strcmp(content.hash, file->hash) != 0) {
        ik_buffer_append_format(out, "[%s]\n",
                                is_err(&read) ? read.message : "it changed in the meantime");
    } else if (before != NULL && before->hash != NULL) {
        append_change(review, before, file, &content);
    } else if (content.is_text) {
        append_whole(out, &content);
    } else {
        append_binary(out, &content);
    }
}

static bool is_same(const ik_trust_snapshot_file_t *a, const ik_trust_snapshot_file_t *b)
{
    const char *content_a = a->target == NULL ? a->hash : a->target;
    const char *content_b = b->target == NULL ? b->hash : b->target;
    bool same_kind = (a->target == NULL) == (b->target == NULL);
    return same_kind && strcmp(content_a, content_b) == 0 &&
           (a->target != NULL || (a->mode & 0100) == (b->mode & 0100));
}

static void append_files(review_t *review)
{
    const ik_trust_snapshot_t *snapshot = review->snapshot;
    size_t unchanged = 0;
    for (size_t i = 0; i < snapshot->count; i++) {
        const ik_trust_snapshot_file_t *file = &snapshot->files[i];
        const ik_trust_snapshot_file_t *before =
            review->old == NULL ? NULL : ik_trust_snapshot_find(review->old, file->path);
        if (before != NULL && is_same(before, file)) {
            unchanged++;
            continue;
        }
        if (review->out->len >= SHOWN_MAX) {
            ik_buffer_append_format(
                review->out, "[%zu more files are not shown: read them in %s]\n",
                snapshot->count - i, format_name(review->scratch, snapshot->folder));
            break;
        }
        append_file(review, file);
        talloc_free_children(review->scratch);
    }
    for (size_t i = 0; review->old != NULL && i < review->old->count; i++) {
        const char *path = review->old->files[i].path;
        if (ik_trust_snapshot_find(snapshot, path) == NULL) {
            ik_buffer_append_format(review->out, "=== %s (gone)\n",
                                    format_name(review->scratch, path));
        }
    }
    if (unchanged > 0) {
        ik_buffer_append_format(review->out, "%zu file%s unchanged since the folder was trusted.\n",
                                unchanged, unchanged == 1 ? " is" : "s are");
    }
}

char *ik_tool_review_contents(const void *ctx, const ik_paths_t *paths,
                              const ik_trust_status_t *status)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* append_files stops at SHOWN_MAX */
    ik_buffer_append_text(&out, "");
    const char *only;
    review_t review = {.out = &out,
                       .scratch = talloc_new(NULL),
                       .snapshot = status->snapshot,
                       .folder = ik_trust_snapshot_open(status->snapshot->folder, &only),
                       .old_folder = -1};
    void *kept = talloc_new(NULL);
    if (status->trusted_hash != NULL) {
        char *copy = ik_sprintf(kept, "%s/%s", paths->trusted, status->trusted_hash);
        ik_trust_snapshot_t *old;
        res_t taken = ik_trust_snapshot_create(kept, copy, NULL, NULL, &old);
        review.old_folder = open(copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        review.old = is_ok(&taken) && review.old_folder >= 0 ? old : NULL;
    }
    append_files(&review);
    if (review.old_folder >= 0) {
        close(review.old_folder);
    }
    if (review.folder >= 0) {
        close(review.folder);
    }
    talloc_free(kept);
    talloc_free(review.scratch);
    return ik_buffer_finish(&out);
}
